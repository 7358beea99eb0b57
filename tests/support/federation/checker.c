/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/federation/checker.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "tests/support/federation/instances.h"
#include "tests/support/federation/stored.h"
#include "tests/support/process.h"

#include <ftw.h>
#include <inttypes.h>
#include <stdarg.h>
#include <unistd.h>

enum { STEP_MS = 50, NODES_TIMEOUT_MS = 1000, BREACHES_PRINTED = 20 };

/* ---- breaches ---- */

struct verdict {
    size_t breaches;
};

static void breach(struct verdict *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void breach(struct verdict *v, const char *fmt, ...)
{
    va_list args;
    if (v->breaches++ >= BREACHES_PRINTED)
        return;
    va_start(args, fmt);
    fprintf(stderr, "BREACH ");
    vfprintf(stderr, fmt, args);
    fprintf(stderr, "\n");
    va_end(args);
}

struct name {
    char text[TF_UID_TEXT + 160];
};

/* "t/n uid/epoch/index.attempt" */
static struct name run_name(const struct test_run *run, const struct test_job *job)
{
    struct name name;
    char uid[TF_UID_TEXT];
    tf_uid_format(run->id.uid, uid);
    snprintf(name.text, sizeof name.text, "%s/%s %s/%" PRIu64 "/%" PRIu32 ".%" PRIu32,
             job ? job->manifest.tenant : "?", job ? job->manifest.name : "?", uid, run->id.epoch,
             run->id.index, run->id.attempt);
    return name;
}

/* ---- journals ---- */

static struct test_runs read_journals(const struct test_federation *federation)
{
    struct test_runs runs = {0};
    for (size_t s = 0; s < test_federation_subclusters(federation); s++) {
        TF_AUTO_FREE char *state_dir = test_federation_state_dir(federation, s);
        test_runs_read(&runs, state_dir);
    }
    return runs;
}

static struct test_job *job_of(struct test_client *client, struct tf_uid uid)
{
    for (size_t i = 0; i < test_client_jobs(client); i++)
        if (tf_uid_eq(test_client_job(client, i)->uid, uid))
            return test_client_job(client, i);
    return NULL;
}

static void check_run(struct verdict *v, const struct test_run *run, const struct test_job *job)
{
    struct name name = run_name(run, job);
    if (!job)
        breach(v, "%s ran, and nobody submitted it", name.text);
    if (run->starts > 1)
        breach(v, "%s started %d times", name.text, run->starts);
    if (run->end < run->begin)
        breach(v, "%s ended before it began", name.text);
    if (job && !job->delete_asked && run->end != INT64_MAX && strcmp(run->cause, "ended") != 0)
        breach(v, "%s did not end by itself but: %s (code %d, signal %d)", name.text, run->cause, run->code,
               run->signal);
}

static bool overlap(const struct test_run *a, const struct test_run *b)
{
    return a->begin < b->end && b->begin < a->end;
}

/* Two runs of one job that must not be alive together. */
static bool exclusive(const struct test_run *a, const struct test_run *b)
{
    return a->id.epoch != b->id.epoch || a->id.index == b->id.index;
}

static void check_pairs(struct verdict *v, const struct test_runs *runs, size_t i, const struct test_job *job)
{
    const struct test_run *a = &runs->items[i];
    for (size_t k = i + 1; k < runs->count && tf_uid_eq(runs->items[k].id.uid, a->id.uid); k++) {
        const struct test_run *b = &runs->items[k];
        if (exclusive(a, b) && overlap(a, b))
            breach(v, "%s ran while %s did", run_name(a, job).text, run_name(b, job).text);
    }
}

size_t test_judge_runs(const struct test_runs *runs, struct test_client *client)
{
    struct verdict v = {0};
    if (runs->broken)
        breach(&v, "%zu lines of the journals cannot be read", runs->broken);
    for (size_t i = 0; i < runs->count; i++) {
        const struct test_job *job = job_of(client, runs->items[i].id.uid);
        check_run(&v, &runs->items[i], job);
        check_pairs(&v, runs, i, job);
    }
    return v.breaches;
}

size_t test_check_journals(const struct test_federation *federation, struct test_client *client)
{
    struct test_runs runs = read_journals(federation);
    size_t breaches = test_judge_runs(&runs, client);
    test_runs_release(&runs);
    return breaches;
}

/* ---- ends ---- */

/* What the journals say of one job. */
struct history {
    size_t runs, good;
    const struct test_run *last; /* the one that began last */
    uint64_t epoch;              /* of the runs with code 0 */
    bool epochs_differ, twice;   /* among those: two epochs; the same index again */
};

static bool good(const struct test_run *run)
{
    return run->end != INT64_MAX && strcmp(run->cause, "ended") == 0 && run->code == 0 && run->signal == 0;
}

static struct history history_of(const struct test_runs *runs, const struct test_job *job, struct verdict *v)
{
    struct history h = {0};
    const struct test_run *before = NULL; /* with code 0 */
    tf_vec_each (run, runs) {
        if (!tf_uid_eq(run->id.uid, job->uid))
            continue;
        h.runs++;
        if (run->end == INT64_MAX)
            breach(v, "%s started and never ended", run_name(run, job).text);
        if (!h.last || run->begin > h.last->begin || (run->begin == h.last->begin && run->end >= h.last->end))
            h.last = run;
        if (!good(run))
            continue;
        h.good++;
        h.twice |= before && before->id.epoch == run->id.epoch && before->id.index == run->id.index;
        h.epochs_differ |= before && before->id.epoch != run->id.epoch;
        h.epoch = run->id.epoch;
        before = run;
    }
    return h;
}

static void check_success(struct verdict *v, const struct test_job *job, const struct history *h)
{
    const char *tenant = job->manifest.tenant, *name = job->manifest.name;
    size_t size = (size_t)job->manifest.spec.elastic.min;
    if (h->good != size || h->twice || h->epochs_differ)
        breach(v, "%s/%s succeeded, by the list; the journals show %zu of %zu instances that ended well%s%s",
               tenant, name, h->good, size, h->twice ? ", one index twice" : "",
               h->epochs_differ ? ", in two epochs" : "");
    else if (h->epoch != job->epoch)
        breach(v, "%s/%s: the list names epoch %" PRIu64 ", by the journals it was %" PRIu64, tenant, name,
               job->epoch, h->epoch);
}

static void check_failure(struct verdict *v, const struct test_job *job, const struct history *h)
{
    const char *tenant = job->manifest.tenant, *name = job->manifest.name;
    size_t tries = (size_t)job->manifest.spec.retry_limit + 1;
    if (h->good || h->runs != tries)
        breach(
            v,
            "%s/%s failed, by the list; the journals show %zu runs instead of %zu, of which %zu ended well",
            tenant, name, h->runs, tries, h->good);
    else if (h->last->code != job->exit_code)
        breach(v, "%s/%s: the list names exit code %d, the journals %d", tenant, name, job->exit_code,
               h->last->code);
}

static void check_end(struct verdict *v, const struct test_job *job, const struct history *h)
{
    const char *tenant = job->manifest.tenant, *name = job->manifest.name;
    if (job->trouble)
        breach(v, "%s/%s: %s", tenant, name, job->trouble);
    if (!job->acknowledged || (job->delete_asked && !job->delete_acknowledged)) {
        breach(v, "%s/%s: the %s was never acknowledged", tenant, name,
               job->acknowledged ? "delete" : "submit");
        return;
    }
    if (job->delete_asked) {
        if (job->listed && job->phase != TF_PHASE_DELETED)
            breach(v, "%s/%s was deleted and is %s", tenant, name, tf_phase_name(job->phase));
        return;
    }
    if (!job->listed)
        breach(v, "%s/%s was acknowledged and is not listed", tenant, name);
    else if (job->phase != job->end)
        breach(v, "%s/%s is %s, it should be %s", tenant, name, tf_phase_name(job->phase),
               tf_phase_name(job->end));
    else if (job->phase == TF_PHASE_SUCCEEDED)
        check_success(v, job, h);
    else
        check_failure(v, job, h);
}

size_t test_judge_ends(const struct test_runs *runs, struct test_client *client)
{
    struct verdict v = {0};
    for (size_t i = 0; i < test_client_jobs(client); i++) {
        const struct test_job *job = test_client_job(client, i);
        struct history history = history_of(runs, job, &v);
        check_end(&v, job, &history);
    }
    return v.breaches;
}

size_t test_check_ends(const struct test_federation *federation, struct test_client *client)
{
    struct test_runs runs = read_journals(federation);
    size_t breaches = test_judge_ends(&runs, client);
    test_runs_release(&runs);
    return breaches;
}

/* ---- rest ---- */

static bool restless(struct test_unrest *u, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static bool restless(struct test_unrest *u, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(u->why, sizeof u->why, fmt, args);
    va_end(args);
    return true;
}

static bool stores_restless(const struct test_federation *federation, struct test_unrest *u)
{
    for (size_t s = 0; s < test_federation_subclusters(federation); s++) {
        TF_AUTO_FREE char *own = test_federation_prefix(federation, s);
        TF_AUTO_FREE char *prefix = tf_asprintf("%s/allocations/", own);
        TF_AUTO_FREE char *first = NULL;
        size_t count = 0;
        if (!test_stored_count(test_federation_etcd_endpoint(federation, TEST_ETCD_LOCAL), prefix, &count,
                               &first))
            return restless(u, "the local etcd does not answer");
        if (count)
            return restless(u, "%zu allocation records are left, the first is %s", count, first);
    }
    return false;
}

static size_t exits_found;
static char exit_found[400];

static int find_exit(const char *path, const struct stat *info, int type, struct FTW *place)
{
    (void)info;
    if (type == FTW_F && strcmp(path + place->base, "exit") == 0) {
        exits_found++;
        snprintf(exit_found, sizeof exit_found, "%s", path);
    }
    return 0;
}

static bool folders_restless(const struct test_federation *federation, struct test_unrest *u)
{
    exits_found = 0;
    for (size_t s = 0; s < test_federation_subclusters(federation); s++) {
        TF_AUTO_FREE char *state_dir = test_federation_state_dir(federation, s);
        TF_AUTO_FREE char *instances = tf_asprintf("%s/instances", state_dir);
        nftw(instances, find_exit, 16, FTW_PHYS);
    }
    return exits_found && restless(u, "%zu exit records are left, one is %s", exits_found, exit_found);
}

static bool node_restless(const struct tf_node_info *info, struct test_unrest *u)
{
    int32_t gpus = info->node.capacity.gpus;
    uint64_t all = gpus == TF_NODE_GPUS_MAX ? UINT64_MAX : (UINT64_C(1) << gpus) - 1;
    if (info->free_gpus == all && info->held_gpus == 0 && info->instances.count == 0 && info->used.slots == 0)
        return false;
    return restless(u, "%s/%s has not all its GPUs free: free %" PRIx64 ", held %" PRIx64 ", %zu instances",
                    info->cluster, info->node.name, info->free_gpus, info->held_gpus, info->instances.count);
}

static bool nodes_restless(struct test_client *client, size_t subclusters, struct test_unrest *u)
{
    const struct tf_request request = {.method = TF_METHOD_LIST_NODES};
    struct tf_reply reply;
    struct tf_error err = TF_ERROR_INIT;
    struct tf_strs seen = {0};
    bool found = false;
    if (test_client_ask(client, &request, NODES_TIMEOUT_MS, &reply, &err))
        return restless(u, "ListNodes: %s", err.text);
    if (reply.nodes.missing.count)
        found = restless(u, "ListNodes: %s did not answer", reply.nodes.missing.items[0]);
    tf_vec_each (node, &reply.nodes.nodes) {
        found = found || node_restless(node, u);
        if (!tf_strs_has(&seen, node->cluster))
            tf_strs_add(&seen, node->cluster);
    }
    if (!found && seen.count != subclusters)
        found = restless(u, "ListNodes: nodes of %zu subclusters instead of %zu", seen.count, subclusters);
    tf_strs_release(&seen);
    tf_reply_release(&reply);
    return found;
}

static bool processes_restless(const struct test_federation *federation, struct test_unrest *u)
{
    size_t count = test_instances_count(test_federation_instances(federation));
    return count && restless(u, "%zu processes of jobs are left", count);
}

bool test_at_rest(struct test_federation *federation, struct test_client *client, struct test_unrest *unrest)
{
    return !processes_restless(federation, unrest) && !stores_restless(federation, unrest) &&
           !folders_restless(federation, unrest) &&
           !nodes_restless(client, test_federation_subclusters(federation), unrest);
}

size_t test_check_rest(struct test_federation *federation, struct test_client *client, int64_t timeout_ms)
{
    struct verdict v = {0};
    struct test_unrest unrest = {""};
    int64_t deadline = test_now_ms() + timeout_ms;
    while (!test_at_rest(federation, client, &unrest)) {
        if (test_now_ms() > deadline) {
            breach(&v, "not at rest after %" PRId64 " s: %s", timeout_ms / 1000, unrest.why);
            test_instances_print(test_federation_instances(federation));
            return v.breaches;
        }
        test_client_turn(client, STEP_MS);
    }
    return v.breaches;
}
