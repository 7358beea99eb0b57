/* SPDX-License-Identifier: Apache-2.0 */
#include "common/log/log.h"
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "common/log/line.h"
#include "tests/support/suite.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- one line ---- */

static char got[TF_LOG_LINE + 1];

__attribute__((format(printf, 2, 3))) static const char *body(enum tf_log_format format, const char *fmt, ...)
{
    static struct tf_log_line line;
    va_list args;
    va_start(args, fmt);
    tf_log_line_body(&line, format, TF_LOG_INFO, fmt, args);
    va_end(args);
    memcpy(got, line.text, line.len);
    got[line.len] = 0;
    return got;
}

static void test_text(void)
{
    CU_ASSERT_STRING_EQUAL(body(TF_LOG_TEXT, "ready"), "INFO  ready\n");
    CU_ASSERT_STRING_EQUAL(body(TF_LOG_TEXT, "job placed job=%s/%s size=%d", "search", "rank", 4),
                           "INFO  job placed job=search/rank size=4\n");
    CU_ASSERT_STRING_EQUAL(body(TF_LOG_TEXT, "cannot bind %s error=%s", "1.2.3.4:5", "in use, \"busy\"\n"),
                           "INFO  cannot bind 1.2.3.4:5 error=\"in use, \\\"busy\\\"\\n\"\n");
    CU_ASSERT_STRING_EQUAL(body(TF_LOG_TEXT, "x a=%s b=%s c=%s", "", "k=v", "\x01"),
                           "INFO  x a=\"\" b=\"k=v\" c=\"\\u0001\"\n");
    CU_ASSERT_STRING_EQUAL(body(TF_LOG_TEXT, "80%% full"), "INFO  80% full\n");
    CU_ASSERT_STRING_EQUAL(body(TF_LOG_TEXT, "name %s", "forged\nINFO  line"),
                           "INFO  name forged\\nINFO  line\n");
}

static void test_json(void)
{
    const char *volatile no_string = NULL;
    CU_ASSERT_STRING_EQUAL(
        body(TF_LOG_JSON, "job placed job=%s size=%d", "a \"b\"", -4),
        ",\"level\":\"info\",\"message\":\"job placed\",\"job\":\"a \\\"b\\\"\",\"size\":-4}\n");
    CU_ASSERT_STRING_EQUAL(body(TF_LOG_JSON, "m a=%s b=%05d c=%.1f d=%x e=%d/%d", "12", 7, 1.25, 255u, 1, 2),
                           ",\"level\":\"info\",\"message\":\"m\",\"a\":\"12\",\"b\":\"00007\",\"c\":1.2,"
                           "\"d\":\"ff\",\"e\":\"1/2\"}\n");
    CU_ASSERT_STRING_EQUAL(body(TF_LOG_JSON, "m a=%f b=%s", HUGE_VAL, no_string),
                           ",\"level\":\"info\",\"message\":\"m\",\"a\":\"inf\",\"b\":\"(null)\"}\n");
}

static void test_conversions(void)
{
    CU_ASSERT_STRING_EQUAL(
        body(TF_LOG_TEXT, "m a=%zu b=%" PRIu64 " c=%" PRId64 " d=%lld e=%hhu f=%c g=%.*s h=%-4d|", (size_t)7,
             UINT64_MAX, INT64_MIN, -1LL, (unsigned char)200, 'z', 2, "abc", 5),
        "INFO  m a=7 b=18446744073709551615 c=-9223372036854775808 d=-1 e=200 f=z g=ab h=\"5   |\"\n");
}

static void test_bad_bytes_and_long_values(void)
{
    CU_ASSERT_STRING_EQUAL(body(TF_LOG_TEXT, "m a=%s", "x\xff\xc3y"),
                           "INFO  m a=\"x\xef\xbf\xbd\xef\xbf\xbdy\"\n");
    static char big[3 * TF_LOG_LINE];
    for (size_t i = 0; i + 1 < sizeof big; i++)
        big[i] = "\xe2\x82\xac"[i % 3];
    for (int format = TF_LOG_TEXT; format <= TF_LOG_JSON; format++) {
        body((enum tf_log_format)format, "m a=%s b=%s c=%s", big, big, "end");
        size_t len = strlen(got);
        CU_ASSERT_TRUE(len <= TF_LOG_LINE);
        CU_ASSERT_TRUE(tf_utf8_valid(got, len));
        CU_ASSERT_PTR_NOT_NULL(strstr(got, "\xe2\x80\xa6"));
        CU_ASSERT_EQUAL(got[len - 1], '\n');
        if (format == TF_LOG_JSON)
            CU_ASSERT_STRING_EQUAL(got + len - 3, "\"}\n");
    }
    body(TF_LOG_TEXT, "%s", big);
    CU_ASSERT_TRUE(tf_utf8_valid(got, strlen(got)));
}

/* ---- the file ---- */

static char folder[64];
static char path[128];

static void open_log(enum tf_log_format format, enum tf_log_level level)
{
    snprintf(folder, sizeof folder, "/tmp/tidefed-log-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/log", folder);
    struct tf_error err = TF_ERROR_INIT;
    CU_ASSERT_EQUAL_FATAL(
        tf_log_open(&(struct tf_log_options){.level = level, .format = format, .path = path}, &err), 0);
}

static void read_log(struct tf_buf *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    char chunk[4096];
    for (ssize_t n; (n = read(fd, chunk, sizeof chunk)) > 0;)
        tf_buf_add(out, chunk, (size_t)n);
    close(fd);
}

