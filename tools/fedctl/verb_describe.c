/* SPDX-License-Identifier: Apache-2.0 */
/* Owns describe: everything about one thing, for people. */
#include "common/base/cleanup.h"
#include "common/base/quantity.h"
#include "common/model/manifest.h"
#include "tools/fedctl/describe.h"
#include "tools/fedctl/resource.h"
#include "tools/fedctl/when.h"

static const struct option options[] = {
    OPTION_OUTPUT_ALL,
    OPTION_TENANT,
    {'l',
     "SELECTOR",
     {.key = "selector",
      TF_STRING(struct options, selector),
      .help = "the drain of the nodes with these labels, in the cluster that is named"}},
};

/* ---- jobs ---- */

static void job_state(const struct tf_job_view *job, const struct out *out, struct tf_wall now,
                      struct tf_buf *buf)
{
    char ago[WHEN_TEXT];
    TF_AUTO_BUF phase = TF_BUF_INIT;
    phase_text(job, &phase);
    tf_buf_fmt(buf, "%-12s ", "Phase:");
    style_begin(buf, phase_style(job->phase), out->color);
    tf_buf_str(buf, tf_buf_text(&phase));
    style_end(buf, phase_style(job->phase), out->color);
    tf_buf_fmt(buf, " (since %s)\n", when_age(job->changed.ms ? job->changed : job->submitted, now, ago));
    if (job->reason || job->reason_text) {
        TF_AUTO_BUF why = TF_BUF_INIT;
        reason_text(job, &why);
        describe_text(buf, "Reason:", tf_phase_is_final(job->phase) ? "" : tf_buf_text(&why));
    }
    if (job->held)
        describe_field(buf, "Held:", "yes; fedctl resume %s/%s lets it start", job->manifest.tenant,
                       job->manifest.name);
    if (job->deleted)
        describe_field(buf, "Deleted:", "yes; its name is free when it has stopped everywhere");
    describe_text(buf, "Message:", job->message);
    if (job->exit_code)
        describe_field(buf, "Exit code:", "%d", job->exit_code);
}

static void job_place(const struct tf_job_view *job, struct tf_wall now, struct tf_buf *buf)
{
    const struct tf_elastic *e = &job->manifest.spec.elastic;
    if (job->size == 0 && job->last_size)
        describe_field(buf, "Size:", "%d when it was last placed (min %d, max %d, step %d)", job->last_size,
                       e->min, e->max, e->step);
    else
        describe_field(buf, "Size:", "%d of %d ready (min %d, max %d, step %d)", job->ready, job->size,
                       e->min, e->max, e->step);
    if (job->epoch)
        describe_field(buf, "Placed in:", "%s, epoch %llu%s%s", job->cluster ? job->cluster : "-",
                       (unsigned long long)job->epoch, job->model ? ", " : "", job->model ? job->model : "");
    describe_time(buf, "Submitted:", job->submitted, now);
    describe_time(buf, "Placed:", job->placed, now);
    describe_time(buf, "Started:", job->started, now);
    describe_time(buf, "Finished:", job->finished, now);
    describe_field(buf, "Counts:", "restarts %d, evictions %d, losses %d, retries %d of %d", job->restarts,
                   job->evictions, job->losses, job->retries_used, job->manifest.spec.retry_limit);
    describe_time(buf, "Checkpoint:", job->checkpoint, now);
    if (job->restart_took)
        describe_field(buf, "Restart:", "%lld s from stop to ready, last time",
                       (long long)((job->restart_took + TF_SECOND - 1) / TF_SECOND));
    if (job->lost_gpu_seconds)
        describe_field(buf, "Lost work:", "%lld GPU seconds", (long long)job->lost_gpu_seconds);
}

static void job_members(struct fedctl *ctl, const struct tf_job_view *job, struct tf_wall now,
                        struct tf_buf *buf)
{
    struct columns columns;
    columns_init(&columns, member_columns, member_column_count);
    tf_vec_each (member, &job->members)
        member_cells(member, now, &columns);
    describe_table(ctl, "Instances:", &columns, buf);
}

static void dropped_events(uint64_t dropped, struct tf_buf *buf)
{
    if (dropped)
        tf_buf_fmt(buf, "  (%llu older ones are not kept)\n", (unsigned long long)dropped);
}

