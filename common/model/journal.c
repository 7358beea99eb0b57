/* SPDX-License-Identifier: Apache-2.0 */
/* The order of changes. Holds names of records only; what they contain, and what waits for them, is the
 * cores'. */
#include "common/model/journal.h"

#include "common/base/hash.h"

#include <assert.h>

struct entry {
    struct entry *prev, *next; /* in order of first change */
    uint64_t first;            /* number of the oldest change that this entry stands for */
    enum tf_record_kind kind;
    uint8_t key[1 + TF_JOURNAL_KEY_MAX]; /* the kind, then the bytes */
    size_t key_len;
    UT_hash_handle hh;
};

struct tf_journal {
    uint64_t last;
    struct entry *waiting, *waiting_tail; /* oldest first */
    struct entry *by_key;                 /* the waiting ones that name a record */
    struct entry *out;                    /* those of the transaction that is out, oldest first */
    bool in_flight;
    uint64_t out_first; /* number of the oldest change that is out */
};

struct tf_journal *tf_journal_create(void)
{
    return tf_calloc(1, sizeof(struct tf_journal));
}

static void free_list(struct entry *e)
{
    while (e) {
        struct entry *next = e->next;
        free(e);
        e = next;
    }
}

void tf_journal_destroy(struct tf_journal *journal)
{
    if (!journal)
        return;
    HASH_CLEAR(hh, journal->by_key);
    free_list(journal->waiting);
    free_list(journal->out);
    free(journal);
}

static size_t full_key(struct tf_journal_key key, uint8_t out[1 + TF_JOURNAL_KEY_MAX])
{
    assert(key.len <= TF_JOURNAL_KEY_MAX);
    out[0] = (uint8_t)key.kind;
    if (key.len)
        memcpy(out + 1, key.bytes, key.len);
    return 1 + key.len;
}

static void append_waiting(struct tf_journal *journal, struct entry *e)
{
    e->prev = journal->waiting_tail;
    if (e->prev)
        e->prev->next = e;
    else
        journal->waiting = e;
    journal->waiting_tail = e;
    if (e->kind != TF_RECORD_NONE)
        HASH_ADD_KEYPTR(hh, journal->by_key, e->key, e->key_len, e);
}

static struct entry *find_waiting(const struct tf_journal *journal, struct tf_journal_key key)
{
    uint8_t bytes[1 + TF_JOURNAL_KEY_MAX];
    size_t len = full_key(key, bytes);
    struct entry *known = NULL;
    HASH_FIND(hh, journal->by_key, bytes, len, known);
    return known;
}

void tf_journal_touch(struct tf_journal *journal, struct tf_journal_key key)
{
    journal->last++;
    if (key.kind != TF_RECORD_NONE && find_waiting(journal, key))
        return;
    struct entry *e = tf_calloc(1, sizeof *e);
    e->first = journal->last;
    e->kind = key.kind;
    e->key_len = full_key(key, e->key);
    append_waiting(journal, e);
}

static void unlink_waiting(struct tf_journal *journal, struct entry *e)
{
    *(e->prev ? &e->prev->next : &journal->waiting) = e->next;
    *(e->next ? &e->next->prev : &journal->waiting_tail) = e->prev;
}

static void link_before(struct tf_journal *journal, struct entry *e, struct entry *next)
{
    e->prev = next->prev;
    e->next = next;
    *(e->prev ? &e->prev->next : &journal->waiting) = e;
    next->prev = e;
}

/* It moves up only to where `later` is, and counts as changed then: what waits for it waits a little longer
 * than it must, never less. */
void tf_journal_touch_before(struct tf_journal *journal, struct tf_journal_key key,
                             struct tf_journal_key later)
{
    tf_journal_touch(journal, key);
    struct entry *e = find_waiting(journal, key), *other = find_waiting(journal, later);
    if (!other || e->first <= other->first)
        return;
    unlink_waiting(journal, e);
    link_before(journal, e, other);
    e->first = other->first;
}

uint64_t tf_journal_last(const struct tf_journal *journal)
{
    return journal->last;
}

uint64_t tf_journal_durable(const struct tf_journal *journal)
{
    if (journal->in_flight)
        return journal->out_first - 1;
    return journal->waiting ? journal->waiting->first - 1 : journal->last;
}

