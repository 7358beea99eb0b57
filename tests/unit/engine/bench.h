/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_ENGINE_BENCH_H
#define TF_TESTS_ENGINE_BENCH_H

#include "subcluster/engine/state/folder.h"
#include "subcluster/engine/state/spec.h"
#include "subcluster/engine/state/status.h"
#include "tests/support/orphans.h"
#include "tests/support/suite.h"

/* One instance in a state folder of its own, with the shim program alone and no engine. */
struct bench {
    char dir[64]; /* state folder */
    char path[TF_INSTANCE_PATH];
    char uid[TF_UID_TEXT]; /* a new one for each bench */
    int root, epoch_folder;
    struct tf_shim_spec spec;
};

/* A fresh folder and a spec whose command is `sh -c script`, run in the state folder. */
void bench_init(struct bench *b, const char *script);
/* Ends whatever still runs below this test and removes the folder; what was still alive counts as a failure.
 */
void bench_release(struct bench *b);

/* Writes the spec (again) and runs the shim: its exit code. */
int bench_start(struct bench *b);
int bench_end(struct bench *b, uint64_t owner, bool kill);
void bench_stop(struct bench *b, int64_t stop_delay, int64_t grace);
/* Tells a living shim to look. */
void bench_poke(struct bench *b);
int bench_folder(struct bench *b); /* the caller closes it */

/* Waits for the record; true if it came. The caller releases it. */
bool bench_exit(struct bench *b, struct tf_exit_record *exit);
bool bench_has_exit(struct bench *b);
/* Waits for a file in the state folder, which the script makes. */
bool bench_file(struct bench *b, const char *name);
bool bench_exists(struct bench *b, const char *name);
/* The whole file, "" if there is none; the caller frees it. name is relative to the state folder. */
char *bench_read(struct bench *b, const char *name);
char *bench_read_own(struct bench *b, const char *name); /* of the instance's folder */
size_t bench_count(const char *text, const char *word);
/* All journal lines. */
char *bench_journal(struct bench *b);

#endif
