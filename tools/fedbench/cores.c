/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/fedbench/cores.h"

#include "common/base/alloc.h"
#include "common/wire/attach.h"

enum { INTERVAL_MS = 500, BUDGET = 1000000 };

void core_job_spec(struct tf_job_spec *spec, const char *priority)
{
    struct tf_job_manifest manifest;
    tf_job_manifest_init(&manifest);
    tf_str_set(&manifest.spec.priority, priority);
    manifest.spec.elastic = (struct tf_elastic){1, 1, 1};
    manifest.spec.group.shape.gpus = 1;
    manifest.spec.group.shape.cpu = 1000;
    manifest.spec.group.shape.memory = 1024;
    tf_strs_add(&manifest.spec.group.command, "work");
    tf_job_spec_fill(&manifest.spec);
    *spec = manifest.spec;
    manifest.spec = (struct tf_job_spec){0};
    tf_job_manifest_release(&manifest);
}

double core_cpu_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* ---- subcluster ---- */

static void later(struct core_sub *s, struct sub_event event)
{
    tf_vec_push(&s->waiting, event);
}

static void after(struct core_sub *s, int64_t ms, struct sub_event event)
{
    if (ms > 0)
        tf_vec_push(&s->late, (struct core_late){{s->now.mono.ms + ms}, event});
    else
        later(s, event);
}

static void start(struct core_sub *s, const struct sub_start *start)
{
    s->starts++;
    after(s, s->start_ms,
          (struct sub_event){.kind = SUB_EV_INSTANCE,
                             .instance = {.id = start->id, .state = SUB_INSTANCE_READY}});
}

static void stop(struct core_sub *s, const struct tf_instance_id *id, int64_t delay)
{
    after(s, s->stop_ms ? s->stop_ms + delay : 0,
          (struct sub_event){
              .kind = SUB_EV_INSTANCE,
              .instance = {.id = *id, .state = SUB_INSTANCE_EXITED, .stopped = true, .exit_code = 143}});
}

static void sent(struct core_sub *s, const struct tf_up *up)
{
    struct tf_error err = TF_ERROR_INIT;
    s->refused += up->kind == TF_UP_REPORT && up->report.ended.end == TF_END_REFUSED;
    if (up->kind != TF_UP_PROFILE)
        return;
    tf_buf_clear(&s->profile);
    if (tf_wire_up_pack(up, &s->profile, &err))
        fprintf(stderr, "fedbench: a profile cannot be packed: %s\n", err.text);
    s->rows = up->profile.rows.count;
    s->full = up->profile.full;
    s->profiles++;
}

static void perform(struct core_sub *s, const struct sub_action *action)
{
    switch (action->kind) {
    case SUB_ACT_PERSIST:
        s->commits++;
        after(s, s->commit_ms, (struct sub_event){.kind = SUB_EV_COMMITTED});
        break;
    case SUB_ACT_SEND:
        sent(s, &action->send);
        break;
    case SUB_ACT_START:
        start(s, &action->start);
        break;
    case SUB_ACT_STOP:
        stop(s, &action->stop.id, action->stop.stop_delay);
        break;
    case SUB_ACT_WAKE:
        s->wake = action->wake;
        break;
    case SUB_ACT_CONTINUE:
        later(s, (struct sub_event){.kind = SUB_EV_CONTINUE});
        break;
    default:
        break;
    }
}

static void feed(struct core_sub *s, struct sub_event event)
{
    later(s, event);
    for (size_t i = 0; i < s->waiting.count; i++) {
        struct sub_event next = s->waiting.items[i];
        struct sub_actions actions = {0};
        double began = core_cpu_us();
        sub_step(s->sub, s->now, &next, &actions);
        double took = core_cpu_us() - began;
        s->cpu_us += took;
        s->longest_us = took > s->longest_us ? took : s->longest_us;
        for (size_t a = 0; a < actions.count; a++)
            perform(s, &actions.items[a]);
        sub_actions_release(&actions);
    }
    s->waiting.count = 0;
}

static void boot(struct core_sub *s, const struct tf_classes *classes)
{
    struct sub_event event = {.kind = SUB_EV_BOOT};
    event.boot.name = tf_strdup("bench");
    event.boot.region = tf_strdup("");
    event.boot.version = tf_strdup("bench");
    event.boot.engine = tf_strdup("none");
    event.boot.owner_revision = 1;
    event.boot.capabilities = TF_CAP_NAMES_GPUS;
    event.boot.profile_interval = INTERVAL_MS;
    event.boot.decision_budget = BUDGET;
    event.boot.loss_cap = 2 * TF_HOUR;
    tf_policy_init(&event.boot.policy);
    tf_classes_release(&event.boot.policy.classes);
    tf_classes_copy(&event.boot.policy.classes, classes);
    feed(s, event);
}

