/* SPDX-License-Identifier: Apache-2.0 */
/* Owns explain: why a job waits, and what a manifest says with its defaults. */
#include "common/base/cleanup.h"
#include "tools/fedctl/explain.h"
#include "tools/fedctl/manifests.h"
#include "tools/fedctl/resource.h"
#include "tools/fedctl/when.h"

static const struct option options[] = {
    OPTION_FILES("with `manifest`: print it with every default filled in; a file, a folder or -"),
    OPTION_OUTPUT_ALL,
    OPTION_TENANT,
    {0, "NAME", {.key = "cluster", TF_NAME(struct options, cluster), .help = "of a node named without one"}},
};

/* ---- a job ---- */

static const struct column columns[] = {
    {"CLUSTER", 0},
    {"REASON", 0},
    {"HAS", COLUMN_RIGHT},
    {"ASKED", COLUMN_RIGHT},
    {"MISSING", COLUMN_RIGHT},
    {"UNTIL", COLUMN_RIGHT},
    {"TEXT", 0},
    {"UNBLOCK", COLUMN_WIDE},
};

struct table {
    struct columns columns;
    struct tf_wall now;
    bool wide; /* what would unblock it has a column of its own */
};

static void add_text(const char *words, const char *unblock, struct table *out)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    tf_buf_str(&text, words ? words : "");
    if (unblock && *unblock && !out->wide)
        tf_buf_fmt(&text, "%sto unblock: %s", text.len ? "; " : "", unblock);
    columns_add(&out->columns, tf_buf_text(&text));
    columns_add(&out->columns, unblock ? unblock : "");
}

/* What else is in the way there: a line of its own. */
static void add_more(const struct tf_blocker *blocker, struct table *table)
{
    struct columns *out = &table->columns;
    char until[WHEN_TEXT];
    columns_add(out, "");
    columns_add_styled(out, CELL_WAITING, tf_reason_name(blocker->reason));
    for (int number = 0; number < 3; number++)
        columns_add(out, "");
    columns_add(out, when_relative(blocker->until, table->now, until));
    add_text(blocker->text, blocker->unblock, table);
}

static void add_row(const struct tf_explain_row *row, struct table *table)
{
    struct columns *out = &table->columns;
    char until[WHEN_TEXT];
    columns_add(out, row->cluster);
    if (row->reason)
        columns_add_styled(out, CELL_WAITING, tf_reason_name(row->reason));
    else
        columns_add_styled(out, CELL_GOOD, "FITS");
    columns_add_fmt(out, "%d", row->has);
    columns_add_fmt(out, "%d", row->asked);
    columns_add_fmt(out, "%d", row->missing);
    columns_add(out, when_relative(row->until, table->now, until));
    add_text(row->text, row->unblock, table);
    tf_vec_each (blocker, &row->more)
        add_more(blocker, table);
}

void explain_table(struct fedctl *ctl, struct columns *table, struct tf_buf *buf)
{
    struct columns_style style = ctl->out.style;
    style.terminal = 0;
    style.wide = ctl->options.output == OUTPUT_WIDE;
    if (columns_rows(table)) {
        tf_buf_char(buf, '\n');
        columns_print(table, &style, buf);
    }
    columns_release(table);
}

static void print_table(struct fedctl *ctl, const struct tf_explain_reply *reply, struct tf_buf *buf)
{
    struct table table = {.now = fedctl_now(), .wide = ctl->options.output == OUTPUT_WIDE};
    columns_init(&table.columns, columns, TF_ARRAY_LEN(columns));
    tf_vec_each (row, &reply->rows)
        add_row(row, &table);
    explain_table(ctl, &table.columns, buf);
}

/* "[   120.000] job ..." is told by the leader's clock: people read the time of day. */
static void print_decision(const struct tf_explain_reply *reply, const char *line, struct tf_buf *buf)
{
    char local[WHEN_TEXT], *end = NULL;
    double seconds = line[0] == '[' ? strtod(line + 1, &end) : 0;
    bool told = end && *end == ']' && reply->now.ms && seconds >= 0 && seconds < 1e12;
    tf_buf_str(buf, "  ");
    if (told) {
        struct tf_wall at = {reply->now.ms - reply->clock_ms + (int64_t)(seconds * 1000)};
        tf_buf_str(buf, when_local(at, local));
        line = end + 1;
    }
    columns_text(buf, line, 0);
    tf_buf_char(buf, '\n');
}

