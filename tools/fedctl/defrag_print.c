/* SPDX-License-Identifier: Apache-2.0 */
/* What people read of a plan that frees nodes: the answer in line one, then what it costs, then the nodes by
 * free GPUs, then the moves in their order. */
#include "tools/fedctl/defrag.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"

enum { BAR_MAX = 40, MOVES_SHOWN = 200 };

static const char *plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

/* "whole node", "place of 4 GPUs" */
static void say_unit(const struct tf_defrag_order *order, int64_t n, struct tf_buf *buf)
{
    if (order->gpus == 0)
        tf_buf_fmt(buf, "%lld whole node%s", (long long)n, plural(n));
    else
        tf_buf_fmt(buf, "%lld place%s of %d GPU%s", (long long)n, plural(n), order->gpus,
                   plural(order->gpus));
}

static void say_answer(const struct defrag *defrag, struct tf_buf *buf)
{
    const struct tf_defrag_plan *plan = defrag->plan;
    tf_buf_fmt(buf, "%s %s%s%s: ", defrag->cluster, plan->model ? plan->model : "?",
               plan->domain ? " in " : "", plan->domain ? plan->domain : "");
    int32_t want = defrag->order->want;
    if (plan->freed == 0 && defrag->order->total && want > 0 && plan->before >= want) {
        tf_buf_str(buf, "nothing is to be moved for ");
        say_unit(defrag->order, want, buf);
    } else if (plan->freed == 0) {
        tf_buf_str(buf, "no move frees ");
        say_unit(defrag->order, 1, buf);
        tf_buf_str(buf, plan->best ? " in the way that was asked for" : " more");
    } else {
        say_unit(defrag->order, plan->freed, buf);
        int32_t asked = want - (defrag->order->total ? plan->before : 0);
        tf_buf_str(buf, " more");
        if (asked > plan->freed)
            tf_buf_fmt(buf, ", of %d asked for,", asked);
        tf_buf_fmt(buf, " by %zu move%s of %d GPU%s", plan->moves.count, plural((int64_t)plan->moves.count),
                   plan->gpus, plural(plan->gpus));
    }
    tf_buf_fmt(buf, "; %d free now, of %d node%s\n", plan->before, plan->nodes, plural(plan->nodes));
}

static void say_costs(const struct tf_defrag_plan *plan, struct tf_buf *buf)
{
    tf_buf_fmt(buf, "  at most %d more by any plan", plan->best);
    if (plan->freed)
        tf_buf_fmt(
            buf,
            "; as many by any plan take at least %d move%s and %d GPU%s; at most %d GPU%s held twice at "
            "a time, in %d wave%s",
            plan->moves_bound, plural(plan->moves_bound), plan->gpus_bound, plural(plan->gpus_bound),
            plan->double_booked, plural(plan->double_booked), plan->waves, plural(plan->waves));
    tf_buf_char(buf, '\n');
    if (plan->cut)
        tf_buf_str(buf, "  a limit ended it: apply it, then plan again for more\n");
    for (size_t i = 0; i < plan->locks.count; i++)
        tf_buf_fmt(buf, "%s%d instance%s not moved: %s", i ? "; " : "  ", plan->locks.items[i].instances,
                   plural(plan->locks.items[i].instances), plan->locks.items[i].why);
    if (plan->locks.count)
        tf_buf_fmt(buf, "%s\n", plan->sites_locked ? "" : "; none keeps a node from becoming whole");
    if (plan->sites_locked)
        tf_buf_fmt(buf, "  these keep %d node%s from becoming whole\n", plan->sites_locked,
                   plural(plan->sites_locked));
}

/* ---- nodes by free GPUs ---- */

static const struct column bucket_columns[] = {
    {"FREE-GPUS", COLUMN_RIGHT}, {"NOW", COLUMN_RIGHT}, {"", 0}, {"AFTER", COLUMN_RIGHT}, {"", 0},
};

static void add_bar(struct columns *out, int32_t count, int32_t most)
{
    char bar[BAR_MAX + 1] = "";
    int64_t length = most ? ((int64_t)count * BAR_MAX + most - 1) / most : 0;
    memset(bar, '#', (size_t)length);
    bar[length] = '\0';
    columns_add(out, length ? bar : " ");
}

