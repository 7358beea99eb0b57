/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDSIM_CLIENT_H
#define TF_FEDSIM_CLIENT_H

#include "common/base/error.h"
#include "federation/core/fed.h"
#include "tools/fedsim/fleet.h"

/* The users: each job has one, who submits it, repeats that until there is an answer, may look at it, hold
 * and resume it, scale it, apply it with a new spec, and may delete it, again repeating until there is an
 * answer. */

struct sim_world;

/* What ends a job when its work is done; see labour.h. */
struct sim_labour {
    int64_t run;                 /* ms from when its core is ready; 0 = does not end so */
    int64_t work;                /* instance-ms; 0 = does not end so */
    int32_t step;                /* so many work together; 0 = as the job's sizes say */
    int64_t checkpoint_every;    /* ms; 0 = never: a new epoch begins from nothing */
    uint64_t epoch;              /* the latest */
    int32_t ready;               /* instances of it */
    int64_t done, saved;         /* instance-ms, as of since; by the last checkpoint */
    struct tf_mono since, begun; /* begun: its core was ready; 0 = not yet */
    uint32_t plans;              /* number of the last: earlier ones do not count */
    bool finished;
};

enum sim_verb {
    SIM_SUBMIT = 1,
    SIM_DELETE,
    SIM_HOLD,
    SIM_RESUME,
    SIM_LOOK,
    SIM_SCALE,
    SIM_APPLY,
    SIM_RESTART,
    SIM_MIGRATE,
    SIM_ABORT
};

struct sim_job {
    struct tf_uid uid;
    struct tf_job_manifest manifest;
    struct sim_nature nature;
    int64_t delete_after; /* ms after the submit was acknowledged; 0 = never */
    bool holds;           /* is held and resumed in between */
    bool scales;          /* is scaled to max = min */
    struct tf_uid again;  /* id of an `apply --restart`; none = it is not restarted */
    bool tide;            /* its size follows a day */
    bool scripted;        /* its user does nothing but what clients_ask says */
    bool answered;        /* the submit was, so that more can be asked */
    struct sim_labour labour;
};

struct wish;
/* By one of its ids. */
struct sim_job_id {
    struct tf_uid uid;
    size_t job;
    UT_hash_handle hh;
};

struct sim_answer {
    enum tf_error_code code;
    struct tf_uid uid;
    uint64_t version; /* LOOK: that was shown */
};

struct sim_clients {
    struct sim_world *world;
    TF_VEC(struct sim_job) jobs;
    struct sim_job_id *ids;
    TF_VEC(struct wish *) calls; /* attempts that have been sent, and what for: call n is at n - 1 */
    TF_VEC(struct wish *) wishes;
    uint32_t lose;       /* permille of answers that get lost */
    size_t open;         /* wishes that are not yet fulfilled */
    struct tf_mono last; /* submit */
};

void clients_release(struct sim_clients *clients);
/* The job (taken) will be submitted at that moment. */
void clients_add(struct sim_clients *clients, struct sim_job job, struct tf_mono at);
/* Who was submitted, or begun anew, under that id; NULL. Borrowed until the next is added. */
const struct sim_job *clients_job(const struct sim_clients *clients, struct tf_uid uid);
/* The job's user wants that now, and asks until there is an answer; an earlier wish of the same kind is
 * dropped. sizes: of SIM_SCALE. */
void clients_ask(struct sim_clients *clients, size_t job, enum sim_verb verb, struct tf_elastic sizes);
/* The same: its manifest with that class and those sizes is applied. A finished job is begun anew so. */
void clients_apply(struct sim_clients *clients, size_t job, const char *priority, struct tf_elastic sizes);
/* The same: to that subcluster; NULL: no longer. */
void clients_move(struct sim_clients *clients, size_t job, const char *to);
/* text is why not. */
void client_answered(struct sim_world *world, uint64_t call, const struct sim_answer *answer,
                     const char *text);

#endif
