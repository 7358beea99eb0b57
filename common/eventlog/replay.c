/* SPDX-License-Identifier: Apache-2.0 */
#include "common/eventlog/replay.h"

#include "common/base/text.h"
#include "common/eventlog/digest.h"
#include "common/eventlog/recorder.h"
#include "common/model/image.h"

#include <inttypes.h>

void tf_replay_release(struct tf_replay *replay)
{
    tf_eventlog_header_release(&replay->header);
    tf_buf_release(&replay->difference);
    *replay = (struct tf_replay){0};
}

/* ---- one file under way ---- */

struct recorded_action {
    int kind;
    uint64_t digest;
};

struct run {
    const struct tf_core_ops *ops;
    struct tf_frames frames;
    struct tf_replay *replay;
    void *core;
    void *event, *actions; /* of the core's sizes */
    TF_VEC(struct recorded_action) recorded;
    struct tf_buf scratch;
};

static void run_release(struct run *run)
{
    if (run->ops)
        run->ops->destroy(run->core);
    free(run->event);
    free(run->actions);
    tf_vec_release(&run->recorded);
    tf_buf_release(&run->scratch);
}

static int read_header(struct run *run, const struct tf_frame *frame, const struct tf_core_ops *const *cores,
                       struct tf_error *err)
{
    struct tf_eventlog_header *header = &run->replay->header;
    struct tf_image image;
    tf_image_read(&image, frame->payload.data, frame->payload.len);
    tf_image_eventlog_header(&image, header);
    if (tf_image_finish(&image, err))
        return tf_error_wrap(err, "its header cannot be read");
    if (header->format != TF_EVENTLOG_FORMAT || !tf_str_eq(header->release, TF_VERSION))
        return tf_error_set(
            err, TF_ERR_REFUSED,
            "release %s recorded it (format %" PRIu32 "), this is release %s (format %d): the "
            "same decisions can only be made by the same release",
            header->release ? header->release : "?", header->format, TF_VERSION, (int)TF_EVENTLOG_FORMAT);
    for (; *cores && !run->ops; cores++)
        if (tf_str_eq((*cores)->name, header->core))
            run->ops = *cores;
    if (!run->ops)
        return tf_error_set(err, TF_ERR_INVALID, "there is no core named \"%s\"",
                            header->core ? header->core : "");
    run->event = tf_calloc(1, run->ops->event_size);
    run->actions = tf_calloc(1, run->ops->actions_size);
    return 0;
}

/* Its digest was right: whoever wrote it lays out what it keeps in another way. Builds between two releases
 * have one name and may do so. */
static int unreadable(const struct run *run, const char *what, const struct tf_frame *frame,
                      struct tf_error *err)
{
    return tf_error_wrap(
        err,
        "the %s at byte %zu cannot be read (another build of release %s may have recorded it: "
        "replay it with that one)",
        what, frame->offset, run->replay->header.release);
}

static int read_state(struct run *run, const struct tf_frame *frame, struct tf_error *err)
{
    run->core = tf_core_read(run->ops, frame->payload.data, frame->payload.len, err);
    if (!run->core)
        return unreadable(run, "state", frame, err);
    run->replay->begins = tf_digest(frame->payload.data, frame->payload.len);
    return 0;
}

/* ---- steps ---- */

static int read_step(struct run *run, const struct tf_frame *frame, struct tf_now *now, struct tf_error *err)
{
    struct tf_image image;
    memset(run->event, 0, run->ops->event_size);
    run->recorded.count = 0;
    tf_image_read(&image, frame->payload.data, frame->payload.len);
    tf_image_now(&image, now);
    run->ops->image_event(&image, run->event);
    uint64_t count = tf_image_count(&image, 0);
    for (size_t i = 0; i < count && !tf_image_failed(&image); i++) {
        struct recorded_action *action = tf_vec_add(&run->recorded);
        tf_image_number(&image, &action->kind);
        tf_image_number(&image, &action->digest);
    }
    if (tf_image_finish(&image, err) == 0)
        return 0;
    run->ops->event_release(run->event);
    return unreadable(run, "step", frame, err);
}

/* The place of the first action that is not as recorded; SIZE_MAX if there is none. */
static size_t compare(struct run *run)
{
    size_t done = tf_core_action_count(run->actions), recorded = run->recorded.count;
    for (size_t i = 0; i < done && i < recorded; i++)
        if (tf_action_digest(run->ops, tf_core_action_at(run->ops, run->actions, i), &run->scratch) !=
            run->recorded.items[i].digest)
            return i;
    return done == recorded ? SIZE_MAX : done < recorded ? done : recorded;
}

