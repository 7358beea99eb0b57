/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the names of figures, and what each of them is. */
#include "tools/fedsim/report/private.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"

#include <inttypes.h>

#define MILLION INT64_C(1000000)
static const int64_t hour_ms = INT64_C(3600) * 1000;

/* ---- values, in millionths ---- */

typedef int64_t figure_f(const struct report *report, const struct report_group *group);

/* a/b without overflow for what years of a million GPUs are. */
static int64_t ratio(int64_t a, int64_t b)
{
    if (b <= 0)
        return 0;
    int64_t whole = a / b, rest = a % b;
    for (; rest > INT64_MAX / MILLION; rest /= 2)
        b /= 2;
    return whole * MILLION + rest * MILLION / b;
}

#define COUNTER(name)                                                                       \
    static int64_t name##_of(const struct report *report, const struct report_group *group) \
    {                                                                                       \
        (void)report;                                                                       \
        return group->name * MILLION;                                                       \
    }
COUNTER(submitted)
COUNTER(completed)
COUNTER(failed)
COUNTER(deleted)
COUNTER(running)
COUNTER(pending)
COUNTER(placements)
COUNTER(refused)
COUNTER(evictions)
COUNTER(surplus_evicted)
COUNTER(jobs_evicted)
COUNTER(redundant)
COUNTER(requeued)
COUNTER(resizes)
COUNTER(restarts)
COUNTER(migrations)
COUNTER(rolled_back)
COUNTER(vacated)

static int64_t core_evicted_of(const struct report *report, const struct report_group *group)
{
    return evictions_of(report, group) - surplus_evicted_of(report, group);
}

static int64_t simulated(const struct report *report, const struct report_group *group)
{
    (void)group;
    return report->now * MILLION / TF_SECOND;
}

static int64_t events(const struct report *report, const struct report_group *group)
{
    (void)group;
    return (int64_t)(report->over ? report->events : report->world->agenda.done) * MILLION;
}

static int64_t violations(const struct report *report, const struct report_group *group)
{
    (void)group;
    bool broke =
        report->over ? report->breached : report->world->breached || audit_breach(report->world->audit);
    return broke ? MILLION : 0;
}

/* GPU-time there is the cluster's own, or everybody's. */
static int64_t there(const struct report *report, const struct report_group *group)
{
    const struct report_integral *of =
        group->there.sum || group->there.now ? &group->there : &report->all.there;
    return report_integral_at(of, report->now);
}

static int64_t allocation(const struct report *report, const struct report_group *group)
{
    return ratio(report_integral_at(&group->held, report->now), there(report, group));
}

static int64_t usable(const struct report *report, const struct report_group *group)
{
    return ratio(report_integral_at(&group->usable, report->now), there(report, group));
}

static int64_t gpu_hours(const struct report *report, const struct report_group *group)
{
    return ratio(report_integral_at(&group->held, report->now), hour_ms);
}

static int64_t gpu_hours_there(const struct report *report, const struct report_group *group)
{
    return ratio(there(report, group), hour_ms);
}

static int64_t unmet(const struct report *report, const struct report_group *group)
{
    return ratio(report_integral_at(&group->unmet, report->now), hour_ms);
}

static int64_t lost(const struct report *report, const struct report_group *group)
{
    (void)report;
    return ratio(group->lost, hour_ms);
}

enum {
    ALL = REPORT_OF_ALL,
    WORK = REPORT_OF_ALL | REPORT_OF_CLASS | REPORT_OF_TENANT,
    EVERY = WORK | REPORT_OF_CLUSTER,
    FLEET = REPORT_OF_ALL | REPORT_OF_CLUSTER,
};

