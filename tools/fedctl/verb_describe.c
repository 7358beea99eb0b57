/* SPDX-License-Identifier: Apache-2.0 */
/* Owns describe: everything about one thing, for people. */
#include "common/base/cleanup.h"
#include "common/base/quantity.h"
#include "common/model/manifest.h"
#include "tools/fedctl/migration.h"
#include "tools/fedctl/resource.h"
#include "tools/fedctl/when.h"

#include <stdarg.h>

static const struct option options[] = {OPTION_OUTPUT_ALL, OPTION_TENANT};

/* ---- lines of "Key:  value" ---- */

static void field(struct tf_buf *buf, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void field(struct tf_buf *buf, const char *key, const char *fmt, ...)
{
    char text[2048];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    tf_buf_fmt(buf, "%-12s ", key);
    columns_text(buf, text, 0);
    tf_buf_char(buf, '\n');
}

static void text_field(struct tf_buf *buf, const char *key, const char *text)
{
    if (text && *text)
        field(buf, key, "%s", text);
}

static void time_field(struct tf_buf *buf, const char *key, struct tf_wall at, struct tf_wall now)
{
    char local[WHEN_TEXT], ago[WHEN_TEXT];
    if (at.ms > 0)
        field(buf, key, "%s (%s)", when_local(at, local), when_relative(at, now, ago));
}

static void labels_field(struct tf_buf *buf, const struct tf_pairs *labels)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    for (size_t i = 0; i < labels->count; i++)
        tf_buf_fmt(&text, "%s%s=%s", i ? ", " : "", labels->items[i].key, labels->items[i].value);
    text_field(buf, "Labels:", tf_buf_text(&text));
}

/* Lines of text, indented, without control characters. */
static void block(struct tf_buf *buf, const char *title, const char *text)
{
    tf_buf_fmt(buf, "\n%s\n", title);
    while (*text) {
        size_t len = strcspn(text, "\n");
        TF_AUTO_FREE char *line = tf_strndup(text, len);
        tf_buf_str(buf, "  ");
        columns_text(buf, line, 0);
        tf_buf_char(buf, '\n');
        text += len + (text[len] == '\n');
    }
}

static void table(struct fedctl *ctl, const char *title, struct columns *columns, struct tf_buf *buf)
{
    struct columns_style style = ctl->out.style;
    style.indent = 2;
    if (columns_rows(columns)) {
        tf_buf_fmt(buf, "\n%s\n", title);
        columns_print(columns, &style, buf);
    }
    columns_release(columns);
}

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
        text_field(buf, "Reason:", tf_phase_is_final(job->phase) ? "" : tf_buf_text(&why));
    }
    if (job->held)
        field(buf, "Held:", "yes; fedctl resume %s/%s lets it start", job->manifest.tenant,
              job->manifest.name);
    if (job->deleted)
        field(buf, "Deleted:", "yes; its name is free when it has stopped everywhere");
    text_field(buf, "Message:", job->message);
    if (job->exit_code)
        field(buf, "Exit code:", "%d", job->exit_code);
}

static void job_place(const struct tf_job_view *job, struct tf_wall now, struct tf_buf *buf)
{
    const struct tf_elastic *e = &job->manifest.spec.elastic;
    if (job->size == 0 && job->last_size)
        field(buf, "Size:", "%d when it was last placed (min %d, max %d, step %d)", job->last_size, e->min,
              e->max, e->step);
    else
        field(buf, "Size:", "%d of %d ready (min %d, max %d, step %d)", job->ready, job->size, e->min, e->max,
              e->step);
    if (job->epoch)
        field(buf, "Placed in:", "%s, epoch %llu%s%s", job->cluster ? job->cluster : "-",
              (unsigned long long)job->epoch, job->model ? ", " : "", job->model ? job->model : "");
    time_field(buf, "Submitted:", job->submitted, now);
    time_field(buf, "Placed:", job->placed, now);
    time_field(buf, "Started:", job->started, now);
    time_field(buf, "Finished:", job->finished, now);
    field(buf, "Counts:", "restarts %d, evictions %d, losses %d, retries %d of %d", job->restarts,
          job->evictions, job->losses, job->retries_used, job->manifest.spec.retry_limit);
    time_field(buf, "Checkpoint:", job->checkpoint, now);
    if (job->restart_took)
        field(buf, "Restart:", "%lld s from stop to ready, last time",
              (long long)((job->restart_took + TF_SECOND - 1) / TF_SECOND));
    if (job->lost_gpu_seconds)
        field(buf, "Lost work:", "%lld GPU seconds", (long long)job->lost_gpu_seconds);
}

