/* SPDX-License-Identifier: Apache-2.0 */
/* What is in the state of a subcluster's core, its events and its actions (common/base/image.h). What each
 * part alone knows is written in its own file (image.h). */
#include "subcluster/core/image.h"

#include "subcluster/core/absorb.h"
#include "subcluster/core/event.h"
#include "subcluster/core/offers.h"

/* ---- events ---- */

static void image_rules(struct tf_image *image, struct sub_health_rules *rules)
{
    tf_image_open(image, rules);
    tf_image_number(image, &rules->node_lost_after);
    tf_image_number(image, &rules->mass_down_window);
    tf_image_number(image, &rules->mass_down_fraction);
    tf_image_number(image, &rules->mass_down_least);
    tf_image_number(image, &rules->suspect_after);
    tf_image_close(image);
}

static void image_boot(struct tf_image *image, struct sub_boot *boot)
{
    tf_image_open(image, boot);
    tf_image_string(image, &boot->name);
    tf_image_string(image, &boot->region);
    tf_image_string(image, &boot->version);
    tf_image_string(image, &boot->engine);
    tf_image_pairs(image, &boot->labels);
    tf_image_planes(image, &boot->planes);
    tf_image_number(image, &boot->owner_revision);
    tf_image_number(image, &boot->capabilities);
    tf_image_policy(image, &boot->policy);
    tf_image_number(image, &boot->profile_interval);
    tf_image_number(image, &boot->decision_budget);
    tf_image_number(image, &boot->loss_cap);
    tf_image_number(image, &boot->resize_loss);
    tf_image_number(image, &boot->accept_rollback);
    image_rules(image, &boot->health);
    tf_image_close(image);
}

static void image_instance(struct tf_image *image, struct sub_instance_event *e)
{
    tf_image_open(image, e);
    tf_image_instance_id(image, &e->id);
    tf_image_number(image, &e->state);
    tf_image_number(image, &e->exit_code);
    tf_image_number(image, &e->stopped);
    tf_image_string(image, &e->text);
    tf_image_string(image, &e->output);
    tf_image_string(image, &e->tenant);
    tf_image_string(image, &e->name);
    tf_image_string(image, &e->node);
    tf_image_number(image, &e->gpus);
    tf_image_strings(image, &e->ports);
    tf_image_close(image);
}

static void image_settings(struct tf_image *image, struct sub_settings_event *settings)
{
    tf_image_open(image, settings);
    tf_image_number(image, &settings->profile_interval);
    tf_image_number(image, &settings->decision_budget);
    tf_image_number(image, &settings->loss_cap);
    tf_image_number(image, &settings->resize_loss);
    image_rules(image, &settings->health);
    tf_image_close(image);
}

/* Without a default, so that a kind that is forgotten here does not compile: an event that has no image ends
 * the recording of the daemon. */
static void image_event_part(struct tf_image *image, struct sub_event *event)
{
    switch (event->kind) {
    case SUB_EV_BOOT:
        image_boot(image, &event->boot);
        return;
    case SUB_EV_RECORD:
        tf_image_record(image, &event->record);
        return;
    case SUB_EV_NODE:
        tf_image_node(image, &event->node);
        return;
    case SUB_EV_INSTANCE:
        image_instance(image, &event->instance);
        return;
    case SUB_EV_DOWN:
        tf_image_down(image, &event->down);
        return;
    case SUB_EV_SETTINGS:
        image_settings(image, &event->settings);
        return;
    case SUB_EV_CHECKPOINT:
        tf_image_instance_id(image, &event->checkpoint);
        return;
    case SUB_EV_LOADED:
    case SUB_EV_COMMITTED:
    case SUB_EV_LISTED:
    case SUB_EV_LINK_UP:
    case SUB_EV_LINK_DOWN:
    case SUB_EV_TIMER:
    case SUB_EV_CONTINUE:
        return;
    case SUB_EV_NONE:
        break;
    }
    tf_image_fail(image, "there is no event of that kind");
}

void sub_image_event(struct tf_image *image, struct sub_event *event)
{
    tf_image_open(image, event);
    tf_image_number(image, &event->kind);
    tf_image_union(image, event, boot);
    image_event_part(image, event);
    tf_image_close(image);
}

/* ---- actions ---- */

static void image_start(struct tf_image *image, struct sub_start *start)
{
    tf_image_open(image, start);
    tf_image_instance_id(image, &start->id);
    tf_image_string(image, &start->tenant);
    tf_image_string(image, &start->name);
    tf_image_string(image, &start->node);
    tf_image_number(image, &start->gpus);
    tf_image_number(image, &start->rank);
    tf_image_number(image, &start->size);
    tf_image_group(image, &start->group);
    tf_image_close(image);
}

static void image_stop(struct tf_image *image, struct sub_action *action)
{
    tf_image_open(image, &action->stop);
    tf_image_instance_id(image, &action->stop.id);
    tf_image_number(image, &action->stop.stop_delay);
    tf_image_number(image, &action->stop.grace);
    tf_image_close(image);
}

