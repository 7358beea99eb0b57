/* SPDX-License-Identifier: Apache-2.0 */
#include "common/loop/loop.h"
#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "common/base/rng.h"
#include "tests/support/suite.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PATIENCE_MS = 20000 /* how long a condition may take before the test fails */ };

static struct tf_loop *loop;
static char trace[64];

static void note(char c)
{
    size_t used = strlen(trace);
    if (used + 1 < sizeof trace) {
        trace[used] = c;
        trace[used + 1] = 0;
    }
}

static void begin(void)
{
    struct tf_error err = TF_ERROR_INIT;
    loop = tf_loop_create(&err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(loop);
    trace[0] = 0;
}

static struct tf_mono after(int64_t ms)
{
    return (struct tf_mono){tf_loop_now(loop).mono.ms + ms};
}

/* ---- timers ---- */

struct named_timer {
    struct tf_timer timer;
    char name;
    struct named_timer *cancels;
};

static void on_timer(struct tf_timer *timer)
{
    struct named_timer *t = TF_CONTAINER_OF(timer, struct named_timer, timer);
    CU_ASSERT_FALSE(tf_timer_started(timer));
    CU_ASSERT_TRUE(tf_loop_now(loop).mono.ms >= timer->due.ms);
    note(t->name);
    if (t->cancels)
        tf_timer_cancel(loop, &t->cancels->timer);
}

static void turn_until(const char *wanted)
{
    int64_t end = tf_clock_read().mono.ms + PATIENCE_MS;
    while (strcmp(trace, wanted) != 0 && strlen(trace) < strlen(wanted) && tf_clock_read().mono.ms < end)
        tf_loop_turn(loop, PATIENCE_MS);
    CU_ASSERT_STRING_EQUAL(trace, wanted);
}

static void test_timers_run_in_order_of_due_then_of_start(void)
{
    begin();
    struct named_timer a = {.name = 'a'}, b = {.name = 'b'}, c = {.name = 'c'}, d = {.name = 'd'};
    tf_timer_start(loop, &d.timer, after(5), on_timer);
    tf_timer_start(loop, &b.timer, after(3), on_timer);
    tf_timer_start(loop, &c.timer, after(3), on_timer);
    tf_timer_start(loop, &a.timer, after(-7), on_timer);
    turn_until("abcd");
    tf_loop_destroy(loop);
}

static void test_timer_cancelled_or_moved(void)
{
    begin();
    struct named_timer a = {.name = 'a'}, b = {.name = 'b'}, c = {.name = 'c'};
    a.cancels = &b;
    tf_timer_start(loop, &a.timer, after(1), on_timer);
    tf_timer_start(loop, &b.timer, after(1), on_timer);
    tf_timer_start(loop, &c.timer, after(1), on_timer);
    tf_timer_start(loop, &c.timer, after(4), on_timer);
    struct named_timer never = {.name = 'n'};
    tf_timer_start(loop, &never.timer, after(2), on_timer);
    tf_timer_start(loop, &never.timer, TF_NEVER, on_timer);
    CU_ASSERT_FALSE(tf_timer_started(&never.timer));
    turn_until("ac");
    tf_timer_cancel(loop, &b.timer);
    tf_loop_destroy(loop);
}

static void on_greedy(struct tf_timer *timer)
{
    note('g');
    tf_timer_start(loop, timer, (struct tf_mono){0}, on_greedy);
}

static void test_timer_that_restarts_itself_starves_nobody(void)
{
    begin();
    struct tf_timer greedy = {0};
    struct named_timer a = {.name = 'a'};
    tf_timer_start(loop, &greedy, after(0), on_greedy);
    tf_timer_start(loop, &a.timer, after(0), on_timer);
    tf_loop_turn(loop, 0);
    CU_ASSERT_STRING_EQUAL(trace, "ga");
    tf_loop_turn(loop, PATIENCE_MS);
    CU_ASSERT_STRING_EQUAL(trace, "gag");
    tf_loop_destroy(loop);
}

struct checked_timer {
    struct tf_timer timer;
    int64_t *last;
    size_t *ran;
};

static void on_checked(struct tf_timer *timer)
{
    struct checked_timer *t = TF_CONTAINER_OF(timer, struct checked_timer, timer);
    CU_ASSERT_TRUE(timer->due.ms >= *t->last);
    *t->last = timer->due.ms;
    ++*t->ran;
}

/* Starts, moves and cancels at random; those that remain run in order and once. */
static void test_random_timers(void)
{
    enum { COUNT = 500 };
    begin();
    struct tf_rng rng;
    tf_rng_init(&rng, suite_seed(11));
    struct checked_timer *timers = tf_calloc(COUNT, sizeof *timers);
    int64_t last = 0;
    size_t ran = 0, wanted = 0;
    for (size_t step = 0; step < 5 * COUNT; step++) {
        struct checked_timer *t = &timers[tf_rng_below(&rng, COUNT)];
        t->last = &last;
        t->ran = &ran;
        if (tf_rng_below(&rng, 3) == 0)
            tf_timer_cancel(loop, &t->timer);
        else
            tf_timer_start(loop, &t->timer, after(tf_rng_range(&rng, 0, 30)), on_checked);
    }
    for (size_t i = 0; i < COUNT; i++)
        wanted += tf_timer_started(&timers[i].timer);
    int64_t end = tf_clock_read().mono.ms + PATIENCE_MS;
    while (ran < wanted && tf_clock_read().mono.ms < end)
        tf_loop_turn(loop, PATIENCE_MS);
    CU_ASSERT_EQUAL(ran, wanted);
    free(timers);
    tf_loop_destroy(loop);
}

/* ---- inbox ---- */

enum { POSTERS = 4, POSTS = 20000 };

struct post {
    struct tf_inbox_item item;
    int poster, number;
};

static int next_of[POSTERS];
static int received;

static void on_post(struct tf_inbox_item *item)
{
    struct post *post = TF_CONTAINER_OF(item, struct post, item);
    CU_ASSERT_EQUAL(post->number, next_of[post->poster]);
    next_of[post->poster]++;
    free(post);
    if (++received == POSTERS * POSTS)
        tf_loop_stop(loop);
}

static void *poster(void *arg)
{
    for (int i = 0; i < POSTS; i++) {
        struct post *post = tf_calloc(1, sizeof *post);
        *post = (struct post){.item.run = on_post, .poster = *(int *)arg, .number = i};
        tf_loop_post(loop, &post->item);
    }
    return NULL;
}

static void test_inbox_from_many_threads_keeps_each_order(void)
{
    begin();
    memset(next_of, 0, sizeof next_of);
    received = 0;
    pthread_t threads[POSTERS];
    int numbers[POSTERS];
    for (int i = 0; i < POSTERS; i++) {
        numbers[i] = i;
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, poster, &numbers[i]), 0);
    }
    tf_loop_run(loop);
    CU_ASSERT_EQUAL(received, POSTERS * POSTS);
    for (int i = 0; i < POSTERS; i++)
        pthread_join(threads[i], NULL);
    tf_loop_destroy(loop);
}

