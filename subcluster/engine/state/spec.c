/* SPDX-License-Identifier: Apache-2.0 */
/* The start spec in memory and as a record; the words of engine.h. */
#include "subcluster/engine/state/spec.h"

#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "subcluster/engine/state/record.h"

#include <inttypes.h>

enum {
    WORDS_MAX = 65536, /* arguments, environment entries */
    DAY = 24 * TF_HOUR,
};

static const char *const cause_names[] = {
    [TF_CAUSE_NONE] = "none",
    [TF_CAUSE_ENDED] = "ended",
    [TF_CAUSE_STOPPED] = "stopped",
    [TF_CAUSE_FENCED] = "fenced",
    [TF_CAUSE_NOT_READY] = "not-ready",
    [TF_CAUSE_CANNOT_START] = "cannot-start",
    [TF_CAUSE_NEVER_STARTED] = "never-started",
    [TF_CAUSE_NODE_LOST] = "node-lost",
    [TF_CAUSE_SHIM_DIED] = "shim-died",
    [TF_CAUSE_REBOOTED] = "rebooted",
};

const char *tf_engine_cause_name(enum tf_engine_cause cause)
{
    return (size_t)cause < TF_ARRAY_LEN(cause_names) ? cause_names[cause] : "?";
}

int tf_engine_cause_parse(const char *word)
{
    for (size_t i = 0; i < TF_ARRAY_LEN(cause_names); i++)
        if (tf_str_eq(word, cause_names[i]))
            return (int)i;
    return -1;
}

void tf_engine_spec_release(struct tf_engine_spec *spec)
{
    if (!spec)
        return;
    free(spec->tenant);
    free(spec->name);
    free(spec->node);
    free(spec->image);
    free(spec->resize_signal);
    tf_strs_release(&spec->shape.gpu_models);
    tf_strs_release(&spec->command);
    tf_pairs_release(&spec->env);
    tf_strs_release(&spec->ports);
    tf_strs_release(&spec->ready.command);
    *spec = (struct tf_engine_spec){0};
}

void tf_engine_spec_copy(struct tf_engine_spec *to, const struct tf_engine_spec *from)
{
    tf_engine_spec_release(to);
    *to = *from;
    to->tenant = tf_strdup(from->tenant);
    to->name = tf_strdup(from->name);
    to->node = tf_strdup(from->node);
    to->image = tf_strdup(from->image);
    to->resize_signal = tf_strdup(from->resize_signal);
    to->shape.gpu_models = (struct tf_strs){0};
    tf_strs_copy(&to->shape.gpu_models, &from->shape.gpu_models);
    to->command = to->ports = to->ready.command = (struct tf_strs){0};
    tf_strs_copy(&to->command, &from->command);
    tf_strs_copy(&to->ports, &from->ports);
    tf_strs_copy(&to->ready.command, &from->ready.command);
    to->env = (struct tf_pairs){0};
    tf_pairs_copy(&to->env, &from->env);
}

void tf_shim_spec_release(struct tf_shim_spec *spec)
{
    tf_engine_spec_release(&spec->start);
    free(spec->work_dir);
    *spec = (struct tf_shim_spec){0};
}

static void put_id(struct tf_buf *out, const struct tf_instance_id *id)
{
    char uid[TF_UID_TEXT];
    tf_uid_format(id->uid, uid);
    tf_record_put(out, "uid", uid);
    tf_buf_fmt(out, "epoch %" PRIu64 "\n", id->epoch);
    tf_record_put_int(out, "index", id->index);
    tf_record_put_int(out, "attempt", id->attempt);
}

static void put_list(struct tf_buf *out, const char *key, const struct tf_strs *list)
{
    for (size_t i = 0; i < list->count; i++)
        tf_record_put(out, key, list->items[i]);
}

static void put_start(struct tf_buf *out, const struct tf_engine_spec *s)
{
    put_id(out, &s->id);
    tf_record_put(out, "tenant", s->tenant ? s->tenant : "");
    tf_record_put(out, "name", s->name ? s->name : "");
    tf_record_put(out, "node", s->node ? s->node : "");
    tf_buf_fmt(out, "gpus %" PRIx64 "\n", s->gpus);
    tf_record_put_int(out, "rank", s->rank);
    tf_record_put_int(out, "size", s->size);
    tf_record_put_int(out, "grace", s->grace);
    if (s->resize_signal)
        tf_record_put(out, "resize-signal", s->resize_signal);
    put_list(out, "command", &s->command);
    for (size_t i = 0; i < s->env.count; i++) {
        tf_record_put(out, "env", s->env.items[i].key);
        tf_record_put(out, "env-value", s->env.items[i].value);
    }
    put_list(out, "port", &s->ports);
    put_list(out, "ready-command", &s->ready.command);
    tf_record_put_int(out, "ready-period", s->ready.period);
    tf_record_put_int(out, "ready-timeout", s->ready.timeout);
}

int tf_shim_spec_save(int folder, const struct tf_shim_spec *spec, struct tf_error *err)
{
    TF_AUTO_BUF out = TF_BUF_INIT;
    put_start(&out, &spec->start);
    tf_buf_fmt(&out, "owner %" PRIu64 "\n", spec->owner);
    tf_record_put_int(&out, "output-limit", spec->output_limit);
    tf_record_put_int(&out, "files-limit", spec->files_limit);
    tf_record_put_int(&out, "port-low", spec->port_low);
    tf_record_put_int(&out, "port-high", spec->port_high);
    tf_record_put_int(&out, "cgroup", spec->cgroup);
    tf_record_put(&out, "work-dir", spec->work_dir ? spec->work_dir : "/");
    return tf_record_save(folder, "spec", &out, false, err);
}

