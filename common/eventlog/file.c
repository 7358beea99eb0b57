/* SPDX-License-Identifier: Apache-2.0 */
#include "common/eventlog/file.h"

#include "common/eventlog/digest.h"

/* ---- header ---- */

void tf_eventlog_header_release(struct tf_eventlog_header *header)
{
    free(header->release);
    free(header->core);
    free(header->name);
    *header = (struct tf_eventlog_header){0};
}

void tf_image_eventlog_header(struct tf_image *image, struct tf_eventlog_header *header)
{
    tf_image_open(image, header);
    tf_image_number(image, &header->format);
    tf_image_string(image, &header->release);
    tf_image_string(image, &header->core);
    tf_image_string(image, &header->name);
    tf_image_number(image, &header->number);
    tf_image_number(image, &header->continues);
    tf_image_close(image);
}

/* ---- frames ---- */

static void put(uint8_t *at, uint64_t n, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        at[i] = (uint8_t)(n >> 8 * i);
}

static uint64_t get(const uint8_t *at, size_t bytes)
{
    uint64_t n = 0;
    for (size_t i = 0; i < bytes; i++)
        n |= (uint64_t)at[i] << 8 * i;
    return n;
}

static uint64_t digest_of(const uint8_t head[TF_FRAME_HEAD], struct tf_bytes payload)
{
    return tf_digest(payload.data, payload.len) ^ tf_digest(head, 8);
}

void tf_frame_head(enum tf_frame_kind kind, struct tf_bytes payload, uint8_t head[TF_FRAME_HEAD])
{
    put(head, payload.len, 4);
    put(head + 4, (uint64_t)kind, 4);
    put(head + 8, digest_of(head, payload), 8);
}

static bool is_kind(uint64_t kind)
{
    return kind == TF_FRAME_HEADER || kind == TF_FRAME_STATE || kind == TF_FRAME_STEP || kind == TF_FRAME_END;
}

/* The file system may have grown the file before the bytes were there. */
static bool only_zeros(struct tf_bytes file, size_t at)
{
    const char *bytes = file.data;
    for (; at < file.len; at++)
        if (bytes[at])
            return false;
    return true;
}

static bool is_good(const uint8_t *head, struct tf_bytes payload)
{
    return get(head + 8, 8) == digest_of(head, payload);
}

/* True if a whole good frame begins anywhere later: then what is broken at `at` is not where writing stopped,
 * whatever its length says. Digests are looked at for so many bytes only, or a file made for it would keep us
 * for ever: one that makes us give up is not what a crash leaves. */
static bool others_follow(const struct tf_frames *frames)
{
    enum { LOOKS = 4 };
    size_t budget = LOOKS * frames->file.len;
    for (size_t at = frames->at + 1; at + TF_FRAME_HEAD <= frames->file.len; at++) {
        const uint8_t *head = (const uint8_t *)frames->file.data + at;
        uint64_t len = get(head, 4);
        if (!is_kind(get(head + 4, 4)) || len > frames->file.len - at - TF_FRAME_HEAD)
            continue;
        if (len > budget || is_good(head, (struct tf_bytes){head + TF_FRAME_HEAD, (size_t)len}))
            return true;
        budget -= (size_t)len;
    }
    return false;
}

static enum tf_frame_found damaged(const struct tf_frames *frames, struct tf_error *err)
{
    tf_error_set(err, TF_ERR_INVALID,
                 "the file is damaged at byte %zu: a record there is not what was written, and others follow "
                 "it; what is before it was good",
                 frames->at);
    return TF_FRAME_DAMAGED;
}

static enum tf_frame_found broken(const struct tf_frames *frames, struct tf_error *err)
{
    return only_zeros(frames->file, frames->at) ? TF_FRAME_TORN : damaged(frames, err);
}

/* The file ends where the frame should go on, as it seems: or its length is not what was written. */
static enum tf_frame_found torn(const struct tf_frames *frames, struct tf_error *err)
{
    return others_follow(frames) ? damaged(frames, err) : TF_FRAME_TORN;
}

enum tf_frame_found tf_frames_next(struct tf_frames *frames, struct tf_frame *frame, struct tf_error *err)
{
    const uint8_t *head = (const uint8_t *)frames->file.data + frames->at;
    size_t left = frames->file.len - frames->at;
    if (left == 0)
        return TF_FRAME_NO_MORE;
    if (left < TF_FRAME_HEAD)
        return TF_FRAME_TORN;
    uint64_t len = get(head, 4), kind = get(head + 4, 4);
    if (!is_kind(kind))
        return broken(frames, err);
    if (len > left - TF_FRAME_HEAD)
        return torn(frames, err);
    *frame = (struct tf_frame){(enum tf_frame_kind)kind, frames->at, {head + TF_FRAME_HEAD, (size_t)len}};
    bool good = is_good(head, frame->payload);
    if (!good && len == left - TF_FRAME_HEAD)
        return torn(frames, err);
    if (!good)
        return broken(frames, err);
    frames->at += TF_FRAME_HEAD + (size_t)len;
    return TF_FRAME_FOUND;
}
