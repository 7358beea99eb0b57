/* SPDX-License-Identifier: Apache-2.0 */
/* What moves cost in one subcluster: the time of one split by state, the CPU of each, and how long 1,000 take
 * under the limits on running moves. The core alone; nodes, instances, engine and store are simulated, with
 * the times that are printed. */
#include "tools/fedbench/bench.h"

#include "common/base/cleanup.h"
#include "tools/fedbench/cores.h"
#include "tools/fedbench/nodes.h"

#include <stdio.h>

enum {
    NODE_GPUS = 8,
    A_NODE = 4, /* instances of two GPUs */
    MOVES = 1000,
    START_MS = 5000,
    STOP_MS = 500,
    DELAY_MS = 2000, /* stopDelay */
    COMMIT_MS = 2,   /* of the store */
    AT_ONCE = 32,    /* maxMoves */
    STEP_MS = 1000,
    MOST_MS = 3600 * 1000,
};

struct fleet {
    struct core_sub sub;
    struct tf_node *nodes;
    size_t count;
    uint8_t orders;
};

static struct tf_job_spec service(void)
{
    struct tf_job_spec spec;
    core_job_spec(&spec, "mid");
    spec.migration = TF_MIGRATION_ALLOW;
    spec.group.shape.gpus = NODE_GPUS / A_NODE;
    spec.group.stop_delay = DELAY_MS;
    return spec;
}

/* As many services as are to move, packed on the first nodes; all other nodes are empty. */
static void fleet_open(struct fleet *f, size_t count)
{
    struct tf_classes classes = {0};
    *f = (struct fleet){.count = count, .nodes = tf_calloc(count, sizeof *f->nodes)};
    tf_classes_add(&classes, "mid", 200);
    for (size_t i = 0; i < count; i++) {
        f->nodes[i].name = tf_asprintf("n%zu", i);
        f->nodes[i].model = tf_strdup("H800");
        f->nodes[i].gpu_memory = 80 * 1024;
        f->nodes[i].capacity = (struct tf_vector){NODE_GPUS, 32, 128 * 1000, 1024 * 1024};
    }
    core_sub_open(&f->sub, f->nodes, count, &classes);
    tf_classes_release(&classes);
    for (int i = 0; i < MOVES; i++) {
        struct tf_job_spec spec = service();
        core_sub_place(&f->sub, &spec, 1);
    }
    core_sub_live(&f->sub, 60 * STEP_MS);
    f->sub.start_ms = START_MS;
    f->sub.stop_ms = STOP_MS;
    f->sub.commit_ms = COMMIT_MS;
}

static void fleet_close(struct fleet *f)
{
    core_sub_close(&f->sub);
    for (size_t i = 0; i < f->count; i++)
        tf_node_release(&f->nodes[i]);
    free(f->nodes);
}

static void order(struct fleet *f, const char *node, bool all, struct tf_uid uid)
{
    struct tf_ask ask = {.id = ++f->orders, .kind = TF_ASK_MIGRATE};
    struct tf_migrate_order *o = tf_vec_add(&ask.migrate);
    *o = (struct tf_migrate_order){.verb = TF_MIGRATE_BEGIN,
                                   .id = {{'m', f->orders, (uint8_t)(f->sub.starts & 0xff)}},
                                   .from = tf_strdup(node),
                                   .uid = uid,
                                   .all = all};
    core_sub_ask(&f->sub, ask);
}

/* Moves that hold both places now; *waits: that wait. */
static size_t running(const struct fleet *f, size_t *waits)
{
    const struct tf_migration *m;
    size_t count = 0;
    *waits = 0;
    for (size_t i = 0; (m = sub_migration_at(f->sub.sub, i)); i++)
        tf_vec_each (move, &m->moves) {
            bool over = tf_move_is_over(move->state), begun = move->state >= TF_MOVE_STARTING;
            count += !over && begun;
            *waits += !over && !begun;
        }
    return count;
}

/* ---- one ---- */

static void add(struct figures *out, size_t nodes, const char *what, double value, const char *unit,
                const char *target, const char *beside)
{
    TF_AUTO_FREE char *name = tf_asprintf("migrate.%zu.%s", nodes, what);
    figures_add(out, name, value, unit, target, beside);
}

