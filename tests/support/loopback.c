/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/loopback.h"

#include "common/base/alloc.h"
#include "common/base/text.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PORT_LOW = 10000, PORT_HIGH = 29999 };

/* 127.64.0.0 and up: nobody else uses those, and the 22 bits of a pid have room there. */
static struct in_addr own_host(void)
{
    uint32_t pid = (uint32_t)getpid();
    return (struct in_addr){.s_addr = htonl(127u << 24 | 64u << 16 | (pid & 0x3fffffu))};
}

static bool is_free(const struct sockaddr_in *address)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool ok = fd >= 0 && bind(fd, (const struct sockaddr *)address, sizeof *address) == 0;
    if (fd >= 0)
        close(fd);
    return ok;
}

char *test_new_address(void)
{
    static int last = PORT_LOW;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = own_host()};
    char host[INET_ADDRSTRLEN];
    while (last < PORT_HIGH) {
        address.sin_port = htons((uint16_t)++last);
        if (is_free(&address))
            return tf_asprintf("%s:%d", inet_ntop(AF_INET, &address.sin_addr, host, sizeof host), last);
    }
    fprintf(stderr, "no free port is left on the loopback address of this test\n");
    abort();
}

bool test_parse_address(const char *text, struct sockaddr_in *out)
{
    const char *colon = strrchr(text, ':');
    char host[INET_ADDRSTRLEN];
    int64_t port = 0;
    *out = (struct sockaddr_in){.sin_family = AF_INET};
    if (!colon || (size_t)(colon - text) >= sizeof host ||
        tf_parse_int64(colon + 1, 1, UINT16_MAX, &port, NULL) != 0)
        return false;
    snprintf(host, sizeof host, "%.*s", (int)(colon - text), text);
    out->sin_port = htons((uint16_t)port);
    return inet_pton(AF_INET, host, &out->sin_addr) == 1;
}

int test_connect(const struct sockaddr_in *address)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)address, sizeof *address) == 0)
        return fd;
    close(fd);
    return -1;
}
