/* SPDX-License-Identifier: Apache-2.0 */
/* The store's health: the log says when it is away. Its room, which only the leader looks after: how full it
 * is goes to the core. */
#include "federation/daemon/private.h"

#include "common/base/cleanup.h"
#include "common/keep/tidy.h"

enum { TICK_MS = TF_SECOND };

struct upkeep {
    struct fedd *fedd;
    struct tf_timer timer;
    struct tf_tidy *tidy;
    bool in_trouble;
};

/* A full store lets nobody begin to lead: then whoever finds it so makes room. */
static bool holds(void *arg)
{
    const struct fedd *fedd = ((const struct upkeep *)arg)->fedd;
    return (fedd->fed && fedd->loaded) || tf_keep_trouble(fedd->keep)->code == TF_ERR_REFUSED;
}

static void seen(void *arg, const struct tf_store_status *status)
{
    const struct upkeep *upkeep = arg;
    if (status->quota_bytes > 0 && upkeep->fedd->fed && upkeep->fedd->loaded)
        host_step(upkeep->fedd,
                  &(struct fed_event){.kind = FED_EV_QUOTA, .quota_percent = tf_store_percent(status)});
}

static const struct tf_tidy_events events = {.holds = holds, .seen = seen};

/* The log says when the store goes away and when it is back, leader or not. True if it just did. */
static bool tell_trouble(struct upkeep *upkeep)
{
    const struct tf_error *trouble = tf_keep_trouble(upkeep->fedd->keep);
    bool in_trouble = trouble->code != TF_OK;
    if (in_trouble && !upkeep->in_trouble)
        tf_log_error("the store cannot be used error=%s", trouble->text);
    else if (!in_trouble && upkeep->in_trouble)
        tf_log_info("the store can be used again");
    bool changed = in_trouble != upkeep->in_trouble;
    upkeep->in_trouble = in_trouble;
    return changed;
}

static void on_timer(struct tf_timer *timer)
{
    struct upkeep *upkeep = TF_CONTAINER_OF(timer, struct upkeep, timer);
    if (tell_trouble(upkeep))
        tf_tidy_look(upkeep->tidy);
    struct tf_mono due = {tf_loop_now(upkeep->fedd->loop).mono.ms + TICK_MS};
    tf_timer_start(upkeep->fedd->loop, &upkeep->timer, due, on_timer);
}

void upkeep_start(struct fedd *fedd)
{
    fedd->upkeep = tf_calloc(1, sizeof *fedd->upkeep);
    fedd->upkeep->fedd = fedd;
    fedd->upkeep->tidy = tf_tidy_create(fedd->loop, fedd->store, &events, fedd->upkeep);
    tf_timer_start(fedd->loop, &fedd->upkeep->timer, tf_loop_now(fedd->loop).mono, on_timer);
}

void upkeep_now(struct fedd *fedd)
{
    tf_tidy_look(fedd->upkeep->tidy);
}

void upkeep_wrote(struct fedd *fedd, size_t bytes)
{
    tf_tidy_wrote(fedd->upkeep->tidy, bytes);
}

struct tf_store_status upkeep_status(const struct fedd *fedd)
{
    return tf_tidy_status(fedd->upkeep->tidy);
}

void upkeep_stop(struct fedd *fedd)
{
    if (!fedd->upkeep)
        return;
    tf_timer_cancel(fedd->loop, &fedd->upkeep->timer);
    tf_tidy_destroy(fedd->upkeep->tidy);
    free(fedd->upkeep);
    fedd->upkeep = NULL;
}
