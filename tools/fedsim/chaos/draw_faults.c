/* SPDX-License-Identifier: Apache-2.0 */
/* Draws what goes wrong: a set of kinds, some fault of one of them now and then, until it is healed all at
 * once. How each goes wrong is in the world. */
#include "tools/fedsim/chaos/private.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/vec.h"

enum { FAULTS_MAX = 1000 };

/* ---- who and where ---- */

static char *some_fedd(struct draw *draw)
{
    return tf_asprintf("fedd/%d", (int)draw_between(draw, 1, draw->s->world.fedds));
}

static const struct scenario_cluster *some_cluster(struct draw *draw)
{
    return &draw->s->clusters.items[draw_below(draw, draw->s->clusters.count)];
}

static char *some_subd(struct draw *draw)
{
    const struct scenario_cluster *c = some_cluster(draw);
    return tf_asprintf("subclusterd/%s/%d", c->name, (int)draw_between(draw, 1, c->subclusterds));
}

static char *some_daemon(struct draw *draw)
{
    return draw_one_in(draw, 2) ? some_fedd(draw) : some_subd(draw);
}

static const struct scenario_nodes *some_node(struct draw *draw, char **name)
{
    const struct scenario_cluster *c = some_cluster(draw);
    const struct scenario_nodes *node = &c->nodes.items[draw_below(draw, c->nodes.count)];
    *name = tf_asprintf("%s/%s0", c->name, node->prefix);
    return node;
}

static char *some_store(struct draw *draw)
{
    return draw_one_in(draw, 2) ? NULL : tf_strdup(some_cluster(draw)->name);
}

static int64_t short_or_long(struct draw *draw, int64_t least, int64_t edge, int64_t most)
{
    return draw_one_in(draw, 2) ? draw_between(draw, least, edge) : draw_between(draw, edge, most);
}

/* ---- daemons ---- */

static void crash(struct draw *draw, char *who, int64_t at)
{
    struct scenario_event *e = draw_event(draw, true, at);
    e->crash = who;
    e->lasts = short_or_long(draw, 1, 500, 15 * TF_SECOND);
}

static void crash_fedd(struct draw *draw, int64_t at)
{
    crash(draw, some_fedd(draw), at);
}

static void crash_subd(struct draw *draw, int64_t at)
{
    crash(draw, some_subd(draw), at);
}

static void crash_between(struct draw *draw, int64_t at)
{
    struct scenario_event *e = draw_event(draw, true, at);
    e->crash = some_daemon(draw);
    e->before = draw_between(draw, 0, draw_one_in(draw, 3) ? 12 : 3);
    e->lasts = draw_between(draw, 500, 10 * TF_SECOND);
}

static void hand_over(struct draw *draw, int64_t at)
{
    draw_event(draw, true, at)->hand_over = some_daemon(draw);
}

static void reload(struct draw *draw, int64_t at)
{
    draw_event(draw, true, at)->reload = some_daemon(draw);
}

static void pause_one(struct draw *draw, int64_t at)
{
    struct scenario_event *e = draw_event(draw, true, at);
    e->pause = some_daemon(draw);
    e->lasts = short_or_long(draw, 10, 2000, 15 * TF_SECOND);
}

static void clock_jump(struct draw *draw, int64_t at)
{
    struct scenario_event *e = draw_event(draw, true, at);
    e->clock_jump = some_daemon(draw);
    e->by_ms = draw_between(draw, 1, 40) * (draw_one_in(draw, 2) ? TF_SECOND : -TF_SECOND);
}

/* ---- ways ---- */

static void cut(struct draw *draw, int64_t at)
{
    struct scenario_event *e = draw_event(draw, true, at);
    e->cluster = tf_strdup(some_cluster(draw)->name);
    e->fedd = some_fedd(draw);
    e->link.cut = (enum scenario_link)draw_between(draw, SCENARIO_CUT, SCENARIO_CUT_DOWN);
    e->lasts = short_or_long(draw, 100, 5000, 40 * TF_SECOND);
}

static void break_link(struct draw *draw, int64_t at)
{
    struct scenario_event *e = draw_event(draw, true, at);
    e->cluster = tf_strdup(some_cluster(draw)->name);
    e->link.cut = SCENARIO_BREAK;
}

static void late(struct draw *draw, int64_t at)
{
    draw_event(draw, true, at)->late = tf_strdup(some_cluster(draw)->name);
}

/* ---- stores ---- */

static int32_t some_fraction(struct draw *draw)
{
    return draw_one_in(draw, 2) ? (int32_t)draw_between(draw, 0, 250) * 10 : 0;
}

static void store_trouble(struct draw *draw, int64_t at)
{
    struct scenario_event *e = draw_event(draw, true, at);
    e->store_of = some_store(draw);
    e->store.slow = draw_between(draw, 1, 300);
    e->store.late_max = draw_between(draw, 1, 8000);
    e->store.refused = some_fraction(draw);
    e->store.lost_requests = some_fraction(draw);
    e->store.lost_replies = some_fraction(draw);
    e->store.late = some_fraction(draw);
    e->lasts = draw_between(draw, 500, 20 * TF_SECOND);
}

