/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDSIM_SUBD_H
#define TF_FEDSIM_SUBD_H

#include "subcluster/core/sub.h"
#include "tools/fedsim/link.h"
#include "tools/fedsim/process.h"

/* A subclusterd: the production core, between its store, its engine and a link to the leader. */

struct sim_site;

/* An attempt of which its core was told in this life that it has ended. A long life sees very many. */
struct sim_exit {
    struct tf_instance_id id;
    UT_hash_handle hh;
};

struct sim_subd {
    struct sim_process process; /* first */
    struct sim_site *site;
    struct sub *core;
    uint64_t owner_revision;
    struct sim_link *link;       /* NULL: not attached */
    struct sim_pipe calls, told; /* to the engine, from the engine */
    bool adopted;                /* the engine tells it what happens */
    size_t next_fedd;            /* to dial */
    uint64_t dials;              /* number of the last attempt */
    struct tf_term term;         /* highest that its core has heard */
    uint64_t boots;
    struct sim_exit *exits;
    struct sub_actions spare; /* empty: memory for the next step's */
};

void subd_init(struct sim_subd *subd, struct sim_site *site, size_t number);
void subd_release(struct sim_subd *subd);
void subd_crash(struct sim_subd *subd, const char *why);
void subd_pause(struct sim_subd *subd, int64_t ms);
void subd_reload(struct sim_subd *subd); /* its settings, in which nothing has changed */
/* The stream breaks for no reason of its own. */
void subd_break_link(struct sim_subd *subd);
void subd_hears_down(struct sim_subd *subd, const struct sim_packet *packet);
void subd_hears_close(struct sim_subd *subd);
/* An old message is shown to the core, if it is of a leader that another has followed by now: none of them
 * may have an effect. */
void subd_hears_late(struct sim_subd *subd);
/* The engine says so; event is taken. */
void subd_told(struct sim_subd *subd, struct sub_event event);

#endif
