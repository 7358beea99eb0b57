/* SPDX-License-Identifier: Apache-2.0 */
/* What clients and subclusters say, made of words. */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "common/model/manifest.h"
#include "common/wire/attach.h"
#include "tests/support/fed_driver/lines.h"
#include "tests/support/suite.h"

#include <inttypes.h>
#include <stdio.h>

struct tf_uid drive_uid(uint64_t number)
{
    struct tf_uid uid = {{0}};
    for (size_t i = 0; i < 8; i++)
        uid.bytes[15 - i] = (uint8_t)(number >> (8 * i));
    return uid;
}

static void split_name(const char *job, char **tenant, char **name)
{
    const char *slash = strchr(job, '/');
    *tenant = tf_strndup(job, (size_t)(slash - job));
    *name = tf_strdup(slash + 1);
}

/* ---- submit ---- */

static int64_t number(const char *text)
{
    int64_t n = 0;
    struct tf_error err = TF_ERROR_INIT;
    if (tf_parse_int64(text, INT64_MIN, INT64_MAX, &n, &err)) {
        printf("\n%s\n", err.text);
        CU_FAIL_FATAL("a word of the test is not a number");
    }
    return n;
}

static void add_list(struct tf_strs *list, const char *text)
{
    while (*text) {
        size_t len = strcspn(text, "|");
        TF_AUTO_FREE char *item = tf_strndup(text, len);
        tf_strs_add(list, item);
        text += len + (text[len] == '|');
    }
}

static void add_rule(struct tf_job_spec *spec, const char *level, enum tf_topology_mode mode)
{
    struct tf_topology_rule rule = {.within = tf_strdup(level), .of = TF_TOPOLOGY_OF_JOB, .mode = mode};
    tf_vec_push(&spec->topology, rule);
}

static bool take_size(struct tf_job_spec *s, const char *key, const char *value)
{
    if (tf_str_eq(key, "n"))
        s->elastic =
            (struct tf_elastic){(int32_t)number(value), (int32_t)number(value), (int32_t)number(value)};
    else if (tf_str_eq(key, "min"))
        s->elastic.min = (int32_t)number(value);
    else if (tf_str_eq(key, "max"))
        s->elastic.max = (int32_t)number(value);
    else if (tf_str_eq(key, "step"))
        s->elastic.step = (int32_t)number(value);
    else if (tf_str_eq(key, "gpus"))
        s->group.shape.gpus = (int32_t)number(value);
    else if (tf_str_eq(key, "cpu"))
        s->group.shape.cpu = number(value);
    else if (tf_str_eq(key, "retries"))
        s->retry_limit = (int32_t)number(value);
    else if (tf_str_eq(key, "mem"))
        s->group.shape.memory = number(value);
    else
        return false;
    return true;
}

static bool take_time(struct tf_job_spec *s, const char *key, const char *value)
{
    if (tf_str_eq(key, "keep"))
        s->keep_finished = number(value);
    else if (tf_str_eq(key, "minrun"))
        s->min_runtime = number(value);
    else if (tf_str_eq(key, "maxrun"))
        s->max_runtime = number(value);
    else if (tf_str_eq(key, "expires"))
        s->reserve.expires = number(value);
    else
        return false;
    return true;
}

static bool take_place(struct tf_job_spec *s, const char *key, const char *value)
{
    if (tf_str_eq(key, "owner"))
        tf_str_set(&s->reserve.owner.job, value);
    else if (tf_str_eq(key, "for"))
        tf_str_set(&s->reserve.owner.selector, value);
    else if (tf_str_eq(key, "model"))
        add_list(&s->group.shape.gpu_models, value);
    else if (tf_str_eq(key, "clusters"))
        add_list(&s->clusters, value);
    else if (tf_str_eq(key, "regions"))
        add_list(&s->regions, value);
    else if (tf_str_eq(key, "within"))
        add_rule(s, value, TF_TOPOLOGY_REQUIRE);
    else if (tf_str_eq(key, "prefer"))
        add_rule(s, value, TF_TOPOLOGY_PREFER);
    else
        return false;
    return true;
}

