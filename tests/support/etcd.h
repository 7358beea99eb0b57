/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_ETCD_H
#define TF_TESTS_ETCD_H

#include <stdbool.h>
#include <stdint.h>

/* A real etcd of one member for a test or benchmark: free loopback ports, a data folder of its own, leases of
 * one second possible. It dies with the test program, however that ends. */
struct test_etcd;

struct test_etcd_options {
    const char *dir;     /* data in a new folder under this one; NULL = /tmp */
    bool fsync;          /* as in production; tests leave it out */
    int64_t quota_bytes; /* 0 = etcd's default */
};

/* True if etcd is installed. If not, says so; in CI (environment: CI) that also ends the program with an
 * error. */
bool test_etcd_available(void);
/* Waits until it is healthy. NULL after saying why on stderr. options may be NULL. */
struct test_etcd *test_etcd_start(const struct test_etcd_options *options);
/* Ends it and removes its data. NULL is fine. */
void test_etcd_stop(struct test_etcd *etcd);

/* "127.x.y.z:PORT", and the same behind "http://"; they stay after a restart. */
const char *test_etcd_address(const struct test_etcd *etcd);
const char *test_etcd_endpoint(const struct test_etcd *etcd);
/* User and system time that it has used since it was started, in microseconds; 0 if it is not running. */
int64_t test_etcd_cpu_us(const struct test_etcd *etcd);

/* One of its metrics that has no labels, e.g. "etcd_mvcc_put_total"; -1 if it does not say. */
int64_t test_etcd_counter(const struct test_etcd *etcd, const char *name);

void test_etcd_kill(struct test_etcd *etcd); /* SIGKILL, and waits for its end; keeps the data */
bool test_etcd_restart(
    struct test_etcd *etcd); /* after a kill: the same ports and data; waits until healthy */
void test_etcd_freeze(struct test_etcd *etcd); /* SIGSTOP; no thread of it runs any more */
void test_etcd_thaw(struct test_etcd *etcd);   /* SIGCONT */

#endif
