/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/image.h"
#include "common/base/cleanup.h"
#include "tests/support/suite.h"

struct part {
    uint32_t a;
    bool b;
};
struct whole {
    int8_t tiny;
    uint16_t small;
    int32_t number;
    uint64_t large;
    bool flag;
    char *text, *none, *empty;
    char *data;
    size_t len;
    struct tf_strs names;
    struct tf_pairs labels;
    struct part part;
    struct part *there, *absent;
    TF_VEC(struct part) parts;
    int cache;
};

static void image_part(struct tf_image *image, struct part *part)
{
    tf_image_open(image, part);
    tf_image_number(image, &part->a);
    tf_image_number(image, &part->b);
    tf_image_close(image);
}

static void image_whole(struct tf_image *image, struct whole *w)
{
    tf_image_open(image, w);
    tf_image_number(image, &w->tiny);
    tf_image_number(image, &w->small);
    tf_image_number(image, &w->number);
    tf_image_number(image, &w->large);
    tf_image_number(image, &w->flag);
    tf_image_string(image, &w->text);
    tf_image_string(image, &w->none);
    tf_image_string(image, &w->empty);
    tf_image_blob(image, &w->data, &w->len);
    tf_image_strings(image, &w->names);
    tf_image_pairs(image, &w->labels);
    image_part(image, &w->part);
    tf_image_maybe(image, &w->there, image_part);
    tf_image_maybe(image, &w->absent, image_part);
    tf_image_list(image, &w->parts, image_part);
    tf_image_skip(image, &w->cache, "made anew");
    tf_image_close(image);
}

static void release(struct whole *w)
{
    free(w->text);
    free(w->none);
    free(w->empty);
    free(w->data);
    tf_strs_release(&w->names);
    tf_pairs_release(&w->labels);
    free(w->there);
    free(w->absent);
    tf_vec_release(&w->parts);
}

static struct whole sample(void)
{
    struct whole w = {.tiny = -1, .small = 65535, .number = INT32_MIN, .large = UINT64_MAX, .flag = true};
    w.text = tf_strdup("text");
    w.empty = tf_strdup("");
    w.data = tf_memdup("a\0b", 3);
    w.len = 3;
    tf_strs_add(&w.names, "x");
    tf_strs_add(&w.names, "");
    tf_pairs_set(&w.labels, "k", "v");
    w.part = (struct part){7, true};
    w.there = tf_memdup(&w.part, sizeof w.part);
    for (uint32_t i = 0; i < 5; i++)
        tf_vec_push(&w.parts, (struct part){i, i % 2});
    w.cache = 99;
    return w;
}

static void write_sample(struct tf_buf *bytes)
{
    struct whole w = sample();
    struct tf_image image;
    tf_image_write(&image, bytes, true);
    image_whole(&image, &w);
    CU_ASSERT_EQUAL(tf_image_finish(&image, NULL), 0);
    release(&w);
}

static int read_bytes(const char *bytes, size_t len, struct whole *w, struct tf_error *err)
{
    struct tf_image image;
    *w = (struct whole){0};
    tf_image_read(&image, bytes, len);
    image_whole(&image, w);
    return tf_image_finish(&image, err);
}

static void test_what_was_written_is_read(void)
{
    TF_AUTO_BUF bytes = TF_BUF_INIT;
    struct whole w;
    write_sample(&bytes);
    CU_ASSERT_EQUAL(read_bytes(bytes.data, bytes.len, &w, NULL), 0);
    CU_ASSERT(w.tiny == -1 && w.small == 65535 && w.number == INT32_MIN && w.large == UINT64_MAX && w.flag);
    CU_ASSERT_STRING_EQUAL(w.text, "text");
    CU_ASSERT_PTR_NULL(w.none);
    CU_ASSERT_STRING_EQUAL(w.empty, "");
    CU_ASSERT(w.len == 3 && memcmp(w.data, "a\0b", 3) == 0);
    CU_ASSERT(w.names.count == 2 && w.names.items[1][0] == '\0');
    CU_ASSERT_STRING_EQUAL(tf_pairs_get(&w.labels, "k"), "v");
    CU_ASSERT(w.part.a == 7 && w.part.b && w.there && w.there->a == 7 && !w.absent);
    CU_ASSERT(w.parts.count == 5 && w.parts.items[4].a == 4);
    CU_ASSERT_EQUAL(w.cache, 0);
    release(&w);
}

