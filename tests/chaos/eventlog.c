/* SPDX-License-Identifier: Apache-2.0 */
/* Event logs under chaos: every simulated daemon records, through crashes, hand-overs and new files under
 * way; then each file must give the same decisions again, and each must go on where the one before it ended.
 */
#include "common/base/cleanup.h"
#include "common/eventlog/file.h"
#include "tests/support/suite.h"
#include "tools/fedsim/chaos/chaos.h"
#include "tools/fedsim/replay/replay.h"

#include <dirent.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SEEDS = 25, TAIL = 60 };

/* ---- a folder for one run ---- */

static void each_file(const char *folder, void (*then)(const char *path, void *arg), void *arg)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        TF_AUTO_FREE char *path = tf_asprintf("%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.')
            then(path, arg);
    }
    if (dir)
        closedir(dir);
}

static void remove_file(const char *path, void *arg)
{
    (void)arg;
    unlink(path);
}

static void remove_folder(char *folder)
{
    each_file(folder, remove_file, NULL);
    rmdir(folder);
}

static bool record(uint64_t seed, char *folder, struct chaos_result *result)
{
    struct chaos_options options = {.seed = seed, .tail = TAIL, .record = folder};
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    chaos_run(&options, result);
    if (result->breached)
        printf("seed %" PRIu64 ": %s\n", seed, result->breach);
    return !result->breached;
}

/* ---- all is the same ---- */

static void test_recorded_runs_replay_identically(void)
{
    uint64_t first = suite_seed(1);
    struct replay_totals totals = {0};
    FILE *out = tmpfile();
    for (uint64_t seed = first; seed < first + suite_rounds(SEEDS); seed++) {
        char folder[] = "/tmp/tf-eventlog-XXXXXX";
        struct chaos_options plain = {.seed = seed};
        struct chaos_result recorded, alone;
        CU_ASSERT(record(seed, folder, &recorded));
        chaos_run(&plain, &alone);
        CU_ASSERT_EQUAL(alone.hash, recorded.hash); /* recording changes nothing */
        CU_ASSERT_EQUAL(replay_path(folder, &totals, out, stdout), 0);
        if (totals.differing)
            printf("seed %" PRIu64 " is not replayed identically\n", seed);
        remove_folder(folder);
    }
    fclose(out);
    CU_ASSERT_EQUAL(replay_exit_code(&totals), 0);
    CU_ASSERT_EQUAL(totals.torn, 0);
    CU_ASSERT(totals.files > 10 * SEEDS && totals.steps > 300 * SEEDS);
    replay_print_totals(&totals, stdout);
}

/* ---- files that are not what was written ---- */

struct text_file {
    char *path;
    struct tf_buf bytes;
};