static void store_down(struct draw *draw, int64_t at)
{
    struct scenario_event *e = draw_event(draw, true, at);
    e->store_of = some_store(draw);
    e->store.fault = SCENARIO_UNAVAILABLE;
    e->lasts = draw_between(draw, 100, 15 * TF_SECOND);
}

static void store_cut(struct draw *draw, int64_t at)
{
    struct scenario_event *e = draw_event(draw, true, at);
    e->store_away = some_daemon(draw);
    e->lasts = draw_between(draw, 100, 15 * TF_SECOND);
}

/* From a copy of some seconds or minutes before. */
static void restore(struct draw *draw, int64_t at, char *store)
{
    struct scenario_event *e = draw_event(draw, true, at);
    int64_t back = draw_one_in(draw, 3) ? at - 1 : 30 * TF_SECOND;
    e->store_of = store;
    e->store.restored = at - draw_between(draw, 1, back < at ? back : at - 1);
    e->store.unaware = !store && draw_one_in(draw, 2);
}

static void restore_federation(struct draw *draw, int64_t at)
{
    restore(draw, at, NULL);
}

static void restore_site(struct draw *draw, int64_t at)
{
    restore(draw, at, tf_strdup(some_cluster(draw)->name));
}

/* ---- fleets ---- */

static void node_away(struct draw *draw, int64_t at)
{
    struct scenario_event *e = draw_event(draw, true, at);
    char *name;
    some_node(draw, &name);
    tf_vec_push(&e->node, name);
    e->state = draw_one_in(draw, 6) ? SCENARIO_DOWN : SCENARIO_UNREACHABLE;
    if (e->state == SCENARIO_UNREACHABLE)
        e->lost_after = draw_between(draw, 1, 15) * TF_SECOND;
    if (e->lost_after > 8 * TF_SECOND)
        e->lost_after = -1; /* its engine never knows */
    e->lasts = draw_between(draw, 100, 30 * TF_SECOND);
}

/* It comes and goes too fast for anyone to believe it. */
static void flap(struct draw *draw, int64_t at)
{
    char *name;
    some_node(draw, &name);
    for (int64_t i = draw_between(draw, 2, 8); i > 0; i--) {
        struct scenario_event *e = draw_event(draw, true, at += draw_between(draw, 1, 1500));
        tf_vec_push(&e->node, tf_strdup(name));
        e->state = SCENARIO_UNREACHABLE;
        e->lost_after = 15 * TF_SECOND;
        e->lasts = draw_between(draw, 1, 1500);
        at += e->lasts;
    }
    free(name);
}

/* "0,2,3", or none. */
static char *some_gpus(struct draw *draw, int32_t gpus)
{
    char text[TF_NODE_GPUS_MAX * 3] = "";
    size_t len = 0;
    for (int32_t i = 0; i < gpus; i++)
        if (draw_one_in(draw, 2))
            len += (size_t)snprintf(text + len, sizeof text - len, "%s%d", len ? "," : "", (int)i);
    return tf_strdup(len ? text : "none");
}

static void foreign(struct draw *draw, int64_t at)
{
    struct scenario_event *e = draw_event(draw, true, at);
    char *name;
    const struct scenario_nodes *node = some_node(draw, &name);
    tf_vec_push(&e->node, name);
    e->foreign = some_gpus(draw, node->gpus);
}

static void bad_gpu(struct draw *draw, int64_t at)
{
    char *name;
    const struct scenario_nodes *node = some_node(draw, &name);
    if (node->gpus) {
        struct scenario_event *e = draw_event(draw, true, at);
        e->gpu = tf_asprintf("%s:%d", name, (int)draw_between(draw, 0, node->gpus - 1));
        e->lasts = draw_one_in(draw, 2) ? 0 : draw_between(draw, 1, 30 * TF_SECOND);
        e->state = e->lasts ? SCENARIO_SUSPECT : SCENARIO_BAD;
    }
    free(name);
}

static void repeat(struct draw *draw, int64_t at)
{
    draw_event(draw, true, at)->repeat = tf_strdup(some_cluster(draw)->name);
}

static void burn(struct draw *draw, int64_t at)
{
    draw_event(draw, true, at)->burn = tf_strdup(some_cluster(draw)->name);
}

static void cordon(struct draw *draw, int64_t at)
{
    struct scenario_event *e = draw_event(draw, true, at);
    e->cordon = tf_strdup(some_cluster(draw)->name);
    e->lasts = draw_between(draw, 1, 60 * TF_SECOND);
}

/* name is taken. */
static struct scenario_event *drained(struct draw *draw, int64_t at, char *name)
{
    struct scenario_event *e = draw_event(draw, true, at);
    tf_vec_push(&e->node, name);
    e->state = SCENARIO_DRAINING;
    return e;
}

