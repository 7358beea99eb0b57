/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/name.h"

#include "common/base/text.h"

static bool alphanumeric(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* In one pass: names are checked wherever a record or a message is written or read. */
static bool is_well_formed(const char *name, size_t len)
{
    char before = '.';
    for (size_t i = 0; i < len; before = name[i++])
        if (!alphanumeric(name[i]) && (i == 0 || (name[i] != '-' && (name[i] != '.' || before == '.'))))
            return false;
    return alphanumeric(name[len - 1]);
}

int tf_name_check(const char *name, const char *what, struct tf_error *err)
{
    size_t len = strnlen(name, TF_NAME_MAX + 1);
    if (len == 0)
        return tf_error_set(err, TF_ERR_INVALID, "%s is empty", what);
    if (len > TF_NAME_MAX)
        return tf_error_set(err, TF_ERR_INVALID, "%s is longer than %d letters", what, TF_NAME_MAX);
    if (!is_well_formed(name, len))
        return tf_error_set(
            err, TF_ERR_INVALID,
            "%s \"%s\": use lower-case letters, digits, '-' and single '.', and begin and end with a "
            "letter or digit",
            what, tf_utf8_valid(name, len) ? name : "?");
    return 0;
}
