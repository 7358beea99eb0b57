/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to subclusters over their links. About nodes, each attached one is asked: what came within two
 * seconds is the answer, and who did not answer is named. A cordon of a node is asked of one, which keeps it:
 * it is done when that says so. */
#include "federation/daemon/private.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"

enum { ANSWER_WITHIN_MS = 2 * TF_SECOND };

/* One call to ListNodes. */
struct gather {
    struct fedd *fedd;
    struct tf_call *call;
    struct tf_reply reply;
    size_t open; /* questions without an answer */
    struct tf_timer timer;
};

/* One question to one subcluster. */
struct ask {
    uint64_t number;
    uint64_t link;
    char *cluster;
    struct gather *gather; /* of ListNodes; */
    asks_answered_f
        *answered; /* of who asked with asks_send; neither: a change, whose answer is the call's */
    void *arg;
    struct fedd *fedd;
    struct tf_call *call;
    struct tf_timer late;   /* of a change; when it is done: */
    struct fed_event *then; /* this has its own word, which is the call's answer; NULL: none */
    enum tf_method method;  /* of then */
    UT_hash_handle hh;
};

static void drop(struct fedd *fedd, struct ask *ask)
{
    HASH_DEL(fedd->asks, ask);
    tf_timer_cancel(fedd->loop, &ask->late);
    if (ask->then)
        fed_event_release(ask->then);
    free(ask->then);
    free(ask->cluster);
    free(ask);
}

static int by_cluster_and_name(const void *a, const void *b)
{
    const struct tf_node_info *x = a, *y = b;
    int order = strcmp(x->cluster, y->cluster);
    return order ? order : strcmp(x->node.name, y->node.name);
}

static void finish(struct gather *gather)
{
    struct fedd *fedd = gather->fedd;
    struct ask *ask = NULL, *next = NULL;
    HASH_ITER (hh, fedd->asks, ask, next) {
        if (ask->gather != gather)
            continue;
        tf_strs_add(&gather->reply.nodes.missing, ask->cluster);
        drop(fedd, ask);
    }
    tf_timer_cancel(fedd->loop, &gather->timer);
    /* Answers come in any order; people want the same one each time. */
    struct tf_node_info *nodes = gather->reply.nodes.nodes.items;
    if (nodes)
        qsort(nodes, gather->reply.nodes.nodes.count, sizeof *nodes, by_cluster_and_name);
    call_reply(gather->call, &gather->reply);
    free(gather);
}

static void on_late(struct tf_timer *timer)
{
    finish(TF_CONTAINER_OF(timer, struct gather, timer));
}

static void one_less(struct gather *gather)
{
    if (--gather->open == 0)
        finish(gather);
}

/* ---- the end of a change ---- */

/* Nobody can say whether it was done. */
static void change_unknown(struct ask *ask, const char *why)
{
    struct tf_call *call = ask->call;
    TF_AUTO_FREE char *cluster = TF_STEAL(ask->cluster);
    drop(ask->fedd, ask);
    call_fail_code(call, TF_ERR_UNKNOWN,
                   "subcluster %s %s: it may be done; repeat the same request to be certain", cluster, why);
}

static void change_late(struct tf_timer *timer)
{
    change_unknown(TF_CONTAINER_OF(timer, struct ask, late), "has not confirmed the change in time");
}

/* With a text there was nothing to do, so nothing comes after it either. */
static bool goes_on(struct ask *ask, const struct tf_answer *answer)
{
    if (!ask->then || answer->code != TF_OK || answer->text)
        return false;
    struct fedd *fedd = ask->fedd;
    struct fed_event event = *ask->then;
    *ask->then = (struct fed_event){.kind = FED_EV_NONE};
    event.request = requests_add_change(fedd, ask->call, ask->method);
    drop(fedd, ask);
    host_step(fedd, &event);
    return true;
}

static void change_answered(struct ask *ask, const struct tf_answer *answer)
{
    struct tf_call *call = ask->call;
    if (goes_on(ask, answer))
        return;
    drop(ask->fedd, ask);
    if (answer->code != TF_OK) {
        call_fail_code(call, (enum tf_error_code)answer->code, "%s",
                       answer->text ? answer->text : "no reason given");
        return;
    }
    struct tf_reply reply = {.method = TF_METHOD_CORDON_NODE, .change = {.outcome = TF_OUTCOME_DONE}};
    if (answer->text)
        tf_strs_add(&reply.change.warnings, answer->text);
    call_reply(call, &reply);
}

/* ---- answers ---- */

static void take_nodes(struct gather *gather, const struct ask *ask, struct tf_nodes_reply *nodes)
{
    tf_vec_each (n, &nodes->nodes) {
        tf_str_set(&n->cluster, ask->cluster);
        tf_vec_push(&gather->reply.nodes.nodes, *n);
        *n = (struct tf_node_info){0};
    }
    tf_nodes_reply_release(nodes);
}

