/* SPDX-License-Identifier: Apache-2.0 */
#include "common/daemon/turn.h"
#include "common/base/cleanup.h"
#include "common/loop/signals.h"
#include "tests/support/suite.h"

#include <unistd.h>

/* A daemon that is sent signals, one after the other has been taken. */
struct subject {
    struct tf_loop *loop;
    struct tf_timer timer;
    int reloads, stops;
    bool polite; /* its stop comes to an end by itself */
    void (*stopped)(void *arg);
    void *stopped_arg;
};

static void send(int signo)
{
    CU_ASSERT_EQUAL_FATAL(kill(getpid(), signo), 0);
}

static void end(struct tf_timer *timer)
{
    struct subject *subject = TF_CONTAINER_OF(timer, struct subject, timer);
    subject->stopped(subject->stopped_arg);
}

static void stop(void *arg, void (*stopped)(void *), void *stopped_arg)
{
    struct subject *subject = arg;
    subject->stops++;
    subject->stopped = stopped;
    subject->stopped_arg = stopped_arg;
    if (subject->polite)
        tf_timer_start(subject->loop, &subject->timer, (struct tf_mono){0}, end);
    else
        send(SIGINT);
}

static void reload(void *arg)
{
    struct subject *subject = arg;
    subject->reloads++;
    send(SIGTERM);
}

static void turn_until_it_ends(struct subject *subject)
{
    struct tf_error err = TF_ERROR_INIT;
    const struct tf_turn turn = {
        .reload = reload, .stop = stop, .arg = subject, .last_words = "nothing is lost"};
    subject->loop = tf_loop_create(&err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(subject->loop);
    send(SIGHUP); /* waits until the loop turns */
    CU_ASSERT_EQUAL(tf_turn(subject->loop, &turn, &err), 0);
    tf_loop_destroy(subject->loop);
    CU_ASSERT_EQUAL(subject->reloads, 1);
    CU_ASSERT_EQUAL(subject->stops, 1);
}

static void test_it_ends_when_the_daemon_has_let_go(void)
{
    struct subject subject = {.polite = true};
    turn_until_it_ends(&subject);
}

static void test_asked_twice_it_ends_at_once(void)
{
    struct subject subject = {0};
    turn_until_it_ends(&subject);
}

static const struct suite_test tests[] = {
    {"it ends when the daemon has let go", test_it_ends_when_the_daemon_has_let_go},
    {"asked twice it ends at once", test_asked_twice_it_ends_at_once},
};

int main(void)
{
    tf_signals_block();
    return suite_run("turn", tests, TF_ARRAY_LEN(tests));
}