static void job_events(struct fedctl *ctl, const struct tf_job_view *job, struct tf_wall now,
                       struct tf_buf *buf)
{
    static const struct column titles[] = {
        {"AGE", COLUMN_RIGHT}, {"EPOCH", COLUMN_RIGHT}, {"EVENT", 0}, {"TEXT", 0}};
    struct columns columns;
    char age[WHEN_TEXT];
    columns_init(&columns, titles, TF_ARRAY_LEN(titles));
    tf_vec_each (event, &job->events) {
        columns_add(&columns, when_age(event->at, now, age));
        if (event->epoch)
            columns_add_fmt(&columns, "%llu", (unsigned long long)event->epoch);
        else
            columns_add(&columns, "-");
        columns_add(&columns, event->type);
        columns_add(&columns, event->text);
    }
    describe_table(ctl, "Events:", &columns, buf);
    dropped_events(job->events_dropped, buf);
}

static void print_job(struct fedctl *ctl, const struct tf_job_view *job, struct tf_buf *buf)
{
    struct tf_wall now = fedctl_now();
    char uid[TF_UID_TEXT];
    TF_AUTO_BUF spec = TF_BUF_INIT;
    tf_uid_format(job->uid, uid);
    describe_field(buf, "Job:", "%s/%s", job->manifest.tenant, job->manifest.name);
    describe_field(buf, "UID:", "%s", uid);
    describe_labels(buf, &job->manifest.labels);
    describe_text(buf, "User:", job->user);
    job_state(job, &ctl->out, now, buf);
    job_place(job, now, buf);
    if (job->output && *job->output)
        describe_block(buf, "Last output of the instance that failed:", job->output);
    job_members(ctl, job, now, buf);
    job_events(ctl, job, now, buf);
    tf_table_yaml(&tf_job_spec_table, &job->manifest.spec, &spec);
    describe_block(buf, "Spec:", tf_buf_text(&spec));
}

/* ---- reservations ---- */

static void print_reservation(struct fedctl *ctl, const struct tf_job_view *job, struct tf_buf *buf)
{
    struct tf_wall now = fedctl_now(), end = reservation_end(job);
    char uid[TF_UID_TEXT], local[WHEN_TEXT];
    TF_AUTO_BUF spec = TF_BUF_INIT, owner = TF_BUF_INIT, why = TF_BUF_INIT;
    tf_uid_format(job->uid, uid);
    reservation_owner(&job->manifest.spec.reserve.owner, &owner);
    reason_text(job, &why);
    describe_field(buf, "Reservation:", "%s/%s", job->manifest.tenant, job->manifest.name);
    describe_field(buf, "UID:", "%s", uid);
    describe_labels(buf, &job->manifest.labels);
    describe_text(buf, "User:", job->user);
    describe_field(buf, "State:", "%s", reservation_state(job));
    describe_text(buf, "Reason:", tf_phase_is_final(job->phase) ? "" : tf_buf_text(&why));
    describe_text(buf, "Message:", job->message);
    describe_field(buf, "For:", "%s", tf_buf_text(&owner));
    describe_field(buf, "Keeps:", "%d of %d x %d GPUs", job->ready, job->manifest.spec.elastic.min,
                   job->manifest.spec.group.shape.gpus);
    if (job->epoch)
        describe_field(buf, "Placed in:", "%s, epoch %llu%s%s", job->cluster ? job->cluster : "-",
                       (unsigned long long)job->epoch, job->model ? ", " : "", job->model ? job->model : "");
    describe_time(buf, "Submitted:", job->submitted, now);
    describe_time(buf, "Placed:", job->placed, now);
    if (tf_phase_is_final(job->phase))
        describe_time(buf, "Over:", job->finished, now);
    else
        describe_field(buf, "Expires:", "%s", when_local(end, local));
    job_members(ctl, job, now, buf);
    job_events(ctl, job, now, buf);
    tf_table_yaml(&tf_reservation_spec_table, &job->manifest.spec, &spec);
    describe_block(buf, "Spec:", tf_buf_text(&spec));
}

