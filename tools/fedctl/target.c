/* SPDX-License-Identifier: Apache-2.0 */
/* Owns how things are named on the command line. */
#include "tools/fedctl/target.h"

#include "common/base/cleanup.h"
#include "common/base/name.h"
#include "common/base/text.h"

#include <ctype.h>

struct kind_word {
    const char *word;
    enum resource_kind kind;
};
static const struct kind_word kind_words[] = {
    {"jobs", RESOURCE_JOBS},
    {"job", RESOURCE_JOBS},
    {"clusters", RESOURCE_CLUSTERS},
    {"cluster", RESOURCE_CLUSTERS},
    {"nodes", RESOURCE_NODES},
    {"node", RESOURCE_NODES},
    {"gpus", RESOURCE_GPUS},
    {"gpu", RESOURCE_GPUS},
    {"instances", RESOURCE_INSTANCES},
    {"instance", RESOURCE_INSTANCES},
    {"reservations", RESOURCE_RESERVATIONS},
    {"reservation", RESOURCE_RESERVATIONS},
    {"migrations", RESOURCE_MIGRATIONS},
    {"migration", RESOURCE_MIGRATIONS},
    {"drains", RESOURCE_DRAINS},
    {"drain", RESOURCE_DRAINS},
    {"domains", RESOURCE_DOMAINS},
    {"domain", RESOURCE_DOMAINS},
};

/* "jobs, clusters or nodes" */
static void list_kinds(unsigned allowed, struct tf_buf *buf)
{
    size_t left = 0, total = 0;
    for (size_t i = 0; i < TF_ARRAY_LEN(kind_words); i += 2)
        total += allowed >> kind_words[i].kind & 1u;
    left = total;
    for (size_t i = 0; i < TF_ARRAY_LEN(kind_words); i += 2) {
        if (!(allowed >> kind_words[i].kind & 1u))
            continue;
        tf_buf_str(buf, left == total ? "" : left == 1 ? " or " : ", ");
        tf_buf_str(buf, kind_words[i].word);
        left--;
    }
}

static int unknown_kind(const char *word, unsigned allowed, struct tf_error *err)
{
    const char *names[TF_ARRAY_LEN(kind_words)];
    size_t count = 0;
    for (size_t i = 0; i < TF_ARRAY_LEN(kind_words); i++)
        if (allowed >> kind_words[i].kind & 1u)
            names[count++] = kind_words[i].word;
    const char *nearest = tf_nearest(word, names, count);
    TF_AUTO_BUF kinds = TF_BUF_INIT;
    list_kinds(allowed, &kinds);
    if (nearest)
        return tf_error_set(err, TF_ERR_INVALID, "\"%.100s\" is not one of %s; did you mean %s?", word,
                            tf_buf_text(&kinds), nearest);
    return tf_error_set(err, TF_ERR_INVALID, "\"%.100s\" is not one of %s%s", word, tf_buf_text(&kinds),
                        allowed >> RESOURCE_JOBS & 1u ? ", nor TENANT/NAME of a job" : "");
}

int target_kind(struct fedctl *ctl, unsigned allowed, enum resource_kind *kind, struct tf_error *err)
{
    bool only_jobs = (allowed & ~(1u << RESOURCE_RESERVATIONS)) == 1u << RESOURCE_JOBS;
    TF_AUTO_BUF kinds = TF_BUF_INIT;
    list_kinds(allowed, &kinds);
    if (ctl->words.count == 0 && only_jobs)
        return tf_error_set(err, TF_ERR_INVALID, "%s which job? Say TENANT/NAME", ctl->verb->name);
    if (ctl->words.count == 0)
        return tf_error_set(err, TF_ERR_INVALID, "%s what? Say %s", ctl->verb->name, tf_buf_text(&kinds));
    const char *word = ctl->words.items[0];
    for (size_t i = 0; i < TF_ARRAY_LEN(kind_words); i++) {
        if (strcmp(kind_words[i].word, word) != 0)
            continue;
        if (!(allowed >> kind_words[i].kind & 1u))
            return tf_error_set(err, TF_ERR_INVALID, "%s is for %s, not for %s", ctl->verb->name,
                                tf_buf_text(&kinds), word);
        *kind = kind_words[i].kind;
        free(ctl->words.items[0]);
        tf_vec_remove(&ctl->words, 0);
        return 0;
    }
    *kind = RESOURCE_JOBS;
    bool could_be_job = only_jobs || (allowed >> RESOURCE_JOBS & 1u && strchr(word, '/'));
    return could_be_job ? 0 : unknown_kind(word, allowed, err);
}

