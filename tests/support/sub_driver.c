/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/sub_driver.h"

#include "common/base/text.h"
#include "subcluster/core/check.h"

#include <assert.h>
#include <stdio.h>

struct tf_uid driver_uid(uint8_t first)
{
    return (struct tf_uid){{first}};
}

static struct tf_policy test_policy(void)
{
    struct tf_policy policy = {.version = 1,
                               .max_evictions_per_minute = 60,
                               .max_moves = 32,
                               .max_moves_per_node = 8,
                               .max_moves_per_job = 1,
                               .start_timeout = 5 * TF_MINUTE,
                               .offer_time = 3 * TF_SECOND,
                               .repair_wait = 2 * TF_MINUTE,
                               .failure_settle = 5 * TF_SECOND,
                               .kill_bound = 10 * TF_SECOND};
    tf_classes_add(&policy.classes, "low", 10);
    tf_classes_add(&policy.classes, "mid", 20);
    tf_classes_add(&policy.classes, "high", 30);
    return policy;
}

void driver_init(struct sub_driver *d)
{
    *d = (struct sub_driver){.now = {{1000}, {1700000000000}}, .term = {1, 1}, .wake = TF_NEVER};
    d->boot.name = tf_strdup("bj-a");
    d->boot.region = tf_strdup("bj");
    d->boot.version = tf_strdup("test");
    d->boot.engine = tf_strdup("fake");
    d->boot.profile_interval = 500;
    d->boot.loss_cap = 2 * TF_HOUR;
    d->boot.resize_loss = 500;
    d->boot.decision_budget = 1000000;
    d->boot.health = (struct sub_health_rules){15 * TF_SECOND, TF_MINUTE, 1000, 3, 3};
    d->boot.capabilities = TF_CAP_NAMES_GPUS;
    d->boot.policy = test_policy();
    record_store_put(&d->store, &(struct tf_record){.kind = TF_RECORD_FLOOR},
                     1); /* it has had a life before */
}

static void drop_out(struct sub_driver *d)
{
    for (size_t i = 0; i < d->out_count; i++)
        tf_record_release(&d->out[i]);
    free(d->out);
    d->out = NULL;
    d->out_count = 0;
    d->out_waits = false;
}

void driver_forgets(struct sub_driver *d)
{
    tf_vec_each (instance, &d->instances)
        free(instance->node);
    tf_vec_release(&d->instances);
}

void driver_release(struct sub_driver *d)
{
    sub_destroy(d->sub);
    record_store_release(&d->store);
    drop_out(d);
    tf_vec_each (node, &d->nodes)
        tf_node_release(node);
    tf_vec_release(&d->nodes);
    driver_forgets(d);
    tf_buf_release(&d->log);
    tf_buf_release(&d->traces);
    tf_buf_release(&d->peers);
    tf_profile_release(&d->profile);
    struct sub_event boot = {.kind = SUB_EV_BOOT, .boot = d->boot};
    sub_event_release(&boot);
    *d = (struct sub_driver){0};
}

/* ---- the store ---- */

static void land(struct sub_driver *d)
{
    record_store_put(&d->store, d->out, d->out_count);
    drop_out(d);
}

void driver_commit(struct sub_driver *d)
{
    if (!d->out_waits)
        return;
    land(d);
    driver_step(d, (struct sub_event){.kind = SUB_EV_COMMITTED});
}

/* ---- what the core does, in words ---- */

static void log_id(struct tf_buf *log, const struct tf_instance_id *id)
{
    tf_buf_fmt(log, "%d/%llu/%u.%u", id->uid.bytes[0], (unsigned long long)id->epoch, id->index, id->attempt);
}