static const struct figure {
    const char *name;
    figure_f *value;
    unsigned where;
} figures[] = {
    {"simulatedSeconds", simulated, ALL},
    {"events", events, ALL},
    {"invariantViolations", violations, ALL},
    {"jobsSubmitted", submitted_of, WORK},
    {"jobsCompleted", completed_of, EVERY},
    {"jobsFailed", failed_of, EVERY},
    {"jobsDeleted", deleted_of, WORK},
    {"jobsRunning", running_of, WORK},
    {"jobsPending", pending_of, WORK},
    {"gpuHoursThere", gpu_hours_there, FLEET},
    {"gpuHoursHeld", gpu_hours, EVERY},
    {"gpuAllocation", allocation, EVERY},
    {"gpuUsable", usable, EVERY},
    {"unmetGpuHours", unmet, WORK},
    {"lostGpuHours", lost, EVERY},
    {"placements", placements_of, WORK},
    {"placementsRefused", refused_of, EVERY},
    {"evictions", evictions_of, EVERY},
    {"evictionsByCause.core", core_evicted_of, EVERY},
    {"evictionsByCause.surplus", surplus_evicted_of, EVERY},
    {"victimsRedundant", redundant_of, EVERY},
    {"jobsEvicted", jobs_evicted_of, EVERY},
    {"requeued", requeued_of, EVERY},
    {"restarts", restarts_of, EVERY},
    {"resizes", resizes_of, EVERY},
    {"migrations", migrations_of, EVERY},
    {"migrationsRolledBack", rolled_back_of, EVERY},
    {"nodesVacated", vacated_of, EVERY},
};

/* ---- samples ---- */

static const struct {
    const char *name;
    size_t offset;
} kinds[] = {
    {"waitSeconds", offsetof(struct report_group, waits)},
    {"jctSeconds", offsetof(struct report_group, completions)},
    {"reclaimSeconds", offsetof(struct report_group, reclaims)},
    {"scaleSeconds", offsetof(struct report_group, scales)},
};

static int64_t seconds(int64_t ms)
{
    return ms * (MILLION / TF_SECOND);
}

static const struct {
    const char *name;
    int percent;
} parts[] = {{"p50", 50}, {"p90", 90}, {"p95", 95}, {"p99", 99}, {"max", 100}};

static void each_sample(const char *kind, struct report_samples *samples, report_row_f *row, void *arg)
{
    char name[40];
    snprintf(name, sizeof name, "%s.count", kind);
    row(arg, name, (int64_t)samples->ms.count * MILLION);
    snprintf(name, sizeof name, "%s.mean", kind);
    row(arg, name, seconds(report_mean(samples)));
    for (size_t i = 0; i < TF_ARRAY_LEN(parts); i++) {
        snprintf(name, sizeof name, "%s.%s", kind, parts[i].name);
        row(arg, name, seconds(report_percentile(samples, parts[i].percent)));
    }
}

static void each_cause(const struct report_group *group, report_row_f *row, void *arg)
{
    char name[60];
    for (int cause = 0; cause < REPORT_CAUSES; cause++) {
        snprintf(name, sizeof name, "idleGpuHoursByCause.%s", report_cause_names[cause]);
        row(arg, name, ratio(group->idle[cause], hour_ms));
    }
}

void report_each_figure(struct report *report, struct report_group *group, enum report_where where,
                        report_row_f *row, void *arg)
{
    for (size_t i = 0; i < TF_ARRAY_LEN(figures); i++)
        if (figures[i].where & where)
            row(arg, figures[i].name, figures[i].value(report, group));
    for (size_t i = 0; i < TF_ARRAY_LEN(kinds); i++)
        each_sample(kinds[i].name, (void *)((char *)group + kinds[i].offset), row, arg);
    if (where & FLEET)
        each_cause(group, row, arg);
}

/* ---- by name ---- */

struct search {
    const char *name;
    bool found;
    int64_t value;
};

static void compare(void *arg, const char *name, int64_t millionths)
{
    struct search *search = arg;
    if (strcmp(search->name, name) != 0)
        return;
    search->found = true;
    search->value = millionths;
}

/* "classes.online.evictions": the group, and the name of the figure. Names of groups may hold dots. */
static struct report_group *group_of(struct report *report, const char *path, const char **name,
                                     enum report_where *where)
{
    const struct {
        const char *prefix;
        struct report_group *groups;
        enum report_where where;
    } sets[] = {{"classes.", report->classes, REPORT_OF_CLASS},
                {"tenants.", report->tenants, REPORT_OF_TENANT},
                {"clusters.", report->clusters, REPORT_OF_CLUSTER}};
    *name = path;
    *where = REPORT_OF_ALL;
    for (size_t i = 0; i < TF_ARRAY_LEN(sets); i++) {
        if (!tf_starts_with(path, sets[i].prefix))
            continue;
        const char *rest = path + strlen(sets[i].prefix);
        *where = sets[i].where;
        for (struct report_group *group = sets[i].groups; group; group = group->hh.next) {
            size_t len = strlen(group->name);
            if (strncmp(rest, group->name, len) == 0 && rest[len] == '.') {
                *name = rest + len + 1;
                return group;
            }
        }
        return NULL;
    }
    return &report->all;
}