bool tf_journal_in_flight(const struct tf_journal *journal)
{
    return journal->in_flight;
}

bool tf_journal_dirty(const struct tf_journal *journal)
{
    return journal->waiting != NULL;
}

/* Moves the oldest waiting entry to the end of the list of those that are out. */
static struct entry *move_out(struct tf_journal *journal, struct entry *tail)
{
    struct entry *e = journal->waiting;
    journal->waiting = e->next;
    if (e->next)
        e->next->prev = NULL;
    else
        journal->waiting_tail = NULL;
    if (e->kind != TF_RECORD_NONE)
        HASH_DEL(journal->by_key, e);
    e->next = NULL;
    e->prev = tail;
    if (tail)
        tail->next = e;
    else
        journal->out = e;
    return e;
}

size_t tf_journal_take(struct tf_journal *journal, tf_journal_take_f *take, void *arg)
{
    assert(!journal->in_flight);
    size_t records = 0;
    struct entry *tail = NULL;
    while (journal->waiting) {
        struct entry *e = journal->waiting;
        struct tf_journal_key key = {e->kind, e->key + 1, e->key_len - 1};
        if (e->kind != TF_RECORD_NONE && !take(key, arg)) {
            assert(tail && "the first record must be taken");
            break;
        }
        records += e->kind != TF_RECORD_NONE;
        tail = move_out(journal, tail);
    }
    if (tail) {
        journal->in_flight = true;
        journal->out_first = journal->out->first;
    }
    return records;
}

void tf_journal_committed(struct tf_journal *journal)
{
    assert(journal->in_flight);
    free_list(journal->out);
    journal->out = NULL;
    journal->in_flight = false;
}

/* ---- images ---- */

static void image_entry(struct tf_image *image, struct entry *e)
{
    tf_image_open(image, e);
    tf_image_skip(image, &e->prev, "the list is written in order");
    tf_image_skip(image, &e->next, "likewise");
    tf_image_skip(image, &e->hh, "found by its key");
    tf_image_number(image, &e->first);
    tf_image_number(image, &e->kind);
    tf_image_number(image, &e->key_len);
    tf_image_skip(image, &e->key, "as much of it as is used:");
    if (e->key_len > sizeof e->key)
        tf_image_fail(image, "a journal's key is too long");
    else
        tf_image_bytes(image, e->key, e->key_len);
    tf_image_close(image);
}

static size_t length(const struct entry *e)
{
    size_t count = 0;
    for (; e; e = e->next)
        count++;
    return count;
}

/* The next one of a list that has been written up to at, or a new one to read into. */
static struct entry *following(const struct tf_image *image, struct entry *first, struct entry *at)
{
    if (tf_image_is_reading(image))
        return tf_calloc(1, sizeof *at);
    return at ? at->next : first;
}

static void image_waiting(struct tf_image *image, struct tf_journal *journal)
{
    uint64_t count = tf_image_count(image, length(journal->waiting));
    struct entry *e = NULL;
    while (count-- > 0 && !tf_image_failed(image)) {
        e = following(image, journal->waiting, e);
        image_entry(image, e);
        if (tf_image_is_reading(image))
            append_waiting(journal, e);
    }
}

static void image_out(struct tf_image *image, struct tf_journal *journal)
{
    uint64_t count = tf_image_count(image, length(journal->out));
    struct entry *e = NULL, *last = NULL;
    while (count-- > 0 && !tf_image_failed(image)) {
        e = following(image, journal->out, e);
        image_entry(image, e);
        if (!tf_image_is_reading(image))
            continue;
        e->prev = last;
        *(last ? &last->next : &journal->out) = e;
        last = e;
    }
}

void tf_image_journal(struct tf_image *image, struct tf_journal *journal)
{
    tf_image_open(image, journal);
    tf_image_number(image, &journal->last);
    tf_image_skip(image, &journal->waiting, "one by one");
    tf_image_skip(image, &journal->waiting_tail, "the last of them");
    tf_image_skip(image, &journal->by_key, "made of those that wait");
    tf_image_skip(image, &journal->out, "one by one");
    image_waiting(image, journal);
    image_out(image, journal);
    tf_image_number(image, &journal->in_flight);
    tf_image_number(image, &journal->out_first);
    tf_image_close(image);
}
