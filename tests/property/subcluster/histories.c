/* SPDX-License-Identifier: Apache-2.0 */
/* Random histories of one subcluster core: a leader that wants things, an engine that does things, a store
 * that takes its time, links and processes that die anywhere, also between two actions. Checked all along:
 * what engine.c says, sub_check, that placements end as was told of them beforehand, that nothing is started
 * that is not durable or that was promised away, that an epoch has one end; and at rest: everything has
 * ended, nothing is left, nothing more is done. */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "subcluster/core/check.h"
#include "tests/property/subcluster/engine.h"
#include "tests/support/record_store.h"
#include "tests/support/suite.h"

#include <stdio.h>

enum { JOBS = 6, NODES = 5, STEPS = 600, EPOCHS = 4096 };

/* What the leader has stored of one epoch. */
struct placed {
    uint8_t job;
    bool open;     /* no end is stored */
    bool release;  /* it is to end */
    bool orphan;   /* something of it turned up after its end: released once more */
    bool released; /* a promise was received: nothing up to it may start */
    enum tf_end end;
    struct tf_job_spec spec;
    int32_t size;
    tf_level level; /* it may take so much from others */
};

struct world {
    struct tf_rng rng;
    struct engine engine;
    struct sub *sub;
    struct tf_now now;
    struct record_store store;
    struct tf_record *out;
    size_t out_count;
    bool out_waits;
    bool listing;
    bool continues;
    uint64_t owner;
    bool small_budget;
    struct tf_mono wake;
    /* the leader */
    struct placed epochs[EPOCHS];
    uint64_t last_epoch;
    bool linked, told_hello, listed;
    struct tf_term term;
    uint64_t n;
    TF_VEC(struct tf_down) down; /* on their way */
    struct tf_profile profile;
    /* counted */
    uint64_t persists, calls, crashes, refused, evicted, planned, planned_refusals;
    uint64_t seed;
    bool talks; /* TF_TRACE is set: traces are printed, for reading one history */
};

static void fail(const struct world *w, const char *what, uint64_t epoch)
{
    fprintf(stderr, "breach in history %llu: %s (epoch %llu, %llu ms)\n", (unsigned long long)w->seed, what,
            (unsigned long long)epoch, (unsigned long long)w->now.mono.ms);
    abort();
}

static struct tf_uid uid_of(uint8_t job)
{
    return (struct tf_uid){{(uint8_t)(job + 1)}};
}

/* ---- the store ---- */

static void drop_out(struct world *w)
{
    for (size_t i = 0; i < w->out_count; i++)
        tf_record_release(&w->out[i]);
    free(w->out);
    w->out = NULL;
    w->out_count = 0;
    w->out_waits = false;
}

static void land(struct world *w)
{
    record_store_put(&w->store, w->out, w->out_count);
    drop_out(w);
}

/* The attempt is in a durable record that wants it. */
static bool is_recorded(const struct world *w, const struct tf_instance_id *id)
{
    bool found = false;
    for (size_t i = 0; i < w->store.count && !found; i++) {
        struct tf_record record = {0};
        record_store_get(&w->store, i, &record);
        const struct tf_allocation *a = &record.allocation;
        if (record.kind == TF_RECORD_ALLOCATION && tf_uid_eq(a->uid, id->uid))
            found = a->epoch == id->epoch && id->index < a->members.count &&
                    a->members.items[id->index].attempt == id->attempt;
        tf_record_release(&record);
    }
    return found;
}

/* ---- the leader ---- */

