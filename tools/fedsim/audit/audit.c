/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the facts and where they are found. What they mean is in run.c (engines), store.c (stores and
 * messages), client.c and rest.c. */
#include "tools/fedsim/audit/facts.h"

#include "common/base/alloc.h"
#include "common/base/text.h"

#include <inttypes.h>
#include <stdarg.h>

struct audit *audit_create(void)
{
    return tf_calloc(1, sizeof(struct audit));
}

static void site_release(struct audit_site *site)
{
    tf_vec_each (node, &site->nodes)
        tf_node_release(&node->node);
    tf_vec_each (allocation, &site->allocations)
        tf_allocation_release(allocation);
    tf_vec_release(&site->nodes);
    tf_vec_release(&site->allocations);
    tf_vec_release(&site->refused);
    free(site->name);
    free(site->region);
}

static void jobs_release(struct audit *audit)
{
    tf_vec_each (job, &audit->jobs) {
        tf_job_manifest_release(&job->manifest);
        tf_job_record_release(&job->record);
    }
    tf_vec_release(&audit->jobs);
    tf_vec_each (epoch, &audit->epochs) {
        free(epoch->cluster);
        free(epoch->model);
    }
    tf_vec_release(&audit->epochs);
}

void audit_destroy(struct audit *audit)
{
    if (!audit)
        return;
    jobs_release(audit);
    tf_vec_each (site, &audit->sites)
        site_release(site);
    tf_vec_release(&audit->sites);
    tf_vec_each (i, &audit->instances) {
        free(i->cluster);
        free(i->node);
    }
    tf_vec_release(&audit->instances);
    tf_vec_each (why, &audit->whys)
        free(why->cluster);
    tf_vec_release(&audit->whys);
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
    if (audit->breach)
        return;
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    audit->breach = tf_asprintf("at %" PRId64 ".%03" PRId64 " s: %s", audit->now.ms / TF_SECOND,
                                audit->now.ms % TF_SECOND, text);
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

struct audit_counts audit_counts(const struct audit *audit)
{
    return audit->counts;
}

/* ---- finding ---- */

struct audit_job *audit_job(struct audit *audit, struct tf_uid uid)
{
    tf_vec_each (job, &audit->jobs)
        if (tf_uid_eq(job->uid, uid))
            return job;
    struct audit_job *job = tf_vec_add(&audit->jobs);
    job->uid = uid;
    return job;
}

struct audit_job *audit_stored_job(struct audit *audit, const char *tenant, const char *name)
{
    tf_vec_each (job, &audit->jobs)
        if (job->stored && strcmp(job->record.tenant, tenant) == 0 && strcmp(job->record.name, name) == 0)
            return job;
    return NULL;
}

struct audit_epoch *audit_epoch(struct audit *audit, struct tf_uid uid, uint64_t epoch)
{
    tf_vec_each (e, &audit->epochs)
        if (e->epoch == epoch && tf_uid_eq(e->uid, uid))
            return e;
    struct audit_epoch *e = tf_vec_add(&audit->epochs);
    e->uid = uid;
    e->epoch = epoch;
    return e;
}

struct audit_site *audit_site(struct audit *audit, const char *name)
{
    tf_vec_each (site, &audit->sites)
        if (strcmp(site->name, name) == 0)
            return site;
    struct audit_site *site = tf_vec_add(&audit->sites);
    site->name = tf_strdup(name);
    return site;
}

struct audit_node *audit_find_node(struct audit_site *site, const char *name)
{
    tf_vec_each (node, &site->nodes)
        if (tf_str_eq(node->node.name, name))
            return node;
    return NULL;
}

struct audit_instance *audit_instance(struct audit *audit, const char *cluster,
                                      const struct tf_instance_id *id)
{
    tf_vec_each (i, &audit->instances)
        if (tf_instance_id_eq(&i->id, id) && strcmp(i->cluster, cluster) == 0)
            return i;
    return NULL;
}

struct tf_allocation *audit_allocation(struct audit_site *site, struct tf_uid uid)
{
    tf_vec_each (allocation, &site->allocations)
        if (tf_uid_eq(allocation->uid, uid))
            return allocation;
    return NULL;
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

void audit_node(struct audit *audit, const char *cluster, const struct tf_node *node)
{
    struct audit_site *site = audit_site(audit, cluster);
    struct audit_node *known = audit_find_node(site, node->name);
    if (known)
        site->changed = true;
    else
        known = tf_vec_add(&site->nodes);
    if (node->state == TF_NODE_LOST)
        known->lost = audit->now;
    tf_node_copy(&known->node, node);
}
