/* SPDX-License-Identifier: Apache-2.0 */
/* Owns for how long what got free waits for work that waits. Who gets it afterwards is decided elsewhere. */
#include "subcluster/core/offers.h"

#include "subcluster/core/image.h"
#include "subcluster/core/link.h"

#include <assert.h>

bool offers_are_over(const struct ledger_node *node)
{
    return !node->on_offer;
}

/* An offer is the node's latest, or void: more has got free there since. */
static bool is_latest(const struct offer *offer, const struct ledger_node *node)
{
    return node->on_offer && node->freed_at.ms == offer->at.ms && node->freed_in == offer->counter;
}

static void end_first(struct sub *sub)
{
    struct offers *offers = &sub->offers;
    const struct offer *offer = &offers->items[offers->first++];
    struct ledger_node *node = sub->ledger.nodes.items[offer->node];
    if (is_latest(offer, node)) {
        node->on_offer = false;
        offers->over = true;
    }
    if (offers->first == offers->count)
        offers->first = offers->count = 0;
}

static struct tf_mono end_of(const struct sub *sub, const struct offer *offer)
{
    struct tf_mono end = {offer->at.ms + sub->policy.offer_time}, alone = uplink_alone_at(sub);
    return alone.ms < end.ms ? alone : end;
}

/* In the order in which they began they end, too. */
static void end_those_over(struct sub *sub)
{
    struct offers *offers = &sub->offers;
    while (offers->count && end_of(sub, &offers->items[offers->first]).ms <= sub->now.mono.ms)
        end_first(sub);
}

static void begin(struct sub *sub, struct ledger_node *node)
{
    struct offer offer = {node->number, sub->now.mono, sub->profiler.counter + 1};
    if (is_latest(&offer, node))
        return;
    node->on_offer = true;
    node->freed_at = offer.at;
    node->freed_in = offer.counter;
    tf_vec_push(&sub->offers, offer);
}

void offers_note(struct sub *sub)
{
    struct ledger *ledger = &sub->ledger;
    assert(ledger->dirty.count == 0);
    tf_vec_each (node, &ledger->freed)
        begin(sub, ledger->nodes.items[*node]);
    ledger->freed.count = 0;
    end_those_over(sub);
}

void offers_considered(struct sub *sub, struct tf_generation generation)
{
    struct offers *offers = &sub->offers;
    if (generation.owner != sub->boot.owner_revision)
        return;
    while (offers->count && offers->items[offers->first].counter <= generation.counter)
        end_first(sub);
}

struct tf_mono offers_due(const struct sub *sub)
{
    const struct offers *offers = &sub->offers;
    return offers->count ? end_of(sub, &offers->items[offers->first]) : TF_NEVER;
}

/* ---- images ---- */

static void image_offer(struct tf_image *image, struct offer *offer)
{
    tf_image_open(image, offer);
    tf_image_number(image, &offer->node);
    tf_image_number(image, &offer->at);
    tf_image_number(image, &offer->counter);
    tf_image_close(image);
}

/* Those that are over are gone. */
void offers_image(struct tf_image *image, struct sub *sub)
{
    struct offers *offers = &sub->offers;
    uint64_t count = tf_image_count(image, offers->count - offers->first);
    tf_image_open(image, offers);
    tf_image_skip(image, &offers->items, "one by one");
    tf_image_skip(image, &offers->count, "counted");
    tf_image_skip(image, &offers->cap, "memory");
    tf_image_skip(image, &offers->first, "the first of those that are written");
    tf_image_number(image, &offers->over);
    for (size_t i = offers->first; count > 0 && !tf_image_failed(image); i++, count--) {
        if (tf_image_is_reading(image))
            (void)tf_vec_add(offers);
        image_offer(image, &offers->items[i]);
        if (!tf_image_failed(image) && offers->items[i].node >= sub->ledger.nodes.count)
            tf_image_fail(image, "an offer is of no node");
    }
    tf_image_close(image);
}