static struct tf_job_spec random_spec(struct world *w)
{
    struct tf_job_spec spec = {0};
    struct tf_rng *r = &w->rng;
    int32_t step = (int32_t)tf_rng_range(r, 1, 2), min = step * (int32_t)tf_rng_range(r, 1, 2);
    static const char *const classes[] = {"low", "high", "gone"};
    spec.priority = tf_strdup(classes[tf_rng_below(r, 3)]);
    spec.workload = TF_WORKLOAD_OFFLINE;
    spec.elastic = (struct tf_elastic){min, min + step * (int32_t)tf_rng_below(r, 3), step};
    spec.group.shape.gpus = (int32_t)tf_rng_below(r, 4);
    spec.group.shape.cpu = 1000 * tf_rng_range(r, 1, 20);
    spec.group.shape.memory = 1024;
    if (spec.group.shape.gpus && tf_rng_below(r, 2))
        tf_strs_add(&spec.group.shape.gpu_models, tf_rng_below(r, 2) ? "H800" : "A100");
    tf_strs_add(&spec.group.command, "work");
    spec.on_resize = tf_rng_below(r, 3) ? TF_ON_RESIZE_NONE : TF_ON_RESIZE_RESTART;
    spec.completion = tf_rng_below(r, 4) ? TF_COMPLETION_ALL : TF_COMPLETION_RANK0;
    spec.retry_limit = (int32_t)tf_rng_below(r, 4);
    spec.retry_backoff = 2 * TF_SECOND;
    if (tf_rng_below(r, 8) == 0)
        spec.max_runtime = 40 * TF_SECOND;
    if (tf_rng_below(r, 4) == 0)
        spec.min_runtime = 20 * TF_SECOND;
    if (tf_rng_below(r, 30) == 0)
        spec.on_cluster_lost = TF_CLUSTER_LOST_RESTART;
    tf_job_spec_fill(&spec);
    return spec;
}

static struct tf_entry entry_of(const struct world *w, uint64_t epoch)
{
    const struct placed *p = &w->epochs[epoch];
    struct tf_entry entry = {.uid = uid_of(p->job), .epoch = epoch};
    if (p->release) {
        entry.kind = TF_ENTRY_RELEASE;
        entry.release = TF_RELEASE_DELETE;
        return entry;
    }
    entry.kind = TF_ENTRY_PLACE;
    entry.tenant = tf_strdup("t");
    entry.name = tf_asprintf("j%d", p->job);
    entry.size = p->size;
    entry.level = p->level;
    tf_job_spec_copy(tf_spec_own(&entry.spec), &p->spec);
    return entry;
}

static void send(struct world *w, struct tf_down down)
{
    down.term = w->term;
    tf_vec_push(&w->down, down);
}

static void send_entry(struct world *w, struct tf_entry entry)
{
    struct tf_down change = {.kind = TF_DOWN_CHANGE, .n = ++w->n};
    tf_vec_push(&change.entries, entry);
    send(w, change);
}

static void tell(struct world *w, enum tf_entry_kind kind, struct tf_uid uid, uint64_t epoch)
{
    if (w->told_hello)
        send_entry(w, (struct tf_entry){.kind = kind, .uid = uid, .epoch = epoch});
}

static struct tf_policy random_policy(struct world *w)
{
    struct tf_policy policy = {.version = tf_rng_below(&w->rng, 3),
                               .start_timeout = 20 * TF_SECOND,
                               .kill_bound = 5 * TF_SECOND,
                               .max_evictions_per_minute = tf_rng_below(&w->rng, 4) ? 60 : 1,
                               .max_moves = 4,
                               .max_moves_per_node = 2,
                               .max_moves_per_job = 1};
    tf_classes_add(&policy.classes, "low", 10);
    tf_classes_add(&policy.classes, "high", 30);
    if (policy.version == 1)
        tf_classes_add(&policy.classes, "gone", 20);
    for (uint64_t i = tf_rng_below(&w->rng, 4); i > 0; i--) {
        struct tf_shape_asked *shape = tf_vec_add(&policy.shapes);
        shape->instances = 1;
        shape->waits = tf_rng_below(&w->rng, 3) == 0;
        struct tf_job_spec *spec = tf_spec_own(&shape->spec);
        *spec = random_spec(w);
        spec->group.shape.gpus += !spec->group.shape.gpus; /* only those with GPUs are in a mix */
    }
    return policy;
}

static void send_set(struct world *w)
{
    struct tf_down begin = {.kind = TF_DOWN_BEGIN, .n = w->n = 1, .policy = random_policy(w)};
    for (uint64_t e = 1; e <= w->last_epoch; e++)
        begin.count += w->epochs[e].open;
    send(w, begin);
    for (uint64_t e = 1; e <= w->last_epoch; e++) {
        if (!w->epochs[e].open)
            continue;
        struct tf_down part = {.kind = TF_DOWN_PART, .n = 1};
        tf_vec_push(&part.entries, entry_of(w, e));
        send(w, part);
    }
    send(w, (struct tf_down){.kind = TF_DOWN_END, .n = 1});
    w->told_hello = true;
}

