/* SPDX-License-Identifier: Apache-2.0 */
/* Owns where instances go: in one cluster, on GPUs of one model, each on the fullest node that has room. */
#include "tools/fedsim/rival/private.h"

#include "common/base/text.h"

const struct tf_node *rival_node(const struct rival *rival, const struct rival_room *room)
{
    return &rival->world->sites.items[room->site]->fleet.nodes.items[room->node].node;
}

static struct tf_vector without_gpus(struct tf_vector vector)
{
    vector.gpus = 0;
    return vector;
}

static struct tf_vector need_of(const struct rival_job *job)
{
    return without_gpus(tf_shape_vector(&job->manifest.spec.group.shape));
}

/* ---- what a node has ---- */

void rival_refresh(struct rival *rival, size_t number)
{
    struct rival_room *room = &rival->rooms.items[number];
    const struct tf_node *node = rival_node(rival, room);
    uint64_t held = 0, leaving = 0;
    struct tf_vector coming = {0}, used = {.slots = node->foreign.slots,
                                           .cpu = node->foreign.cpu,
                                           .memory = node->foreign.memory};
    for (const struct rival_job *job = rival->jobs; job; job = job->hh.next)
        tf_vec_each (m, &job->members) {
            if (m->room != number)
                continue;
            held |= m->gpus;
            used = tf_vector_add(used, need_of(job));
            leaving |= m->stopping ? m->gpus : 0;
            coming = m->stopping ? tf_vector_add(coming, need_of(job)) : coming;
        }
    uint64_t usable = tf_gpu_set_all(node->capacity.gpus) & ~node->foreign.gpus & ~node->bad_gpus;
    room->idle = usable & ~held;
    room->leaving = usable & leaving;
    room->have = tf_vector_floor0(without_gpus(tf_vector_sub(node->capacity, used)));
    room->coming = coming;
}

void rival_leave(struct rival_rooms *rooms, const struct rival_job *job, const struct rival_member *member)
{
    struct rival_room *room = &rooms->items[member->room];
    if (member->stopping)
        return;
    room->leaving |= member->gpus;
    room->coming = tf_vector_add(room->coming, need_of(job));
}

/* ---- who fits ---- */

static bool is_for(const struct rival *rival, const struct rival_job *job, const struct rival_room *room)
{
    const struct tf_node *node = rival_node(rival, room);
    const struct tf_job_spec *spec = &job->manifest.spec;
    return node->state == TF_NODE_READY && (room->rank == NO_CLASS || room->rank == job->rank) &&
           node->gpu_memory >= spec->group.shape.gpu_memory &&
           tf_pairs_match(&node->labels, &spec->node_labels);
}

static bool fits(const struct rival_room *room, int32_t gpus, struct tf_vector need, bool leaving)
{
    uint64_t set = room->idle | (leaving ? room->leaving : 0);
    struct tf_vector have = leaving ? tf_vector_add(room->have, room->coming) : room->have;
    return tf_gpu_set_count(set) >= gpus && tf_vector_fits(need, have);
}

static uint64_t choose_gpus(const struct rival_room *room, int32_t gpus)
{
    uint64_t idle = tf_gpu_set_lowest(room->idle, gpus);
    return idle | tf_gpu_set_lowest(room->leaving & ~room->idle, gpus - tf_gpu_set_count(idle));
}

static void take_one(struct rival_room *room, uint64_t gpus, struct tf_vector need)
{
    room->idle &= ~gpus;
    room->leaving &= ~gpus;
    room->have = tf_vector_sub(room->have, need); /* below 0 while others still leave */
}

void rival_take(struct rival_rooms *rooms, const struct rival_job *job, const struct rival_places *places)
{
    tf_vec_each (place, places)
        take_one(&rooms->items[place->room], place->gpus, need_of(job));
}

/* ---- packing ---- */

