/* SPDX-License-Identifier: Apache-2.0 */
/* Owns version: of fedctl, and of the member of the federation that answers. */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "common/model/manifest.h"
#include "tools/fedctl/fedctl.h"
#include "tools/fedctl/view.h"
#include "tools/fedctl/when.h"

#include <inttypes.h>

static const struct option options[] = {
    OPTION_OUTPUT_OBJECT,
    {0,
     NULL,
     {.key = "client", TF_BOOL(struct options, client_only), .help = "of fedctl only; asks no server"}},
};

/* ---- as data ---- */

struct version_doc {
    char *client, *server, *address, *leader, *since, *store;
    int64_t era, revision, store_bytes, store_quota;
    int32_t protocol, jobs, clusters, attached;
    bool leads, open;
};

#define V struct version_doc
static const struct tf_row client_rows[] = {{.key = "version", TF_STRING(V, client)}};
static const struct tf_table client_table = TF_TABLE(V, client_rows);
static const struct tf_row term_rows[] = {
    {.key = "era", TF_INT64(V, era)},
    {.key = "revision", TF_INT64(V, revision)},
};
static const struct tf_table term_table = TF_TABLE(V, term_rows);
static const struct tf_row server_rows[] = {
    {.key = "version", TF_STRING(V, server)},        {.key = "address", TF_STRING(V, address)},
    {.key = "protocol", TF_INT32(V, protocol)},      {.key = "leads", TF_BOOL(V, leads)},
    {.key = "leader", TF_STRING(V, leader)},         {.key = "term", TF_GROUP(&term_table)},
    {.key = "since", TF_STRING(V, since)},           {.key = "open", TF_BOOL(V, open)},
    {.key = "store", TF_STRING(V, store)},           {.key = "storeBytes", TF_INT64(V, store_bytes)},
    {.key = "storeQuota", TF_INT64(V, store_quota)}, {.key = "jobs", TF_INT32(V, jobs)},
    {.key = "clusters", TF_INT32(V, clusters)},      {.key = "attached", TF_INT32(V, attached)},
};
static const struct tf_table server_table = TF_TABLE(V, server_rows);
/* Who stands by knows the leader's address and nothing else of it. */
static const struct tf_row standby_rows[] = {
    {.key = "version", TF_STRING(V, server)},
    {.key = "address", TF_STRING(V, address)},
    {.key = "protocol", TF_INT32(V, protocol)},
    {.key = "leads", TF_BOOL(V, leads)},
    {.key = "leader", TF_STRING(V, leader)},
    {.key = "store", TF_STRING(V, store)},
    {.key = "storeBytes", TF_INT64(V, store_bytes), .flags = TF_ROW_ZERO},
    {.key = "storeQuota", TF_INT64(V, store_quota), .flags = TF_ROW_ZERO},
};
static const struct tf_table standby_table = TF_TABLE(V, standby_rows);

static const struct tf_row version_rows[] = {
    {.key = "apiVersion", TF_CONST(TF_API_VERSION)},
    {.key = "kind", TF_CONST("Version")},
    {.key = "client", TF_GROUP(&client_table)},
    {.key = "server", TF_GROUP(&server_table)},
};
static const struct tf_row of_standby_rows[] = {
    {.key = "apiVersion", TF_CONST(TF_API_VERSION)},
    {.key = "kind", TF_CONST("Version")},
    {.key = "client", TF_GROUP(&client_table)},
    {.key = "server", TF_GROUP(&standby_table)},
};
static const struct tf_table of_leader_table = TF_TABLE(V, version_rows);
static const struct tf_table of_standby_table = TF_TABLE(V, of_standby_rows);
static const struct tf_table alone_table = {.size = sizeof(V), .rows = version_rows, .count = 3};
#undef V

/* It leads, or did: then its store may be gone, and it cannot be certain any more. */
static bool knows_term(const struct tf_status_reply *status)
{
    return status->term.revision > 0;
}

