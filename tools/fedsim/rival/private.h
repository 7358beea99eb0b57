/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDSIM_RIVAL_PRIVATE_H
#define TF_FEDSIM_RIVAL_PRIVATE_H

#include "tools/fedsim/rival/rival.h"

/* Shared inside of this folder. */

enum { NO_CLASS = -1 };

/* An instance that lives. */
struct rival_member {
    struct tf_instance_id id;
    size_t room;
    uint64_t gpus;
    bool stopping;
};

struct rival_job {
    struct tf_uid uid;
    UT_hash_handle hh;
    struct tf_job_manifest manifest;
    struct tf_elastic wanted;
    int rank;
    uint64_t number; /* in the order of submits */
    uint64_t epoch;  /* of what runs or ran last */
    uint32_t attempts;
    int64_t submitted, started; /* ms */
    int32_t failures;
    bool held, over;
    enum tf_end ending; /* all of it is being stopped, and why; TF_END_NONE: it is not */
    enum tf_phase then; /* what it is after that */
    size_t site;        /* of its members, or of the last */
    TF_VEC(struct rival_member) members;
};

/* What a node has. idle + leaving + what stays held are its usable GPUs. */
struct rival_room {
    size_t site, node;
    int rank; /* of the class that has it; NO_CLASS: anybody */
    uint64_t idle, leaving;
    struct tf_vector have, coming; /* without GPUs; coming: of those that leave */
};

struct rival_rooms {
    struct rival_room *items;
    size_t count, cap;
};

/* Where an instance would be. */
struct rival_place {
    size_t room;
    uint64_t gpus;
};
struct rival_places {
    struct rival_place *items;
    size_t count, cap;
};

struct rival_queue {
    struct rival_job **items;
    size_t count, cap;
};

struct rival {
    enum rival_kind kind;
    struct sim_world *world;
    struct rival_job *jobs;
    struct rival_rooms rooms, plan; /* plan: what is left of them in the pass under way */
    TF_VEC(size_t) first;           /* room of each site */
    struct rival_queue queue;
    uint64_t submits, epochs;
    bool pass_due;
};

/* ---- rival.c ---- */
bool rival_is_service(const struct rival_job *job);
/* All of it is asked to stop. then: what becomes of it. */
void rival_stops(struct rival *rival, struct rival_job *job, enum tf_end why, enum tf_phase then);
void rival_stops_one(struct rival *rival, struct rival_job *job, struct rival_member *member);
void rival_starts(struct rival *rival, struct rival_job *job, const struct rival_places *places);

/* ---- pass.c: who is next ---- */
void rival_pass(struct rival *rival);

/* ---- place.c: where ---- */
const struct tf_node *rival_node(const struct rival *rival, const struct rival_room *room);
/* Room for so many instances in one cluster, that of its members if it has any. leaving: also where others
 * have been asked to leave. -1: there is none; else the site. places: what was in it is dropped. */
int rival_place(const struct rival *rival, const struct rival_job *job, int32_t count,
                const struct rival_rooms *rooms, bool leaving, struct rival_places *places);
/* The same in one site. */
bool rival_place_in(const struct rival *rival, const struct rival_job *job, int32_t count, size_t site,
                    const struct rival_rooms *rooms, bool leaving, struct rival_places *places);
bool rival_may_use(const struct rival *rival, const struct rival_job *job, size_t site);
void rival_take(struct rival_rooms *rooms, const struct rival_job *job, const struct rival_places *places);
/* Its GPUs will be free. */
void rival_leave(struct rival_rooms *rooms, const struct rival_job *job, const struct rival_member *member);
/* What became of the node is looked up. */
void rival_refresh(struct rival *rival, size_t room);

/* ---- tell.c: the world is told of decisions as of durable records ---- */
void rival_tell_job(const struct rival *rival, const struct rival_job *job, enum tf_phase phase);
/* claims: GPUs for which others are evicted; NULL is fine. */
void rival_tell_state(const struct rival *rival, const struct rival_job *job, size_t site,
                      const struct rival_places *claims);
void rival_tell_end(const struct rival *rival, const struct rival_job *job, size_t site, enum tf_end end);

#endif