static bool job_is_open(const struct world *w, uint8_t job)
{
    for (uint64_t e = 1; e <= w->last_epoch; e++)
        if (w->epochs[e].open && w->epochs[e].job == job)
            return true;
    return false;
}

static void place_something(struct world *w)
{
    uint8_t job = (uint8_t)tf_rng_below(&w->rng, JOBS);
    if (job_is_open(w, job) || w->last_epoch + 1 >= EPOCHS)
        return;
    w->last_epoch += 1 + tf_rng_below(&w->rng, 3);
    struct placed *p = &w->epochs[w->last_epoch];
    *p = (struct placed){.job = job, .open = true, .spec = random_spec(w)};
    p->size = p->spec.elastic.max;
    p->level = tf_rng_below(&w->rng, 2) ? TF_LEVEL_TOP : TF_LEVEL_FREE;
    if (w->told_hello)
        send_entry(w, entry_of(w, w->last_epoch));
}

/* A job that waits claims nodes, or no longer; a full set mentions none of them. */
static void claim_something(struct world *w)
{
    uint8_t job = (uint8_t)tf_rng_below(&w->rng, JOBS);
    if (job_is_open(w, job) || !w->told_hello)
        return;
    struct tf_entry entry = {.kind = TF_ENTRY_UNCLAIM, .uid = uid_of(job)};
    if (tf_rng_below(&w->rng, 3)) {
        entry.kind = TF_ENTRY_CLAIM;
        entry.tenant = tf_strdup("t");
        entry.name = tf_asprintf("j%d", job);
        *tf_spec_own(&entry.spec) = random_spec(w);
    }
    send_entry(w, entry);
}

static void release_something(struct world *w, uint64_t epoch)
{
    struct placed *p = &w->epochs[epoch];
    if (!p->open || p->release)
        return;
    p->release = true;
    tell(w, TF_ENTRY_RELEASE, uid_of(p->job), epoch);
}

static void take_end(struct world *w, const struct tf_report *r)
{
    struct placed *p = &w->epochs[r->epoch];
    if (r->ended.end == TF_END_UNKNOWN && !w->listed)
        return; /* it is told again */
    if (!p->open && p->end != r->ended.end && !(p->orphan && r->ended.end == TF_END_RELEASED))
        fail(w, "two ends", r->epoch);
    if (engine_job_lives(&w->engine, r->uid, r->ended.end == TF_END_RELEASED ? r->epoch : 0))
        fail(w, "released, but something up to it lives", r->epoch);
    if (w->talks)
        printf("leader: job %d epoch %llu ended %s\n", p->job + 1, (unsigned long long)r->epoch,
               tf_end_name(r->ended.end));
    w->refused += p->open && r->ended.end == TF_END_REFUSED;
    w->evicted += p->open && r->ended.end == TF_END_EVICTED;
    if (p->open)
        p->end = r->ended.end;
    p->open = false;
    p->released |= r->ended.end == TF_END_RELEASED;
    tell(w, TF_ENTRY_STORED, r->uid, r->epoch);
}

static void take_report(struct world *w, const struct tf_report *r)
{
    if (r->epoch == 0 || r->epoch > w->last_epoch)
        fail(w, "a report of an epoch that was never placed", r->epoch);
    struct placed *p = &w->epochs[r->epoch];
    if (r->ended.end != TF_END_NONE)
        take_end(w, r);
    else if (!p->open) {
        p->orphan = true;
        tell(w, TF_ENTRY_RELEASE, r->uid, r->epoch);
    }
}

static void take_profile(struct world *w, const struct tf_profile *profile)
{
    struct tf_error err = TF_ERROR_INIT;
    if (tf_profile_check(profile, &err))
        fail(w, err.text, 0);
    if (profile->full)
        tf_profile_copy(&w->profile, profile);
    else if (tf_profile_apply(&w->profile, profile, &err))
        fail(w, err.text, 0);
}

