/* SPDX-License-Identifier: Apache-2.0 */
/* Who may call what: every method of the API has its roles, and names that only look like a role have none.
 */
#include "federation/daemon/roles.h"

#include "common/base/cleanup.h"
#include "common/wire/api.h"
#include "common/wire/attach.h"
#include "tests/support/suite.h"

#include <string.h>

static void test_names(void)
{
    static const struct {
        const char *identity;
        enum role role;
        const char *user;
    } rows[] = {
        {"admin", ROLE_ADMIN, "admin"},
        {"admin/ann", ROLE_ADMIN, "ann"},
        {"viewer", ROLE_VIEWER, "viewer"},
        {"viewer/b/c", ROLE_VIEWER, "b/c"},
        {"subcluster/bj-a", ROLE_SUBCLUSTER, "bj-a"},
        {"", ROLE_NONE, ""},
        {"admin/", ROLE_NONE, ""},
        {"administrator", ROLE_NONE, "administrator"},
        {"Admin", ROLE_NONE, "Admin"},
        {"viewer2", ROLE_NONE, "viewer2"},
        {"subcluster/", ROLE_NONE, ""},
        {"subcluster/No", ROLE_NONE, "No"},
        {"subcluster/a/b", ROLE_NONE, "a/b"},
        {"subcluster", ROLE_NONE, "subcluster"},
        {"fedd", ROLE_NONE, "fedd"},
    };
    for (size_t i = 0; i < TF_ARRAY_LEN(rows); i++) {
        CU_ASSERT_EQUAL(role_of(rows[i].identity), rows[i].role);
        CU_ASSERT_STRING_EQUAL(role_user(rows[i].identity), rows[i].user);
    }
    CU_ASSERT_PTR_NULL(role_user(NULL));
}

static void test_subclusters(void)
{
    CU_ASSERT_TRUE(role_is_subcluster("subcluster/a", "a"));
    CU_ASSERT_FALSE(role_is_subcluster("subcluster/a", "b"));
    CU_ASSERT_FALSE(role_is_subcluster("subcluster/a", "ab"));
    CU_ASSERT_FALSE(role_is_subcluster("admin", "admin"));
    CU_ASSERT_TRUE(role_is_subcluster(NULL, "a")); /* without TLS */
}

/* One that is added to the API and not to the table is closed to everybody: this is where that is noticed. */
static void test_methods(void)
{
    for (int m = TF_METHOD_NONE + 1; m < TF_METHOD_COUNT; m++) {
        const char *path = tf_method_path((enum tf_method)m);
        unsigned roles = roles_of_method(path);
        if (!(roles & ROLE_ADMIN))
            printf("\n    %s has no role in federation/daemon/roles.c", path);
        CU_ASSERT_TRUE(roles & ROLE_ADMIN);
    }
    CU_ASSERT_EQUAL(roles_of_method(TF_WIRE_METHOD_ATTACH), ROLE_SUBCLUSTER);
    CU_ASSERT_EQUAL(roles_of_method(TF_WIRE_METHOD_PUSH_LOGS), ROLE_SUBCLUSTER);
    CU_ASSERT_EQUAL(roles_of_method("/tidefed.v1.Federation/Nonsense"), ROLE_NONE);
}

static void test_refusals(void)
{
    static const struct {
        const char *identity;
        enum tf_method method;
        const char *says; /* NULL: allowed */
    } rows[] = {
        {"admin/ann", TF_METHOD_DELETE, NULL},
        {"viewer", TF_METHOD_LIST, NULL},
        {"subcluster/a", TF_METHOD_STATUS, NULL},
        {"viewer/bob", TF_METHOD_DELETE,
         "Delete is not for viewers, and the certificate is of \"viewer/bob\": use one of an admin"},
        {"subcluster/a", TF_METHOD_SUBMIT,
         "Submit is for clients, and the certificate is of \"subcluster/a\""},
        {"somebody", TF_METHOD_LIST, "is no role here: the common name has to be admin, viewer"},
        {"", TF_METHOD_LIST, "is no role here"},
    };
    for (size_t i = 0; i < TF_ARRAY_LEN(rows); i++) {
        TF_AUTO_BUF details = TF_BUF_INIT;
        struct tf_error err = TF_ERROR_INIT;
        struct tf_error_detail detail = {0};
        int refused = roles_allow(NULL, rows[i].identity, tf_method_path(rows[i].method), &details, &err);
        CU_ASSERT_EQUAL(refused, rows[i].says ? -1 : 0);
        if (!rows[i].says)
            continue;
        CU_ASSERT_EQUAL(err.code, TF_ERR_REFUSED);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, rows[i].says));
        CU_ASSERT_EQUAL(tf_wire_error_detail_unpack(details.data, details.len, &detail, NULL), 0);
        CU_ASSERT_EQUAL(detail.code, TF_ERR_REFUSED);
        tf_error_detail_release(&detail);
    }
}

static const struct suite_test tests[] = {{"names", test_names},
                                          {"subclusters", test_subclusters},
                                          {"methods", test_methods},
                                          {"refusals", test_refusals}};

int main(void)
{
    return suite_run("roles", tests, TF_ARRAY_LEN(tests));
}
