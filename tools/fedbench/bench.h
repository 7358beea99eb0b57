/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDBENCH_BENCH_H
#define TF_FEDBENCH_BENCH_H

/* A benchmark: one row of the table in main.c. run gets the arguments after its name and returns the exit
 * code: 0 done, 1 could not be run, 2 usage. It prints its figures with what they are figures of: the
 * machine, what was real and what was simulated, and the bound or the published figure beside its own. */
struct bench {
    const char *name, *help;
    int (*run)(int argc, char **argv);
};

int bench_store(int argc, char **argv);
int bench_admit(int argc, char **argv);
int bench_launch(int argc, char **argv);
int bench_profile(int argc, char **argv);
int bench_scale(int argc, char **argv);
int bench_crowd(int argc, char **argv);
int bench_sub(int argc, char **argv);
int bench_decide(int argc, char **argv);
int bench_migrate(int argc, char **argv);
int bench_consolidate(int argc, char **argv);

#endif
