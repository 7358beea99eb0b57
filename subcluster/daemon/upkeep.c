/* SPDX-License-Identifier: Apache-2.0 */
/* The store's room, which only the owner looks after: says when it gets full. And tells the leader when the
 * store does not answer: for people, who else would see a subcluster that is attached and takes nothing. */
#include "subcluster/daemon/private.h"

#include "common/base/cleanup.h"
#include "common/keep/tidy.h"

enum {
    FLUSH_MS = 10 * TF_SECOND,
    LOOK_MS = TF_SECOND, /* at the store's trouble */
    WARN_PERCENT = 70,
    ERROR_PERCENT = 90,
    HYSTERESIS = 5,
};

struct upkeep {
    struct subd *subd;
    struct tf_timer flush; /* of repeated lines of the log */
    struct tf_timer look;
    bool told; /* the leader knows of trouble */
    struct tf_tidy *tidy;
    int32_t warned; /* percent, when it was last said; 0 = all is well */
};

/* A full store lets nobody begin to own it: then whoever finds it so makes room. */
static bool holds(void *arg)
{
    const struct subd *subd = ((const struct upkeep *)arg)->subd;
    return subd->sub || tf_keep_trouble(subd->keep)->code == TF_ERR_REFUSED;
}

static void seen(void *arg, const struct tf_store_status *status)
{
    struct upkeep *upkeep = arg;
    int32_t percent = tf_store_percent(status);
    if (percent < WARN_PERCENT - HYSTERESIS) {
        upkeep->warned = 0;
        return;
    }
    if (percent < WARN_PERCENT || percent < upkeep->warned + HYSTERESIS)
        return;
    upkeep->warned = percent;
    tf_log(percent >= ERROR_PERCENT ? TF_LOG_ERROR : TF_LOG_WARN,
           "the subcluster's store fills up: raise its quota before writes are refused percent=%d", percent);
}

static const struct tf_tidy_events events = {.holds = holds, .seen = seen};

static void on_flush(struct tf_timer *timer)
{
    struct upkeep *upkeep = TF_CONTAINER_OF(timer, struct upkeep, flush);
    struct tf_mono due = {tf_loop_now(upkeep->subd->loop).mono.ms + FLUSH_MS};
    tf_timer_start(upkeep->subd->loop, &upkeep->flush, due, on_flush);
    tf_log_flush();
}

static void tell(struct upkeep *upkeep, const char *trouble)
{
    const struct tf_up up = {.kind = TF_UP_STORE, .store.text = (char *)(uintptr_t)trouble};
    upkeep->told = trouble != NULL;
    subd_uplink_send(upkeep->subd, &up);
}

/* A stream begins without trouble: whoever attaches tells it anew. */
static void on_look(struct tf_timer *timer)
{
    struct upkeep *upkeep = TF_CONTAINER_OF(timer, struct upkeep, look);
    struct subd *subd = upkeep->subd;
    const struct tf_error *trouble = tf_keep_trouble(subd->keep);
    struct tf_mono due = {tf_loop_now(subd->loop).mono.ms + LOOK_MS};
    tf_timer_start(subd->loop, &upkeep->look, due, on_look);
    if (!subd_uplink_attached(subd))
        upkeep->told = false;
    else if ((trouble->code != TF_OK) != upkeep->told)
        tell(upkeep, upkeep->told ? NULL : trouble->text);
}

void subd_upkeep_start(struct subd *subd)
{
    subd->upkeep = tf_calloc(1, sizeof *subd->upkeep);
    subd->upkeep->subd = subd;
    subd->upkeep->tidy = tf_tidy_create(subd->loop, subd->store, &events, subd->upkeep);
    tf_timer_start(subd->loop, &subd->upkeep->flush, tf_loop_now(subd->loop).mono, on_flush);
    tf_timer_start(subd->loop, &subd->upkeep->look, tf_loop_now(subd->loop).mono, on_look);
}

void subd_upkeep_wrote(struct subd *subd, size_t bytes)
{
    tf_tidy_wrote(subd->upkeep->tidy, bytes);
}

struct tf_store_status subd_upkeep_status(const struct subd *subd)
{
    return tf_tidy_status(subd->upkeep->tidy);
}

void subd_upkeep_stop(struct subd *subd)
{
    if (!subd->upkeep)
        return;
    tf_timer_cancel(subd->loop, &subd->upkeep->flush);
    tf_timer_cancel(subd->loop, &subd->upkeep->look);
    tf_tidy_destroy(subd->upkeep->tidy);
    free(subd->upkeep);
    subd->upkeep = NULL;
}
