/* SPDX-License-Identifier: Apache-2.0 */
/* Turns records into units that can be evicted, with their costs. Chooses nothing. */
#include "subcluster/core/candidates.h"

#include "subcluster/core/levels.h"
#include "subcluster/core/members.h"
#include "subcluster/core/migrate.h"
#include "subcluster/core/size.h"
#include "subcluster/core/stakes.h"

#include <assert.h>

static int64_t age_of(const struct sub *sub, const struct job *job)
{
    int64_t age = sub->now.wall.ms - job->record.accepted.ms;
    return age > 0 ? age : 0;
}

/* ---- units ---- */

struct listing {
    struct candidates *out;
    struct sub *sub;
    tf_level level;
    bool surplus;                   /* no cores, no claims */
    const struct tf_demand *demand; /* what is reserved for it is free; NULL: nothing is */
    uint32_t next_job;
    int32_t lately; /* evictions of the job under way */
};

static void add_members(struct listing *listing, const struct job *job, int32_t mark,
                        struct victim_unit *unit, uint32_t number)
{
    const struct ledger *ledger = &listing->sub->ledger;
    struct tf_vector need = tf_shape_vector(&job->record.spec->group.shape);
    for (size_t i = 0; i < job->record.members.count; i++) {
        const struct tf_member *m = &job->record.members.items[i];
        if (m->mark != mark || !member_stays(m->state) || !member_holds(m->state) || member_moves(m))
            continue;
        unit->gpu_seconds += member_loss(listing->sub, job, m);
        unit->before += evictions_weight(listing->sub, listing->lately, need.gpus);
        if (m->role == TF_MEMBER_JOINS) { /* the first to go: with any other step of the job it goes, too */
            unit->age = unit->before = 0;
            unit->evictions = 0;
        }
        const struct ledger_node *node = ledger->nodes.items[job->runs.items[i].node];
        uint64_t gpus = m->gpus & ledger_usable_gpus(node) & ~ledger_claimed_gpus_of(node);
        struct candidate_part part = {node->number, number, gpus, need};
        part.frees.gpus = tf_gpu_set_count(part.gpus);
        if (ledger_is_open(node)) /* else it makes no room there by leaving */
            tf_vec_push(&listing->out->unsorted, part);
    }
}

/* One surplus step, or (mark 0) the core. */
static void add_unit(struct listing *listing, struct job *job, int32_t mark, tf_level level)
{
    struct candidates *out = listing->out;
    struct victim_unit unit = {.job = listing->next_job,
                               .core = mark == 0,
                               .level = level,
                               .evictions = job->record.evictions + job->record.ending.evictions,
                               .age = age_of(listing->sub, job)};
    uint32_t number = (uint32_t)out->units.count;
    add_members(listing, job, mark, &unit, number);
    tf_vec_push(&out->units, unit);
    tf_vec_push(&out->jobs, job);
    tf_vec_push(&out->marks, mark);
    tf_vec_push(&out->moves, (struct candidate_move){0});
}

/* What it frees of the nodes that it claims: also of GPUs whose holders are still going. */
static void add_claims(struct listing *listing, const struct job *job, uint32_t number)
{
    tf_vec_each (claim, &job->record.claims) {
        const struct ledger_node *node = ledger_find(&listing->sub->ledger, claim->node);
        uint64_t gpus = claim->gpus & ledger_unclaimed_gpus(node);
        struct tf_vector frees = {tf_gpu_set_count(gpus), claim->slots, claim->cpu, claim->memory};
        if (ledger_is_open(node))
            tf_vec_push(&listing->out->unsorted, (struct candidate_part){node->number, number, gpus, frees});
    }
}

/* One that waits for its claims, or keeps some for others, has nothing to lose but these (§5: a reservation
 * ranks at its owner's core level): of what is at that level it goes first. */
static void add_claimant(struct listing *listing, struct job *job)
{
    tf_level core = tf_level_core(class_rank(listing->sub, job->record.spec));
    if (core > listing->level || (listing->demand && tf_demand_may_use(listing->demand, job->record.uid)))
        return; /* what a reservation keeps for it need not be taken */
    add_claims(listing, job, (uint32_t)listing->out->units.count);
    add_unit(listing, job, 0, core);
    if (job->record.phase == TF_ALLOCATION_RESERVED) /* nobody waits for it yet: it goes first among equals */
        listing->out->units.items[listing->out->units.count - 1].age = 0;
    listing->next_job++;
}

/* What a running job claims of what it lacks may be taken without the rest of it, which runs on. */
static void add_wanted(struct listing *listing, struct job *job)
{
    struct candidates *out = listing->out;
    tf_level core = tf_level_core(class_rank(listing->sub, job->record.spec));
    if (core > listing->level)
        return;
    add_claims(listing, job, (uint32_t)out->units.count);
    tf_vec_push(&out->units, (struct victim_unit){.job = listing->next_job++, .core = true, .level = core});
    tf_vec_push(&out->jobs, job);
    tf_vec_push(&out->marks, CANDIDATE_CLAIMS);
    tf_vec_push(&out->moves, (struct candidate_move){0});
}

static void add_job(struct listing *listing, struct job *job)
{
    const struct tf_allocation *record = &job->record;
    if (claims_only(job) && !listing->surplus)
        add_claimant(listing, job);
    else if (record->claims.count && !listing->surplus)
        add_wanted(listing, job);
    if (record->phase != TF_ALLOCATION_STARTING && record->phase != TF_ALLOCATION_RUNNING)
        return;
    tf_level surplus = tf_level_surplus(class_rank(listing->sub, record->spec));
    if (surplus > listing->level)
        return;
    tf_level core = job_core_level(listing->sub, job);
    listing->lately = job_evicted_lately(listing->sub, job);
    for (int32_t mark = 1; mark <= size_steps(record); mark++)
        add_unit(listing, job, mark, surplus);
    if (core <= listing->level && !listing->surplus)
        add_unit(listing, job, 0, core);
    if (listing->out->units.count &&
        listing->out->units.items[listing->out->units.count - 1].job == listing->next_job)
        listing->next_job++;
}