static void down(struct core_sub *s, struct tf_down message)
{
    message.term = s->term;
    feed(s, (struct sub_event){.kind = SUB_EV_DOWN, .down = message});
}

void core_sub_node(struct core_sub *s, const struct tf_node *node, enum tf_node_state state)
{
    struct sub_event event = {.kind = SUB_EV_NODE};
    tf_node_copy(&event.node, node);
    event.node.state = state;
    feed(s, event);
}

/* As many shapes as a leader tells at most: 1 to 8 GPUs, 1 to 64 instances. */
static void add_mix(struct tf_policy *policy)
{
    for (int32_t i = 0; i < 32; i++) {
        struct tf_shape_asked *shape = tf_vec_add(&policy->shapes);
        *shape = (struct tf_shape_asked){.instances = 1, .waits = true};
        struct tf_job_spec *spec = tf_spec_own(&shape->spec);
        spec->priority = tf_strdup(policy->classes.items[0].name);
        spec->group.shape.gpus = 1 << i % 4;
        spec->elastic.min = spec->elastic.step = 1 << i / 4 % 7;
        spec->group.shape.cpu = 1000 * i;
    }
}

void core_sub_open(struct core_sub *s, const struct tf_node *nodes, size_t count,
                   const struct tf_classes *classes)
{
    *s = (struct core_sub){.now = {{1000}, {INT64_C(1700000000000)}}, .term = {1, 1}, .wake = TF_NEVER};
    s->sub = sub_create(1);
    boot(s, classes);
    feed(s, (struct sub_event){.kind = SUB_EV_LOADED});
    for (size_t i = 0; i < count; i++)
        core_sub_node(s, &nodes[i], TF_NODE_READY);
    feed(s, (struct sub_event){.kind = SUB_EV_LISTED});
    feed(s, (struct sub_event){.kind = SUB_EV_LINK_UP});
    struct tf_down begin = {.kind = TF_DOWN_BEGIN, .n = s->n = 1};
    tf_policy_init(&begin.policy);
    tf_classes_release(&begin.policy.classes);
    tf_classes_copy(&begin.policy.classes, classes);
    begin.policy.version = 1;
    add_mix(&begin.policy);
    down(s, begin);
    down(s, (struct tf_down){.kind = TF_DOWN_END, .n = 1});
    core_sub_pass(s, INTERVAL_MS);
}

void core_sub_close(struct core_sub *s)
{
    sub_destroy(s->sub);
    tf_vec_release(&s->waiting);
    tf_vec_release(&s->late);
    tf_buf_release(&s->profile);
}

static struct tf_uid uid_of(uint64_t number)
{
    struct tf_uid uid = {{1}};
    memcpy(uid.bytes + 8, &number, sizeof number);
    return uid;
}

static void change(struct core_sub *s, struct tf_entry entry)
{
    struct tf_down message = {.kind = TF_DOWN_CHANGE, .n = ++s->n};
    tf_vec_push(&message.entries, entry);
    down(s, message);
}

uint64_t core_sub_place(struct core_sub *s, struct tf_job_spec *spec, int32_t size)
{
    struct tf_entry entry = {.kind = TF_ENTRY_PLACE,
                             .uid = uid_of(++s->epoch),
                             .epoch = s->epoch,
                             .tenant = tf_strdup("bench"),
                             .name = tf_asprintf("job-%llu", (unsigned long long)s->epoch),
                             .spec = tf_spec_share(spec),
                             .size = size,
                             .level = s->level,
                             .submitted = s->now.wall};
    change(s, entry);
    return s->epoch;
}

void core_sub_release(struct core_sub *s, uint64_t epoch)
{
    change(s,
           (struct tf_entry){
               .kind = TF_ENTRY_RELEASE, .uid = uid_of(epoch), .epoch = epoch, .release = TF_RELEASE_DELETE});
    change(s, (struct tf_entry){.kind = TF_ENTRY_STORED, .uid = uid_of(epoch), .epoch = epoch});
}

void core_sub_want_full(struct core_sub *s)
{
    down(s, (struct tf_down){.kind = TF_DOWN_WANT_PROFILE, .n = s->n});
}

void core_sub_pass(struct core_sub *s, int64_t ms)
{
    s->now.mono.ms += ms;
    s->now.wall.ms += ms;
    feed(s, (struct sub_event){.kind = SUB_EV_TIMER});
}

