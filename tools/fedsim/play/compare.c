/* SPDX-License-Identifier: Apache-2.0 */
/* Owns how a scenario is put to a scheduler that is not tidefed. */
#include "common/base/cleanup.h"
#include "tools/fedsim/play/private.h"

#include <math.h>

bool play_is_compared(const struct play *play)
{
    return play->options->rival != RIVAL_NONE || play->options->without;
}

bool play_concerns_rival(enum scenario_kind kind)
{
    switch (kind) {
    case SCENARIO_NODE:
    case SCENARIO_GPU:
    case SCENARIO_FOREIGN:
    case SCENARIO_SUBMIT:
    case SCENARIO_DELETE:
    case SCENARIO_HOLD:
    case SCENARIO_RESUME:
    case SCENARIO_SCALE:
        return true;
    default:
        return false;
    }
}

/* ---- pieces ---- */

int32_t play_pieces(const struct play *play, const struct tf_job_spec *spec)
{
    const struct tf_elastic *e = &spec->elastic;
    if (!play->options->rival || spec->workload != TF_WORKLOAD_OFFLINE || e->max <= e->min)
        return 1;
    return 1 + (e->max - e->min) / e->step;
}

int32_t play_piece_size(const struct tf_job_spec *spec, int32_t number)
{
    return number == 0 ? spec->elastic.min : spec->elastic.step;
}

/* ---- quotas ---- */

/* Who sets quotas knows what comes: each service gets its peak, work that ends so much more than it needs on
 * average, and work that never ends the rest. */
static const double headroom = 1.5;

struct quotas {
    struct play *play;
    double *gpus;  /* site x class */
    bool *endless; /* site x class */
    double *fleet; /* GPUs of each site */
    size_t classes;
};

static size_t at(const struct quotas *q, size_t site, int rank)
{
    return site * q->classes + (size_t)rank;
}

static bool may_use(const struct quotas *q, const struct tf_job_spec *spec, size_t site)
{
    const struct sim_site *of = q->play->world.sites.items[site];
    return (!spec->clusters.count || tf_strs_has(&spec->clusters, of->name)) &&
           (!spec->regions.count || tf_strs_has(&spec->regions, of->region));
}

/* By their sizes over the sites that it may use. */
static void spread(struct quotas *q, const struct tf_job_spec *spec, double gpus, bool endless)
{
    int rank = tf_classes_rank(&q->play->world.settings.policy.classes, spec->priority);
    double all = 0;
    for (size_t site = 0; site < q->play->world.sites.count; site++)
        all += may_use(q, spec, site) ? q->fleet[site] : 0;
    for (size_t site = 0; rank >= 0 && all > 0 && site < q->play->world.sites.count; site++) {
        if (!may_use(q, spec, site))
            continue;
        q->gpus[at(q, site, rank)] += gpus * q->fleet[site] / all;
        q->endless[at(q, site, rank)] |= endless;
    }
}

static void ask_for(struct quotas *q)
{
    const struct play *play = q->play;
    tf_vec_each (tide, &play->scenario->tides)
        spread(q, &tide->job.spec, (double)tide->high * tide->job.spec.group.shape.gpus, false);
    tf_vec_each (job, &play->world.clients.jobs) {
        const struct tf_job_spec *spec = &job->manifest.spec;
        double size = (double)spec->elastic.min * spec->group.shape.gpus;
        double ms = job->labour.run ? (double)job->labour.run : (double)job->labour.work / spec->elastic.min;
        if (!job->tide)
            spread(q, spec, headroom * size * fmin(1, ms / (double)play->until), ms <= 0);
    }
}

/* GPUs of a node there, on average. */
static double node_size(const struct quotas *q, size_t site)
{
    size_t nodes = q->play->world.sites.items[site]->fleet.nodes.count;
    return nodes && q->fleet[site] > 0 ? q->fleet[site] / (double)nodes : 1;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* What is left goes to those who never have enough; if there are none, to all in proportion. */
static void give_rest(struct quotas *q, size_t site, size_t left)
{
    double all = 0;
    for (size_t rank = 0; rank < q->classes; rank++)
        all += q->endless[at(q, site, (int)rank)] ? 1e12 : q->gpus[at(q, site, (int)rank)];
    for (size_t rank = q->classes; rank-- > 0 && all > 0;) {
        size_t i = at(q, site, (int)rank);
        double share = (q->endless[i] ? 1e12 : q->gpus[i]) / all;
        rival_quota(q->play->rival, site, (int)rank, (size_t)ceil(share * (double)left - 1e-6));
    }
}

static void give(struct quotas *q, size_t site)
{
    size_t left = q->play->world.sites.items[site]->fleet.nodes.count;
    for (size_t rank = q->classes; rank-- > 0;) {
        size_t i = at(q, site, (int)rank);
        size_t nodes = q->endless[i] ? 0 : (size_t)ceil(q->gpus[i] / node_size(q, site));
        nodes = least(nodes, left);
        rival_quota(q->play->rival, site, (int)rank, nodes);
        left -= nodes;
    }
    give_rest(q, site, left);
}

static void set_quotas(struct play *play)
{
    size_t sites = play->world.sites.count, classes = play->world.settings.policy.classes.count;
    struct quotas q = {.play = play,
                       .gpus = tf_calloc(sites * classes, sizeof *q.gpus),
                       .endless = tf_calloc(sites * classes, sizeof *q.endless),
                       .fleet = tf_calloc(sites, sizeof *q.fleet),
                       .classes = classes};
    for (size_t site = 0; site < sites; site++)
        tf_vec_each (node, &play->world.sites.items[site]->fleet.nodes)
            q.fleet[site] += node->node.capacity.gpus;
    ask_for(&q);
    for (size_t site = 0; site < sites; site++)
        give(&q, site);
    free(q.gpus);
    free(q.endless);
    free(q.fleet);
}

void play_rival_begin(struct play *play)
{
    if (play->options->rival == RIVAL_NONE)
        return;
    play->rival = rival_create(play->options->rival, &play->world);
    if (play->options->rival == RIVAL_STATIC_QUOTA)
        set_quotas(play);
}