/* Its place alone: the move is rolled back, and nobody loses anything. Also the GPUs that a member which
 * leaves in the same chain still holds are not counted: they come with neither alone. */
static void add_place(const struct migrate_stake *stake, void *arg)
{
    struct listing *listing = arg;
    struct candidates *out = listing->out;
    const struct ledger_node *node = ledger_find(&listing->sub->ledger, stake->node);
    if (stake->level > listing->level || !node || !ledger_is_open(node))
        return;
    uint64_t gpus = stake->gpus & ledger_usable_gpus(node);
    if (stake->claimed)
        gpus &= ledger_unclaimed_gpus(node);
    struct candidate_part part = {node->number, (uint32_t)out->units.count, gpus, stake->amount};
    part.frees.gpus = tf_gpu_set_count(gpus);
    tf_vec_push(&out->unsorted, part);
    tf_vec_push(&out->units,
                (struct victim_unit){.job = listing->next_job++, .core = true, .level = stake->level});
    tf_vec_push(&out->jobs, NULL);
    tf_vec_push(&out->marks, 0);
    tf_vec_push(&out->moves, (struct candidate_move){stake->migration, stake->move});
}

/* ---- nodes ---- */

/* By node, in the order in which they were listed: by unit. A counting sort. */
static void sort_parts(struct candidates *out, size_t nodes)
{
    tf_vec_reserve(&out->parts, out->unsorted.count + 1);
    tf_vec_reserve(&out->next, nodes + 1);
    size_t *next = out->next.items;
    memset(next, 0, (nodes + 1) * sizeof *next);
    tf_vec_each (part, &out->unsorted)
        next[part->node + 1]++;
    for (size_t n = 0; n < nodes; n++)
        next[n + 1] += next[n];
    tf_vec_each (part, &out->unsorted)
        out->parts.items[next[part->node]++] = *part;
    out->parts.count = out->unsorted.count;
}

/* Parts of one unit on one node become one. */
static void merge_parts(struct candidates *out)
{
    size_t kept = 0;
    tf_vec_each (part, &out->parts) {
        struct candidate_part *last = kept ? &out->parts.items[kept - 1] : NULL;
        if (last && last->node == part->node && last->unit == part->unit) {
            last->gpus |= part->gpus;
            last->frees = tf_vector_add(last->frees, part->frees);
        } else
            out->parts.items[kept++] = *part;
    }
    out->parts.count = kept;
    tf_vec_each (part, &out->parts)
        tf_vec_push(&out->frees, (struct victim_part){part->unit, part->frees});
}

static void list_nodes(struct candidates *out, const struct ledger *ledger, const struct tf_demand *demand)
{
    size_t at = 0;
    uint64_t gpus;
    tf_vec_each (node, &ledger->nodes) {
        struct victim_node detail = {.going = ledger_going(*node), .kind = (*node)->row};
        size_t first = at;
        if (demand)
            detail.going = tf_vector_add(detail.going, ledger_reserved(*node, demand, &gpus));
        while (at < out->parts.count && out->parts.items[at].node == (*node)->number)
            at++;
        detail.parts = out->frees.items + first;
        detail.part_count = at - first;
        tf_vec_push(&out->nodes, detail);
    }
    assert(at == out->parts.count);
}

static void empty(struct candidates *out)
{
    out->units.count = out->jobs.count = out->marks.count = out->moves.count = out->nodes.count = 0;
    out->parts.count = out->frees.count = out->unsorted.count = 0;
}

static struct candidates *list(struct listing listing)
{
    struct sub *sub = listing.sub;
    TF_VEC(struct job *) jobs = {0};
    if (!sub->candidates)
        sub->candidates = tf_calloc(1, sizeof *sub->candidates);
    listing.out = sub->candidates;
    empty(listing.out);
    tf_vec_reserve(&jobs, sub->jobs.count + 1);
    for (struct job *job = jobs_first(sub); job; job = jobs_next(job))
        tf_vec_push(&jobs, job);
    for (size_t i = jobs.count; i-- > 0;) /* larger uids first: they go first among equals */
        add_job(&listing, jobs.items[i]);
    tf_vec_release(&jobs);
    if (!listing.surplus)
        migrate_each_stake(sub, add_place, &listing);
    sort_parts(listing.out, sub->ledger.nodes.count);
    merge_parts(listing.out);
    list_nodes(listing.out, &sub->ledger, listing.demand);
    return listing.out;
}

struct candidates *candidates_list(struct sub *sub, tf_level level, const struct tf_demand *demand)
{
    return list((struct listing){.sub = sub, .level = level, .demand = demand});
}

struct candidates *candidates_list_surplus(struct sub *sub, int rank)
{
    assert(rank > 0);
    return list((struct listing){.sub = sub, .level = tf_level_surplus(rank - 1), .surplus = true});
}

void candidates_destroy(struct candidates *candidates)
{
    if (!candidates)
        return;
    tf_vec_release(&candidates->units);
    tf_vec_release(&candidates->jobs);
    tf_vec_release(&candidates->marks);
    tf_vec_release(&candidates->moves);
    tf_vec_release(&candidates->parts);
    tf_vec_release(&candidates->frees);
    tf_vec_release(&candidates->nodes);
    tf_vec_release(&candidates->unsorted);
    tf_vec_release(&candidates->next);
    free(candidates);
}
