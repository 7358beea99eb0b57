/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/fedsim/words.h"

#include <inttypes.h>

static void words_report(struct tf_buf *out, const struct tf_report *r)
{
    tf_buf_fmt(out, "report %s/%s epoch %" PRIu64 " ", r->tenant, r->name, r->epoch);
    if (r->ended.end != TF_END_NONE)
        tf_buf_fmt(out, "ended %s", tf_end_name(r->ended.end));
    else
        tf_buf_fmt(out, "%s %d/%d", tf_phase_name(r->phase), r->ready, r->size);
}

static void words_profile(struct tf_buf *out, const struct tf_profile *p)
{
    tf_buf_fmt(out, "profile %s %" PRIu64 ".%" PRIu64 " reflects %" PRIu64 ".%" PRIu64 "/%" PRIu64 ":",
               p->full ? "full" : "delta", p->generation.owner, p->generation.counter, p->reflects_term.era,
               p->reflects_term.revision, p->reflects_n);
    tf_vec_each (row, &p->rows)
        tf_buf_fmt(out, " #%u %dx%d", row->id, row->count,
                   row->levels.count ? row->levels.items[0].have.gpus : 0);
}

void words_up(struct tf_buf *out, const struct tf_up *up)
{
    switch (up->kind) {
    case TF_UP_HELLO:
        tf_buf_fmt(out, "hello %s term %" PRIu64 ".%" PRIu64 " epoch %" PRIu64, up->hello.name,
                   up->hello.highest_term.era, up->hello.highest_term.revision, up->hello.highest_epoch);
        break;
    case TF_UP_PROFILE:
        words_profile(out, &up->profile);
        break;
    case TF_UP_REPORT:
        words_report(out, &up->report);
        break;
    case TF_UP_LISTED:
        tf_buf_str(out, "listed");
        break;
    case TF_UP_NONE:
    case TF_UP_FENCE:
    case TF_UP_ANSWER:
    case TF_UP_STORE:
        tf_buf_fmt(out, "message %d", (int)up->kind);
        break;
    }
}

void words_down(struct tf_buf *out, const struct tf_down *down)
{
    static const char *const kinds[] = {
        [TF_DOWN_NONE] = "?",        [TF_DOWN_BEGIN] = "begin",   [TF_DOWN_PART] = "part",
        [TF_DOWN_END] = "end",       [TF_DOWN_CHANGE] = "change", [TF_DOWN_WANT_PROFILE] = "want profile",
        [TF_DOWN_FENCE] = "fence",   [TF_DOWN_ASK] = "ask",       [TF_DOWN_CONSIDERED] = "considered",
        [TF_DOWN_POLICY] = "policy",
    };
    static const char *const entries[] = {
        [TF_ENTRY_NONE] = "?",        [TF_ENTRY_PLACE] = "place",     [TF_ENTRY_RELEASE] = "release",
        [TF_ENTRY_STORED] = "stored", [TF_ENTRY_UNCLAIM] = "unclaim", [TF_ENTRY_CLAIM] = "claim"};
    tf_buf_fmt(out, "%" PRIu64 ".%" PRIu64 " %s %" PRIu64, down->term.era, down->term.revision,
               kinds[down->kind], down->n);
    tf_vec_each (entry, &down->entries)
        tf_buf_fmt(out, " %s e%" PRIu64, entries[entry->kind], entry->epoch);
}