void target_release(struct tf_job_ref *ref)
{
    free(ref->tenant);
    free(ref->name);
    *ref = (struct tf_job_ref){0};
}

void target_about_reservation(struct tf_error *err, const char *word)
{
    if (err->code == TF_ERR_NOT_FOUND)
        tf_error_set(
            err, TF_ERR_NOT_FOUND,
            "there is no reservation %s: it may have been used up, have expired, or ended with its "
            "job; `fedctl get reservations -A` lists those there are, and with --archived those that were",
            word);
}

static int ask_about(struct fedctl *ctl, enum tf_method method, const char *word, bool reserves,
                     struct tf_reply *reply)
{
    struct tf_request request = {.method = method};
    struct tf_error err = TF_ERROR_INIT;
    int code = FEDCTL_DONE;
    *reply = (struct tf_reply){0};
    if (target_job(ctl, word, &request.job, &err))
        return fedctl_usage(ctl, "%s", err.text);
    if (fedctl_call(ctl, &request, reply, &err)) {
        if (reserves)
            target_about_reservation(&err, word);
        code = fedctl_fail_about(ctl, word, &err);
    }
    tf_request_release(&request);
    return code;
}

int target_ask(struct fedctl *ctl, enum tf_method method, const char *word, struct tf_reply *reply)
{
    return ask_about(ctl, method, word, false, reply);
}

int target_ask_of_kind(struct fedctl *ctl, const char *word, bool reserves, struct tf_reply *reply)
{
    return ask_about(ctl, TF_METHOD_GET, word, reserves, reply);
}

/* One part of a name, as a copy. */
static int take_part(const char *part, size_t len, const char *word, const char *what, char **out,
                     struct tf_error *err)
{
    free(*out);
    *out = tf_strndup(part, len);
    if (tf_name_check(*out, what, err))
        return tf_error_wrap(err, "\"%.150s\"", word);
    return 0;
}

int target_instance(const struct fedctl *ctl, const char *word, struct tf_job_ref *ref, int32_t *index,
                    struct tf_error *err)
{
    const char *first = strchr(word, '/'), *second = first ? strchr(first + 1, '/') : NULL;
    const char *name = first ? first + 1 : word;
    size_t name_len = second ? (size_t)(second - name) : strlen(name);
    int64_t number = 0;
    if (!first && !ctl->options.tenant)
        return tf_error_set(err, TF_ERR_INVALID,
                            "\"%.150s\": a job is named TENANT/NAME (or give --tenant, or put `tenant:` into "
                            "fedctl.yaml)",
                            word);
    if (second && tf_parse_int64(second + 1, 0, TF_INSTANCES_MAX - 1, &number, NULL))
        return tf_error_set(err, TF_ERR_INVALID, "\"%.150s\": an instance is named TENANT/NAME/INDEX", word);
    const char *tenant = first ? word : ctl->options.tenant;
    size_t tenant_len = first ? (size_t)(first - word) : strlen(tenant);
    if (take_part(tenant, tenant_len, word, "tenant", &ref->tenant, err) ||
        take_part(name, name_len, word, "name", &ref->name, err)) {
        target_release(ref);
        return -1;
    }
    if (second)
        *index = (int32_t)number;
    return 0;
}

