/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what is remembered of a node; what follows from it is the ledger's. */
#include "common/model/cordon.h"

#include "common/base/text.h"

#include <string.h>

static void gpu_cordon_release(struct tf_gpu_cordon *g)
{
    free(g->reason);
    *g = (struct tf_gpu_cordon){0};
}

void tf_domain_cordon_release(struct tf_domain_cordon *cordon)
{
    free(cordon->domain);
    free(cordon->reason);
    *cordon = (struct tf_domain_cordon){0};
}

struct tf_domain_cordon tf_domain_cordon_copy(const struct tf_domain_cordon *from)
{
    return (struct tf_domain_cordon){tf_strdup(from->domain), tf_strdup(from->reason), from->at};
}

void tf_cordon_release(struct tf_cordon *cordon)
{
    free(cordon->node);
    free(cordon->reason);
    free(cordon->drained_with);
    tf_vec_each (g, &cordon->gpus)
        gpu_cordon_release(g);
    tf_vec_release(&cordon->gpus);
    tf_vec_release(&cordon->trouble);
    tf_vec_each (with, &cordon->domains)
        tf_domain_cordon_release(with);
    tf_vec_release(&cordon->domains);
    *cordon = (struct tf_cordon){0};
}

void tf_cordon_copy(struct tf_cordon *to, const struct tf_cordon *from)
{
    struct tf_cordon copy = {.node = tf_strdup(from->node),
                             .whole = from->whole,
                             .reason = tf_strdup(from->reason),
                             .at = from->at,
                             .verdict = from->verdict,
                             .judged = from->judged,
                             .drain = from->drain,
                             .drained_with = tf_strdup(from->drained_with),
                             .stays = from->stays};
    tf_vec_each (g, &from->gpus)
        tf_vec_push(&copy.gpus,
                    (struct tf_gpu_cordon){g->gpus, tf_strdup(g->reason), g->at, g->source, g->suspect});
    tf_vec_each (trouble, &from->trouble)
        tf_vec_push(&copy.trouble, *trouble);
    tf_vec_each (with, &from->domains)
        tf_vec_push(&copy.domains, tf_domain_cordon_copy(with));
    tf_cordon_release(to);
    *to = copy;
}

static bool drain_eq(const struct tf_drain *a, const struct tf_drain *b)
{
    return a->on == b->on && a->force == b->force && a->max_at_once == b->max_at_once &&
           a->deadline.ms == b->deadline.ms;
}

static bool trouble_eq(const struct tf_cordon *a, const struct tf_cordon *b)
{
    if (a->trouble.count != b->trouble.count)
        return false;
    for (size_t i = 0; i < a->trouble.count; i++) {
        const struct tf_gpu_trouble *x = &a->trouble.items[i], *y = &b->trouble.items[i];
        if (x->gpu != y->gpu || x->starts != y->starts || x->jobs != y->jobs || !tf_uid_eq(x->last, y->last))
            return false;
    }
    return true;
}

static bool domains_eq(const struct tf_cordon *a, const struct tf_cordon *b)
{
    if (a->domains.count != b->domains.count)
        return false;
    for (size_t i = 0; i < a->domains.count; i++) {
        const struct tf_domain_cordon *x = &a->domains.items[i], *y = &b->domains.items[i];
        if (!tf_str_eq(x->domain, y->domain) || !tf_str_eq(x->reason, y->reason) || x->at.ms != y->at.ms)
            return false;
    }
    return true;
}

bool tf_cordon_eq(const struct tf_cordon *a, const struct tf_cordon *b)
{
    if (!tf_str_eq(a->node, b->node) || a->whole != b->whole || !tf_str_eq(a->reason, b->reason) ||
        a->at.ms != b->at.ms || a->verdict != b->verdict || a->judged.ms != b->judged.ms ||
        a->gpus.count != b->gpus.count || !drain_eq(&a->drain, &b->drain) ||
        !tf_str_eq(a->drained_with, b->drained_with) || a->stays != b->stays || !trouble_eq(a, b) ||
        !domains_eq(a, b))
        return false;
    for (size_t i = 0; i < a->gpus.count; i++) {
        const struct tf_gpu_cordon *x = &a->gpus.items[i], *y = &b->gpus.items[i];
        if (x->gpus != y->gpus || !tf_str_eq(x->reason, y->reason) || x->at.ms != y->at.ms ||
            x->source != y->source || x->suspect != y->suspect)
            return false;
    }
    return true;
}

bool tf_cordon_of_people(const struct tf_cordon *cordon)
{
    return tf_cordon_closes(cordon) || cordon->gpus.count > 0;
}

bool tf_cordon_closes(const struct tf_cordon *cordon)
{
    return cordon->whole || cordon->domains.count > 0;
}

bool tf_cordon_is_empty(const struct tf_cordon *cordon)
{
    return !tf_cordon_of_people(cordon) && cordon->verdict == TF_VERDICT_NONE && cordon->trouble.count == 0;
}