/* A node, or two at once; some for a while, some until the end and beyond: those are judged at rest. */
static void drain(struct draw *draw, int64_t at)
{
    for (int64_t n = draw_one_in(draw, 3) ? 2 : 1; n > 0; n--) {
        char *name;
        some_node(draw, &name);
        struct scenario_event *e = drained(draw, at, name);
        e->lasts = draw_one_in(draw, 3) ? 0 : draw_between(draw, 1, 90 * TF_SECOND);
        e->within = draw_one_in(draw, 2) ? 0 : draw_between(draw, 1, 60 * TF_SECOND);
        e->at_once = draw_one_in(draw, 2) ? 0 : (int32_t)draw_between(draw, 1, 2);
        e->force = e->within && draw_one_in(draw, 3);
    }
}

static void freeze(struct draw *draw, int64_t at)
{
    struct scenario_event *e = draw_event(draw, true, at);
    e->freeze = tf_strdup(some_cluster(draw)->name);
    e->what = (enum scenario_freeze)draw_between(draw, SCENARIO_EVICTIONS, SCENARIO_ALL);
    e->lasts = draw_between(draw, TF_SECOND, 90 * TF_SECOND);
}

/* ---- when ---- */

typedef void draw_f(struct draw *draw, int64_t at);
static draw_f *const kinds[] = {
    crash_fedd,   crash_subd, crash_between, hand_over,     reload,     pause_one, clock_jump,
    cut,          break_link, late,          store_trouble, store_down, store_cut, restore_federation,
    restore_site, node_away,  flap,          foreign,       bad_gpu,    repeat,    burn,
    cordon,       freeze,
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

void draw_faults(struct draw *draw)
{
    int64_t ends = draw_between(draw, 20, draw_one_in(draw, 20) ? 600 : 150) * TF_SECOND;
    int64_t every = INT64_C(300) << draw_below(draw, 8);
    bool calm = draw_one_in(draw, 6), chosen[KINDS], any = false;
    draw->ends = ends > draw->ends ? ends : draw->ends;
    for (size_t k = 0; k < KINDS; k++) {
        chosen[k] = !calm && draw_one_in(draw, 3);
        any |= chosen[k];
    }
    draw->s->until = draw->ends;
    if (any && draw_one_in(draw, 2))
        draw->s->world.answers_lost = 2000;
    for (int64_t at = draw_between(draw, 2, every);
         any && at < draw->ends && draw->s->faults.count < FAULTS_MAX;
         at += draw_between(draw, 1, 2 * every)) {
        size_t kind = draw_below(draw, KINDS);
        while (!chosen[kind])
            kind = (kind + 1) % KINDS;
        kinds[kind](draw, at);
    }
}

/* After all else, which stays as it is without them. */
void draw_drains(struct draw *draw)
{
    bool many = draw_one_in(draw, 4);
    if (!draw_one_in(draw, 4))
        return;
    for (int64_t n = many ? draw_between(draw, 2, 8) : 1; n > 0; n--)
        drain(draw, draw_between(draw, 5 * TF_SECOND, draw->ends));
}

/* A little after something is ordered to move, if anything is. */
static int64_t while_it_moves(struct draw *draw)
{
    size_t count = draw->s->events.count;
    for (int tries = 0; count && tries < 8; tries++) {
        const struct scenario_event *e = &draw->s->events.items[draw_below(draw, count)];
        if (e->migrate || e->defrag)
            return e->at + draw_between(draw, 1, 5 * TF_SECOND);
    }
    return draw_between(draw, 5 * TF_SECOND, draw->ends);
}

/* All moves of a subcluster are paused for a while, or taken back. */
void draw_halts(struct draw *draw)
{
    if (draw_one_in(draw, 2))
        return;
    for (int64_t n = draw_between(draw, 1, 6); n > 0; n--) {
        struct scenario_event *e = draw_event(draw, true, while_it_moves(draw));
        if (draw_one_in(draw, 3))
            e->abort_moves = tf_strdup(some_cluster(draw)->name);
        else {
            e->pause_moves = tf_strdup(some_cluster(draw)->name);
            e->lasts = draw_between(draw, 1, 60 * TF_SECOND);
        }
    }
}

/* All nodes of a subcluster at once: nothing has anywhere to go, and the deadline comes; perhaps its daemon
 * has begun anew before that. */
void draw_closures(struct draw *draw)
{
    if (!draw_one_in(draw, 6))
        return;
    const struct scenario_cluster *c = some_cluster(draw);
    int64_t at = draw_between(draw, 5 * TF_SECOND, draw->ends);
    int64_t within = draw_between(draw, 1, 20 * TF_SECOND);
    int64_t lasts = draw_one_in(draw, 3) ? 0 : draw_between(draw, 1, 90 * TF_SECOND);
    bool force = draw_one_in(draw, 3);
    tf_vec_each (node, &c->nodes) {
        struct scenario_event *e = drained(draw, at, tf_asprintf("%s/%s0", c->name, node->prefix));
        e->within = within;
        e->lasts = lasts;
        e->force = force;
    }
    if (draw_one_in(draw, 3))
        crash(draw, tf_asprintf("subclusterd/%s", c->name), at + draw_between(draw, 1, within));
}