static int describe_job(struct fedctl *ctl, const char *word, bool reserves, struct tf_buf *text)
{
    struct tf_reply reply;
    int code = target_ask_of_kind(ctl, word, reserves, &reply);
    if (code == FEDCTL_DONE)
        (tf_is_reservation(&reply.job.manifest.spec) ? print_reservation : print_job)(ctl, &reply.job, text);
    tf_reply_release(&reply);
    return code;
}

/* ---- clusters ---- */

static void cluster_events(struct fedctl *ctl, const struct tf_cluster_info *info, struct tf_wall now,
                           struct tf_buf *buf)
{
    static const struct column titles[] = {{"AGE", COLUMN_RIGHT}, {"EVENT", 0}, {"TEXT", 0}};
    struct columns columns;
    char age[WHEN_TEXT];
    columns_init(&columns, titles, TF_ARRAY_LEN(titles));
    tf_vec_each (event, &info->events) {
        columns_add(&columns, when_age(event->at, now, age));
        columns_add(&columns, event->type);
        columns_add(&columns, event->text);
    }
    describe_table(ctl, "Events:", &columns, buf);
    dropped_events(info->events_dropped, buf);
}

static void freeze_fields(const struct tf_cluster_info *info, const struct tf_freezes *freezes,
                          struct tf_buf *buf)
{
    char local[WHEN_TEXT];
    tf_vec_each (freeze, freezes)
        if (!freeze->cluster || strcmp(freeze->cluster, info->name) == 0)
            describe_field(buf, "Frozen:", "%s until %s%s%s%s", tf_frozen_name(freeze->what),
                           when_local(freeze->until, local), freeze->cluster ? "" : ", everywhere",
                           freeze->reason ? ": " : "", freeze->reason ? freeze->reason : "");
}

static void print_cluster(struct fedctl *ctl, const struct tf_cluster_info *info,
                          const struct tf_freezes *freezes, struct tf_buf *buf)
{
    struct tf_wall now = fedctl_now();
    const struct tf_health_counts *h = &info->health;
    const struct tf_idle_causes *i = &info->idle;
    char state[CLUSTER_STATE_TEXT];
    describe_field(buf, "Cluster:", "%s", info->name);
    describe_text(buf, "Region:", info->region);
    describe_labels(buf, &info->labels);
    describe_field(buf, "State:", "%s", cluster_state(info, state));
    describe_text(buf, "Cordoned:", info->cordon_reason);
    if (info->store_trouble)
        describe_field(buf,
                       "Store:", "does not answer its subclusterd, which accepts nothing until it does: %s",
                       info->store_trouble);
    describe_time(buf, "  since:", info->store_trouble_since, now);
    describe_time(buf, "Registered:", info->registered, now);
    if (!info->attached)
        describe_time(buf, "Contact:", info->contact, now);
    describe_text(buf, "Engine:", info->engine);
    describe_text(buf, "Version:", info->version);
    describe_field(buf, "Nodes:", "%d: %d ready, %d unreachable, %d lost, %d cordoned, %d draining", h->nodes,
                   h->ready, h->unreachable, h->lost, h->cordoned, h->draining);
    freeze_fields(info, freezes, buf);
    describe_field(buf, "GPUs:", "%d: %d free, %d held, %d foreign, %d bad, %d suspect", h->gpus,
                   h->free_gpus, h->held_gpus, h->foreign_gpus, h->bad_gpus - h->suspect_gpus,
                   h->suspect_gpus);
    describe_field(buf, "Idle GPUs:",
                   "%d deliverable; else by count %d, cpu_memory %d, topology %d, policy %d, step %d, "
                   "health %d",
                   i->deliverable, i->count, i->cpu_memory, i->topology, i->policy, i->step, i->health);
    describe_field(buf, "Jobs:", "%d unfinished placements; highest epoch %llu", info->placements,
                   (unsigned long long)info->highest_epoch);
    cluster_events(ctl, info, now, buf);
}

static int describe_cluster(struct fedctl *ctl, const char *word, struct tf_buf *text)
{
    struct tf_request request = {.method = TF_METHOD_LIST_CLUSTERS, .clusters.events = true};
    struct tf_reply reply = {0};
    struct tf_error err = TF_ERROR_INIT;
    if (fedctl_call(ctl, &request, &reply, &err))
        return fedctl_fail(ctl, &err);
    tf_vec_each (info, &reply.clusters.clusters)
        if (strcmp(info->name, word) == 0)
            print_cluster(ctl, info, &reply.clusters.freezes, text);
    tf_reply_release(&reply);
    if (text->len)
        return FEDCTL_DONE;
    message("there is no cluster %.100s; see fedctl get clusters", word);
    return FEDCTL_NOT_FOUND;
}

