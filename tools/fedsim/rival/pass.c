/* SPDX-License-Identifier: Apache-2.0 */
/* Owns who is next, and who must go for whom. */
#include "tools/fedsim/rival/private.h"

static bool evicts(const struct rival *rival)
{
    return rival->kind == RIVAL_PRIORITY || rival->kind == RIVAL_YOUNGEST_FIRST;
}

/* ---- the queue ---- */

static int64_t staying(const struct rival_job *job)
{
    int64_t count = 0;
    tf_vec_each (m, &job->members)
        count += !m->stopping;
    return count;
}

/* Instances that it asks for now; of who is all there, or on its way out, none. */
static int32_t missing(const struct rival_job *job)
{
    bool waits = !job->over && !job->held && job->ending == TF_END_NONE;
    if (!waits || (job->members.count && !rival_is_service(job)))
        return 0;
    int64_t more = job->wanted.min - staying(job);
    return more > 0 ? (int32_t)more : 0;
}

static bool goes_first(const struct rival *rival, const struct rival_job *a, const struct rival_job *b)
{
    if (!evicts(rival) && a->submitted / TF_SECOND != b->submitted / TF_SECOND)
        return a->submitted < b->submitted;
    /* of those that come at once the more important is first by any rule */
    return a->rank != b->rank ? a->rank > b->rank : a->number < b->number;
}

static void sort(struct rival_queue *queue, const struct rival *rival,
                 bool (*first)(const struct rival *, const struct rival_job *, const struct rival_job *))
{
    for (size_t i = 1; i < queue->count; i++) {
        struct rival_job *job = queue->items[i];
        size_t k = i;
        for (; k > 0 && first(rival, job, queue->items[k - 1]); k--)
            queue->items[k] = queue->items[k - 1];
        queue->items[k] = job;
    }
}

static void list_waiting(struct rival *rival)
{
    rival->queue.count = 0;
    for (struct rival_job *job = rival->jobs; job; job = job->hh.next)
        if (missing(job) > 0)
            tf_vec_push(&rival->queue, job);
    sort(&rival->queue, rival, goes_first);
}

/* ---- what is free ---- */

/* The largest legal size that is free there: it is fixed from then on. */
static void enlarge(const struct rival *rival, const struct rival_job *job, size_t site,
                    struct rival_places *places)
{
    struct rival_places more = {0};
    int32_t size = (int32_t)places->count;
    bool gang = !job->members.count && !rival_is_service(job);
    while (gang && size + job->wanted.step <= job->wanted.max &&
           rival_place_in(rival, job, size + job->wanted.step, site, &rival->plan, false, &more)) {
        size += job->wanted.step;
        struct rival_places swap = *places;
        *places = more;
        more = swap;
    }
    tf_vec_release(&more);
}

static bool start_in_free(struct rival *rival, struct rival_job *job, struct rival_places *places)
{
    int site = rival_place(rival, job, missing(job), &rival->plan, false, places);
    if (site < 0)
        return false;
    enlarge(rival, job, (size_t)site, places);
    rival_take(&rival->plan, job, places);
    rival_starts(rival, job, places);
    return true;
}

/* ---- evictions ---- */

/* Whether a goes before b. */
static bool gives_first(const struct rival *rival, const struct rival_job *a, const struct rival_job *b)
{
    if (rival->kind == RIVAL_PRIORITY && a->rank != b->rank)
        return a->rank < b->rank;
    if (a->started != b->started)
        return a->started > b->started;
    return a->number > b->number;
}

static void list_victims(const struct rival *rival, const struct rival_job *job, size_t site,
                         struct rival_queue *victims)
{
    victims->count = 0;
    for (struct rival_job *other = rival->jobs; other; other = other->hh.next)
        if (other->rank < job->rank && other->ending == TF_END_NONE && other->members.count &&
            rival->rooms.items[other->members.items[0].room].site == site)
            tf_vec_push(victims, other);
    sort(victims, rival, gives_first);
}

