/* SPDX-License-Identifier: Apache-2.0 */
/* Owns one HTTP/1.0 request: connect, ask, read to the end, judge. */
#include "tests/support/caller/caller.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char question[] = "GET / HTTP/1.0\r\n\r\n";

const char *outcome_name(enum outcome outcome)
{
    static const char *const names[OUTCOMES] = {"open", "answered", "refused", "reset", "late", "wrong"};
    return names[outcome];
}

static enum outcome over(struct call *call, enum outcome outcome)
{
    if (call->fd >= 0)
        close(call->fd);
    call->fd = -1;
    return outcome;
}

/* Anything that goes wrong before the connection is there is a refusal, after that a reset. */
static enum outcome failed(struct call *call)
{
    return over(call, call->sent ? OUTCOME_RESET : OUTCOME_REFUSED);
}

enum outcome call_begin(struct call *call, const struct sockaddr_in *to, int64_t deadline_ms)
{
    *call = (struct call){.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0),
                          .deadline_ms = deadline_ms};
    if (call->fd < 0)
        return failed(call);
    if (connect(call->fd, (const struct sockaddr *)to, sizeof *to) && errno != EINPROGRESS)
        return failed(call);
    return OUTCOME_OPEN;
}

short call_waits_for(const struct call *call)
{
    return call->sent ? POLLIN : POLLOUT;
}

static enum outcome ask(struct call *call)
{
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(call->fd, SOL_SOCKET, SO_ERROR, &error, &size) || error)
        return failed(call);
    call->sent = true;
    /* A new connection's buffer holds it whole. */
    if (send(call->fd, question, sizeof question - 1, MSG_NOSIGNAL) != (ssize_t)(sizeof question - 1))
        return failed(call);
    return OUTCOME_OPEN;
}

/* The whole answer is there. */
static enum outcome judge(struct call *call)
{
    call->answer[call->length] = '\0';
    if (call->length == 0)
        return OUTCOME_RESET;
    const char *length = strstr(call->answer, "Content-Length: "), *body = strstr(call->answer, "\r\n\r\n");
    if (!length || !body)
        return OUTCOME_RESET;
    size_t announced = strtoul(length + strlen("Content-Length: "), NULL, 10);
    size_t got = call->length - (size_t)(body + 4 - call->answer);
    if (got < announced)
        return OUTCOME_RESET;
    return strncmp(call->answer, "HTTP/1.0 200 ", 13) == 0 && got == announced ? OUTCOME_ANSWERED
                                                                               : OUTCOME_WRONG;
}

enum outcome call_go_on(struct call *call)
{
    if (!call->sent)
        return ask(call);
    size_t room = sizeof call->answer - 1 - call->length;
    ssize_t got = room ? recv(call->fd, call->answer + call->length, room, 0) : 0;
    if (got < 0)
        return errno == EAGAIN || errno == EINTR ? OUTCOME_OPEN : failed(call);
    if (got == 0)
        return over(call, judge(call));
    call->length += (size_t)got;
    return OUTCOME_OPEN;
}

enum outcome call_expire(struct call *call)
{
    return over(call, OUTCOME_LATE);
}