/* ---- nodes ---- */

static void node_instances(struct fedctl *ctl, const struct tf_node_info *info, struct tf_buf *buf)
{
    static const struct column titles[] = {
        {"JOB", 0}, {"INDEX", COLUMN_RIGHT}, {"STATE", 0}, {"GPUS", 0}, {"EPOCH", COLUMN_RIGHT}};
    struct columns columns;
    char gpus[TF_GPU_SET_TEXT];
    columns_init(&columns, titles, TF_ARRAY_LEN(titles));
    tf_vec_each (instance, &info->instances) {
        columns_add_fmt(&columns, "%s/%s", instance->tenant, instance->name);
        columns_add_fmt(&columns, "%u", instance->index);
        columns_add_styled(&columns, member_style(instance->state), tf_member_state_name(instance->state));
        columns_add(&columns, instance->gpus ? tf_gpu_set_format(instance->gpus, gpus) : "-");
        columns_add_fmt(&columns, "%llu", (unsigned long long)instance->epoch);
    }
    describe_table(ctl, "Instances:", &columns, buf);
}

static void gpu_field(struct tf_buf *buf, const char *key, uint64_t set)
{
    char text[TF_GPU_SET_TEXT];
    if (set)
        describe_field(buf, key, "%d (%s)", tf_gpu_set_count(set), tf_gpu_set_format(set, text));
}

static void cordon_field(struct tf_buf *buf, const char *what, const char *reason, struct tf_wall at)
{
    char local[WHEN_TEXT], ago[WHEN_TEXT];
    describe_field(buf, "Cordoned:", "%s%s, since %s (%s)", what, reason ? reason : "no reason given",
                   when_local(at, local), when_relative(at, fedctl_now(), ago));
}

static void print_node(struct fedctl *ctl, const struct tf_node_info *info, struct tf_buf *buf)
{
    const struct tf_node *node = &info->node;
    char used[TF_QUANTITY_TEXT], all[TF_QUANTITY_TEXT];
    describe_field(buf, "Node:", "%s/%s", info->cluster, node->name);
    describe_labels(buf, &node->labels);
    describe_field(buf, "State:", "%s", tf_node_state_name(node->state));
    if (info->cordon.whole)
        cordon_field(buf, "", info->cordon.reason, info->cordon.at);
    tf_vec_each (with, &info->cordon.domains) {
        TF_AUTO_FREE char *what = tf_asprintf("with %s, ", with->domain);
        cordon_field(buf, what, with->reason, with->at);
    }
    describe_text(buf, "Address:", node->address);
    describe_text(buf, "Engine:", info->engine);
    for (size_t i = 0; i < node->domains.count; i++)
        describe_text(buf, "Domain:", node->domains.items[i]);
    describe_field(buf, "GPUs:", "%d %s", node->capacity.gpus, node->model ? node->model : "");
    gpu_field(buf, "  free:", info->free_gpus);
    gpu_field(buf, "  held:", info->held_gpus);
    gpu_field(buf, "  foreign:", node->foreign.gpus);
    gpu_field(buf, "  bad:", node->bad_gpus & ~node->suspect_gpus);
    gpu_field(buf, "  suspect:", node->suspect_gpus);
    tf_vec_each (g, &info->cordon.gpus) {
        char gpus[TF_GPU_SET_TEXT];
        TF_AUTO_FREE char *what =
            tf_asprintf("GPU %s%s%s%s, ", tf_gpu_set_format(g->gpus, gpus), g->suspect ? " suspect (by " : "",
                        g->suspect ? tf_gpu_source_name(g->source) : "", g->suspect ? ")" : "");
        cordon_field(buf, what, g->reason, g->at);
    }
    describe_field(buf, "CPU:", "%s of %s used", tf_cpu_format(info->used.cpu, used),
                   tf_cpu_format(node->capacity.cpu, all));
    describe_field(buf, "Memory:", "%s of %s used", tf_memory_format(info->used.memory, used),
                   tf_memory_format(node->capacity.memory, all));
    describe_field(buf, "Slots:", "%d of %d used", info->used.slots, node->capacity.slots);
    node_instances(ctl, info, buf);
}