static void log_persist(struct tf_buf *log, const struct sub_action *a)
{
    static const char *const kinds[] = {[TF_RECORD_TERM] = "term",
                                        [TF_RECORD_FLOOR] = "floor",
                                        [TF_RECORD_POLICY] = "policy",
                                        [TF_RECORD_ROLLBACK] = "rollback",
                                        [TF_RECORD_EVICTIONS] = "evictions"};
    tf_buf_str(log, "persist");
    for (size_t i = 0; i < a->persist.count; i++) {
        const struct tf_record *r = &a->persist.items[i];
        if (r->kind == TF_RECORD_ALLOCATION)
            tf_buf_fmt(log, " allocation:%d%s", r->allocation.uid.bytes[0], r->gone ? "-" : "");
        else if (r->kind == TF_RECORD_NODE_CLAIM)
            tf_buf_fmt(log, " claim:%d%s", r->node_claim.uid.bytes[0], r->gone ? "-" : "");
        else if (r->kind == TF_RECORD_MIGRATION)
            tf_buf_fmt(log, " migration:%d%s", r->migration.id.bytes[0], r->gone ? "-" : "");
        else if (r->kind == TF_RECORD_CORDON)
            tf_buf_fmt(log, " cordon:%s%s", r->cordon.node, r->gone ? "-" : "");
        else
            tf_buf_fmt(log, " %s", kinds[r->kind]);
    }
    tf_buf_char(log, '\n');
}

static void log_report(struct tf_buf *log, const struct tf_report *r)
{
    tf_buf_fmt(log, "send report %d/%llu ", r->uid.bytes[0], (unsigned long long)r->epoch);
    if (r->ended.end == TF_END_NONE && r->unreachable)
        tf_buf_fmt(log, "%s %d/%d unreachable %d\n", tf_phase_name(r->phase), r->ready, r->size,
                   r->unreachable);
    else if (r->ended.end == TF_END_NONE)
        tf_buf_fmt(log, "%s %d/%d\n", tf_phase_name(r->phase), r->ready, r->size);
    else if (r->ended.reason)
        tf_buf_fmt(log, "ended %s %s\n", tf_end_name(r->ended.end), tf_reason_name(r->ended.reason));
    else
        tf_buf_fmt(log, "ended %s\n", tf_end_name(r->ended.end));
}

static void log_send(struct sub_driver *d, const struct tf_up *up)
{
    if (up->kind == TF_UP_HELLO)
        tf_buf_fmt(&d->log, "send hello %llu.%llu %llu\n", (unsigned long long)up->hello.highest_term.era,
                   (unsigned long long)up->hello.highest_term.revision,
                   (unsigned long long)up->hello.highest_epoch);
    else if (up->kind == TF_UP_LISTED)
        tf_buf_str(&d->log, "send listed\n");
    else if (up->kind == TF_UP_REPORT)
        log_report(&d->log, &up->report);
    else if (up->kind == TF_UP_ANSWER)
        tf_buf_fmt(&d->log, "send answer %llu code %d%s%s\n", (unsigned long long)up->answer.id,
                   up->answer.code, up->answer.text ? ": " : "", up->answer.text ? up->answer.text : "");
    else if (up->kind == TF_UP_PROFILE)
        tf_buf_fmt(&d->log, "send profile %s n %llu\n", up->profile.full ? "full" : "delta",
                   (unsigned long long)up->profile.reflects_n);
}

/* As the leader takes it. */
static void take_profile(struct sub_driver *d, const struct tf_profile *profile)
{
    struct tf_error err = TF_ERROR_INIT;
    if (tf_profile_check(profile, &err) || (!profile->full && tf_profile_apply(&d->profile, profile, &err))) {
        fprintf(stderr, "profile: %s\n", err.text);
        abort();
    }
    if (profile->full)
        tf_profile_copy(&d->profile, profile);
}

static struct fake_instance *find(struct sub_driver *d, const struct tf_instance_id *id)
{
    tf_vec_each (instance, &d->instances)
        if (tf_instance_id_eq(&instance->id, id))
            return instance;
    return NULL;
}

static void take_start(struct sub_driver *d, const struct sub_start *start)
{
    d->starts++;
    if (find(d, &start->id))
        return;
    struct fake_instance instance = {start->id, SUB_INSTANCE_NONE, 0, tf_strdup(start->node), start->gpus};
    tf_vec_push(&d->instances, instance);
}

