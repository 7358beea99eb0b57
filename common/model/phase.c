/* SPDX-License-Identifier: Apache-2.0 */
#include "common/model/phase.h"

#include "common/base/cleanup.h"

static const char *word(const char *const *words, size_t count, unsigned n)
{
    return n < count && words[n] ? words[n] : "?";
}

static const char *const phase_words[] = {
    [TF_PHASE_NONE] = "None",           [TF_PHASE_PENDING] = "Pending", [TF_PHASE_HELD] = "Held",
    [TF_PHASE_STARTING] = "Starting",   [TF_PHASE_RUNNING] = "Running", [TF_PHASE_STOPPING] = "Stopping",
    [TF_PHASE_SUCCEEDED] = "Succeeded", [TF_PHASE_FAILED] = "Failed",   [TF_PHASE_DELETED] = "Deleted",
};

const char *tf_phase_name(enum tf_phase phase)
{
    return word(phase_words, TF_ARRAY_LEN(phase_words), phase);
}

static const char *const reason_words[] = {
    [TF_REASON_NONE] = "NONE",
    [TF_REASON_POLICY] = "POLICY",
    [TF_REASON_CLUSTER_LOST] = "CLUSTER_LOST",
    [TF_REASON_CLUSTER_CORDONED] = "CLUSTER_CORDONED",
    [TF_REASON_NO_SUCH_MODEL] = "NO_SUCH_MODEL",
    [TF_REASON_GPU_MEMORY] = "GPU_MEMORY",
    [TF_REASON_NODE_TOO_SMALL] = "NODE_TOO_SMALL",
    [TF_REASON_NOT_ENOUGH_NODES] = "NOT_ENOUGH_NODES",
    [TF_REASON_TOPOLOGY] = "TOPOLOGY",
    [TF_REASON_HIGHER_PRIORITY] = "HIGHER_PRIORITY",
    [TF_REASON_PROTECTED] = "PROTECTED",
    [TF_REASON_CLAIMED] = "CLAIMED",
    [TF_REASON_CPU_MEMORY] = "CPU_MEMORY",
    [TF_REASON_GPUS] = "GPUS",
    [TF_REASON_BRAKE] = "BRAKE",
    [TF_REASON_FROZEN] = "FROZEN",
    [TF_REASON_REFUSED] = "REFUSED",
    [TF_REASON_IN_FLIGHT] = "IN_FLIGHT",
    [TF_REASON_NOT_CONSIDERED_YET] = "NOT_CONSIDERED_YET",
    [TF_REASON_HELD] = "HELD",
    [TF_REASON_FENCE_UNSUPPORTED] = "FENCE_UNSUPPORTED",
    [TF_REASON_UNKNOWN_EPOCH] = "UNKNOWN_EPOCH",
    [TF_REASON_ENGINE] = "ENGINE",
    [TF_REASON_NO_CLUSTERS] = "NO_CLUSTERS",
};

const char *tf_reason_name(enum tf_reason reason)
{
    return word(reason_words, TF_ARRAY_LEN(reason_words), reason);
}

static const char *const end_words[] = {
    [TF_END_NONE] = "none",     [TF_END_RELEASED] = "released", [TF_END_EVICTED] = "evicted",
    [TF_END_FENCED] = "fenced", [TF_END_FINISHED] = "finished", [TF_END_FAILED] = "failed",
    [TF_END_LOST] = "lost",     [TF_END_REFUSED] = "refused",   [TF_END_UNKNOWN] = "unknown",
};

const char *tf_end_name(enum tf_end end)
{
    return word(end_words, TF_ARRAY_LEN(end_words), end);
}

static const char *const release_words[] = {
    [TF_RELEASE_NONE] = "none",       [TF_RELEASE_DELETE] = "delete", [TF_RELEASE_HOLD] = "hold",
    [TF_RELEASE_RESTART] = "restart", [TF_RELEASE_ORPHAN] = "orphan", [TF_RELEASE_MOVE] = "move",
};

const char *tf_release_name(enum tf_release release)
{
    return word(release_words, TF_ARRAY_LEN(release_words), release);
}

static const char *const member_state_words[] = {
    [TF_MEMBER_NONE] = "None",       [TF_MEMBER_PLANNED] = "Planned",   [TF_MEMBER_STARTING] = "Starting",
    [TF_MEMBER_READY] = "Ready",     [TF_MEMBER_STOPPING] = "Stopping", [TF_MEMBER_DONE] = "Done",
    [TF_MEMBER_BACKOFF] = "Backoff", [TF_MEMBER_GONE] = "Gone",         [TF_MEMBER_LEAVING] = "Leaving",
    [TF_MEMBER_MISSING] = "Missing",
};

const char *tf_member_state_name(enum tf_member_state state)
{
    return word(member_state_words, TF_ARRAY_LEN(member_state_words), state);
}

static const char *const node_state_words[] = {
    [TF_NODE_NONE] = "none", [TF_NODE_READY] = "ready",       [TF_NODE_UNREACHABLE] = "unreachable",
    [TF_NODE_LOST] = "lost", [TF_NODE_CORDONED] = "cordoned", [TF_NODE_DRAINING] = "draining",
};

const char *tf_node_state_name(enum tf_node_state state)
{
    return word(node_state_words, TF_ARRAY_LEN(node_state_words), state);
}

int tf_phase_is_final(enum tf_phase phase)
{
    return phase == TF_PHASE_SUCCEEDED || phase == TF_PHASE_FAILED || phase == TF_PHASE_DELETED;
}