static void say_actions(struct run *run, size_t at)
{
    struct tf_buf *out = &run->replay->difference;
    size_t done = tf_core_action_count(run->actions);
    tf_buf_fmt(out, "\n  recorded %zu actions:", run->recorded.count);
    for (size_t i = 0; i < run->recorded.count; i++)
        tf_buf_fmt(out, "%s %s%s", i ? "," : "", run->ops->action_name(run->recorded.items[i].kind),
                   i == at ? " (this one)" : "");
    tf_buf_fmt(out, "\n  replayed %zu actions:", done);
    for (size_t i = 0; i < done; i++) {
        const void *action = tf_core_action_at(run->ops, run->actions, i);
        const char *text = run->ops->action_text(action);
        tf_buf_fmt(out, "%s %s%s%s%s", i ? "," : "", run->ops->action_name(run->ops->action_kind(action)),
                   i == at ? " (this one)" : "", text ? ": " : "", text ? text : "");
    }
}

static void say_difference(struct run *run, const struct tf_frame *frame, int event, size_t at)
{
    tf_buf_fmt(&run->replay->difference,
               "step %" PRIu64 " (byte %zu, %" PRId64 ".%03d s on the monotonic clock): after the event "
               "\"%s\" action %zu differs",
               run->replay->steps, frame->offset, run->replay->last.mono.ms / 1000,
               (int)(run->replay->last.mono.ms % 1000), run->ops->event_name(event), at + 1);
    say_actions(run, at);
}

static int step(struct run *run, const struct tf_frame *frame, struct tf_error *err)
{
    struct tf_replay *replay = run->replay;
    struct tf_now now;
    if (read_step(run, frame, &now, err))
        return -1;
    replay->last = now;
    if (replay->steps++ == 0)
        replay->first = now;
    int event = run->ops->event_kind(run->event);
    run->ops->step(run->core, now, run->event, run->actions);
    replay->actions += tf_core_action_count(run->actions);
    size_t at = compare(run);
    if (at != SIZE_MAX)
        say_difference(run, frame, event, at);
    run->ops->actions_release(run->actions);
    return 0;
}

/* ---- the file ---- */

static int take_frame(struct run *run, const struct tf_frame *frame, struct tf_error *err)
{
    if (frame->kind == TF_FRAME_STATE && !run->core)
        return read_state(run, frame, err);
    if (frame->kind == TF_FRAME_STEP && run->core && !run->replay->ended)
        return step(run, frame, err);
    if (frame->kind == TF_FRAME_END && run->core) {
        run->replay->ended = true;
        return 0;
    }
    return tf_error_set(err, TF_ERR_INVALID, "a record at byte %zu is out of place", frame->offset);
}

static int go(struct run *run, const struct tf_core_ops *const *cores, struct tf_error *err)
{
    struct tf_frame frame;
    enum tf_frame_found found = tf_frames_next(&run->frames, &frame, err);
    if (found == TF_FRAME_DAMAGED || (found == TF_FRAME_FOUND && frame.kind != TF_FRAME_HEADER))
        return tf_error_set(err, TF_ERR_INVALID, "it is no event log: it does not begin as one");
    if (found == TF_FRAME_FOUND && read_header(run, &frame, cores, err))
        return -1;
    while (found == TF_FRAME_FOUND && !run->replay->difference.len) {
        found = tf_frames_next(&run->frames, &frame, err);
        if (found == TF_FRAME_DAMAGED || (found == TF_FRAME_FOUND && take_frame(run, &frame, err)))
            return -1;
    }
    run->replay->torn = found == TF_FRAME_TORN;
    return 0;
}

static int note_end(struct run *run, struct tf_error *err)
{
    if (!run->core)
        return 0;
    tf_buf_clear(&run->scratch);
    if (tf_core_write(run->ops, run->core, false, &run->scratch, err))
        return -1;
    run->replay->ends = tf_digest(run->scratch.data, run->scratch.len);
    return 0;
}

int tf_replay_file(struct tf_bytes file, const struct tf_core_ops *const *cores, struct tf_replay *replay,
                   struct tf_error *err)
{
    struct run run = {.frames = {.file = file}, .replay = replay};
    int failed = go(&run, cores, err);
    if (!failed)
        failed = note_end(&run, err);
    run_release(&run);
    return failed;
}
