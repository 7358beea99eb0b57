/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_FEDERATION_H
#define TF_TESTS_FEDERATION_H

#include "common/base/list.h"
#include "tests/support/etcd.h"
#include "tests/support/store_proxy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A whole federation of real processes in a folder of its own under /tmp: two etcd (of the federation, of the
 * subclusters), fedd, and subclusterd with the process engine. One may be started after the other on the
 * same two etcd, each with its own keys, state folders and logs: a round.
 *
 * Daemons are called "fedd-0", "fedd-1", and by subcluster "bj-a-0", "bj-a-1" (two of one name, sharing the
 * state folder). All of it ends with the test, however that ends, running instances too. */
struct test_federation;

struct test_subcluster {
    const char *name;
    int daemons;
    const char *nodes; /* items of `nodes` in subclusterd.yaml, a line each, without the dash */
};

struct test_federation_options {
    int fedds;
    const struct test_subcluster *subclusters; /* borrowed for its life */
    size_t subcluster_count;
    bool records;       /* daemons record their events; at the end of a round all must replay identically */
    bool proxies;       /* each daemon reaches its etcd through a counting proxy of its own */
    const char *lease;  /* of leader and owner keys; NULL = 1s */
    const char *budget; /* decisionBudget; NULL = the default */
    int64_t quota;      /* of the federation's etcd, bytes; 0 = the default */
    /* For benchmarks. */
    const char *engine; /* of subclusterd; NULL = process */
    const char *more;   /* lines for each subclusterd.yaml; NULL = none */
    const char *dir;    /* the folder is made under this one; NULL = /tmp */
    bool plain;         /* as users run it: etcd with fsync, all times and the log as they are by default */
    bool no_fsync;      /* but without that */
};

enum test_etcd_role { TEST_ETCD_FEDERATION, TEST_ETCD_LOCAL, TEST_ETCD_ROLES };

/* True if etcd is there. The programs are, since the test depends on them. */
bool test_federation_available(void);
/* The etcd and proxies run, no daemon yet. NULL after saying why on stderr. */
struct test_federation *test_federation_create(const struct test_federation_options *options);
/* Ends everything, the daemons by SIGTERM: one that does not end well makes it false. What instances are left
 * then is killed, and is a leak: false, too. The folder goes, unless test_federation_keep was called. */
bool test_federation_destroy(struct test_federation *federation);

/* Ends the daemons and instances of the round before, and starts those of a new one on an empty store. */
bool test_federation_round(struct test_federation *federation);
/* The same without starting any daemon. */
bool test_federation_prepare(struct test_federation *federation);

/* ---- daemons ---- */

void test_daemon_start(struct test_federation *federation, const char *name);
void test_daemon_kill(struct test_federation *federation,
                      const char *name); /* SIGKILL and wait; dead is fine */
void test_daemon_freeze(struct test_federation *federation,
                        const char *name); /* SIGSTOP; returns when it stands */
void test_daemon_thaw(struct test_federation *federation, const char *name);
bool test_daemon_runs(const struct test_federation *federation, const char *name);
/* User and system time that it has used since it was started, in microseconds; 0 if it does not run. */
int64_t test_daemon_cpu_us(const struct test_federation *federation, const char *name);
/* Memory that it has in RAM, in bytes; 0 if it does not run. */
int64_t test_daemon_rss(const struct test_federation *federation, const char *name);
/* Names of all, in the order fedds, subclusterds; borrowed. */
const struct tf_strs *test_federation_daemons(const struct test_federation *federation);
/* Its proxy; NULL without proxies. */
struct test_proxy *test_daemon_proxy(struct test_federation *federation, const char *name);
/* Which etcd it uses. */
enum test_etcd_role test_daemon_store(const struct test_federation *federation, const char *name);
/* False after saying so, when one that should run has ended by itself. */
bool test_federation_sound(struct test_federation *federation);

void test_federation_etcd_kill(struct test_federation *federation, enum test_etcd_role role);
bool test_federation_etcd_restart(struct test_federation *federation, enum test_etcd_role role);
void test_federation_etcd_freeze(struct test_federation *federation, enum test_etcd_role role);
void test_federation_etcd_thaw(struct test_federation *federation, enum test_etcd_role role);

/* The subclusterd that holds the owner key, by the key's own word; NULL if none does. Borrowed. */
const char *test_subcluster_owner(const struct test_federation *federation, size_t subcluster);

/* ---- where things are ---- */

/* Addresses of all fedd, for clients. */
const struct tf_strs *test_federation_endpoints(const struct test_federation *federation);
struct test_etcd *test_federation_etcd(const struct test_federation *federation, enum test_etcd_role role);
const char *test_federation_etcd_endpoint(const struct test_federation *federation, enum test_etcd_role role);
size_t test_federation_subclusters(const struct test_federation *federation);
/* Its state folder and its prefix in the local etcd, of this round; owned by the caller. */
char *test_federation_state_dir(const struct test_federation *federation, size_t subcluster);
char *test_federation_prefix(const struct test_federation *federation, size_t subcluster);
/* The part of paths that belongs to the instances of this round only; borrowed. See instances.h. */
const char *test_federation_instances(const struct test_federation *federation);

/* ---- when something is wrong ---- */

/* Keeps the folder, and prints on stderr where it is and the last lines of each daemon's log. */
void test_federation_keep(struct test_federation *federation);

#endif