uint64_t tf_cordon_gpus(const struct tf_cordon *cordon)
{
    uint64_t all = 0;
    tf_vec_each (g, &cordon->gpus)
        all |= g->gpus;
    return all;
}

uint64_t tf_cordon_suspects(const struct tf_cordon *cordon)
{
    uint64_t all = 0;
    tf_vec_each (g, &cordon->gpus)
        all |= g->suspect ? g->gpus : 0;
    return all;
}

const char *tf_gpu_source_name(enum tf_gpu_source source)
{
    return source == TF_GPU_BY_STARTS ? "failed starts" : "operator";
}

static bool set_whole(struct tf_cordon *cordon, bool whole, const char *reason, struct tf_wall at)
{
    if (cordon->whole == whole && tf_str_eq(cordon->reason, reason))
        return false;
    cordon->whole = whole;
    tf_str_set(&cordon->reason, reason);
    cordon->at = at;
    return true;
}

static void drain_with(struct tf_cordon *cordon, const char *with, bool stays)
{
    tf_str_set(&cordon->drained_with, with);
    cordon->stays = stays;
}

bool tf_cordon_drain(struct tf_cordon *cordon, const struct tf_drain *terms, const char *with,
                     const char *reason, struct tf_wall at)
{
    bool same = drain_eq(&cordon->drain, terms) && tf_str_eq(cordon->drained_with, with);
    bool stays = with && (cordon->stays || (cordon->whole && !cordon->drain.on));
    cordon->drain = *terms;
    drain_with(cordon, with, stays);
    if (stays) /* and says why it was cordoned: that is what will be left of it */
        return !same;
    return set_whole(cordon, true, reason, at) || !same;
}

void tf_cordon_drain_ends(struct tf_cordon *cordon)
{
    bool stays = cordon->stays;
    cordon->drain = (struct tf_drain){0};
    drain_with(cordon, NULL, false);
    if (!stays)
        set_whole(cordon, false, NULL, (struct tf_wall){0});
}

static bool clear_gpus(struct tf_cordon *cordon, uint64_t gpus)
{
    bool changed = false;
    for (size_t i = cordon->gpus.count; i-- > 0;) {
        struct tf_gpu_cordon *g = &cordon->gpus.items[i];
        changed |= (g->gpus & gpus) != 0;
        g->gpus &= ~gpus;
        if (g->gpus)
            continue;
        gpu_cordon_release(g);
        tf_vec_remove(&cordon->gpus, i);
    }
    return changed;
}

/* They are so already, and for that reason. */
static bool is_set(const struct tf_cordon *cordon, const struct tf_gpu_cordon *as)
{
    uint64_t same = 0;
    tf_vec_each (g, &cordon->gpus)
        if (tf_str_eq(g->reason, as->reason) && g->suspect == as->suspect && g->source == as->source)
            same |= g->gpus;
    return (as->gpus & ~same) == 0;
}

/* Its reason is copied. */
static bool set_gpus(struct tf_cordon *cordon, struct tf_gpu_cordon as)
{
    if (is_set(cordon, &as))
        return false;
    clear_gpus(cordon, as.gpus);
    (void)tf_cordon_start_worked(cordon, as.gpus);
    as.reason = tf_strdup(as.reason);
    tf_vec_push(&cordon->gpus, as);
    return true;
}

bool tf_cordon_set(struct tf_cordon *cordon, uint64_t gpus, const char *reason, struct tf_wall at)
{
    if (gpus == 0) {
        bool stays = cordon->drained_with && !cordon->stays;
        cordon->stays |= stays;
        return set_whole(cordon, true, reason, at) || stays;
    }
    return set_gpus(cordon,
                    (struct tf_gpu_cordon){.gpus = gpus, .reason = (char *)(uintptr_t)reason, .at = at});
}

bool tf_cordon_suspect(struct tf_cordon *cordon, uint64_t gpus, enum tf_gpu_source source, const char *reason,
                       struct tf_wall at)
{
    gpus &= ~(tf_cordon_gpus(cordon) & ~tf_cordon_suspects(cordon));
    struct tf_gpu_cordon as = {
        .gpus = gpus, .reason = (char *)(uintptr_t)reason, .at = at, .source = source, .suspect = true};
    return gpus && set_gpus(cordon, as);
}

/* ---- what speaks against one ---- */

static size_t trouble_at(const struct tf_cordon *cordon, int32_t gpu)
{
    size_t at = 0;
    while (at < cordon->trouble.count && cordon->trouble.items[at].gpu < gpu)
        at++;
    return at;
}

static struct tf_gpu_trouble *trouble_of(struct tf_cordon *cordon, int32_t gpu)
{
    size_t at = trouble_at(cordon, gpu);
    if (at < cordon->trouble.count && cordon->trouble.items[at].gpu == gpu)
        return &cordon->trouble.items[at];
    tf_vec_push(&cordon->trouble, (struct tf_gpu_trouble){0});
    for (size_t i = cordon->trouble.count - 1; i > at; i--)
        cordon->trouble.items[i] = cordon->trouble.items[i - 1];
    cordon->trouble.items[at] = (struct tf_gpu_trouble){.gpu = gpu};
    return &cordon->trouble.items[at];
}

