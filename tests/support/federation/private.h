/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_FEDERATION_PRIVATE_H
#define TF_TESTS_FEDERATION_PRIVATE_H

#include "tests/support/etcd.h"
#include "tests/support/federation/federation.h"
#include "tools/fedsim/replay/replay.h"

#include <sys/types.h>

struct test_daemon {
    char *name;
    int subcluster; /* -1 = fedd */
    struct test_proxy *proxy;
    pid_t pid;  /* 0 = does not run */
    int status; /* of its end at SIGTERM */
    bool frozen;
};

struct test_federation {
    struct test_federation_options options;
    char *folder;
    int round;
    char *state; /* "FOLDER/state/ROUND/": of the instances; NULL before the first round */
    char *place; /* "FOLDER/ROUND": log, conf, data of the daemons */
    bool round_failed, failed;
    struct test_guardian *guardian;
    struct test_etcd *etcds[TEST_ETCD_ROLES];
    TF_VEC(struct test_daemon) daemons;
    struct tf_strs names, endpoints;
    struct replay_totals replayed; /* of all rounds */
};

/* ---- configs.c ---- */

enum test_etcd_role test_config_role(const struct test_daemon *daemon);
char *test_config_path(const struct test_federation *federation, const struct test_daemon *daemon);
/* Its folder of event logs. */
char *test_config_events(const struct test_federation *federation, const struct test_daemon *daemon);
void test_config_write(const struct test_federation *federation, size_t daemon);

#endif
