/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_TRACER_H
#define TF_TESTS_TRACER_H

#include <stdbool.h>
#include <sys/types.h>

/* Kills a program at its k-th system call, without any hook in the program: the call is not carried out. The
 * processes of a run have roles: 0 the program itself; 1 what role 0 forks; 2 what role 1 forks, until it
 * becomes another program. Whoever becomes another program runs free. */
enum { TRACER_ROLES = 3 };

struct tracer {
    const char *const *argv;
    long from_call; /* role 0 is counted from its first call of this number on; -1 = from the first */
    bool follow;    /* false: what role 0 forks runs free too */
    int role;       /* whose calls count ... */
    unsigned at;    /* ... and which of them is the moment, from 1; 0 = never */
    int victim;     /* role to be killed at that moment: itself or a parent or child */
    /* Called again and again while the program runs: brings about what it waits for. */
    void (*drive)(void *context);
    void *context;

    bool hit;                      /* out: the moment came */
    long call;                     /* out: the number of the call at that moment */
    unsigned counts[TRACER_ROLES]; /* out: calls of each role */
    int status;                    /* out: wait status of role 0 */
};

/* Runs until all traced processes have ended or, after the moment, are let go. False: it could not be traced,
 * or took longer than a minute. */
bool tracer_run(struct tracer *tracer);

#endif
