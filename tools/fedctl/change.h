/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDCTL_CHANGE_H
#define TF_FEDCTL_CHANGE_H

#include "tools/fedctl/fedctl.h"
#include "tools/fedctl/target.h"

/* Verbs that change the jobs that are named, one after the other: what they have in common. */

/* Sends method for the job that each word of the command line names and prints "job T/N WORD", WORD by the
 * outcome: done, or unchanged. Gives the first exit code that is not FEDCTL_DONE. */
int change_words(struct fedctl *ctl, enum tf_method method, const char *done);
void change_warnings(const struct tf_change_reply *reply);
/* The federation cannot be asked now: no use to go on with the next. */
bool change_is_hopeless(int code);

#endif