static void nodes_answered(struct fedd *fedd, struct ask *ask, const struct tf_answer *answer)
{
    struct gather *gather = ask->gather;
    struct tf_nodes_reply nodes = {0};
    struct tf_error err = TF_ERROR_INIT;
    if (tf_wire_nodes_unpack(answer->data, answer->len, &nodes, &err)) {
        tf_log_warn("an answer of a subcluster cannot be read name=%s error=%s", ask->cluster, err.text);
        tf_strs_add(&gather->reply.nodes.missing, ask->cluster);
    } else {
        take_nodes(gather, ask, &nodes);
    }
    drop(fedd, ask);
    one_less(gather);
}

/* Forgets the question, and tells who asked it; answer NULL: there is none. */
static void tell(struct ask *ask, const struct tf_answer *answer)
{
    asks_answered_f *answered = ask->answered;
    void *arg = ask->arg;
    drop(ask->fedd, ask);
    answered(arg, answer);
}

void asks_answer(struct fedd *fedd, uint64_t link, const struct tf_answer *answer)
{
    struct ask *ask = NULL;
    HASH_FIND(hh, fedd->asks, &answer->id, sizeof answer->id, ask);
    if (!ask || ask->link != link)
        return; /* too late, or not the one that was asked */
    if (ask->answered)
        tell(ask, answer);
    else if (ask->gather)
        nodes_answered(fedd, ask, answer);
    else
        change_answered(ask, answer);
}

void asks_link_down(struct fedd *fedd, uint64_t link)
{
    struct ask *ask = NULL, *next = NULL;
    HASH_ITER (hh, fedd->asks, ask, next) {
        if (ask->link != link)
            continue;
        if (ask->answered) {
            tell(ask, NULL);
            next = fedd->asks; /* what is told may ask, and take back, others */
            continue;
        }
        if (!ask->gather) {
            change_unknown(ask, "went away before it confirmed the change");
            continue;
        }
        struct gather *gather = ask->gather;
        tf_strs_add(&gather->reply.nodes.missing, ask->cluster);
        drop(fedd, ask);
        one_less(gather);
        next = fedd->asks; /* finishing a gather drops others of its questions */
    }
}

static struct ask *add(struct fedd *fedd, uint64_t link, const char *cluster)
{
    struct ask *ask = tf_calloc(1, sizeof *ask);
    ask->fedd = fedd;
    ask->number = ++fedd->next_number;
    ask->link = link;
    ask->cluster = tf_strdup(cluster);
    HASH_ADD(hh, fedd->asks, number, sizeof ask->number, ask);
    return ask;
}

static void put(struct gather *gather, const struct fed_cluster_view *cluster)
{
    add(gather->fedd, cluster->link, cluster->record->name)->gather = gather;
    gather->open++;
}

/* All questions are noted before the first is sent: a link that breaks meanwhile finds its own. */
static void send_all(struct gather *gather)
{
    struct fedd *fedd = gather->fedd;
    TF_VEC(struct tf_down) downs = {0};
    TF_VEC(uint64_t) links = {0};
    for (struct ask *ask = fedd->asks; ask; ask = ask->hh.next) {
        if (ask->gather != gather)
            continue;
        tf_vec_push(&links, ask->link);
        tf_vec_push(&downs, (struct tf_down){.kind = TF_DOWN_ASK,
                                             .term = fed_term(fedd->fed),
                                             .ask = {.id = ask->number, .kind = TF_ASK_NODES}});
    }
    for (size_t i = 0; i < downs.count; i++)
        links_send(fedd, links.items[i], &downs.items[i]);
    tf_vec_release(&downs);
    tf_vec_release(&links);
}

static void ask_clusters(struct fedd *fedd, struct tf_call *call, const char *only)
{
    struct gather *gather = tf_calloc(1, sizeof *gather);
    gather->fedd = fedd;
    gather->call = call;
    gather->reply.method = TF_METHOD_LIST_NODES;
    bool found = !only;
    for (size_t i = 0; i < fed_cluster_count(fedd->fed); i++) {
        const struct fed_cluster_view cluster = fed_cluster_at(fedd->fed, i);
        if (only && !tf_str_eq(only, cluster.record->name))
            continue;
        found = true;
        if (cluster.attached)
            put(gather, &cluster);
        else
            tf_strs_add(&gather->reply.nodes.missing, cluster.record->name);
    }
    if (!found) {
        call_fail_code(call, TF_ERR_NOT_FOUND, "there is no subcluster %s", only);
        free(gather);
    } else if (gather->open == 0) {
        finish(gather);
    } else {
        struct tf_mono due = {tf_loop_now(fedd->loop).mono.ms + ANSWER_WITHIN_MS};
        tf_timer_start(fedd->loop, &gather->timer, due, on_late);
        send_all(gather);
    }
}

static void on_nodes(void *arg, struct tf_call *call, struct tf_bytes bytes)
{
    struct fedd *fedd = arg;
    struct tf_request request = {0};
    if (!lead_or_refuse(fedd, call) || !call_request(call, TF_METHOD_LIST_NODES, bytes, &request))
        return;
    ask_clusters(fedd, call, request.nodes.cluster);
    tf_request_release(&request);
}

