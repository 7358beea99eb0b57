/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/name.h"

#include "common/base/text.h"

static bool alphanumeric(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

int tf_name_check(const char *name, const char *what, struct tf_error *err)
{
    size_t len = strnlen(name, TF_NAME_MAX + 1);
    if (len == 0)
        return tf_error_set(err, TF_ERR_INVALID, "%s is empty", what);
    if (len > TF_NAME_MAX)
        return tf_error_set(err, TF_ERR_INVALID, "%s is longer than %d letters", what, TF_NAME_MAX);
    bool ok = alphanumeric(name[0]) && alphanumeric(name[len - 1]) && !strstr(name, "..");
    for (size_t i = 0; i < len; i++)
        ok = ok && (alphanumeric(name[i]) || name[i] == '-' || name[i] == '.');
    if (!ok)
        return tf_error_set(
            err, TF_ERR_INVALID,
            "%s \"%s\": use lower-case letters, digits, '-' and single '.', and begin and end with a "
            "letter or digit",
            what, tf_utf8_valid(name, len) ? name : "?");
    return 0;
}
