/* SPDX-License-Identifier: Apache-2.0 */
/* Which addresses are well-formed, which are local, and what is said about the others. (Those in use:
 * unit/rpc.) */
#include "common/net/address.h"

#include "common/base/cleanup.h"
#include "tests/support/suite.h"

#include <string.h>
#include <unistd.h>

static void test_forms(void)
{
    static const struct {
        const char *address, *says; /* NULL: right */
    } rows[] = {
        {"127.0.0.1:7700", NULL},
        {"[::1]:7700", NULL},
        {"host.example:1", NULL},
        {"unix:/run/x", NULL},
        {"unix:", "Unix socket has 1 to"},
        {"127.0.0.1", "no port from 0 to 65535"},
        {"127.0.0.1:65536", "no port from 0 to 65535"},
        {"127.0.0.1:http", "no port from 0 to 65535"},
        {":7700", "no host before the port"},
        {"::1:7700", "no host before the port"},
        {"", "no port"},
    };
    for (size_t i = 0; i < TF_ARRAY_LEN(rows); i++) {
        struct tf_error err = TF_ERROR_INIT;
        CU_ASSERT_EQUAL(tf_address_check(rows[i].address, &err), rows[i].says ? -1 : 0);
        CU_ASSERT_TRUE(!rows[i].says || strstr(err.text, rows[i].says));
    }
}

static void test_local(void)
{
    static const char *const local[] = {"127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "localhost:1", "unix:/x"};
    static const char *const others[] = {"0.0.0.0:1", "10.0.0.1:1",    "[::]:1", "127.0.0.1.example.com:1",
                                         "host:1",    "localhost.x:1", "",       "127.0.0.1"};
    for (size_t i = 0; i < TF_ARRAY_LEN(local); i++)
        CU_ASSERT_TRUE(tf_address_is_local(local[i]));
    for (size_t i = 0; i < TF_ARRAY_LEN(others); i++)
        CU_ASSERT_FALSE(tf_address_is_local(others[i]));
}

static void test_listen(void)
{
    struct tf_error err = TF_ERROR_INIT;
    int fd = tf_address_listen("127.0.0.1:0", &err);
    CU_ASSERT_TRUE(fd >= 0);
    close(fd);
    CU_ASSERT_EQUAL(tf_address_listen("192.0.2.1:0", &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "no interface of this machine has that address"));
    CU_ASSERT_EQUAL(tf_address_listen("nonsense", &err), -1);
    CU_ASSERT_EQUAL(err.code, TF_ERR_INVALID);
}

static const struct suite_test tests[] = {
    {"forms", test_forms}, {"local", test_local}, {"listen", test_listen}};

int main(void)
{
    return suite_run("address", tests, TF_ARRAY_LEN(tests));
}