/* The names that report_each_figure gives to figures there, without any report. Owned by the caller. */
static void list_names(enum report_where where, struct tf_strs *out)
{
    for (size_t i = 0; i < TF_ARRAY_LEN(figures); i++)
        if (figures[i].where & where)
            tf_strs_add(out, figures[i].name);
    for (size_t i = 0; i < TF_ARRAY_LEN(kinds); i++) {
        const char *more[] = {"count", "mean"};
        for (size_t k = 0; k < TF_ARRAY_LEN(more) + TF_ARRAY_LEN(parts); k++)
            tf_vec_push(out,
                        tf_asprintf("%s.%s", kinds[i].name,
                                    k < TF_ARRAY_LEN(more) ? more[k] : parts[k - TF_ARRAY_LEN(more)].name));
    }
    for (int cause = 0; cause < REPORT_CAUSES && where & FLEET; cause++)
        tf_vec_push(out, tf_asprintf("idleGpuHoursByCause.%s", report_cause_names[cause]));
}

/* Names of groups may hold dots: the figure is what the path ends with. */
static int find_name(const char *path, const struct tf_strs *names, bool grouped, char **group,
                     struct tf_error *err)
{
    const char *first = NULL;
    size_t len = strlen(path);
    tf_vec_each (name, names) {
        size_t tail = strlen(*name);
        if (grouped && len > tail + 1 && path[len - tail - 1] == '.' &&
            strcmp(path + len - tail, *name) == 0) {
            *group = tf_strndup(path, len - tail - 1);
            return 0;
        }
        if (!grouped && strcmp(path, *name) == 0)
            return 0;
        const char *word = grouped && strchr(path, '.') ? strchr(path, '.') + 1 : path;
        if (!first && tf_starts_with(*name, word) && (*name)[strlen(word)] == '.')
            first = *name;
    }
    if (first)
        return tf_error_set(err, TF_ERR_INVALID, "is several figures: name one of them, as %s", first);
    const char *word = grouped && strchr(path, '.') ? strchr(path, '.') + 1 : path;
    const char *nearest = tf_nearest(word, (const char *const *)names->items, names->count);
    return tf_error_set(err, TF_ERR_INVALID, "\"%.60s\" is no figure %s%s%s%s", word,
                        grouped ? "that these have" : "of a report", nearest ? "; did you mean \"" : "",
                        nearest ? nearest : "", nearest ? "\"?" : "");
}

int report_name_check(const char *path, enum report_set *set, char **group, struct tf_error *err)
{
    static const struct {
        const char *prefix;
        enum report_where where;
        enum report_set set;
    } sets[] = {{"", REPORT_OF_ALL, REPORT_ALL},
                {"classes.", REPORT_OF_CLASS, REPORT_CLASSES},
                {"tenants.", REPORT_OF_TENANT, REPORT_TENANTS},
                {"clusters.", REPORT_OF_CLUSTER, REPORT_CLUSTERS}};
    size_t at = TF_ARRAY_LEN(sets) - 1;
    while (at > 0 && !tf_starts_with(path, sets[at].prefix))
        at--;
    struct tf_strs names = {0};
    list_names(sets[at].where, &names);
    *set = sets[at].set;
    *group = NULL;
    int failed = find_name(path + strlen(sets[at].prefix), &names, at > 0, group, err);
    tf_strs_release(&names);
    return failed;
}

int report_figure(struct report *report, const char *path, int64_t *millionths)
{
    struct search search = {0};
    enum report_where where;
    struct report_group *group = group_of(report, path, &search.name, &where);
    if (!report->over)
        report->now = report->world->agenda.now.ms;
    if (group)
        report_each_figure(report, group, where, compare, &search);
    *millionths = search.value;
    return search.found ? 0 : -1;
}

void report_number(struct tf_buf *out, int64_t millionths)
{
    int64_t size = millionths < 0 ? -millionths : millionths;
    tf_buf_fmt(out, "%s%" PRId64, millionths < 0 ? "-" : "", size / MILLION);
    int64_t rest = size % MILLION;
    if (rest == 0)
        return;
    int digits = 6;
    for (; rest % 10 == 0; rest /= 10)
        digits--;
    tf_buf_fmt(out, ".%0*" PRId64, digits, rest);
}
