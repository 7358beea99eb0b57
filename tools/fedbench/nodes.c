/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the command line of the benchmarks that go over sizes of a fleet. */
#include "tools/fedbench/nodes.h"

#include "common/base/text.h"

#include <getopt.h>
#include <stdio.h>

static int usage(const struct nodes_bench *bench, FILE *to, int code)
{
    fprintf(to, "usage: fedbench %s [--nodes N] [--json]\n%s\n", bench->name, bench->does);
    return code;
}

int nodes_bench(const struct nodes_bench *bench, int argc, char **argv)
{
    static const struct option options[] = {{"nodes", required_argument, NULL, 'n'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    int64_t only = 0;
    bool json = false;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option == 'n' && tf_parse_int64(optarg, bench->least, 100000, &only, NULL) == 0)
            continue;
        if (option != 'j')
            return option == 'h' ? usage(bench, stdout, 0) : usage(bench, stderr, 2);
        json = true;
    }
    if (optind < argc)
        return usage(bench, stderr, 2);
    struct figures figures;
    figures_begin(&figures, bench->name, json);
    figures_setting(&figures, "%s", bench->setting);
    bool ok = true;
    for (size_t i = 0; i < (only ? 1 : bench->count) && ok; i++)
        ok = bench->run(&figures, only ? (size_t)only : bench->sizes[i]);
    figures_end(&figures);
    return ok ? 0 : 1;
}
