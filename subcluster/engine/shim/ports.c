/* SPDX-License-Identifier: Apache-2.0 */
/* Free loopback ports. The port itself is left to the job; against other shims it is claimed by an abstract
 * Unix socket, which the kernel gives back when this process ends, however it ends. */
#include "subcluster/engine/shim/shim.h"

#include "common/base/rng.h"
#include "subcluster/engine/state/proc.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* A descriptor, or -1 if another shim has it. */
static int claim(int port)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int n = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "tidefed/port/%d", port);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&name, size) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static bool is_free(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool free_now = fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0;
    if (fd >= 0)
        close(fd);
    return free_now;
}

static int take(struct shim *s, struct tf_rng *rng, uint16_t *port, int *held)
{
    int low = s->spec.port_low, high = s->spec.port_high;
    uint64_t count = low >= 1 && high >= low ? (uint64_t)(high - low + 1) : 0;
    uint64_t first = count ? tf_rng_below(rng, count) : 0;
    for (uint64_t i = 0; i < count; i++) {
        int candidate = low + (int)((first + i) % count);
        int fd = claim(candidate);
        if (fd >= 0 && is_free(candidate)) {
            *port = (uint16_t)candidate;
            *held = fd;
            return 0;
        }
        if (fd >= 0)
            close(fd);
    }
    return -1;
}

int shim_ports_take(struct shim *s, struct tf_error *err)
{
    struct tf_rng rng;
    tf_rng_init(&rng,
                (uint64_t)tf_boottime_ms() << 22 ^ (uint64_t)getpid()); /* spreads; nothing depends on it */
    const struct tf_strs *names = &s->spec.start.ports;
    for (size_t i = 0; i < names->count; i++) {
        struct tf_engine_port *port = &s->record.ports[i];
        snprintf(port->name, sizeof port->name, "%s", names->items[i]);
        if (take(s, &rng, &port->port, &s->port_claims[i]))
            return tf_error_set(
                err, TF_ERR_UNAVAILABLE,
                "no free loopback port in %d-%d for the port \"%s\": widen the engine's port range",
                s->spec.port_low, s->spec.port_high, names->items[i]);
        s->record.port_count = i + 1;
    }
    return 0;
}
