/* SPDX-License-Identifier: Apache-2.0 */
/* The one table of methods and roles. */
#include "federation/daemon/roles.h"

#include "common/base/cleanup.h"
#include "common/base/name.h"
#include "common/base/text.h"
#include "common/rpc/rpc.h"
#include "common/wire/api.h"
#include "common/wire/attach.h"

#define SUBCLUSTER_PREFIX "subcluster/"

enum { LOOK = ROLE_VIEWER | ROLE_ADMIN, CHANGE = ROLE_ADMIN };

static const unsigned api[TF_METHOD_COUNT] = {
    [TF_METHOD_SUBMIT] = CHANGE,
    [TF_METHOD_GET] = LOOK,
    [TF_METHOD_LIST] = LOOK,
    [TF_METHOD_LIST_ARCHIVE] = LOOK,
    [TF_METHOD_DELETE] = CHANGE,
    [TF_METHOD_SCALE] = CHANGE,
    [TF_METHOD_HOLD] = CHANGE,
    [TF_METHOD_RESUME] = CHANGE,
    [TF_METHOD_WATCH] = LOOK,
    [TF_METHOD_EXPLAIN] = LOOK,
    [TF_METHOD_PLAN] = LOOK,
    [TF_METHOD_LIST_CLUSTERS] = LOOK,
    [TF_METHOD_LIST_NODES] = LOOK,
    [TF_METHOD_LIST_INSTANCES] = LOOK,
    [TF_METHOD_LOGS] = LOOK,
    [TF_METHOD_CORDON_CLUSTER] = CHANGE,
    [TF_METHOD_UNCORDON_CLUSTER] = CHANGE,
    [TF_METHOD_CORDON_NODE] = CHANGE,
    [TF_METHOD_CONFIRM_LOST] = CHANGE,
    [TF_METHOD_PLAN_DEFRAG] = LOOK,
    [TF_METHOD_DEFRAG] = CHANGE,
    [TF_METHOD_FORGET_CLUSTER] = CHANGE,
    [TF_METHOD_FREEZE] = CHANGE,
    [TF_METHOD_MIGRATE] = LOOK,                  /* what changes something is an admin's: moves.c asks */
    [TF_METHOD_STATUS] = LOOK | ROLE_SUBCLUSTER, /* who leads */
    [TF_METHOD_GET_CONFIG] = LOOK,               /* shows no secrets */
    [TF_METHOD_DIFF_CONFIG] = LOOK,
};

static const struct {
    const char *path;
    unsigned roles;
} attach[] = {
    {TF_WIRE_METHOD_ATTACH, ROLE_SUBCLUSTER},
    {TF_WIRE_METHOD_PUSH_LOGS, ROLE_SUBCLUSTER},
};

unsigned roles_of_method(const char *method)
{
    for (int m = TF_METHOD_NONE + 1; m < TF_METHOD_COUNT; m++)
        if (tf_str_eq(method, tf_method_path((enum tf_method)m)))
            return api[m];
    for (size_t i = 0; i < TF_ARRAY_LEN(attach); i++)
        if (tf_str_eq(method, attach[i].path))
            return attach[i].roles;
    return ROLE_NONE;
}

/* "admin" or "admin/WHO". */
static bool has_role(const char *identity, const char *role)
{
    size_t len = strlen(role);
    return strncmp(identity, role, len) == 0 &&
           (!identity[len] || (identity[len] == '/' && identity[len + 1]));
}

enum role role_of(const char *identity)
{
    if (has_role(identity, "admin"))
        return ROLE_ADMIN;
    if (has_role(identity, "viewer"))
        return ROLE_VIEWER;
    if (tf_starts_with(identity, SUBCLUSTER_PREFIX) &&
        tf_name_check(identity + strlen(SUBCLUSTER_PREFIX), "subcluster", NULL) == 0)
        return ROLE_SUBCLUSTER;
    return ROLE_NONE;
}

const char *role_user(const char *identity)
{
    const char *slash = identity ? strchr(identity, '/') : NULL;
    return slash ? slash + 1 : identity;
}

bool role_is_subcluster(const char *identity, const char *name)
{
    if (!identity)
        return true;
    return role_of(identity) == ROLE_SUBCLUSTER && tf_str_eq(identity + strlen(SUBCLUSTER_PREFIX), name);
}

static void refusal(const char *identity, const char *method, struct tf_error *err)
{
    const char *verb = strrchr(method, '/') ? strrchr(method, '/') + 1 : method;
    switch (role_of(identity)) {
    case ROLE_VIEWER:
        tf_error_set(err, TF_ERR_REFUSED,
                     "%s is not for viewers, and the certificate is of \"%.100s\": use one of an admin", verb,
                     identity);
        break;
    case ROLE_ADMIN:
        tf_error_set(err, TF_ERR_REFUSED, "%s is for subclusters, and the certificate is of \"%.100s\"", verb,
                     identity);
        break;
    case ROLE_SUBCLUSTER:
        tf_error_set(
            err, TF_ERR_REFUSED,
            "%s is for clients, and the certificate is of \"%.100s\": use one of an admin or a viewer", verb,
            identity);
        break;
    case ROLE_NONE:
        tf_error_set(
            err, TF_ERR_REFUSED,
            "the certificate is of \"%.100s\", which is no role here: the common name has to be admin, "
            "viewer (each may be followed by /WHO) or subcluster/NAME",
            identity);
    }
}

int roles_allow(void *arg, const char *identity, const char *method, struct tf_buf *details,
                struct tf_error *err)
{
    (void)arg;
    if (role_of(identity) & roles_of_method(method))
        return 0;
    refusal(identity, method, err);
    const struct tf_error_detail detail = {.code = TF_ERR_REFUSED, .text = err->text};
    tf_wire_error_detail_pack(&detail, TF_RPC_DETAILS_MAX, details);
    return -1;
}
