/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_MODEL_NOTE_H
#define TF_MODEL_NOTE_H

#include <stddef.h>
#include <stdint.h>

/* What became of instances of a job within one epoch, for the job's events: moves, drains and losses. The
 * record of the epoch keeps the latest and counts all, so that whoever was told of the first n finds the
 * rest, also after the link, or either side, was away. Strings are owned. */

/* Wire format: append only. */
enum tf_note_kind {
    TF_NOTE_NONE = 0,
    TF_NOTE_MOVED = 1,      /* an instance is on another node now */
    TF_NOTE_STAYS = 2,      /* its move was rolled back */
    TF_NOTE_DRAINED = 3,    /* a drain was ordered where it has instances, */
    TF_NOTE_SENT_AWAY = 4,  /* and has stopped some at its deadline, */
    TF_NOTE_DRAIN_OVER = 5, /* or has ended, and they are there yet */
    TF_NOTE_LOST = 6,       /* instances are gone with their node, or nobody knows what became of them */
};
enum { TF_NOTE_LAST = TF_NOTE_LOST };
/* The type of its event: "InstanceMoved". */
const char *tf_note_word(enum tf_note_kind kind);

enum {
    TF_NOTES_MAX = 8,   /* kept of an epoch */
    TF_NOTE_TEXT = 400, /* bytes of a text with its NUL: longer ones are cut */
};

struct tf_note {
    enum tf_note_kind kind;
    char *text;
};
struct tf_notes {
    struct tf_note *items;
    size_t count, cap;
};

/* init by zeroing; release frees what is owned and zeroes; copy is deep, and releases what was in to first */
void tf_note_release(struct tf_note *note);
void tf_note_copy(struct tf_note *to, const struct tf_note *from);
void tf_notes_release(struct tf_notes *notes);
void tf_notes_copy(struct tf_notes *to, const struct tf_notes *from);
/* The text is copied, cut to TF_NOTE_TEXT. The oldest goes beyond TF_NOTES_MAX. */
void tf_notes_add(struct tf_notes *notes, enum tf_note_kind kind, const char *text);

#endif
