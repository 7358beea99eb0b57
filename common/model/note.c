/* SPDX-License-Identifier: Apache-2.0 */
#include "common/model/note.h"

#include "common/base/text.h"
#include "common/base/vec.h"

#include <stdio.h>

const char *tf_note_word(enum tf_note_kind kind)
{
    static const char *const words[] = {"?",        "InstanceMoved", "InstanceStays", "Draining",
                                        "SentAway", "DrainEnded",    "InstanceLost"};
    return words[(size_t)kind < sizeof words / sizeof *words ? (size_t)kind : 0];
}

void tf_note_release(struct tf_note *note)
{
    free(note->text);
    *note = (struct tf_note){0};
}

void tf_note_copy(struct tf_note *to, const struct tf_note *from)
{
    struct tf_note copy = {from->kind, tf_strdup(from->text)};
    tf_note_release(to);
    *to = copy;
}

void tf_notes_release(struct tf_notes *notes)
{
    tf_vec_each (note, notes)
        tf_note_release(note);
    tf_vec_release(notes);
}

void tf_notes_copy(struct tf_notes *to, const struct tf_notes *from)
{
    struct tf_notes copy = {0};
    tf_vec_each (note, from)
        tf_note_copy(tf_vec_add(&copy), note);
    tf_notes_release(to);
    *to = copy;
}

void tf_notes_add(struct tf_notes *notes, enum tf_note_kind kind, const char *text)
{
    char cut[TF_NOTE_TEXT];
    while (notes->count >= TF_NOTES_MAX) {
        tf_note_release(&notes->items[0]);
        tf_vec_remove(notes, 0);
    }
    snprintf(cut, sizeof cut, "%s", text);
    tf_utf8_trim(cut);
    struct tf_note *note = tf_vec_add(notes);
    *note = (struct tf_note){kind, tf_strdup(cut)};
}
