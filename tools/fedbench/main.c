/* SPDX-License-Identifier: Apache-2.0 */
/* fedbench NAME [OPTIONS]: the benchmarks of tidefed. */
#include "common/base/cleanup.h"
#include "tools/fedbench/bench.h"

static const struct bench benches[] = {
    {"store", "records/s through the guard of a prefix to a real etcd", bench_store},
    {"admit", "jobs/s admitted by a whole federation with invented nodes", bench_admit},
    {"launch", "jobs/s started by a whole federation as real processes", bench_launch},
    {"profile", "bytes and CPU of capacity profiles", bench_profile},
    {"crowd", "restart, lists, explain and memory with very many jobs in the store", bench_crowd},
    {"sub", "decisions of one subcluster with up to 12,500 nodes", bench_sub},
    {"migrate", "moves of instances in one subcluster: time by state, moves a second, 1,000 under limits",
     bench_migrate},
    {"decide", "decisions of the leader with many subclusters and very many waiting jobs", bench_decide},
    {"consolidate", "plans that free whole nodes, against the optimum", bench_consolidate},
    {"scale", "how cost grows with size: slopes on log-log axes", bench_scale},
};

static int usage(FILE *to, int code)
{
    fprintf(to, "usage: fedbench NAME [OPTIONS], or fedbench NAME --help\n");
    for (size_t i = 0; i < TF_ARRAY_LEN(benches); i++)
        fprintf(to, "  %-12s %s\n", benches[i].name, benches[i].help);
    return code;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return usage(stderr, 2);
    if (strcmp(argv[1], "--help") == 0)
        return usage(stdout, 0);
    for (size_t i = 0; i < TF_ARRAY_LEN(benches); i++)
        if (strcmp(argv[1], benches[i].name) == 0)
            return benches[i].run(argc - 1, argv + 1);
    fprintf(stderr, "fedbench: there is no benchmark \"%s\"\n", argv[1]);
    return usage(stderr, 2);
}
