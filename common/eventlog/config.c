/* SPDX-License-Identifier: Apache-2.0 */
#include "common/eventlog/config.h"

#define C struct tf_eventlog_config

static const struct tf_row rows[] = {
    {.key = "folder",
     TF_PATH(C, folder),
     .help = "where everything that this daemon decides from is recorded, for `fedsim replay`; made if it is "
             "missing, of this daemon only; absent = nothing is recorded"},
    {.key = "maxBytes",
     TF_MEMORY(C, max_mib),
     .min = 1,
     .max = 1024 * 1024,
     .def = "64Mi",
     .help = "of events in one file, beside the state that each file begins with; then the next is begun"},
    {.key = "files",
     TF_INT32(C, files),
     .min = 2,
     .max = 10000,
     .def = "8",
     .help =
         "kept, the oldest goes first; so many times `maxBytes` and the state is what the folder may grow "
         "to"},
};

const struct tf_table tf_eventlog_config_table = TF_TABLE(C, rows);
