/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses: their forms, and what stands against listening there. gRPC is given them only after a look here,
 * since it does not say why it refuses one. */
#include "common/net/address.h"

#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "common/base/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define UNIX_PREFIX "unix:"

bool tf_address_is_unix(const char *address)
{
    return tf_starts_with(address, UNIX_PREFIX);
}

/* 127.x.y.z: an address, not a name that begins like one. */
static bool is_loopback4(const char *address)
{
    struct in_addr in;
    const char *colon = strchr(address, ':');
    TF_AUTO_FREE char *host = colon ? tf_strndup(address, (size_t)(colon - address)) : NULL;
    return host && inet_pton(AF_INET, host, &in) == 1 && ntohl(in.s_addr) >> 24 == 127;
}

bool tf_address_is_local(const char *address)
{
    return tf_address_is_unix(address) || is_loopback4(address) || tf_starts_with(address, "[::1]:") ||
           tf_starts_with(address, "localhost:");
}

static const char *unix_path(const char *address)
{
    return address + strlen(UNIX_PREFIX);
}

struct host_port {
    char host[256];
    char port[8];
};

static int split(const char *address, struct host_port *out, struct tf_error *err)
{
    const char *colon = strrchr(address, ':');
    int64_t number = 0;
    if (!colon || tf_parse_int64(colon + 1, 0, 65535, &number, NULL))
        return tf_error_set(
            err, TF_ERR_INVALID,
            "address \"%s\": no port from 0 to 65535 at the end (write host:port, or unix:/path)", address);
    size_t len = (size_t)(colon - address);
    bool bracketed = len >= 2 && address[0] == '[' && colon[-1] == ']';
    if (bracketed) {
        address++;
        len -= 2;
    }
    if (len == 0 || len >= sizeof out->host || (!bracketed && memchr(address, ':', len)))
        return tf_error_set(err, TF_ERR_INVALID,
                            "address \"%s\": no host before the port (write host:port, or [::1]:port)",
                            address);
    memcpy(out->host, address, len);
    out->host[len] = 0;
    snprintf(out->port, sizeof out->port, "%d", (int)number);
    return 0;
}

static int check_unix(const char *address, struct tf_error *err)
{
    size_t len = strlen(unix_path(address));
    if (len == 0 || len >= sizeof((struct sockaddr_un *)NULL)->sun_path)
        return tf_error_set(err, TF_ERR_INVALID,
                            "address \"%s\": the path of a Unix socket has 1 to %zu bytes", address,
                            sizeof((struct sockaddr_un *)NULL)->sun_path - 1);
    return 0;
}

int tf_address_check(const char *address, struct tf_error *err)
{
    struct host_port parts;
    return tf_address_is_unix(address) ? check_unix(address, err) : split(address, &parts, err);
}

static int probe_folder(const char *address, struct tf_error *err)
{
    TF_AUTO_FREE char *folder = tf_strdup(unix_path(address));
    char *slash = strrchr(folder, '/');
    if (!slash)
        return 0; /* of a path without folders it is the present one */
    slash[slash == folder] = '\0';
    if (access(folder, W_OK | X_OK) == 0)
        return 0;
    return tf_error_errno(err, TF_ERR_INVALID, errno, "cannot listen on %s: no socket can be made in %s",
                          address, folder);
}

static int probe_unix(const char *address, struct tf_error *err)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    snprintf(to.sun_path, sizeof to.sun_path, "%s", unix_path(address));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return tf_error_errno(err, TF_ERR_IO, errno, "cannot listen on %s", address);
    int rc = connect(fd, (const struct sockaddr *)&to, sizeof to);
    bool alive = rc == 0 || errno == EAGAIN;
    close(fd);
    if (alive)
        return tf_error_set(
            err, TF_ERR_CONFLICT,
            "cannot listen on %s: another process does already; stop it, or choose another path", address);
    return probe_folder(address, err);
}

/* Why a bind failed. */
static int bind_error(const char *address, int sys_errno, struct tf_error *err)
{
    if (sys_errno == EADDRINUSE)
        return tf_error_set(
            err, TF_ERR_CONFLICT,
            "cannot listen on %s: the address is in use by another process; stop it, or choose "
            "another port",
            address);
    if (sys_errno == EADDRNOTAVAIL)
        return tf_error_set(err, TF_ERR_INVALID,
                            "cannot listen on %s: no interface of this machine has that address", address);
    return tf_error_errno(err, TF_ERR_IO, sys_errno, "cannot listen on %s", address);
}

/* A bound socket; -1 without an error is a family that this machine does not have. */
static int bind_one(const char *address, const struct addrinfo *at, struct tf_error *err)
{
    int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, at->ai_addr, at->ai_addrlen) == 0)
        return fd;
    int sys_errno = errno;
    close(fd);
    return bind_error(address, sys_errno, err);
}

/* What the name stands for; the caller frees it. */
static struct addrinfo *resolve(const char *address, struct tf_error *err)
{
    struct host_port parts;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found = NULL;
    if (split(address, &parts, err))
        return NULL;
    int rc = getaddrinfo(parts.host, parts.port, &hints, &found);
    if (rc == 0)
        return found;
    tf_error_set(err, TF_ERR_INVALID, "cannot listen on %s: %s", address, gai_strerror(rc));
    return NULL;
}

static int probe_tcp(const char *address, struct tf_error *err)
{
    struct tf_error why = TF_ERROR_INIT;
    struct addrinfo *found = resolve(address, &why);
    for (const struct addrinfo *at = found; at && why.code == TF_OK; at = at->ai_next) {
        int fd = bind_one(address, at, &why);
        if (fd >= 0)
            close(fd);
    }
    if (found)
        freeaddrinfo(found);
    if (why.code == TF_OK)
        return 0;
    if (err)
        *err = why;
    return -1;
}

int tf_address_listen(const char *address, struct tf_error *err)
{
    struct tf_error why = TF_ERROR_INIT;
    int fd = -1;
    struct addrinfo *found = resolve(address, &why);
    for (const struct addrinfo *at = found; at && fd < 0 && why.code == TF_OK; at = at->ai_next)
        fd = bind_one(address, at, &why);
    if (found)
        freeaddrinfo(found);
    if (fd >= 0 && listen(fd, SOMAXCONN)) {
        bind_error(address, errno, &why);
        close(fd);
        fd = -1;
    }
    if (fd < 0 && why.code == TF_OK)
        tf_error_set(&why, TF_ERR_INVALID, "cannot listen on %s: this machine has no such kind of address",
                     address);
    if (fd < 0 && err)
        *err = why;
    return fd;
}

int tf_address_probe(const char *address, struct tf_error *err)
{
    if (tf_address_check(address, err))
        return -1;
    return tf_address_is_unix(address) ? probe_unix(address, err) : probe_tcp(address, err);
}
