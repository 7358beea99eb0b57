/* SPDX-License-Identifier: Apache-2.0 */
/* Crash points of moves and drains, generated: a first run of a whole federation in virtual time counts the
 * durable writes from the order to the end of what comes of it; then each of them is met by each kind of
 * fault: the write is not yet made, made and acted on, or made and its reply lost; and then subclusterd,
 * fedd, the store or the node that something moves to goes. Whatever happens, from then on as many instances
 * are ready at every moment as there were without those on a dead node (make before break); at rest every
 * plan is carried out or rolled back, nothing is reserved, and the auditor has found nothing.
 *
 * TF_FULL=1 takes all points with more seeds, which are other delays and other orders of what happens at
 * once. */
#include "common/base/cleanup.h"
#include "tests/support/suite.h"
#include "tools/fedsim/play/play.h"

#include <inttypes.h>
#include <stdarg.h>

enum { JOBS_MAX = 8, SEEDS = 3, SEEDS_FULL = 40, FAILURES_MAX = 3 };
enum {
    ORDER_MS = 2 * TF_MINUTE,
    SUBD_MS = 3 * TF_SECOND,
    FEDD_MS = 20 * TF_SECOND,
    STORE_MS = 8 * TF_SECOND
};

/* Of the write. */
enum fate { BEFORE, AFTER, REPLY_LOST, FATES };
/* Who goes at that moment. */
enum subject { SUBCLUSTERD, FEDD, STORE, TARGET, SUBJECTS };
enum { KINDS = FATES * SUBJECTS };
static const char *const fate_names[FATES] = {"before", "after", "reply lost"};
static const char *const subject_names[SUBJECTS] = {"subclusterd", "fedd", "store", "target node"};

#define WORLD                                                                                      \
    "name: moves\n"                                                                                \
    "clusters:\n"                                                                                  \
    "  - {name: a, nodes: [{count: 4, prefix: n, model: H800, gpus: 8, cpu: 128, memory: 1Ti}]}\n" \
    "classes: {low: 300, online: 900}\n"                                                           \
    "world: {rests: true, unordered: true, engineDelayMax: 300ms, messageDelayMax: 100ms}\n"       \
    "until: 12m\n"
#define SERVICE "startTime: 10s, spec: {priority: online, workload: inference, migration: allow, "

