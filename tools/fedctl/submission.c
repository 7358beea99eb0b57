/* SPDX-License-Identifier: Apache-2.0 */
/* Owns how a job is sent. What is said of the answer is up to the verbs. */
#include "tools/fedctl/submission.h"

#include <errno.h>
#include <sys/random.h>

int submission_uid(struct tf_uid *uid, struct tf_error *err)
{
    if (getrandom(uid->bytes, sizeof uid->bytes, 0) == (ssize_t)sizeof uid->bytes)
        return 0;
    return tf_error_errno(err, TF_ERR_IO, errno, "no random bytes for an id");
}

int submission_suffix(char text[SUBMISSION_SUFFIX + 1], struct tf_error *err)
{
    static const char letters[] = "abcdefghijkmnpqrstuvwxyz23456789"; /* none that looks like another */
    unsigned char random[SUBMISSION_SUFFIX];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return tf_error_errno(err, TF_ERR_IO, errno, "no random bytes for a name");
    for (size_t i = 0; i < SUBMISSION_SUFFIX; i++)
        text[i] = letters[random[i] % (sizeof letters - 1)];
    text[SUBMISSION_SUFFIX] = '\0';
    return 0;
}

int submission_send(struct fedctl *ctl, const struct submission *submission, struct tf_change_reply *answer,
                    struct tf_error_detail *detail, struct tf_error *err)
{
    struct tf_request request = {
        .method = TF_METHOD_SUBMIT,
        .submit = {.manifest = *submission->manifest, /* lent */
                   .mode = submission->mode,
                   .restart = submission->restart,
                   .dry_run = submission->dry_run},
    };
    struct tf_reply reply = {0};
    *answer = (struct tf_change_reply){0};
    *detail = (struct tf_error_detail){0};
    if (submission_uid(&request.submit.uid, err))
        return -1;
    if (client_call(ctl->client, &request, ctl->config.timeout, &reply, detail, err))
        return -1;
    *answer = reply.change;
    return 0;
}

void submission_release(struct tf_change_reply *answer, struct tf_error_detail *detail)
{
    struct tf_reply reply = {.method = TF_METHOD_SUBMIT, .change = *answer};
    tf_reply_release(&reply);
    tf_error_detail_release(detail);
}

const char *submission_word(enum tf_outcome outcome)
{
    switch (outcome) {
    case TF_OUTCOME_CREATED:
        return "created";
    case TF_OUTCOME_UNCHANGED:
        return "unchanged";
    case TF_OUTCOME_UPDATED:
        return "updated";
    case TF_OUTCOME_RESTARTED:
        return "restarted";
    case TF_OUTCOME_NONE:
    case TF_OUTCOME_DELETED:
    case TF_OUTCOME_DONE:
        break;
    }
    return "done";
}
