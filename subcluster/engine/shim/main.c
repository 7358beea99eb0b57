/* SPDX-License-Identifier: Apache-2.0 */
/* tidefed-shim: started by the process engine; people need end-all only. */
#include "common/base/text.h"
#include "subcluster/engine/shim/shim.h"

static int usage(void)
{
    fprintf(
        stderr,
        "tidefed-shim " TF_VERSION ": watches over one instance of the process engine\n"
        "usage: tidefed-shim run STATE_DIR UID/EPOCH/INDEX.ATTEMPT\n"
        "       tidefed-shim end STATE_DIR UID/EPOCH/INDEX.ATTEMPT OWNER_REVISION [kill]\n"
        "       tidefed-shim end-all STATE_DIR\n"
        "The first two are for subclusterd. The last ends all instances of a subcluster whose daemon has\n"
        "been stopped: they would run on without it.\n");
    return TF_SHIM_USAGE;
}

int main(int argc, char **argv)
{
    shim_process_init();
    if (argc == 4 && tf_str_eq(argv[1], "run"))
        return (int)shim_launch(argv[2], argv[3]);
    if (argc == 3 && tf_str_eq(argv[1], "end-all"))
        return (int)shim_end_all(argv[2]);
    int64_t owner;
    bool kill = argc == 6 && tf_str_eq(argv[5], "kill");
    if ((argc == 5 || kill) && tf_str_eq(argv[1], "end") &&
        tf_parse_int64(argv[4], 0, INT64_MAX, &owner, NULL) == 0)
        return (int)shim_judge(argv[2], argv[3], (uint64_t)owner, kill);
    return usage();
}