static void take_up(struct world *w, const struct tf_up *up)
{
    if (!w->linked)
        fail(w, "sent without a link", 0);
    if (up->kind == TF_UP_HELLO)
        send_set(w);
    else if (up->kind == TF_UP_REPORT)
        take_report(w, &up->report);
    else if (up->kind == TF_UP_LISTED)
        w->listed = true;
    else if (up->kind == TF_UP_PROFILE)
        take_profile(w, &up->profile);
}

static void cut(struct world *w)
{
    tf_vec_each (down, &w->down)
        tf_down_release(down);
    w->down.count = 0;
    w->linked = w->told_hello = w->listed = false;
}

/* ---- the process ---- */

static void check_start(const struct world *w, const struct tf_instance_id *id)
{
    if (!is_recorded(w, id))
        fail(w, "a start that is in no durable record", id->epoch);
    for (uint64_t e = id->epoch; e <= w->last_epoch; e++)
        if (w->epochs[e].released && tf_uid_eq(uid_of(w->epochs[e].job), id->uid))
            fail(w, "a start after its release was acknowledged", id->epoch);
    if (w->listing)
        fail(w, "a start before the listing was complete", id->epoch);
}

static void perform(struct world *w, struct sub_action *a)
{
    switch (a->kind) {
    case SUB_ACT_PERSIST:
        if (w->out_waits)
            fail(w, "two transactions at a time", 0);
        w->out = a->persist.items;
        w->out_count = a->persist.count;
        w->out_waits = true;
        w->persists++;
        a->persist.items = NULL;
        a->persist.count = 0;
        break;
    case SUB_ACT_SEND:
        take_up(w, &a->send);
        break;
    case SUB_ACT_START:
        check_start(w, &a->start.id);
        w->calls++;
        engine_do(&w->engine, a);
        break;
    case SUB_ACT_STOP:
    case SUB_ACT_FORGET:
        w->calls++;
        engine_do(&w->engine, a);
        break;
    case SUB_ACT_WAKE:
        w->wake = a->wake;
        break;
    case SUB_ACT_CONTINUE:
        w->continues = true;
        break;
    case SUB_ACT_CLOSE:
        fail(w, "nothing was lost, but the link is closed", 0);
        break;
    case SUB_ACT_PEERS:
        w->calls++;
        break;
    case SUB_ACT_TRACE:
    case SUB_ACT_ALARM:
        if (w->talks)
            printf("%s%s\n", a->kind == SUB_ACT_ALARM ? "ALARM " : "", a->text);
        break;
    case SUB_ACT_NONE:
    case SUB_ACT_FENCE:
        break;
    }
}

static void boot(struct world *w);

/* One step; crash_at actions are carried out, then the process dies (SIZE_MAX: it does not). */
static void step_until(struct world *w, struct sub_event event, size_t crash_at)
{
    struct sub_actions actions = {0};
    sub_step(w->sub, w->now, &event, &actions);
    sub_check(w->sub);
    for (size_t i = 0; i < actions.count && i < crash_at; i++)
        perform(w, &actions.items[i]);
    bool dies = crash_at != SIZE_MAX;
    sub_actions_release(&actions);
    if (dies)
        boot(w);
}

static void step(struct world *w, struct sub_event event)
{
    step_until(w, event, SIZE_MAX);
}

static void boot(struct world *w)
{
    sub_destroy(w->sub);
    cut(w);
    if (w->out_waits && tf_rng_below(&w->rng, 2))
        land(w);
    else
        drop_out(w);
    w->crashes++;
    w->sub = sub_create(1);
    w->wake = TF_NEVER;
    w->continues = false;
    struct sub_event event = {.kind = SUB_EV_BOOT};
    event.boot = (struct sub_boot){.name = tf_strdup("bj-a"),
                                   .owner_revision = ++w->owner,
                                   .profile_interval = 500,
                                   .loss_cap = 2 * TF_HOUR,
                                   .resize_loss = 500,
                                   .decision_budget = w->small_budget ? 1 : 100000,
                                   .health = {4 * TF_SECOND, TF_MINUTE, 1000, 3}};
    event.boot.policy = random_policy(w);
    step(w, event);
    for (size_t i = 0; i < w->store.count; i++) {
        struct sub_event record = {.kind = SUB_EV_RECORD};
        record_store_get(&w->store, i, &record.record);
        step(w, record);
    }
    step(w, (struct sub_event){.kind = SUB_EV_LOADED});
    engine_list(&w->engine);
    w->listing = true;
}

