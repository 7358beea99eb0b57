/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDSIM_FACT_H
#define TF_FEDSIM_FACT_H

#include "common/base/error.h"
#include "common/model/record.h"
#include "tools/fedsim/client.h"
#include "tools/fedsim/fleet.h"

/* What really happens in a world, told to whoever listens (sim_world.listeners), as it happens: the auditor's
 * facts, for those who measure rather than judge. Everything is borrowed until the listener returns; a
 * listener changes nothing at once, but may put things on the agenda. */

struct sim_site;
struct sim_store;
struct sim_node;

enum sim_fact_kind {
    SIM_FACT_ASKED = 1, /* a client sends its wish, perhaps again: job, verb, sizes of a scale */
    SIM_FACT_ANSWERED,  /* and has the answer: code, text. TF_OK: it is done */
    SIM_FACT_STARTED,   /* site, instance */
    SIM_FACT_READY,
    SIM_FACT_STOPPING, /* its daemon asks for its end */
    SIM_FACT_ENDED,    /* exited, lost: instance.state */
    SIM_FACT_NODE,     /* site, node: it has changed */
    SIM_FACT_RECORD,   /* store, record: durable now (gone: only what names it) */
    SIM_FACT_ARCHIVED, /* archived: the final state of a finished job */
    SIM_FACT_ORDERED,  /* site answers an order of people: order, code, text */
};

struct sim_fact {
    enum sim_fact_kind kind;
    const struct sim_job *job;
    enum sim_verb verb;
    struct tf_elastic elastic;
    enum tf_error_code code;
    const char *text;
    const struct sim_site *site;
    const struct sim_instance *instance;
    const struct sim_node *node;
    const struct sim_store *store; /* of the federation, or a site's */
    const struct tf_record *record;
    const struct tf_job_record *archived;
    struct tf_uid order; /* id of the chain of moves */
};

typedef void sim_hear_f(void *arg, const struct sim_fact *fact);

#endif
