/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_LOOPBACK_H
#define TF_TESTS_LOOPBACK_H

#include <netinet/in.h>
#include <stdbool.h>

/* Addresses of the loopback, 127.x.y.z. */

/* "127.x.y.z:PORT", one that was not given out before; owned by the caller. The host is this process's own,
 * made of its pid: while a killed server is away, no other test and no outgoing connection can take its port.
 */
char *test_new_address(void);

/* False if the text is no "A.B.C.D:PORT". */
bool test_parse_address(const char *text, struct sockaddr_in *out);

/* A connected socket of the caller's; -1 if nobody listens there. */
int test_connect(const struct sockaddr_in *address);

#endif