/* status NULL: the server was not asked, or did not answer. */
static void print_data(struct fedctl *ctl, const struct tf_status_reply *status, struct tf_buf *buf)
{
    char since[WHEN_TEXT];
    struct version_doc doc = {.client = (char *)(uintptr_t)TF_VERSION};
    if (status) {
        doc.server = status->version;
        doc.address = (char *)(uintptr_t)client_address(ctl->client);
        doc.leader = status->leader;
        doc.since = status->since.ms ? (char *)(uintptr_t)when_utc(status->since, since) : NULL;
        doc.store = status->store;
        doc.era = (int64_t)status->term.era;
        doc.revision = (int64_t)status->term.revision;
        doc.store_bytes = status->store_bytes;
        doc.store_quota = status->store_quota;
        doc.protocol = (int32_t)status->protocol;
        doc.jobs = status->jobs;
        doc.clusters = status->clusters;
        doc.attached = status->attached;
        doc.leads = status->leads;
        doc.open = status->open;
    }
    const struct tf_table *table = !status              ? &alone_table
                                   : knows_term(status) ? &of_leader_table
                                                        : &of_standby_table;
    if (ctl->options.output == OUTPUT_JSON)
        view_table_json(table, &doc, buf);
    else
        view_table_yaml(table, &doc, buf);
}

/* ---- for people ---- */

static void print_store(const struct tf_status_reply *status, struct tf_buf *buf)
{
    tf_buf_fmt(buf, "store     %s", status->store ? status->store : "-");
    if (status->store_quota)
        tf_buf_fmt(buf, ", %" PRId64 " MiB of %" PRId64 " MiB used", status->store_bytes >> 20,
                   status->store_quota >> 20);
    tf_buf_char(buf, '\n');
}

static void print_people(struct fedctl *ctl, const struct tf_status_reply *status, struct tf_buf *buf)
{
    char since[WHEN_TEXT];
    tf_buf_fmt(buf, "client    %s\n", TF_VERSION);
    if (!status)
        return;
    tf_buf_fmt(buf, "server    %s at %s, attach protocol %u%s\n", status->version ? status->version : "?",
               client_address(ctl->client), status->protocol,
               status->leads        ? ""
               : knows_term(status) ? ", not certain that it still leads"
                                    : ", standing by");
    tf_buf_fmt(buf, "leader    %s", status->leader ? status->leader : "none known");
    if (knows_term(status))
        tf_buf_fmt(buf, ", term %" PRIu64 ".%" PRIu64 ", since %s%s", status->term.era, status->term.revision,
                   when_local(status->since, since), status->open || !status->leads ? "" : ", not open yet");
    tf_buf_char(buf, '\n');
    print_store(status, buf);
    if (status->leads)
        tf_buf_fmt(buf, "jobs      %d\nclusters  %d, %d attached\n", status->jobs, status->clusters,
                   status->attached);
}

static int run(struct fedctl *ctl)
{
    struct tf_request request = {.method = TF_METHOD_STATUS};
    struct tf_reply reply = {0};
    struct tf_error err = TF_ERROR_INIT;
    if (ctl->words.count)
        return fedctl_usage(ctl, "version takes no \"%.100s\"", ctl->words.items[0]);
    bool ask = !ctl->options.client_only;
    int failed = ask && fedctl_call(ctl, &request, &reply, &err);
    TF_AUTO_BUF text = TF_BUF_INIT;
    const struct tf_status_reply *status = ask && !failed ? &reply.status : NULL;
    if (ctl->options.output == OUTPUT_TABLE)
        print_people(ctl, status, &text);
    else
        print_data(ctl, status, &text);
    out_buf(&ctl->out, &text);
    tf_reply_release(&reply);
    return failed ? fedctl_fail(ctl, &err) : FEDCTL_DONE;
}

const struct verb verb_version = {
    .name = "version",
    .usage = "[--client]",
    .help = "Show the versions of fedctl and of the federation, and who leads it",
    .examples = "fedctl version\nfedctl version --client\n",
    .options = OPTION_LIST(options),
    .run = run,
};
