/* SPDX-License-Identifier: Apache-2.0 */
/* Questions of the leader, answered from the core's state; nothing is written. */
#include "subcluster/daemon/private.h"

#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "common/live/live.h"
#include "common/wire/api.h"
#include "common/wire/attach.h"

#include <inttypes.h>

enum { ENVELOPE = 1024 }; /* bytes of an answer besides its data, at most */

/* The node of that name; nodes are in order of their names. */
static struct tf_node_info *find_node(struct tf_nodes_reply *reply, const char *name)
{
    size_t low = 0, high = reply->nodes.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(reply->nodes.items[middle].node.name, name);
        if (order == 0)
            return &reply->nodes.items[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static void add_nodes(const struct subd *subd, struct tf_nodes_reply *reply)
{
    size_t count = sub_node_count(subd->sub);
    TF_AUTO_FREE struct tf_idle_causes *idle = tf_calloc(count + 1, sizeof *idle);
    sub_idle_of_nodes(subd->sub, idle);
    for (size_t i = 0; i < count; i++) {
        struct sub_node_view view = sub_node_at(subd->sub, i);
        struct tf_node_info *info = tf_vec_add(&reply->nodes);
        info->cluster = tf_strdup(subd->config.name);
        info->engine = tf_strdup(subd_running_engine(subd));
        tf_node_copy(&info->node, view.node);
        info->free_gpus = view.free_gpus;
        info->held_gpus = view.held_gpus;
        info->used = view.used;
        info->idle = idle[i];
        tf_cordon_copy(&info->cordon, view.cordon);
    }
}

static bool is_there(enum tf_member_state state)
{
    return state != TF_MEMBER_NONE && state != TF_MEMBER_DONE && state != TF_MEMBER_GONE &&
           state != TF_MEMBER_MISSING;
}

static void add_instances(const struct subd *subd, struct tf_nodes_reply *reply)
{
    const struct tf_allocation *a = sub_allocation_next(subd->sub, NULL);
    for (; a; a = sub_allocation_next(subd->sub, &a->uid)) {
        tf_vec_each (m, &a->members) {
            struct tf_node_info *info = is_there(m->state) ? find_node(reply, m->node) : NULL;
            if (!info)
                continue;
            struct tf_node_instance *i = tf_vec_add(&info->instances);
            i->tenant = tf_strdup(a->tenant);
            i->name = tf_strdup(a->name);
            i->uid = a->uid;
            i->epoch = a->epoch;
            i->index = m->index;
            i->gpus = m->gpus;
            i->state = m->state;
        }
    }
}

static void send_answer(struct subd *subd, uint64_t id, struct tf_buf *data)
{
    struct tf_up up = {.kind = TF_UP_ANSWER};
    up.answer.id = id;
    up.answer.len = data->len;
    up.answer.data = tf_buf_take(data);
    subd_uplink_send(subd, &up);
    tf_up_release(&up);
}

static void send_error(struct subd *subd, uint64_t id, const struct tf_error *err)
{
    const struct tf_up up = {
        .kind = TF_UP_ANSWER,
        .answer = {.id = id, .code = (int32_t)err->code, .text = (char *)(uintptr_t)err->text}};
    subd_uplink_send(subd, &up);
}

/* Packs the answer; false if it does not fit one message. */
static bool pack(const struct tf_nodes_reply *reply, struct tf_buf *data)
{
    struct tf_error err = TF_ERROR_INIT;
    tf_buf_clear(data);
    if (tf_wire_nodes_pack(reply, data, &err)) {
        tf_log_warn("the answer about nodes cannot be written error=%s", err.text);
        return false;
    }
    return data->len + ENVELOPE <= TF_WIRE_STREAM_MAX;
}

/* The nodes are worth more than who is on them, when all together is too much for a message. */
static void answer_nodes(struct subd *subd, uint64_t id)
{
    struct tf_nodes_reply reply = {0};
    TF_AUTO_BUF data = TF_BUF_INIT;
    add_nodes(subd, &reply);
    add_instances(subd, &reply);
    bool fits = pack(&reply, &data);
    if (!fits) {
        tf_nodes_reply_release(&reply);
        add_nodes(subd, &reply);
        fits = pack(&reply, &data);
    }
    if (fits)
        send_answer(subd, id, &data);
    tf_nodes_reply_release(&reply);
}

static void answer_place(struct subd *subd, const struct tf_ask *ask)
{
    const struct tf_entry *entry = ask->place.items;
    struct tf_place_plan plan = {0};
    struct tf_error err = TF_ERROR_INIT;
    TF_AUTO_BUF data = TF_BUF_INIT;
    if (!entry)
        return; /* not a question */
    sub_plan_place(subd->sub, tf_loop_now(subd->loop), entry, &plan);
    if (tf_wire_place_plan_pack(&plan, &data, &err) || data.len + ENVELOPE > TF_WIRE_STREAM_MAX)
        tf_log_warn("the answer about a placement cannot be written job=%s/%s error=%s", entry->tenant,
                    entry->name, err.code ? err.text : "it is too large for one message");
    else
        send_answer(subd, ask->id, &data);
    tf_place_plan_release(&plan);
}

static void answer_defrag(struct subd *subd, const struct tf_ask *ask)
{
    const struct tf_defrag_order *order = ask->defrag.items;
    struct tf_defrag_plan plan = {0};
    struct tf_error err = TF_ERROR_INIT;
    TF_AUTO_BUF data = TF_BUF_INIT;
    if (!order)
        return; /* not a question */
    sub_plan_defrag(subd->sub, tf_loop_now(subd->loop), order, &plan);
    if (tf_wire_defrag_plan_pack(&plan, &data, &err) == 0 && data.len + ENVELOPE > TF_WIRE_STREAM_MAX)
        tf_error_set(&err, TF_ERR_TOO_LARGE, "the plan is too large for one message: ask for fewer moves");
    if (err.code == TF_OK)
        send_answer(subd, ask->id, &data);
    else
        send_error(subd, ask->id, &err);
    tf_defrag_plan_release(&plan);
}

/* ---- moves ---- */

static int look_at_moves(const struct subd *subd, const struct tf_migrate_order *order,
                         struct tf_migrate_reply *reply, struct tf_error *err)
{
    if (order->verb == TF_MIGRATE_LIST) {
        const struct tf_migration *m;
        for (size_t i = 0; (m = sub_migration_at(subd->sub, i)); i++)
            tf_migration_copy(&tf_vec_add(&reply->chains)->chain, m);
        return 0;
    }
    struct tf_migration plan = {0};
    TF_AUTO_FREE char *why = sub_plan_migrate(subd->sub, tf_loop_now(subd->loop), order, &plan);
    if (why)
        return tf_error_set(err, TF_ERR_REFUSED, "%s", why);
    tf_vec_add(&reply->chains)->chain = plan;
    return 0;
}

static void answer_migrate(struct subd *subd, const struct tf_ask *ask)
{
    const struct tf_migrate_order *order = ask->migrate.items;
    struct tf_migrate_reply reply = {0};
    struct tf_error err = TF_ERROR_INIT;
    TF_AUTO_BUF data = TF_BUF_INIT;
    if (!order || (order->verb != TF_MIGRATE_PLAN && order->verb != TF_MIGRATE_LIST))
        return;
    if (look_at_moves(subd, order, &reply, &err) == 0)
        tf_wire_migrate_pack(&reply, &data, &err);
    if (err.code == TF_OK && data.len + ENVELOPE > TF_WIRE_STREAM_MAX)
        tf_error_set(&err, TF_ERR_TOO_LARGE, "the list of moves is too large for one message");
    if (err.code == TF_OK)
        send_answer(subd, ask->id, &data);
    else
        send_error(subd, ask->id, &err);
    tf_migrate_reply_release(&reply);
}

/* ---- its configuration ---- */

/* What no line of the file says; what settles by name and folder does so by those that are said. */
static void defaults_init(const struct subd *subd, struct subd_config *defaults)
{
    *defaults = (struct subd_config){0};
    tf_table_init(&subd_config_table, defaults);
    defaults->name = tf_strdup(subd->config.name);
    defaults->state_dir = tf_strdup(subd->config.state_dir);
    tf_table_settle(&subd_config_table, defaults);
}

static int look_at_config(struct subd *subd, const struct tf_request *request, struct tf_reply *reply,
                          struct tf_error *err)
{
    struct subd_config defaults;
    defaults_init(subd, &defaults);
    const struct tf_live_config live = {
        .table = &subd_config_table,
        .file = "subclusterd.yaml",
        .now = &subd->config,
        .first = &subd->first_config,
        .defaults = &defaults,
    };
    bool get = request->method == TF_METHOD_GET_CONFIG;
    int failed = get ? tf_live_get(&live, request->get_config.key, &reply->config, err)
                     : tf_live_diff(&live, &request->diff_config, &reply->config_diff, err);
    *(get ? &reply->config.leads : &reply->config_diff.leads) = true; /* it is active */
    subd_config_release(&defaults);
    return failed;
}

/* The request is that of the client, and so is the answer. */
static void answer_config(struct subd *subd, const struct tf_ask *ask, enum tf_method method)
{
    struct tf_request request = {0};
    struct tf_reply reply = {.method = method};
    struct tf_error err = TF_ERROR_INIT;
    TF_AUTO_BUF data = TF_BUF_INIT;
    if (tf_wire_request_unpack(method, ask->data, ask->len, &request, &err) == 0 &&
        look_at_config(subd, &request, &reply, &err) == 0)
        tf_wire_reply_pack(&reply, &data, &err);
    if (err.code == TF_OK && data.len + ENVELOPE > TF_WIRE_STREAM_MAX)
        tf_error_set(&err, TF_ERR_TOO_LARGE,
                     "the configuration is too large for one message: ask for a key of it");
    if (err.code == TF_OK)
        send_answer(subd, ask->id, &data);
    else
        send_error(subd, ask->id, &err);
    tf_request_release(&request);
    tf_reply_release(&reply);
}

void subd_ask(struct subd *subd, const struct tf_ask *ask)
{
    switch (ask->kind) {
    case TF_ASK_NODES:
        answer_nodes(subd, ask->id);
        break;
    case TF_ASK_LOGS:
        subd_logs_push(subd, ask);
        break;
    case TF_ASK_PLACE:
        answer_place(subd, ask);
        break;
    case TF_ASK_GET_CONFIG:
        answer_config(subd, ask, TF_METHOD_GET_CONFIG);
        break;
    case TF_ASK_DIFF_CONFIG:
        answer_config(subd, ask, TF_METHOD_DIFF_CONFIG);
        break;
    case TF_ASK_DEFRAG:
        answer_defrag(subd, ask);
        break;
    case TF_ASK_MIGRATE: /* what changes something is the core's */
        answer_migrate(subd, ask);
        break;
    case TF_ASK_NONE:
    case TF_ASK_CORDON: /* the core's */
    case TF_ASK_CONFIRM_LOST:
    case TF_ASK_DRAIN:
        tf_log_debug("a question that this version does not answer id=%" PRIu64 " kind=%d", ask->id,
                     (int)ask->kind);
        break;
    }
}
