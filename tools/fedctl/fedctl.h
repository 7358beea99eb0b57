/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDCTL_FEDCTL_H
#define TF_FEDCTL_FEDCTL_H

#include "common/wire/api.h"
#include "tools/fedctl/client.h"
#include "tools/fedctl/config.h"
#include "tools/fedctl/exit.h"
#include "tools/fedctl/out.h"
#include "tools/fedctl/verb.h"

/* One run of fedctl: what its verbs work with. */
struct fedctl {
    const struct verb *verb;
    struct options options;
    struct tf_strs words; /* of the command line, without options and the verb */
    struct config config;
    struct out out;
    struct client *client;
};

/* Gives the exit code. */
int fedctl_main(int argc, char *const *argv);

/* A message about the command line, with where to read more. Gives FEDCTL_USAGE. */
int fedctl_usage(const struct fedctl *ctl, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The message of err. Gives the exit code that belongs to it. */
int fedctl_fail(const struct fedctl *ctl, const struct tf_error *err);
/* The same for the answer to a question about one thing, which the message begins with. */
int fedctl_fail_about(const struct fedctl *ctl, const char *what, const struct tf_error *err);

/* Asks the leader within the time-out of the configuration: see client_call. */
int fedctl_call(struct fedctl *ctl, const struct tf_request *request, struct tf_reply *reply,
                struct tf_error *err);

struct tf_wall fedctl_now(void);

#endif
