/* SPDX-License-Identifier: Apache-2.0 */
/* Errors to gRPC status and back. Our servers send the exact code beside gRPC's coarser one; a status without
 * it comes from gRPC itself or from something that is not ours, and gets a text that says what to do. */
#include "common/rpc/status.h"

#include "common/base/text.h"

static int code_of(enum tf_error_code code)
{
    switch (code) {
    case TF_OK:
        return 0;
    case TF_ERR_INVALID:
        return TF_GRPC_INVALID_ARGUMENT;
    case TF_ERR_NOT_FOUND:
        return TF_GRPC_NOT_FOUND;
    case TF_ERR_CONFLICT:
        return TF_GRPC_ABORTED;
    case TF_ERR_REFUSED:
        return TF_GRPC_FAILED_PRECONDITION;
    case TF_ERR_UNAVAILABLE:
        return TF_GRPC_UNAVAILABLE;
    case TF_ERR_UNKNOWN:
        return TF_GRPC_UNKNOWN;
    case TF_ERR_TIMEOUT:
        return TF_GRPC_DEADLINE_EXCEEDED;
    case TF_ERR_TOO_LARGE:
        return TF_GRPC_OUT_OF_RANGE;
    case TF_ERR_IO:
    case TF_ERR_BUG:
        return TF_GRPC_INTERNAL;
    }
    return TF_GRPC_INTERNAL;
}

struct tf_raw_status tf_status_from_error(const struct tf_error *error, struct tf_bytes details)
{
    return (struct tf_raw_status){
        .code = code_of(error->code),
        .text = error->text,
        .error = tf_error_code_name(error->code),
        .details = details,
    };
}

static bool ours(const struct tf_raw_status *status, struct tf_error *error)
{
    for (int code = TF_OK + 1; code <= TF_ERR_BUG; code++)
        if (tf_str_eq(status->error, tf_error_code_name((enum tf_error_code)code))) {
            /* No conversion: the text may hold what looks like one. */
            tf_error_set(error, (enum tf_error_code)code, "%s", status->text);
            return true;
        }
    return false;
}

/* The useful end of gRPC's nested texts: what the system said, or the innermost error. */
static const char *reason(const char *text)
{
    static const char *const marks[] = {"remote host: ", "last error: "};
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        const char *at = strstr(text, marks[i]);
        if (at)
            return at + strlen(marks[i]);
    }
    return text;
}

static void unavailable(const struct tf_raw_status *status, const struct tf_status_context *c,
                        struct tf_error *error)
{
    bool never_sent = tf_starts_with(status->text, "failed to connect") ||
                      tf_starts_with(status->text, "DNS resolution failed") ||
                      tf_starts_with(status->text, "connections to all backends failing");
    if (strstr(status->text, "http1.x"))
        tf_error_set(
            error, TF_ERR_UNAVAILABLE,
            "%s answers, but does not speak gRPC (it looks like a web server): is it the address of a "
            "tidefed endpoint?",
            c->address);
    else if (never_sent)
        tf_error_set(error, TF_ERR_UNAVAILABLE,
                     "cannot reach %s: %s; check the address, and that the daemon runs there", c->address,
                     reason(status->text));
    else
        tf_error_set(error, TF_ERR_UNKNOWN,
                     "the connection to %s broke before %s was answered (%s): it may have been done or not; "
                     "repeat the same request",
                     c->address, c->method, status->text);
}

static void timed_out(const struct tf_status_context *c, struct tf_error *error)
{
    if (c->connected)
        tf_error_set(
            error, TF_ERR_TIMEOUT,
            "%s did not answer %s in time: it may have been done or not; repeat the same request, or "
            "allow more time",
            c->address, c->method);
    else
        tf_error_set(
            error, TF_ERR_TIMEOUT,
            "cannot reach %s: nothing there spoke gRPC in time; check the address, that the daemon is not "
            "stopped or stuck, and that no firewall drops the packets",
            c->address);
}

void tf_status_to_error(const struct tf_raw_status *status, const struct tf_status_context *c,
                        struct tf_error *error)
{
    *error = (struct tf_error)TF_ERROR_INIT;
    if (status->code == 0 || ours(status, error))
        return;
    switch (status->code) {
    case TF_GRPC_UNAVAILABLE:
        unavailable(status, c, error);
        break;
    case TF_GRPC_DEADLINE_EXCEEDED:
        timed_out(c, error);
        break;
    case TF_GRPC_UNIMPLEMENTED:
        tf_error_set(
            error, TF_ERR_REFUSED,
            "%s answers, but does not know %s: is it a tidefed endpoint, of the right kind and of this "
            "version? (%s)",
            c->address, c->method, status->text);
        break;
    case TF_GRPC_CANCELLED:
        tf_error_set(error, TF_ERR_UNKNOWN,
                     "%s at %s was cancelled: it may have been done or not; repeat the same request",
                     c->method, c->address);
        break;
    case TF_GRPC_RESOURCE_EXHAUSTED:
    case TF_GRPC_OUT_OF_RANGE:
        tf_error_set(error, strstr(status->text, "larger than max") ? TF_ERR_TOO_LARGE : TF_ERR_UNAVAILABLE,
                     "%s at %s: %s", c->method, c->address, status->text);
        break;
    default:
        tf_error_set(error, TF_ERR_UNKNOWN, "%s answered %s with gRPC status %d: %s", c->address, c->method,
                     status->code, status->text);
    }
}
