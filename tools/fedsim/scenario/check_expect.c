/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what an expectation may say: about one subject, at one kind of time, with properties that the subject
 * has. Which figures a report has is the report's. */
#include "common/base/cleanup.h"
#include "common/base/quantity.h"
#include "common/base/text.h"
#include "tools/fedsim/scenario/private.h"

/* ---- assertions ---- */

/* What an assertion may say, as bits in the order of the keys. */
enum {
    PHASE = 1,
    SIZE = 2,
    COUNTS = 4,
    SHORT = 8,
    REASON = 16,
    WAITING = 32,
    FREE = 64,
    WHOLE = 128,
    BOUNDS = 256,
    CLUSTER = 512
};

static const char *const words[] = {"phase",   "instances", "evictions",      "short",    "reason",
                                    "waiting", "freeGpus",  "wholeFreeNodes", "min, max", "cluster"};

static unsigned properties(const struct scenario_assertion *a)
{
    const bool said[TF_ARRAY_LEN(words)] = {a->phase != 0,
                                            a->instances >= 0 || a->instances_min >= 0 ||
                                                a->instances_max >= 0 || a->ready_instances_min >= 0,
                                            a->evictions >= 0 || a->restarts >= 0,
                                            a->is_short >= 0,
                                            a->reason.cluster || a->reason.code,
                                            a->waiting >= 0,
                                            a->free_gpus >= 0,
                                            a->whole_free_nodes >= 0,
                                            a->min >= 0 || a->max >= 0,
                                            a->job && a->cluster};
    unsigned bits = 0;
    for (size_t i = 0; i < TF_ARRAY_LEN(words); i++)
        bits |= said[i] ? 1U << i : 0;
    return bits;
}

static void check_properties(const struct scenario_assertion *a, const char *prefix,
                             struct tf_complaints *out)
{
    unsigned said = properties(a), may;
    const char *subject;
    if (a->job) {
        subject = "job";
        may = PHASE | SIZE | COUNTS | SHORT | REASON | WAITING | CLUSTER;
    } else if (a->cluster) {
        subject = "cluster";
        may = FREE | WHOLE;
    } else if (a->node) {
        subject = "node";
        may = FREE;
    } else {
        subject = "metric";
        may = BOUNDS;
    }
    if (!said)
        tf_complaints_add(out, prefix, "says nothing about the %s", subject);
    for (size_t i = 0; i < TF_ARRAY_LEN(words); i++)
        if (said & ~may & 1U << i)
            tf_complaints_add(out, prefix, "%s is nothing that a %s has", words[i], subject);
}

static void complain_at(const char *prefix, const char *key, const char *text, struct tf_complaints *out)
{
    TF_AUTO_FREE char *path = tf_asprintf("%s%s%s", prefix, *prefix ? "." : "", key);
    tf_complaints_add(out, path, "%s", text);
}

static void check_texts(const struct scenario_assertion *a, const char *prefix, struct tf_complaints *out)
{
    struct tf_error err = TF_ERROR_INIT;
    struct scenario_place place;
    if (a->node && scenario_place_parse(a->node, false, &place, &err))
        complain_at(prefix, "node", err.text, out);
    if ((a->reason.cluster || a->reason.code) && !(a->reason.cluster && a->reason.code))
        complain_at(prefix, "reason", "needs both cluster and code", out);
    if (a->min >= 0 && a->max >= 0 && a->min > a->max)
        complain_at(prefix, "min", "is above max", out);
}

static void check_assertion(const struct scenario_assertion *a, const char *prefix, struct tf_complaints *out)
{
    int subjects = !!a->job + (a->cluster && !a->job) + !!a->node + !!a->metric;
    check_texts(a, prefix, out);
    if (subjects == 1)
        check_properties(a, prefix, out);
    else
        tf_complaints_add(out, prefix, "is about %s: name one job, cluster, node or metric",
                          subjects ? "more than one thing" : "nothing");
}

/* ---- times ---- */

static void check_between(const struct scenario_expect *e, struct tf_complaints *out)
{
    int64_t from, to;
    struct tf_error err = TF_ERROR_INIT;
    if (e->between.count == 0)
        return;
    if (e->between.count != 2)
        tf_complaints_add(out, "between", "needs two moments, as in [0s, 6h]");
    else if (tf_duration_parse(e->between.items[0], &from, &err) ||
             tf_duration_parse(e->between.items[1], &to, &err))
        tf_complaints_add(out, "between", "%s", err.text);
    else if (from > to)
        tf_complaints_add(out, "between", "ends before it begins");
}

static void check_when(const struct scenario_expect *e, struct tf_complaints *out)
{
    bool always = scenario_expect_is_always(e);
    int ways = (e->at >= 0) + (e->within >= 0) + (e->between.count > 0) + always;
    if (ways != 1)
        tf_complaints_add(out, "at", "%s: at, within (and after), between or always",
                          ways ? "is one of several times; say one of them" : "is missing, or another time");
    if (e->after >= 0 && e->within < 0)
        tf_complaints_add(out, "after", "goes with within");
    if (always && (e->assertion.job || e->assertion.cluster || e->assertion.node || e->assertion.metric))
        tf_complaints_add(out, "always", "holds all that is expected: nothing can stand beside it");
}

void scenario_check_expect(const void *object, struct tf_complaints *out)
{
    const struct scenario_expect *e = object;
    check_when(e, out);
    check_between(e, out);
    check_assertion(scenario_assertion_of(e), scenario_expect_is_always(e) ? "always" : "", out);
}
