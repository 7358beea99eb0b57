/* SPDX-License-Identifier: Apache-2.0 */
/* Divides free capacity among running jobs that can use it. Whose turn it is to grow at all, and what is free
 * for them, is absorb.c's; how a job grows is not known here. */
#include "subcluster/core/absorb_plan.h"

#include <assert.h>

/* ---- room ---- */

void absorb_room_release(struct absorb_room *room)
{
    tf_vec_release(&room->rows);
    tf_vec_release(&room->have);
}

void absorb_room_add(struct absorb_room *room, const struct tf_profile_row *like, struct tf_vector have)
{
    struct tf_profile_row row = *like;
    assert(!room->rows.count || room->rows.items[room->rows.count - 1].id < row.id);
    row.count = 1;
    tf_vec_push(&room->rows, row);
    tf_vec_push(&room->have, (struct tf_level_vector){TF_LEVEL_FREE, have});
}

/* The vectors do not move any more. */
static void link_rows(struct absorb_room *room)
{
    for (size_t i = 0; i < room->rows.count; i++)
        room->rows.items[i].levels = (struct tf_level_vectors){&room->have.items[i], 1, 1};
}

struct tf_fit_view absorb_room_view(struct absorb_room *room)
{
    link_rows(room);
    return (struct tf_fit_view){room->catalog, room->rows.items, room->rows.count, NULL};
}

