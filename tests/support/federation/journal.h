/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_JOURNAL_H
#define TF_TESTS_JOURNAL_H

#include "common/base/vec.h"
#include "common/model/id.h"

#include <stdbool.h>

/* One attempt of one instance, by the journals. */
struct test_run {
    struct tf_instance_id id;
    int starts;         /* lines that say so */
    int64_t begin, end; /* ms of the clock since boot; end INT64_MAX = no stop yet */
    char cause[24];
    int code, signal;
};
struct test_runs {
    struct test_run *items; /* by uid, epoch, index, attempt */
    size_t count, cap;
    size_t broken; /* lines that are no journal lines */
};

/* Adds what the journal of a state folder says. A stop without a start makes no run. Then sorts. */
void test_runs_read(struct test_runs *runs, const char *state_dir);
void test_runs_release(struct test_runs *runs);

#endif
