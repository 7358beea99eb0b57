/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDCTL_SUBMISSION_H
#define TF_FEDCTL_SUBMISSION_H

#include "tools/fedctl/fedctl.h"

/* One job sent to the federation: what apply, submit and replay have in common. */

struct submission {
    const struct tf_job_manifest *manifest; /* borrowed */
    enum tf_submit_mode mode;
    bool restart, dry_run;
};

/* Makes an id for it, so that repeats of it get the first answer, and sends it. 0 and the answer, owned by
 * the caller; or -1 with *err, and with the server's detail in *detail (owned by the caller). */
int submission_send(struct fedctl *ctl, const struct submission *submission, struct tf_change_reply *answer,
                    struct tf_error_detail *detail, struct tf_error *err);
void submission_release(struct tf_change_reply *answer, struct tf_error_detail *detail);
/* An id that nothing else has. */
int submission_uid(struct tf_uid *uid, struct tf_error *err);
/* Letters and digits that make a name new, chosen at random. */
enum { SUBMISSION_SUFFIX = 5 };
int submission_suffix(char text[SUBMISSION_SUFFIX + 1], struct tf_error *err);
/* "created", "unchanged", "updated", "restarted" */
const char *submission_word(enum tf_outcome outcome);

#endif
