/* SPDX-License-Identifier: Apache-2.0 */
/* Recorder and replay with a small core: it adds up what it is given. */
#include "common/eventlog/recorder.h"
#include "common/base/cleanup.h"
#include "common/eventlog/replay.h"
#include "common/log/log.h"
#include "tests/support/suite.h"

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the core ---- */

struct sum {
    int64_t total;
    char *ballast; /* makes images large */
};
struct sum_event {
    int kind;
    int64_t add;
    char *note;
};
struct sum_action {
    int kind;
    int64_t total;
};
struct sum_actions {
    struct sum_action *items;
    size_t count, cap;
};

static bool adds_wrongly; /* a core that does not decide as it did */

static void image_state(struct tf_image *image, void **core)
{
    if (tf_image_is_reading(image))
        *core = tf_calloc(1, sizeof(struct sum));
    struct sum *sum = *core;
    tf_image_open(image, sum);
    tf_image_number(image, &sum->total);
    tf_image_string(image, &sum->ballast);
    tf_image_close(image);
}

static void image_event(struct tf_image *image, void *event)
{
    struct sum_event *e = event;
    tf_image_number(image, &e->kind);
    tf_image_number(image, &e->add);
    tf_image_string(image, &e->note);
}

static void image_action(struct tf_image *image, void *action)
{
    struct sum_action *a = action;
    tf_image_number(image, &a->kind);
    tf_image_number(image, &a->total);
}

static void destroy(void *core)
{
    struct sum *sum = core;
    free(sum ? sum->ballast : NULL);
    free(sum);
}

static void event_release(void *event)
{
    free(((struct sum_event *)event)->note);
}

static void actions_release(void *actions)
{
    struct sum_actions *list = actions;
    tf_vec_release(list);
}

static void step(void *core, struct tf_now now, void *event, void *actions)
{
    struct sum *sum = core;
    struct sum_event *e = event;
    struct sum_actions *list = actions;
    (void)now;
    sum->total += e->add + (adds_wrongly && sum->total > 50);
    tf_vec_push(list, (struct sum_action){.kind = 1, .total = sum->total});
    event_release(event);
}

static int event_kind(const void *event)
{
    return ((const struct sum_event *)event)->kind;
}

static int action_kind(const void *action)
{
    return ((const struct sum_action *)action)->kind;
}

static const char *name(int kind)
{
    return kind == 1 ? "add" : "?";
}

static const char *no_text(const void *action)
{
    (void)action;
    return NULL;
}

static const struct tf_core_ops ops = {
    .name = "sum",
    .event_size = sizeof(struct sum_event),
    .actions_size = sizeof(struct sum_actions),
    .action_size = sizeof(struct sum_action),
    .image_state = image_state,
    .image_event = image_event,
    .image_action = image_action,
    .destroy = destroy,
    .event_release = event_release,
    .actions_release = actions_release,
    .step = step,
    .event_kind = event_kind,
    .action_kind = action_kind,
    .event_name = name,
    .action_name = name,
    .action_text = no_text,
};
static const struct tf_core_ops *const cores[] = {&ops, NULL};

/* ---- folders ---- */

static void remove_folder(const char *folder)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        TF_AUTO_FREE char *path = tf_asprintf("%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.')
            unlink(path);
    }
    if (dir)
        closedir(dir);
    rmdir(folder);
}

static char *path_of(const char *folder, int number)
{
    return tf_asprintf("%s/t-%012d.events", folder, number);
}

static bool is_there(const char *folder, int number)
{
    TF_AUTO_FREE char *path = path_of(folder, number);
    return access(path, F_OK) == 0;
}

