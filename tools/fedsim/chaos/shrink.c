/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a failing run smaller: delta debugging over its parts. */
#include "tools/fedsim/chaos/chaos.h"

#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "common/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- an attempt, in a process of its own ---- */

static void be_quiet(void)
{
    int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere < 0)
        return;
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
}

static _Noreturn void play_in_child(const struct scenario *scenario, int to)
{
    struct chaos_result result;
    be_quiet();
    chaos_play(scenario, &(struct chaos_options){0}, &result);
    size_t len = result.breached ? strlen(result.breach) : 0, done = 0;
    while (done < len) {
        ssize_t n = write(to, result.breach + done, len - done);
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    _exit(0);
}

static char *read_all(int from)
{
    char text[1000];
    size_t len = 0;
    ssize_t n;
    while (len < sizeof text && (n = read(from, text + len, sizeof text - len)) != 0) {
        if (n < 0 && errno != EINTR)
            break;
        len += n > 0 ? (size_t)n : 0;
    }
    return tf_strndup(text, len);
}

static char *join(pid_t child, int from)
{
    char *text = read_all(from);
    int status = 0;
    close(from);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && *text)
        return text;
    free(text);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return NULL;
    return tf_strdup("it ends the program");
}

char *chaos_attempt(const struct scenario *scenario)
{
    int ends[2];
    fflush(NULL);
    if (pipe2(ends, O_CLOEXEC))
        return NULL;
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        play_in_child(scenario, ends[1]);
    }
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return NULL;
    }
    return join(child, ends[0]);
}

/* ---- what a scenario is made of ---- */

enum part_kind { PART_FAULT, PART_EVENT, PART_JOB, PART_NODE, PART_CLUSTER, PART_KINDS };

struct shrinking {
    struct scenario *best;
    const char *kind;
    unsigned attempts, left;
};

static size_t node_count(const struct scenario *s)
{
    size_t count = 0;
    tf_vec_each (c, &s->clusters)
        count += c->nodes.count;
    return count;
}

static size_t count_of(const struct scenario *s, enum part_kind kind)
{
    switch (kind) {
    case PART_FAULT:
        return s->faults.count;
    case PART_EVENT:
        return s->events.count;
    case PART_JOB:
        return s->jobs.count;
    case PART_NODE:
        return node_count(s);
    case PART_CLUSTER:
        return s->clusters.count;
    case PART_KINDS:
        break;
    }
    return 0;
}

/* ---- a scenario without some of its parts ---- */

static const struct tf_table *table_of(const char *list)
{
    return tf_table_find(scenario_table(), list)->table;
}

static void drop_event(struct scenario_event *list, size_t *count, size_t at, const char *name)
{
    tf_table_release(table_of(name), &list[at]);
    memmove(list + at, list + at + 1, (--*count - at) * sizeof *list);
}

static bool is_about_job(const struct scenario_event *e, const char *job)
{
    const char *const names[] = {e->submit, e->delete_job, e->hold,  e->resume, e->restart,
                                 e->look,   e->scale,      e->apply, e->migrate};
    for (size_t i = 0; i < TF_ARRAY_LEN(names); i++)
        if (names[i] && strcmp(names[i], job) == 0)
            return true;
    return false;
}

static bool is_about_node(const struct scenario_event *e, const char *node)
{
    size_t len = strlen(node);
    if (e->gpu && strncmp(e->gpu, node, len) == 0 && e->gpu[len] == ':')
        return true;
    return tf_strs_has(&e->node, node) || tf_strs_has(&e->nodes, node);
}

static bool begins_with(const char *text, const char *cluster, const char *before)
{
    size_t skip = strlen(before), len = strlen(cluster);
    return text && strncmp(text, before, skip) == 0 && strncmp(text + skip, cluster, len) == 0 &&
           (text[skip + len] == '/' || text[skip + len] == '\0');
}

static bool is_about_cluster(const struct scenario_event *e, const char *cluster)
{
    const char *const daemons[] = {e->crash,      e->pause,      e->hand_over, e->reload,
                                   e->store_away, e->clock_jump, e->duplicate};
    const char *const clusters[] = {e->cluster,     e->store_of,    e->cordon, e->freeze,
                                    e->burn,        e->repeat,      e->late,   e->gpu,
                                    e->pause_moves, e->abort_moves, e->drain};
    for (size_t i = 0; i < TF_ARRAY_LEN(daemons); i++)
        if (begins_with(daemons[i], cluster, "subclusterd/"))
            return true;
    for (size_t i = 0; i < TF_ARRAY_LEN(clusters); i++)
        if (begins_with(clusters[i], cluster, ""))
            return true;
    return e->node.count && begins_with(e->node.items[0], cluster, "");
}

typedef bool about_f(const struct scenario_event *event, const char *name);

static void drop_events_about(struct scenario *s, about_f *about, const char *name)
{
    for (size_t i = s->events.count; i-- > 0;)
        if (about(&s->events.items[i], name))
            drop_event(s->events.items, &s->events.count, i, "events");
    for (size_t i = s->faults.count; i-- > 0;)
        if (about(&s->faults.items[i], name))
            drop_event(s->faults.items, &s->faults.count, i, "faults");
}