/* ---- what may happen ---- */

/* ---- what is told of a placement beforehand is what is done with it ---- */

static void image_of(struct world *w, struct tf_buf *out)
{
    struct tf_image image;
    tf_image_write(&image, out, false);
    sub_image_state(&image, &w->sub);
    if (tf_image_finish(&image, NULL))
        fail(w, "the state has no image", 0);
}

static bool is_known(const struct tf_allocation *a, uint64_t epoch)
{
    if (!a)
        return false;
    tf_vec_each (ended, &a->ended)
        if (ended->epoch == epoch)
            return true;
    return a->phase != TF_ALLOCATION_IDLE && a->epoch == epoch;
}

static bool is_planned(const struct tf_place_plan *plan, const char *node, uint64_t gpus)
{
    tf_vec_each (n, &plan->nodes)
        if (strcmp(n->node, node) == 0)
            return (gpus & ~n->gpus) == 0;
    return false;
}

static void check_accepted(const struct world *w, const struct tf_place_plan *plan,
                           const struct tf_allocation *a)
{
    if (plan->reason != TF_REASON_NONE)
        fail(w, "told that it would be refused, and taken", a->epoch);
    if ((size_t)plan->size != a->members.count + a->claims.count)
        fail(w, "told of another size", a->epoch);
    tf_vec_each (m, &a->members)
        if (!is_planned(plan, m->node, m->gpus))
            fail(w, "a member is not where it was told", a->epoch);
    tf_vec_each (c, &a->claims)
        if (!is_planned(plan, c->node, c->gpus))
            fail(w, "a claim is not where it was told", a->epoch);
    tf_vec_each (v, &plan->victims) {
        const struct tf_allocation *gone = sub_allocation_find(w->sub, v->uid);
        if (v->whole && gone &&
            (gone->phase == TF_ALLOCATION_RUNNING || gone->phase == TF_ALLOCATION_STARTING))
            fail(w, "told that a job gives way, and it does not", a->epoch);
    }
}

/* Only if the step has decided about the epoch: it may have had no turn, or be below the floor. */
static void check_told(struct world *w, const struct tf_place_plan *plan, struct tf_uid uid, uint64_t epoch)
{
    const struct tf_allocation *a = sub_allocation_find(w->sub, uid);
    if (!is_known(a, epoch))
        return;
    bool lives = a->phase != TF_ALLOCATION_IDLE && a->epoch == epoch;
    w->planned += lives;
    if (lives)
        check_accepted(w, plan, a);
    tf_vec_each (ended, &a->ended) {
        if (ended->epoch != epoch || ended->end != TF_END_REFUSED)
            continue;
        w->planned_refusals++;
        if (ended->reason != plan->reason)
            fail(w, "refused for another reason than was told", epoch);
    }
}

/* A placement comes: what would be done with it is asked first, at the same moment, with nothing left to do.
 */
static void deliver_place(struct world *w, struct sub_event event)
{
    TF_AUTO_BUF before = TF_BUF_INIT;
    TF_AUTO_BUF after = TF_BUF_INIT;
    const struct tf_entry *entry = &event.down.entries.items[0];
    struct tf_place_plan plan;
    struct tf_uid uid = entry->uid;
    uint64_t epoch = entry->epoch;
    step(w, (struct sub_event){.kind = SUB_EV_NONE});
    image_of(w, &before);
    sub_plan_place(w->sub, w->now, entry, &plan);
    image_of(w, &after);
    if (before.len != after.len || memcmp(before.data, after.data, before.len) != 0)
        fail(w, "a question has changed the state", epoch);
    bool known = is_known(sub_allocation_find(w->sub, uid), epoch), continues = w->continues;
    bool adopted = engine_job_lives(&w->engine, uid, 0); /* of what runs already no plan is made */
    step(w, event);
    if (!known && !continues && !adopted)
        check_told(w, &plan, uid, epoch);
    tf_place_plan_release(&plan);
}

