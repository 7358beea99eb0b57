/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDSIM_CHAOS_PRIVATE_H
#define TF_FEDSIM_CHAOS_PRIVATE_H

#include "common/base/rng.h"
#include "tools/fedsim/chaos/chaos.h"

/* Shared by the drawing of the parts. */
struct draw {
    struct tf_rng rng;
    enum chaos_size size;
    struct scenario *s;
    int64_t ends; /* of the faults */
    bool alike;   /* all jobs may have more of what is free, and are of one priority */
};

int64_t draw_between(struct draw *draw, int64_t low, int64_t high);
size_t draw_below(struct draw *draw, size_t n);
bool draw_one_in(struct draw *draw, uint64_t n);

/* An event of the list with nothing said but its moment. */
struct scenario_event *draw_event(struct draw *draw, bool fault, int64_t at);

/* Nodes of eight GPUs of a model that others have not, where what is drawn here meets hardly anybody; index
 * of the first. And one of the jobs that want them, to run for as long as it may, of one instance. */
size_t draw_own_nodes(struct draw *draw, struct scenario_cluster *cluster, const char *of, size_t count);
struct scenario_job *draw_own_service(struct draw *draw, const char *name, const char *priority, int64_t at,
                                      const char *of, int32_t gpus);
void draw_put_on(struct scenario_job *job, const struct scenario_cluster *cluster, size_t node);

void draw_fleet(struct draw *draw);
void draw_jobs(struct draw *draw);
void draw_faults(struct draw *draw);       /* after the fleet */
void draw_moves(struct draw *draw);        /* after all else, which stays as it is without them */
void draw_crosses(struct draw *draw);      /* likewise */
void draw_reservations(struct draw *draw); /* likewise; each is for something */
void draw_defrags(struct draw *draw);      /* likewise */
void draw_automatic(struct draw *draw);    /* likewise */
void draw_drains(struct draw *draw);       /* likewise */
void draw_closures(struct draw *draw);     /* likewise */
void draw_hard_crosses(struct draw *draw); /* likewise */
void draw_halts(struct draw *draw);        /* likewise */
void draw_scattered(struct draw *draw);    /* likewise */
void draw_travels(struct draw *draw);      /* likewise */
void draw_lent(struct draw *draw);         /* likewise */
void draw_stuck(struct draw *draw);        /* likewise */
void draw_domains(struct draw *draw);      /* likewise */
void draw_twins(struct draw *draw);        /* likewise */
void draw_protected(struct draw *draw);    /* likewise */
void draw_cycle(struct draw *draw);        /* likewise */

#endif
