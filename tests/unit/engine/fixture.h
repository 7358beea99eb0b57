/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_ENGINE_FIXTURE_H
#define TF_TESTS_ENGINE_FIXTURE_H

#include "tests/unit/engine/station.h"

/* What most tests of an engine begin and end with. The script of an instance writes a line into the file RAN
 * when it begins. */
struct fixture {
    char dir[64];
    char state[80]; /* does not exist yet */
    struct station s;
    struct tf_uid uid;
};

extern enum station_kind fixture_kind; /* of those that are opened from now on */

/* An engine that has listed its (empty) memory; owner revision 10. */
void fixture_open(struct fixture *f);
void fixture_close(struct fixture *f);
/* The daemon is replaced by another one of that owner revision. */
void fixture_restart(struct fixture *f, uint64_t owner);
void fixture_start(struct fixture *f, uint64_t owner, uint32_t index, const char *script);
void fixture_stop(struct fixture *f, uint64_t owner, uint32_t index, int64_t grace);
struct tf_instance_id fixture_id(const struct fixture *f, uint32_t index);
/* Waits for the state, and fails the test without it. */
const struct station_event *fixture_wait(struct fixture *f, uint32_t index, enum tf_instance_state state);
/* Starts it, and it must be refused for that reason, with the word in the text. */
void fixture_refused(struct fixture *f, struct tf_engine_spec *spec, enum tf_engine_refusal why,
                     const char *word);
size_t fixture_lines(const struct fixture *f, const char *name);
/* A command is ready when it has begun; what it does first may come later. */
void fixture_wait_lines(struct fixture *f, const char *name, size_t count);
/* Makes or removes the file by which an operator says something of node a, in the folder of the state folder.
 */
void fixture_sign(struct fixture *f, const char *folder, bool said);

#endif
