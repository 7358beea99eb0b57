/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of images: numbers in groups of seven bits, the lowest first, as in protobuf; texts with their
 * length plus one, 0 = NULL. */
#include "common/base/image.h"

#include "common/base/alloc.h"
#include "common/base/row_value.h"

#include <assert.h>

struct tf_image_frame {
    struct tf_image_frame *up;
    const uint8_t *object;
    const char *where;
    size_t size;
    uint8_t open[]; /* one a byte of the object: not 0 = not told yet */
};

/* ---- life ---- */

void tf_image_write(struct tf_image *image, struct tf_buf *out, bool checks)
{
    *image = (struct tf_image){.out = out, .checks = checks};
}

void tf_image_read(struct tf_image *image, const void *bytes, size_t len)
{
    *image = (struct tf_image){.at = bytes, .end = (const uint8_t *)bytes + len};
}

static void pop(struct tf_image *image)
{
    struct tf_image_frame *frame = image->inmost;
    image->inmost = frame->up;
    free(frame);
}

int tf_image_finish(struct tf_image *image, struct tf_error *err)
{
    assert(!image->inmost || tf_image_failed(image));
    while (image->inmost)
        pop(image);
    if (!image->out && image->at != image->end)
        tf_image_fail(image, "it is longer than what it describes");
    if (!tf_image_failed(image))
        return 0;
    return tf_error_set(err, image->error.code, "%s", image->error.text);
}

void tf_image_fail(struct tf_image *image, const char *what)
{
    if (!tf_image_failed(image))
        tf_error_set(&image->error, TF_ERR_INVALID, "%s", what);
}

/* ---- numbers ---- */

enum { NUMBER_BYTES = 10 }; /* at most */

/* Most of an image is numbers of one byte: they go straight into the buffer. */
static void put(struct tf_image *image, uint64_t n)
{
    struct tf_buf *out = image->out;
    if (out->cap - out->len <= NUMBER_BYTES)
        tf_buf_reserve(out, NUMBER_BYTES);
    for (; n >= 0x80; n >>= 7)
        out->data[out->len++] = (char)(n | 0x80);
    out->data[out->len++] = (char)n;
    out->data[out->len] = '\0';
}

static uint64_t get(struct tf_image *image)
{
    uint64_t n = 0;
    for (unsigned shift = 0; image->at < image->end && shift < 64; shift += 7) {
        uint8_t byte = *image->at++;
        n |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return n;
    }
    tf_image_fail(image, "it ends within a number");
    return 0;
}

static uint64_t word(struct tf_image *image, uint64_t n)
{
    if (tf_image_failed(image))
        return 0;
    if (!image->out)
        return get(image);
    put(image, n);
    return n;
}

/* Signed numbers near 0 are short, too. */
static uint64_t fold(uint64_t n, unsigned bits)
{
    uint64_t sign = n >> (bits - 1) & 1;
    return (n << 1 ^ (sign ? UINT64_MAX : 0)) & (UINT64_MAX >> (64 - bits));
}

static uint64_t unfold(uint64_t n)
{
    return n >> 1 ^ (n & 1 ? UINT64_MAX : 0);
}

static uint64_t load(const void *field, size_t size)
{
    uint8_t one;
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    switch (size) {
    case 1:
        memcpy(&one, field, 1);
        return one;
    case 2:
        memcpy(&two, field, 2);
        return two;
    case 4:
        memcpy(&four, field, 4);
        return four;
    default:
        memcpy(&eight, field, 8);
        return eight;
    }
}

static void store(void *field, size_t size, uint64_t n)
{
    uint8_t one = (uint8_t)n;
    uint16_t two = (uint16_t)n;
    uint32_t four = (uint32_t)n;
    memcpy(field,
           size == 1   ? (void *)&one
           : size == 2 ? (void *)&two
           : size == 4 ? (void *)&four
                       : (void *)&n,
           size);
}

void tf_image_scalar(struct tf_image *image, void *field, size_t size)
{
    tf_image_told(image, field, size);
    uint64_t n = word(image, image->out ? fold(load(field, size), (unsigned)size * 8) : 0);
    if (!image->out && !tf_image_failed(image))
        store(field, size, unfold(n));
}

bool tf_image_flag(struct tf_image *image, bool flag)
{
    return word(image, flag) != 0;
}

uint64_t tf_image_count(struct tf_image *image, uint64_t count)
{
    count = word(image, count);
    if (image->out || count <= (size_t)(image->end - image->at))
        return count;
    tf_image_fail(image, "it ends within a list");
    return 0;
}

/* ---- texts ---- */

void tf_image_bytes(struct tf_image *image, void *field, size_t size)
{
    tf_image_told(image, field, size);
    if (tf_image_failed(image))
        return;
    if (image->out) {
        tf_buf_add(image->out, field, size);
    } else if ((size_t)(image->end - image->at) < size) {
        tf_image_fail(image, "it ends within a field");
    } else {
        memcpy(field, image->at, size);
        image->at += size;
    }
}