static bool take_other(struct fed_submit *submit, const char *key, const char *value)
{
    struct tf_job_spec *s = &submit->manifest.spec;
    if (tf_str_eq(key, "uid"))
        submit->uid = drive_uid((uint64_t)number(value));
    else if (tf_str_eq(key, "prio"))
        tf_str_set(&s->priority, value);
    else if (tf_str_eq(key, "grow"))
        s->grow = tf_str_eq(value, "never") ? TF_GROW_NEVER : TF_GROW_CONTINUOUS;
    else if (tf_str_eq(key, "moves"))
        s->migration = tf_str_eq(value, "never") ? TF_MIGRATION_NEVER : TF_MIGRATION_RESTART;
    else if (tf_str_eq(key, "lost"))
        s->on_cluster_lost = tf_str_eq(value, "restart") ? TF_CLUSTER_LOST_RESTART : TF_CLUSTER_LOST_WAIT;
    else if (tf_str_eq(key, "node"))
        tf_pairs_set(&submit->manifest.spec.node_labels, value, "x");
    else if (tf_str_eq(key, "label"))
        tf_pairs_set(&submit->manifest.labels, "label", value);
    else if (tf_str_eq(key, "cmd"))
        tf_str_set(&s->group.command.items[0], value);
    else
        return false;
    return true;
}

static void take_word(struct fed_submit *submit, const char *word)
{
    struct tf_job_spec *s = &submit->manifest.spec;
    submit->apply |= tf_str_eq(word, "apply");
    submit->restart |= tf_str_eq(word, "restart");
    submit->dry_run |= tf_str_eq(word, "dry");
    const char *equals = strchr(word, '=');
    if (!equals)
        return;
    TF_AUTO_FREE char *key = tf_strndup(word, (size_t)(equals - word));
    const char *value = equals + 1;
    if (!take_size(s, key, value) && !take_time(s, key, value) && !take_place(s, key, value) &&
        !take_other(submit, key, value)) {
        printf("\n%s?\n", word);
        CU_FAIL_FATAL("an unknown word in a test's submit");
    }
}

static void take_words(struct fed_submit *submit, const char *words)
{
    while (*words) {
        size_t len = strcspn(words, " ");
        TF_AUTO_FREE char *word = tf_strndup(words, len);
        if (*word)
            take_word(submit, word);
        words += len + (words[len] == ' ');
    }
}

static void say_submit(const struct drive *d, const char *job, const char *words, struct fed_submit *submit)
{
    struct tf_job_manifest *m = &submit->manifest;
    tf_job_manifest_init(m);
    split_name(job, &m->tenant, &m->name);
    m->spec.priority = tf_strdup(d->settings.policy.classes.items[0].name);
    tf_strs_add(&m->spec.group.command, "run");
    take_words(submit, words);
}

void drive_manifest(const struct drive *d, const char *job, const char *words, struct tf_job_manifest *out)
{
    struct fed_submit submit = {0};
    say_submit(d, job, words, &submit);
    *out = submit.manifest;
}

uint64_t drive_submit(struct drive *d, const char *job, const char *words)
{
    struct fed_event event = {.kind = FED_EV_SUBMIT, .request = ++d->requests};
    event.submit.uid = drive_uid(d->requests);
    say_submit(d, job, words, &event.submit);
    if (tf_is_reservation(&event.submit.manifest.spec))
        tf_reservation_settle(&event.submit.manifest);
    drive_step(d, event);
    return d->requests;
}

/* ---- other requests ---- */

static struct fed_event job_event(struct drive *d, enum fed_event_kind kind, const char *job)
{
    struct fed_event event = {.kind = kind, .request = ++d->requests};
    split_name(job, &event.job.tenant, &event.job.name);
    return event;
}

uint64_t drive_job(struct drive *d, enum fed_event_kind kind, const char *job)
{
    drive_step(d, job_event(d, kind, job));
    return d->requests;
}

uint64_t drive_migrate(struct drive *d, const char *job, const char *to)
{
    return drive_migrate_as(d, job, to, NULL, NULL);
}

uint64_t drive_migrate_as(struct drive *d, const char *job, const char *to, const char *user,
                          const char *reason)
{
    struct fed_event event = job_event(d, FED_EV_MIGRATE, job);
    event.job.to = tf_strdup(to);
    event.job.abort = to == NULL;
    event.job.user = tf_strdup(user);
    event.job.reason = tf_strdup(reason);
    drive_step(d, event);
    return d->requests;
}

uint64_t drive_scale(struct drive *d, const char *job, struct tf_elastic elastic)
{
    struct fed_event event = job_event(d, FED_EV_SCALE, job);
    event.job.elastic = elastic;
    drive_step(d, event);
    return d->requests;
}