static void test_turn_is_bounded_and_destroy_runs_the_rest(void)
{
    begin();
    received = 0;
    memset(next_of, 0, sizeof next_of);
    poster(&(int){0});
    struct named_timer a = {.name = 'a'};
    tf_timer_start(loop, &a.timer, after(0), on_timer);
    tf_loop_turn(loop, PATIENCE_MS);
    CU_ASSERT_TRUE(received > 0 && received < POSTS);
    CU_ASSERT_STRING_EQUAL(trace, "a");
    tf_loop_destroy(loop);
    CU_ASSERT_EQUAL(received, POSTS);
}

static void *stopper(void *arg)
{
    (void)arg;
    tf_loop_stop(loop);
    return NULL;
}

static void test_stop_from_another_thread_ends_a_waiting_loop(void)
{
    begin();
    pthread_t thread;
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, stopper, NULL), 0);
    tf_loop_run(loop);
    pthread_join(thread, NULL);
    tf_loop_destroy(loop);
}

/* ---- file descriptors ---- */

static struct tf_io ends[2];

static void on_ready(struct tf_io *io, unsigned events)
{
    if (events & TF_IO_READ) {
        char c = '?';
        if (read(io->fd, &c, 1) == 1)
            note(c);
    }
    if (events & TF_IO_WRITE) {
        note('w');
        tf_io_modify(loop, io, TF_IO_READ);
    }
    if (events & TF_IO_HANGUP) {
        note('h');
        tf_io_stop(loop, io);
    }
}

