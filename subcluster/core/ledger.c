/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the nodes, what is held on them, and the rows made of that. Decides nothing. */
#include "subcluster/core/ledger.h"

#include "common/base/text.h"

#include <assert.h>

enum { CLASSES_SPARE = 64 };

/* ---- life ---- */

void ledger_init(struct ledger *ledger, const struct tf_planes *planes, const struct tf_strs *schedule_labels)
{
    *ledger = (struct ledger){0};
    tf_planes_copy(&ledger->planes, planes);
    tf_strs_copy(&ledger->schedule_labels, schedule_labels);
    ledger->rows = tf_fit_rows_create(planes);
}

static void node_free(struct ledger_node *node)
{
    tf_node_release(&node->node);
    tf_cordon_release(&node->cordon);
    tf_vec_release(&node->holdings);
    tf_vec_release(&node->claims);
    tf_vec_release(&node->blockings);
    free(node);
}

void ledger_free(struct ledger *ledger)
{
    tf_vec_each (node, &ledger->nodes)
        node_free(*node);
    tf_vec_each (row, &ledger->node_rows)
        tf_profile_row_release(row);
    tf_vec_release(&ledger->nodes);
    tf_vec_release(&ledger->by_name);
    tf_vec_release(&ledger->node_rows);
    tf_vec_release(&ledger->dirty);
    tf_vec_release(&ledger->freed);
    tf_vec_release(&ledger->leaving);
    tf_planes_release(&ledger->planes);
    tf_strs_release(&ledger->schedule_labels);
    tf_fit_rows_destroy(ledger->rows);
    free(ledger->worth);
    *ledger = (struct ledger){0};
}

static void set_dirty(struct ledger *ledger, struct ledger_node *node)
{
    if (node->dirty)
        return;
    node->dirty = true;
    tf_vec_push(&ledger->dirty, node);
}

/* With new rows: other labels, or too many classes that no node has any more. */
static void start_over(struct ledger *ledger)
{
    tf_fit_rows_destroy(ledger->rows);
    ledger->rows = tf_fit_rows_create(&ledger->planes);
    ledger->made++;
    ledger->rebuilt = true;
    tf_vec_each (row, &ledger->node_rows)
        row->count = 0;
    tf_vec_each (node, &ledger->nodes) {
        (*node)->classed = false;
        set_dirty(ledger, *node);
    }
}

void ledger_set_labels(struct ledger *ledger, const struct tf_strs *schedule_labels)
{
    if (tf_strs_eq(&ledger->schedule_labels, schedule_labels))
        return;
    tf_strs_copy(&ledger->schedule_labels, schedule_labels);
    start_over(ledger);
}

/* ---- nodes ---- */

