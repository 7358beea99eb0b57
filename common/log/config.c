/* SPDX-License-Identifier: Apache-2.0 */
#include "common/log/config.h"

#define C struct tf_log_config

/* The names in the order of the log's own numbers, which begin at 0. */
static const struct tf_row rows[] = {
    {.key = "level",
     TF_ENUM(C, level, "debug", "info", "warn", "error"),
     .def = "info",
     .flags = TF_ROW_RELOADABLE,
     .help = "lines of a lower level are not written"},
    {.key = "format", TF_ENUM(C, format, "text", "json"), .def = "text", .help = "one line an event"},
    {.key = "file", TF_PATH(C, file), .help = "appended to, opened again at SIGHUP; absent = stderr"},
    {.key = "decisions",
     TF_PATH(C, decisions),
     .help = "one line a decision, with its reason; two files of 16 MiB are kept; absent = `decisions.log` "
             "in the daemon's own folder"},
};

const struct tf_table tf_log_config_table = TF_TABLE(C, rows);

struct tf_log_options tf_log_config_options(const struct tf_log_config *config)
{
    return (struct tf_log_options){.level = (enum tf_log_level)(config->level - 1),
                                   .format = (enum tf_log_format)(config->format - 1),
                                   .path = config->file};
}
