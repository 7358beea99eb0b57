/* SPDX-License-Identifier: Apache-2.0 */
/* Owns how a drain is described: what was ordered, how far it is, and what each instance that is left waits
 * for. */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "tools/fedctl/describe.h"
#include "tools/fedctl/drains.h"
#include "tools/fedctl/migration.h"
#include "tools/fedctl/resource.h"
#include "tools/fedctl/when.h"

enum { NAMED = 5 };

/* ---- what is left ---- */

static bool is_of(const struct tf_move *move, const char *id, const char *node)
{
    TF_AUTO_FREE char *name = tf_asprintf("%s/%s/%u", move->tenant, move->name, move->index);
    return tf_str_eq(move->from, node) && strcmp(name, id) == 0;
}

/* The latest move of an instance away from there: one that goes on, else what became of it. */
static const struct tf_move *latest_move(const struct tf_migrate_reply *moves, const char *cluster,
                                         const char *id, const char *node)
{
    const struct tf_move *found = NULL;
    tf_vec_each (info, &moves->chains)
        if (tf_str_eq(info->cluster, cluster))
            tf_vec_each (move, &info->chain.moves)
                if (is_of(move, id, node) && (!found || tf_move_is_over(found->state)))
                    found = move;
    return found;
}

static void left_row(const struct drain *drain, const struct drain_node *node, const char *id,
                     const struct tf_migrate_reply *moves, struct columns *out)
{
    const struct tf_move *move = latest_move(moves, drain->cluster, id, node->name);
    columns_add(out, id);
    columns_add(out, node->name);
    columns_add(out, move ? tf_move_state_name(move->state) : "-");
    columns_add(out, !move ? "-" : move->claim.node ? move->claim.node : move->wanted ? move->wanted : "-");
    columns_add(out, move ? move->why : NULL);
}

static void left_table(struct fedctl *ctl, const struct drain *drain, const struct tf_migrate_reply *moves,
                       struct tf_buf *text)
{
    static const struct column titles[] = {{"INSTANCE", 0}, {"NODE", 0}, {"MOVE", 0}, {"TO", 0}, {"WHY", 0}};
    struct columns columns;
    columns_init(&columns, titles, TF_ARRAY_LEN(titles));
    tf_vec_each (node, &drain->covers)
        tf_vec_each (id, &node->left)
            left_row(drain, node, *id, moves, &columns);
    describe_table(ctl, "Left:", &columns, text);
}

/* ---- the order ---- */

static void others_field(const struct drain *drain, struct tf_buf *text)
{
    TF_AUTO_BUF names = TF_BUF_INIT;
    size_t count = 0;
    tf_vec_each (node, &drain->covers)
        if (node->other_terms && ++count <= NAMED)
            tf_buf_fmt(&names, "%s%s", names.len ? ", " : "", node->name);
    if (count > NAMED)
        tf_buf_fmt(&names, " and %zu more", count - NAMED);
    if (count)
        describe_field(text, "Other terms:", "%s: a later order holds there, see fedctl get drains",
                       tf_buf_text(&names));
}

/* In what words its user can ask why something stays. */
static void dry_run_field(const struct drain *drain, const char *name, struct tf_buf *text)
{
    bool labels = !drain->of_node && tf_domain_labels(drain->what);
    if (labels)
        describe_field(text, "To ask why:", "fedctl drain node -c %s -l '%s' --dry-run", drain->cluster,
                       tf_domain_labels(drain->what));
    else
        describe_field(text, "To ask why:", "fedctl drain %s %s --dry-run", drain_kind(drain), name);
}

