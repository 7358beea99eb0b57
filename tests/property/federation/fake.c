/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/federation/fake.h"

#include "tests/support/suite.h"

#include <inttypes.h>
#include <stdio.h>

static bool is_attached(struct fleet *f, const struct fake *fake)
{
    return drive_find(f->d, fake->name)->link != 0;
}

static int32_t free_nodes(const struct fake *fake)
{
    int32_t used = 0;
    tf_vec_each (e, &fake->live)
        used += e->size;
    return fake->nodes - used;
}

/* ---- up ---- */

static void tell(struct fleet *f, struct fake *fake, struct fake_word word)
{
    if (is_attached(f, fake))
        tf_vec_push(&fake->up, word);
}

static void tell_epoch(struct fleet *f, struct fake *fake, const struct fake_epoch *epoch)
{
    tell(f, fake, (struct fake_word){.kind = TF_UP_REPORT, .epoch = *epoch});
}

static void tell_profile(struct fleet *f, struct fake *fake)
{
    tell(f, fake, (struct fake_word){.kind = TF_UP_PROFILE, .free = free_nodes(fake), .reflects = fake->n});
}

void fake_say(struct fleet *f, struct fake *fake)
{
    struct fake_word word = fake->up.items[0];
    const struct fake_epoch *e = &word.epoch;
    char rows[32] = "";
    tf_vec_remove(&fake->up, 0);
    if (word.kind == TF_UP_LISTED) {
        drive_listed(f->d, fake->name);
    } else if (word.kind == TF_UP_PROFILE) {
        if (word.free)
            snprintf(rows, sizeof rows, "%dx8", word.free);
        drive_profile_at(f->d, fake->name, rows, word.reflects);
    } else if (e->end != TF_END_NONE) {
        drive_end(f->d, fake->name, e->uid, e->epoch, e->end);
    } else {
        drive_report(f->d, fake->name, e->uid, e->epoch, e->phase,
                     e->phase == TF_PHASE_RUNNING ? e->size : 0);
    }
}

/* ---- epochs ---- */

static void add_end(struct fleet *f, struct fake *fake, struct fake_epoch epoch, enum tf_end end)
{
    epoch.end = end;
    tf_vec_push(&fake->ended, epoch);
    tell_epoch(f, fake, &epoch);
}

void fake_end(struct fleet *f, struct fake *fake, size_t index, enum tf_end end)
{
    struct fake_epoch epoch = fake->live.items[index];
    tf_vec_remove(&fake->live, index);
    add_end(f, fake, epoch, end);
    tell_profile(f, fake);
}

void fake_progress(struct fleet *f, struct fake *fake, size_t index)
{
    struct fake_epoch *epoch = &fake->live.items[index];
    if (epoch->phase == TF_PHASE_RUNNING) {
        f->finished[epoch->uid]++;
        fake_end(f, fake, index, TF_END_FINISHED);
        return;
    }
    epoch->phase = TF_PHASE_RUNNING;
    tell_epoch(f, fake, epoch);
}

static struct fake_epoch *find(struct fake_epoch *items, size_t count, uint64_t epoch)
{
    for (size_t i = 0; i < count; i++)
        if (items[i].epoch == epoch)
            return &items[i];
    return NULL;
}

/* I2: nothing else of the job runs anywhere. */
static void check_alone(const struct fleet *f, uint64_t uid)
{
    for (size_t i = 0; i < f->count; i++)
        tf_vec_each (e, &f->fakes[i].live)
            if (e->uid == uid) {
                printf("\n#%" PRIu64 " runs already in %s, epoch %" PRIu64 "\n", uid, f->fakes[i].name,
                       e->epoch);
                CU_FAIL("two epochs of a job run");
            }
}

/* Those of lower classes go, the lowest first, until there is room. */
static void make_room(struct fleet *f, struct fake *fake, const struct fake_epoch *epoch)
{
    while (epoch->level > TF_LEVEL_FREE && epoch->size > free_nodes(fake)) {
        size_t victim = SIZE_MAX;
        for (size_t i = 0; i < fake->live.count; i++)
            if (fake->live.items[i].rank < epoch->rank &&
                (victim == SIZE_MAX || fake->live.items[i].rank < fake->live.items[victim].rank))
                victim = i;
        if (victim == SIZE_MAX)
            return;
        f->evictions++;
        fake_end(f, fake, victim, TF_END_EVICTED);
    }
}

static void start(struct fleet *f, struct fake *fake, struct fake_epoch epoch)
{
    fake->floor = epoch.epoch;
    if (fake->refuses) {
        fake->refuses = false;
        f->refusals++;
        add_end(f, fake, epoch, TF_END_REFUSED);
        return;
    }
    make_room(f, fake, &epoch);
    if (epoch.size > free_nodes(fake)) {
        printf("\n%s: epoch %" PRIu64 " asks for %d of %d nodes\n", fake->name, epoch.epoch, epoch.size,
               free_nodes(fake));
        CU_FAIL("more was placed than is there");
    }
    check_alone(f, epoch.uid);
    f->starts++;
    epoch.phase = TF_PHASE_STARTING;
    tf_vec_push(&fake->live, epoch);
    tell_epoch(f, fake, &epoch);
}