/* Of the rooms of one site, kept from call to call: what a packing has left of them. */
struct draft {
    size_t first, count;
    struct rival_room *rooms;
};

static struct draft draft_of(const struct rival *rival, size_t site, const struct rival_rooms *rooms)
{
    struct draft draft = {.first = rival->first.items[site]};
    size_t next = site + 1 < rival->first.count ? rival->first.items[site + 1] : rooms->count;
    draft.count = next - draft.first;
    draft.rooms = tf_memdup(rooms->items + draft.first, draft.count * sizeof *draft.rooms);
    return draft;
}

static bool has_model(const struct rival *rival, const struct rival_room *room, const char *model)
{
    return !model || tf_str_eq(rival_node(rival, room)->model, model);
}

static struct rival_room *fullest(const struct rival *rival, const struct rival_job *job, struct draft *draft,
                                  const char *model, bool leaving)
{
    int32_t gpus = job->manifest.spec.group.shape.gpus, least = INT32_MAX;
    struct tf_vector need = need_of(job);
    struct rival_room *found = NULL;
    for (struct rival_room *room = draft->rooms; room < draft->rooms + draft->count; room++) {
        int32_t has = tf_gpu_set_count(room->idle | (leaving ? room->leaving : 0));
        if (has >= least || !has_model(rival, room, model) || !fits(room, gpus, need, leaving) ||
            !is_for(rival, job, room))
            continue;
        found = room;
        least = has;
    }
    return found;
}

static bool pack(const struct rival *rival, const struct rival_job *job, int32_t count, size_t site,
                 const struct rival_rooms *rooms, const char *model, bool leaving,
                 struct rival_places *places)
{
    struct draft draft = draft_of(rival, site, rooms);
    places->count = 0;
    for (int32_t i = 0; i < count; i++) {
        struct rival_room *room = fullest(rival, job, &draft, model, leaving);
        if (!room)
            break;
        if (job->manifest.spec.group.shape.gpus > 0)
            model = rival_node(rival, room)->model; /* the others must have the same */
        uint64_t gpus = choose_gpus(room, job->manifest.spec.group.shape.gpus);
        struct rival_place place = {draft.first + (size_t)(room - draft.rooms), gpus};
        tf_vec_push(places, place);
        take_one(room, gpus, need_of(job));
    }
    free(draft.rooms);
    return places->count == (size_t)count;
}

bool rival_place_in(const struct rival *rival, const struct rival_job *job, int32_t count, size_t site,
                    const struct rival_rooms *rooms, bool leaving, struct rival_places *places)
{
    const struct tf_strs *models = &job->manifest.spec.group.shape.gpu_models;
    if (job->members.count) {
        const char *model = rival_node(rival, &rival->rooms.items[job->members.items[0].room])->model;
        return pack(rival, job, count, site, rooms, model, leaving, places);
    }
    if (!models->count)
        return pack(rival, job, count, site, rooms, NULL, leaving, places);
    tf_vec_each (model, models)
        if (pack(rival, job, count, site, rooms, *model, leaving, places))
            return true;
    return false;
}

bool rival_may_use(const struct rival *rival, const struct rival_job *job, size_t site)
{
    const struct sim_site *at = rival->world->sites.items[site];
    const struct tf_job_spec *spec = &job->manifest.spec;
    if (job->members.count)
        return rival->rooms.items[job->members.items[0].room].site == site;
    return (!spec->clusters.count || tf_strs_has(&spec->clusters, at->name)) &&
           (!spec->regions.count || tf_strs_has(&spec->regions, at->region));
}

int rival_place(const struct rival *rival, const struct rival_job *job, int32_t count,
                const struct rival_rooms *rooms, bool leaving, struct rival_places *places)
{
    for (size_t site = 0; site < rival->world->sites.count; site++)
        if (rival_may_use(rival, job, site) &&
            rival_place_in(rival, job, count, site, rooms, leaving, places))
            return (int)site;
    return -1;
}
