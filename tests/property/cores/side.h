/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_PROPERTY_CORES_SIDE_H
#define TF_TESTS_PROPERTY_CORES_SIDE_H

#include "tests/property/subcluster/engine.h"
#include "tests/support/fed_driver/fed_driver.h"
#include "tests/support/record_store.h"

/* One subcluster's process: the core, its store, its engine, its stream to the leader. */
struct side {
    const char *name;
    struct drive *d; /* the leader's, whose clock this goes by */
    struct tf_rng *rng;
    struct sub *sub;
    struct engine engine;
    struct record_store store;
    struct tf_record *out;
    size_t out_count;
    bool out_waits;
    bool listing, continues;
    bool linked; /* the stream is there; the leader knows it from hello on */
    struct tf_mono wake;
    uint64_t owner, crashes;
    int64_t budget;
    TF_VEC(struct tf_down) down; /* on their way */
    TF_VEC(struct tf_up) up;
    TF_VEC(uint64_t) lost; /* epochs that the leader was told are lost */
};

void side_init(struct side *s, size_t nodes);
void side_release(struct side *s);
void side_boot(struct side *s); /* the process starts; one that ran dies, with what it had not committed */
void side_link(struct side *s);
void side_cut(struct side *s);
void side_sent(struct side *s, const struct tf_down *down); /* by the leader */
/* Something of the job runs, of an epoch that is not lost: what was started on a node just before the word of
 * its loss came, and lives because the node is back by then, is stopped as soon as it turns up. */
bool side_job_lives(const struct side *s, struct tf_uid uid);
/* Each delivers one thing; false if there is none. */
bool side_commit(struct side *s);
bool side_engine(struct side *s);
bool side_take(struct side *s);
bool side_say(struct side *s);
bool side_continue(struct side *s);
bool side_timer(struct side *s);

#endif
