/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_CONF_OPEN_H
#define TF_CONF_OPEN_H

/* Opens what a user has named for reading: a file, or a pipe, as <(program) of a shell is one. A pipe that
 * nobody writes anything to within `patience` ms is given up, so that a name that was never meant to be one
 * does not keep the program for ever. Returns the descriptor, owned by the caller; -1 and errno, which is
 * ETIMEDOUT for such a pipe. */
int tf_conf_open(const char *path, int patience);

enum { TF_CONF_PATIENCE = 10 * 1000 /* ms: a program that makes a file takes its time to begin */ };

#endif
