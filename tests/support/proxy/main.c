/* SPDX-License-Identifier: Apache-2.0 */
/* tf_store_proxy UPSTREAM: stands between a daemon and etcd, both on the loopback, counts
 * durable writes, and lets a test hit the k-th of them.
 *
 * A durable write is a POST of /v3/kv/txn with a put or a removal in its success branch, of /v3/kv/put or of
 * /v3/kv/deleterange. Leases and reads are not counted. They are counted from 1 as they are complete, over
 * all connections.
 *
 * It prints "listening PORT" and then obeys the lines of its stdin. Each command is answered by one line,
 * "ok", a count or "error ...". Announcements come in between, one a line, and begin with '!'.
 *
 *     at K FATE     what will happen to write K
 *     next FATE     the same for the next one
 *     count         answers "count N": so many were seen
 *     reset         counts from 1 again, forgets all fates
 *     release       what is held goes on: the request to etcd, or the reply to its client
 *     discard       what is held goes nowhere; its client sees a closed connection
 *
 *     FATE       what happens                                                        announced
 *     pass       nothing special
 *     drop       not forwarded; the client's connection is closed                    ! dropped K
 *     lose       forwarded; then the client's connection is closed, unanswered       ! lost K
 *     before     held, not forwarded                                                 ! before K
 *     after      forwarded, and etcd's answer is held                                ! after K
 *     mark       forwarded and answered as usual, announced when it is forwarded     ! mark K
 *
 * A test that kills a process before (after) its k-th write says "at K before" ("at K after"), waits for the
 * announcement, kills, and says "discard". To kill etcd it does the same and says "release". It ends with its
 * stdin. */
#include "tests/support/loopback.h"
#include "tests/support/proxy/proxy.h"

#include <signal.h>

int main(int argc, char **argv)
{
    struct sockaddr_in upstream;
    if (argc != 2 || !test_parse_address(argv[1], &upstream)) {
        fprintf(stderr, "usage: tf_store_proxy UPSTREAM, an address like 127.0.0.1:2379\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    return proxy_run(&upstream);
}