static bool measure_one(struct figures *out, struct fleet *f)
{
    size_t commits = f->sub.commits;
    order(f, "n0", true, (struct tf_uid){{0}});
    core_sub_live(&f->sub, 60 * STEP_MS);
    const struct tf_migration *m = sub_migration_at(f->sub.sub, 0);
    const struct tf_move *move = m && m->moves.count ? &m->moves.items[0] : NULL;
    if (!move || move->state != TF_MOVE_DONE) {
        fprintf(stderr, "fedbench migrate: the first move is not done%s%s\n", move && move->why ? ": " : "",
                move && move->why ? move->why : "");
        return false;
    }
    const char *commit = "a durable write: 2 ms";
    add(out, f->count, "one.reserved_to_starting", (double)(move->started.ms - move->reserved.ms), "ms", "",
        "at once, if the limits allow it");
    add(out, f->count, "one.starting_to_ready", (double)(move->ready.ms - move->started.ms), "ms", "",
        "the engine's start: 5,000 ms");
    add(out, f->count, "one.ready_to_stopping", (double)(move->stopping.ms - move->ready.ms), "ms", "",
        commit);
    add(out, f->count, "one.stopping_to_done", (double)(move->ended.ms - move->stopping.ms), "ms", "",
        "stopDelay and stop: 2,500 ms");
    add(out, f->count, "one.whole", (double)(move->ended.ms - m->created.ms), "ms", "",
        "7,500 ms and writes");
    add(out, f->count, "writes_a_move", (double)(f->sub.commits - commits) / (double)m->moves.count, "", "",
        "");
    return true;
}

/* ---- very many ---- */

static bool measure_many(struct figures *out, struct fleet *f)
{
    size_t begun = f->sub.starts, most = 0, waits = 0, now;
    struct tf_mono began = f->sub.now.mono;
    f->sub.cpu_us = f->sub.longest_us = 0;
    for (size_t i = 1; i < MOVES / A_NODE; i++)
        order(f, f->nodes[i].name, true, (struct tf_uid){{0}});
    while ((now = running(f, &waits)) + waits > 0 && f->sub.now.mono.ms - began.ms < MOST_MS) {
        most = now > most ? now : most;
        core_sub_live(&f->sub, STEP_MS);
    }
    size_t moves = f->sub.starts - begun;
    double took = (double)(f->sub.now.mono.ms - began.ms) / 1000;
    double bound = (double)moves / AT_ONCE * (START_MS + DELAY_MS + STOP_MS) / 1000;
    if (now + waits > 0 || moves < MOVES / 2) {
        fprintf(stderr, "fedbench migrate: of %zu moves %zu run and %zu wait\n", moves, now, waits);
        return false;
    }
    TF_AUTO_FREE char *least = tf_asprintf("%.0f s: %d at a time without a pause", bound, AT_ONCE);
    add(out, f->count, "many.moves", (double)moves, "", "", "");
    add(out, f->count, "many.virtual_seconds", took, "s", "", least);
    add(out, f->count, "many.at_once", (double)most, "", "<= 32", "maxMoves");
    add(out, f->count, "many.cpu_a_move", f->sub.cpu_us / (double)moves / 1000, "ms", "", "");
    add(out, f->count, "many.moves_a_cpu_second", (double)moves / f->sub.cpu_us * 1e6, "1/s", "", "");
    add(out, f->count, "many.longest_step", f->sub.longest_us / 1000, "ms", "", "");
    return true;
}

static bool run(struct figures *out, size_t nodes)
{
    struct fleet fleet;
    fleet_open(&fleet, nodes);
    figures_group(out, "%zu nodes of %d GPUs, %d services of %d GPUs", nodes, NODE_GPUS, MOVES,
                  NODE_GPUS / A_NODE);
    bool ok = measure_one(out, &fleet) && measure_many(out, &fleet);
    fleet_close(&fleet);
    return ok;
}

int bench_migrate(int argc, char **argv)
{
    static const size_t sizes[] = {1000, 12500};
    char setting[256];
    snprintf(setting, sizeof setting,
             "the core of one subcluster; simulated: nodes, an engine that starts in %d ms and stops in %d "
             "after a stopDelay of %d, a store that writes in %d ms",
             START_MS, STOP_MS, DELAY_MS, COMMIT_MS);
    return nodes_bench(
        &(struct nodes_bench){
            .name = "migrate",
            .does = "Moves instances in the core of one subcluster with N nodes (default: 1,000 and 12,500).",
            .setting = setting,
            .sizes = sizes,
            .count = TF_ARRAY_LEN(sizes),
            .least = 2 * MOVES / A_NODE,
            .run = run},
        argc, argv);
}