static void place(struct fleet *f, struct fake *fake, const struct tf_entry *entry)
{
    struct fake_epoch epoch = {.uid = drive_number(entry->uid), .epoch = entry->epoch, .size = entry->size};
    epoch.level = entry->level;
    epoch.rank = tf_classes_rank(&f->d->settings.policy.classes, entry->spec->priority);
    if (find(fake->live.items, fake->live.count, entry->epoch) ||
        find(fake->ended.items, fake->ended.count, entry->epoch))
        return; /* reported with the attach */
    if (entry->epoch <= fake->floor) {
        f->unknown++;
        add_end(f, fake, epoch, TF_END_UNKNOWN);
    } else {
        start(f, fake, epoch);
    }
}

static void release(struct fleet *f, struct fake *fake, const struct tf_entry *entry)
{
    struct fake_epoch epoch = {.uid = drive_number(entry->uid), .epoch = entry->epoch};
    struct fake_epoch *live = find(fake->live.items, fake->live.count, entry->epoch);
    if (entry->release == TF_RELEASE_ORPHAN)
        CU_FAIL("a committed placement was taken for an orphan");
    if (fake->floor < entry->epoch)
        fake->floor = entry->epoch;
    if (live)
        fake_end(f, fake, (size_t)(live - fake->live.items), TF_END_RELEASED);
    else if (!find(fake->ended.items, fake->ended.count, entry->epoch))
        add_end(f, fake, epoch, TF_END_RELEASED);
}

static void stored(struct fake *fake, const struct tf_entry *entry)
{
    struct fake_epoch *ended = find(fake->ended.items, fake->ended.count, entry->epoch);
    if (ended)
        tf_vec_remove(&fake->ended, (size_t)(ended - fake->ended.items));
}

static void apply(struct fleet *f, struct fake *fake, const struct tf_entry *entry)
{
    if (entry->kind == TF_ENTRY_PLACE) {
        CU_ASSERT(entry->epoch > fake->last_place); /* ascending on a stream */
        fake->last_place = entry->epoch;
        place(f, fake, entry);
    } else if (entry->kind == TF_ENTRY_RELEASE) {
        release(f, fake, entry);
    } else {
        stored(fake, entry);
    }
}

/* ---- down ---- */

static void drop_set(struct fake *fake)
{
    tf_vec_each (entry, &fake->set)
        tf_entry_release(entry);
    fake->set.count = 0;
}

static void end_of_set(struct fleet *f, struct fake *fake)
{
    CU_ASSERT_EQUAL(fake->set.count, fake->set_count);
    /* what it knows is told before it acts, as a restarted daemon would */
    tf_vec_each (e, &fake->live)
        tell_epoch(f, fake, e);
    tf_vec_each (e, &fake->ended)
        tell_epoch(f, fake, e);
    tf_vec_each (entry, &fake->set)
        apply(f, fake, entry);
    drop_set(fake);
    tell(f, fake, (struct fake_word){.kind = TF_UP_LISTED});
}

void fake_take(struct fleet *f, struct fake *fake)
{
    struct tf_down message = fake->down.items[0];
    tf_vec_remove(&fake->down, 0);
    switch (message.kind) {
    case TF_DOWN_BEGIN:
        drop_set(fake);
        fake->set_count = message.count;
        fake->last_place = 0;
        break;
    case TF_DOWN_PART:
        for (size_t i = 0; i < message.entries.count; i++) {
            struct tf_entry *entry = tf_vec_add(&fake->set);
            tf_entry_copy(entry, &message.entries.items[i]);
        }
        break;
    case TF_DOWN_END:
        end_of_set(f, fake);
        fake->n = message.n;
        break;
    case TF_DOWN_CHANGE:
        CU_ASSERT_EQUAL(message.n, fake->n + 1);
        tf_vec_each (entry, &message.entries)
            apply(f, fake, entry);
        fake->n = message.n;
        break;
    default:
        break;
    }
    if (message.kind == TF_DOWN_END || message.kind == TF_DOWN_CHANGE)
        tell_profile(f, fake);
    tf_down_release(&message);
}

void fake_sent(struct fleet *f, const struct fed_action *action)
{
    for (size_t i = 0; i < f->count; i++) {
        struct fake *fake = &f->fakes[i];
        if (drive_find(f->d, fake->name)->link != action->link)
            continue;
        struct tf_down *message = tf_vec_add(&fake->down);
        tf_down_copy(message, &action->send);
    }
}

/* ---- streams ---- */

static void drop_down(struct fake *fake)
{
    tf_vec_each (message, &fake->down)
        tf_down_release(message);
    fake->down.count = 0;
}

void fake_attach(struct fleet *f, struct fake *fake)
{
    struct tf_hello hello = {.protocol = TF_PROTOCOL_VERSION,
                             .name = tf_strdup(fake->name),
                             .owner_revision = 1,
                             .highest_term = f->d->term,
                             .highest_epoch = fake->floor};
    drive_hello(f->d, fake->name, hello);
}

void fake_cut(struct fleet *f, struct fake *fake)
{
    drop_down(fake);
    fake->up.count = 0;
    fake->n = 0; /* a number says nothing on another stream */
    drop_set(fake);
    if (is_attached(f, fake))
        drive_detach(f->d, fake->name);
}

void fake_forget(struct fleet *f, struct fake *fake)
{
    fake->live.count = 0;
    fake_cut(f, fake);
}

void fake_release(struct fake *fake)
{
    drop_down(fake);
    drop_set(fake);
    tf_vec_release(&fake->down);
    tf_vec_release(&fake->up);
    tf_vec_release(&fake->live);
    tf_vec_release(&fake->ended);
    tf_vec_release(&fake->set);
}
