/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_BASE_IMAGE_H
#define TF_BASE_IMAGE_H

#include "common/base/buf.h"
#include "common/base/error.h"
#include "common/base/list.h"
#include "common/base/row.h"

#include <string.h>

/* Images: a state as bytes, from which an equal state is made again. One function a struct says what is in it
 * and serves both ways, so that writing and reading cannot differ:
 *
 *     static void image_flight(struct tf_image *image, struct flight *f)
 *     {
 *         tf_image_open(image, f);
 *         tf_image_number(image, &f->epoch);
 *         tf_image_string(image, &f->model);
 *         tf_image_spec(image, &f->spec);
 *         tf_image_skip(image, &f->row, "found again by its number");
 *         tf_image_close(image);
 *     }
 *
 * A field cannot be forgotten unseen: with `checks` (tests, chaos) each byte of an open struct that is not
 * padding must have been written or skipped with a reason when it is closed, else the image fails and names
 * function and byte. What must still be judged by people, whether a skipped field may be skipped, is found by
 * the runs that put a restored state in the place of its original and demand the same decisions.
 *
 * Images hold no addresses, are the same on every machine, and equal states have equal images; but they know
 * no versions: only the release that wrote an image reads it. Reading trusts what was written and checks no
 * more than that all sizes are within the bytes that are there. */
struct tf_image_frame;

struct tf_image {
    struct tf_buf *out;            /* writing; NULL: reading */
    const uint8_t *at, *end;       /* reading: what is left */
    bool checks;                   /* writing: every byte must be told */
    struct tf_error error;         /* code TF_OK until something failed; then all calls do nothing */
    struct tf_image_frame *inmost; /* with checks */
};

/* out is borrowed until the image is finished. */
void tf_image_write(struct tf_image *image, struct tf_buf *out, bool checks);
void tf_image_read(struct tf_image *image, const void *bytes, size_t len);
/* Frees what is left open. -1 and *err if something failed, or bytes are left over. */
int tf_image_finish(struct tf_image *image, struct tf_error *err);
static inline bool tf_image_is_reading(const struct tf_image *image)
{
    return !image->out;
}
static inline bool tf_image_failed(const struct tf_image *image)
{
    return image->error.code != TF_OK;
}
void tf_image_fail(struct tf_image *image, const char *what); /* a literal; the first one stays */

/* ---- fields; when reading they are empty before ---- */

/* Any integer, enum or bool, or a struct of just one, by its size. */
#define tf_image_number(image, field)                                                                      \
    ((void)sizeof(                                                                                         \
         char[sizeof *(field) == 1 || sizeof *(field) == 2 || sizeof *(field) == 4 || sizeof *(field) == 8 \
                  ? 1                                                                                      \
                  : -1]),                                                                                  \
     tf_image_scalar(image, field, sizeof *(field)))
void tf_image_scalar(struct tf_image *image, void *field, size_t size);
void tf_image_bytes(struct tf_image *image, void *field, size_t size);
void tf_image_string(struct tf_image *image, char **field);           /* owned; NULL and "" differ */
void tf_image_blob(struct tf_image *image, char **data, size_t *len); /* owned */
void tf_image_strings(struct tf_image *image, struct tf_strs *field);
void tf_image_pairs(struct tf_image *image, struct tf_pairs *field);
/* What the rows of a table describe. */
void tf_image_table(struct tf_image *image, const struct tf_table *table, void *object);

/* A TF_VEC of which one(image, &item) is called for each item. */
#define tf_image_list(image, vec, one)                                     \
    do {                                                                   \
        uint64_t left_ = tf_image_count(image, (vec)->count);              \
        tf_image_told(image, vec, sizeof *(vec));                          \
        for (size_t i_ = 0; i_ < left_ && !tf_image_failed(image); i_++) { \
            if (tf_image_is_reading(image))                                \
                (void)tf_vec_add(vec);                                     \
            one(image, &(vec)->items[i_]);                                 \
        }                                                                  \
    } while (0)
/* A number of items, each of which has bytes of its own. Returns the one that is written or read. */
uint64_t tf_image_count(struct tf_image *image, uint64_t count);
/* An owned struct that may be absent (NULL). */
#define tf_image_maybe(image, pointer, one)                     \
    do {                                                        \
        bool there_ = tf_image_flag(image, *(pointer) != NULL); \
        tf_image_told(image, pointer, sizeof *(pointer));       \
        if (there_ && tf_image_is_reading(image))               \
            *(pointer) = tf_calloc(1, sizeof **(pointer));      \
        if (there_)                                             \
            one(image, *(pointer));                             \
    } while (0)
/* A word of the image's own. Returns the one that is written or read. */
bool tf_image_flag(struct tf_image *image, bool flag);

/* ---- that nothing was forgotten ---- */

/* Opens and closes the struct that object points to; those inside others, and those that others point to, may
 * be opened in turn. */
#if defined __has_builtin && __has_builtin(__builtin_clear_padding)
#define tf_image_open(image, object)                                      \
    do {                                                                  \
        if ((image)->checks) {                                            \
            __typeof__(*(object)) full_;                                  \
            memset(&full_, 0xff, sizeof full_);                           \
            __builtin_clear_padding(&full_);                              \
            tf_image_push(image, object, &full_, sizeof full_, __func__); \
        }                                                                 \
    } while (0)
#else /* where the padding is cannot be known */
#define tf_image_open(image, object) ((image)->checks = false)
#endif
void tf_image_close(struct tf_image *image);
/* A field that is no part of the state: made anew, found again, or never read before it is written. */
#define tf_image_skip(image, field, reason) tf_image_told(image, field, sizeof *(field) + 0 * sizeof reason)
/* Of object, the field and all after it: a union, of which the part in use is written besides. */
#define tf_image_union(image, object, field) \
    tf_image_told(image, &(object)->field, sizeof *(object)-offsetof(__typeof__(*(object)), field))
/* full: the struct with every bit set but the padding's; both are borrowed, full until the call returns. */
void tf_image_push(struct tf_image *image, const void *object, const void *full, size_t size,
                   const char *where);
void tf_image_told(struct tf_image *image, const void *field, size_t size);

#endif