static void job_members(struct fedctl *ctl, const struct tf_job_view *job, struct tf_wall now,
                        struct tf_buf *buf)
{
    struct columns columns;
    columns_init(&columns, member_columns, member_column_count);
    tf_vec_each (member, &job->members)
        member_cells(member, now, &columns);
    table(ctl, "Instances:", &columns, buf);
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
    table(ctl, "Events:", &columns, buf);
    dropped_events(job->events_dropped, buf);
}

static void print_job(struct fedctl *ctl, const struct tf_job_view *job, struct tf_buf *buf)
{
    struct tf_wall now = fedctl_now();
    char uid[TF_UID_TEXT];
    TF_AUTO_BUF spec = TF_BUF_INIT;
    tf_uid_format(job->uid, uid);
    field(buf, "Job:", "%s/%s", job->manifest.tenant, job->manifest.name);
    field(buf, "UID:", "%s", uid);
    labels_field(buf, &job->manifest.labels);
    text_field(buf, "User:", job->user);
    job_state(job, &ctl->out, now, buf);
    job_place(job, now, buf);
    if (job->output && *job->output)
        block(buf, "Last output of the instance that failed:", job->output);
    job_members(ctl, job, now, buf);
    job_events(ctl, job, now, buf);
    tf_table_yaml(&tf_job_spec_table, &job->manifest.spec, &spec);
    block(buf, "Spec:", tf_buf_text(&spec));
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
    field(buf, "Reservation:", "%s/%s", job->manifest.tenant, job->manifest.name);
    field(buf, "UID:", "%s", uid);
    labels_field(buf, &job->manifest.labels);
    text_field(buf, "User:", job->user);
    field(buf, "State:", "%s", reservation_state(job));
    text_field(buf, "Reason:", tf_phase_is_final(job->phase) ? "" : tf_buf_text(&why));
    text_field(buf, "Message:", job->message);
    field(buf, "For:", "%s", tf_buf_text(&owner));
    field(buf, "Keeps:", "%d of %d x %d GPUs", job->ready, job->manifest.spec.elastic.min,
          job->manifest.spec.group.shape.gpus);
    if (job->epoch)
        field(buf, "Placed in:", "%s, epoch %llu%s%s", job->cluster ? job->cluster : "-",
              (unsigned long long)job->epoch, job->model ? ", " : "", job->model ? job->model : "");
    time_field(buf, "Submitted:", job->submitted, now);
    time_field(buf, "Placed:", job->placed, now);
    if (tf_phase_is_final(job->phase))
        time_field(buf, "Over:", job->finished, now);
    else
        field(buf, "Expires:", "%s", when_local(end, local));
    job_members(ctl, job, now, buf);
    job_events(ctl, job, now, buf);
    tf_table_yaml(&tf_reservation_spec_table, &job->manifest.spec, &spec);
    block(buf, "Spec:", tf_buf_text(&spec));
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
    table(ctl, "Events:", &columns, buf);
    dropped_events(info->events_dropped, buf);
}

