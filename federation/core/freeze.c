/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what is frozen, where, until when. Each is a record of its own, so that a leader that takes over goes
 * on with it; a subcluster hears of it with its policy, stores that, and goes by it when it is alone. What
 * being frozen means is up to those who evict, grow and move. */
#include "federation/core/freeze.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "federation/core/cluster.h"
#include "federation/core/desired.h"
#include "federation/core/ledger.h"
#include "federation/core/outbox.h"
#include "federation/core/trace.h"

#include <inttypes.h>
#include <stdio.h>

enum { SET_TEXT = 40 };

static const enum tf_frozen kinds[] = {TF_FROZEN_EVICTIONS, TF_FROZEN_GROWTH, TF_FROZEN_MOVES};

static struct tf_freeze *find(const struct fed *fed, enum tf_frozen what, const char *cluster)
{
    tf_vec_each (freeze, &fed->freezes)
        if (freeze->what == what && tf_str_eq(freeze->cluster, cluster))
            return freeze;
    return NULL;
}

const struct tf_freeze *fed_frozen(const struct fed *fed, const struct cluster *cluster, enum tf_frozen what)
{
    return tf_freezes_find(&fed->freezes, what, cluster->record.name, fed->now.wall);
}

void fed_freezes_of(const struct fed *fed, const struct cluster *cluster, struct tf_freezes *out)
{
    tf_vec_each (freeze, &fed->freezes)
        if (!freeze->cluster || strcmp(freeze->cluster, cluster->record.name) == 0)
            tf_freeze_copy(tf_vec_add(out), freeze);
}

/* ---- changes ---- */

static const char *key_of(const struct tf_freeze *freeze, char key[FED_KEY_MAX])
{
    snprintf(key, FED_KEY_MAX, "%s/%s", tf_frozen_name(freeze->what), freeze->cluster ? freeze->cluster : "");
    return key;
}

void fed_freeze_record(const struct fed *fed, const char *key, struct tf_record *out)
{
    char own[FED_KEY_MAX];
    tf_vec_each (freeze, &fed->freezes)
        if (strcmp(key_of(freeze, own), key) == 0) {
            tf_freeze_copy(&out->freeze, freeze);
            return;
        }
    out->gone = true;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        size_t len = strlen(tf_frozen_name(kinds[i]));
        if (strncmp(key, tf_frozen_name(kinds[i]), len) != 0)
            continue;
        out->freeze.what = kinds[i];
        out->freeze.cluster = key[len + 1] ? tf_strdup(key + len + 1) : NULL;
    }
}

/* Everybody that it concerns is told, and placements that had been ruled out, or not, are thought over. */
static void spread(struct fed *fed, const struct tf_freeze *freeze)
{
    char key[FED_KEY_MAX];
    fed_touch_freeze(fed, key_of(freeze, key));
    tf_vec_each (c, &fed->clusters) {
        if (freeze->cluster && strcmp(freeze->cluster, (*c)->record.name) != 0)
            continue;
        fed_ledger_changed(fed, *c);
        if ((*c)->link)
            fed_desired_send(fed, *c, TF_DOWN_POLICY);
    }
}

static int in_order(const void *a, const void *b)
{
    return tf_freeze_cmp(a, b);
}

/* Takes the freeze. */
static void file(struct fed *fed, struct tf_freeze *freeze)
{
    tf_vec_push(&fed->freezes, *freeze);
    *freeze = (struct tf_freeze){0};
    qsort(fed->freezes.items, fed->freezes.count, sizeof(struct tf_freeze), in_order);
}

static void trace_freeze(struct fed *fed, const struct tf_freeze *freeze, const char *what)
{
    fed_trace_line(fed, "%s of %s %s%s%s", tf_frozen_name(freeze->what),
                   freeze->cluster ? freeze->cluster : "all subclusters", what, freeze->reason ? ": " : "",
                   freeze->reason ? freeze->reason : "");
}

/* A new one replaces the one of the same, whichever lasts longer: the last word counts. */
static void begin(struct fed *fed, const struct tf_freeze *wanted, enum tf_frozen what)
{
    char text[80];
    struct tf_freeze *old = find(fed, what, wanted->cluster), made = {0};
    tf_freeze_copy(&made, wanted);
    made.what = what;
    if (old) {
        tf_freeze_release(old);
        tf_vec_remove(&fed->freezes, (size_t)(old - fed->freezes.items));
    }
    file(fed, &made);
    snprintf(text, sizeof text, "frozen for %" PRId64 " s",
             (wanted->until.ms - wanted->since.ms) / TF_SECOND);
    const struct tf_freeze *freeze = find(fed, what, wanted->cluster);
    trace_freeze(fed, freeze, text);
    spread(fed, freeze);
}

/* "evictions, growth" */
static const char *set_words(int32_t set, char text[SET_TEXT])
{
    text[0] = '\0';
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (set & (int32_t)kinds[i])
            snprintf(text + strlen(text), SET_TEXT - strlen(text), "%s%s", text[0] ? ", " : "",
                     tf_frozen_name(kinds[i]));
    return text;
}

