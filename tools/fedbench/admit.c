/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that are admitted: nothing runs. */
#include "tools/fedbench/bench.h"
#include "tools/fedbench/run.h"

int bench_admit(int argc, char **argv)
{
    struct run_options options = {
        .bench = "admit",
        .engine = "virtual",
        .boundary =
            "admission: a job counts when its submit is durable, it is placed, its subcluster has durably "
            "recorded its start, and a watch shows that",
        .until = TF_PHASE_STARTING,
        .command = "sleep 1000",
        .levels = {1, 16, 256},
        .level_count = 3,
        .seconds = 5,
        .nodes = 1000,
        .seed = 1,
        .target = "2000 jobs/s",
        .beside = "MultiKueue 38 to 95 (admission, manager + 3)",
    };
    int code = run_take_options(&options, argc, argv);
    return code >= 0 ? code : run_federation(&options);
}
