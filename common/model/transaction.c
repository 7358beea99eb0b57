/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts what the journal has waiting into transactions that a store accepts. Weights are upper estimates
 * (every number at its longest), so that the pure cores need no encoder; what exceeds the bounds nevertheless
 * is the shell's to refuse. */
#include "common/model/transaction.h"

#include "common/base/cleanup.h"
#include "common/model/manifest.h"

enum {
    WEIGHT_KEY = 256,       /* prefix, tenant and name, or a uid */
    WEIGHT_NUMBER = 12,     /* a tag and the longest varint */
    WEIGHT_STRING = 8,      /* a tag and a length */
    WEIGHT_MEMBER = 140,    /* its numbers and moments */
    WEIGHT_CLAIM = 80,      /* likewise */
    WEIGHT_ENDED = 80,      /* likewise */
    WEIGHT_PLACEMENT = 140, /* likewise */
    WEIGHT_RECORD = 512,    /* the numbers of a whole record, those of its spec among them */
};

static size_t weigh_str(const char *s)
{
    return s ? strlen(s) + WEIGHT_STRING : 0;
}

static size_t weigh_strs(const struct tf_strs *list)
{
    size_t sum = 0;
    tf_vec_each (s, list)
        sum += weigh_str(*s);
    return sum;
}

static size_t weigh_pairs(const struct tf_pairs *map)
{
    size_t sum = 0;
    tf_vec_each (p, map)
        sum += weigh_str(p->key) + weigh_str(p->value) + WEIGHT_STRING;
    return sum;
}

static size_t weigh_job(const struct tf_job_record *job)
{
    size_t sum =
        weigh_str(job->tenant) + weigh_str(job->name) + weigh_str(job->user) + weigh_str(job->claims_in);
    sum +=
        weigh_str(job->cross.from) + weigh_str(job->cross.to) + weigh_str(job->cross.why) + 8 * WEIGHT_NUMBER;
    sum += weigh_str(job->message) + weigh_str(job->output) + weigh_pairs(&job->labels);
    sum += tf_spec_weight(job->spec);
    tf_vec_each (p, &job->placements)
        sum += weigh_str(p->cluster) + weigh_str(p->model) + WEIGHT_PLACEMENT;
    tf_vec_each (r, &job->refusals)
        sum += weigh_str(r->cluster) + weigh_str(r->text) + 4 * WEIGHT_NUMBER;
    tf_vec_each (e, &job->events)
        sum += weigh_str(e->type) + weigh_str(e->text) + 3 * WEIGHT_NUMBER;
    return sum;
}

static size_t weigh_ended(const struct tf_ended *ended)
{
    return weigh_str(ended->message) + weigh_str(ended->output) + WEIGHT_ENDED;
}

static size_t weigh_allocation(const struct tf_allocation *a)
{
    size_t sum = weigh_str(a->tenant) + weigh_str(a->name) + weigh_str(a->model) + tf_spec_weight(a->spec);
    tf_vec_each (m, &a->members)
        sum += weigh_str(m->node) + weigh_strs(&m->ports) + WEIGHT_MEMBER;
    tf_vec_each (c, &a->claims)
        sum += weigh_str(c->node) + WEIGHT_CLAIM;
    tf_vec_each (e, &a->ended)
        sum += weigh_ended(e);
    return sum + weigh_ended(&a->ending);
}

static size_t weigh_freeze(const struct tf_freeze *freeze)
{
    return weigh_str(freeze->cluster) + weigh_str(freeze->reason) + weigh_str(freeze->user) +
           4 * WEIGHT_NUMBER;
}

static size_t weigh_policy(const struct tf_policy *policy)
{
    size_t sum = weigh_str(policy->ceiling) + weigh_strs(&policy->schedule_labels);
    tf_vec_each (c, &policy->classes)
        sum += weigh_str(c->name) + 2 * WEIGHT_NUMBER;
    tf_vec_each (f, &policy->freezes)
        sum += weigh_freeze(f);
    tf_vec_each (shape, &policy->shapes)
        sum += tf_spec_weight(shape->spec) + 2 * WEIGHT_NUMBER;
    return sum;
}

