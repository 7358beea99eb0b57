/* SPDX-License-Identifier: Apache-2.0 */
/* Draws settings, the world, and the fleet: small enough for everything to happen in it within minutes. */
#include "tools/fedsim/chaos/private.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"

#include <assert.h>

enum { ALIKE = 16 /* one run in so many */ };
enum { DRIFT_MAX = 4900, SITES_SMALL = 3, NODES_SMALL = 5, SITES_MEDIUM = 5, NODES_MEDIUM = 24 };

int64_t draw_between(struct draw *draw, int64_t low, int64_t high)
{
    return tf_rng_range(&draw->rng, low, high);
}

size_t draw_below(struct draw *draw, size_t n)
{
    return (size_t)tf_rng_below(&draw->rng, n);
}

bool draw_one_in(struct draw *draw, uint64_t n)
{
    return tf_rng_below(&draw->rng, n) == 0;
}

struct scenario_event *draw_event(struct draw *draw, bool fault, int64_t at)
{
    struct scenario_event event = {
        .at = at, .at_event = -1, .before = -1, .lost_after = -1, .store.restored = -1, .instance = -1};
    if (fault) {
        tf_vec_push(&draw->s->faults, event);
        return &draw->s->faults.items[draw->s->faults.count - 1];
    }
    tf_vec_push(&draw->s->events, event);
    return &draw->s->events.items[draw->s->events.count - 1];
}

/* ---- settings ---- */

static void draw_settings(struct draw *draw)
{
    struct tf_settings *s = &draw->s->settings.federation;
    tf_classes_release(&s->policy.classes);
    tf_classes_add(&s->policy.classes, "low", 10);
    tf_classes_add(&s->policy.classes, "mid", 20);
    tf_classes_add(&s->policy.classes, "high", 30);
    tf_strs_add(&s->policy.schedule_labels, "disk");
    s->policy.start_timeout = 20 * TF_SECOND;
    s->policy.kill_bound = 10 * TF_SECOND;
    s->cluster_lost_after = draw_between(draw, 5, 30) * TF_SECOND;
    s->refusal_backoff = TF_SECOND;
    s->refusal_backoff_max = draw_between(draw, 2, 20) * TF_SECOND;
    s->policy.absorb_cooldown = s->refusal_backoff_max; /* short enough for a run to see their end */
    s->policy.surplus_dwell = s->cluster_lost_after;
    s->max_min_runtime = TF_HOUR;
    s->lease_ttl = draw_between(draw, 3, 6) * TF_SECOND;
    s->decision_budget = draw_one_in(draw, 3) ? 10 : 1000000;
    s->claim_after = draw_between(draw, 5, 120) * TF_SECOND;
    s->history_max = draw_one_in(draw, 8) ? (int32_t)draw_between(draw, 1, 4) : 1000;
    struct tf_local_settings *local = &draw->s->settings.subcluster;
    local->profile_interval = draw_between(draw, 0, 2) * 500 + 100;
    local->node_lost_after = s->cluster_lost_after / 2;
    local->gpu_suspect_after = 2;
    local->mass_down_least =
        s->decision_budget == 10 ? 3 : 100; /* a few nodes are soon a tenth of so small a fleet */
}

static void draw_world(struct draw *draw)
{
    struct scenario_world *w = &draw->s->world;
    w->fedds = draw_one_in(draw, 4) ? 1 : 2;
    w->message_delay_min = 1;
    w->message_delay_max = draw_between(draw, 1, 4) * 25;
    w->engine_delay_max = draw_one_in(draw, 6) ? 2500 : draw_between(draw, 0, 3) * 40;
    w->store_latency_max = 2;
    w->fedd_skew = draw_between(draw, -3, 3) * TF_SECOND;
    w->fedd_drift = draw_one_in(draw, 2) ? draw_between(draw, -DRIFT_MAX, DRIFT_MAX) : 0;
    w->unordered = w->rests = true;
}

/* ---- fleet ---- */