uint64_t drive_cluster(struct drive *d, enum fed_event_kind kind, const char *name, bool on)
{
    struct fed_event event = {.kind = kind, .request = ++d->requests};
    event.cluster.name = tf_strdup(name);
    event.cluster.reason = tf_strdup("for a test");
    event.cluster.on = on;
    drive_step(d, event);
    return d->requests;
}

uint64_t drive_freeze(struct drive *d, bool on, enum tf_frozen what, const char *cluster, int64_t lasts)
{
    struct fed_event event = {.kind = FED_EV_FREEZE, .request = ++d->requests};
    event.freeze.wanted.what = what;
    event.freeze.wanted.cluster = tf_strdup(cluster);
    event.freeze.wanted.reason = tf_strdup("test");
    event.freeze.lasts = lasts;
    event.freeze.on = on;
    drive_step(d, event);
    return d->requests;
}

uint64_t drive_barrier(struct drive *d)
{
    drive_step(d, (struct fed_event){.kind = FED_EV_BARRIER, .request = ++d->requests});
    return d->requests;
}

/* ---- subclusters ---- */

struct drive_cluster *drive_find(struct drive *d, const char *name)
{
    tf_vec_each (c, &d->clusters)
        if (tf_str_eq(c->name, name))
            return c;
    struct drive_cluster *c = tf_vec_add(&d->clusters);
    c->name = tf_strdup(name);
    c->owner = 1;
    return c;
}

void drive_hello(struct drive *d, const char *name, struct tf_hello hello)
{
    struct drive_cluster *c = drive_find(d, name);
    c->link = ++d->links;
    c->n = 0;
    tf_profile_release(&c->sent);
    drive_step(d, (struct fed_event){.kind = FED_EV_LINK_UP, .link = c->link, .hello = hello});
}

struct drive_cluster *drive_attach(struct drive *d, const char *name, const char *region)
{
    struct tf_hello hello = {.protocol = TF_PROTOCOL_VERSION,
                             .name = tf_strdup(name),
                             .region = tf_strdup(region),
                             .version = tf_strdup("0"),
                             .engine = tf_strdup("test"),
                             .owner_revision = drive_find(d, name)->owner};
    drive_hello(d, name, hello);
    return drive_find(d, name);
}

static void hang_up(struct drive *d, const char *name, bool left)
{
    struct drive_cluster *c = drive_find(d, name);
    uint64_t link = c->link;
    c->link = 0;
    drive_step(d, (struct fed_event){.kind = FED_EV_LINK_DOWN, .link = link, .left = left});
}

void drive_detach(struct drive *d, const char *name)
{
    hang_up(d, name, false);
}

void drive_leave(struct drive *d, const char *name)
{
    hang_up(d, name, true);
}

void drive_say(struct drive *d, const char *name, struct tf_up up)
{
    uint64_t link = drive_find(d, name)->link;
    TF_AUTO_BUF bytes = TF_BUF_INIT;
    struct tf_error err = TF_ERROR_INIT;
    struct tf_up read = {0};
    if (tf_wire_up_pack(&up, &bytes, &err) || tf_wire_up_unpack(bytes.data, bytes.len, &read, &err)) {
        printf("\n%s\n", err.text);
        CU_FAIL_FATAL("a message that cannot be sent up");
    }
    tf_up_release(&up);
    drive_step(d, (struct fed_event){.kind = FED_EV_UP, .link = link, .up = read});
}

/* One "4x8:H800@rdma-1"; or "core0:4x8", "protected3:4x8" with all of it held at that level; "half0:4x8":
 * half of it, by cores. */