uint64_t tf_cordon_start_failed(struct tf_cordon *cordon, uint64_t gpus, struct tf_uid job, int32_t most)
{
    uint64_t enough = 0;
    gpus &= ~tf_cordon_gpus(cordon);
    for (int32_t gpu = 0; gpu < 64; gpu++) {
        uint64_t bit = UINT64_C(1) << gpu;
        if (!(gpus & bit))
            continue;
        struct tf_gpu_trouble *trouble = trouble_of(cordon, gpu);
        trouble->jobs += !tf_uid_eq(trouble->last, job);
        trouble->last = job;
        trouble->starts++;
        if (trouble->starts >= most && trouble->jobs > 1)
            enough |= bit;
    }
    (void)tf_cordon_start_worked(cordon, enough);
    return enough;
}

bool tf_cordon_start_worked(struct tf_cordon *cordon, uint64_t gpus)
{
    size_t before = cordon->trouble.count;
    for (size_t i = cordon->trouble.count; i-- > 0;)
        if (gpus >> cordon->trouble.items[i].gpu & 1)
            tf_vec_remove(&cordon->trouble, i);
    return cordon->trouble.count < before;
}

bool tf_cordon_clear(struct tf_cordon *cordon, uint64_t gpus)
{
    if (gpus) {
        bool trouble = tf_cordon_start_worked(cordon, gpus);
        return clear_gpus(cordon, gpus) || trouble;
    }
    cordon->drain = (struct tf_drain){0};
    drain_with(cordon, NULL, false);
    return set_whole(cordon, false, NULL, (struct tf_wall){0});
}

/* ---- with others ---- */

static size_t domain_at(const struct tf_cordon *cordon, const char *domain)
{
    size_t at = 0;
    while (at < cordon->domains.count && !tf_str_eq(cordon->domains.items[at].domain, domain))
        at++;
    return at;
}

const struct tf_domain_cordon *tf_cordon_with(const struct tf_cordon *cordon, const char *domain)
{
    size_t at = domain_at(cordon, domain);
    return at < cordon->domains.count ? &cordon->domains.items[at] : NULL;
}

bool tf_cordon_join(struct tf_cordon *cordon, const struct tf_domain_cordon *as)
{
    size_t at = domain_at(cordon, as->domain);
    if (at == cordon->domains.count) {
        tf_vec_push(&cordon->domains, tf_domain_cordon_copy(as));
        return true;
    }
    struct tf_domain_cordon *is = &cordon->domains.items[at];
    if (tf_str_eq(is->reason, as->reason))
        return false;
    tf_str_set(&is->reason, as->reason);
    is->at = as->at;
    return true;
}

bool tf_cordon_part(struct tf_cordon *cordon, const char *domain)
{
    size_t at = domain_at(cordon, domain);
    if (at == cordon->domains.count)
        return false;
    tf_domain_cordon_release(&cordon->domains.items[at]);
    tf_vec_remove(&cordon->domains, at);
    return true;
}

bool tf_cordon_judge(struct tf_cordon *cordon, enum tf_verdict verdict, struct tf_wall at)
{
    if (cordon->verdict == verdict)
        return false;
    cordon->verdict = verdict;
    cordon->judged = verdict == TF_VERDICT_NONE ? (struct tf_wall){0} : at;
    return true;
}

const char *tf_cordon_fault(const struct tf_cordon *cordon)
{
    uint64_t seen = 0;
    tf_vec_each (g, &cordon->gpus) {
        if (g->gpus == 0)
            return "it cordons no GPU with a reason for one";
        if (seen & g->gpus)
            return "it cordons a GPU twice";
        seen |= g->gpus;
    }
    tf_vec_each (trouble, &cordon->trouble)
        if (trouble->gpu < 0 || trouble->gpu >= 64 || seen >> trouble->gpu & 1)
            return "it counts failed starts of a GPU that it cordons, or that cannot be";
    if (cordon->domains.count > TF_DOMAIN_CORDONS_MAX)
        return "it is cordoned with more domains than can be";
    tf_vec_each (with, &cordon->domains)
        if (!with->domain || tf_cordon_with(cordon, with->domain) != with)
            return "it is cordoned with a domain twice, or with none";
    if (cordon->drain.on && !cordon->whole)
        return "it drains a node that it does not cordon";
    if ((cordon->drained_with || cordon->stays) && !cordon->drain.on)
        return "it is part of a drain and does not drain";
    if (cordon->verdict < TF_VERDICT_NONE || cordon->verdict > TF_VERDICT_LOST)
        return "its verdict is none that is known";
    return tf_cordon_is_empty(cordon) ? "it says nothing" : NULL;
}
