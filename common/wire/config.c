/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of federation.proto about the configuration of a fedd. */
#include "common/wire/tables.h"

#include "common/wire/api.h"

#include "federation.pb-c.h"

enum { VALUES_MAX = 1 << 20 }; /* the limit of a reply is met first */

#define MODEL struct tf_config_value
#define WIRE Tidefed__V1__ConfigValue
static const struct tf_wire_row value_rows[] = {
    WIRE_STRING(key),      WIRE_STRING(value), WIRE_ENUM(origin, 0, TF_CONFIG_OPTION),
    WIRE_BOOL(reloadable), WIRE_BOOL(unused),  WIRE_TEXT(meaning, TF_WIRE_MESSAGE_MAX),
};
static const struct tf_wire_table value = WIRE_TABLE(value_rows, tidefed__v1__config_value__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_get_config_request
#define WIRE Tidefed__V1__GetConfigRequest
static const struct tf_wire_row get_request_rows[] = {WIRE_STRING(key), WIRE_BOOL(leader),
                                                      WIRE_NAME(cluster, 0)};
const struct tf_wire_table tf_wire_get_config_request =
    WIRE_TABLE(get_request_rows, tidefed__v1__get_config_request__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_get_config_reply
#define WIRE Tidefed__V1__GetConfigReply
static const struct tf_wire_row get_reply_rows[] = {WIRE_LIST(values, value, VALUES_MAX), WIRE_BOOL(leads)};
const struct tf_wire_table tf_wire_get_config_reply =
    WIRE_TABLE(get_reply_rows, tidefed__v1__get_config_reply__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_diff_config_request
#define WIRE Tidefed__V1__DiffConfigRequest
static const struct tf_wire_row diff_request_rows[] = {
    WIRE_STRING(name),
    WIRE_BYTES(text, len, TF_WIRE_CONFIG_MAX),
    WIRE_BOOL(leader),
    WIRE_NAME(cluster, 0),
};
const struct tf_wire_table tf_wire_diff_config_request =
    WIRE_TABLE(diff_request_rows, tidefed__v1__diff_config_request__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_config_change
#define WIRE Tidefed__V1__ConfigChange
static const struct tf_wire_row change_rows[] = {
    WIRE_STRING(key), WIRE_STRING(running), WIRE_STRING(file), WIRE_BOOL(restart), WIRE_BOOL(unused),
};
static const struct tf_wire_table change = WIRE_TABLE(change_rows, tidefed__v1__config_change__descriptor);
#undef MODEL
#undef WIRE

#define MODEL struct tf_diff_config_reply
#define WIRE Tidefed__V1__DiffConfigReply
static const struct tf_wire_row diff_reply_rows[] = {
    WIRE_LIST(changes, change, VALUES_MAX),
    WIRE_TEXT(conflict, TF_WIRE_MESSAGE_MAX),
    WIRE_BOOL(leads),
};
const struct tf_wire_table tf_wire_diff_config_reply =
    WIRE_TABLE(diff_reply_rows, tidefed__v1__diff_config_reply__descriptor);
#undef MODEL
#undef WIRE