static void print(struct fedctl *ctl, const struct drain *drain, const char *name,
                  const struct tf_migrate_reply *moves, struct tf_buf *text)
{
    struct tf_wall now = fedctl_now();
    const struct tf_drain *terms = &drain->terms;
    char local[WHEN_TEXT], when[WHEN_TEXT];
    describe_field(text, "Drain:", "%s", name);
    describe_field(text, "Of:", "%s", drain_kind(drain));
    describe_field(text, "State:", "%s", drain_is_done(drain) ? "Drained" : "Draining");
    describe_field(text, "Empty nodes:", "%d of %zu", drain->empty, drain->covers.count);
    others_field(drain, text);
    describe_text(text, "Reason:", drain->reason);
    describe_time(text, "Since:", drain->since, now);
    if (terms->deadline.ms)
        describe_field(text, "Deadline:", "%s (%s), when what is left is stopped, %s protected cores",
                       when_local(terms->deadline, local), when_relative(terms->deadline, now, when),
                       terms->force ? "also" : "but not");
    else
        describe_field(text, "Deadline:", "none: nothing is ever stopped");
    if (terms->max_at_once)
        describe_field(text, "At once:", "%d moves", terms->max_at_once);
    if (!drain_is_done(drain))
        dry_run_field(drain, name, text);
    left_table(ctl, drain, moves, text);
}

/* ---- which one ---- */

/* As `get drains` names it: "bj-a/n3", "bj-a/pod-3", "bj-a", "bj-a -l disk=nvme". Owned; NULL after saying
 * what is wrong with it. */
static char *wanted_name(struct fedctl *ctl, const char *word)
{
    struct tf_selector selector = {0};
    struct tf_error err = TF_ERROR_INIT;
    TF_AUTO_BUF name = TF_BUF_INIT;
    tf_buf_str(&name, word);
    if (ctl->options.selector && target_selector(ctl->options.selector, &selector, &err)) {
        tf_selector_release(&selector);
        fedctl_usage(ctl, "%s", err.text);
        return NULL;
    }
    if (selector.count) {
        tf_buf_str(&name, " " TF_BY_LABELS);
        tf_selector_format(&selector, &name);
    }
    tf_selector_release(&selector);
    return tf_buf_take(&name);
}

/* For what concerns that cluster alone, and all of its nodes: those that a drain covers are found by what
 * they are in. The rest is lent; the cluster is owned. */
static struct fedctl within(const struct fedctl *ctl, const char *name)
{
    struct fedctl own = *ctl;
    own.words = (struct tf_strs){0};
    own.options.selector = NULL;
    own.options.cluster = tf_strndup(name, strcspn(name, "/ "));
    return own;
}

static const struct drain *find(const struct drains *drains, const char *name)
{
    TF_AUTO_BUF is = TF_BUF_INIT;
    tf_vec_each (drain, drains) {
        tf_buf_clear(&is);
        drain_name(drain, &is);
        if (strcmp(tf_buf_text(&is), name) == 0)
            return drain;
    }
    return NULL;
}

static void print_data(struct fedctl *ctl, const struct drain *drain)
{
    struct listing listing;
    listing_begin(&listing, &resource_drains, &ctl->options, true, &ctl->out);
    listing_add(&listing, drain);
    listing_end(&listing, false);
}

/* What moves is told of as far as it is known: a cluster that does not answer is no reason to say nothing. */
static void print_people(struct fedctl *ctl, struct fedctl *own, const struct drain *drain, const char *name,
                         struct tf_buf *text)
{
    struct tf_reply reply = {0};
    if (!drain_is_done(drain) && migrations_ask(own, &reply) == FEDCTL_DONE)
        tell_missing(&reply.migrate.missing, "moves");
    print(ctl, drain, name, &reply.migrate, text);
    tf_reply_release(&reply);
}

int describe_drain(struct fedctl *ctl, const char *word, struct tf_buf *text)
{
    struct drains drains;
    TF_AUTO_FREE char *name = wanted_name(ctl, word);
    if (!name)
        return FEDCTL_USAGE;
    struct fedctl own = within(ctl, name);
    int code = drains_fetch(&own, &drains);
    const struct drain *drain = find(&drains, name);
    if (drain && ctl->options.output != OUTPUT_TABLE && ctl->options.output != OUTPUT_WIDE)
        print_data(ctl, drain);
    else if (drain)
        print_people(ctl, &own, drain, name, text);
    else if (code == FEDCTL_DONE) {
        message("there is no drain %.200s; `fedctl get drains` lists them", name);
        code = FEDCTL_NOT_FOUND;
    }
    drains_release(&drains);
    free(own.options.cluster);
    return code;
}