static void read_file(const char *path, struct tf_buf *bytes)
{
    char part[4096];
    size_t n;
    FILE *file = fopen(path, "rb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    while ((n = fread(part, 1, sizeof part, file)) > 0)
        tf_buf_add(bytes, part, n);
    fclose(file);
}

static void write_file(const char *path, const struct tf_buf *bytes)
{
    FILE *file = fopen(path, "wb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fwrite(bytes->data, 1, bytes->len, file), bytes->len);
    fclose(file);
}

/* The largest of them. */
static void take_largest(const char *path, void *arg)
{
    struct text_file *largest = arg;
    TF_AUTO_BUF bytes = TF_BUF_INIT;
    read_file(path, &bytes);
    if (bytes.len <= largest->bytes.len)
        return;
    tf_buf_release(&largest->bytes);
    free(largest->path);
    largest->path = tf_strdup(path);
    largest->bytes = bytes;
    bytes = (struct tf_buf)TF_BUF_INIT;
}

/* The k-th frame of that kind. */
static struct tf_frame frame_at(const struct tf_buf *bytes, enum tf_frame_kind kind, size_t k)
{
    struct tf_frames frames = {.file = {bytes->data, bytes->len}};
    struct tf_frame frame = {0};
    while (tf_frames_next(&frames, &frame, NULL) == TF_FRAME_FOUND)
        if (frame.kind == kind && k-- == 0)
            return frame;
    CU_FAIL("too few frames");
    return frame;
}

static struct replay_totals replay(const char *path, char **words)
{
    struct replay_totals totals = {0};
    size_t len = 0;
    FILE *out = open_memstream(words, &len);
    replay_path(path, &totals, out, out);
    fclose(out);
    return totals;
}

static void cut_file(const struct text_file *file, size_t len, size_t torn)
{
    struct tf_buf cut = {file->bytes.data, len, len};
    TF_AUTO_FREE char *words = NULL;
    write_file(file->path, &cut);
    struct replay_totals totals = replay(file->path, &words);
    CU_ASSERT_EQUAL(replay_exit_code(&totals), 0);
    CU_ASSERT_EQUAL(totals.torn, torn);
}

static void test_a_torn_end_is_normal(const struct text_file *file)
{
    size_t whole = frame_at(&file->bytes, TF_FRAME_STEP, 5).offset;
    cut_file(file, whole, 0); /* between two records */
    cut_file(file, 0, 0);     /* as when the disk was full at once */
    cut_file(file, 10, 1);
    for (size_t more = 1; more < 40; more += 3)
        cut_file(file, whole + more, 1);
    TF_AUTO_BUF zeros = TF_BUF_INIT;
    tf_buf_add(&zeros, file->bytes.data, whole);
    for (int i = 0; i < 4096; i++)
        tf_buf_char(&zeros, 0);
    TF_AUTO_FREE char *words = NULL;
    write_file(file->path, &zeros);
    struct replay_totals totals = replay(file->path, &words);
    CU_ASSERT(replay_exit_code(&totals) == 0 && totals.torn == 1);
}

static void test_damage_is_named(const struct text_file *file)
{
    struct tf_frame frame = frame_at(&file->bytes, TF_FRAME_STEP, 7);
    /* its length as well: what seems to end within this record, and does not */
    for (size_t at = frame.offset; at < frame.offset + TF_FRAME_HEAD + frame.payload.len; at++) {
        TF_AUTO_FREE char *words = NULL;
        TF_AUTO_FREE char *where = tf_asprintf("damaged at byte %zu", frame.offset);
        file->bytes.data[at] ^= 0x40;
        write_file(file->path, &file->bytes);
        struct replay_totals totals = replay(file->path, &words);
        CU_ASSERT_EQUAL(replay_exit_code(&totals), 2);
        CU_ASSERT_EQUAL(totals.steps, 7);
        CU_ASSERT_PTR_NOT_NULL(strstr(words, where));
        file->bytes.data[at] ^= 0x40;
    }
}

static void flip_last(const struct text_file *file, const struct tf_frame *frame)
{
    file->bytes.data[frame->offset + TF_FRAME_HEAD + frame->payload.len - 1] ^= 1;
    tf_frame_head(frame->kind, frame->payload, (uint8_t *)file->bytes.data + frame->offset);
}

/* Another decision than the recorded one: the last digest of a step, of the first that has one, is another.
 */
static void test_a_difference_is_shown(const struct text_file *file)
{
    struct replay_totals totals = {0};
    for (size_t step = 0; step < 40 && !totals.differing; step++) {
        struct tf_frame frame = frame_at(&file->bytes, TF_FRAME_STEP, step);
        TF_AUTO_FREE char *words = NULL;
        TF_AUTO_FREE char *where = tf_asprintf("DIFFERS in step %zu (byte %zu", step + 1, frame.offset);
        flip_last(file, &frame);
        write_file(file->path, &file->bytes);
        totals = replay(file->path, &words);
        flip_last(file, &frame);
        if (!totals.differing)
            continue; /* a step without actions: what was turned is their number */
        CU_ASSERT_EQUAL(replay_exit_code(&totals), 1);
        CU_ASSERT_PTR_NOT_NULL(strstr(words, where));
        CU_ASSERT_PTR_NOT_NULL(strstr(words, "(this one)"));
        CU_ASSERT_EQUAL(totals.steps, step + 1);
    }
    CU_ASSERT_EQUAL(totals.differing, 1);
}

static void test_another_release_is_refused(const struct text_file *file)
{
    struct tf_frame frame = frame_at(&file->bytes, TF_FRAME_HEADER, 0);
    char *payload = file->bytes.data + frame.offset + TF_FRAME_HEAD;
    char *release = memmem(payload, frame.payload.len, TF_VERSION, strlen(TF_VERSION));
    TF_AUTO_FREE char *words = NULL;
    CU_ASSERT_PTR_NOT_NULL_FATAL(release);
    release[0]++;
    tf_frame_head(frame.kind, frame.payload, (uint8_t *)file->bytes.data + frame.offset);
    write_file(file->path, &file->bytes);
    struct replay_totals totals = replay(file->path, &words);
    CU_ASSERT_EQUAL(replay_exit_code(&totals), 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(words, "the same release"));
}

static void test_broken_files(void)
{
    char folder[] = "/tmp/tf-eventlog-XXXXXX";
    struct chaos_result result;
    struct text_file file = {0};
    TF_AUTO_FREE char *words = NULL;
    CU_ASSERT(record(8, folder, &result));
    each_file(folder, take_largest, &file);
    test_a_torn_end_is_normal(&file);
    test_damage_is_named(&file);
    test_a_difference_is_shown(&file);
    test_another_release_is_refused(&file);
    tf_buf_release(&file.bytes);
    tf_buf_str(&file.bytes, "this is something else entirely");
    write_file(file.path, &file.bytes);
    struct replay_totals totals = replay(file.path, &words);
    CU_ASSERT_EQUAL(replay_exit_code(&totals), 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(words, "no event log"));
    unlink(file.path);
    CU_ASSERT_EQUAL(mkfifo(file.path, 0600), 0);
    TF_AUTO_FREE char *told = NULL;
    totals = replay(file.path, &told);
    CU_ASSERT_EQUAL(replay_exit_code(&totals), 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(told, "it is no regular file"));
    remove_folder(folder);
    tf_buf_release(&file.bytes);
    free(file.path);
}

static const struct suite_test tests[] = {
    {"recorded runs replay identically", test_recorded_runs_replay_identically},
    {"broken files", test_broken_files},
};

int main(void)
{
    return suite_run("chaos/eventlog", tests, TF_ARRAY_LEN(tests));
}
