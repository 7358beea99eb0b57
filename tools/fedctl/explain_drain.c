/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what explain says of drains: a job runs, and some of it is to leave. Only the subcluster knows which
 * nodes are drained: it is asked. */
#include "common/base/cleanup.h"
#include "common/base/quantity.h"
#include "common/base/text.h"
#include "tools/fedctl/explain.h"
#include "tools/fedctl/resource.h"

enum { NODES_NAMED = 3, INSTANCES_NAMED = 8 };

struct found {
    const struct tf_job_view *job;
    size_t nodes; /* drained ones that it has something on */
    struct tf_buf text;
};

/* "instances 0 and 3 are to leave node n3" */
static void say_instances(const struct found *found, const char *node, struct tf_buf *text)
{
    TF_AUTO_BUF list = TF_BUF_INIT;
    size_t count = 0;
    tf_vec_each (m, &found->job->members)
        if (m->node && strcmp(m->node, node) == 0 && ++count <= INSTANCES_NAMED)
            tf_buf_fmt(&list, "%s%u", count > 1 ? ", " : "", m->index);
    if (count > INSTANCES_NAMED)
        tf_buf_fmt(&list, " and %zu more", count - INSTANCES_NAMED);
    tf_buf_fmt(text, "instance%s %s %s to leave node %s", count == 1 ? "" : "s", tf_buf_text(&list),
               count == 1 ? "is" : "are", node);
}

static bool has_instance(const struct tf_job_view *job, const char *node)
{
    tf_vec_each (m, &job->members)
        if (m->node && strcmp(m->node, node) == 0)
            return true;
    return false;
}

static void look(struct found *found, const struct tf_node_info *info)
{
    const struct tf_cordon *cordon = &info->cordon;
    char when[TF_QUANTITY_TEXT];
    if (!cordon->drain.on || !has_instance(found->job, info->node.name) || ++found->nodes > NODES_NAMED)
        return;
    tf_buf_str(&found->text, "; ");
    say_instances(found, info->node.name, &found->text);
    tf_buf_str(&found->text, ", which is drained");
    if (cordon->reason && !cordon->stays)
        tf_buf_fmt(&found->text, " (%s)", cordon->reason);
    if (cordon->drain.deadline.ms)
        tf_buf_fmt(&found->text, ", and what is there at %s is stopped",
                   tf_moment_format(cordon->drain.deadline, when));
}

/* The answer stands, also when it cannot be completed. */
static void ask(struct fedctl *ctl, struct found *found)
{
    struct tf_request request = {.method = TF_METHOD_LIST_NODES,
                                 .nodes.cluster = found->job->cluster}; /* lent */
    struct tf_reply reply = {0};
    struct tf_error err = TF_ERROR_INIT;
    if (fedctl_call(ctl, &request, &reply, &err) || reply.nodes.missing.count)
        message("whether nodes of %s are drained is not known now%s%s", found->job->cluster,
                *err.text ? ": " : "", err.text);
    tf_vec_each (info, &reply.nodes.nodes)
        look(found, info);
    tf_reply_release(&reply);
}

void explain_add_drains(struct fedctl *ctl, struct tf_explain_reply *reply)
{
    const struct tf_job_view *job = &reply->job;
    if (!job->cluster || job->members.count == 0 || (job->conditions & TF_CONDITION_UNREACHABLE))
        return;
    struct found found = {.job = job, .text = TF_BUF_INIT};
    ask(ctl, &found);
    if (found.nodes > NODES_NAMED)
        tf_buf_fmt(&found.text, "; and so on %zu more drained nodes", found.nodes - NODES_NAMED);
    if (found.nodes) {
        TF_AUTO_FREE char *answer = TF_STEAL(reply->answer);
        reply->answer = tf_asprintf("%s%s: `fedctl get drains --cluster %s`", answer ? answer : "",
                                    tf_buf_text(&found.text), job->cluster);
    }
    tf_buf_release(&found.text);
}