static void test_descriptors_are_reported(void)
{
    begin();
    int fds[2];
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    struct tf_error err = TF_ERROR_INIT;
    memset(ends, 0, sizeof ends);
    CU_ASSERT_EQUAL(tf_io_start(loop, &ends[0], fds[0], TF_IO_READ | TF_IO_WRITE, on_ready, &err), 0);
    turn_until("w");
    tf_loop_turn(loop, 0);
    CU_ASSERT_STRING_EQUAL(trace, "w"); /* no longer asked for */
    CU_ASSERT_EQUAL(write(fds[1], "xy", 2), 2);
    turn_until("wxy");
    CU_ASSERT_EQUAL(shutdown(fds[0], SHUT_RDWR), 0);
    int64_t end = tf_clock_read().mono.ms + PATIENCE_MS;
    while (ends[0].started && tf_clock_read().mono.ms < end)
        tf_loop_turn(loop, PATIENCE_MS);
    CU_ASSERT_STRING_EQUAL(trace, "wxyh");
    close(fds[0]);
    close(fds[1]);
    CU_ASSERT_EQUAL(tf_io_start(loop, &ends[0], -1, TF_IO_READ, on_ready, &err), -1);
    CU_ASSERT_EQUAL(err.code, TF_ERR_IO);
    tf_loop_destroy(loop);
}

static void on_first_stops_both(struct tf_io *io, unsigned events)
{
    (void)io;
    (void)events;
    note('1');
    tf_io_stop(loop, &ends[0]);
    tf_io_stop(loop, &ends[1]);
}

static void test_stopped_descriptor_is_not_called_in_the_same_turn(void)
{
    begin();
    int fds[2];
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    memset(ends, 0, sizeof ends);
    for (int i = 0; i < 2; i++)
        CU_ASSERT_EQUAL(tf_io_start(loop, &ends[i], fds[i], TF_IO_WRITE, on_first_stops_both, NULL), 0);
    tf_loop_turn(loop, PATIENCE_MS);
    tf_loop_turn(loop, 0);
    CU_ASSERT_STRING_EQUAL(trace, "1");
    close(fds[0]);
    close(fds[1]);
    tf_loop_destroy(loop);
}

static const struct suite_test tests[] = {
    {"timers run in order of due, then of start", test_timers_run_in_order_of_due_then_of_start},
    {"timer cancelled or moved", test_timer_cancelled_or_moved},
    {"timer that restarts itself starves nobody", test_timer_that_restarts_itself_starves_nobody},
    {"random timers", test_random_timers},
    {"inbox from many threads keeps each order", test_inbox_from_many_threads_keeps_each_order},
    {"turn is bounded and destroy runs the rest", test_turn_is_bounded_and_destroy_runs_the_rest},
    {"stop from another thread ends a waiting loop", test_stop_from_another_thread_ends_a_waiting_loop},
    {"descriptors are reported", test_descriptors_are_reported},
    {"stopped descriptor is not called in the same turn",
     test_stopped_descriptor_is_not_called_in_the_same_turn},
};

int main(void)
{
    return suite_run("loop", tests, TF_ARRAY_LEN(tests));
}