static void freeze_fields(const struct tf_cluster_info *info, const struct tf_freezes *freezes,
                          struct tf_buf *buf)
{
    char local[WHEN_TEXT];
    tf_vec_each (freeze, freezes)
        if (!freeze->cluster || strcmp(freeze->cluster, info->name) == 0)
            field(buf, "Frozen:", "%s until %s%s%s%s", tf_frozen_name(freeze->what),
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
    field(buf, "Cluster:", "%s", info->name);
    text_field(buf, "Region:", info->region);
    labels_field(buf, &info->labels);
    field(buf, "State:", "%s", cluster_state(info, state));
    text_field(buf, "Cordoned:", info->cordon_reason);
    if (info->store_trouble)
        field(buf, "Store:", "does not answer its subclusterd, which accepts nothing until it does: %s",
              info->store_trouble);
    time_field(buf, "  since:", info->store_trouble_since, now);
    time_field(buf, "Registered:", info->registered, now);
    if (!info->attached)
        time_field(buf, "Contact:", info->contact, now);
    text_field(buf, "Engine:", info->engine);
    text_field(buf, "Version:", info->version);
    field(buf, "Nodes:", "%d: %d ready, %d unreachable, %d lost, %d cordoned, %d draining", h->nodes,
          h->ready, h->unreachable, h->lost, h->cordoned, h->draining);
    freeze_fields(info, freezes, buf);
    field(buf, "GPUs:", "%d: %d free, %d held, %d foreign, %d bad, %d suspect", h->gpus, h->free_gpus,
          h->held_gpus, h->foreign_gpus, h->bad_gpus - h->suspect_gpus, h->suspect_gpus);
    field(buf, "Idle GPUs:",
          "%d deliverable; else by count %d, cpu_memory %d, topology %d, policy %d, step %d, "
          "health %d",
          i->deliverable, i->count, i->cpu_memory, i->topology, i->policy, i->step, i->health);
    field(buf, "Jobs:", "%d unfinished placements; highest epoch %llu", info->placements,
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
    table(ctl, "Instances:", &columns, buf);
}

static void gpu_field(struct tf_buf *buf, const char *key, uint64_t set)
{
    char text[TF_GPU_SET_TEXT];
    if (set)
        field(buf, key, "%d (%s)", tf_gpu_set_count(set), tf_gpu_set_format(set, text));
}

static void cordon_field(struct tf_buf *buf, const char *what, const char *reason, struct tf_wall at)
{
    char local[WHEN_TEXT], ago[WHEN_TEXT];
    field(buf, "Cordoned:", "%s%s, since %s (%s)", what, reason ? reason : "no reason given",
          when_local(at, local), when_relative(at, fedctl_now(), ago));
}

static void print_node(struct fedctl *ctl, const struct tf_node_info *info, struct tf_buf *buf)
{
    const struct tf_node *node = &info->node;
    char used[TF_QUANTITY_TEXT], all[TF_QUANTITY_TEXT];
    field(buf, "Node:", "%s/%s", info->cluster, node->name);
    labels_field(buf, &node->labels);
    field(buf, "State:", "%s", tf_node_state_name(node->state));
    if (info->cordon.whole)
        cordon_field(buf, "", info->cordon.reason, info->cordon.at);
    tf_vec_each (with, &info->cordon.domains) {
        TF_AUTO_FREE char *what = tf_asprintf("with %s, ", with->domain);
        cordon_field(buf, what, with->reason, with->at);
    }
    text_field(buf, "Address:", node->address);
    text_field(buf, "Engine:", info->engine);
    for (size_t i = 0; i < node->domains.count; i++)
        text_field(buf, "Domain:", node->domains.items[i]);
    field(buf, "GPUs:", "%d %s", node->capacity.gpus, node->model ? node->model : "");
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
    field(buf, "CPU:", "%s of %s used", tf_cpu_format(info->used.cpu, used),
          tf_cpu_format(node->capacity.cpu, all));
    field(buf, "Memory:", "%s of %s used", tf_memory_format(info->used.memory, used),
          tf_memory_format(node->capacity.memory, all));
    field(buf, "Slots:", "%d of %d used", info->used.slots, node->capacity.slots);
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
    if (code == FEDCTL_DONE && text->len == 0) {
        message("there is no node %.100s; see fedctl get nodes", word);
        code = FEDCTL_NOT_FOUND;
    }
    tf_reply_release(&reply);
    tf_request_release(&request);
    return code;
}

/* ---- migrations ---- */

static void chain_moves(struct fedctl *ctl, const struct tf_migration *chain, struct tf_buf *buf)
{
    static const struct column titles[] = {
        {"JOB", 0}, {"INDEX", COLUMN_RIGHT}, {"STATE", 0}, {"FROM", 0}, {"TO", 0}, {"GPUS", 0}, {"WHY", 0}};
    struct columns columns;
    char gpus[TF_GPU_SET_TEXT];
    columns_init(&columns, titles, TF_ARRAY_LEN(titles));
    tf_vec_each (move, &chain->moves) {
        columns_add_fmt(&columns, "%s/%s", move->tenant, move->name);
        columns_add_fmt(&columns, "%u", move->index);
        columns_add(&columns, tf_move_state_name(move->state));
        columns_add(&columns, move->from);
        columns_add(&columns, move->claim.node ? move->claim.node : move->wanted);
        columns_add(&columns, move->claim.gpus ? tf_gpu_set_format(move->claim.gpus, gpus) : "-");
        columns_add(&columns, move->why);
    }
    table(ctl, "Moves:", &columns, buf);
}

static void print_chain(struct fedctl *ctl, const struct tf_chain_info *info, struct tf_buf *buf)
{
    const struct tf_migration *chain = &info->chain;
    struct tf_wall now = fedctl_now();
    char id[TF_UID_TEXT];
    tf_uid_format(chain->id, id);
    field(buf, "Migration:", "%s", id);
    field(buf, "Cluster:", "%s", info->cluster ? info->cluster : "-");
    field(buf, "For:", "%s%s%s", tf_move_cause_name(chain->cause), chain->owner ? " " : "",
          chain->owner ? chain->owner : "");
    text_field(buf, "Reason:", chain->reason);
    text_field(buf, "User:", chain->user);
    field(buf, "State:", "%s", chain->ended.ms ? "over" : chain->paused ? "paused" : "under way");
    time_field(buf, "Begun:", chain->created, now);
    time_field(buf, "Ended:", chain->ended, now);
    chain_moves(ctl, chain, buf);
}

static void print_job_move(const struct tf_job_move *job, struct tf_buf *buf)
{
    const struct tf_cross *c = &job->move;
    struct tf_wall now = fedctl_now();
    char id[TF_UID_TEXT], local[WHEN_TEXT];
    tf_uid_format(job->uid, id);
    field(buf, "Migration:", "%s", id);
    field(buf, "Job:", "%s/%s", job->tenant, job->name);
    field(buf, "From:", "cluster %s, epoch %llu", c->from ? c->from : "?", (unsigned long long)c->old_epoch);
    if (c->new_epoch)
        field(buf, "To:", "cluster %s, epoch %llu", c->to ? c->to : "?", (unsigned long long)c->new_epoch);
    else
        field(buf, "To:", "cluster %s, not placed there", c->to ? c->to : "?");
    field(buf, "For:", "%s", tf_move_cause_name(TF_MOVE_BY_OPERATOR));
    text_field(buf, "Reason:", c->reason);
    text_field(buf, "User:", c->user);
    field(buf, "State:", "%s", tf_cross_state_name(c->state));
    text_field(buf, "Why:", c->why);
    if (c->cause)
        field(buf, "Decided by:", "%s", tf_cross_cause_name(c->cause));
    time_field(buf, "Begun:", c->since, now);
    if (c->deadline.ms)
        field(buf, "Deadline:", "%s, when it is taken back", when_local(c->deadline, local));
    time_field(buf, "Ended:", c->ended, now);
}

static int describe_migration(struct fedctl *ctl, const char *word, struct tf_buf *text)
{
    struct tf_reply reply = {0};
    struct migration_found found;
    int code = migrations_ask(ctl, &reply);
    code = code == FEDCTL_DONE ? migration_find(ctl, &reply.migrate, word, &found) : code;
    if (code == FEDCTL_DONE && found.job)
        print_job_move(found.job, text);
    else if (code == FEDCTL_DONE)
        print_chain(ctl, found.info, text);
    else
        tell_missing(&reply.migrate.missing, "migrations");
    tf_reply_release(&reply);
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
                       1u << RESOURCE_RESERVATIONS | 1u << RESOURCE_MIGRATIONS;
    if (target_kind(ctl, allowed, &kind, &err))
        return fedctl_usage(ctl, "%s", err.text);
    if (ctl->words.count != 1)
        return fedctl_usage(ctl, "describe which one? Name exactly one");
    if (ctl->options.output != OUTPUT_TABLE && ctl->options.output != OUTPUT_WIDE)
        return as_data(ctl, kind);
    TF_AUTO_BUF text = TF_BUF_INIT;
    const char *word = ctl->words.items[0];
    int code = kind == RESOURCE_CLUSTERS     ? describe_cluster(ctl, word, &text)
               : kind == RESOURCE_NODES      ? describe_node(ctl, word, &text)
               : kind == RESOURCE_MIGRATIONS ? describe_migration(ctl, word, &text)
                                             : describe_job(ctl, word, kind == RESOURCE_RESERVATIONS, &text);
    out_buf(&ctl->out, &text);
    return code;
}

const struct verb verb_describe = {
    .name = "describe",
    .usage = "[job] TENANT/NAME\ncluster NAME\nnode CLUSTER/NODE\nreservation TENANT/NAME\nmigration ID",
    .help = "Show everything about one job, cluster, node, reservation or migration",
    .examples = "fedctl describe job web/hello\nfedctl describe cluster bj-a\nfedctl describe node bj-a/n1\n"
                "# How a move went, and why\n"
                "fedctl describe migration 1a2b3c4d\n",
    .options = OPTION_LIST(options),
    .run = run,
};