static const struct plan {
    const char *name, *yaml;
    const char *leaves; /* node on which nothing is left, if all goes well and whatever happens; or NULL */
    bool restarts;      /* not make before break */
} plans[] = {
    {"one instance moves",
     WORLD "jobs:\n"
           "  - {at: 0s, tenant: web, name: svc, on: [n0, n0], " SERVICE
           "elastic: {min: 2, max: 2, step: 1}, instance: {gpus: 4, stopDelay: 5s}}}\n"
           "events:\n"
           "  - {at: 2m, migrate: web/svc, instance: 0, to: n1}\n",
     NULL, false},
    {"a chain of two moves",
     WORLD "jobs:\n"
           "  - {at: 0s, tenant: web, name: j1, on: [n0], " SERVICE "instance: {gpus: 4}}}\n"
           "  - {at: 0s, tenant: web, name: j3, on: [n1], " SERVICE "instance: {gpus: 2}}}\n"
           "  - {at: 0s, tenant: web, name: s1, on: [n1], startTime: 10s, spec: {priority: online, "
           "workload: inference, migration: never, instance: {gpus: 4}}}\n"
           "  - {at: 0s, tenant: web, name: s2, on: [n2, n3, n3], startTime: 10s, spec: {priority: online, "
           "workload: inference, migration: never, instances: 3, instance: {gpus: 4}}}\n"
           "  - {at: 0s, tenant: web, name: s3, on: [n2], startTime: 10s, spec: {priority: online, "
           "workload: inference, migration: never, instance: {gpus: 2}}}\n"
           "events:\n"
           "  - {at: 2m, defrag: a, model: H800, nodes: 1}\n",
     NULL, false},
    {"a gang moves by a restart",
     WORLD "jobs:\n"
           "  - {at: 0s, tenant: web, name: gang, on: [n0, n1], startTime: 10s, spec: {priority: low, "
           "workload: training, instances: 2, instance: {gpus: 8, stopDelay: 5s}}}\n"
           "events:\n"
           "  - {at: 2m, migrate: web/gang, instance: 0, to: n2}\n",
     NULL, true},
    {"a node is drained",
     WORLD "jobs:\n"
           "  - {at: 0s, tenant: web, name: svc, on: [n0, n0], " SERVICE
           "elastic: {min: 2, max: 2, step: 1}, instance: {gpus: 2, stopDelay: 5s}}}\n"
           "  - {at: 0s, tenant: web, name: one, on: [n0], " SERVICE "instance: {gpus: 4}}}\n"
           "events:\n"
           "  - {at: 2m, node: n0, state: draining}\n",
     "n0", false},
    {"a node is drained of a gang, one move at a time",
     WORLD "jobs:\n"
           "  - {at: 0s, tenant: web, name: gang, on: [n0, n1], startTime: 10s, spec: {priority: low, "
           "workload: training, instances: 2, instance: {gpus: 4, stopDelay: 5s}}}\n"
           "  - {at: 0s, tenant: web, name: svc, on: [n0, n0], " SERVICE
           "elastic: {min: 2, max: 2, step: 1}, instance: {gpus: 2, stopDelay: 5s}}}\n"
           "events:\n"
           "  - {at: 2m, node: n0, state: draining, atOnce: 1}\n",
     "n0", true},
    {"a node is drained of what has no place, by a deadline",
     WORLD "jobs:\n"
           "  - {at: 0s, tenant: web, name: whole, on: [n0, n1, n2, n3], " SERVICE
           "elastic: {min: 2, max: 4, step: 1}, instance: {gpus: 8, stopDelay: 5s}}}\n"
           "events:\n"
           "  - {at: 2m, node: n0, state: draining, within: 30s}\n",
     "n0", true},
    {"two that need each other's place, one by way of a spare place",
     WORLD "jobs:\n"
           "  - {at: 0s, tenant: web, name: j1, on: [n0], " SERVICE "instance: {gpus: 1, cpu: 42}}}\n"
           "  - {at: 0s, tenant: web, name: s0, on: [n0], startTime: 10s, spec: {priority: online, "
           "workload: inference, migration: never, instance: {gpus: 6, cpu: 52}}}\n"
           "  - {at: 0s, tenant: web, name: j6, on: [n1], " SERVICE "instance: {gpus: 2, cpu: 74}}}\n"
           "  - {at: 0s, tenant: web, name: s1, on: [n1], startTime: 10s, spec: {priority: online, "
           "workload: inference, migration: never, instance: {gpus: 2, cpu: 54}}}\n"
           "  - {at: 0s, tenant: web, name: j7, on: [n2], " SERVICE "instance: {gpus: 4, cpu: 32}}}\n"
           "events:\n"
           "  - {at: 2m, defrag: a, model: H800, nodes: max}\n",
     NULL, false},
};

struct point {
    uint64_t at; /* write, from 1; 0 = none */
    enum fate fate;
    enum subject subject;
};

struct run {
    const struct plan *plan;
    struct point point;
    uint64_t seed;
    struct sim_world *world;
    uint64_t writes;         /* since the order */
    uint64_t last;           /* of them: the last of the subcluster's store */
    bool struck;             /* the fault has come */
    struct sim_process *hit; /* who wrote */
    uint64_t store_had;      /* transactions, before the one that is hit */
    const char *dead;        /* node; the fleet's */
    size_t
        floors[JOBS_MAX]; /* so many of each job have been ready all the time since the fault, or the order */
    bool watched;
    size_t finished, rolled_back, open; /* moves */
    char failure[300];
};

