/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDSIM_LINK_H
#define TF_FEDSIM_LINK_H

#include "tools/fedsim/pipe.h"

/* The streams between subclusters and federation daemons. What crosses is wire bytes. Each end closes by
 * itself; the other learns of it when the notice arrives, or, while the way is cut, when its keepalive gives
 * up. */

struct sim_world;
struct sim_subd;
struct sim_fedd;

struct sim_link {
    uint64_t number;
    struct sim_world *world;
    struct sim_subd *subd;
    struct sim_fedd *fedd;
    uint64_t subd_life, fedd_life; /* processes and cores that the ends belong to */
    bool subd_open, fedd_open;
    bool hello; /* the federation's end has heard the first message */
    struct sim_pipe up, down;
    uint64_t cuts; /* counts them, for keepalives */
};

/* A message on its way. */
struct sim_packet {
    char *bytes; /* NULL: the other end has closed */
    size_t len;
    bool left; /* and took its leave */
};

struct sim_link *link_open(struct sim_world *world, struct sim_subd *subd, struct sim_fedd *fedd);
struct sim_link *link_find(struct sim_world *world, uint64_t number); /* NULL if both ends are closed */
void link_send(struct sim_pipe *pipe, char *bytes, size_t len);       /* bytes are taken */
/* One end closes by its own will or with its process; its core is not told. leaves: it is stopped politely,
 * and says so when all that it had said has gone. */
void link_close_subd(struct sim_link *link, bool leaves);
void link_close_fedd(struct sim_link *link);
/* The way between a subcluster and a federation daemon: which directions are cut. */
void link_cut(struct sim_world *world, size_t site, size_t fedd, bool up, bool down);
/* Messages take so long from now on; 0 = as everywhere. */
void link_delay(struct sim_world *world, size_t site, size_t fedd, int64_t ms);
bool link_is_cut(const struct sim_world *world, size_t site, size_t fedd);
/* Things on links that are closed on both ends are freed. */
void links_sweep(struct sim_world *world);
void link_destroy(struct sim_link *link);

#endif
