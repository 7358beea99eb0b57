/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_STORE_PROXY_H
#define TF_TESTS_STORE_PROXY_H

#include <stdbool.h>
#include <stdint.h>

/* A running tf_store_proxy; what the commands mean is at the top of tests/support/proxy/main.c. It dies with
 * the test. */
struct test_proxy;

/* In front of the etcd on that loopback port. NULL after saying why on stderr. */
struct test_proxy *test_proxy_start(const char *upstream);
void test_proxy_stop(struct test_proxy *proxy);                  /* NULL is fine */
const char *test_proxy_endpoint(const struct test_proxy *proxy); /* http://127.0.0.1:PORT */

/* Gives a command and waits until it is obeyed; false if it is refused, or the proxy is gone. */
bool test_proxy_command(struct test_proxy *proxy, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Durable writes since the start or the last reset; -1 if the proxy is gone. */
int64_t test_proxy_count(struct test_proxy *proxy);
/* Waits for an announcement, for example "after 7", which may have come before; false after timeout_ms. Each
 * is seen once. */
bool test_proxy_wait(struct test_proxy *proxy, const char *announcement, int64_t timeout_ms);

#endif
