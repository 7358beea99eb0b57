/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what a single event may say: exactly one subject, and with it only what belongs to it. */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "common/model/selector.h"
#include "tools/fedsim/scenario/private.h"

/* What may or must be said together with a subject. */
enum {
    FOR = 1,
    STATE = 2,
    LOST_AFTER = 4,
    LINK = 8,
    FEDD = 16,
    BEFORE = 32,
    ELASTIC = 64,
    MODEL = 128,
    COUNT = 256,
    INSTANCE = 512,
    TO = 1024,
    BY = 2048,
    WHAT = 4096,
    ROOM_FOR = 8192,
    WITHIN = 16384,
    AT_ONCE = 32768,
    FORCE = 65536,
    REFUSED = 131072,
    PRIORITY = 262144,
    DOMAIN = 524288,
    LABELS = 1048576,
    EXTRAS = 21
};

static const char *const extra_keys[EXTRAS] = {
    "for",    "state",  "lostAfter", "link",    "fedd",     "before", "elastic",
    "model",  "nodes",  "instance",  "to",      "byMs",     "what",   "roomFor",
    "within", "atOnce", "force",     "refused", "priority", "domain", "labels"};

static const struct {
    const char *key;
    unsigned may, must;
} kinds[SCENARIO_KINDS] = {
    [SCENARIO_NODE] = {"node", FOR | LOST_AFTER | WITHIN | AT_ONCE | FORCE, STATE},
    [SCENARIO_GPU] = {"gpu", FOR, STATE},
    [SCENARIO_FOREIGN] = {"foreign", FOR, 0},
    [SCENARIO_LINK] = {"cluster", FOR | FEDD, LINK},
    [SCENARIO_CRASH] = {"crash", FOR | BEFORE, 0},
    [SCENARIO_PAUSE] = {"pause", 0, FOR},
    [SCENARIO_HAND_OVER] = {"handOver", 0, 0},
    [SCENARIO_RELOAD] = {"reload", 0, 0},
    [SCENARIO_STORE_AWAY] = {"cutOff", FOR, 0},
    [SCENARIO_DUPLICATE] = {"duplicate", FOR, 0},
    [SCENARIO_STORE] = {"store", FOR, 0},
    [SCENARIO_CLOCK_JUMP] = {"clockJump", 0, BY},
    [SCENARIO_CORDON] = {"cordon", FOR, 0},
    [SCENARIO_FREEZE] = {"freeze", 0, FOR | WHAT},
    [SCENARIO_BURN] = {"burn", 0, 0},
    [SCENARIO_SUBMIT] = {"submit", 0, 0},
    [SCENARIO_DELETE] = {"delete", 0, 0},
    [SCENARIO_HOLD] = {"hold", FOR, 0},
    [SCENARIO_RESUME] = {"resume", 0, 0},
    [SCENARIO_RESTART] = {"restart", 0, 0},
    [SCENARIO_LOOK] = {"look", 0, 0},
    [SCENARIO_SCALE] = {"scale", 0, ELASTIC},
    [SCENARIO_APPLY] = {"apply", 0, PRIORITY},
    [SCENARIO_REPEAT] = {"repeat", 0, 0},
    [SCENARIO_LATE] = {"late", 0, 0},
    [SCENARIO_DEFRAG] = {"defrag", MODEL | COUNT | ROOM_FOR, 0},
    [SCENARIO_MIGRATE] = {"migrate", INSTANCE | TO | FOR | REFUSED, 0},
    [SCENARIO_PAUSE_MOVES] = {"pauseMoves", 0, FOR},
    [SCENARIO_ABORT_MOVES] = {"abortMoves", 0, 0},
    [SCENARIO_DRAIN] = {"drain", FOR | WITHIN | AT_ONCE | FORCE | DOMAIN | LABELS, 0},
};

const char *scenario_kind_name(enum scenario_kind kind)
{
    return kind > SCENARIO_NOTHING && kind < SCENARIO_KINDS ? kinds[kind].key : "nothing";
}

static bool store_is_troubled(const struct scenario_event *e)
{
    return e->store.refused || e->store.lost_requests || e->store.lost_replies || e->store.late;
}

static bool store_says(const struct scenario_event *e)
{
    return e->store.fault || e->store.slow || e->store.restored >= 0 || store_is_troubled(e);
}

