/* SPDX-License-Identifier: Apache-2.0 */
/* Owns how instances are listed. */
#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "tools/fedctl/resource.h"
#include "tools/fedctl/when.h"

static const struct column instance_columns[] = {
    {"JOB", 0},
    {"INDEX", COLUMN_RIGHT},
    {"ATTEMPT", COLUMN_RIGHT},
    {"STATE", 0},
    {"CLUSTER", 0},
    {"NODE", 0},
    {"GPUS", 0},
    {"PORTS", 0},
    {"STARTED", COLUMN_RIGHT},
    {"EPOCH", COLUMN_WIDE | COLUMN_RIGHT},
    {"UID", COLUMN_WIDE},
};

const struct column member_columns[] = {
    {"INDEX", COLUMN_RIGHT},
    {"ATTEMPT", COLUMN_RIGHT},
    {"STATE", 0},
    {"NODE", 0},
    {"GPUS", 0},
    {"PORTS", 0},
    {"STARTED", COLUMN_RIGHT},
};
const size_t member_column_count = TF_ARRAY_LEN(member_columns);

enum cell_style member_style(enum tf_member_state state)
{
    switch (state) {
    case TF_MEMBER_READY:
    case TF_MEMBER_DONE:
        return CELL_GOOD;
    case TF_MEMBER_BACKOFF:
    case TF_MEMBER_MISSING:
        return CELL_BAD;
    case TF_MEMBER_PLANNED:
    case TF_MEMBER_STARTING:
    case TF_MEMBER_STOPPING:
    case TF_MEMBER_LEAVING:
        return CELL_WAITING;
    case TF_MEMBER_NONE:
    case TF_MEMBER_GONE:
        break;
    }
    return CELL_FAINT;
}

static void numbers(const struct tf_member *member, struct columns *out)
{
    columns_add_fmt(out, "%u", member->index);
    columns_add_fmt(out, "%u", member->attempt);
    columns_add_styled(out, member_style(member->state), tf_member_state_name(member->state));
}

static void places(const struct tf_member *member, struct tf_wall now, struct columns *out)
{
    char gpus[TF_GPU_SET_TEXT], age[WHEN_TEXT];
    TF_AUTO_BUF ports = TF_BUF_INIT;
    for (size_t i = 0; i < member->ports.count; i++)
        tf_buf_fmt(&ports, "%s%s", i ? "," : "", member->ports.items[i]);
    columns_add(out, member->node);
    columns_add(out, member->gpus ? tf_gpu_set_format(member->gpus, gpus) : "-");
    columns_add(out, tf_buf_text(&ports));
    columns_add(out, when_age(member->started, now, age));
}

void member_cells(const struct tf_member *member, struct tf_wall now, struct columns *out)
{
    numbers(member, out);
    places(member, now, out);
}

static void instance_cells(const void *object, struct tf_wall now, struct columns *out)
{
    const struct tf_instance_info *info = object;
    char uid[TF_UID_TEXT];
    columns_add_fmt(out, "%s/%s", info->tenant, info->name);
    numbers(&info->member, out);
    columns_add(out, info->cluster);
    places(&info->member, now, out);
    columns_add_fmt(out, "%llu", (unsigned long long)info->epoch);
    tf_uid_format(info->uid, uid);
    columns_add(out, uid);
}

static void instance_name(const void *object, struct tf_buf *buf)
{
    const struct tf_instance_info *info = object;
    tf_buf_fmt(buf, "%s/%s/%u", info->tenant, info->name, info->member.index);
}

const struct resource resource_instances = {
    "instances",    instance_columns, TF_ARRAY_LEN(instance_columns),
    &view_instance, instance_cells,   instance_name,
};

static char *add_instances(struct tf_reply *reply, struct listing *listing)
{
    tf_vec_each (instance, &reply->instances.instances)
        listing_add(listing, instance);
    tf_vec_each (cluster, &reply->instances.missing)
        if (!tf_strs_has(&listing->missing, *cluster))
            tf_strs_add(&listing->missing, *cluster);
    return TF_STEAL(reply->instances.next_token);
}

/* A job that is not there is an error; one without instances is an empty list. */
static int check_job(struct fedctl *ctl, const char *word, const struct tf_job_ref *ref)
{
    struct tf_request request = {.method = TF_METHOD_GET, .job = *ref};
    struct tf_reply reply = {0};
    struct tf_error err = TF_ERROR_INIT;
    int failed = fedctl_call(ctl, &request, &reply, &err);
    tf_reply_release(&reply);
    return failed ? fedctl_fail_about(ctl, word, &err) : FEDCTL_DONE;
}

static int fetch_of_job(struct fedctl *ctl, const char *word, struct listing *listing)
{
    struct tf_job_ref ref = {0};
    struct tf_error err = TF_ERROR_INIT;
    if (target_job(ctl, word, &ref, &err))
        return fedctl_usage(ctl, "%s", err.text);
    struct tf_request request = {.method = TF_METHOD_LIST_INSTANCES};
    request.list.page_size = ctl->options.chunk; /* instances of so many jobs */
    request.list.filter.tenant = ref.tenant;
    request.list.filter.name = ref.name;
    request.list.filter.cluster = tf_strdup(ctl->options.cluster);
    size_t before = listing->count;
    int code = fetch_pages(ctl, &request, listing, add_instances);
    if (code == FEDCTL_DONE && listing->count == before && listing->missing.count == 0)
        code = check_job(ctl, word, &ref);
    tf_request_release(&request); /* with the strings of ref */
    return code;
}

/* What runs there goes on, but cannot be seen. */
static int tell_away(const struct listing *listing)
{
    for (size_t i = 0; i < listing->missing.count; i++)
        message("cluster %s is away: what runs there goes on, and is missing from this list",
                listing->missing.items[i]);
    return listing->missing.count ? FEDCTL_FAILED : FEDCTL_DONE;
}

int fetch_instances(struct fedctl *ctl, struct listing *listing)
{
    for (size_t i = 0; i < ctl->words.count; i++) {
        int code = fetch_of_job(ctl, ctl->words.items[i], listing);
        if (code)
            return code;
    }
    if (ctl->words.count)
        return tell_away(listing);
    struct tf_request request = {.method = TF_METHOD_LIST_INSTANCES};
    request.list.page_size = ctl->options.chunk; /* instances of so many jobs */
    struct tf_error err = TF_ERROR_INIT;
    int code = fetch_filter(ctl, &request.list.filter, &err)
                   ? fedctl_usage(ctl, "%s", err.text)
                   : fetch_pages(ctl, &request, listing, add_instances);
    tf_request_release(&request);
    return code ? code : tell_away(listing);
}