static void take_forget(struct sub_driver *d, struct tf_uid uid, uint64_t epoch)
{
    for (size_t i = d->instances.count; i-- > 0;) {
        struct fake_instance *instance = &d->instances.items[i];
        if (!tf_uid_eq(instance->id.uid, uid) || instance->id.epoch != epoch)
            continue;
        free(instance->node);
        tf_vec_remove(&d->instances, i);
    }
}

static void take_persist(struct sub_driver *d, struct sub_action *a)
{
    assert(!d->out_waits && "one transaction at a time");
    d->out = a->persist.items;
    d->out_count = a->persist.count;
    d->out_waits = true;
    a->persist.items = NULL;
    a->persist.count = 0;
}

static void take_action(struct sub_driver *d, struct sub_action *a)
{
    char gpus[TF_GPU_SET_TEXT];
    switch (a->kind) {
    case SUB_ACT_PERSIST:
        log_persist(&d->log, a);
        take_persist(d, a);
        break;
    case SUB_ACT_SEND:
        log_send(d, &a->send);
        if (a->send.kind == TF_UP_PROFILE)
            take_profile(d, &a->send.profile);
        break;
    case SUB_ACT_START:
        tf_buf_str(&d->log, "start ");
        log_id(&d->log, &a->start.id);
        tf_buf_fmt(&d->log, " %s %s\n", a->start.node, tf_gpu_set_format(a->start.gpus, gpus));
        take_start(d, &a->start);
        break;
    case SUB_ACT_STOP:
        tf_buf_str(&d->log, "stop ");
        log_id(&d->log, &a->stop.id);
        tf_buf_fmt(&d->log, " %lld+%lld\n", (long long)a->stop.stop_delay, (long long)a->stop.grace);
        break;
    case SUB_ACT_FORGET:
        tf_buf_fmt(&d->log, "forget %d/%llu\n", a->forget.uid.bytes[0], (unsigned long long)a->forget.epoch);
        take_forget(d, a->forget.uid, a->forget.epoch);
        break;
    case SUB_ACT_PEERS: {
        unsigned long long size = 0, version = 0;
        tf_buf_clear(&d->peers);
        tf_buf_str(&d->peers, a->peers.content);
        sscanf(strstr(a->peers.content, "\"size\""), "\"size\":%llu,\"version\":%llu", &size, &version);
        tf_buf_fmt(&d->log, "peers %d/%llu v%llu size %llu\n", a->peers.uid.bytes[0],
                   (unsigned long long)a->peers.epoch, version, size);
        break;
    }
    case SUB_ACT_CLOSE:
        tf_buf_fmt(&d->log, "close %s\n", a->text);
        break;
    case SUB_ACT_ALARM:
        tf_buf_fmt(&d->log, "alarm %s\n", a->text);
        break;
    case SUB_ACT_TRACE:
        tf_buf_fmt(&d->traces, "%s\n", a->text);
        break;
    case SUB_ACT_WAKE:
        d->wake = a->wake;
        break;
    case SUB_ACT_CONTINUE:
        d->continues = true;
        break;
    case SUB_ACT_NONE:
    case SUB_ACT_FENCE:
        break;
    }
}

void driver_step(struct sub_driver *d, struct sub_event event)
{
    struct sub_actions actions = {0};
    sub_step(d->sub, d->now, &event, &actions);
    sub_check(d->sub);
    tf_vec_each (action, &actions)
        take_action(d, action);
    sub_actions_release(&actions);
    if (!d->hold_commits)
        driver_commit(d);
    if (d->continues) {
        d->continues = false;
        driver_step(d, (struct sub_event){.kind = SUB_EV_CONTINUE});
    }
}

void driver_pass(struct sub_driver *d, int64_t ms)
{
    int64_t end = d->now.mono.ms + ms;
    while (d->wake.ms <= end) {
        int64_t by = d->wake.ms > d->now.mono.ms ? d->wake.ms - d->now.mono.ms : 0;
        d->now.mono.ms += by;
        d->now.wall.ms += by;
        d->wake = TF_NEVER;
        driver_step(d, (struct sub_event){.kind = SUB_EV_TIMER});
    }
    d->now.wall.ms += end - d->now.mono.ms;
    d->now.mono.ms = end;
}

