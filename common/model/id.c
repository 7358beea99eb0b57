/* SPDX-License-Identifier: Apache-2.0 */
#include "common/model/id.h"

#include "common/base/text.h"

bool tf_uid_is_none(struct tf_uid uid)
{
    return tf_uid_eq(uid, (struct tf_uid){{0}});
}

void tf_uid_format(struct tf_uid uid, char text[TF_UID_TEXT])
{
    tf_hex(uid.bytes, TF_UID_BYTES, text);
}

int tf_uid_parse(const char *text, struct tf_uid *uid, struct tf_error *err)
{
    struct tf_uid parsed;
    if (tf_unhex(text, parsed.bytes, TF_UID_BYTES))
        return tf_error_set(err, TF_ERR_INVALID, "\"%.60s\" is not a uid (32 hexadecimal digits)", text);
    *uid = parsed;
    return 0;
}

bool tf_instance_id_eq(const struct tf_instance_id *a, const struct tf_instance_id *b)
{
    return tf_uid_eq(a->uid, b->uid) && a->epoch == b->epoch && a->index == b->index &&
           a->attempt == b->attempt;
}

int tf_term_cmp(struct tf_term a, struct tf_term b)
{
    if (a.era != b.era)
        return a.era < b.era ? -1 : 1;
    if (a.revision != b.revision)
        return a.revision < b.revision ? -1 : 1;
    return 0;
}