static void print_people(struct fedctl *ctl, const struct tf_explain_reply *reply, struct tf_buf *buf)
{
    columns_text(buf, reply->answer ? reply->answer : "no answer", 0);
    tf_buf_char(buf, '\n');
    print_table(ctl, reply, buf);
    if (reply->decisions.count)
        tf_buf_str(buf, "\nLatest decisions:\n");
    for (size_t i = 0; i < reply->decisions.count; i++)
        print_decision(reply, reply->decisions.items[i], buf);
}

/* Of the clusters, in the order of the table. */
static void print_names(const struct tf_explain_reply *reply, struct tf_buf *buf)
{
    tf_vec_each (row, &reply->rows)
        tf_buf_fmt(buf, "%s\n", row->cluster);
}

static void print_job(struct fedctl *ctl, const struct tf_explain_reply *reply)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    if (ctl->options.output == OUTPUT_JSON)
        view_json(&view_explain, reply, &text);
    else if (ctl->options.output == OUTPUT_YAML)
        view_yaml(&view_explain, reply, &text);
    else if (ctl->options.output == OUTPUT_NAME)
        print_names(reply, &text);
    else
        print_people(ctl, reply, &text);
    out_buf(&ctl->out, &text);
}

static int explain_job(struct fedctl *ctl, const char *word)
{
    struct tf_reply reply;
    int code = target_ask(ctl, TF_METHOD_EXPLAIN, word, &reply);
    if (code == FEDCTL_DONE) {
        explain_add_drains(ctl, &reply.explain);
        print_job(ctl, &reply.explain);
    }
    tf_reply_release(&reply);
    return code;
}

static int explain_jobs(struct fedctl *ctl)
{
    enum resource_kind kind;
    struct tf_error err = TF_ERROR_INIT;
    if (target_kind(ctl, 1u << RESOURCE_JOBS, &kind, &err))
        return fedctl_usage(ctl, "%s; or say `explain eviction|node|reservation|manifest`", err.text);
    if (ctl->words.count != 1)
        return fedctl_usage(ctl, "explain which job? Say one TENANT/NAME");
    return explain_job(ctl, ctl->words.items[0]);
}

/* A job of that name is none: whoever names a kind means it. */
static int explain_reservation(struct fedctl *ctl, const char *word)
{
    struct tf_reply reply;
    int code = target_ask_of_kind(ctl, word, true, &reply);
    bool is = code == FEDCTL_DONE && tf_is_reservation(&reply.job.manifest.spec);
    tf_reply_release(&reply);
    if (code == FEDCTL_DONE && !is) {
        message("%s is a job; fedctl explain %s says where it is", word, word);
        return FEDCTL_NOT_FOUND;
    }
    return code == FEDCTL_DONE ? explain_job(ctl, word) : code;
}

/* ---- a manifest ---- */

static void print_manifests(struct fedctl *ctl, const struct manifests *manifests)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    bool json = ctl->options.output == OUTPUT_JSON, list = json && manifests->items.count > 1;
    if (list)
        view_list_begin(true, &text);
    for (size_t i = 0; i < manifests->items.count; i++) {
        const struct tf_job_manifest *job = &manifests->items.items[i].job;
        if (list)
            view_list_item(view_of_manifest(job), job, true, i == 0, &text);
        else if (json)
            view_json(view_of_manifest(job), job, &text);
        else if (ctl->options.output == OUTPUT_NAME)
            tf_buf_fmt(&text, "%s/%s\n", job->tenant, job->name);
        else {
            tf_buf_str(&text, i ? "---\n" : "");
            view_yaml(view_of_manifest(job), job, &text);
        }
    }
    if (list)
        view_list_end(true, false, &text);
    out_buf(&ctl->out, &text);
}