static bool is_subject(const struct scenario_event *e, enum scenario_kind kind)
{
    bool nodes = e->node.count || (e->nodes.count && !e->defrag);
    switch (kind) {
    case SCENARIO_NODE:
        return nodes && !e->foreign;
    case SCENARIO_FOREIGN:
        return nodes && e->foreign;
    case SCENARIO_GPU:
        return e->gpu;
    case SCENARIO_LINK:
        return e->cluster;
    case SCENARIO_CRASH:
        return e->crash;
    case SCENARIO_PAUSE:
        return e->pause;
    case SCENARIO_HAND_OVER:
        return e->hand_over;
    case SCENARIO_RELOAD:
        return e->reload;
    case SCENARIO_STORE_AWAY:
        return e->store_away;
    case SCENARIO_DUPLICATE:
        return e->duplicate;
    case SCENARIO_STORE:
        return e->store_of || store_says(e);
    case SCENARIO_CLOCK_JUMP:
        return e->clock_jump;
    case SCENARIO_CORDON:
        return e->cordon;
    case SCENARIO_FREEZE:
        return e->freeze;
    case SCENARIO_BURN:
        return e->burn;
    case SCENARIO_LOOK:
        return e->look;
    case SCENARIO_SUBMIT:
        return e->submit;
    case SCENARIO_DELETE:
        return e->delete_job;
    case SCENARIO_HOLD:
        return e->hold;
    case SCENARIO_RESUME:
        return e->resume;
    case SCENARIO_RESTART:
        return e->restart;
    case SCENARIO_SCALE:
        return e->scale;
    case SCENARIO_APPLY:
        return e->apply;
    case SCENARIO_REPEAT:
        return e->repeat;
    case SCENARIO_LATE:
        return e->late;
    case SCENARIO_DEFRAG:
        return e->defrag;
    case SCENARIO_MIGRATE:
        return e->migrate;
    case SCENARIO_PAUSE_MOVES:
        return e->pause_moves;
    case SCENARIO_ABORT_MOVES:
        return e->abort_moves;
    case SCENARIO_DRAIN:
        return e->drain;
    case SCENARIO_NOTHING:
    case SCENARIO_KINDS:
        break;
    }
    return false;
}

enum scenario_kind scenario_event_kind(const struct scenario_event *event)
{
    for (enum scenario_kind kind = SCENARIO_NOTHING + 1; kind < SCENARIO_KINDS; kind++)
        if (is_subject(event, kind))
            return kind;
    return SCENARIO_NOTHING;
}

static unsigned extras_of(const struct scenario_event *e)
{
    const bool said[EXTRAS] = {e->lasts > 0,
                               e->state != 0,
                               e->lost_after >= 0,
                               e->link.cut || e->link.delay,
                               e->fedd,
                               e->before >= 0,
                               e->elastic.min || e->elastic.max || e->elastic.step,
                               e->model,
                               e->defrag && e->nodes.count,
                               e->instance >= 0,
                               e->to,
                               e->by_ms != 0,
                               e->what != 0,
                               e->room_for,
                               e->within > 0,
                               e->at_once > 0,
                               e->force,
                               e->refused,
                               e->priority,
                               e->domain,
                               e->labels};
    unsigned bits = 0;
    for (size_t i = 0; i < EXTRAS; i++)
        bits |= said[i] ? 1U << i : 0;
    return bits;
}

/* ---- rules ---- */

static void check_extras(const struct scenario_event *e, enum scenario_kind kind, struct tf_complaints *out)
{
    unsigned said = extras_of(e);
    for (size_t i = 0; i < EXTRAS; i++) {
        unsigned bit = 1U << i;
        if (said & bit & ~(kinds[kind].may | kinds[kind].must))
            tf_complaints_add(out, extra_keys[i], "does not go with %s", kinds[kind].key);
        else if (kinds[kind].must & bit & ~said)
            tf_complaints_add(out, extra_keys[i], "is missing: it belongs to %s", kinds[kind].key);
    }
}

static void check_daemon(const char *text, const char *path, struct tf_complaints *out)
{
    struct scenario_daemon daemon;
    struct tf_error err = TF_ERROR_INIT;
    if (text && scenario_daemon_parse(text, &daemon, &err))
        tf_complaints_add(out, path, "%s", err.text);
}

static void check_places(const struct scenario_event *e, struct tf_complaints *out)
{
    struct scenario_place place;
    struct tf_error err = TF_ERROR_INIT;
    tf_vec_each (node, &e->node)
        if (scenario_place_parse(*node, false, &place, &err))
            tf_complaints_add(out, "node", "%s", err.text);
    for (size_t i = 0; i < e->nodes.count && !e->defrag; i++)
        if (scenario_place_parse(e->nodes.items[i], false, &place, &err))
            tf_complaints_add(out, "nodes", "%s", err.text);
    if (e->gpu && scenario_place_parse(e->gpu, true, &place, &err))
        tf_complaints_add(out, "gpu", "%s", err.text);
}

static void check_state(const struct scenario_event *e, enum scenario_kind kind, struct tf_complaints *out)
{
    bool of_gpu = e->state == SCENARIO_BAD || e->state == SCENARIO_SUSPECT || e->state == SCENARIO_OK;
    if (kind == SCENARIO_NODE && of_gpu)
        tf_complaints_add(out, "state", "of a node is down, up, unreachable, cordoned or draining");
    if (kind == SCENARIO_GPU && e->state && !of_gpu)
        tf_complaints_add(out, "state", "of a GPU is bad, suspect or ok");
    if (e->lost_after >= 0 && e->state != SCENARIO_UNREACHABLE)
        tf_complaints_add(out, "lostAfter", "goes with unreachable");
    if (kind == SCENARIO_NODE && e->state != SCENARIO_DRAINING && (e->within || e->at_once || e->force))
        tf_complaints_add(out, "state", "of a drain is draining: within, atOnce and force go with that");
    if (e->force && !e->within)
        tf_complaints_add(out, "force", "says what happens at the deadline: add within");
}

