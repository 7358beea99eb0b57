/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_PROPERTY_SUBCLUSTER_ENGINE_H
#define TF_TESTS_PROPERTY_SUBCLUSTER_ENGINE_H

#include "common/base/rng.h"
#include "subcluster/core/sub.h"

/* An engine that does what engine.h allows, in any order: answers late, twice, refuses, fails, loses nodes
 * and finds them again with what was lost still running. It knows what really runs, and stops the test when
 * two live instances have one (epoch, index), or one job two live epochs. */

struct engine_instance {
    struct tf_instance_id id;
    enum sub_instance_state state; /* STARTING, READY, EXITED, LOST, ABSENT */
    int32_t exit_code;
    bool stopped, stopping;
    bool zombie;  /* lost with its node, but still running there */
    bool excused; /* was one: it lives beside what has followed it until it is stopped */
    char *node;
    uint64_t gpus;
};

struct engine {
    struct tf_rng *rng;
    TF_VEC(struct engine_instance) instances;
    TF_VEC(struct tf_node) nodes;
    TF_VEC(struct sub_event) events;  /* not yet delivered */
    TF_VEC(struct sub_event) repeats; /* delivered, may be again */
    bool calm;                        /* no more faults: everything becomes ready and ends well */
    uint64_t starts;
};

extern uint64_t engine_history; /* named in a breach */
void engine_init(struct engine *e, struct tf_rng *rng, size_t nodes);
void engine_release(struct engine *e);
void engine_do(struct engine *e, const struct sub_action *action);
/* Something happens in the engine by itself. */
void engine_move(struct engine *e);
/* Takes the next event to deliver; false if there is none. */
bool engine_next(struct engine *e, struct sub_event *event);
/* Drops what was not delivered and tells everything anew. */
void engine_list(struct engine *e);
void engine_heal(struct engine *e); /* all nodes ready, no more faults */
bool engine_job_lives(const struct engine *e, struct tf_uid uid, uint64_t up_to_epoch);
size_t engine_live(const struct engine *e);

#endif
