/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the list of scenarios that are expected to fail. */
#include "tools/fedsim/program/xfail.h"

#include "common/conf/conf.h"

#include <string.h>

static const struct tf_row rows[] = {
    {.key = "scenarios", TF_PAIRS(struct xfail, scenarios), .min = 1, .max = 1000},
};
static const struct tf_table table = TF_TABLE(struct xfail, rows);

int xfail_load(const char *path, struct xfail *xfail, struct tf_error *err)
{
    return tf_conf_load(path, &table, xfail, err);
}

void xfail_release(struct xfail *xfail)
{
    tf_table_release(&table, xfail);
}

const char *xfail_reason(const struct xfail *xfail, const char *path)
{
    const char *slash = strrchr(path, '/');
    return tf_pairs_get(&xfail->scenarios, slash ? slash + 1 : path);
}
