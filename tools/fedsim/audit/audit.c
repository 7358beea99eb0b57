/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the facts and where they are found. What they mean is in run.c (engines), store.c (stores and
 * messages), client.c and rest.c. */
#include "tools/fedsim/audit/facts.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"

#include <inttypes.h>
#include <stdarg.h>

struct audit *audit_create(void)
{
    return tf_calloc(1, sizeof(struct audit));
}

static void nodes_destroy(struct audit_site *site)
{
    struct audit_node *node, *next;
    HASH_ITER (hh, site->nodes, node, next) {
        HASH_DEL(site->nodes, node);
        tf_node_release(&node->node);
        tf_vec_release(&node->live);
        free(node->drained_with);
        free(node);
    }
}

static void site_destroy(struct audit_site *site)
{
    struct audit_allocation *allocation, *next;
    audit_forget_node_claims(site);
    audit_forget_chains(site);
    HASH_ITER (hh, site->allocations, allocation, next) {
        HASH_DEL(site->allocations, allocation);
        tf_allocation_release(&allocation->a);
        tf_allocation_release(&allocation->before);
        free(allocation);
    }
    nodes_destroy(site);
    tf_vec_release(&site->touched);
    tf_vec_release(&site->told);
    tf_vec_release(&site->refused);
    tf_vec_release(&site->ended);
    tf_vec_release(&site->changes);
    tf_vec_release(&site->opened);
    tf_vec_release(&site->under_way);
    tf_classes_release(&site->classes);
    tf_freezes_release(&site->freezes);
    free(site->name);
    free(site->region);
    free(site);
}

static void job_destroy(struct audit_job *job)
{
    tf_vec_each (epoch, &job->epochs) {
        free((*epoch)->model);
        free(*epoch);
    }
    tf_vec_release(&job->epochs);
    tf_vec_each (i, &job->instances)
        free(*i);
    tf_vec_release(&job->instances);
    tf_vec_each (why, &job->whys)
        free(why->cluster);
    tf_vec_release(&job->whys);
    tf_job_manifest_release(&job->manifest);
    audit_forget_record(job);
    free(job->stored_as);
    free(job);
}

void audit_destroy(struct audit *audit)
{
    if (!audit)
        return;
    HASH_CLEAR(by_name, audit->names);
    HASH_CLEAR(hh, audit->numbers);
    HASH_CLEAR(hh, audit->instances);
    struct audit_job *job, *next;
    HASH_ITER (hh, audit->jobs, job, next) {
        HASH_DEL(audit->jobs, job);
        job_destroy(job);
    }
    tf_vec_each (site, &audit->sites)
        site_destroy(*site);
    tf_vec_release(&audit->sites);
    free(audit->breach);
    free(audit);
}

const char *audit_breach(const struct audit *audit)
{
    return audit->breach;
}

void audit_fail(struct audit *audit, const char *fmt, ...)
{
    char text[800];
    if (audit->breach || audit->mute)
        return;
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    audit->breach = tf_asprintf("at %" PRId64 ".%03" PRId64 " s: %s", audit->now.ms / TF_SECOND,
                                audit->now.ms % TF_SECOND, text);
}

void audit_mute(struct audit *audit)
{
    audit->mute = true;
}

void audit_now(struct audit *audit, struct tf_mono now)
{
    audit->now = now;
}

void audit_expect_calm(struct audit *audit)
{
    audit->calm = true;
}

void audit_start_timeout(struct audit *audit, int64_t ms)
{
    audit->start_timeout = ms;
}

void audit_calendar(struct audit *audit, int64_t start, int64_t skew)
{
    audit->calendar = start;
    audit->skew = skew;
}

void audit_clock_error(struct audit *audit, int64_t ms)
{
    audit->clock_error += ms;
}

struct tf_term audit_term(struct audit *audit, const char *cluster)
{
    return audit_site(audit, cluster)->term;
}

void audit_cordoned(struct audit *audit, const char *cluster, bool on)
{
    audit_site(audit, cluster)->cordoned = on;
}

struct audit_counts audit_counts(const struct audit *audit)
{
    return audit->counts;
}

/* ---- finding ---- */

struct audit_job *audit_job(struct audit *audit, struct tf_uid uid)
{
    struct audit_job *job = NULL;
    HASH_FIND(hh, audit->jobs, &uid, sizeof uid, job);
    if (job)
        return job;
    job = tf_calloc(1, sizeof *job);
    job->uid = uid;
    job->record = &audit_no_record;
    HASH_ADD(hh, audit->jobs, uid, sizeof job->uid, job);
    return job;
}

