/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the figures that expectations may be about, as of now. */
#include "tools/fedsim/play/private.h"

typedef int64_t metric_f(const struct play *play);

static int64_t count_phase(const struct play *play, enum tf_phase phase)
{
    int64_t count = 0;
    for (const struct truth_job *job = play->truth.jobs; job; job = job->hh.next)
        count += truth_phase(job) == phase;
    return count;
}

static int64_t jobs_running(const struct play *play)
{
    return count_phase(play, TF_PHASE_RUNNING);
}

static int64_t jobs_pending(const struct play *play)
{
    return count_phase(play, TF_PHASE_PENDING);
}

static int64_t jobs_completed(const struct play *play)
{
    return count_phase(play, TF_PHASE_SUCCEEDED);
}

static int64_t jobs_submitted(const struct play *play)
{
    return play->truth.submitted;
}

static int64_t evictions(const struct play *play)
{
    return play->truth.evictions;
}

static int64_t restarts(const struct play *play)
{
    return play->truth.restarts;
}

static int64_t refused(const struct play *play)
{
    return (int64_t)audit_counts(play->world.audit).refusals;
}

static int64_t violations(const struct play *play)
{
    return audit_breach(play->world.audit) || play->world.breached ? 1 : 0;
}

static int64_t events(const struct play *play)
{
    return (int64_t)play->world.agenda.done;
}

static int64_t seconds(const struct play *play)
{
    return play->world.agenda.now.ms / TF_SECOND;
}

static const struct {
    const char *name;
    metric_f *value;
} metrics[] = {
    {"jobsRunning", jobs_running},
    {"jobsPending", jobs_pending},
    {"jobsCompleted", jobs_completed},
    {"jobsSubmitted", jobs_submitted},
    {"evictions", evictions},
    {"restarts", restarts},
    {"placementsRefused", refused},
    {"events", events},
    {"invariantViolations", violations},
    {"simulatedSeconds", seconds},
};

int play_metric(const struct play *play, const char *name, int64_t *millionths)
{
    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++)
        if (strcmp(metrics[i].name, name) == 0) {
            *millionths = metrics[i].value(play) * SCENARIO_ONE;
            return 0;
        }
    return -1;
}