static int describe_node(struct fedctl *ctl, const char *word, struct tf_buf *text)
{
    const char *slash = strchr(word, '/');
    if (!slash)
        return fedctl_usage(ctl, "\"%.100s\": a node is named CLUSTER/NODE", word);
    struct tf_request request = {.method = TF_METHOD_LIST_NODES};
    struct tf_reply reply = {0};
    struct tf_error err = TF_ERROR_INIT;
    request.nodes.cluster = tf_strndup(word, (size_t)(slash - word));
    int code = FEDCTL_DONE;
    if (fedctl_call(ctl, &request, &reply, &err))
        code = fedctl_fail_about(ctl, word, &err);
    else
        tf_vec_each (info, &reply.nodes.nodes)
            if (strcmp(info->node.name, slash + 1) == 0)
                print_node(ctl, info, text);
    if (code == FEDCTL_DONE && text->len == 0)
        code = tell_no_node(word, &reply.nodes.missing);
    tf_reply_release(&reply);
    tf_request_release(&request);
    return code;
}

/* ---- the verb ---- */

/* In JSON and YAML, and as a name, a description is what get prints. */
static int as_data(struct fedctl *ctl, enum resource_kind kind)
{
    struct listing listing;
    const struct fetcher *fetcher = &fetchers[kind];
    listing_begin(&listing, fetcher->resource, &ctl->options, true, &ctl->out);
    int code = fetcher->fetch(ctl, &listing);
    listing_end(&listing, false);
    return code;
}

static int run(struct fedctl *ctl)
{
    enum resource_kind kind;
    struct tf_error err = TF_ERROR_INIT;
    unsigned allowed = 1u << RESOURCE_JOBS | 1u << RESOURCE_CLUSTERS | 1u << RESOURCE_NODES |
                       1u << RESOURCE_RESERVATIONS | 1u << RESOURCE_MIGRATIONS | 1u << RESOURCE_DRAINS;
    if (target_kind(ctl, allowed, &kind, &err))
        return fedctl_usage(ctl, "%s", err.text);
    if (ctl->words.count != 1)
        return fedctl_usage(ctl, "describe which one? Name exactly one");
    if (ctl->options.selector && kind != RESOURCE_DRAINS)
        return fedctl_usage(ctl, "-l says which drain is meant: `describe drain CLUSTER -l SELECTOR`");
    bool data = ctl->options.output != OUTPUT_TABLE && ctl->options.output != OUTPUT_WIDE;
    if (data && kind != RESOURCE_DRAINS)
        return as_data(ctl, kind);
    TF_AUTO_BUF text = TF_BUF_INIT;
    const char *word = ctl->words.items[0];
    int code = kind == RESOURCE_CLUSTERS     ? describe_cluster(ctl, word, &text)
               : kind == RESOURCE_NODES      ? describe_node(ctl, word, &text)
               : kind == RESOURCE_MIGRATIONS ? describe_migration(ctl, word, &text)
               : kind == RESOURCE_DRAINS     ? describe_drain(ctl, word, &text)
                                             : describe_job(ctl, word, kind == RESOURCE_RESERVATIONS, &text);
    out_buf(&ctl->out, &text);
    return code;
}

const struct verb verb_describe = {
    .name = "describe",
    .usage = "[job] TENANT/NAME\ncluster NAME\nnode CLUSTER/NODE\nreservation TENANT/NAME\nmigration ID\n"
             "drain CLUSTER/NODE|CLUSTER/PATH|CLUSTER\ndrain CLUSTER -l SELECTOR",
    .help = "Show everything about one job, cluster, node, reservation, migration or drain",
    .examples = "fedctl describe job web/hello\nfedctl describe cluster bj-a\nfedctl describe node bj-a/n1\n"
                "# How a move went, and why\n"
                "fedctl describe migration 1a2b3c4d\n"
                "# What is left on a rack that is drained, and where it is to go\n"
                "fedctl describe drain bj-a/rdma-pod-3/switch-12\n",
    .options = OPTION_LIST(options),
    .run = run,
};