struct audit_job *audit_stored_job(struct audit *audit, const char *tenant, const char *name)
{
    TF_AUTO_BUF key = TF_BUF_INIT;
    struct audit_job *job = NULL;
    tf_buf_cat(&key, tenant, "/", name);
    HASH_FIND(by_name, audit->names, key.data, key.len, job);
    return job;
}

struct audit_epoch *audit_epoch(struct audit *audit, struct tf_uid uid, uint64_t epoch)
{
    struct audit_job *job = audit_job(audit, uid);
    for (size_t i = job->epochs.count; i-- > 0;)
        if (job->epochs.items[i]->epoch == epoch)
            return job->epochs.items[i];
    struct audit_epoch *e = tf_calloc(1, sizeof *e);
    e->uid = uid;
    e->job = job;
    e->epoch = epoch;
    tf_vec_push(&job->epochs, e);
    return e;
}

static struct audit_site *find_site(const struct audit *audit, const char *name)
{
    tf_vec_each (site, &audit->sites)
        if (strcmp((*site)->name, name) == 0)
            return *site;
    return NULL;
}

struct audit_site *audit_site(struct audit *audit, const char *name)
{
    if (audit->site && strcmp(audit->site->name, name) == 0)
        return audit->site;
    audit->site = find_site(audit, name);
    if (!audit->site) {
        audit->site = tf_calloc(1, sizeof *audit->site);
        audit->site->name = tf_strdup(name);
        audit->site->number = audit->sites.count;
        tf_vec_push(&audit->sites, audit->site);
    }
    return audit->site;
}

struct audit_node *audit_find_node(const struct audit_site *site, const char *name)
{
    struct audit_node *node = NULL;
    if (name)
        HASH_FIND_STR(site->nodes, name, node);
    return node;
}

struct audit_instance *audit_instance(struct audit *audit, const char *cluster,
                                      const struct tf_instance_id *id)
{
    const struct audit_key key = {*id, audit_site(audit, cluster)->number};
    struct audit_instance *i = NULL;
    HASH_FIND(hh, audit->instances, &key, sizeof key, i);
    return i;
}

struct audit_allocation *audit_allocation(const struct audit_site *site, struct tf_uid uid)
{
    struct audit_allocation *allocation = NULL;
    HASH_FIND(hh, site->allocations, &uid, sizeof uid, allocation);
    return allocation;
}

/* ---- words ---- */

const char *audit_uid(struct tf_uid uid)
{
    static _Thread_local char texts[4][TF_UID_TEXT];
    static _Thread_local unsigned next;
    char *text = texts[next++ % 4];
    tf_uid_format(uid, text);
    text[6] = '\0';
    return text;
}

const char *audit_id(const struct tf_instance_id *id)
{
    static _Thread_local char texts[4][64];
    static _Thread_local unsigned next;
    char *text = texts[next++ % 4];
    snprintf(text, 64, "%s/%" PRIu64 "/%u.%u", audit_uid(id->uid), id->epoch, id->index, id->attempt);
    return text;
}

/* ---- clusters ---- */

void audit_cluster(struct audit *audit, const char *cluster, const char *region)
{
    tf_str_set(&audit_site(audit, cluster)->region, region);
}

static int32_t usable(const struct tf_node *node)
{
    return tf_gpu_set_count(tf_gpu_set_all(node->capacity.gpus) & ~node->foreign.gpus & ~node->bad_gpus);
}

void audit_node(struct audit *audit, const char *cluster, const struct tf_node *node)
{
    struct audit_site *site = audit_site(audit, cluster);
    struct audit_node *known = audit_find_node(site, node->name);
    if (known) {
        site->changed = true;
        known->changed = audit->now;
        HASH_DEL(site->nodes, known); /* its key is copied anew */
    } else
        known = tf_calloc(1, sizeof *known);
    if (node->state == TF_NODE_LOST)
        known->lost = audit->now;
    enum tf_node_state before = known->node.state;
    site->gpus += usable(node) - usable(&known->node);
    tf_node_copy(&known->node, node);
    audit_note_silence(audit, known, before);
    HASH_ADD_KEYPTR(hh, site->nodes, known->node.name, strlen(known->node.name), known);
}
