/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the content and the version of peers files. Their place and their atomic replacement are the engine's.
 */
#include "subcluster/core/peers.h"

#include "common/base/buf.h"
#include "common/base/text.h"
#include "subcluster/core/members.h"
#include "subcluster/core/outbox.h"

#include <assert.h>

static const char *state_word(enum tf_member_state state)
{
    switch (state) {
    case TF_MEMBER_READY:
        return "ready";
    case TF_MEMBER_DONE:
        return "done";
    case TF_MEMBER_STOPPING: /* to be started again: a leaver is not listed */
    case TF_MEMBER_BACKOFF:
        return "restarting";
    case TF_MEMBER_NONE:
    case TF_MEMBER_PLANNED:
    case TF_MEMBER_STARTING:
    case TF_MEMBER_GONE:
    case TF_MEMBER_LEAVING:
    case TF_MEMBER_MISSING:
        break;
    }
    return "starting";
}

/* {"http":31234} of ["http=31234"]; a port that is not a number is shown as a string. */
static void write_ports(struct tf_buf *out, const struct tf_strs *ports)
{
    tf_buf_char(out, '{');
    tf_vec_each (port, ports) {
        const char *equals = strchr(*port, '=');
        char *name = tf_strndup(*port, equals ? (size_t)(equals - *port) : strlen(*port));
        const char *value = equals ? equals + 1 : "";
        int64_t number = 0;
        if (port != ports->items)
            tf_buf_char(out, ',');
        tf_buf_json(out, name);
        tf_buf_char(out, ':');
        if (tf_parse_int64(value, 0, 65535, &number, NULL) == 0)
            tf_buf_fmt(out, "%lld", (long long)number);
        else
            tf_buf_json(out, value);
        free(name);
    }
    tf_buf_char(out, '}');
}

static void write_gpus(struct tf_buf *out, uint64_t gpus)
{
    const char *comma = "";
    tf_buf_char(out, '[');
    for (int i = 0; i < TF_NODE_GPUS_MAX; i++) {
        if (!(gpus >> i & 1))
            continue;
        tf_buf_str(out, comma);
        tf_buf_int(out, i);
        comma = ",";
    }
    tf_buf_char(out, ']');
}

static void write_member(const struct sub *sub, struct tf_buf *out, const struct tf_member *m, uint32_t rank)
{
    const struct ledger_node *node = ledger_find(&sub->ledger, m->node);
    const char *address = node ? node->node.address : NULL;
    tf_buf_str(out, "{\"rank\":");
    tf_buf_uint(out, rank);
    tf_buf_str(out, ",\"index\":");
    tf_buf_uint(out, m->index);
    tf_buf_str(out, ",\"host\":");
    tf_buf_json(out, m->node);
    tf_buf_str(out, ",\"addr\":");
    tf_buf_json(out, address ? address : m->node);
    tf_buf_str(out, ",\"ports\":");
    write_ports(out, &m->ports);
    tf_buf_str(out, ",\"gpus\":");
    write_gpus(out, m->gpus);
    tf_buf_str(out, ",\"state\":");
    tf_buf_json(out, state_word(m->state));
    tf_buf_str(out, "}\n");
}

/* An epoch that is being ended has no members any more: each is a leaver. One that joins is listed when all
 * of its step is ready. */
static bool is_listed(const struct tf_allocation *record, const struct tf_member *m)
{
    return record->phase != TF_ALLOCATION_ENDING && member_is_peer(m);
}

static char *render(const struct sub *sub, const struct tf_allocation *record)
{
    struct tf_buf out = TF_BUF_INIT;
    uint32_t size = 0, rank = 0;
    tf_vec_each (m, &record->members)
        size += is_listed(record, m);
    tf_buf_str(&out, "{\"epoch\":");
    tf_buf_uint(&out, record->epoch);
    tf_buf_str(&out, ",\"size\":");
    tf_buf_uint(&out, size);
    tf_buf_str(&out, ",\"version\":");
    tf_buf_uint(&out, record->peers_version);
    tf_buf_str(&out, "}\n");
    tf_vec_each (m, &record->members)
        if (is_listed(record, m))
            write_member(sub, &out, m, rank++);
    return tf_buf_take(&out);
}

void peers_repeat(struct sub *sub, struct job *job)
{
    assert(job_lives(job));
    struct sub_action action = {.kind = SUB_ACT_PEERS};
    action.peers.uid = job->record.uid;
    action.peers.epoch = job->record.epoch;
    action.peers.content = render(sub, &job->record);
    out_hold(sub, action);
}

void peers_write(struct sub *sub, struct job *job)
{
    job->record.peers_version++;
    job->peers_due = false;
    out_touch_job(sub, job);
    peers_repeat(sub, job);
}

void peers_change(struct sub *sub, struct job *job)
{
    job->peers_due = true;
    job_tell(sub, job);
}