static void test_each_cut_is_an_error(void)
{
    TF_AUTO_BUF bytes = TF_BUF_INIT;
    struct whole w;
    write_sample(&bytes);
    for (size_t len = 0; len < bytes.len; len++) {
        struct tf_error err = TF_ERROR_INIT;
        CU_ASSERT_EQUAL(read_bytes(bytes.data, len, &w, &err), -1);
        CU_ASSERT_EQUAL(err.code, TF_ERR_INVALID);
        release(&w);
    }
    tf_buf_char(&bytes, 'x');
    CU_ASSERT_EQUAL(read_bytes(bytes.data, bytes.len, &w, NULL), -1);
    release(&w);
}

/* Sizes in damaged bytes are never believed beyond the bytes that are there. */
static void test_damage_is_bounded(void)
{
    TF_AUTO_BUF bytes = TF_BUF_INIT;
    struct whole w;
    write_sample(&bytes);
    for (size_t at = 0; at < bytes.len; at++)
        for (int bit = 0; bit < 8; bit++) {
            bytes.data[at] = (char)(bytes.data[at] ^ 1 << bit);
            (void)read_bytes(bytes.data, bytes.len, &w, NULL);
            release(&w);
            bytes.data[at] = (char)(bytes.data[at] ^ 1 << bit);
        }
}

/* ---- what is forgotten ---- */

static void forgets_a_flag(struct tf_image *image, struct part *part)
{
    tf_image_open(image, part);
    tf_image_number(image, &part->a);
    tf_image_close(image);
}

static void test_a_forgotten_field_is_named(void)
{
    TF_AUTO_BUF bytes = TF_BUF_INIT;
    struct tf_error err = TF_ERROR_INIT;
    struct part part = {1, true};
    struct tf_image image;
    tf_image_write(&image, &bytes, true);
    forgets_a_flag(&image, &part);
    CU_ASSERT_EQUAL(tf_image_finish(&image, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "forgets_a_flag: byte 4 of the struct, of 8"));
    tf_buf_clear(&bytes);
    tf_image_write(&image, &bytes, false); /* nobody looks */
    forgets_a_flag(&image, &part);
    CU_ASSERT_EQUAL(tf_image_finish(&image, &err), 0);
}

/* ---- tables ---- */

static const struct tf_row item_rows[] = {
    {.key = "name", TF_NAME(struct tf_pair, key)},
    {.key = "value", TF_STRING(struct tf_pair, value)},
};
static const struct tf_table item_table = TF_TABLE(struct tf_pair, item_rows);

struct tabled {
    int64_t ms;
    bool on;
    char *word;
    struct {
        struct tf_pair *items;
        size_t count, cap;
    } list;
};
static const struct tf_row tabled_rows[] = {
    {.key = "for", TF_DURATION(struct tabled, ms), .max = 100000, .def = "5s"},
    {.key = "on", TF_BOOL(struct tabled, on)},
    {.key = "word", TF_STRING(struct tabled, word)},
    {.key = "list", TF_OBJECTS(struct tabled, list, &item_table)},
};
static const struct tf_table tabled_table = TF_TABLE(struct tabled, tabled_rows);

static void image_tabled(struct tf_image *image, struct tabled *t)
{
    tf_image_open(image, t);
    tf_image_table(image, &tabled_table, t);
    tf_image_close(image);
}

static void test_rows_say_what_is_in_a_table(void)
{
    TF_AUTO_BUF bytes = TF_BUF_INIT;
    struct tabled a = {0}, b = {0};
    struct tf_image image;
    tf_table_init(&tabled_table, &a);
    a.on = true;
    tf_str_set(&a.word, "w");
    struct tf_pair *pair = tf_row_add(&tabled_rows[3], &a);
    tf_str_set(&pair->key, "k");
    tf_image_write(&image, &bytes, true);
    image_tabled(&image, &a);
    CU_ASSERT_EQUAL(tf_image_finish(&image, NULL), 0);
    tf_image_read(&image, bytes.data, bytes.len);
    image_tabled(&image, &b);
    CU_ASSERT_EQUAL(tf_image_finish(&image, NULL), 0);
    CU_ASSERT(tf_table_eq(&tabled_table, &a, &b));
    CU_ASSERT(b.ms == 5000 && b.list.count == 1 && strcmp(b.list.items[0].key, "k") == 0);
    tf_table_release(&tabled_table, &a);
    tf_table_release(&tabled_table, &b);
}

static const struct suite_test tests[] = {
    {"what was written is read", test_what_was_written_is_read},
    {"each cut is an error", test_each_cut_is_an_error},
    {"damage is bounded", test_damage_is_bounded},
    {"a forgotten field is named", test_a_forgotten_field_is_named},
    {"rows say what is in a table", test_rows_say_what_is_in_a_table},
};

int main(void)
{
    return suite_run("image", tests, TF_ARRAY_LEN(tests));
}
