/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_EVENTLOG_FILE_H
#define TF_EVENTLOG_FILE_H

#include "common/base/buf.h"
#include "common/base/bytes.h"
#include "common/base/error.h"
#include "common/base/image.h"

/* The form of event log files: frames, of which the first is a header, the second the image of a core, and
 * the others one step each. A frame is 16 bytes, little-endian, then its payload:
 *
 *     4 length of the payload   4 kind   8 digest (common/eventlog/digest.h) of the 8 bytes before and the
 * payload
 *
 * A file that ends within a frame, or with one whose bytes did not all reach the disk, is torn: normal after
 * a crash, all before it holds. A broken frame that others follow is damage. */

enum tf_frame_kind {
    TF_FRAME_NONE = 0,
    TF_FRAME_HEADER = 0x48454654, /* "TFEH" */
    TF_FRAME_STATE = 0x53454654,  /* "TFES" */
    TF_FRAME_STEP = 0x54454654,   /* "TFET" */
    TF_FRAME_END = 0x44454654,    /* "TFED": the core went, in good order; without payload */
};

enum { TF_FRAME_HEAD = 16, TF_EVENTLOG_FORMAT = 1 };

struct tf_eventlog_header {
    uint32_t format;
    char *release; /* images are of one release only */
    char *core;    /* tf_core_ops.name */
    char *name;    /* of the daemon */
    uint64_t number;
    bool continues; /* the state is that at the end of the file before */
};
void tf_eventlog_header_release(struct tf_eventlog_header *header);
void tf_image_eventlog_header(struct tf_image *image, struct tf_eventlog_header *header);

/* The 16 bytes before a payload. */
void tf_frame_head(enum tf_frame_kind kind, struct tf_bytes payload, uint8_t head[TF_FRAME_HEAD]);

/* Reads frames from a file in memory. */
struct tf_frames {
    struct tf_bytes file;
    size_t at;
};
struct tf_frame {
    enum tf_frame_kind kind;
    size_t offset;           /* in the file */
    struct tf_bytes payload; /* borrowed from it */
};
enum tf_frame_found { TF_FRAME_FOUND, TF_FRAME_TORN, TF_FRAME_NO_MORE, TF_FRAME_DAMAGED };
/* DAMAGED sets *err, with the offset. */
enum tf_frame_found tf_frames_next(struct tf_frames *frames, struct tf_frame *frame, struct tf_error *err);

#endif