static void check_labels(const struct scenario_event *e, struct tf_complaints *out)
{
    struct tf_selector selector = {0};
    struct tf_error err = TF_ERROR_INIT;
    if (e->labels && tf_selector_parse(e->labels, &selector, &err))
        tf_complaints_add(out, "labels", "%s", err.text);
    else if (e->labels && selector.count == 0)
        tf_complaints_add(out, "labels", "names no label");
    tf_selector_release(&selector);
}

static void check_foreign(const struct scenario_event *e, struct tf_complaints *out)
{
    uint64_t gpus;
    struct tf_error err = TF_ERROR_INIT;
    if (!e->foreign)
        return;
    if (!e->node.count && !e->nodes.count)
        tf_complaints_add(out, "foreign", "of which node? Add node");
    if (scenario_gpus_parse(e->foreign, &gpus, &err))
        tf_complaints_add(out, "foreign", "%s", err.text);
}

static void check_defrag(const struct scenario_event *e, struct tf_complaints *out)
{
    int64_t count;
    const char *text = e->nodes.count ? e->nodes.items[0] : "max";
    if (!e->defrag)
        return;
    if (e->room_for && e->nodes.count)
        tf_complaints_add(out, "nodes", "is what roomFor says: as many as the job needs");
    if (e->nodes.count > 1 || (strcmp(text, "max") != 0 && tf_parse_int64(text, 1, INT32_MAX, &count, NULL)))
        tf_complaints_add(out, "nodes", "must be a number of nodes, or max");
}

/* What is not said stays as it is, which only the run knows. */
static void check_sizes(const struct scenario_event *e, struct tf_complaints *out)
{
    const struct tf_elastic *sizes = &e->elastic;
    if (sizes->min && sizes->max && sizes->min > sizes->max)
        tf_complaints_add(out, "elastic.min", "is above max");
    if (sizes->step && sizes->min % sizes->step)
        tf_complaints_add(out, "elastic.min", "is no multiple of step");
    if (sizes->step && sizes->max % sizes->step)
        tf_complaints_add(out, "elastic.max", "is no multiple of step");
}

/* One thing a fault: several would leave open which of them is meant. */
static void check_choices(const struct scenario_event *e, struct tf_complaints *out)
{
    if (e->link.cut && e->link.delay)
        tf_complaints_add(out, "link", "is cut, or slow: say one");
    if (!!e->store.fault + (e->store.slow > 0) + (e->store.restored >= 0) > 1)
        tf_complaints_add(out, "store", "says more than one of unavailable, lostReply, slow and restored");
    if (e->store.restored >= 0 && store_is_troubled(e))
        tf_complaints_add(out, "store", "is restored, or loses requests: say one");
    if (e->store.unaware && e->store.restored < 0)
        tf_complaints_add(out, "store.restored.to", "is missing");
    if (e->store_of && !store_says(e))
        tf_complaints_add(out, "store", "says nothing of what happens to it");
    if (e->store.restored >= 0 && e->at >= 0 && e->store.restored > e->at)
        tf_complaints_add(out, "store.restored.to", "is later than at");
}

static bool check_one_subject(const struct scenario_event *event, struct tf_complaints *out)
{
    enum scenario_kind first = scenario_event_kind(event);
    if (first == SCENARIO_NOTHING) {
        tf_complaints_add(out, "",
                          "says nothing that happens: node, gpu, cluster, crash, store, delete, scale ...");
        return false;
    }
    for (enum scenario_kind kind = first + 1; kind < SCENARIO_KINDS; kind++)
        if (is_subject(event, kind)) {
            tf_complaints_add(out, kinds[kind].key,
                              "is a second thing that happens besides %s: make it an event of its own",
                              kinds[first].key);
            return false;
        }
    return true;
}

void scenario_check_event(const void *object, struct tf_complaints *out)
{
    const struct scenario_event *e = object;
    if (e->at < 0 && e->at_event < 0)
        tf_complaints_add(out, "at", "is missing");
    check_daemon(e->crash, "crash", out);
    check_daemon(e->pause, "pause", out);
    check_daemon(e->hand_over, "handOver", out);
    check_daemon(e->reload, "reload", out);
    check_daemon(e->store_away, "cutOff", out);
    check_daemon(e->clock_jump, "clockJump", out);
    check_daemon(e->duplicate, "duplicate", out);
    check_daemon(e->fedd, "fedd", out);
    check_places(e, out);
    check_foreign(e, out);
    check_labels(e, out);
    check_defrag(e, out);
    check_sizes(e, out);
    check_choices(e, out);
    if (!check_one_subject(e, out))
        return;
    enum scenario_kind kind = scenario_event_kind(e);
    check_extras(e, kind, out);
    check_state(e, kind, out);
}