/* ---- life ---- */

static void copy_boot(struct sub_boot *to, const struct sub_boot *from)
{
    *to = *from;
    to->name = tf_strdup(from->name);
    to->region = tf_strdup(from->region);
    to->version = tf_strdup(from->version);
    to->engine = tf_strdup(from->engine);
    to->labels = (struct tf_pairs){0};
    to->planes = (struct tf_planes){0};
    to->policy = (struct tf_policy){0};
    tf_pairs_copy(&to->labels, &from->labels);
    tf_planes_copy(&to->planes, &from->planes);
    tf_policy_copy(&to->policy, &from->policy);
}

void driver_load(struct sub_driver *d)
{
    d->sub = sub_create(1);
    d->wake = TF_NEVER;
    d->continues = false;
    d->boot.owner_revision++;
    struct sub_event boot = {.kind = SUB_EV_BOOT};
    copy_boot(&boot.boot, &d->boot);
    driver_step(d, boot);
    for (size_t i = 0; i < d->store.count; i++) {
        struct sub_event event = {.kind = SUB_EV_RECORD};
        record_store_get(&d->store, i, &event.record);
        driver_step(d, event);
    }
    driver_step(d, (struct sub_event){.kind = SUB_EV_LOADED});
}

static void send_node(struct sub_driver *d, const struct tf_node *node)
{
    struct sub_event event = {.kind = SUB_EV_NODE};
    tf_node_copy(&event.node, node);
    driver_step(d, event);
}

static void send_instance(struct sub_driver *d, const struct fake_instance *instance, bool stopped)
{
    struct sub_event event = {.kind = SUB_EV_INSTANCE};
    event.instance.id = instance->id;
    event.instance.state = instance->state;
    event.instance.exit_code = instance->exit_code;
    event.instance.stopped = stopped;
    event.instance.node = tf_strdup(instance->node);
    event.instance.gpus = instance->gpus;
    event.instance.tenant = tf_strdup("t");
    event.instance.name = tf_strdup("stray");
    if (instance->state == SUB_INSTANCE_READY)
        tf_strs_add(&event.instance.ports, "http=31000");
    driver_step(d, event);
}

void driver_list(struct sub_driver *d)
{
    for (size_t i = 0; i < d->nodes.count; i++)
        send_node(d, &d->nodes.items[i]);
    for (size_t i = 0; i < d->instances.count; i++)
        if (d->instances.items[i].state != SUB_INSTANCE_NONE)
            send_instance(d, &d->instances.items[i], false);
    driver_step(d, (struct sub_event){.kind = SUB_EV_LISTED});
}

void driver_ready(struct sub_driver *d)
{
    driver_load(d);
    driver_list(d);
    driver_link(d, true);
    driver_set(d, NULL, 0);
    driver_pass(d, 500);
    driver_clear(d);
}

void driver_crash(struct sub_driver *d, bool lands)
{
    sub_destroy(d->sub);
    d->sub = NULL;
    if (lands)
        land(d);
    else
        drop_out(d);
    driver_load(d);
}

struct tf_node *driver_node(struct sub_driver *d, const char *name, const char *model, int32_t gpus)
{
    struct tf_node *node = tf_vec_add(&d->nodes);
    node->name = tf_strdup(name);
    node->address = tf_asprintf("10.0.0.%zu", d->nodes.count);
    node->model = tf_strdup(model);
    node->gpu_memory = model ? 80 * 1024 : 0;
    node->capacity = (struct tf_vector){gpus, 32, 64000, 256 * 1024};
    node->state = TF_NODE_READY;
    return node;
}

void driver_node_state(struct sub_driver *d, const char *name, enum tf_node_state state)
{
    tf_vec_each (node, &d->nodes) {
        if (!tf_str_eq(node->name, name))
            continue;
        node->state = state;
        send_node(d, node);
        return;
    }
}

/* ---- the leader ---- */

void driver_link(struct sub_driver *d, bool up)
{
    driver_step(d, (struct sub_event){.kind = up ? SUB_EV_LINK_UP : SUB_EV_LINK_DOWN});
}