/* The place of the first whose name is not less. */
static size_t lower_bound(const struct ledger *ledger, const char *name)
{
    size_t low = 0, high = ledger->by_name.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(ledger->by_name.items[middle]->node.name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct ledger_node *ledger_find(const struct ledger *ledger, const char *name)
{
    size_t at = lower_bound(ledger, name);
    if (at == ledger->by_name.count || strcmp(ledger->by_name.items[at]->node.name, name) != 0)
        return NULL;
    return ledger->by_name.items[at];
}

struct ledger_node *ledger_need(struct ledger *ledger, const char *name)
{
    struct ledger_node *node = ledger_find(ledger, name);
    if (node)
        return node;
    size_t at = lower_bound(ledger, name);
    node = tf_calloc(1, sizeof *node);
    node->node.name = tf_strdup(name);
    node->silent = TF_NEVER;
    node->number = (uint32_t)ledger->nodes.count;
    node->kept.rank = -1;
    tf_vec_push(&ledger->nodes, node);
    tf_vec_push(&ledger->by_name, node);
    for (size_t i = ledger->by_name.count - 1; i > at; i--)
        ledger->by_name.items[i] = ledger->by_name.items[i - 1];
    ledger->by_name.items[at] = node;
    tf_vec_push(&ledger->node_rows, (struct tf_profile_row){.id = node->number, .claim_rank = -1});
    return node;
}

/* One that was given up is lost to us while nothing is heard of it, and not ready before what was given up
 * there has been stopped. */
static enum tf_node_state state_of(const struct ledger_node *node)
{
    enum tf_node_state told = node->told_state;
    if (node->cordon.verdict == TF_VERDICT_LOST && told != TF_NODE_LOST)
        return told == TF_NODE_UNREACHABLE ? TF_NODE_LOST : TF_NODE_UNREACHABLE;
    if (!tf_cordon_closes(&node->cordon) || told != TF_NODE_READY)
        return told;
    return node->cordon.drain.on ? TF_NODE_DRAINING : TF_NODE_CORDONED;
}

/* GPUs are bad for whatever reason comes first, and suspect by what is said of them if nobody calls them bad.
 */
static void lay_cordon(const struct ledger_node *node, struct tf_node *on)
{
    on->state = state_of(node);
    uint64_t all = tf_gpu_set_all(on->capacity.gpus), people = tf_cordon_gpus(&node->cordon) & all;
    uint64_t bad = (node->told_bad & ~node->told_suspect) | (people & ~tf_cordon_suspects(&node->cordon));
    on->bad_gpus = node->told_bad | people;
    on->suspect_gpus = on->bad_gpus & ~bad;
}

void ledger_cordoned(struct ledger *ledger, struct ledger_node *node)
{
    if (!node->known)
        return;
    lay_cordon(node, &node->node);
    set_dirty(ledger, node);
}

struct ledger_node *ledger_set_node(struct ledger *ledger, struct tf_node *taken)
{
    struct ledger_node *node = ledger_need(ledger, taken->name);
    node->told_state = taken->state;
    node->told_bad = taken->bad_gpus;
    node->told_suspect = taken->suspect_gpus;
    lay_cordon(node, taken);
    if (!node->known || !tf_node_eq(&node->node, taken))
        set_dirty(ledger, node);
    tf_node_release(&node->node);
    node->node = *taken;
    node->classed = false;
    node->known = true;
    *taken = (struct tf_node){0};
    return node;
}

/* ---- what is held ---- */

uint64_t ledger_held_gpus(const struct ledger_node *node)
{
    uint64_t gpus = 0;
    tf_vec_each (h, &node->holdings)
        gpus |= h->hold.gpus;
    return gpus;
}

/* By instances without a record. */
static uint64_t stray_gpus(const struct ledger_node *node)
{
    uint64_t gpus = 0;
    tf_vec_each (b, &node->blockings)
        gpus |= b->gpus;
    return gpus;
}

bool ledger_strays_of_others(const struct ledger_node *node, struct tf_uid uid, uint64_t *gpus)
{
    bool any = false;
    *gpus = 0;
    tf_vec_each (b, &node->blockings) {
        bool other = !tf_uid_eq(b->id.uid, uid);
        any |= other;
        *gpus |= other ? b->gpus : 0;
    }
    return any;
}

/* Whatever is not held on a node that is being emptied is nobody's to have: as if instances without a record
 * had it. So what leaves it by moves stays free, also from those who could take what is held there. */
static uint64_t blocked_gpus(const struct ledger_node *node)
{
    uint64_t all = tf_gpu_set_all(node->node.capacity.gpus);
    return stray_gpus(node) | (node->emptying ? all & ~ledger_held_gpus(node) : 0);
}

/* Nobody has them, whatever their health. */
static uint64_t idle_gpus(const struct ledger_node *node)
{
    return tf_gpu_set_all(node->node.capacity.gpus) & ~node->node.foreign.gpus & ~ledger_held_gpus(node) &
           ~stray_gpus(node);
}

uint64_t ledger_claimed_gpus_of(const struct ledger_node *node)
{
    uint64_t gpus = 0;
    tf_vec_each (c, &node->claims)
        gpus |= c->hold.gpus;
    return gpus;
}

/* Not going; or it should have gone by now, and nobody knows when it will. */
static bool stays(const struct holding *h)
{
    return h->hold.level > TF_LEVEL_GOING || h->stuck;
}

static uint64_t staying_gpus(const struct ledger_node *node)
{
    uint64_t gpus = 0;
    tf_vec_each (h, &node->holdings)
        gpus |= stays(h) ? h->hold.gpus : 0;
    return gpus;
}

static uint64_t healthy_gpus(const struct ledger_node *node)
{
    if (!ledger_is_open(node))
        return 0;
    return tf_gpu_set_all(node->node.capacity.gpus) & ~node->node.foreign.gpus & ~node->node.bad_gpus;
}

/* Healthy GPUs that nothing but ours may be on. */
uint64_t ledger_usable_gpus(const struct ledger_node *node)
{
    return healthy_gpus(node) & ~blocked_gpus(node);
}

uint64_t ledger_free_gpus(const struct ledger_node *node)
{
    return ledger_usable_gpus(node) & ~ledger_held_gpus(node) & ~ledger_claimed_gpus_of(node);
}

/* By claims that are given up as soon as that is durable. */
static uint64_t leaving_claims(const struct ledger_node *node)
{
    uint64_t gpus = 0;
    tf_vec_each (c, &node->claims)
        gpus |= c->gone_after ? c->hold.gpus : 0;
    return gpus;
}

/* A GPU may be under a claim that stands and, of before, one that leaves. */
static uint64_t standing_claims(const struct ledger_node *node)
{
    uint64_t gpus = 0;
    tf_vec_each (c, &node->claims)
        gpus |= c->gone_after ? 0 : c->hold.gpus;
    return gpus;
}

uint64_t ledger_unclaimed_gpus(const struct ledger_node *node)
{
    return ledger_usable_gpus(node) & ~staying_gpus(node);
}

uint64_t ledger_going_gpus(const struct ledger_node *node)
{
    return ledger_unclaimed_gpus(node) & ~standing_claims(node);
}

struct tf_vector ledger_used(const struct ledger_node *node)
{
    struct tf_vector sum = {0};
    tf_vec_each (h, &node->holdings) {
        sum = tf_vector_add(sum, h->hold.amount);
        sum.gpus += tf_gpu_set_count(h->hold.gpus) - h->hold.amount.gpus;
    }
    return sum;
}

struct tf_vector ledger_capacity(const struct ledger_node *node)
{
    struct tf_vector capacity = node->node.capacity;
    capacity.gpus = tf_gpu_set_count(healthy_gpus(node) & ~stray_gpus(node));
    capacity.cpu -= node->node.foreign.cpu;
    capacity.memory -= node->node.foreign.memory;
    capacity.slots -= node->node.foreign.slots;
    return capacity;
}

static struct holding *holding_of(const struct ledger_node *node, struct tf_uid uid, uint32_t index)
{
    tf_vec_each (h, &node->holdings)
        if (h->index == index && h->gone_after == 0 && tf_uid_eq(h->uid, uid))
            return h;
    return NULL;
}

/* times: 1 or -1. One that is going, or is stuck, is nobody's to take. */
static void count_worth(struct ledger *ledger, const struct holding *h, int64_t times)
{
    if (h->hold.level <= TF_LEVEL_GOING || h->stuck || h->gone_after)
        return;
    if (!ledger->worth)
        ledger->worth = tf_calloc(TF_LEVEL_TOP + 1, sizeof *ledger->worth);
    struct ledger_worth *worth = &ledger->worth[h->hold.level];
    int64_t gpus = times * tf_gpu_set_count(h->hold.gpus);
    worth->gpus += gpus;
    worth->since += gpus * h->stake.since;
    worth->evictions += gpus * h->stake.evictions;
    ledger->evictions += gpus * h->stake.evictions;
}

const struct ledger_worth *ledger_worth(const struct ledger *ledger, tf_level level)
{
    static const struct ledger_worth none;
    return ledger->worth ? &ledger->worth[level] : &none;
}

void ledger_hold(struct ledger *ledger, struct tf_uid uid, const struct tf_member *member,
                 struct tf_vector need, tf_level level, struct ledger_stake stake)
{
    struct ledger_node *node = ledger_need(ledger, member->node);
    assert(!(ledger_held_gpus(node) & member->gpus) && "a GPU has at most one holder");
    assert(!holding_of(node, uid, member->index));
    struct holding holding = {
        .uid = uid, .index = member->index, .hold = {level, member->gpus, need}, .stake = stake};
    count_worth(ledger, &holding, 1);
    tf_vec_push(&node->holdings, holding);
    set_dirty(ledger, node);
}

static struct ledger_node *held_at(const struct ledger *ledger, struct tf_uid uid,
                                   const struct tf_member *member, struct holding **holding)
{
    struct ledger_node *node = ledger_find(ledger, member->node);
    assert(node);
    *holding = holding_of(node, uid, member->index);
    assert(*holding && (*holding)->hold.gpus == member->gpus);
    return node;
}

void ledger_set_level(struct ledger *ledger, struct tf_uid uid, const struct tf_member *member,
                      tf_level level)
{
    struct holding *holding;
    struct ledger_node *node = held_at(ledger, uid, member, &holding);
    if (holding->hold.level == level)
        return;
    count_worth(ledger, holding, -1);
    holding->hold.level = level;
    count_worth(ledger, holding, 1);
    set_dirty(ledger, node);
}

void ledger_set_stake(struct ledger *ledger, struct tf_uid uid, const struct tf_member *member,
                      struct ledger_stake stake)
{
    struct holding *holding;
    (void)held_at(ledger, uid, member, &holding);
    count_worth(ledger, holding, -1);
    holding->stake = stake;
    count_worth(ledger, holding, 1);
}

void ledger_set_stuck(struct ledger *ledger, struct tf_uid uid, const struct tf_member *member)
{
    struct holding *holding;
    struct ledger_node *node = held_at(ledger, uid, member, &holding);
    count_worth(ledger, holding, -1);
    holding->stuck = true;
    set_dirty(ledger, node);
}

void ledger_release(struct ledger *ledger, struct tf_uid uid, const struct tf_member *member, uint64_t change)
{
    struct holding *holding;
    struct ledger_node *node = held_at(ledger, uid, member, &holding);
    assert(change > 0);
    count_worth(ledger, holding, -1);
    holding->gone_after = change;
    holding->hold.level = TF_LEVEL_GOING;
    set_dirty(ledger, node);
    struct leaving leaving = {change, node};
    tf_vec_push(&ledger->leaving, leaving);
}

static void drop_gone(struct ledger *ledger, struct ledger_node *node, uint64_t change)
{
    for (size_t i = node->holdings.count; i-- > 0;) {
        uint64_t after = node->holdings.items[i].gone_after;
        if (after == 0 || after > change)
            continue;
        tf_vec_remove(&node->holdings, i);
        set_dirty(ledger, node);
    }
    for (size_t i = node->claims.count; i-- > 0;) {
        uint64_t after = node->claims.items[i].gone_after;
        if (after == 0 || after > change)
            continue;
        tf_vec_remove(&node->claims, i);
        set_dirty(ledger, node);
    }
}

void ledger_durable(struct ledger *ledger, uint64_t change)
{
    while (ledger->first_leaving < ledger->leaving.count) {
        const struct leaving *leaving = &ledger->leaving.items[ledger->first_leaving];
        if (leaving->after > change)
            return;
        drop_gone(ledger, leaving->node, change);
        ledger->first_leaving++;
    }
    ledger->first_leaving = ledger->leaving.count = 0;
}

/* ---- claims ---- */

static struct tf_vector claim_amount(const struct tf_claim *claim)
{
    return (struct tf_vector){.gpus = tf_gpu_set_count(claim->gpus),
                              .slots = claim->slots,
                              .cpu = claim->cpu,
                              .memory = claim->memory};
}

static void add_claim(struct ledger *ledger, const struct tf_claim *claim, struct holding holding)
{
    struct ledger_node *node = ledger_need(ledger, claim->node);
    assert(!(standing_claims(node) & claim->gpus) && "a GPU has at most one claimant");
    holding.hold.gpus = claim->gpus;
    holding.hold.amount = claim_amount(claim);
    tf_vec_push(&node->claims, holding);
    set_dirty(ledger, node);
}

void ledger_claim(struct ledger *ledger, struct tf_uid uid, uint32_t index, const struct tf_claim *claim,
                  tf_level level)
{
    add_claim(ledger, claim, (struct holding){.uid = uid, .index = index, .hold.level = level});
}

void ledger_reserve(struct ledger *ledger, struct tf_uid uid, uint32_t index, const struct tf_claim *claim,
                    tf_level level)
{
    add_claim(ledger, claim,
              (struct holding){.uid = uid, .index = index, .hold.level = level, .reserved = true});
}

/* The node's number of that claim in its list. */
static size_t claim_at(const struct ledger_node *node, struct tf_uid uid, uint32_t index)
{
    size_t at = 0;
    while (at < node->claims.count &&
           (node->claims.items[at].index != index || node->claims.items[at].gone_after ||
            !tf_uid_eq(node->claims.items[at].uid, uid)))
        at++;
    assert(at < node->claims.count);
    return at;
}

void ledger_set_claim_level(struct ledger *ledger, struct tf_uid uid, uint32_t index,
                            const struct tf_claim *claim, tf_level level)
{
    struct ledger_node *node = ledger_find(ledger, claim->node);
    assert(node);
    node->claims.items[claim_at(node, uid, index)].hold.level = level;
    set_dirty(ledger, node);
}

void ledger_unclaim(struct ledger *ledger, struct tf_uid uid, uint32_t index, const struct tf_claim *claim,
                    uint64_t change)
{
    struct ledger_node *node = ledger_find(ledger, claim->node);
    assert(node);
    size_t at = claim_at(node, uid, index);
    set_dirty(ledger, node);
    if (change == 0) {
        tf_vec_remove(&node->claims, at);
        return;
    }
    node->claims.items[at].gone_after = change;
    node->claims.items[at].hold.level = TF_LEVEL_GOING;
    struct leaving leaving = {change, node};
    tf_vec_push(&ledger->leaving, leaving);
}

void ledger_keep(struct ledger *ledger, struct ledger_node *node, struct tf_uid owner, int rank,
                 struct tf_wall until)
{
    const struct kept *k = &node->kept;
    if (k->rank == rank && tf_uid_eq(k->owner, owner) && k->until.ms == until.ms)
        return;
    node->kept = (struct kept){rank, owner, until};
    set_dirty(ledger, node);
}

void ledger_unkeep(struct ledger *ledger, struct ledger_node *node)
{
    node->kept = (struct kept){.rank = -1};
    set_dirty(ledger, node);
}

/* What holders leave of the node's CPU, memory and slots: all of them, or those that stay. */
static struct tf_vector left_by(const struct ledger_node *node, bool staying_only)
{
    const struct tf_node *n = &node->node;
    struct tf_vector left = n->capacity;
    left.cpu -= n->foreign.cpu;
    left.memory -= n->foreign.memory;
    left.slots -= n->foreign.slots;
    if (node->blockings.count ||
        node->emptying) /* what else instances without a record have of it nobody knows */
        left.cpu = left.memory = left.slots = 0;
    tf_vec_each (h, &node->holdings)
        if (!staying_only || stays(h))
            left = tf_vector_sub(left, h->hold.amount);
    return left;
}

/* All that the owner claims on the node. */
static struct tf_hold claims_of(const struct ledger_node *node, struct tf_uid uid)
{
    struct tf_hold sum = {0};
    tf_vec_each (c, &node->claims) {
        if (c->gone_after || !tf_uid_eq(c->uid, uid))
            continue;
        sum.gpus |= c->hold.gpus;
        sum.amount = tf_vector_add(sum.amount, c->hold.amount);
    }
    return sum;
}

/* But for GPUs, which are named. */
static struct tf_vector amount_of_leaving_claims(const struct ledger_node *node)
{
    struct tf_vector sum = {0};
    tf_vec_each (c, &node->claims)
        sum = c->gone_after ? tf_vector_add(sum, c->hold.amount) : sum;
    sum.gpus = 0;
    return sum;
}

enum claim_state ledger_claim_state(const struct ledger *ledger, struct tf_uid uid, const char *name)
{
    const struct ledger_node *node = ledger_find(ledger, name);
    if (!node || !ledger_is_open(node))
        return CLAIM_BROKEN;
    struct tf_hold claimed = claims_of(node, uid);
    struct tf_vector later = left_by(node, true), now = left_by(node, false);
    claimed.amount.gpus = later.gpus = now.gpus = 0; /* they are named */
    if ((claimed.gpus & ~ledger_usable_gpus(node)) || (claimed.gpus & staying_gpus(node)) ||
        !tf_vector_fits(claimed.amount, later))
        return CLAIM_BROKEN;
    now = tf_vector_sub(now, amount_of_leaving_claims(node));
    bool free = tf_vector_fits(claimed.amount, now) &&
                !(claimed.gpus & (ledger_held_gpus(node) | leaving_claims(node)));
    return free ? CLAIM_FREE : CLAIM_WAITS;
}

static struct tf_vector amount_before(const struct ledger_node *node, struct tf_uid uid, uint32_t index)
{
    struct tf_vector sum = {0};
    tf_vec_each (c, &node->claims)
        if (!c->gone_after && c->index < index && tf_uid_eq(c->uid, uid))
            sum = tf_vector_add(sum, c->hold.amount);
    sum.gpus = 0;
    return sum;
}

enum claim_state ledger_place_state(const struct ledger *ledger, struct tf_uid uid, uint32_t index,
                                    const struct tf_claim *claim, ledger_leaves_f *leaves, const void *arg)
{
    const struct ledger_node *node = ledger_find(ledger, claim->node);
    struct tf_vector amount = claim_amount(claim);
    amount.gpus = 0; /* they are named */
    if (!node || (claim->gpus & ~ledger_usable_gpus(node)) || !ledger_is_open(node))
        return CLAIM_BROKEN;
    struct tf_vector now = tf_vector_sub(left_by(node, false), amount_of_leaving_claims(node));
    now = tf_vector_sub(now, amount_before(node, uid, index));
    if (!(claim->gpus & (ledger_held_gpus(node) | leaving_claims(node))) && tf_vector_fits(amount, now))
        return CLAIM_FREE;
    struct tf_vector later = left_by(node, true);
    tf_vec_each (h, &node->holdings) {
        if (!stays(h))
            continue;
        bool goes = !h->stuck && leaves(h->uid, h->index, node->node.name, arg);
        if (!goes && (h->hold.gpus & claim->gpus))
            return CLAIM_BROKEN;
        if (goes)
            later = tf_vector_add(later, h->hold.amount);
    }
    return tf_vector_fits(amount, later) ? CLAIM_WAITS : CLAIM_BROKEN;
}

static struct tf_vector going_of(const struct ledger_node *node)
{
    struct tf_vector going = left_by(node, true);
    if (!ledger_is_open(node))
        return (struct tf_vector){0};
    tf_vec_each (c, &node->claims)
        going = c->gone_after ? going : tf_vector_sub(going, c->hold.amount);
    going.gpus = tf_gpu_set_count(ledger_going_gpus(node));
    return going;
}

void ledger_empty(struct ledger *ledger, const struct tf_strs *nodes, int32_t by)
{
    tf_vec_each (name, nodes) {
        struct ledger_node *node = ledger_need(ledger, *name);
        node->emptying += by;
        assert(node->emptying >= 0);
        set_dirty(ledger, node);
    }
}

struct tf_vector ledger_room(const struct ledger_node *node)
{
    struct tf_vector now = left_by(node, false), later = left_by(node, true);
    tf_vec_each (c, &node->claims)
        later = c->gone_after ? later : tf_vector_sub(later, c->hold.amount);
    return (struct tf_vector){.slots = now.slots < later.slots ? now.slots : later.slots,
                              .cpu = now.cpu < later.cpu ? now.cpu : later.cpu,
                              .memory = now.memory < later.memory ? now.memory : later.memory};
}

struct tf_vector ledger_reserved(const struct ledger_node *node, const struct tf_demand *demand,
                                 uint64_t *gpus)
{
    struct tf_vector sum = {0};
    *gpus = 0;
    if (!demand->reserved.count || !ledger_is_open(node))
        return sum;
    tf_vec_each (c, &node->claims) {
        if (!c->reserved || c->gone_after || !tf_demand_may_use(demand, c->uid))
            continue;
        sum = tf_vector_add(sum, c->hold.amount);
        *gpus |= c->hold.gpus;
    }
    *gpus &= ledger_unclaimed_gpus(node);
    sum.gpus = tf_gpu_set_count(*gpus);
    return sum;
}

struct tf_vector ledger_going(const struct ledger_node *node)
{
    assert(!node->dirty);
    return node->going;
}

/* ---- instances without a record ---- */

void ledger_block(struct ledger *ledger, const char *name, const struct tf_instance_id *id, uint64_t gpus)
{
    if (!name)
        return;
    struct ledger_node *node = ledger_need(ledger, name);
    struct blocking blocking = {*id, gpus};
    tf_vec_push(&node->blockings, blocking);
    set_dirty(ledger, node);
}

void ledger_unblock(struct ledger *ledger, const char *name, const struct tf_instance_id *id)
{
    struct ledger_node *node = name ? ledger_find(ledger, name) : NULL;
    if (!node)
        return;
    for (size_t i = 0; i < node->blockings.count; i++) {
        if (!tf_instance_id_eq(&node->blockings.items[i].id, id))
            continue;
        tf_vec_remove(&node->blockings, i);
        set_dirty(ledger, node);
        return;
    }
}

/* ---- rows ---- */

/* Instances without a record are to us what foreign work is: never free, never to be had. without: as if the
 * reservations up to that one, by uid, kept nothing (NULL: none of them); one that leaves still does. */
static void levels_of(const struct ledger_node *node, const struct tf_uid *without,
                      struct tf_level_vectors *out)
{
    struct tf_node seen = node->node;
    seen.foreign.gpus |= blocked_gpus(node);
    if (node->blockings.count || node->emptying) { /* what else they have of it nobody knows */
        seen.foreign.slots = seen.capacity.slots;
        seen.foreign.cpu = seen.capacity.cpu;
        seen.foreign.memory = seen.capacity.memory;
    }
    TF_VEC(struct tf_hold) holds = {0};
    tf_vec_each (h, &node->holdings) {
        struct tf_hold hold = h->hold;
        hold.level = h->stuck ? TF_LEVEL_TOP : hold.level;
        tf_vec_push(&holds, hold);
    }
    size_t held = holds.count;
    tf_vec_each (c, &node->claims)
        if (!without || !c->reserved || c->gone_after || tf_uid_cmp(c->uid, *without) > 0)
            tf_vec_push(&holds, c->hold);
    tf_fit_node_levels(&seen, holds.items, held, holds.items + held, holds.count - held, out);
    tf_vec_release(&holds);
}

static void count_state(struct tf_health_counts *sum, enum tf_node_state state)
{
    sum->nodes++;
    sum->ready += state == TF_NODE_READY;
    sum->unreachable += state == TF_NODE_UNREACHABLE;
    sum->lost += state == TF_NODE_LOST;
    sum->cordoned += state == TF_NODE_CORDONED;
    sum->draining += state == TF_NODE_DRAINING;
}

static struct ledger_sums sums_of(const struct ledger_node *node)
{
    struct ledger_sums sums = {0};
    if (!node->known)
        return sums;
    uint64_t all = tf_gpu_set_all(node->node.capacity.gpus), held = ledger_held_gpus(node) & all;
    count_state(&sums.health, node->node.state);
    sums.health.gpus = node->node.capacity.gpus;
    sums.health.bad_gpus = tf_gpu_set_count(node->node.bad_gpus & all);
    sums.health.suspect_gpus = tf_gpu_set_count(node->node.suspect_gpus & all);
    sums.health.free_gpus = tf_gpu_set_count(ledger_free_gpus(node));
    sums.health.held_gpus = tf_gpu_set_count(held);
    sums.health.foreign_gpus = tf_gpu_set_count(node->node.foreign.gpus & all & ~held);
    uint64_t kept = node->emptying ? blocked_gpus(node) & healthy_gpus(node) & ~stray_gpus(node) : 0;
    sums.unhealthy = tf_gpu_set_count(idle_gpus(node) & ~ledger_usable_gpus(node) & ~kept);
    uint64_t claimed = ledger_usable_gpus(node) & ~ledger_held_gpus(node) & ledger_claimed_gpus_of(node);
    sums.claimed = tf_gpu_set_count(claimed | kept);
    return sums;
}

static void add_sums(struct ledger_sums *sum, const struct ledger_sums *of, int32_t times)
{
    struct tf_health_counts *h = &sum->health;
    const struct tf_health_counts *o = &of->health;
    h->nodes += times * o->nodes;
    h->ready += times * o->ready;
    h->unreachable += times * o->unreachable;
    h->lost += times * o->lost;
    h->cordoned += times * o->cordoned;
    h->draining += times * o->draining;
    h->bad_gpus += times * o->bad_gpus;
    h->suspect_gpus += times * o->suspect_gpus;
    h->gpus += times * o->gpus;
    h->free_gpus += times * o->free_gpus;
    h->held_gpus += times * o->held_gpus;
    h->foreign_gpus += times * o->foreign_gpus;
    sum->unhealthy += times * of->unhealthy;
    sum->claimed += times * of->claimed;
}

static void refresh_sums(struct ledger *ledger, struct ledger_node *node)
{
    add_sums(&ledger->sums, &node->sums, -1);
    node->sums = sums_of(node);
    add_sums(&ledger->sums, &node->sums, 1);
}

static struct tf_vector free_by(const struct tf_profile_row *row)
{
    return row->levels.count ? row->levels.items[0].have : (struct tf_vector){0};
}

/* By uid; what each of them is worth is not known yet. */
static void list_reservations(const struct ledger_node *node, struct tf_profile_row *row)
{
    row->reserved.count = 0;
    tf_vec_each (c, &node->claims) {
        size_t at = 0;
        if (!c->reserved || c->gone_after)
            continue;
        while (at < row->reserved.count && tf_uid_cmp(row->reserved.items[at].uid, c->uid) < 0)
            at++;
        if (at < row->reserved.count && tf_uid_eq(row->reserved.items[at].uid, c->uid))
            continue;
        tf_vec_push(&row->reserved, (struct tf_reserved){0});
        for (size_t i = row->reserved.count - 1; i > at; i--)
            row->reserved.items[i] = row->reserved.items[i - 1];
        row->reserved.items[at] = (struct tf_reserved){.uid = c->uid, .level = c->hold.level};
    }
}

/* What is free for those who may use a reservation is more by this: by less than it keeps where others who
 * are going are not gone yet. Several may be used at once, so each is worth what it adds to those before it:
 * what is behind it adds the less, the more of the node those free. */
static void list_reserved(const struct ledger_node *node, struct tf_profile_row *row)
{
    struct tf_vector have = free_by(row);
    list_reservations(node, row);
    tf_vec_each (reserved, &row->reserved) {
        struct tf_level_vectors levels = {0};
        levels_of(node, &reserved->uid, &levels);
        reserved->more = tf_vector_floor0(tf_vector_sub(levels.items[0].have, have));
        have = levels.items[0].have;
        tf_vec_release(&levels);
    }
}

/* What a node is changes seldom; what it holds, all the time. */
static void classify(struct ledger *ledger, struct ledger_node *node)
{
    if (node->classed)
        return;
    struct tf_node_class class = {0};
    tf_fit_node_class(&node->node, &ledger->schedule_labels, &class);
    ledger->node_rows.items[node->number].class = tf_fit_rows_class(ledger->rows, &class);
    tf_node_class_release(&class);
    node->classed = true;
}

static void refresh(struct ledger *ledger, struct ledger_node *node)
{
    struct tf_profile_row *row = &ledger->node_rows.items[node->number];
    struct tf_vector before = free_by(row);
    node->dirty = false;
    node->going = going_of(node);
    if (!node->known)
        return;
    classify(ledger, node);
    levels_of(node, NULL, &row->levels);
    list_reserved(node, row);
    /* Whom a claim kept away looks for nothing free there before somebody tells: one that ends frees, too. */
    if (!tf_vector_fits(free_by(row), before) || node->kept.rank < row->claim_rank)
        tf_vec_push(&ledger->freed, node->number);
    row->claim_rank = node->kept.rank;
    row->claim_until = node->kept.until;
    if (row->count)
        node->row = tf_fit_rows_move(ledger->rows, node->row, row);
    else
        node->row = tf_fit_rows_add(ledger->rows, row, 1);
    row->count = 1;
    refresh_sums(ledger, node);
}

void ledger_refresh(struct ledger *ledger)
{
    if (tf_fit_rows_class_count(ledger->rows) > 2 * ledger->nodes.count + CLASSES_SPARE)
        start_over(ledger);
    tf_vec_each (node, &ledger->dirty)
        refresh(ledger, *node);
    ledger->dirty.count = 0;
}

struct tf_fit_view ledger_view(const struct ledger *ledger)
{
    assert(ledger->dirty.count == 0);
    const struct tf_catalog *catalog = tf_fit_rows_view(ledger->rows).catalog;
    return (struct tf_fit_view){catalog, ledger->node_rows.items, ledger->node_rows.count, NULL};
}

const struct ledger_sums *ledger_sums(const struct ledger *ledger)
{
    return &ledger->sums;
}

struct ledger_sums ledger_recount(const struct ledger *ledger)
{
    struct ledger_sums sum = {0};
    tf_vec_each (node, &ledger->nodes) {
        struct ledger_sums own = sums_of(*node);
        add_sums(&sum, &own, 1);
    }
    return sum;
}

void ledger_count_read(struct ledger *ledger, struct ledger_node *node)
{
    tf_vec_each (holding, &node->holdings)
        count_worth(ledger, holding, 1);
    if (node->dirty)
        return;
    node->going = going_of(node);
    refresh_sums(ledger, node);
}
