/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDCTL_WAITING_H
#define TF_FEDCTL_WAITING_H

#include "tools/fedctl/fedctl.h"

enum waiting { WAITING_MORE, WAITING_MET, WAITING_NEVER };

/* Whether a job in this state is what is waited for, or can never be. */
enum waiting waiting_judge(enum wait_for until, enum tf_phase phase);

/* Waits until the job is so; gives the exit code: 0 when it is, 1 when it never will be, 3 when there is no
 * such job, 4 after timeout_ms (CLIENT_NO_LIMIT: none). ref->uid, if set, is the job meant: another one of
 * its name means that it is gone. Endpoints that go away meanwhile are waited for. */
int waiting_for_job(struct fedctl *ctl, const struct tf_job_ref *ref, enum wait_for until,
                    int64_t timeout_ms);

#endif
