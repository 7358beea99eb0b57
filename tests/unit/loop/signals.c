/* SPDX-License-Identifier: Apache-2.0 */
#include "common/loop/signals.h"
#include "common/base/cleanup.h"
#include "tests/support/suite.h"

#include <sys/wait.h>
#include <unistd.h>

static struct tf_loop *loop;
static int seen[3];
static int count;

static void on_signal(struct tf_signals *signals, int signo)
{
    if (count < 3)
        seen[count] = signo;
    if (++count == 2) {
        tf_signals_stop(signals);
        tf_loop_stop(loop);
    }
}

static void test_signals_are_calls_in_the_loop(void)
{
    tf_signals_block();
    loop = tf_loop_create(NULL);
    struct tf_signals signals = {0};
    struct tf_error err = TF_ERROR_INIT;
    CU_ASSERT_EQUAL_FATAL(tf_signals_start(loop, &signals, on_signal, &err), 0);
    CU_ASSERT_EQUAL(raise(SIGPIPE), 0); /* else the test ends here */
    CU_ASSERT_EQUAL(kill(getpid(), SIGHUP), 0);
    CU_ASSERT_EQUAL(kill(getpid(), SIGTERM), 0);
    tf_loop_run(loop);
    CU_ASSERT_EQUAL(count, 2);
    CU_ASSERT_TRUE((seen[0] == SIGHUP && seen[1] == SIGTERM) || (seen[0] == SIGTERM && seen[1] == SIGHUP));
    tf_signals_stop(&signals);
    tf_loop_destroy(loop);
}

static void on_child(struct tf_signals *signals, int signo)
{
    (void)signals;
    CU_ASSERT_EQUAL(signo, SIGCHLD);
    int status = 0;
    CU_ASSERT_TRUE(waitpid(-1, &status, WNOHANG) > 0);
    CU_ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    tf_loop_stop(loop);
}

static void test_end_of_a_child(void)
{
    tf_signals_block();
    loop = tf_loop_create(NULL);
    struct tf_signals signals = {0};
    CU_ASSERT_EQUAL_FATAL(tf_signals_start(loop, &signals, on_child, NULL), 0);
    pid_t pid = fork();
    CU_ASSERT_TRUE_FATAL(pid >= 0);
    if (pid == 0)
        _exit(7);
    tf_loop_run(loop);
    tf_signals_stop(&signals);
    tf_loop_destroy(loop);
}

static const struct suite_test tests[] = {
    {"signals are calls in the loop", test_signals_are_calls_in_the_loop},
    {"end of a child", test_end_of_a_child},
};

int main(void)
{
    return suite_run("signals", tests, TF_ARRAY_LEN(tests));
}
