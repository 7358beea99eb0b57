/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the choice of who leaves a job that gets smaller: what is left behind should be of use to others. */
#include "subcluster/core/leave.h"

#include "subcluster/core/size.h"

#include <assert.h>

bool member_is_among(size_t place, const struct places *places)
{
    tf_vec_each (p, places)
        if (*p == place)
            return true;
    return false;
}

/* ---- with those that were lost ---- */

/* A member, as its job sees it: the lowest go first. */
struct candidate {
    size_t place;
    const struct ledger_node *node; /* NULL: it holds nothing */
    int32_t mark;
    int32_t step; /* of those that are as old as it */
    bool lost, domain, broken, whole;
};
struct candidates_list {
    struct candidate *items;
    size_t count, cap;
};

static int by_age(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->mark != y->mark)
        return x->mark < y->mark ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

static int by_worth(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->domain != y->domain)
        return x->domain ? -1 : 1;
    if (x->broken != y->broken)
        return x->broken ? -1 : 1;
    if (x->whole != y->whole)
        return x->whole ? -1 : 1;
    return -by_age(a, b);
}

/* All that count, in their steps; the lost are among them. */
static void list_members(const struct sub *sub, const struct job *job, const struct places *lost,
                         struct candidates_list *list)
{
    int32_t step = job->record.spec->elastic.step;
    for (size_t i = 0; i < job->record.members.count; i++) {
        const struct tf_member *m = &job->record.members.items[i];
        if (!member_counts(m))
            continue;
        struct candidate c = {.place = i, .mark = m->mark, .lost = member_is_among(i, lost)};
        c.node = member_holds(m->state) ? ledger_find(&sub->ledger, m->node) : NULL;
        tf_vec_push(list, c);
    }
    qsort(list->items, list->count, sizeof *list->items, by_age);
    for (size_t i = 0; i < list->count; i++)
        list->items[i].step = (int32_t)i / step;
    for (size_t i = 0; i < list->count; i++)
        for (size_t j = i - i % (size_t)step; j < list->count && j < i - i % (size_t)step + (size_t)step; j++)
            list->items[i].broken |= list->items[j].lost;
}

/* Only members of the job are on the node, and none but these marks are kept. */
static bool is_ours(const struct ledger_node *node, const struct job *job)
{
    tf_vec_each (h, &node->holdings)
        if (!tf_uid_eq(h->uid, job->record.uid))
            return false;
    return node->blockings.count == 0 && node->claims.count == 0;
}

static const char *domain_of(const struct ledger_node *node, size_t plane)
{
    const struct tf_strs *domains = &node->node.domains;
    const char *path = plane < domains->count ? domains->items[plane] : "";
    return *path ? path : NULL;
}

/* Nothing but what is ours, and the node of what was lost besides, is in that domain. */
static bool domain_is_ours(const struct sub *sub, const struct job *job, size_t plane, const char *path)
{
    tf_vec_each (at, &sub->ledger.nodes) {
        const char *other = (*at)->known ? domain_of(*at, plane) : NULL;
        if (other && strcmp(other, path) == 0 && !is_ours(*at, job))
            return false;
    }
    return true;
}

/* Marks the largest set of at most `count` that leave a whole domain free, if there is one. */
static void find_domain(const struct sub *sub, const struct job *job, int32_t count,
                        struct candidates_list *list)
{
    size_t planes = sub->boot.planes.count, best_plane = 0;
    const char *best = NULL;
    int32_t most = 0;
    for (size_t plane = 0; plane < planes; plane++)
        tf_vec_each (c, list) {
            const char *path = c->node && !c->lost ? domain_of(c->node, plane) : NULL;
            int32_t in = 0;
            if (!path)
                continue;
            tf_vec_each (other, list) {
                const char *its = other->node && !other->lost ? domain_of(other->node, plane) : NULL;
                in += its && strcmp(its, path) == 0;
            }
            if (in <= count && in > most && domain_is_ours(sub, job, plane, path)) {
                most = in;
                best = path;
                best_plane = plane;
            }
        }
    tf_vec_each (c, list) {
        const char *path = best && c->node && !c->lost ? domain_of(c->node, best_plane) : NULL;
        c->domain = path && strcmp(path, best) == 0;
    }
}

