/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that really run. */
#include "tools/fedbench/bench.h"
#include "tools/fedbench/run.h"

int bench_launch(int argc, char **argv)
{
    struct run_options options = {
        .bench = "launch",
        .engine = "process",
        .boundary =
            "launch: a job counts when a watch shows it Running, its process alive under its shim; each "
            "runs for a second, and its end is in the figures, too",
        .until = TF_PHASE_RUNNING,
        .command = "sleep 1",
        .levels = {1, 16, 64},
        .level_count = 3,
        .seconds = 5,
        .nodes = 100,
        .quick = true,
        .seed = 1,
        .target = "",
        .beside = "Slurm 45 here, 500 published; Flux 115 to 161 here (mock)",
    };
    int code = run_take_options(&options, argc, argv);
    return code >= 0 ? code : run_federation(&options);
}