static int64_t next_late(const struct core_sub *s)
{
    int64_t next = s->wake.ms;
    tf_vec_each (late, &s->late)
        next = late->due.ms < next ? late->due.ms : next;
    return next;
}

static void come(struct core_sub *s)
{
    for (size_t i = 0; i < s->late.count;) {
        struct core_late late = s->late.items[i];
        if (late.due.ms > s->now.mono.ms) {
            i++;
            continue;
        }
        tf_vec_remove(&s->late, i);
        feed(s, late.event);
        i = 0; /* what it led to may be due before the others */
    }
}

void core_sub_live(struct core_sub *s, int64_t ms)
{
    int64_t end = s->now.mono.ms + ms;
    for (int64_t next; (next = next_late(s)) <= end;) {
        bool wakes = next == s->wake.ms;
        int64_t step = next > s->now.mono.ms ? next - s->now.mono.ms : 0;
        s->now.mono.ms += step;
        s->now.wall.ms += step;
        come(s);
        if (wakes && s->wake.ms <= s->now.mono.ms) {
            s->wake = TF_NEVER;
            feed(s, (struct sub_event){.kind = SUB_EV_TIMER});
        }
    }
    s->now.wall.ms += end - s->now.mono.ms;
    s->now.mono.ms = end;
}

void core_sub_ask(struct core_sub *s, struct tf_ask ask)
{
    down(s, (struct tf_down){.kind = TF_DOWN_ASK, .ask = ask});
}

/* ---- federation ---- */

enum { LINK = 1 };

static void step(struct core_fed *f, struct fed_event event)
{
    do {
        struct fed_actions actions = {0};
        f->committing = false;
        fed_step(f->fed, f->now, &event, &actions);
        for (size_t i = 0; i < actions.count; i++) {
            const struct fed_action *action = &actions.items[i];
            f->committing |= action->kind == FED_ACT_PERSIST;
            f->refused += action->kind == FED_ACT_REPLY && action->reply.error.code != TF_OK;
        }
        fed_actions_release(&actions);
        event = (struct fed_event){.kind = FED_EV_COMMITTED};
    } while (f->committing);
}

void core_fed_open(struct core_fed *f)
{
    *f = (struct core_fed){.now = {{1000}, {INT64_C(1700000000000)}}};
    f->fed = fed_create(1);
    struct fed_event boot_event = {.kind = FED_EV_BOOT, .boot = {.term = {1, 1}}};
    tf_settings_init(&boot_event.boot.settings);
    step(f, boot_event);
    step(f, (struct fed_event){.kind = FED_EV_LOADED});
    struct tf_hello hello = {.protocol = TF_PROTOCOL_VERSION,
                             .name = tf_strdup("bench"),
                             .region = tf_strdup(""),
                             .version = tf_strdup("bench"),
                             .engine = tf_strdup("none"),
                             .owner_revision = 1,
                             .capabilities = TF_CAP_NAMES_GPUS};
    step(f, (struct fed_event){.kind = FED_EV_LINK_UP, .link = LINK, .hello = hello});
}

void core_fed_close(struct core_fed *f)
{
    fed_destroy(f->fed);
}

void core_fed_submit(struct core_fed *f, uint64_t number, struct tf_job_spec *spec)
{
    struct fed_event event = {.kind = FED_EV_SUBMIT, .request = number};
    f->now.mono.ms++;
    f->now.wall.ms++;
    tf_job_manifest_init(&event.submit.manifest);
    tf_job_spec_release(&event.submit.manifest.spec);
    event.submit.uid = uid_of(number);
    event.submit.manifest.tenant = tf_strdup("bench");
    event.submit.manifest.name = tf_asprintf("job-%llu", (unsigned long long)number);
    event.submit.manifest.spec = *spec;
    *spec = (struct tf_job_spec){0};
    step(f, event);
}

double core_fed_take(struct core_fed *f, const struct tf_buf *bytes)
{
    struct tf_error err = TF_ERROR_INIT;
    struct fed_event event = {.kind = FED_EV_UP, .link = LINK};
    f->now.mono.ms += INTERVAL_MS;
    f->now.wall.ms += INTERVAL_MS;
    double began = core_cpu_us();
    if (tf_wire_up_unpack(bytes->data, bytes->len, &event.up, &err)) {
        fprintf(stderr, "fedbench: a profile cannot be read: %s\n", err.text);
        return -1;
    }
    step(f, event);
    return core_cpu_us() - began;
}
