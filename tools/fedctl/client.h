/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDCTL_CLIENT_H
#define TF_FEDCTL_CLIENT_H

#include "common/wire/api.h"
#include "tools/fedctl/config.h"

/* Talks to the leader of the federation: tries the endpoints in turn, follows the leader that any of them
 * names, repeats what may be repeated, all within the caller's time. Requests are safe to repeat (a submit
 * has its uid). Connects with the first call. */
struct client;

struct client *client_create(const struct config *config, struct tf_error *err);
void client_destroy(struct client *client); /* NULL is fine */

enum { CLIENT_NO_LIMIT = 0 };

/* With patience, waits for endpoints to come back until the time is over; without, gives up when none of them
 * can be reached, and waits only for those that answer that there is no leader yet. */
void client_set_patience(struct client *client, bool patient);

/* 0 and the reply, owned by the caller; or -1 and *err, with the server's detail in *detail (owned by the
 * caller; may be NULL). request is borrowed. timeout_ms is for all tries together. */
int client_call(struct client *client, const struct tf_request *request, int64_t timeout_ms,
                struct tf_reply *reply, struct tf_error_detail *detail, struct tf_error *err);

/* What it takes out of the reply is its own; false cancels the rest. */
typedef bool client_each_f(void *arg, struct tf_reply *reply);

/* A stream of replies until its end or until each gives false (both: 0), or -1. Once there was a reply, a
 * stream that breaks is not opened again: *started is true, and the code is TF_ERR_UNKNOWN, or that of the
 * server. timeout_ms may be CLIENT_NO_LIMIT; to reach an endpoint it is bounded all the same. */
int client_stream(struct client *client, const struct tf_request *request, int64_t timeout_ms,
                  client_each_f *each, void *arg, bool *started, struct tf_error *err);

/* What each member of the federation answers for itself: asks the endpoint of that number, from 0, of those
 * that were configured, and no other. As client_call, but tried once. */
size_t client_endpoints(const struct client *client);
const char *client_endpoint(const struct client *client, size_t at); /* borrowed */
int client_call_at(struct client *client, size_t at, const struct tf_request *request, int64_t timeout_ms,
                   struct tf_reply *reply, struct tf_error *err);

/* While a stream is read, tick is called every so often, between replies; NULL: no more. */
typedef void client_tick_f(void *arg);
void client_set_tick(struct client *client, int64_t every_ms, client_tick_f *tick, void *arg);

/* The endpoint that answered last, NULL if none did. Borrowed. */
const char *client_address(const struct client *client);

#endif