/* Alone on its node. */
static void find_whole(const struct job *job, struct candidates_list *list)
{
    tf_vec_each (c, list)
        c->whole = c->node && c->node->holdings.count == 1 && is_ours(c->node, job);
}

static bool steps_are_fixed(const struct tf_job_spec *spec)
{
    tf_vec_each (rule, &spec->topology)
        if (rule->of == TF_TOPOLOGY_OF_STEP && rule->mode == TF_TOPOLOGY_REQUIRE)
            return true;
    return false;
}

static void take_worst(struct candidates_list *list, int32_t count, struct places *out)
{
    qsort(list->items, list->count, sizeof *list->items, by_worth);
    tf_vec_each (c, list)
        if (!c->lost && count-- > 0)
            tf_vec_push(out, c->place);
}

void leave_with_lost(const struct sub *sub, const struct job *job, const struct places *lost,
                     struct places *out)
{
    const struct tf_allocation *record = &job->record;
    struct candidates_list list = {0};
    int32_t count = (record->size - (int32_t)lost->count) % record->spec->elastic.step;
    out->count = 0;
    list_members(sub, job, lost, &list);
    if (steps_are_fixed(record->spec)) {
        tf_vec_each (c, &list)
            if (c->broken && !c->lost)
                tf_vec_push(out, c->place);
    } else if (count > 0) {
        find_domain(sub, job, count, &list);
        find_whole(job, &list);
        take_worst(&list, count, out);
    }
    tf_vec_release(&list);
}

/* ---- surplus steps ---- */

/* What is free of each domain, of all planes. */
struct domain_free {
    size_t plane;
    const char *path;
    int64_t gpus;
};
struct domains {
    struct domain_free *items;
    size_t count, cap;
};

static int by_path(const void *a, const void *b)
{
    const struct domain_free *x = a, *y = b;
    if (x->plane != y->plane)
        return x->plane < y->plane ? -1 : 1;
    return strcmp(x->path, y->path);
}

static void list_domains(const struct sub *sub, struct domains *out)
{
    tf_vec_each (at, &sub->ledger.nodes) {
        for (size_t plane = 0; (*at)->known && plane < sub->boot.planes.count; plane++) {
            const char *path = domain_of(*at, plane);
            if (path)
                tf_vec_push(out, (struct domain_free){plane, path, tf_gpu_set_count(ledger_going_gpus(*at))});
        }
    }
    if (out->count == 0)
        return;
    qsort(out->items, out->count, sizeof *out->items, by_path);
    size_t kept = 0;
    tf_vec_each (d, out) {
        if (kept && by_path(&out->items[kept - 1], d) == 0)
            out->items[kept - 1].gpus += d->gpus;
        else
            out->items[kept++] = *d;
    }
    out->count = kept;
}

static struct domain_free *domain_find(const struct domains *domains, size_t plane, const char *path)
{
    struct domain_free key = {.plane = plane, .path = path};
    return domains->count ? bsearch(&key, domains->items, domains->count, sizeof key, by_path) : NULL;
}

/* A member of a surplus step. */
struct stepper {
    int32_t mark;
    uint32_t place;
    const struct ledger_node *node; /* NULL: it holds nothing */
    int64_t gpus;
};
struct steppers {
    struct stepper *items;
    size_t count, cap;
};

static int youngest_first(const void *a, const void *b)
{
    const struct stepper *x = a, *y = b;
    if (x->mark != y->mark)
        return x->mark > y->mark ? -1 : 1;
    return x->place > y->place ? -1 : x->place < y->place;
}