static void close_log(void)
{
    tf_log_close();
    unlink(path);
    rmdir(folder);
}

static size_t count_of(const char *text, const char *part)
{
    size_t n = 0;
    for (; (text = strstr(text, part)); text++)
        n++;
    return n;
}

static void test_levels_and_times(void)
{
    open_log(TF_LOG_TEXT, TF_LOG_WARN);
    tf_log_info("dropped");
    tf_log_warn("kept n=%d", 1);
    TF_AUTO_BUF text = TF_BUF_INIT;
    read_log(&text);
    close_log();
    int y, mo, d, h, mi, s, ms;
    char rest[64] = "";
    CU_ASSERT_EQUAL(sscanf(tf_buf_text(&text), "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ %63[^\n]", &y, &mo, &d, &h, &mi,
                           &s, &ms, rest),
                    8);
    CU_ASSERT_STRING_EQUAL(rest, "WARN  kept n=1");
    CU_ASSERT_EQUAL(count_of(tf_buf_text(&text), "\n"), 1);
}

static void test_repeated_lines_are_counted(void)
{
    open_log(TF_LOG_TEXT, TF_LOG_INFO);
    for (int i = 0; i < 1000; i++)
        tf_log_warn("cannot reach the store error=%s", "refused");
    tf_log_info("other");
    tf_log_info("other");
    TF_AUTO_BUF text = TF_BUF_INIT;
    tf_log_flush();
    read_log(&text);
    close_log();
    CU_ASSERT_EQUAL(count_of(tf_buf_text(&text), "cannot reach"), 1);
    CU_ASSERT_EQUAL(count_of(tf_buf_text(&text), "last message repeated 999 times"), 1);
    CU_ASSERT_EQUAL(count_of(tf_buf_text(&text), "last message repeated 1 times"), 1);
    CU_ASSERT_EQUAL(count_of(tf_buf_text(&text), "\n"), 4);
}

static void test_reopen_after_rotation(void)
{
    open_log(TF_LOG_JSON, TF_LOG_INFO);
    tf_log_info("old");
    char moved[160];
    snprintf(moved, sizeof moved, "%s.1", path);
    CU_ASSERT_EQUAL(rename(path, moved), 0);
    CU_ASSERT_EQUAL(tf_log_reopen(NULL), 0);
    tf_log_info("new");
    TF_AUTO_BUF text = TF_BUF_INIT;
    read_log(&text);
    unlink(moved);
    close_log();
    CU_ASSERT_EQUAL(count_of(tf_buf_text(&text), "\"message\":\"new\""), 1);
    CU_ASSERT_EQUAL(count_of(tf_buf_text(&text), "old"), 0);
    CU_ASSERT_TRUE(tf_starts_with(tf_buf_text(&text), "{\"time\":\"20"));
}

static void test_bad_path_and_names(void)
{
    struct tf_error err = TF_ERROR_INIT;
    CU_ASSERT_EQUAL(tf_log_open(&(struct tf_log_options){.path = "/nonexistent/log"}, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "/nonexistent/log"));
    enum tf_log_level level = TF_LOG_DEBUG;
    CU_ASSERT_EQUAL(tf_log_level_parse("error", &level, &err), 0);
    CU_ASSERT_EQUAL(level, TF_LOG_ERROR);
    CU_ASSERT_EQUAL(tf_log_level_parse("loud", &level, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "unknown log level \"loud\": use one of debug, info, warn, error");
    enum tf_log_format format = TF_LOG_TEXT;
    CU_ASSERT_EQUAL(tf_log_format_parse("json", &format, &err), 0);
    CU_ASSERT_EQUAL(format, TF_LOG_JSON);
}

enum { WRITERS = 4, LINES = 500 };

static void *writer(void *arg)
{
    for (int i = 0; i < LINES; i++)
        tf_log_info("line writer=%d n=%d", *(int *)arg, i);
    return NULL;
}

static void test_threads_do_not_mix_lines(void)
{
    open_log(TF_LOG_TEXT, TF_LOG_INFO);
    pthread_t threads[WRITERS];
    int numbers[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        numbers[i] = i;
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, writer, &numbers[i]), 0);
    }
    for (int i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    TF_AUTO_BUF text = TF_BUF_INIT;
    read_log(&text);
    close_log();
    int next[WRITERS] = {0};
    char *save = NULL;
    for (char *line = strtok_r(text.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        int w = -1, n = -1;
        const char *rest = strstr(line, "INFO  ");
        CU_ASSERT_TRUE_FATAL(rest && sscanf(rest, "INFO  line writer=%d n=%d", &w, &n) == 2);
        CU_ASSERT_TRUE_FATAL(w >= 0 && w < WRITERS);
        CU_ASSERT_EQUAL(n, next[w]);
        next[w]++;
    }
    for (int i = 0; i < WRITERS; i++)
        CU_ASSERT_EQUAL(next[i], LINES);
}

static const struct suite_test tests[] = {
    {"text", test_text},
    {"json", test_json},
    {"conversions", test_conversions},
    {"bad bytes and long values", test_bad_bytes_and_long_values},
    {"levels and times", test_levels_and_times},
    {"repeated lines are counted", test_repeated_lines_are_counted},
    {"reopen after rotation", test_reopen_after_rotation},
    {"bad path and names", test_bad_path_and_names},
    {"threads do not mix lines", test_threads_do_not_mix_lines},
};

int main(void)
{
    return suite_run("log", tests, TF_ARRAY_LEN(tests));
}