static void image_forget(struct tf_image *image, struct sub_action *action)
{
    tf_image_open(image, &action->forget);
    tf_image_uid(image, &action->forget.uid);
    tf_image_number(image, &action->forget.epoch);
    tf_image_close(image);
}

static void image_peers(struct tf_image *image, struct sub_action *action)
{
    tf_image_open(image, &action->peers);
    tf_image_uid(image, &action->peers.uid);
    tf_image_number(image, &action->peers.epoch);
    tf_image_string(image, &action->peers.content);
    tf_image_close(image);
}

static void image_fence(struct tf_image *image, struct sub_action *action)
{
    tf_image_open(image, &action->fence);
    tf_image_uid(image, &action->fence.uid);
    tf_image_number(image, &action->fence.epoch);
    tf_image_number(image, &action->fence.deadline_boot_ms);
    tf_image_close(image);
}

static void image_persist(struct tf_image *image, struct sub_action *action)
{
    TF_VEC(struct tf_record) records = {action->persist.items, action->persist.count, action->persist.count};
    tf_image_list(image, &records, tf_image_record);
    action->persist.items = records.items;
    action->persist.count = records.count;
}

static void image_action_part(struct tf_image *image, struct sub_action *action)
{
    switch (action->kind) {
    case SUB_ACT_PERSIST:
        image_persist(image, action);
        break;
    case SUB_ACT_SEND:
        tf_image_up(image, &action->send);
        break;
    case SUB_ACT_START:
        image_start(image, &action->start);
        break;
    case SUB_ACT_STOP:
        image_stop(image, action);
        break;
    case SUB_ACT_FORGET:
        image_forget(image, action);
        break;
    case SUB_ACT_PEERS:
        image_peers(image, action);
        break;
    case SUB_ACT_FENCE:
        image_fence(image, action);
        break;
    case SUB_ACT_WAKE:
        tf_image_number(image, &action->wake);
        break;
    case SUB_ACT_CLOSE:
    case SUB_ACT_TRACE:
    case SUB_ACT_ALARM:
        tf_image_string(image, &action->text);
        break;
    case SUB_ACT_NONE:
    case SUB_ACT_CONTINUE:
        break;
    }
}

void sub_image_action(struct tf_image *image, struct sub_action *action)
{
    tf_image_open(image, action);
    tf_image_number(image, &action->kind);
    tf_image_union(image, action, persist);
    image_action_part(image, action);
    tf_image_close(image);
}

/* ---- the link ---- */

static void image_order(struct tf_image *image, struct order *order)
{
    tf_image_open(image, order);
    tf_image_entry(image, &order->entry);
    tf_image_number(image, &order->n);
    tf_image_number(image, &order->full);
    tf_image_close(image);
}

/* Those before the cursor are done, and gone. */
static void image_orders(struct tf_image *image, struct link *link)
{
    uint64_t count = tf_image_count(image, link->orders.count - link->next_order);
    tf_image_skip(image, &link->orders, "one by one");
    tf_image_skip(image, &link->next_order, "the first of those that are written");
    for (size_t i = link->next_order; count > 0 && !tf_image_failed(image); i++, count--) {
        if (tf_image_is_reading(image))
            (void)tf_vec_add(&link->orders);
        image_order(image, &link->orders.items[i]);
    }
}

static void image_link(struct tf_image *image, struct link *link)
{
    tf_image_open(image, link);
    tf_image_number(image, &link->state);
    tf_image_number(image, &link->n);
    tf_image_number(image, &link->set_left);
    tf_image_number(image, &link->highest_epoch);
    tf_image_policy(image, &link->policy);
    tf_image_number(image, &link->stale_told);
    tf_image_number(image, &link->since);
    image_orders(image, link);
    tf_image_number(image, &link->listed_due);
    tf_image_number(image, &link->continue_asked);
    tf_image_list(image, &link->answers, tf_image_up);
    tf_image_close(image);
}

static void image_profiler(struct tf_image *image, struct profiler *p)
{
    tf_image_open(image, p);
    tf_image_term(image, &p->reflects_term);
    tf_image_number(image, &p->reflects_n);
    tf_image_number(image, &p->counter);
    tf_image_number(image, &p->open);
    tf_image_number(image, &p->full_due);
    tf_image_number(image, &p->due);
    tf_image_number(image, &p->next);
    tf_image_number(image, &p->brakes);
    tf_image_list(image, &p->vacatable, tf_image_vacatable);
    tf_image_number(image, &p->count_at);
    tf_image_number(image, &p->count_due);
    tf_image_close(image);
}

static void image_node_number(struct tf_image *image, uint32_t *number)
{
    tf_image_number(image, number);
}

static void image_health(struct tf_image *image, struct health *health)
{
    tf_image_open(image, health);
    tf_image_list(image, &health->watched, image_node_number);
    tf_image_number(image, &health->suspects);
    tf_image_number(image, &health->look);
    tf_image_number(image, &health->due);
    tf_image_close(image);
}

/* ---- the whole ---- */