/* Replays file `number`; its core goes on where replay.ends says. */
static int replay(const char *folder, int number, struct tf_replay *result)
{
    TF_AUTO_FREE char *path = path_of(folder, number);
    TF_AUTO_BUF bytes = TF_BUF_INIT;
    char part[4096];
    size_t n;
    struct tf_error err = TF_ERROR_INIT;
    FILE *file = fopen(path, "rb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    while ((n = fread(part, 1, sizeof part, file)) > 0)
        tf_buf_add(&bytes, part, n);
    fclose(file);
    *result = (struct tf_replay){0};
    int failed = tf_replay_file((struct tf_bytes){bytes.data, bytes.len}, cores, result, &err);
    if (failed)
        printf("\n    %s: %s\n", path, err.text);
    return failed;
}

/* ---- recording ---- */

static struct tf_recorder *recorder_in(const char *folder, int32_t files)
{
    struct tf_recorder *recorder = NULL;
    struct tf_error err = TF_ERROR_INIT;
    const struct tf_eventlog_config config = {.folder = (char *)(uintptr_t)folder, .files = files};
    CU_ASSERT_EQUAL(tf_recorder_create(&config, &ops, "t", &recorder, &err), 0);
    return recorder;
}

static void give(struct tf_recorder *recorder, struct sum *sum, int64_t add)
{
    struct sum_event event = {.kind = 1, .add = add, .note = tf_strdup("a note that takes room in the file")};
    struct sum_actions actions = {0};
    struct tf_now now = {{add}, {1000 + add}};
    tf_recorder_event(recorder, now, &event);
    step(sum, now, &event, &actions);
    tf_recorder_actions(recorder, sum, &actions);
    actions_release(&actions);
}

static void test_off_is_nothing(void)
{
    const struct tf_eventlog_config off = {0};
    struct sum *sum = tf_calloc(1, sizeof *sum);
    struct tf_recorder *recorder = (void *)1;
    CU_ASSERT_EQUAL(tf_recorder_create(&off, &ops, "t", &recorder, NULL), 0);
    CU_ASSERT_PTR_NULL(recorder);
    tf_recorder_begin(recorder, sum);
    give(recorder, sum, 1);
    tf_recorder_end(recorder);
    CU_ASSERT_FALSE(tf_recorder_stopped(recorder));
    tf_recorder_destroy(recorder);
    destroy(sum);
}

static void test_files_follow_each_other(void)
{
    char folder[] = "/tmp/tf-recorder-XXXXXX";
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    struct tf_recorder *recorder = recorder_in(folder, 3);
    struct sum *sum = tf_calloc(1, sizeof *sum);
    sum->ballast = tf_asprintf("%1000d", 1); /* a file holds about as much of events */
    tf_recorder_begin(recorder, sum);
    for (int i = 0; i < 200; i++)
        give(recorder, sum, i);
    tf_recorder_end(recorder);
    tf_recorder_destroy(recorder);
    int last = 0;
    for (int i = 1; i < 100; i++)
        last = is_there(folder, i) ? i : last;
    CU_ASSERT(last >= 8 && last <= 20);
    CU_ASSERT(!is_there(folder, 1) && !is_there(folder, last - 3) && is_there(folder, last - 2));
    struct tf_replay before = {0}, now;
    for (int i = last - 2; i <= last; i++) {
        CU_ASSERT_EQUAL(replay(folder, i, &now), 0);
        CU_ASSERT(now.header.continues && now.header.number == (uint64_t)i && !now.torn);
        CU_ASSERT_EQUAL(now.ended, i == last);
        CU_ASSERT(i == last - 2 || before.ends == now.begins);
        CU_ASSERT_EQUAL(now.difference.len, 0);
        tf_replay_release(&before);
        before = now;
    }
    CU_ASSERT_EQUAL(before.last.mono.ms, 199);
    tf_replay_release(&before);
    recorder = recorder_in(folder, 3); /* numbers go on */
    tf_recorder_begin(recorder, sum);
    CU_ASSERT(is_there(folder, last + 1) && !is_there(folder, last - 2));
    tf_recorder_destroy(recorder);
    destroy(sum);
    remove_folder(folder);
}

/* Opens a recorder there: 0 if it may, 1 if it is told to take a folder of its own. */
static int another_process(const struct tf_eventlog_config *config, const char *name_of_it)
{
    int status = 0;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        struct tf_recorder *other = NULL;
        struct tf_error err = TF_ERROR_INIT;
        int failed = tf_recorder_create(config, &ops, name_of_it, &other, &err);
        tf_recorder_destroy(other);
        _exit(!failed ? 0 : err.code == TF_ERR_CONFLICT && strstr(err.text, "a folder of its own") ? 1 : 2);
    }
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_files_are_the_owners_alone(void)
{
    char folder[] = "/tmp/tf-recorder-XXXXXX";
    struct stat st;
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    TF_AUTO_FREE char *inner = tf_asprintf("%s/logs", folder);
    struct sum *sum = tf_calloc(1, sizeof *sum);
    struct tf_recorder *recorder = recorder_in(inner, 3);
    tf_recorder_begin(recorder, sum);
    TF_AUTO_FREE char *path = path_of(inner, 1);
    CU_ASSERT(stat(inner, &st) == 0 && (st.st_mode & 0777) == 0700);
    CU_ASSERT(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600);
    const struct tf_eventlog_config config = {.folder = inner, .files = 3};
    CU_ASSERT(another_process(&config, "t") == 1);
    CU_ASSERT(another_process(&config, "u") == 0); /* of another name */
    tf_recorder_destroy(recorder);
    CU_ASSERT(another_process(&config, "t") == 0);
    destroy(sum);
    remove_folder(inner);
    remove_folder(folder);
}

static void test_a_folder_that_cannot_be(void)
{
    struct tf_recorder *recorder = NULL;
    struct tf_error err = TF_ERROR_INIT;
    const struct tf_eventlog_config config = {.folder = (char *)(uintptr_t) "/proc/none/logs", .files = 3};
    CU_ASSERT_EQUAL(tf_recorder_create(&config, &ops, "t", &recorder, &err), -1);
    CU_ASSERT(err.code == TF_ERR_IO && strstr(err.text, "/proc/none/logs"));
}

/* A disk that is full: what was written stays good, the core goes on, and it is said once. */
static void test_a_full_disk_stops_it(void)
{
    char folder[] = "/tmp/tf-recorder-XXXXXX";
    struct rlimit before, small = {3000, 3000};
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    struct tf_recorder *recorder = recorder_in(folder, 3);
    struct sum *sum = tf_calloc(1, sizeof *sum);
    sum->ballast = tf_asprintf("%2000d", 1);
    getrlimit(RLIMIT_FSIZE, &before);
    small.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &small), 0);
    tf_recorder_begin(recorder, sum);
    int given = 0;
    while (!tf_recorder_stopped(recorder) && given < 100)
        give(recorder, sum, given++);
    for (int i = 0; i < 5; i++)
        give(recorder, sum, i);
    tf_recorder_end(recorder);
    tf_recorder_begin(recorder, sum); /* not again in this life */
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &before), 0);
    CU_ASSERT(given > 5 && given < 100);
    CU_ASSERT_FALSE(is_there(folder, 2));
    struct tf_replay result;
    CU_ASSERT_EQUAL(replay(folder, 1, &result), 0);
    CU_ASSERT(result.torn && result.difference.len == 0 && result.steps == (uint64_t)given - 1);
    tf_replay_release(&result);
    tf_recorder_destroy(recorder);
    destroy(sum);
    remove_folder(folder);
}