static size_t weigh_cordon(const struct tf_cordon *cordon)
{
    size_t sum = weigh_str(cordon->node) + weigh_str(cordon->reason) + weigh_str(cordon->drained_with);
    tf_vec_each (g, &cordon->gpus)
        sum += weigh_str(g->reason) + 4 * WEIGHT_NUMBER;
    tf_vec_each (with, &cordon->domains)
        sum += weigh_str(with->domain) + weigh_str(with->reason) + WEIGHT_NUMBER;
    return sum;
}

static size_t weigh_node_claim(const struct tf_node_claim *c)
{
    return weigh_str(c->tenant) + weigh_str(c->name) + tf_spec_weight(c->spec) + weigh_strs(&c->nodes);
}

static size_t weigh_migration(const struct tf_migration *m)
{
    size_t sum = weigh_str(m->owner) + weigh_str(m->reason) + weigh_str(m->user) + 4 * WEIGHT_NUMBER;
    tf_vec_each (move, &m->moves)
        sum += weigh_str(move->tenant) + weigh_str(move->name) + weigh_str(move->from) +
               weigh_str(move->wanted) + weigh_str(move->claim.node) + weigh_str(move->why) + WEIGHT_CLAIM +
               WEIGHT_MEMBER;
    return sum;
}

size_t tf_record_weight(const struct tf_record *record)
{
    size_t sum = WEIGHT_KEY + WEIGHT_RECORD;
    if (record->gone)
        return sum;
    switch (record->kind) {
    case TF_RECORD_JOB:
        return sum + weigh_job(&record->job);
    case TF_RECORD_CLUSTER:
        return sum + weigh_str(record->cluster.name) + weigh_str(record->cluster.region) +
               weigh_pairs(&record->cluster.labels) + weigh_str(record->cluster.cordon_reason);
    case TF_RECORD_SUMMARY:
        return sum + weigh_str(record->summary.name);
    case TF_RECORD_POLICY:
        return sum + weigh_policy(&record->policy);
    case TF_RECORD_ALLOCATION:
        return sum + weigh_allocation(&record->allocation);
    case TF_RECORD_CORDON:
        return sum + weigh_cordon(&record->cordon);
    case TF_RECORD_FREEZE:
        return sum + weigh_freeze(&record->freeze);
    case TF_RECORD_NODE_CLAIM:
        return sum + weigh_node_claim(&record->node_claim);
    case TF_RECORD_LEADERS:
        return sum + record->leaders.count * sizeof(struct tf_leader);
    case TF_RECORD_MIGRATION:
        return sum + weigh_migration(&record->migration);
    case TF_RECORD_NONE:
    case TF_RECORD_EPOCH:
    case TF_RECORD_TERM:
    case TF_RECORD_FLOOR:
    case TF_RECORD_ROLLBACK:
    case TF_RECORD_EVICTIONS:
        break;
    }
    return sum;
}

struct taking {
    tf_record_render_f *render;
    void *arg;
    TF_VEC(struct tf_record) records;
    size_t weight;
};

static bool take(struct tf_journal_key key, void *arg)
{
    struct taking *t = arg;
    if (t->records.count == TF_TRANSACTION_RECORDS)
        return false;
    struct tf_record record = {0};
    t->render(key, &record, t->arg);
    size_t weight = tf_record_weight(&record);
    if (t->records.count && t->weight + weight > TF_TRANSACTION_BYTES) {
        tf_record_release(&record);
        return false;
    }
    t->weight += weight;
    tf_vec_reserve(&t->records, t->records.count + 1); /* most transactions have one or two */
    t->records.items[t->records.count++] = record;
    return true;
}

struct tf_record *tf_transaction_take(struct tf_journal *journal, tf_record_render_f *render, void *arg,
                                      size_t *count)
{
    struct taking t = {.render = render, .arg = arg};
    tf_journal_take(journal, take, &t);
    *count = t.records.count;
    return t.records.items;
}
