/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_CALLER_H
#define TF_TESTS_CALLER_H

#include "common/base/vec.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

/* The addresses at which the ready members that peers files list answer under a port's name. */
struct peers {
    TF_VEC(struct sockaddr_in) ready;
};

/* Replaces what was known by what the files say now whose paths match, as in a shell: those of all epochs of
 * a job, say. False, after saying why on stderr, if none can be read; then nothing has changed. */
bool peers_read(struct peers *peers, const char *pattern, const char *port);

/* What became of a request. */
enum outcome {
    OUTCOME_OPEN,
    OUTCOME_ANSWERED, /* 200, with as many bytes as announced */
    OUTCOME_REFUSED,  /* nobody listened */
    OUTCOME_RESET,    /* closed before the whole answer was there */
    OUTCOME_LATE,     /* no answer in time */
    OUTCOME_WRONG,    /* another answer */
    OUTCOMES,
};
const char *outcome_name(enum outcome outcome);

/* One request over a connection of its own. */
struct call {
    int fd;
    int64_t deadline_ms;
    bool sent;
    size_t length;
    char answer[1024];
};

/* Connects; the call is over at once if the outcome is not OPEN. */
enum outcome call_begin(struct call *call, const struct sockaddr_in *to, int64_t deadline_ms);
/* What to wait for, as poll has it. */
short call_waits_for(const struct call *call);
/* Goes on after poll said so; closes the connection when the outcome is not OPEN. */
enum outcome call_go_on(struct call *call);
/* Gives it up. */
enum outcome call_expire(struct call *call);

#endif