static void test_another_decision_is_found(void)
{
    char folder[] = "/tmp/tf-recorder-XXXXXX";
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    struct tf_recorder *recorder = recorder_in(folder, 3);
    struct sum *sum = tf_calloc(1, sizeof *sum);
    sum->ballast = tf_asprintf("%4000d", 1);
    tf_recorder_begin(recorder, sum);
    for (int i = 0; i < 20; i++)
        give(recorder, sum, 10);
    tf_recorder_end(recorder);
    struct tf_replay result;
    adds_wrongly = true;
    CU_ASSERT_EQUAL(replay(folder, 1, &result), 0);
    adds_wrongly = false;
    CU_ASSERT_EQUAL(result.steps, 7);
    CU_ASSERT_PTR_NOT_NULL(strstr(tf_buf_text(&result.difference), "step 7 (byte "));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(tf_buf_text(&result.difference), "after the event \"add\" action 1 differs"));
    tf_replay_release(&result);
    tf_recorder_destroy(recorder);
    destroy(sum);
    remove_folder(folder);
}

static const struct suite_test tests[] = {
    {"off is nothing", test_off_is_nothing},
    {"files follow each other", test_files_follow_each_other},
    {"files are the owner's alone", test_files_are_the_owners_alone},
    {"a folder that cannot be", test_a_folder_that_cannot_be},
    {"a full disk stops it", test_a_full_disk_stops_it},
    {"another decision is found", test_another_decision_is_found},
};

int main(void)
{
    return suite_run("recorder", tests, TF_ARRAY_LEN(tests));
}