static void drop_job(struct scenario *s, size_t at)
{
    TF_AUTO_FREE char *name = tf_asprintf("%s/%s", s->jobs.items[at].tenant, s->jobs.items[at].name);
    drop_events_about(s, is_about_job, name);
    tf_table_release(table_of("jobs"), &s->jobs.items[at]);
    tf_vec_remove(&s->jobs, at);
}

static void drop_node(struct scenario *s, size_t at)
{
    tf_vec_each (c, &s->clusters) {
        if (at >= c->nodes.count) {
            at -= c->nodes.count;
            continue;
        }
        TF_AUTO_FREE char *name = tf_asprintf("%s/%s0", c->name, c->nodes.items[at].prefix);
        drop_events_about(s, is_about_node, name);
        tf_table_release(tf_table_find(table_of("clusters"), "nodes")->table, &c->nodes.items[at]);
        tf_vec_remove(&c->nodes, at);
        return;
    }
}

static void drop_cluster(struct scenario *s, size_t at)
{
    TF_AUTO_FREE char *name = tf_strdup(s->clusters.items[at].name);
    drop_events_about(s, is_about_cluster, name);
    tf_table_release(table_of("clusters"), &s->clusters.items[at]);
    tf_vec_remove(&s->clusters, at);
}

static void drop(struct scenario *s, enum part_kind kind, size_t at)
{
    switch (kind) {
    case PART_FAULT:
        drop_event(s->faults.items, &s->faults.count, at, "faults");
        break;
    case PART_EVENT:
        drop_event(s->events.items, &s->events.count, at, "events");
        break;
    case PART_JOB:
        drop_job(s, at);
        break;
    case PART_NODE:
        drop_node(s, at);
        break;
    case PART_CLUSTER:
        drop_cluster(s, at);
        break;
    case PART_KINDS:
        break;
    }
}

/* ---- attempts ---- */

/* candidate is taken: it becomes the best if it still breaks the promise. */
static bool attempt(struct shrinking *shrinking, struct scenario *candidate)
{
    struct tf_complaints complaints = {0};
    bool valid = scenario_check(candidate, &complaints), same = false;
    tf_complaints_release(&complaints);
    if (valid && shrinking->left) {
        shrinking->left--;
        shrinking->attempts++;
        TF_AUTO_FREE char *breach = chaos_attempt(candidate);
        TF_AUTO_FREE char *kind = breach ? chaos_kind(breach) : NULL;
        same = kind && strcmp(kind, shrinking->kind) == 0;
    }
    if (same) {
        scenario_release(shrinking->best);
        *shrinking->best = *candidate;
    } else {
        scenario_release(candidate);
    }
    return same;
}

static bool without(struct shrinking *shrinking, enum part_kind kind, size_t first, size_t count)
{
    struct scenario candidate = {0};
    scenario_copy(&candidate, shrinking->best);
    for (size_t i = count; i-- > 0;)
        if (first + i < count_of(&candidate, kind))
            drop(&candidate, kind, first + i);
    return attempt(shrinking, &candidate);
}

/* Ever smaller pieces are taken away, from the end. True if some could be. */
static bool reduce(struct shrinking *shrinking, enum part_kind kind)
{
    bool any = false;
    for (size_t piece = count_of(shrinking->best, kind); piece > 0 && shrinking->left; piece /= 2) {
        size_t at = count_of(shrinking->best, kind);
        while (at > 0 && shrinking->left) {
            size_t first = at > piece ? at - piece : 0;
            bool gone = without(shrinking, kind, first, at - first);
            any |= gone;
            at = first < count_of(shrinking->best, kind) ? first : count_of(shrinking->best, kind);
        }
    }
    return any;
}

static bool with_fewer_daemons(struct shrinking *shrinking)
{
    struct scenario candidate = {0};
    scenario_copy(&candidate, shrinking->best);
    candidate.world.fedds = 1;
    tf_vec_each (c, &candidate.clusters)
        c->subclusterds = 1;
    if (scenario_eq(&candidate, shrinking->best)) {
        scenario_release(&candidate);
        return false;
    }
    return attempt(shrinking, &candidate);
}

/* Clocks and answers as they should be. */
static bool with_a_better_world(struct shrinking *shrinking)
{
    struct scenario candidate = {0};
    scenario_copy(&candidate, shrinking->best);
    candidate.world.fedd_skew = candidate.world.fedd_drift = 0;
    candidate.world.answers_lost = 0;
    tf_vec_each (c, &candidate.clusters)
        c->clock_skew = c->clock_drift = 0;
    if (scenario_eq(&candidate, shrinking->best)) {
        scenario_release(&candidate);
        return false;
    }
    return attempt(shrinking, &candidate);
}

unsigned chaos_shrink(struct scenario *scenario, const char *kind, unsigned attempts)
{
    struct shrinking shrinking = {.best = scenario, .kind = kind, .left = attempts};
    struct scenario same = {0};
    scenario_copy(&same, scenario);
    if (!attempt(&shrinking, &same))
        return 0;
    for (bool again = true; again && shrinking.left;) {
        again = false;
        for (int part = 0; part < PART_KINDS; part++)
            again |= reduce(&shrinking, (enum part_kind)part);
        again |= with_fewer_daemons(&shrinking);
        again |= with_a_better_world(&shrinking);
    }
    return shrinking.attempts;
}
