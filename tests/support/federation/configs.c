/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration files of a test's daemons: short times, so that a run is quick. */
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "tests/support/federation/private.h"

#include <unistd.h>

enum test_etcd_role test_config_role(const struct test_daemon *daemon)
{
    return daemon->subcluster < 0 ? TEST_ETCD_FEDERATION : TEST_ETCD_LOCAL;
}

char *test_config_path(const struct test_federation *f, const struct test_daemon *daemon)
{
    return tf_asprintf("%s/conf/%s.yaml", f->place, daemon->name);
}

char *test_config_events(const struct test_federation *f, const struct test_daemon *daemon)
{
    return tf_asprintf("%s/events/%s", f->place, daemon->name);
}

/* Small files, so that there are many beginnings, and none goes. */
static void write_events(const struct test_federation *f, const struct test_daemon *daemon,
                         struct tf_buf *out)
{
    TF_AUTO_FREE char *folder = test_config_events(f, daemon);
    if (f->options.records)
        tf_buf_fmt(out, "eventLog: {folder: %s, maxBytes: 1Mi, files: 10000}\n", folder);
}

static const char *store_of(const struct test_federation *f, const struct test_daemon *d)
{
    return d->proxy ? test_proxy_endpoint(d->proxy) : test_etcd_endpoint(f->etcds[test_config_role(d)]);
}

static const char *lease_of(const struct test_federation *f)
{
    return f->options.lease ? f->options.lease : "1s";
}

static void write_fedd(const struct test_federation *f, size_t daemon, struct tf_buf *out)
{
    const struct test_daemon *d = &f->daemons.items[daemon];
    tf_buf_fmt(out, "listen: %s\n", f->endpoints.items[daemon]); /* fedds are the first daemons */
    tf_buf_fmt(out, "dataDir: %s/data/%s\n", f->place, d->name);
    tf_buf_fmt(out, "store: {endpoints: [\"%s\"], prefix: /tidefed/%d/federation}\n", store_of(f, d),
               f->round);
    tf_buf_fmt(out, "settings:\n"
                    "  classes: {online: 900, train: 500, batch: 300, offline: 100}\n");
    if (f->options.plain)
        return;
    tf_buf_fmt(out,
               "  leaseTtl: %s\n"
               "  refusalBackoff: 20ms\n"
               "  refusalBackoffMax: 1s\n"
               "  hubAwayAfter: 1s\n"
               "  clusterLostAfter: 2s\n",
               lease_of(f));
    if (f->options.budget)
        tf_buf_fmt(out, "  decisionBudget: %s\n", f->options.budget);
    tf_buf_str(out, "log: {level: debug}\n");
    write_events(f, d, out);
}

static void write_nodes(struct tf_buf *out, const char *nodes)
{
    tf_buf_str(out, "nodes:\n");
    while (*nodes) {
        size_t len = strcspn(nodes, "\n");
        tf_buf_fmt(out, "  - {%.*s}\n", (int)len, nodes);
        nodes += len + (nodes[len] == '\n');
    }
}

static void write_subclusterd(const struct test_federation *f, size_t daemon, struct tf_buf *out)
{
    const struct test_daemon *d = &f->daemons.items[daemon];
    const struct test_subcluster *s = &f->options.subclusters[d->subcluster];
    TF_AUTO_FREE char *state = test_federation_state_dir(f, (size_t)d->subcluster);
    TF_AUTO_FREE char *prefix = test_federation_prefix(f, (size_t)d->subcluster);
    const char *comma = "";
    tf_buf_fmt(out, "name: %s\nregion: here\nfederation: [", s->name);
    tf_vec_each (endpoint, &f->endpoints) {
        tf_buf_fmt(out, "%s\"%s\"", comma, *endpoint);
        comma = ", ";
    }
    tf_buf_fmt(out, "]\nstore: {endpoints: [\"%s\"], prefix: %s}\n", store_of(f, d), prefix);
    tf_buf_fmt(out, "stateDir: %s\nengine: %s\nallowRoot: %s\n", state,
               f->options.engine ? f->options.engine : "process", geteuid() == 0 ? "true" : "false");
    tf_buf_str(out, "keepOutput: 0s\n");
    write_nodes(out, s->nodes);
    if (f->options.more)
        tf_buf_str(out, f->options.more);
    if (f->options.plain)
        return;
    tf_buf_fmt(out, "settings: {leaseTtl: %s, profileInterval: 20ms%s%s}\n", lease_of(f),
               f->options.budget ? ", decisionBudget: " : "", f->options.budget ? f->options.budget : "");
    tf_buf_fmt(out, "log: {level: debug, decisions: %s/log/%s.decisions}\n", f->place, d->name);
    write_events(f, d, out);
}

void test_config_write(const struct test_federation *f, size_t daemon)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    TF_AUTO_FREE char *path = test_config_path(f, &f->daemons.items[daemon]);
    if (f->daemons.items[daemon].subcluster < 0)
        write_fedd(f, daemon, &text);
    else
        write_subclusterd(f, daemon, &text);
    FILE *file = fopen(path, "we");
    if (!file || fwrite(text.data, 1, text.len, file) != text.len || fclose(file) != 0) {
        perror(path);
        abort();
    }
}