static void send_down(struct sub_driver *d, struct tf_down down)
{
    down.term = d->term;
    struct sub_event event = {.kind = SUB_EV_DOWN, .down = down};
    driver_step(d, event);
}

void driver_set(struct sub_driver *d, struct tf_entry *entries, size_t count)
{
    struct tf_down begin = {.kind = TF_DOWN_BEGIN, .n = d->n = 1, .count = count};
    tf_policy_copy(&begin.policy, &d->boot.policy);
    send_down(d, begin);
    for (size_t i = 0; i < count; i++) {
        struct tf_down part = {.kind = TF_DOWN_PART, .n = 1};
        tf_vec_push(&part.entries, entries[i]);
        send_down(d, part);
    }
    send_down(d, (struct tf_down){.kind = TF_DOWN_END, .n = 1});
}

void driver_change(struct sub_driver *d, struct tf_entry entry)
{
    struct tf_down change = {.kind = TF_DOWN_CHANGE, .n = ++d->n};
    tf_vec_push(&change.entries, entry);
    send_down(d, change);
}

struct tf_entry driver_place_entry(uint8_t uid, uint64_t epoch, int32_t size, int32_t gpus)
{
    struct tf_entry entry = {.kind = TF_ENTRY_PLACE,
                             .uid = driver_uid(uid),
                             .epoch = epoch,
                             .size = size,
                             .tenant = tf_strdup("t"),
                             .name = tf_asprintf("j%d", uid),
                             .submitted = {1}};
    struct tf_job_spec *spec = tf_spec_own(&entry.spec);
    spec->priority = tf_strdup("mid");
    spec->workload = TF_WORKLOAD_INFERENCE;
    spec->elastic = (struct tf_elastic){size, size, size};
    spec->group.shape.gpus = gpus;
    spec->group.shape.cpu = 1000;
    spec->group.shape.memory = 1024;
    spec->group.grace = 30 * TF_SECOND;
    tf_strs_add(&spec->group.command, "work");
    spec->retry_limit = 2;
    spec->retry_backoff = 10 * TF_SECOND;
    tf_job_spec_fill(spec);
    return entry;
}

struct tf_entry driver_class_entry(uint8_t uid, uint64_t epoch, const char *class, int32_t size, int32_t gpus)
{
    struct tf_entry entry = driver_place_entry(uid, epoch, size, gpus);
    tf_str_set(&tf_spec_own(&entry.spec)->priority, class);
    return entry;
}

void driver_place(struct sub_driver *d, uint8_t uid, uint64_t epoch, int32_t size, int32_t gpus)
{
    driver_change(d, driver_place_entry(uid, epoch, size, gpus));
}

void driver_tell(struct sub_driver *d, enum tf_entry_kind kind, uint8_t uid, uint64_t epoch)
{
    driver_change(d, (struct tf_entry){
                         .kind = kind, .uid = driver_uid(uid), .epoch = epoch, .release = TF_RELEASE_DELETE});
}

/* ---- the engine ---- */

void driver_told(struct sub_driver *d, uint8_t uid, uint64_t epoch, uint32_t index, uint32_t attempt,
                 enum sub_instance_state state, int32_t exit_code, bool stopped)
{
    struct tf_instance_id id = {driver_uid(uid), epoch, index, attempt};
    struct fake_instance *instance = find(d, &id);
    struct fake_instance none = {.id = id, .state = state, .exit_code = exit_code};
    if (instance) {
        instance->state = state;
        instance->exit_code = exit_code;
        none = *instance;
    }
    send_instance(d, &none, stopped);
}

void driver_exits(struct sub_driver *d, uint8_t uid, uint64_t epoch, uint32_t index, uint32_t attempt,
                  int32_t code)
{
    driver_told(d, uid, epoch, index, attempt, SUB_INSTANCE_EXITED, code, false);
}

void driver_stopped(struct sub_driver *d, uint8_t uid, uint64_t epoch, uint32_t index, uint32_t attempt)
{
    driver_told(d, uid, epoch, index, attempt, SUB_INSTANCE_EXITED, 143, true);
}