/* ---- for others who ask ---- */

void asks_send(struct fedd *fedd, uint64_t link, const char *cluster, struct tf_ask *question,
               asks_answered_f *answered, void *arg)
{
    struct ask *ask = add(fedd, link, cluster);
    ask->answered = answered;
    ask->arg = arg;
    question->id = ask->number;
    links_send(fedd, link,
               &(struct tf_down){.kind = TF_DOWN_ASK, .term = fed_term(fedd->fed), .ask = *question});
}

void asks_cancel(struct fedd *fedd, uint64_t number)
{
    struct ask *ask = NULL;
    HASH_FIND(hh, fedd->asks, &number, sizeof number, ask);
    if (ask)
        drop(fedd, ask);
}

/* ---- changes ---- */

/* The subcluster, if it can be asked; false after failing the call. */
static bool find_attached(struct fedd *fedd, struct tf_call *call, const char *cluster,
                          struct fed_cluster_view *out)
{
    for (size_t i = 0; i < fed_cluster_count(fedd->fed); i++) {
        *out = fed_cluster_at(fedd->fed, i);
        if (!tf_str_eq(out->record->name, cluster))
            continue;
        if (out->attached)
            return true;
        call_fail_code(call, TF_ERR_REFUSED,
                       "subcluster %s is not attached, and what is done with its nodes is kept by it: try "
                       "again when it is back (`fedctl get clusters`)",
                       cluster);
        return false;
    }
    call_fail_code(call, TF_ERR_NOT_FOUND,
                   "there is no subcluster %s: `fedctl get clusters` lists those that have ever attached",
                   cluster);
    return false;
}

void asks_change(struct fedd *fedd, struct tf_call *call, const char *name, struct tf_ask *question)
{
    asks_change_then(fedd, call, name, question, TF_METHOD_CORDON_NODE, NULL);
}

void asks_change_then(struct fedd *fedd, struct tf_call *call, const char *name, struct tf_ask *question,
                      enum tf_method method, struct fed_event *then)
{
    struct fed_cluster_view cluster;
    if (!find_attached(fedd, call, name, &cluster)) {
        if (then)
            fed_event_release(then);
        return;
    }
    struct ask *ask = add(fedd, cluster.link, cluster.record->name);
    ask->call = call;
    ask->method = method;
    if (then) {
        ask->then = tf_calloc(1, sizeof *ask->then);
        *ask->then = *then;
    }
    question->id = ask->number;
    tf_timer_start(fedd->loop, &ask->late, call_answer_by(fedd, call), change_late);
    links_send(fedd, cluster.link,
               &(struct tf_down){.kind = TF_DOWN_ASK, .term = fed_term(fedd->fed), .ask = *question});
}

static void ask_about_node(struct fedd *fedd, struct tf_call *call, enum tf_ask_kind kind,
                           const struct tf_cordon_request *request)
{
    struct tf_ask question = {.kind = kind,
                              .node = request->node,
                              .gpus = request->gpus,
                              .on = request->on,
                              .suspect = request->suspect,
                              .reason = request->reason,
                              .drain = request->drain,
                              .domain = request->domain};
    asks_change(fedd, call, request->cluster, &question);
}

static void on_cordon_node(void *arg, struct tf_call *call, struct tf_bytes bytes)
{
    struct fedd *fedd = arg;
    struct tf_request request = {0};
    if (!lead_or_refuse(fedd, call) || !call_request(call, TF_METHOD_CORDON_NODE, bytes, &request))
        return;
    changes_log(call, TF_METHOD_CORDON_NODE, request.cordon.cluster,
                request.cordon.node ? request.cordon.node : request.cordon.domain);
    ask_about_node(fedd, call, TF_ASK_CORDON, &request.cordon);
    tf_request_release(&request);
}

static void on_confirm_lost(void *arg, struct tf_call *call, struct tf_bytes bytes)
{
    struct fedd *fedd = arg;
    struct tf_request request = {0};
    if (!lead_or_refuse(fedd, call) || !call_request(call, TF_METHOD_CONFIRM_LOST, bytes, &request))
        return;
    changes_log(call, TF_METHOD_CONFIRM_LOST, request.cordon.cluster, request.cordon.node);
    ask_about_node(fedd, call, TF_ASK_CONFIRM_LOST, &request.cordon);
    tf_request_release(&request);
}

void asks_register(struct fedd *fedd)
{
    tf_server_unary(fedd->server, tf_method_path(TF_METHOD_CORDON_NODE), on_cordon_node, fedd);
    tf_server_unary(fedd->server, tf_method_path(TF_METHOD_CONFIRM_LOST), on_confirm_lost, fedd);
    tf_server_unary(fedd->server, tf_method_path(TF_METHOD_LIST_NODES), on_nodes, fedd);
}

void asks_fail_all(struct fedd *fedd)
{
    while (fedd->asks)
        if (fedd->asks->answered)
            tell(fedd->asks, NULL);
        else if (fedd->asks->gather)
            finish(fedd->asks->gather);
        else
            change_unknown(fedd->asks, "is no longer led from here");
}
