/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_STORED_H
#define TF_TESTS_STORED_H

#include <stdbool.h>
#include <stddef.h>

/* What an etcd holds, asked past the daemons and their proxies. */

/* How many keys begin with the prefix (1000 = that many or more), and the first of them, owned by the caller,
 * NULL if none. False if etcd does not answer. */
bool test_stored_count(const char *endpoint, const char *prefix, size_t *count, char **first);
/* The value of a key as text, owned by the caller; NULL if there is none or etcd does not answer. */
char *test_stored_value(const char *endpoint, const char *key);

#endif