/* A group of its own, so that it can go alone. */
static struct scenario_nodes draw_node(struct draw *draw, size_t number)
{
    static const int32_t sizes[] = {0, 2, 4, 8, 8, 8};
    static const char *const models[] = {"H800", "H800", "A100"};
    struct scenario_nodes node = {.count = 1, .prefix = tf_asprintf("m%zu-", number)};
    node.gpus = sizes[draw_below(draw, sizeof sizes / sizeof sizes[0])];
    if (node.gpus) {
        node.model = tf_strdup(models[draw_below(draw, 3)]);
        node.gpu_memory = 80 * 1024;
    }
    node.slots = (int32_t)draw_between(draw, 3, 12);
    node.cpu = draw_between(draw, 16, 64) * 1000;
    node.memory = draw_between(draw, 64, 256) * 1024;
    if (draw_one_in(draw, 2))
        tf_pairs_set(&node.labels, "disk", "nvme");
    int rack = (int)draw_between(draw, 1, draw->size == CHAOS_SMALL ? 2 : 5);
    if (!draw_one_in(draw, 6))
        node.domain = tf_asprintf("rack-%d", rack);
    if (node.gpus && draw_one_in(draw, 6))
        node.foreign = tf_strdup("0");
    return node;
}

static void draw_cluster(struct draw *draw, size_t number)
{
    static const char *const names[] = {"bj-a", "gz-b", "sh-c", "xa-d", "cd-e"};
    static const char *const regions[] = {"north", "south", "north", "west", "west"};
    struct scenario_cluster c = {.name = tf_strdup(names[number]), .region = tf_strdup(regions[number])};
    c.subclusterds = draw_one_in(draw, 3) ? 1 : 2;
    c.clock_skew = draw_between(draw, -3, 3) * TF_SECOND;
    c.clock_drift = draw_one_in(draw, 2) ? draw_between(draw, -DRIFT_MAX, DRIFT_MAX) : 0;
    struct tf_plane plane = {.name = tf_strdup("net")};
    tf_strs_add(&plane.levels, "rack");
    tf_vec_push(&c.levels, plane);
    int64_t nodes = draw_between(draw, 1, draw->size == CHAOS_SMALL ? NODES_SMALL : NODES_MEDIUM);
    for (int64_t i = 0; i < nodes; i++) {
        struct scenario_nodes node = draw_node(draw, (size_t)i + 1);
        tf_vec_push(&c.nodes, node);
    }
    tf_vec_push(&draw->s->clusters, c);
}

void draw_fleet(struct draw *draw)
{
    int64_t sites = draw_between(draw, 1, draw->size == CHAOS_SMALL ? SITES_SMALL : SITES_MEDIUM);
    for (int64_t i = 0; i < sites; i++)
        draw_cluster(draw, (size_t)i);
}

/* ---- all ---- */

void chaos_draw(uint64_t seed, enum chaos_size size, struct scenario *scenario)
{
    struct draw draw = {.size = size, .s = scenario, .alike = seed % ALIKE == ALIKE / 2};
    struct tf_complaints complaints = {0};
    scenario_init(scenario);
    tf_rng_init(&draw.rng, seed);
    scenario->name = tf_asprintf("chaos, seed %llu", (unsigned long long)seed);
    scenario->seed = (int64_t)(seed & INT64_MAX);
    draw_settings(&draw);
    draw_world(&draw);
    draw_fleet(&draw);
    draw_jobs(&draw);
    draw_faults(&draw);
    draw_moves(&draw);
    draw_reservations(&draw);
    draw_defrags(&draw);
    draw_automatic(&draw);
    draw_drains(&draw);
    draw_crosses(&draw);
    draw_halts(&draw);
    draw_closures(&draw);
    draw_hard_crosses(&draw);
    draw_scattered(&draw);
    draw_travels(&draw);
    draw_lent(&draw);
    draw_stuck(&draw);
    draw_domains(&draw);
    draw_twins(&draw);
    draw_protected(&draw);
    draw_cycle(&draw);
    if (scenario_check(scenario, &complaints))
        return;
    fprintf(stderr, "seed %llu draws a wrong scenario: %s: %s\n", (unsigned long long)seed,
            complaints.items[0].path, complaints.items[0].text);
    abort();
}