/* Rooms of the plan when all of those have left that are not NULL. */
static void plan_without(const struct rival *rival, const struct rival_queue *victims, size_t count,
                         struct rival_rooms *rooms)
{
    rooms->count = 0;
    tf_vec_reserve(rooms, rival->plan.count);
    memcpy(rooms->items, rival->plan.items, rival->plan.count * sizeof *rooms->items);
    rooms->count = rival->plan.count;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; victims->items[i] && k < victims->items[i]->members.count; k++)
            rival_leave(rooms, victims->items[i], &victims->items[i]->members.items[k]);
}

struct search {
    const struct rival_job *job;
    size_t site;
    struct rival_queue victims;
    size_t count; /* that go, from the first; NULL among them: may stay */
    struct rival_rooms rooms;
    struct rival_places *places;
};

static bool suffices(const struct rival *rival, struct search *s)
{
    plan_without(rival, &s->victims, s->count, &s->rooms);
    return rival_place_in(rival, s->job, missing(s->job), s->site, &s->rooms, true, s->places);
}

/* The most important first, the oldest first: who is not needed stays. */
static void spare(const struct rival *rival, struct search *s)
{
    for (size_t i = s->count; i-- > 0;) {
        struct rival_job *victim = s->victims.items[i];
        s->victims.items[i] = NULL;
        if (!suffices(rival, s))
            s->victims.items[i] = victim;
    }
    (void)suffices(rival, s); /* the places of those that are left */
}

static bool find_victims(const struct rival *rival, struct search *s)
{
    list_victims(rival, s->job, s->site, &s->victims);
    for (s->count = 1; s->count <= s->victims.count; s->count++) {
        if (!suffices(rival, s))
            continue;
        if (rival->kind == RIVAL_PRIORITY)
            spare(rival, s);
        return true;
    }
    return false;
}

static void evict(struct rival *rival, struct rival_job *job, struct search *s)
{
    rival_tell_state(rival, job, s->site, s->places);
    for (size_t i = 0; i < s->count; i++) {
        struct rival_job *victim = s->victims.items[i];
        if (!victim)
            continue;
        tf_vec_each (m, &victim->members)
            rival_leave(&rival->plan, victim, m);
        rival_stops(rival, victim, TF_END_EVICTED, TF_PHASE_PENDING);
    }
    rival_take(&rival->plan, job, s->places);
}

static bool make_room(struct rival *rival, struct rival_job *job, struct rival_places *places)
{
    struct search search = {.job = job, .places = places};
    bool found = false;
    for (; search.site < rival->world->sites.count && !found; search.site++) {
        found = rival_may_use(rival, job, search.site) && find_victims(rival, &search);
        if (found)
            evict(rival, job, &search);
    }
    tf_vec_release(&search.victims);
    tf_vec_release(&search.rooms);
    return found;
}

/* ---- the pass ---- */

static bool asks_the_same(const struct rival_job *a, const struct rival_job *b)
{
    return a && !a->members.count && !b->members.count && a->rank == b->rank &&
           tf_job_spec_eq(&a->manifest.spec, &b->manifest.spec);
}

static bool serve(struct rival *rival, struct rival_job *job, struct rival_places *places)
{
    if (start_in_free(rival, job, places))
        return true;
    /* others have been asked to leave, for it: nobody behind it gets that */
    if (rival_place(rival, job, missing(job), &rival->plan, true, places) >= 0) {
        rival_take(&rival->plan, job, places);
        return true;
    }
    return evicts(rival) && make_room(rival, job, places);
}

void rival_pass(struct rival *rival)
{
    struct rival_places places = {0};
    const struct rival_job *in_vain = NULL;
    rival->plan.count = 0;
    tf_vec_each (room, &rival->rooms)
        tf_vec_push(&rival->plan, *room);
    list_waiting(rival);
    tf_vec_each (job, &rival->queue) {
        if (asks_the_same(in_vain, *job) || missing(*job) == 0)
            continue;
        if (!serve(rival, *job, &places))
            in_vain = *job;
    }
    tf_vec_release(&places);
}