static void add_row(struct tf_profile *p, const char *text)
{
    int nodes = 0, gpus = 0, rank = -1;
    unsigned long long uid = 0;
    char model[32] = "", domain[32] = "";
    bool protected = sscanf(text, "protected%d:", &rank) == 1;
    bool reserved = sscanf(text, "reserved%llu:", &uid) == 1;
    bool half = sscanf(text, "half%d:", &rank) == 1;
    rank = reserved ? TF_CLASSES_MAX - 1 : rank;
    if (reserved || protected || half || sscanf(text, "core%d:", &rank) == 1)
        text = strchr(text, ':') + 1;
    int got = sscanf(text, "%dx%d:%31[^@ ]@%31[^ ]", &nodes, &gpus, model, domain);
    CU_ASSERT_FATAL(got >= 2);
    struct tf_node_class *class = tf_vec_add(&p->classes);
    class->model = gpus ? tf_strdup(*model ? model : "H800") : NULL;
    class->gpu_memory = gpus ? 80 * 1024 : 0;
    tf_strs_add(&class->domains, domain);
    struct tf_profile_row *row = tf_vec_add(&p->rows);
    row->id = (uint32_t)p->rows.count - 1;
    row->class = (uint32_t)p->classes.count - 1;
    row->count = nodes;
    row->claim_rank = -1;
    int32_t parts = gpus ? gpus : 1;
    struct tf_level_vector free_now = {
        TF_LEVEL_FREE, {.gpus = gpus, .slots = 64, .cpu = parts * 16000, .memory = parts * 128 * 1024}};
    if (rank >= 0) {
        struct tf_level_vector left = {.level = TF_LEVEL_FREE};
        if (half)
            left.have = (struct tf_vector){.gpus = gpus / 2, .slots = 32, .cpu = 64000, .memory = 512 * 1024};
        tf_vec_push(&row->levels, left);
        free_now.level = protected ? tf_level_protected(rank) : tf_level_core(rank);
    }
    if (reserved)
        tf_vec_push(&row->reserved, (struct tf_reserved){drive_uid(uid), free_now.level, free_now.have});
    tf_vec_push(&row->levels, free_now);
    p->health.nodes += nodes;
    p->health.ready += nodes;
    p->health.gpus += nodes * gpus;
}

/* "price0:600": what cores of rank 0 hold has run for 600 s. */
static bool add_price(const struct drive *d, struct tf_profile *p, const char *text)
{
    int rank = 0, seconds = 0;
    if (sscanf(text, "price%d:%d", &rank, &seconds) != 2)
        return false;
    struct tf_level_cost cost = {.level = tf_level_core(rank), .gpus = 64};
    cost.since.ms = d->now.wall.ms - (int64_t)seconds * TF_SECOND;
    tf_vec_push(&p->costs, cost);
    p->loss_cap = 2 * TF_HOUR;
    return true;
}

/* "short1:7:3:2": of job #7, of rank 1, 3 instances are missing, and 2 of them fit. */
static bool add_short(struct tf_profile *p, const char *text)
{
    int rank = 0, missing = 0, fits = 0;
    unsigned uid = 0;
    if (sscanf(text, "short%d:%u:%d:%d", &rank, &uid, &missing, &fits) != 4)
        return false;
    struct tf_short_demand demand = {drive_uid(uid), rank, missing, fits};
    tf_vec_push(&p->shorts, demand);
    return true;
}

/* "moves2:8:40": 2 nodes of 8 GPUs of the first class could be freed by moves, the cheapest for 40
 * GPU-seconds; "moving:rec/x": such moves are being made for that job; "emptied2:8:rec/x": 2 nodes of 8 GPUs
 * of the first class are emptied for that job, or for "-", by a chain of its own. */
static bool add_moves(struct tf_profile *p, const char *text)
{
    int nodes = 0, gpus = 0, cost = 0;
    char job[64];
    if (sscanf(text, "moving:%63s", job) == 1) {
        tf_strs_add(&p->moving_for, job);
        return true;
    }
    if (sscanf(text, "emptied%d:%d:%63s", &nodes, &gpus, job) == 3) {
        struct tf_emptying e = {
            .chain = {{0xe0, (uint8_t)p->emptying.count}},
            .owner = strcmp(job, "-") == 0 ? NULL : tf_strdup(job),
            .nodes = nodes,
            .room = {.gpus = gpus, .slots = 64, .cpu = gpus * 16000, .memory = gpus * 128 * 1024}};
        tf_vec_push(&p->emptying, e);
        return true;
    }
    if (sscanf(text, "moves%d:%d:%d", &nodes, &gpus, &cost) != 3)
        return false;
    struct tf_vacatable freed = {
        .nodes = nodes,
        .cost = cost,
        .room = {.gpus = gpus, .slots = 64, .cpu = gpus * 16000, .memory = gpus * 128 * 1024}};
    tf_vec_push(&p->vacatable, freed);
    return true;
}

static struct tf_profile make_profile(struct drive *d, struct drive_cluster *c, const char *rows)
{
    struct tf_profile p = {.full = true, .reflects_term = d->term};
    struct tf_plane plane = {.name = tf_strdup("parameter")};
    tf_strs_add(&plane.levels, "pod");
    tf_vec_push(&p.planes, plane);
    p.generation = p.base = (struct tf_generation){c->owner, ++c->counter};
    while (*rows) {
        size_t len = strcspn(rows, " ");
        TF_AUTO_FREE char *row = tf_strndup(rows, len);
        if (!add_price(d, &p, row) && !add_short(&p, row) && !add_moves(&p, row))
            add_row(&p, row);
        rows += len + (rows[len] == ' ');
    }
    p.health.free_gpus = d->counts_free ? p.health.gpus : 0;
    return p;
}