/* For people who ask later why nothing grew: each cluster that it concerns keeps it, in one line. */
static void tell(struct fed *fed, const char *cluster, int32_t set, const char *type, const char *how)
{
    char words[SET_TEXT];
    tf_vec_each (c, &fed->clusters)
        if (!cluster || strcmp(cluster, (*c)->record.name) == 0)
            fed_cluster_event(fed, *c, type, "%s%s", set_words(set, words), how);
}

static void tell_frozen(struct fed *fed, const struct tf_freeze *wanted, int32_t set)
{
    TF_AUTO_FREE char *how =
        tf_asprintf(" for %" PRId64 " s%s%s%s%s", (wanted->until.ms - wanted->since.ms) / TF_SECOND,
                    wanted->user ? ", by " : "", wanted->user ? wanted->user : "", wanted->reason ? ": " : "",
                    wanted->reason ? wanted->reason : "");
    tell(fed, wanted->cluster, set, "Frozen", how);
}

/* The freeze leaves the list before others are told. */
static void end(struct fed *fed, size_t at, const char *how)
{
    struct tf_freeze gone = fed->freezes.items[at];
    tf_vec_remove(&fed->freezes, at);
    trace_freeze(fed, &gone, how);
    spread(fed, &gone);
    tf_freeze_release(&gone);
}

/* ---- the verb ---- */

/* True if it can be; false after answering. */
static bool may_freeze(struct fed *fed, const struct fed_event *event)
{
    const struct tf_freeze *wanted = &event->freeze.wanted;
    int64_t lasts = event->freeze.lasts;
    if (wanted->what == 0 || (wanted->what | TF_FROZEN_ALL) != TF_FROZEN_ALL) {
        fed_reply_error(fed, event->request, TF_ERR_INVALID,
                        "say what is to be frozen: evictions, growth, moves or all");
        return false;
    }
    if (event->freeze.on && (lasts < TF_SECOND || lasts > TF_FREEZE_LONGEST)) {
        fed_reply_error(fed, event->request, TF_ERR_INVALID,
                        "a freeze lasts from one second to 30 days: say for how long");
        return false;
    }
    if (!wanted->cluster || fed_cluster_by_name(fed, wanted->cluster))
        return true;
    fed_reply_error(fed, event->request, TF_ERR_NOT_FOUND,
                    "there is no subcluster %s: `fedctl get clusters` lists those that have ever attached",
                    wanted->cluster);
    return false;
}

void fed_freeze_verb(struct fed *fed, struct fed_event *event)
{
    struct tf_freeze *wanted = &event->freeze.wanted;
    int32_t changed = 0;
    if (!may_freeze(fed, event))
        return;
    wanted->since = fed->now.wall;
    wanted->until.ms = fed->now.wall.ms + event->freeze.lasts;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const struct tf_freeze *old = find(fed, kinds[i], wanted->cluster);
        if (!(wanted->what & kinds[i]) || (!event->freeze.on && !old))
            continue;
        changed |= (int32_t)kinds[i];
        if (event->freeze.on)
            begin(fed, wanted, kinds[i]);
        else
            end(fed, (size_t)(old - fed->freezes.items), "no longer frozen");
    }
    if (changed && event->freeze.on)
        tell_frozen(fed, wanted, changed);
    else if (changed)
        tell(fed, wanted->cluster, changed, "Unfrozen", "");
    fed_reply_done(fed, event->request, changed ? FED_OUTCOME_DONE : FED_OUTCOME_UNCHANGED,
                   (struct tf_uid){{0}}, 0);
}

/* ---- by itself ---- */

void fed_freeze_load(struct fed *fed, struct tf_freeze *freeze)
{
    if (tf_freeze_fault(freeze) || find(fed, freeze->what, freeze->cluster)) {
        fed_alarm_now(fed, "a stored freeze is not sound, or there twice: it is left out");
        return;
    }
    file(fed, freeze);
}

void fed_freeze_expire(struct fed *fed)
{
    if (fed->stage != FED_STAGE_OPEN || fed->closed)
        return;
    for (size_t i = fed->freezes.count; i-- > 0;)
        if (fed->freezes.items[i].until.ms <= fed->now.wall.ms) {
            TF_AUTO_FREE char *cluster = tf_strdup(fed->freezes.items[i].cluster);
            int32_t what = (int32_t)fed->freezes.items[i].what;
            tf_reached(fed, FED_FREEZE_OVER);
            end(fed, i, "no longer frozen: its time is up");
            tell(fed, cluster, what, "Unfrozen", ": its time is up");
        }
}

struct tf_mono fed_freeze_next(const struct fed *fed)
{
    struct tf_wall first = {INT64_MAX};
    if (fed->stage == FED_STAGE_OPEN && !fed->closed)
        tf_vec_each (freeze, &fed->freezes)
            if (freeze->until.ms < first.ms)
                first = freeze->until;
    if (first.ms == INT64_MAX)
        return TF_NEVER;
    return (struct tf_mono){fed->now.mono.ms + (first.ms - fed->now.wall.ms)};
}