static void print_table(struct fedctl *ctl, struct columns *table, struct tf_buf *buf)
{
    struct columns_style style = ctl->out.style;
    style.terminal = 0;
    style.indent = 2;
    if (columns_rows(table)) {
        tf_buf_char(buf, '\n');
        columns_print(table, &style, buf);
    }
    columns_release(table);
}

static void print_buckets(struct fedctl *ctl, const struct tf_defrag_plan *plan, struct tf_buf *buf)
{
    struct columns table;
    int32_t most = 0;
    columns_init(&table, bucket_columns, TF_ARRAY_LEN(bucket_columns));
    tf_vec_each (b, &plan->buckets) {
        most = b->before > most ? b->before : most;
        most = b->after > most ? b->after : most;
    }
    tf_vec_each (b, &plan->buckets) {
        columns_add_fmt(&table, "%d", b->free);
        columns_add_fmt(&table, "%d", b->before);
        add_bar(&table, b->before, most);
        columns_add_fmt(&table, "%d", b->after);
        add_bar(&table, b->after, most);
    }
    print_table(ctl, &table, buf);
}

/* ---- moves ---- */

static const struct column move_columns[] = {
    {"WAVE", COLUMN_RIGHT}, {"INSTANCE", 0}, {"GPUS", COLUMN_RIGHT}, {"FROM", 0}, {"TO", 0}, {"THEN FREE", 0},
};

/* The node is free when the last of its moves is done. */
static bool is_last_of(const struct tf_defrag_plan *plan, size_t move)
{
    for (size_t i = move + 1; i < plan->moves.count; i++)
        if (strcmp(plan->moves.items[i].from, plan->moves.items[move].from) == 0)
            return false;
    tf_vec_each (site, &plan->sites)
        if (strcmp(site->node, plan->moves.items[move].from) == 0)
            return true;
    return false;
}

/* To go on from there to its place, which is not free yet. */
static bool waits_there(const struct tf_defrag_plan *plan, size_t move)
{
    const struct tf_defrag_move *m = &plan->moves.items[move];
    for (size_t i = move + 1; i < plan->moves.count; i++) {
        const struct tf_defrag_move *next = &plan->moves.items[i];
        if (next->index == m->index && tf_str_eq(next->name, m->name) && tf_str_eq(next->tenant, m->tenant))
            return true;
    }
    return false;
}

static void print_moves(struct fedctl *ctl, const struct tf_defrag_plan *plan, struct tf_buf *buf)
{
    struct columns table;
    columns_init(&table, move_columns, TF_ARRAY_LEN(move_columns));
    for (size_t i = 0; i < plan->moves.count && i < MOVES_SHOWN; i++) {
        const struct tf_defrag_move *m = &plan->moves.items[i];
        columns_add_fmt(&table, "%u", m->wave + 1);
        columns_add_fmt(&table, "%s/%s/%u", m->tenant, m->name, m->index);
        columns_add_fmt(&table, "%d", m->gpus);
        columns_add(&table, m->from);
        columns_add_fmt(&table, "%s%s", m->to, waits_there(plan, i) ? " (waits there)" : "");
        columns_add(&table, is_last_of(plan, i) ? m->from : "");
    }
    print_table(ctl, &table, buf);
    if (plan->moves.count > MOVES_SHOWN)
        tf_buf_fmt(buf, "  and %zu more: -o yaml has them all\n", plan->moves.count - MOVES_SHOWN);
}

void defrag_print(struct fedctl *ctl, const struct defrag *defrag, struct tf_buf *buf)
{
    say_answer(defrag, buf);
    if (defrag->plan->note) {
        tf_buf_str(buf, "  it cannot be applied now: ");
        columns_text(buf, defrag->plan->note, 0);
        tf_buf_char(buf, '\n');
    }
    say_costs(defrag->plan, buf);
    print_buckets(ctl, defrag->plan, buf);
    print_moves(ctl, defrag->plan, buf);
}