void tf_image_blob(struct tf_image *image, char **data, size_t *len)
{
    tf_image_told(image, data, sizeof *data);
    tf_image_told(image, len, sizeof *len);
    uint64_t n = word(image, image->out && *data ? *len + 1 : 0);
    if (tf_image_failed(image) || n == 0)
        return;
    if (image->out) {
        tf_buf_add(image->out, *data, *len);
    } else if (n - 1 > (size_t)(image->end - image->at)) {
        tf_image_fail(image, "it ends within a text");
    } else {
        *len = (size_t)n - 1;
        *data = tf_malloc(*len + 1);
        memcpy(*data, image->at, *len);
        (*data)[*len] = '\0';
        image->at += *len;
    }
}

void tf_image_string(struct tf_image *image, char **field)
{
    size_t len = image->out && *field ? strlen(*field) : 0;
    tf_image_told(image, field, sizeof *field);
    tf_image_blob(image, field, &len);
}

void tf_image_strings(struct tf_image *image, struct tf_strs *field)
{
    tf_image_list(image, field, tf_image_string);
}

static void image_pair(struct tf_image *image, struct tf_pair *pair)
{
    tf_image_string(image, &pair->key);
    tf_image_string(image, &pair->value);
}

void tf_image_pairs(struct tf_image *image, struct tf_pairs *field)
{
    tf_image_list(image, field, image_pair);
}

/* ---- tables ---- */

static void *field_of(const struct tf_row *row, void *object)
{
    return (char *)object + row->offset;
}

static void image_items(struct tf_image *image, const struct tf_row *row, void *object)
{
    struct tf_row_list list = tf_row_list_get(field_of(row, object));
    uint64_t count = tf_image_count(image, list.count);
    tf_image_told(image, field_of(row, object), sizeof list);
    for (size_t i = 0; i < count && !tf_image_failed(image); i++) {
        void *item = image->out ? (char *)list.items + i * row->table->size : tf_row_add(row, object);
        if (!image->out)
            tf_table_release(row->table, item);
        tf_image_table(image, row->table, item);
    }
}

static void image_row(struct tf_image *image, const struct tf_row *row, void *object)
{
    void *field = field_of(row, object);
    switch (row->type) {
    case TF_ROW_CONST:
    case TF_ROW_SIZES: /* other rows have them */
        break;
    case TF_ROW_STRING:
    case TF_ROW_NAME:
        tf_image_string(image, field);
        break;
    case TF_ROW_BOOL:
        tf_image_scalar(image, field, sizeof(bool));
        break;
    case TF_ROW_CHOICE:
        tf_image_string(image, (void *)((char *)object + row->detail));
        tf_image_scalar(image, field, sizeof(int));
        break;
    case TF_ROW_INT32:
    case TF_ROW_FRACTION:
    case TF_ROW_ENUM:
        tf_image_scalar(image, field, sizeof(int32_t));
        break;
    case TF_ROW_INT64:
    case TF_ROW_DURATION:
    case TF_ROW_MEMORY:
    case TF_ROW_CAPACITY:
    case TF_ROW_CPU:
    case TF_ROW_NOTATION:
        tf_image_scalar(image, field, sizeof(int64_t));
        break;
    case TF_ROW_STRINGS:
    case TF_ROW_NAMES:
        tf_image_strings(image, field);
        break;
    case TF_ROW_PAIRS:
        tf_image_pairs(image, field);
        break;
    case TF_ROW_OBJECT:
        tf_image_table(image, row->table, field);
        break;
    case TF_ROW_OBJECTS:
    case TF_ROW_MAP:
        image_items(image, row, object);
        break;
    }
}

void tf_image_table(struct tf_image *image, const struct tf_table *table, void *object)
{
    for (size_t i = 0; i < table->count; i++)
        image_row(image, &table->rows[i], object);
}

/* ---- that nothing was forgotten ---- */

void tf_image_push(struct tf_image *image, const void *object, const void *full, size_t size,
                   const char *where)
{
    if (tf_image_failed(image))
        return;
    struct tf_image_frame *frame = tf_calloc(1, sizeof *frame + size);
    frame->up = image->inmost;
    frame->object = object;
    frame->where = where;
    frame->size = size;
    memcpy(frame->open, full, size);
    image->inmost = frame;
}

/* Those outside count as told, too: a struct inside another is a field of it. */
void tf_image_told(struct tf_image *image, const void *field, size_t size)
{
    const uint8_t *first = field;
    for (struct tf_image_frame *frame = image->inmost; frame; frame = frame->up)
        if (first >= frame->object && first + size <= frame->object + frame->size)
            memset(frame->open + (first - frame->object), 0, size);
}

void tf_image_close(struct tf_image *image)
{
    if (!image->checks || tf_image_failed(image))
        return;
    const struct tf_image_frame *frame = image->inmost;
    size_t first = 0;
    while (first < frame->size && !frame->open[first])
        first++;
    if (first < frame->size)
        tf_error_set(
            &image->error, TF_ERR_BUG,
            "%s: byte %zu of the struct, of %zu, is neither written nor skipped: a field was forgotten",
            frame->where, first, frame->size);
    else
        pop(image);
}
