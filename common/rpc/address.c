/* SPDX-License-Identifier: Apache-2.0 */
/* Checks addresses before gRPC gets them, since it does not say why it refuses one. */
#include "common/rpc/address.h"

#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "common/base/text.h"

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

static int probe_one(const char *address, const struct addrinfo *at, struct tf_error *err)
{
    int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return 0; /* a family this machine does not have */
    int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    int rc = bind(fd, at->ai_addr, at->ai_addrlen);
    int sys_errno = errno;
    close(fd);
    if (rc == 0)
        return 0;
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

static int probe_tcp(const char *address, struct tf_error *err)
{
    struct host_port parts;
    if (split(address, &parts, err))
        return -1;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found = NULL;
    int rc = getaddrinfo(parts.host, parts.port, &hints, &found);
    if (rc)
        return tf_error_set(err, TF_ERR_INVALID, "cannot listen on %s: %s", address, gai_strerror(rc));
    for (const struct addrinfo *at = found; at && rc == 0; at = at->ai_next)
        rc = probe_one(address, at, err);
    freeaddrinfo(found);
    return rc;
}

int tf_address_probe(const char *address, struct tf_error *err)
{
    if (tf_address_check(address, err))
        return -1;
    return tf_address_is_unix(address) ? probe_unix(address, err) : probe_tcp(address, err);
}
