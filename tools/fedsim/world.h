/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDSIM_WORLD_H
#define TF_FEDSIM_WORLD_H

#include "common/model/settings.h"
#include "tools/fedsim/audit/audit.h"
#include "tools/fedsim/client.h"
#include "tools/fedsim/diary.h"
#include "tools/fedsim/fact.h"
#include "tools/fedsim/fedd.h"
#include "tools/fedsim/fleet.h"
#include "tools/fedsim/operator.h"
#include "tools/fedsim/situations.h"
#include "tools/fedsim/subd.h"

/* A federation in virtual time: the production cores of fedd and subclusterd, and around them simulated
 * stores, networks, engines and users. Everything is drawn from one seed: the same seed gives the same run,
 * bit for bit. */

#define SIM_EPOCH_MS INT64_C(1767225600000) /* wall clock at the start: 2026-01-01 */

enum { SIM_ID_TEXT = 64 };

enum { SIM_OLD_PACKETS = 32 };

/* A subcluster: its fleet, its store, its daemons of one name. */
struct sim_site {
    struct sim_world *world;
    size_t number;
    char *name, *region;
    struct tf_planes planes;
    struct sim_fleet fleet;
    struct sim_store store;
    char *prefix;
    TF_VEC(struct sim_subd *) subds;
    struct sim_packet old[SIM_OLD_PACKETS]; /* the last messages from any leader, a ring */
    uint64_t old_count;
    bool stale_heard; /* somebody does something about it */
    bool dead;        /* burnt down: its daemons are not started before it is built anew */
};

/* The way between a site and a federation daemon. */
struct sim_way {
    bool up_cut, down_cut;
    int64_t delay; /* ms that every message takes; 0 = as everywhere */
};

struct sim_listener {
    sim_hear_f *hear;
    void *arg;
};
/* Answers a client (client_answered) instead of the fedds; event is taken. */
typedef void sim_serve_f(void *arg, uint64_t call, struct fed_event event);
/* Called before each step of the world, whose time will then be next. */
typedef void sim_watch_f(void *arg, struct tf_mono next);
/* Called for each transaction of a daemon: before it is sent, and when the daemon has done all that follows
 * from it. Anything may be done to the daemon. */
enum sim_commit { SIM_COMMIT_SENT = 1, SIM_COMMIT_DONE };
typedef void sim_commit_f(void *arg, struct sim_process *process, enum sim_commit moment);

/* When what costs more than its event is looked at: how a core's state hangs together. */
enum sim_check {
    SIM_CHECK_EVERY, /* after every step */
    SIM_CHECK_END,   /* world_check only */
    SIM_CHECK_OFF,   /* never; nor does what the auditor finds end the run */
};

struct sim_world {
    uint64_t seed;
    enum sim_check check;
    TF_VEC(struct sim_listener) listeners;
    sim_serve_f *serve; /* NULL: the fedds do */
    void *serve_arg;
    sim_watch_f *watch;
    void *watch_arg;
    sim_commit_f *commit; /* NULL: nobody looks */
    void *commit_arg;
    struct sim_agenda agenda;
    struct sim_diary diary;
    struct tf_rng rng; /* of the world's decisions */
    struct audit *audit;
    struct tf_settings settings;
    struct sub_health_rules health;
    int64_t profile_interval, loss_cap, engine_delay_max, delay_min, delay_max; /* ms */
    int32_t resize_loss;                                                        /* 1/10000 */

    struct tf_mono stores_next; /* when the first of all stores has something to do; TF_MEMORY_ASK */
    struct sim_store store;     /* the federation's */
    TF_VEC(struct sim_fedd *) fedds;
    TF_VEC(struct sim_site *) sites;
    TF_VEC(struct sim_way) ways; /* site x fedd */
    TF_VEC(struct sim_link *) links;
    TF_VEC(struct sim_link *) dead_links;
    uint64_t links_made;
    struct sim_clients clients;
    struct sim_operator operator;

    struct tf_mono busy_at; /* last durable write, message or engine call */
    uint64_t alarms, stale_messages;
    const char *record;            /* folder in which every daemon records its events; NULL = none do */
    uint64_t renew_every, steps;   /* renew.h; steps of all cores so far */
    struct sim_situations reached; /* by all cores and guards that are gone */
    bool healed;                   /* all faults are, and the world is to come to rest */
    bool rests;                    /* the last run ended because nothing happened any more */
    bool breached;
};

/* An empty world; settings and delays have their defaults. */
void world_init(struct sim_world *world, uint64_t seed, bool aloud);
struct tf_uid world_uid(struct sim_world *world); /* a new one, drawn */
void world_release(struct sim_world *world);
/* Daemons are made with the settings of this moment, not yet started. Fedds come before sites. */
struct sim_fedd *world_add_fedd(struct sim_world *world);
struct sim_site *world_add_site(struct sim_world *world, const char *name, const char *region, size_t subds);
/* node is taken. It comes at that time; 0: it is there. */
void world_add_node(struct sim_site *site, struct tf_node *node, int64_t at);
void world_start(struct sim_world *world);
void world_listen(struct sim_world *world, sim_hear_f *hear, void *arg);
void world_tell(struct sim_world *world, const struct sim_fact *fact);
/* Runs until that moment, a breach, or (quiet > 0) nothing has happened for so long. False on a breach. */
bool world_run(struct sim_world *world, struct tf_mono until, int64_t quiet);

/* Nothing happens until then: time passes. After world_run until that moment. */
void world_idle(struct sim_world *world, struct tf_mono until);

void world_say(struct sim_world *world, const char *who, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The first one counts; the run ends. */
void world_breach(struct sim_world *world, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Every core's state hangs together; asserts. */
void world_check(const struct sim_world *world);

struct sim_way *world_way(struct sim_world *world, size_t site, size_t fedd);
struct sim_fedd *world_leader(struct sim_world *world); /* NULL if none leads */
const struct sim_nature *world_nature(const struct sim_world *world, struct tf_uid uid);
const char *world_id(const struct tf_instance_id *id, char text[SIM_ID_TEXT]); /* "1a2b/7/0.1" */

#endif