/* One row a key: what it is and where it goes. */
enum kind { NUMBER32, NUMBER64, HEX64, TEXT, LIST, FLAG };
struct row {
    const char *key;
    enum kind kind;
    size_t offset;
    int64_t low, high;
};
#define START(member) offsetof(struct tf_shim_spec, start.member)
#define OWN(member) offsetof(struct tf_shim_spec, member)

static const struct row rows[] = {
    {"epoch", NUMBER64, START(id.epoch), 0, INT64_MAX},
    {"index", NUMBER32, START(id.index), 0, TF_INSTANCES_MAX - 1},
    {"attempt", NUMBER32, START(id.attempt), 1, INT32_MAX},
    {"tenant", TEXT, START(tenant), 0, 0},
    {"name", TEXT, START(name), 0, 0},
    {"node", TEXT, START(node), 0, 0},
    {"gpus", HEX64, START(gpus), 0, 0},
    {"rank", NUMBER32, START(rank), 0, TF_INSTANCES_MAX - 1},
    {"size", NUMBER32, START(size), 0, TF_INSTANCES_MAX},
    {"grace", NUMBER64, START(grace), 0, 30LL * DAY},
    {"resize-signal", TEXT, START(resize_signal), 0, 0},
    {"command", LIST, START(command), 0, 0},
    {"port", LIST, START(ports), 0, 0},
    {"ready-command", LIST, START(ready.command), 0, 0},
    {"ready-period", NUMBER64, START(ready.period), 0, 30LL * DAY},
    {"ready-timeout", NUMBER64, START(ready.timeout), 0, 30LL * DAY},
    {"owner", NUMBER64, OWN(owner), 0, INT64_MAX},
    {"output-limit", NUMBER64, OWN(output_limit), 1024, INT64_C(1) << 40},
    {"files-limit", NUMBER32, OWN(files_limit), 0, INT32_MAX},
    {"port-low", NUMBER32, OWN(port_low), 0, 65535},
    {"port-high", NUMBER32, OWN(port_high), 0, 65535},
    {"cgroup", FLAG, OWN(cgroup), 0, 1},
    {"work-dir", TEXT, OWN(work_dir), 0, 0},
};

static int add_word(struct tf_strs *list, const char *value)
{
    if (list->count >= WORDS_MAX)
        return -1;
    tf_strs_add(list, value);
    return 0;
}

static int read_hex(const char *value, uint64_t *out)
{
    char *end = NULL;
    *out = strtoull(value, &end, 16);
    return *value && !*end ? 0 : -1;
}

static int fill(const struct row *row, const char *value, struct tf_shim_spec *spec)
{
    char *at = (char *)spec + row->offset;
    int64_t n = 0;
    switch (row->kind) {
    case TEXT:
        tf_str_set((char **)(void *)at, value);
        return 0;
    case LIST:
        return add_word((struct tf_strs *)(void *)at, value);
    case HEX64:
        return read_hex(value, (uint64_t *)(void *)at);
    case NUMBER32:
    case NUMBER64:
    case FLAG:
        break;
    }
    if (!tf_record_int(value, row->low, row->high, &n))
        return -1;
    if (row->kind == NUMBER64)
        *(int64_t *)(void *)at = n;
    else if (row->kind == NUMBER32)
        *(int32_t *)(void *)at = (int32_t)n;
    else
        *(bool *)(void *)at = n != 0;
    return 0;
}

static int set(struct tf_shim_spec *spec, char **env_key, const char *key, const char *value)
{
    if (tf_str_eq(key, "uid"))
        return tf_uid_parse(value, &spec->start.id.uid, NULL);
    if (tf_str_eq(key, "env")) {
        tf_str_set(env_key, value);
        return spec->start.env.count < WORDS_MAX ? 0 : -1;
    }
    if (tf_str_eq(key, "env-value")) {
        if (!*env_key)
            return -1;
        tf_pairs_set(&spec->start.env, *env_key, value);
        return 0;
    }
    for (size_t i = 0; i < TF_ARRAY_LEN(rows); i++)
        if (tf_str_eq(rows[i].key, key))
            return fill(&rows[i], value, spec);
    return 0; /* a newer daemon's key */
}

static int check(const struct tf_shim_spec *spec, struct tf_error *err)
{
    if (spec->start.command.count == 0)
        return tf_error_set(err, TF_ERR_INVALID, "the record spec has no command");
    if (spec->start.ports.count > TF_ENGINE_PORTS_MAX)
        return tf_error_set(err, TF_ERR_INVALID, "the record spec has more than %d ports",
                            TF_ENGINE_PORTS_MAX);
    if (spec->output_limit == 0 || !spec->work_dir)
        return tf_error_set(err, TF_ERR_INVALID, "the record spec lacks output-limit or work-dir");
    return 0;
}

int tf_shim_spec_load(int folder, struct tf_shim_spec *spec, struct tf_error *err)
{
    struct tf_record_reader record = {0};
    if (tf_record_load(folder, "spec", &record, err))
        return -1;
    *spec = (struct tf_shim_spec){0};
    TF_AUTO_FREE char *env_key = NULL;
    const char *key, *value;
    int rc = 0;
    while (!rc && tf_record_next(&record, &key, &value))
        if (set(spec, &env_key, key, value))
            rc = tf_error_set(err, TF_ERR_INVALID, "the record spec: bad value of %.40s: \"%.60s\"", key,
                              value);
    tf_record_reader_release(&record);
    if (!rc)
        rc = check(spec, err);
    if (rc)
        tf_shim_spec_release(spec);
    return rc;
}
