/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDSIM_FEDD_H
#define TF_FEDSIM_FEDD_H

#include "federation/core/fed.h"
#include "tools/fedsim/link.h"
#include "tools/fedsim/patience.h"
#include "tools/fedsim/process.h"

/* A fedd: the production core, between its store, its clients and the links of subclusters. */

/* A client's request that the core has not answered yet. */
struct sim_request {
    uint64_t number;
    uint64_t call; /* of the client */
    bool looks;    /* a barrier: */
    struct tf_uid uid;
    uint64_t version; /* of the job that will be shown; 0 = there is none */
};

struct sim_fedd {
    struct sim_process process; /* first */
    size_t number;
    struct fed *core;
    uint64_t requests; /* made so far */
    TF_VEC(struct sim_request) waiting;
    struct sim_patience patience;
    struct fed_actions spare; /* empty: memory for the next step's */
};

void fedd_init(struct sim_fedd *fedd, struct sim_world *world, size_t number);
void fedd_release(struct sim_fedd *fedd);
void fedd_crash(struct sim_fedd *fedd, const char *why);
void fedd_pause(struct sim_fedd *fedd, int64_t ms);
void fedd_reload(struct sim_fedd *fedd);      /* its settings, in which nothing has changed */
bool fedd_leads(const struct sim_fedd *fedd); /* it holds the prefix and has loaded */
void fedd_hears_up(struct sim_fedd *fedd, struct sim_link *link, const struct sim_packet *packet);
void fedd_hears_close(struct sim_fedd *fedd, struct sim_link *link, bool left);
/* A client's request; event is taken. Answered by client_answered (client.h), or never. */
void fedd_request(struct sim_fedd *fedd, uint64_t call, struct fed_event event);
/* A client looks at a job. */
void fedd_look_at(struct sim_fedd *fedd, uint64_t call, const char *tenant, const char *name);

#endif