static void fail(struct run *run, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void fail(struct run *run, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    if (!*run->failure)
        vsnprintf(run->failure, sizeof run->failure, fmt, args);
    va_end(args);
}

static struct sim_site *site_of(const struct run *run)
{
    return run->world->sites.items[0];
}

static struct sim_subd *subd_of(const struct run *run)
{
    return site_of(run)->subds.items[0];
}

/* ---- who is ready ---- */

/* Its end is decided, if it has not been told so yet: the move that replaces it is past its way back. */
static bool is_replaced(const struct run *run, const struct sim_instance *i)
{
    const struct sub *core = subd_of(run)->core;
    const struct tf_migration *m;
    for (size_t at = 0; core && (m = sub_migration_at(core, at)); at++)
        tf_vec_each (move, &m->moves)
            if (move->state == TF_MOVE_STOPPING && move->index == i->id.index &&
                tf_uid_eq(move->uid, i->id.uid) && move->attempt != i->id.attempt)
                return true;
    return false;
}

/* Not counted: who was told to stop, and (not NULL) who is on that node, or is to go for one there. */
static size_t ready(const struct run *run, const struct sim_job *job, const char *dead)
{
    uint64_t seen = 0; /* indices; no job here has more */
    tf_vec_each (i, &site_of(run)->fleet.instances)
        if ((*i)->state == SIM_READY && (*i)->dies.ms == TF_NEVER.ms && tf_uid_eq((*i)->id.uid, job->uid) &&
            !(dead && (strcmp((*i)->node, dead) == 0 || is_replaced(run, *i))))
            seen |= UINT64_C(1) << (*i)->id.index;
    return (size_t)__builtin_popcountll(seen);
}

static void set_floors(struct run *run)
{
    size_t n = 0;
    tf_vec_each (job, &run->world->clients.jobs)
        run->floors[n++] = ready(run, job, run->dead);
    run->watched = true;
}

static void hear(void *arg, const struct sim_fact *fact)
{
    struct run *run = arg;
    size_t n = 0;
    bool instances = fact->kind >= SIM_FACT_STARTED && fact->kind <= SIM_FACT_ENDED;
    if (!instances || !run->watched || run->plan->restarts)
        return;
    tf_vec_each (job, &run->world->clients.jobs) {
        size_t now = ready(run, job, NULL);
        if (now < run->floors[n])
            fail(run, "at %" PRId64 " ms %zu of %zu instances of %s are ready", run->world->agenda.now.ms,
                 now, run->floors[n], job->manifest.name);
        n++;
    }
}

/* ---- faults ---- */

/* Where something moves to, or has moved to last. */
static size_t target(const struct run *run)
{
    const struct sub *core = subd_of(run)->core;
    const struct tf_migration *m;
    const char *node = "n1";
    bool moves = false;
    for (size_t i = 0; core && (m = sub_migration_at(core, i)); i++)
        tf_vec_each (move, &m->moves)
            if (move->claim.node && (!moves || !tf_move_is_over(move->state))) {
                node = move->claim.node;
                moves = !tf_move_is_over(move->state);
            }
    return (size_t)fleet_node_find(&site_of(run)->fleet, node);
}

static bool is_heard_dead(const struct run *run)
{
    const struct sub *core = subd_of(run)->core;
    for (size_t i = 0; core && i < sub_node_count(core); i++) {
        struct sub_node_view view = sub_node_at(core, i);
        if (strcmp(view.node->name, run->dead) == 0)
            return view.node->state == TF_NODE_LOST;
    }
    return false;
}

/* What is on the node is lost with it, and what is to go for it as far as was decided before the engine's
 * word came. */
static void is_heard(void *arg, uint64_t tag)
{
    struct run *run = arg;
    if (is_heard_dead(run))
        set_floors(run);
    else
        sim_agenda_in(&run->world->agenda, 1, is_heard, run, tag);
}

static void lose_target(struct run *run)
{
    struct sim_fleet *fleet = &site_of(run)->fleet;
    size_t node = target(run);
    run->dead = fleet->nodes.items[node].node.name;
    run->watched = false;
    fleet_node_down(fleet, node);
    is_heard(run, 0);
}

static void starts(void *arg, uint64_t tag)
{
    (void)tag;
    operator_starts(arg);
}

static void store_is_back(void *arg, uint64_t tag)
{
    struct sim_store *store = arg;
    (void)tag;
    tf_memory_store_down(store->server, false);
}

static void strike(struct run *run)
{
    struct sim_agenda *agenda = &run->world->agenda;
    struct sim_process *subd = &subd_of(run)->process;
    struct sim_fedd *fedd = run->world->fedds.items[0];
    struct sim_store *store = run->hit->store;
    run->struck = true;
    switch (run->point.subject) {
    case SUBCLUSTERD:
        subd_crash(subd_of(run), "is struck");
        sim_agenda_in(agenda, SUBD_MS, starts, subd, 0);
        break;
    case FEDD:
        fedd_crash(fedd, "is struck");
        sim_agenda_in(agenda, FEDD_MS, starts, &fedd->process, 0);
        break;
    case STORE:
        world_say(run->world, "test", "the store of %s goes", run->hit->name);
        tf_memory_store_down(store->server, true);
        sim_agenda_in(agenda, STORE_MS, store_is_back, store, 0);
        break;
    case TARGET:
    case SUBJECTS:
        lose_target(run);
        break;
    }
}

static void strikes(void *arg, uint64_t tag)
{
    (void)tag;
    strike(arg);
}

static uint64_t had(const struct run *run)
{
    return tf_memory_store_counts(run->hit->store->server).transactions;
}

/* As soon as the store has the write, whose reply will not come. */
static void strikes_when_made(void *arg, uint64_t tag)
{
    struct run *run = arg;
    if (had(run) > run->store_had)
        strike(run);
    else
        sim_agenda_in(&run->world->agenda, 1, strikes_when_made, run, tag);
}

static void is_sent(struct run *run)
{
    struct sim_process *process = run->hit;
    run->store_had = had(run);
    if (run->point.fate == REPLY_LOST) {
        tf_memory_client_fault(process->client, TF_MEMORY_LOST_REPLY, 0);
        sim_agenda_in(&run->world->agenda, 0, strikes_when_made, run, 0);
    } else if (run->point.subject == STORE) {
        /* it may be in the middle of an answer: not at once, and yet the write does not get there */
        tf_memory_client_fault(process->client, TF_MEMORY_UNAVAILABLE, 0);
        sim_agenda_in(&run->world->agenda, 0, strikes, run, 0);
    } else
        strike(run);
}

static void on_commit(void *arg, struct sim_process *process, enum sim_commit moment)
{
    struct run *run = arg;
    if (run->world->agenda.now.ms < ORDER_MS)
        return;
    if (moment == SIM_COMMIT_SENT) {
        if (run->writes++ == 0)
            set_floors(run);
        if (process->store != &run->world->store)
            run->last = run->writes;
        if (run->writes != run->point.at)
            return;
        run->hit = process;
        if (run->point.fate != AFTER)
            is_sent(run);
    } else if (process == run->hit && run->point.fate == AFTER && !run->struck) {
        run->struck = true;
        sim_agenda_in(&run->world->agenda, 0, strikes, run, 0);
    }
}

/* ---- one run ---- */

static void begins(void *arg, struct sim_world *world)
{
    struct run *run = arg;
    run->world = world;
    world->commit = on_commit;
    world->commit_arg = run;
    world_listen(world, hear, run);
}

static void check_migrations(struct run *run, const struct sub *core)
{
    const struct tf_migration *m;
    for (size_t i = 0; (m = sub_migration_at(core, i)); i++)
        tf_vec_each (move, &m->moves) {
            run->finished += move->state == TF_MOVE_DONE;
            run->rolled_back += move->state == TF_MOVE_ROLLED_BACK;
            if (!tf_move_is_over(move->state))
                fail(run, "at rest a move is %s", tf_move_state_name(move->state));
        }
}

/* Nothing is claimed: each GPU is free or held by one that lives. */
static void check_nodes(struct run *run, const struct sub *core)
{
    for (size_t i = 0; i < sub_node_count(core); i++) {
        struct sub_node_view view = sub_node_at(core, i);
        int number = fleet_node_find(&site_of(run)->fleet, view.node->name);
        uint64_t held = fleet_held_gpus(&site_of(run)->fleet, (size_t)number);
        bool drained = run->plan->leaves && strcmp(view.node->name, run->plan->leaves) == 0;
        if (view.held_gpus != held || (!drained && (view.free_gpus | held) != 0xff))
            fail(run, "at rest %s has GPUs that nobody has and nobody can have", view.node->name);
        if (drained && held)
            fail(run, "at rest something is still on %s", view.node->name);
    }
}

static void ends(void *arg, struct sim_world *world)
{
    struct run *run = arg;
    const struct sub *core = subd_of(run)->core;
    size_t n = 0;
    if (!core || world->breached)
        return;
    check_migrations(run, core);
    check_nodes(run, core);
    tf_vec_each (job, &world->clients.jobs) {
        size_t now = ready(run, job, NULL), min = (size_t)job->manifest.spec.elastic.min;
        if (now < min)
            fail(run, "at rest %zu instances of %s are ready", now, job->manifest.name);
        n++;
    }
    CU_ASSERT_FATAL(n <= JOBS_MAX);
}

static void take(struct run *run)
{
    struct scenario scenario;
    struct tf_conf_problems problems = {0};
    struct play_result result;
    struct tf_error err = TF_ERROR_INIT;
    struct play_options options = {
        .seed = run->seed, .has_seed = true, .until = -1, .begins = begins, .ends = ends, .arg = run};
    if (scenario_read(run->plan->yaml, strlen(run->plan->yaml), &scenario, &problems)) {
        tf_conf_problems_error(&problems, "scenario", &err);
        fail(run, "%s", err.text);
        tf_conf_problems_release(&problems);
        return;
    }
    if (scenario_play(&scenario, &options, &result, &err))
        fail(run, "%s", err.text);
    if (result.breached)
        fail(run, "%s", result.breach);
    play_result_release(&result);
    scenario_release(&scenario);
}

/* ---- all points of a plan ---- */

static bool is_full(void)
{
    return getenv("TF_FULL") != NULL;
}

static void tell_failure(const struct run *run)
{
    printf("\n    %s, seed %" PRIu64 ", ", run->plan->name, run->seed);
    if (run->point.at)
        printf("write %" PRIu64 ", %s, %s: ", run->point.at, fate_names[run->point.fate],
               subject_names[run->point.subject]);
    else
        printf("no fault: ");
    printf("%s\n", run->failure);
}

struct tally {
    size_t writes, points, met, finished, rolled_back, failures;
};

static void take_points(const struct plan *plan, uint64_t seed, struct tally *tally)
{
    struct run base = {.plan = plan, .seed = seed};
    take(&base);
    if (*base.failure)
        tell_failure(&base);
    CU_ASSERT_FATAL(!*base.failure);
    tally->writes += base.last;
    for (uint64_t at = 1; at <= base.last && tally->failures < FAILURES_MAX; at++)
        for (int kind = 0; kind < KINDS; kind++) {
            struct run run = {.plan = plan,
                              .seed = seed,
                              .point = {at, (enum fate)(kind / SUBJECTS), (enum subject)(kind % SUBJECTS)}};
            take(&run);
            tally->points++;
            tally->met += run.struck;
            tally->finished += run.finished;
            tally->rolled_back += run.rolled_back;
            tally->failures += *run.failure != '\0';
            if (*run.failure)
                tell_failure(&run);
        }
}

static void all_points(const struct plan *plan)
{
    uint64_t first = suite_seed(1);
    struct tally tally = {0};
    for (uint64_t seed = first; seed < first + (is_full() ? SEEDS_FULL : SEEDS); seed++)
        take_points(plan, seed, &tally);
    printf("\n    %s: %zu writes x %d kinds: %zu points; of their moves %zu finished, %zu rolled back ",
           plan->name, tally.writes, KINDS, tally.points, tally.finished, tally.rolled_back);
    CU_ASSERT(tally.writes >= 4);
    CU_ASSERT_EQUAL(tally.points, tally.writes * KINDS);
    CU_ASSERT_EQUAL(tally.met, tally.points);
    CU_ASSERT_EQUAL(tally.failures, 0);
}

#define TEST(n)                \
    static void test_##n(void) \
    {                          \
        all_points(&plans[n]); \
    }
TEST(0)
TEST(1)
TEST(2)
TEST(3)
TEST(4)
TEST(5)
TEST(6)

int main(void)
{
    static void (*const runs[])(void) = {test_0, test_1, test_2, test_3, test_4, test_5, test_6};
    struct suite_test tests[TF_ARRAY_LEN(plans)];
    for (size_t i = 0; i < TF_ARRAY_LEN(plans); i++)
        tests[i] = (struct suite_test){plans[i].name, runs[i]};
    return suite_run("chaos/move_writes", tests, TF_ARRAY_LEN(tests));
}