void drive_profile_at(struct drive *d, const char *name, const char *rows, uint64_t reflects_n)
{
    struct drive_cluster *c = drive_find(d, name);
    bool delta = d->deltas && c->sent.full;
    struct tf_up up = {.kind = TF_UP_PROFILE};
    struct tf_profile profile = make_profile(d, c, rows);
    profile.reflects_n = reflects_n;
    if (delta)
        tf_profile_diff(&c->sent, &profile, &up.profile);
    else
        tf_profile_copy(&up.profile, &profile);
    tf_profile_release(&c->sent);
    c->sent = profile;
    drive_say(d, name, up);
}

void drive_profile(struct drive *d, const char *name, const char *rows)
{
    drive_profile_at(d, name, rows, drive_find(d, name)->n);
}

void drive_cluster_up(struct drive *d, const char *name, const char *rows)
{
    drive_attach(d, name, "north");
    drive_profile(d, name, rows);
    tf_buf_clear(&d->log);
}

/* ---- reports ---- */

static struct tf_report make_report(const struct drive *d, uint64_t uid, uint64_t epoch)
{
    struct tf_report r = {.uid = drive_uid(uid), .epoch = epoch};
    const struct tf_job_record *job = fed_job_find_uid(d->fed, r.uid);
    r.tenant = tf_strdup(job ? job->tenant : "gone");
    r.name = tf_strdup(job ? job->name : "gone");
    if (job)
        tf_vec_each (p, &job->placements)
            if (p->epoch == epoch)
                r.size = p->size;
    return r;
}

void drive_report(struct drive *d, const char *cluster, uint64_t uid, uint64_t epoch, enum tf_phase phase,
                  int32_t ready)
{
    struct tf_report r = make_report(d, uid, epoch);
    r.phase = phase;
    r.ready = ready;
    r.accepted.ms = d->now.wall.ms;
    if (phase == TF_PHASE_RUNNING)
        r.started.ms = d->now.wall.ms;
    drive_say(d, cluster, (struct tf_up){.kind = TF_UP_REPORT, .report = r});
}

void drive_answer(struct drive *d, const char *cluster, uint64_t uid, uint64_t epoch, uint64_t successor,
                  bool promised)
{
    struct tf_report r = make_report(d, uid, epoch);
    r.phase = TF_PHASE_RUNNING;
    r.ready = r.size;
    r.accepted.ms = r.started.ms = d->now.wall.ms;
    *(promised ? &r.successor : &r.declined) = successor;
    drive_say(d, cluster, (struct tf_up){.kind = TF_UP_REPORT, .report = r});
}

void drive_ended(struct drive *d, const char *cluster, uint64_t uid, uint64_t epoch, struct tf_ended ended)
{
    struct tf_report r = make_report(d, uid, epoch);
    r.ended.epoch = epoch;
    tf_ended_copy(&r.ended, &ended);
    r.ended.epoch = epoch;
    drive_say(d, cluster, (struct tf_up){.kind = TF_UP_REPORT, .report = r});
}

void drive_end(struct drive *d, const char *cluster, uint64_t uid, uint64_t epoch, enum tf_end end)
{
    drive_ended(d, cluster, uid, epoch, (struct tf_ended){.end = end, .at = d->now.wall});
}

void drive_listed(struct drive *d, const char *cluster)
{
    drive_say(d, cluster, (struct tf_up){.kind = TF_UP_LISTED});
}

/* ---- what is seen ---- */

const struct tf_job_record *drive_record(const struct drive *d, const char *job)
{
    TF_AUTO_FREE char *tenant = NULL;
    TF_AUTO_FREE char *name = NULL;
    split_name(job, &tenant, &name);
    return fed_job_find(d->fed, tenant, name);
}

const char *drive_phase(struct drive *d, const char *job)
{
    static char text[200];
    const struct tf_job_record *r = drive_record(d, job);
    if (!r)
        return "none";
    int len = snprintf(text, sizeof text, "%s", tf_phase_name(r->phase));
    tf_vec_each (p, &r->placements)
        len += snprintf(text + len, sizeof text - (size_t)len, " in %s e%" PRIu64 " x%d", p->cluster,
                        p->epoch, p->size);
    return text;
}