static bool deliver_down(struct world *w, size_t crash_at)
{
    if (w->down.count == 0)
        return false;
    struct sub_event event = {.kind = SUB_EV_DOWN, .down = w->down.items[0]};
    const struct tf_down *down = &event.down;
    bool place = down->kind == TF_DOWN_CHANGE && down->entries.count == 1 &&
                 down->entries.items[0].kind == TF_ENTRY_PLACE;
    tf_vec_remove(&w->down, 0);
    if (place && crash_at == SIZE_MAX)
        deliver_place(w, event);
    else
        step_until(w, event, crash_at);
    return true;
}

static bool deliver_engine(struct world *w, size_t crash_at)
{
    struct sub_event event;
    if (engine_next(&w->engine, &event)) {
        step_until(w, event, crash_at);
        return true;
    }
    if (!w->listing)
        return false;
    w->listing = false;
    step_until(w, (struct sub_event){.kind = SUB_EV_LISTED}, crash_at);
    return true;
}

static bool deliver_commit(struct world *w, size_t crash_at)
{
    if (!w->out_waits)
        return false;
    land(w);
    step_until(w, (struct sub_event){.kind = SUB_EV_COMMITTED}, crash_at);
    return true;
}

static void link_something(struct world *w)
{
    if (!w->linked) {
        w->linked = true;
        step(w, (struct sub_event){.kind = SUB_EV_LINK_UP});
        return;
    }
    cut(w);
    if (tf_rng_below(&w->rng, 2))
        w->term.revision++;
    step(w, (struct sub_event){.kind = SUB_EV_LINK_DOWN});
}

static void pass(struct world *w, int64_t ms, int64_t jump)
{
    w->now.mono.ms += ms;
    w->now.wall.ms += ms + jump;
    if (w->wake.ms <= w->now.mono.ms) {
        w->wake = TF_NEVER;
        step(w, (struct sub_event){.kind = SUB_EV_TIMER});
    }
}

static void something_happens(struct world *w)
{
    size_t crash_at = tf_rng_below(&w->rng, 60) == 0 ? tf_rng_below(&w->rng, 4) : SIZE_MAX;
    switch (tf_rng_below(&w->rng, 16)) {
    case 0:
    case 1:
    case 2:
        deliver_down(w, crash_at);
        break;
    case 3:
    case 4:
    case 5:
        deliver_engine(w, crash_at);
        break;
    case 6:
    case 7:
    case 8:
        deliver_commit(w, crash_at);
        break;
    case 9:
        place_something(w);
        if (tf_rng_below(&w->rng, 4) == 0)
            claim_something(w);
        break;
    case 10:
        if (w->last_epoch && tf_rng_below(&w->rng, 3) == 0)
            release_something(w, 1 + tf_rng_below(&w->rng, w->last_epoch));
        break;
    case 11:
        if (!w->linked || tf_rng_below(&w->rng, 10) == 0)
            link_something(w);
        break;
    case 12:
    case 13:
        engine_move(&w->engine);
        break;
    case 14:
        pass(w, tf_rng_range(&w->rng, 1, 3000),
             tf_rng_below(&w->rng, 20) ? 0 : tf_rng_range(&w->rng, -9999, 9999));
        break;
    default:
        if (w->continues) {
            w->continues = false;
            step_until(w, (struct sub_event){.kind = SUB_EV_CONTINUE}, crash_at);
        }
    }
}

/* ---- rest ---- */

static bool deliver_all(struct world *w)
{
    bool any = false;
    for (bool more = true; more; any |= more) {
        more = deliver_commit(w, SIZE_MAX) || deliver_engine(w, SIZE_MAX) || deliver_down(w, SIZE_MAX);
        if (!more && w->continues) {
            w->continues = false;
            more = true;
            step(w, (struct sub_event){.kind = SUB_EV_CONTINUE});
        }
    }
    return any;
}

static void reach_rest(struct world *w)
{
    engine_heal(&w->engine);
    if (!w->linked)
        link_something(w);
    for (int i = 0; i < 400; i++) {
        deliver_all(w);
        engine_move(&w->engine);
        pass(w, 1000, 0);
    }
    for (uint64_t e = 1; e <= w->last_epoch; e++)
        release_something(w, e);
    for (uint8_t job = 0; job < JOBS; job++)
        tell(w, TF_ENTRY_UNCLAIM, uid_of(job), 0);
    for (int i = 0; i < 1000; i++) {
        deliver_all(w);
        engine_move(&w->engine);
        pass(w, 1000, 0);
    }
}