static void list_steppers(const struct sub *sub, const struct tf_allocation *record, struct steppers *out)
{
    tf_vec_each (m, &record->members) {
        if (!member_counts(m) || m->mark == 0)
            continue;
        const struct ledger_node *node = member_holds(m->state) ? ledger_find(&sub->ledger, m->node) : NULL;
        int64_t gpus = node ? tf_gpu_set_count(m->gpus & ledger_usable_gpus(node)) : 0;
        tf_vec_push(out, (struct stepper){m->mark, m->index, node, gpus});
    }
    if (out->count > 1)
        qsort(out->items, out->count, sizeof *out->items, youngest_first);
}

struct step {
    struct stepper *items;
    size_t count;
};

static struct step step_at(const struct steppers *list, size_t first)
{
    struct step step = {list->items + first, 1};
    while (first + step.count < list->count && step.items[step.count].mark == step.items[0].mark)
        step.count++;
    return step;
}

/* Gives what the step has to its domains, or (times -1) takes it back. Returns how much the largest of them
 * has. */
static int64_t give(const struct sub *sub, const struct step *step, const struct domains *domains,
                    int64_t times)
{
    int64_t most = 0;
    for (size_t i = 0; i < step->count; i++) {
        const struct ledger_node *node = step->items[i].node;
        for (size_t plane = 0; node && node->known && plane < sub->boot.planes.count; plane++) {
            const char *path = domain_of(node, plane);
            struct domain_free *d = path ? domain_find(domains, plane, path) : NULL;
            if (!d)
                continue;
            d->gpus += times * step->items[i].gpus;
            most = d->gpus > most ? d->gpus : most;
        }
    }
    return most;
}

/* Nodes that nothing is left on when it and those that are chosen have gone. */
static int32_t whole_nodes_of(const struct job *job, const struct step *step, const bool *chosen)
{
    int32_t whole = 0;
    for (size_t i = 0; i < step->count; i++) {
        const struct ledger_node *node = step->items[i].node;
        bool alone = node && is_ours(node, job);
        for (size_t k = 0; alone && k < node->holdings.count; k++) {
            uint32_t index = node->holdings.items[k].index;
            alone = index < job->record.members.count &&
                    (chosen[index] || job->record.members.items[index].mark == step->items[0].mark);
        }
        whole += alone;
    }
    return whole;
}

struct choice {
    const struct sub *sub;
    const struct job *job;
    struct steppers list;
    struct domains domains;
    bool *chosen;    /* by place */
    int64_t largest; /* free domain by now */
};

/* One more. */
static int32_t choose_step(struct choice *c)
{
    struct step best = {NULL, 0};
    int64_t most = -1;
    int32_t most_whole = -1;
    for (size_t at = 0; at < c->list.count;) {
        struct step step = step_at(&c->list, at);
        at += step.count;
        if (c->chosen[step.items[0].place])
            continue;
        int64_t domain = give(c->sub, &step, &c->domains, 1);
        give(c->sub, &step, &c->domains, -1);
        domain = domain > c->largest ? domain : c->largest;
        int32_t whole = whole_nodes_of(c->job, &step, c->chosen);
        if (domain < most || (domain == most && whole <= most_whole))
            continue;
        most = domain;
        most_whole = whole;
        best = step;
    }
    assert(best.count > 0);
    give(c->sub, &best, &c->domains, 1);
    c->largest = most;
    for (size_t i = 0; i < best.count; i++)
        c->chosen[best.items[i].place] = true;
    return best.items[0].mark;
}

void leave_steps(const struct sub *sub, const struct job *job, int32_t steps, struct marks *out)
{
    struct choice choice = {.sub = sub, .job = job};
    choice.chosen = tf_calloc(job->record.members.count, sizeof *choice.chosen);
    out->count = 0;
    list_steppers(sub, &job->record, &choice.list);
    list_domains(sub, &choice.domains);
    tf_vec_each (d, &choice.domains)
        choice.largest = d->gpus > choice.largest ? d->gpus : choice.largest;
    for (; steps > 0; steps--) {
        int32_t mark = choose_step(&choice);
        tf_vec_push(out, mark);
    }
    tf_vec_release(&choice.list);
    tf_vec_release(&choice.domains);
    free(choice.chosen);
}