void driver_checkpoint(struct sub_driver *d, uint8_t uid, uint64_t epoch, uint32_t index, uint32_t attempt)
{
    struct tf_instance_id id = {driver_uid(uid), epoch, index, attempt};
    driver_step(d, (struct sub_event){.kind = SUB_EV_CHECKPOINT, .checkpoint = id});
}

void driver_all_ready(struct sub_driver *d)
{
    for (size_t i = 0; i < d->instances.count; i++) {
        if (d->instances.items[i].state != SUB_INSTANCE_NONE)
            continue;
        d->instances.items[i].state = SUB_INSTANCE_READY;
        send_instance(d, &d->instances.items[i], false);
    }
}

void driver_stray(struct sub_driver *d, uint8_t uid, uint64_t epoch, uint32_t index, const char *node,
                  uint64_t gpus)
{
    struct fake_instance stray = {
        {driver_uid(uid), epoch, index, 1}, SUB_INSTANCE_READY, 0, tf_strdup(node), gpus};
    tf_vec_push(&d->instances, stray);
}

static void boot_two_nodes(struct sub_driver *d)
{
    driver_init(d);
    driver_node(d, "n1", "H800", 8);
    driver_node(d, "n2", "H800", 8);
}

void driver_two_nodes(struct sub_driver *d)
{
    boot_two_nodes(d);
    driver_ready(d);
}

void driver_two_frozen_nodes(struct sub_driver *d, enum tf_frozen what)
{
    boot_two_nodes(d);
    struct tf_freeze *freeze = tf_vec_add(&d->boot.policy.freezes);
    *freeze = (struct tf_freeze){.what = what, .since = d->now.wall};
    freeze->until.ms = d->now.wall.ms + TF_HOUR;
    driver_ready(d);
}

void driver_two_adopted_nodes(struct sub_driver *d)
{
    boot_two_nodes(d);
    driver_stray(d, 1, 5, 0, "n1", 0xff);
    driver_stray(d, 1, 5, 1, "n2", 0xff);
    driver_load(d);
    driver_list(d);
    driver_link(d, true);
    driver_clear(d);
}

/* ---- comparison ---- */

void driver_clear(struct sub_driver *d)
{
    tf_buf_clear(&d->log);
    tf_buf_clear(&d->traces);
}

bool driver_saw(struct sub_driver *d, const char *lines)
{
    bool same = strcmp(tf_buf_text(&d->log), lines) == 0;
    if (!same)
        printf("--- expected\n%s--- saw\n%s--- traces\n%s---\n", lines, tf_buf_text(&d->log),
               tf_buf_text(&d->traces));
    driver_clear(d);
    return same;
}

bool driver_traced(struct sub_driver *d, const char *lines)
{
    bool same = strcmp(tf_buf_text(&d->traces), lines) == 0;
    if (!same)
        printf("--- expected\n%s--- saw\n%s---\n", lines, tf_buf_text(&d->traces));
    driver_clear(d);
    return same;
}

const struct tf_allocation *driver_allocation(const struct sub_driver *d, uint8_t uid)
{
    return sub_allocation_find(d->sub, driver_uid(uid));
}

enum tf_allocation_phase driver_phase_of(const struct sub_driver *d, uint8_t uid)
{
    const struct tf_allocation *a = driver_allocation(d, uid);
    return a ? a->phase : TF_ALLOCATION_IDLE;
}

const struct tf_ended *driver_end_of(const struct sub_driver *d, uint8_t uid)
{
    const struct tf_allocation *a = driver_allocation(d, uid);
    return a && a->ended.count ? &a->ended.items[a->ended.count - 1] : NULL;
}

int32_t driver_count_in(const struct sub_driver *d, uint8_t uid, enum tf_member_state state)
{
    int32_t count = 0;
    tf_vec_each (m, &driver_allocation(d, uid)->members)
        count += m->state == state;
    return count;
}

int32_t driver_free_gpus(const struct sub_driver *d)
{
    int32_t sum = 0;
    for (size_t i = 0; i < sub_node_count(d->sub); i++)
        sum += tf_gpu_set_count(sub_node_at(d->sub, i).free_gpus);
    return sum;
}