int target_job(const struct fedctl *ctl, const char *word, struct tf_job_ref *ref, struct tf_error *err)
{
    const char *slash = strchr(word, '/');
    int32_t index;
    if (slash && strchr(slash + 1, '/'))
        return tf_error_set(err, TF_ERR_INVALID, "\"%.150s\": a job is named TENANT/NAME", word);
    return target_instance(ctl, word, ref, &index, err);
}

/* "3", "0-3,6" */
static int parse_gpus(const char *text, uint64_t *set)
{
    *set = 0;
    do {
        size_t len = strcspn(text, ",");
        TF_AUTO_FREE char *one = tf_strndup(text, len);
        char *dash = strchr(one, '-');
        int64_t first, last;
        if (dash)
            *dash = '\0';
        if (tf_parse_int64(one, 0, TF_NODE_GPUS_MAX - 1, &first, NULL) ||
            tf_parse_int64(dash ? dash + 1 : one, first, TF_NODE_GPUS_MAX - 1, &last, NULL))
            return -1;
        for (int64_t i = first; i <= last; i++)
            *set |= UINT64_C(1) << i;
        text += len;
    } while (*text++ == ',');
    return 0;
}

int target_node(const struct fedctl *ctl, const char *word, char **cluster, char **node, uint64_t *gpus,
                struct tf_error *err)
{
    const char *colon = gpus ? strchr(word, ':') : NULL, *slash = strchr(word, '/');
    const char *name = slash ? slash + 1 : word;
    size_t len = colon && colon > name ? (size_t)(colon - name) : strlen(name);
    if (!slash && !ctl->options.cluster)
        return tf_error_set(err, TF_ERR_INVALID, "\"%.150s\": %s (or give --cluster)", word,
                            gpus ? "GPUs are named CLUSTER/NODE:INDEX, like bj-a/n3:5 or bj-a/n3:0-3,6"
                                 : "a node is named CLUSTER/NODE");
    if (gpus && (!colon || parse_gpus(colon + 1, gpus)))
        return tf_error_set(err, TF_ERR_INVALID,
                            "\"%.150s\": GPUs are named CLUSTER/NODE:INDEX, like bj-a/n3:5 or bj-a/n3:0-3,6",
                            word);
    if (take_part(slash ? word : ctl->options.cluster,
                  slash ? (size_t)(slash - word) : strlen(ctl->options.cluster), word, "cluster", cluster,
                  err))
        return -1;
    return take_part(name, len, word, "node", node, err);
}

int target_selector(const char *text, struct tf_selector *labels, struct tf_error *err)
{
    return tf_selector_parse(text, labels, err) ? tf_error_wrap(err, "--selector") : 0;
}

static const char *const phase_words[] = {"pending",  "held",      "starting", "running",
                                          "stopping", "succeeded", "failed",   "deleted"};

static int phase_of(const char *word)
{
    for (size_t i = 0; i < TF_ARRAY_LEN(phase_words); i++)
        if (strcasecmp(word, phase_words[i]) == 0)
            return (int)i + TF_PHASE_PENDING;
    return -1;
}

int target_phases(const char *text, uint32_t *phases, struct tf_error *err)
{
    while (*text) {
        size_t len = strcspn(text, ",");
        TF_AUTO_FREE char *one = tf_strndup(text, len);
        int phase = phase_of(one);
        if (phase < 0) {
            for (char *c = one; *c; c++)
                *c = (char)tolower((unsigned char)*c);
            const char *nearest = tf_nearest(one, phase_words, TF_ARRAY_LEN(phase_words));
            return tf_error_set(err, TF_ERR_INVALID, "--phase: there is no phase \"%.60s\"%s%s%s", one,
                                nearest ? "; did you mean "
                                        : "; one of pending, held, starting, running, "
                                          "stopping, succeeded, failed, deleted",
                                nearest ? nearest : "", nearest ? "?" : "");
        }
        *phases |= 1u << phase;
        text += len + (text[len] == ',');
    }
    return 0;
}