static void check_rest(struct world *w)
{
    uint64_t persists = w->persists, calls = w->calls;
    for (int i = 0; i < 100; i++) {
        deliver_all(w);
        pass(w, TF_MINUTE, 0);
    }
    for (uint64_t e = 1; e <= w->last_epoch; e++)
        if (w->epochs[e].open)
            fail(w, "an epoch never reached its end", e);
    CU_ASSERT_EQUAL(w->persists, persists);
    CU_ASSERT_EQUAL(w->calls, calls);
    CU_ASSERT_EQUAL(engine_live(&w->engine), 0);
    if (w->engine.instances.count)
        fail(w, "the engine was not told to forget an exit", w->engine.instances.items[0].id.epoch);
    CU_ASSERT_EQUAL(sub_allocation_count(w->sub), 0);
    CU_ASSERT(w->store.count <= 4); /* term, floor, policy, evictions; no claim */
    for (size_t i = 0; i < sub_node_count(w->sub); i++) {
        struct sub_node_view view = sub_node_at(w->sub, i);
        CU_ASSERT_EQUAL(view.held_gpus, 0);
        CU_ASSERT_EQUAL(view.free_gpus, tf_gpu_set_all(view.node->capacity.gpus));
    }
    const struct tf_profile *own = sub_profile(w->sub);
    CU_ASSERT_EQUAL(w->profile.health.free_gpus, own->health.free_gpus);
    CU_ASSERT_EQUAL(w->profile.reflects_n, w->n);
}

static void world_release(struct world *w)
{
    cut(w);
    drop_out(w);
    sub_destroy(w->sub);
    engine_release(&w->engine);
    record_store_release(&w->store);
    tf_profile_release(&w->profile);
    tf_vec_release(&w->down);
    for (uint64_t e = 1; e <= w->last_epoch; e++)
        tf_job_spec_release(&w->epochs[e].spec);
}

static void one_history(uint64_t seed, uint64_t totals[7])
{
    struct world *w = tf_calloc(1, sizeof *w);
    tf_rng_init(&w->rng, seed);
    w->now = (struct tf_now){{5000}, {1700000000000}};
    w->term = (struct tf_term){1, 1};
    w->seed = seed;
    w->talks = getenv("TF_TRACE") != NULL;
    w->small_budget = seed % 4 == 0;
    engine_init(&w->engine, &w->rng, NODES);
    record_store_put(&w->store, &(struct tf_record){.kind = TF_RECORD_FLOOR},
                     1); /* it has had a life before */
    boot(w);
    for (int i = 0; i < STEPS; i++)
        something_happens(w);
    reach_rest(w);
    check_rest(w);
    totals[0] += w->last_epoch;
    totals[1] += w->engine.starts;
    totals[2] += w->crashes;
    totals[3] += w->refused;
    totals[4] += w->evicted;
    totals[5] += w->planned;
    totals[6] += w->planned_refusals;
    world_release(w);
    free(w);
}

static void test_histories(void)
{
    uint64_t seed = suite_seed(1), totals[7] = {0};
    size_t rounds = suite_rounds(600);
    for (size_t i = 0; i < rounds; i++) {
        engine_history = seed + i;
        one_history(seed + i, totals);
    }
    printf(
        "%zu histories: epochs up to %llu, %llu starts, %llu crashes, %llu refusals, %llu evictions; as told "
        "before: %llu starts or claims, %llu refusals\n",
        rounds, (unsigned long long)totals[0], (unsigned long long)totals[1], (unsigned long long)totals[2],
        (unsigned long long)totals[3], (unsigned long long)totals[4], (unsigned long long)totals[5],
        (unsigned long long)totals[6]);
    CU_ASSERT(totals[1] > rounds && totals[2] > rounds && totals[3] > 0 && totals[4] > rounds / 10);
    CU_ASSERT(totals[5] > rounds && totals[6] > rounds / 2);
}

static const struct suite_test tests[] = {
    {"histories", test_histories},
};

int main(void)
{
    return suite_run("subcluster histories", tests, TF_ARRAY_LEN(tests));
}