static void image_stray(struct tf_image *image, struct stray *stray)
{
    tf_image_open(image, stray);
    tf_image_instance_id(image, &stray->id);
    tf_image_string(image, &stray->tenant);
    tf_image_string(image, &stray->name);
    tf_image_string(image, &stray->node);
    tf_image_number(image, &stray->gpus);
    tf_image_strings(image, &stray->ports);
    tf_image_number(image, &stray->ready);
    tf_image_number(image, &stray->stopping);
    tf_image_number(image, &stray->due);
    tf_image_close(image);
}

static void image_epoch_id(struct tf_image *image, struct epoch_id *id)
{
    tf_image_open(image, id);
    tf_image_uid(image, &id->uid);
    tf_image_number(image, &id->epoch);
    tf_image_close(image);
}

static void image_node_claim(struct tf_image *image, struct node_claim *claim)
{
    tf_image_open(image, claim);
    tf_image_node_claim(image, &claim->record);
    tf_image_number(image, &claim->told);
    tf_image_number(image, &claim->next_look);
    tf_image_close(image);
}

static void image_moment(struct tf_image *image, struct tf_mono *moment)
{
    tf_image_number(image, moment);
}

static void image_evictions(struct tf_image *image, struct evictions *some)
{
    tf_image_open(image, some);
    tf_image_number(image, &some->at);
    tf_image_number(image, &some->count);
    tf_image_close(image);
}

static void image_change(struct tf_image *image, uint64_t *change)
{
    tf_image_number(image, change);
}

static void image_migrations(struct tf_image *image, struct sub *sub)
{
    uint64_t count = tf_image_count(image, sub->migrations.count);
    tf_image_skip(image, &sub->migrations, "one by one");
    for (size_t i = 0; i < count && !tf_image_failed(image); i++) {
        if (tf_image_is_reading(image))
            tf_vec_push(&sub->migrations, tf_calloc(1, sizeof(struct migration)));
        struct migration *m = sub->migrations.items[i];
        tf_image_open(image, m);
        tf_image_migration(image, &m->record);
        tf_image_list(image, &m->switched, image_change);
        tf_image_list(image, &m->due, image_moment);
        tf_image_number(image, &m->until);
        tf_image_close(image);
    }
}

static void image_moves_over(struct tf_image *image, struct sub_moves_over *over)
{
    tf_image_open(image, over);
    for (size_t cause = 0; cause <= TF_MOVE_BY_DEFRAG; cause++) {
        tf_image_number(image, &over->done[cause]);
        tf_image_number(image, &over->rolled_back[cause]);
    }
    tf_image_close(image);
}

static void image_sub(struct tf_image *image, struct sub *sub)
{
    tf_image_open(image, sub);
    tf_image_skip(image, &sub->now, "of a step");
    tf_image_skip(image, &sub->actions, "of a step");
    tf_image_number(image, &sub->rng);
    tf_image_number(image, &sub->loaded);
    tf_image_number(image, &sub->listed);
    tf_image_number(image, &sub->unsure);
    tf_image_number(image, &sub->rollback_noted);
    tf_image_number(image, &sub->floor_stored);
    tf_image_number(image, &sub->hello_due);
    image_boot(image, &sub->boot);
    tf_image_term(image, &sub->term);
    tf_image_number(image, &sub->floor);
    tf_image_policy(image, &sub->policy);
    out_image(image, &sub->outbox);
    ledger_image(image, &sub->ledger);
    image_health(image, &sub->health);
    jobs_image(image, sub);
    tf_image_list(image, &sub->strays, image_stray);
    tf_image_list(image, &sub->exited, image_epoch_id);
    tf_image_list(image, &sub->touched, tf_image_uid);
    tf_image_list(image, &sub->claiming, tf_image_uid);
    tf_image_list(image, &sub->node_claims, image_node_claim);
    tf_image_list(image, &sub->shorts, tf_image_uid);
    tf_image_number(image, &sub->repair_at);
    tf_image_number(image, &sub->serve);
    image_migrations(image, sub);
    tf_image_list(image, &sub->drains, image_node_number);
    tf_image_list(image, &sub->cordons, tf_image_domain_cordon);
    tf_image_number(image, &sub->drains_due);
    image_moves_over(image, &sub->moves_over);
    tf_image_number(image, &sub->defrag_at);
    tf_image_list(image, &sub->evictions, image_evictions);
    tf_image_eviction_count(image, &sub->evicted);
    tf_image_number(image, &sub->strays_due);
    image_link(image, &sub->link);
    image_profiler(image, &sub->profiler);
    offers_image(image, sub);
    absorb_image(image, &sub->absorb);
    tf_image_skip(image, &sub->view, "filled before it is read");
    tf_image_skip(image, &sub->mixes, "resolved before they are read");
    tf_image_skip(image, &sub->scratch, "likewise");
    tf_image_skip(image, &sub->candidates, "likewise");
    tf_image_number(image, &sub->stakes_hour);
    tf_image_number(image, &sub->wake);
    tf_image_skip(image, &sub->reached, "decides nothing");
    tf_image_close(image);
}

void sub_image_state(struct tf_image *image, struct sub **sub)
{
    if (tf_image_is_reading(image))
        *sub = sub_create(0);
    image_sub(image, *sub);
}