static int explain_manifests(struct fedctl *ctl)
{
    struct manifests manifests = {0};
    TF_AUTO_BUF problems = TF_BUF_INIT;
    int code = FEDCTL_DONE;
    if (ctl->options.files.count == 0)
        return fedctl_usage(ctl, "which manifest? Say -f FILE, -f FOLDER or -f -");
    if (manifests_load(&manifests, &ctl->options.files, &problems)) {
        fputs(tf_buf_text(&problems), stderr);
        code = FEDCTL_USAGE;
    } else
        print_manifests(ctl, &manifests);
    manifests_release(&manifests);
    return code;
}

/* ---- evictions and nodes ---- */

static const struct {
    const char *kind, *question; /* "eviction"; of who named none, or several */
    int (*explain)(struct fedctl *ctl, const char *word);
} others[] = {
    {"eviction", "the evictions of which job? Say one TENANT/NAME", explain_eviction},
    {"node", "which node? Say one CLUSTER/NODE", explain_node},
    {"reservation", "which reservation? Say one TENANT/NAME", explain_reservation},
};

/* "node", "nodes" */
static bool is_kind(const char *word, const char *kind)
{
    size_t len = strlen(kind);
    return strncmp(word, kind, len) == 0 && (!word[len] || strcmp(word + len, "s") == 0);
}

static int explain_other(struct fedctl *ctl, size_t which)
{
    free(ctl->words.items[0]);
    tf_vec_remove(&ctl->words, 0);
    if (ctl->words.count != 1)
        return fedctl_usage(ctl, "explain %s", others[which].question);
    return others[which].explain(ctl, ctl->words.items[0]);
}

void explain_print(struct fedctl *ctl, const struct tf_table *table, const void *document)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    if (ctl->options.output == OUTPUT_JSON)
        view_table_json(table, document, &text);
    else
        view_table_yaml(table, document, &text);
    out_buf(&ctl->out, &text);
}

static int run(struct fedctl *ctl)
{
    bool manifest = ctl->words.count && (strcmp(ctl->words.items[0], "manifest") == 0 ||
                                         strcmp(ctl->words.items[0], "manifests") == 0);
    if (manifest && ctl->words.count > 1)
        return fedctl_usage(ctl, "explain manifest takes files with -f, not \"%.100s\"", ctl->words.items[1]);
    if (manifest || (ctl->words.count == 0 && ctl->options.files.count))
        return explain_manifests(ctl);
    if (ctl->options.files.count)
        return fedctl_usage(ctl, "-f goes with `explain manifest`");
    for (size_t i = 0; i < TF_ARRAY_LEN(others); i++)
        if (ctl->words.count && is_kind(ctl->words.items[0], others[i].kind))
            return explain_other(ctl, i);
    return explain_jobs(ctl);
}

const struct verb verb_explain = {
    .name = "explain",
    .usage = "[job] TENANT/NAME\neviction TENANT/NAME\nnode CLUSTER/NODE\nreservation TENANT/NAME\nmanifest "
             "-f FILE|FOLDER|-",
    .help =
        "Say why a job waits or gave way, what a node or a reservation is used for, what a manifest means",
    .more = "The first line is the answer. The table has every cluster: what it has and what is asked, in "
            "instances,\n"
            "the first reason against it, until when that holds, and what would unblock it; lines without a\n"
            "cluster are what else is in the way there. Of evictions it says for whom, at which level and "
            "what was\n"
            "lost; of a node, who has each GPU, and what keeps work from those that nobody has.\n"
            "-o wide has what would unblock it in a column of its own; -o name gives the clusters, for whom "
            "it gave\n"
            "way, the node's instances, or the jobs of a manifest.",
    .examples = "fedctl explain job rec/wants-b300\n"
                "# For whom it gave way, and what that cost\n"
                "fedctl explain eviction llm/pretrain\n"
                "# Who has its GPUs\n"
                "fedctl explain node bj-a/n3\n"
                "# For whom it keeps room, how much of it is left, and until when\n"
                "fedctl explain reservation search/launch-room\n"
                "# The manifest with every default filled in; asks no server\n"
                "fedctl explain manifest -f job.yaml\n",
    .options = OPTION_LIST(options),
    .run = run,
};