static size_t find_row(const struct absorb_room *room, uint32_t id)
{
    size_t low = 0, high = room->rows.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (room->rows.items[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    assert(low < room->rows.count && room->rows.items[low].id == id);
    return low;
}

void absorb_plan_release(struct absorb_plan *plan)
{
    tf_vec_each (job, &plan->jobs) {
        tf_demand_release(&job->demand);
        tf_vec_release(&job->nodes);
    }
    tf_vec_release(&plan->jobs);
    absorb_room_release(&plan->room);
    *plan = (struct absorb_plan){0};
}

/* ---- order ---- */

static int64_t size_of(const struct absorb_job *job)
{
    return job->size + (int64_t)job->steps * job->demand.step;
}

static int order(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

int absorb_job_cmp(const struct absorb_job *a, const struct absorb_job *b)
{
    int c = order(b->rank, a->rank);
    c = c ? c : order(size_of(a) * b->max, size_of(b) * a->max);
    /* Of two that are equally low the one goes up further: what is left behind is the same. */
    c = c ? c : order((int64_t)b->demand.step * a->max, (int64_t)a->demand.step * b->max);
    c = c ? c : order(a->submitted.ms, b->submitted.ms);
    return c ? c : tf_uid_cmp(a->uid, b->uid);
}

/* ---- steps ---- */

struct making {
    struct absorb_plan *plan;
    struct tf_fit_scratch *scratch;
    struct tf_fit_placement packing;
    int64_t budget;
    TF_VEC(struct absorb_job *) heap; /* that may get more; the first is next */
};

static bool out_of_budget(const struct making *m)
{
    return m->plan->work >= m->budget;
}

static int32_t steps_left(const struct absorb_job *job)
{
    return (job->max - (int32_t)size_of(job)) / job->demand.step;
}

static struct tf_fit_view look(struct making *m)
{
    const struct absorb_room *room = &m->plan->room;
    m->plan->work += (int64_t)room->rows.count + 1;
    return (struct tf_fit_view){room->catalog, room->rows.items, room->rows.count, NULL};
}

static void use_node(struct absorb_job *job, uint32_t id)
{
    size_t at = job->demand.used.count;
    while (at > 0 && job->demand.used.items[at - 1] > id)
        at--;
    if (at > 0 && job->demand.used.items[at - 1] == id)
        return;
    tf_vec_push(&job->demand.used, id);
    for (size_t i = job->demand.used.count - 1; i > at; i--)
        job->demand.used.items[i] = job->demand.used.items[i - 1];
    job->demand.used.items[at] = id;
    if (--job->demand.max_nodes == 0)
        job->demand.max_nodes = TF_DEMAND_NO_NEW;
}

static void debit(struct making *m, struct absorb_job *job)
{
    struct absorb_room *room = &m->plan->room;
    tf_vec_each (row, &m->packing.rows) {
        assert(row->nodes == 1);
        struct tf_vector *have = &room->have.items[find_row(room, row->row)].have;
        *have = tf_vector_sub(*have, tf_vector_scale(job->demand.need, row->each));
        for (int32_t i = 0; i < row->each; i++)
            tf_vec_push(&job->nodes, row->row);
        if (job->demand.max_nodes != 0)
            use_node(job, row->row);
    }
}

/* All of these steps, or none. */
static bool give(struct making *m, struct absorb_job *job, int32_t steps)
{
    struct tf_fit_view view = look(m);
    if (steps < 1 || !tf_fit_pack(&view, &job->demand, TF_LEVEL_FREE, steps * job->demand.step, m->plan->mix,
                                  m->scratch, &m->packing))
        return false;
    debit(m, job);
    job->steps += steps;
    return true;
}

/* As many of these steps as fit. */
static bool give_most(struct making *m, struct absorb_job *job, int32_t steps)
{
    if (give(m, job, steps))
        return true;
    struct tf_fit fit;
    struct tf_fit_view view = look(m);
    tf_fit_count(&view, &job->demand, TF_LEVEL_FREE, m->scratch, &fit);
    (void)give(m, job, fit.count / job->demand.step);
    return false;
}

static void take_back(struct making *m, struct absorb_job *job)
{
    struct absorb_room *room = &m->plan->room;
    assert(job->steps > 0 && job->demand.max_nodes == 0);
    for (int32_t i = 0; i < job->demand.step; i++) {
        uint32_t id = job->nodes.items[--job->nodes.count];
        struct tf_vector *have = &room->have.items[find_row(room, id)].have;
        *have = tf_vector_add(*have, job->demand.need);
    }
    job->steps--;
}

/* ---- progressive filling ---- */

static void sift_down(struct making *m, size_t at)
{
    struct absorb_job **heap = m->heap.items;
    for (size_t child = 2 * at + 1; child < m->heap.count; child = 2 * at + 1) {
        if (child + 1 < m->heap.count && absorb_job_cmp(heap[child + 1], heap[child]) < 0)
            child++;
        if (absorb_job_cmp(heap[at], heap[child]) <= 0)
            return;
        struct absorb_job *moved = heap[at];
        heap[at] = heap[child];
        heap[child] = moved;
        at = child;
    }
}

static void drop_first(struct making *m)
{
    m->heap.items[0] = m->heap.items[--m->heap.count];
    sift_down(m, 0);
}

static const struct absorb_job *second(const struct making *m)
{
    const struct absorb_job *const *heap = (const struct absorb_job *const *)m->heap.items;
    if (m->heap.count < 3)
        return m->heap.count == 2 ? heap[1] : NULL;
    return absorb_job_cmp(heap[1], heap[2]) < 0 ? heap[1] : heap[2];
}

/* How many steps the first gets before it is the second's turn. Given at once they cost one look at the room
 * instead of one each. */
static int32_t run_of(const struct making *m)
{
    const struct absorb_job *job = m->heap.items[0], *next = second(m);
    int32_t all = steps_left(job);
    if (!next)
        return all;
    int64_t ahead = size_of(next) * job->max - size_of(job) * next->max;
    int64_t steps = ahead / ((int64_t)job->demand.step * next->max);
    return steps < 1 ? 1 : steps < all ? (int32_t)steps : all;
}

/* Those of one rank, in turn, until none can take another step. */
static void fill(struct making *m, struct absorb_job **jobs, size_t count)
{
    m->heap.count = 0;
    for (size_t i = 0; i < count; i++)
        if (steps_left(jobs[i]) > 0)
            tf_vec_push(&m->heap, jobs[i]);
    for (size_t i = m->heap.count / 2; i-- > 0;)
        sift_down(m, i);
    while (m->heap.count && !out_of_budget(m)) {
        struct absorb_job *job = m->heap.items[0];
        job->tried = !give_most(m, job, run_of(m));
        if (job->tried || steps_left(job) == 0)
            drop_first(m); /* there is never more room than now */
        else
            sift_down(m, 0);
    }
}

/* ---- the repair pass ---- */

/* Jobs whose steps take as many GPUs: for the sum they are one. */
struct kind {
    int32_t gpus;        /* of a step */
    int32_t given, all;  /* steps: given, and with those that might still be */
    int32_t least, most; /* within the window */
    int32_t target;      /* what would be best */
};

struct repair {
    struct making *m;
    struct absorb_job **jobs; /* of one rank */
    size_t count;
    int32_t model;
    TF_VEC(struct kind) kinds;
    TF_VEC(int32_t) used; /* kinds x sums: steps of the kind in that sum, -1 = it cannot be reached */
};

enum {
    WINDOW = 64,           /* steps of one kind that are exchanged at most */
    REPAIR_CELLS = 1 << 20 /* of the table; a larger exchange is not looked for */
};

/* maxNodes: a step that is taken back may have been what opened a node. */
static bool takes_part(const struct repair *r, const struct absorb_job *job)
{
    const struct tf_demand *d = &job->demand;
    return d->max_nodes == 0 && d->need.gpus > 0 && d->models.count == 1 && d->models.items[0] == r->model;
}

static struct kind *kind_of(struct repair *r, int32_t gpus)
{
    tf_vec_each (kind, &r->kinds)
        if (kind->gpus == gpus)
            return kind;
    struct kind *kind = tf_vec_add(&r->kinds);
    kind->gpus = gpus;
    return kind;
}

static void list_kinds(struct repair *r)
{
    r->kinds.count = 0;
    for (size_t i = 0; i < r->count; i++) {
        const struct absorb_job *job = r->jobs[i];
        if (!takes_part(r, job))
            continue;
        struct kind *kind = kind_of(r, job->demand.step * job->demand.need.gpus);
        kind->given += job->steps;
        kind->all += job->steps + steps_left(job);
    }
}

static int64_t idle_of_model(const struct repair *r)
{
    const struct absorb_room *room = &r->m->plan->room;
    int64_t idle = 0;
    for (size_t i = 0; i < room->rows.count; i++)
        if (room->catalog->classes.items[room->rows.items[i].class].model == r->model)
            idle += room->have.items[i].have.gpus;
    return idle;
}

static int64_t gcd(int64_t a, int64_t b)
{
    return b == 0 ? a : gcd(b, a % b);
}

/* For each sum of GPUs, with how few steps of the kind it is reached: bounded subset sum. */
static void reach(struct repair *r, size_t at, int64_t unit, size_t cells)
{
    const struct kind *kind = &r->kinds.items[at];
    const int32_t *before = at ? r->used.items + (at - 1) * cells : NULL;
    int32_t *now = r->used.items + at * cells;
    size_t weight = (size_t)(kind->gpus / unit);
    for (size_t sum = 0; sum < cells; sum++) {
        bool without = before ? before[sum] >= 0 : sum == 0;
        bool one_more =
            sum >= weight && now[sum - weight] >= 0 && now[sum - weight] < kind->most - kind->least;
        now[sum] = without ? 0 : one_more ? now[sum - weight] + 1 : -1;
    }
}

/* The window and the unit of all sums in it; returns what is used at least. */
static int64_t set_window(struct repair *r, int32_t window, int64_t *unit)
{
    int64_t fixed = *unit = 0;
    tf_vec_each (kind, &r->kinds) {
        kind->least = kind->given > window ? kind->given - window : 0;
        kind->most = kind->all < kind->given + window ? kind->all : kind->given + window;
        *unit = gcd(*unit, kind->gpus);
        fixed += (int64_t)kind->least * kind->gpus;
    }
    return fixed;
}

/* Sets the targets to what uses most of `room` (what is idle and what was given) when at most so many steps
 * of a kind are exchanged. Returns what is used; 0: it was not looked for. */
static int64_t best_use(struct repair *r, int64_t room, int32_t window)
{
    int64_t unit, fixed = set_window(r, window, &unit);
    size_t cells = (size_t)((room - fixed) / unit + 1), kinds = r->kinds.count;
    if (cells * kinds > REPAIR_CELLS)
        return 0;
    r->m->plan->work += (int64_t)(cells * kinds) / 16;
    tf_vec_reserve(&r->used, cells * kinds);
    for (size_t i = 0; i < kinds; i++)
        reach(r, i, unit, cells);
    size_t sum = cells - 1;
    while (r->used.items[(kinds - 1) * cells + sum] < 0)
        sum--;
    int64_t used = fixed + (int64_t)sum * unit;
    for (size_t i = kinds; i-- > 0;) {
        struct kind *kind = &r->kinds.items[i];
        int32_t steps = r->used.items[i * cells + sum];
        kind->target = kind->least + steps;
        sum -= (size_t)steps * (size_t)(kind->gpus / unit);
    }
    return used;
}

/* The job of the kind that is last (first) in the order and has (may have) a step of this plan. */
static struct absorb_job *extreme_of(const struct repair *r, const struct kind *kind, bool first)
{
    struct absorb_job *best = NULL;
    for (size_t i = 0; i < r->count; i++) {
        struct absorb_job *job = r->jobs[i];
        if (!takes_part(r, job) || job->demand.step * job->demand.need.gpus != kind->gpus ||
            (first ? steps_left(job) : job->steps) == 0)
            continue;
        if (!best || (absorb_job_cmp(job, best) < 0) == first)
            best = job;
    }
    assert(best);
    return best;
}

/* What the exchange changes, to be put back if it cannot be packed. */
struct before {
    TF_VEC(struct tf_level_vector) have;
    TF_VEC(struct absorb_job) jobs; /* steps, and a copy of nodes */
};

static void remember(const struct repair *r, struct before *before)
{
    const struct absorb_room *room = &r->m->plan->room;
    tf_vec_each (have, &room->have)
        tf_vec_push(&before->have, *have);
    for (size_t i = 0; i < r->count; i++) {
        const struct absorb_job *job = r->jobs[i];
        struct absorb_job copy = {.steps = job->steps};
        tf_vec_each (node, &job->nodes)
            tf_vec_push(&copy.nodes, *node);
        tf_vec_push(&before->jobs, copy);
    }
}

static void put_back(const struct repair *r, const struct before *before)
{
    struct absorb_room *room = &r->m->plan->room;
    for (size_t i = 0; i < room->have.count; i++)
        room->have.items[i] = before->have.items[i];
    for (size_t i = 0; i < r->count; i++) {
        struct absorb_job *job = r->jobs[i];
        const struct absorb_job *was = &before->jobs.items[i];
        job->steps = was->steps;
        job->nodes.count = 0;
        tf_vec_each (node, &was->nodes)
            tf_vec_push(&job->nodes, *node);
    }
}

static void forget(struct before *before)
{
    tf_vec_each (job, &before->jobs)
        tf_vec_release(&job->nodes);
    tf_vec_release(&before->jobs);
    tf_vec_release(&before->have);
}

static bool exchange(struct repair *r)
{
    tf_vec_each (kind, &r->kinds)
        for (int32_t steps = kind->given; steps > kind->target; steps--)
            take_back(r->m, extreme_of(r, kind, false));
    tf_vec_each (kind, &r->kinds)
        for (int32_t steps = kind->given; steps < kind->target; steps++)
            if (!give(r->m, extreme_of(r, kind, true), 1))
                return false;
    return true;
}

static void try_exchange(struct repair *r)
{
    struct before before = {0};
    remember(r, &before);
    if (!exchange(r))
        put_back(r, &before);
    forget(&before);
}

/* The smallest exchange that uses as much as the largest would: it disturbs the filling least. */
static void repair_model(struct repair *r)
{
    int64_t given = 0, idle = idle_of_model(r);
    list_kinds(r);
    tf_vec_each (kind, &r->kinds)
        given += (int64_t)kind->given * kind->gpus;
    if (r->kinds.count < 2 || idle == 0)
        return;
    int64_t best = best_use(r, given + idle, WINDOW), used = best;
    if (best <= given)
        return;
    for (int32_t window = 1; window < WINDOW; window *= 2)
        if ((used = best_use(r, given + idle, window)) == best)
            break;
    if (used != best)
        (void)best_use(r, given + idle, WINDOW);
    try_exchange(r);
}

static void repair(struct making *m, struct absorb_job **jobs, size_t count)
{
    struct repair r = {.m = m, .jobs = jobs, .count = count};
    TF_VEC(int32_t) done = {0};
    for (size_t i = 0; i < count && !out_of_budget(m); i++) {
        const struct tf_demand *d = &jobs[i]->demand;
        if (d->models.count != 1)
            continue;
        r.model = d->models.items[0];
        bool again = false;
        tf_vec_each (model, &done)
            again |= *model == r.model;
        if (again)
            continue;
        tf_vec_push(&done, r.model);
        repair_model(&r);
    }
    tf_vec_release(&done);
    tf_vec_release(&r.kinds);
    tf_vec_release(&r.used);
}

/* ---- all ranks ---- */

static int by_order(const void *a, const void *b)
{
    return absorb_job_cmp(*(struct absorb_job *const *)a, *(struct absorb_job *const *)b);
}

static void give_out(struct making *m, struct absorb_job **jobs, size_t count)
{
    fill(m, jobs, count);
    if (out_of_budget(m))
        return;
    repair(m, jobs, count);
    fill(m, jobs, count); /* on other nodes there may be room for one more */
}

bool absorb_plan_make(struct absorb_plan *plan, int64_t budget, struct tf_fit_scratch *scratch)
{
    struct making m = {.plan = plan, .scratch = scratch, .budget = plan->work + budget};
    TF_VEC(struct absorb_job *) jobs = {0};
    link_rows(&plan->room);
    tf_vec_each (job, &plan->jobs)
        tf_vec_push(&jobs, job);
    if (jobs.count > 1)
        qsort(jobs.items, jobs.count, sizeof *jobs.items, by_order);
    for (size_t i = 0, end; i < jobs.count && !out_of_budget(&m); i = end) {
        for (end = i + 1; end < jobs.count && jobs.items[end]->rank == jobs.items[i]->rank;)
            end++;
        give_out(&m, jobs.items + i, end - i);
    }
    tf_vec_release(&jobs);
    tf_vec_release(&m.heap);
    tf_fit_placement_release(&m.packing);
    return !out_of_budget(&m);
}
