/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what became of moves and defragmentations that a scenario orders: one that was refused has moved
 * nothing, and a run that passed all the same would be taken for an answer. */
#include "common/base/cleanup.h"
#include "common/base/quantity.h"
#include "tools/fedsim/play/private.h"

bool play_moves_job(const struct play *play, const struct scenario_event *event)
{
    tf_vec_each (site, &play->world.sites)
        if (event->migrate && event->instance < 0 && event->to && strcmp((*site)->name, event->to) == 0)
            return true;
    return false;
}

/* ---- what is answered ---- */

static void hear(void *arg, const struct sim_fact *fact)
{
    struct play *play = arg;
    if (fact->kind != SIM_FACT_ORDERED)
        return;
    tf_vec_each (order, &play->orders) {
        if (!tf_uid_eq(order->id, fact->order))
            continue;
        order->answers++;
        order->done |= fact->code == TF_OK;
        if (fact->code == TF_OK || (order->text && fact->site != order->home))
            continue;
        free(order->text);
        order->text = tf_strdup(fact->text);
    }
}

void play_orders_begin(struct play *play)
{
    world_listen(&play->world, hear, play);
}

void play_orders_release(struct play *play)
{
    tf_vec_each (order, &play->orders)
        free(order->text);
    tf_vec_release(&play->orders);
}

void play_order(struct play *play, const struct scenario_event *event, struct tf_uid id,
                const struct sim_site *home, size_t heard)
{
    tf_vec_push(&play->orders,
                (struct play_order){
                    .event = event, .id = id, .home = home, .at = play->world.agenda.now.ms, .heard = heard});
}

/* ---- the judgement ---- */

static void judge(struct play *play, const struct play_order *order)
{
    char at[TF_QUANTITY_TEXT];
    const struct scenario_event *event = order->event;
    const char *what = event->migrate ? "migrate" : "defrag",
               *whom = event->migrate ? event->migrate : event->defrag;
    tf_duration_format(order->at, at);
    if (order->done && event->refused)
        play_fail_event(play, event, "at %s: %s %s was to be refused, and was not", at, what, whom);
    if (order->done || event->refused)
        return;
    if (order->heard == 0)
        play_fail_event(play, event, "at %s: %s %s: no subclusterd could be asked: none is attached", at,
                        what, whom);
    else if (order->answers == order->heard) /* else a fault came in between, which may be what is tried */
        play_fail_event(play, event, "at %s: %s %s is refused: %s", at, what, whom,
                        order->text ? order->text : "");
}

void play_orders_judge(struct play *play)
{
    if (play->scenario->world.rests) /* where anything may happen an order may be refused */
        return;
    tf_vec_each (order, &play->orders)
        judge(play, order);
}
