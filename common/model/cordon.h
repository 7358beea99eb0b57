/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_MODEL_CORDON_H
#define TF_MODEL_CORDON_H

#include "common/base/clock.h"
#include "common/base/vec.h"
#include "common/model/id.h"

#include <stdbool.h>
#include <stdint.h>

/* What a subcluster remembers of one node besides its engine's word: what people keep new work from (the node
 * as a whole, or some of its GPUs, each with the reason), and what was concluded when it went silent. A
 * record of its subcluster. Strings are owned. */

/* Of a node that its engine cannot reach. Wire format: append only. */
enum tf_verdict {
    TF_VERDICT_NONE = 0,
    TF_VERDICT_SUSPECT =
        1,               /* too many went at once: nothing is concluded before it returns, or people say so */
    TF_VERDICT_LOST = 2, /* what ran there was given up: it is stopped before the node is ready again */
};

/* A node that is cordoned, and which what runs there is to leave, too (DESIGN.md §8.7). */
struct tf_drain {
    bool on;
    bool force;              /* at the deadline protected cores, too */
    int32_t max_at_once;     /* moves of drains under way in its subcluster; 0 = what its limits allow */
    struct tf_wall deadline; /* what is there then is stopped; 0 = nothing is ever stopped */
};
/* As it is asked for. */
struct tf_drain_order {
    bool on;  /* of a cordon that is set: it is a drain */
    bool dry; /* only say what would go where, and what not, and why */
    bool force;
    int32_t max_at_once;
    int64_t within; /* ms from when it is taken; 0 = no deadline */
};

/* Who said it of a GPU. Wire format: append only. */
enum tf_gpu_source {
    TF_GPU_BY_OPERATOR = 0,
    TF_GPU_BY_STARTS = 1, /* starts failed there, of jobs whose other instances run elsewhere */
};

/* Bad or only suspect: no new work either way, and what runs there goes on. A suspect one awaits a look. */
struct tf_gpu_cordon {
    uint64_t gpus; /* set, not empty, disjoint from the others */
    char *reason;
    struct tf_wall at;
    enum tf_gpu_source source;
    bool suspect;
};

/* What speaks against a GPU, and is not enough yet. */
struct tf_gpu_trouble {
    int32_t gpu;
    int32_t starts;     /* that failed there in a row */
    int32_t jobs;       /* of these, of another job than the one before */
    struct tf_uid last; /* the job of the latest */
};

/* The node is kept from new work with all of a domain, of TF_ALL_DOMAINS, or of TF_BY_LABELS (node.h).
 * Domains contain one another, and each is let go by itself: a node may be in several. */
struct tf_domain_cordon {
    char *domain;
    char *reason;
    struct tf_wall at; /* when it was ordered: the same of all of its nodes */
};

/* Of a node, and of a subcluster. */
enum { TF_DOMAIN_CORDONS_MAX = 64 };

struct tf_cordon {
    char *node;
    bool whole; /* the whole node: reason and at are of that */
    char *reason;
    struct tf_wall at;
    enum tf_verdict verdict;
    struct tf_wall judged; /* when; 0 with NONE */
    struct tf_drain drain; /* of the whole node */
    char *drained_with;    /* it is part of the drain of that domain, of TF_ALL_DOMAINS, or of TF_BY_LABELS
                              (node.h); NULL: its own */
    bool stays;            /* with drained_with: it was cordoned before, and is when that drain ends */
    TF_VEC(struct tf_gpu_cordon) gpus;
    TF_VEC(struct tf_gpu_trouble) trouble;   /* by GPU; none of those that are cordoned */
    TF_VEC(struct tf_domain_cordon) domains; /* each once */
};

/* init by zeroing; release frees what is owned and zeroes; copy is deep, and releases what was in to first */
void tf_cordon_release(struct tf_cordon *cordon);
void tf_cordon_copy(struct tf_cordon *to, const struct tf_cordon *from);
bool tf_cordon_eq(const struct tf_cordon *a, const struct tf_cordon *b);

bool tf_cordon_is_empty(const struct tf_cordon *cordon);  /* nothing is remembered */
bool tf_cordon_of_people(const struct tf_cordon *cordon); /* somebody keeps new work from something */
bool tf_cordon_closes(const struct tf_cordon *cordon);    /* from all of the node, by itself or with others */
uint64_t tf_cordon_gpus(const struct tf_cordon *cordon);  /* all of them, */
uint64_t tf_cordon_suspects(const struct tf_cordon *cordon); /* and those that are only suspect */
const char *tf_gpu_source_name(enum tf_gpu_source source);   /* "operator", "failed starts" */
/* gpus 0: the node as a whole; the GPUs that are cordoned by themselves stay so. A GPU that is cordoned again
 * gets the new reason (NULL: none). False if it was so already. */
bool tf_cordon_set(struct tf_cordon *cordon, uint64_t gpus, const char *reason, struct tf_wall at);
/* The same for GPUs that are only suspect, by whoever says so; one that is bad by somebody's word stays it.
 */
bool tf_cordon_suspect(struct tf_cordon *cordon, uint64_t gpus, enum tf_gpu_source source, const char *reason,
                       struct tf_wall at);
/* A start failed on these, of that job. Returns those of which that makes `most` in a row or more, and of at
 * least two jobs: they are not counted any longer. Those that are cordoned are not counted at all. */
uint64_t tf_cordon_start_failed(struct tf_cordon *cordon, uint64_t gpus, struct tf_uid job, int32_t most);
/* Nothing speaks against them any more. False if nothing did. */
bool tf_cordon_start_worked(struct tf_cordon *cordon, uint64_t gpus);
/* The whole node is cordoned, and drained by these terms: by itself (with NULL) or as part of a domain. False
 * if that was so already. */
bool tf_cordon_drain(struct tf_cordon *cordon, const struct tf_drain *terms, const char *with,
                     const char *reason, struct tf_wall at);
/* It is part of that drain no longer, which has ended. */
void tf_cordon_drain_ends(struct tf_cordon *cordon);
/* As gpus of tf_cordon_set. The node as a whole: its own cordon and drain; those of domains stay. */
bool tf_cordon_clear(struct tf_cordon *cordon, uint64_t gpus);
/* It is cordoned with that domain; NULL if not. Borrowed. */
const struct tf_domain_cordon *tf_cordon_with(const struct tf_cordon *cordon, const char *domain);
/* From now on, or with another reason. False if it was so already. */
bool tf_cordon_join(struct tf_cordon *cordon, const struct tf_domain_cordon *as);
/* No longer. False if it was not. */
bool tf_cordon_part(struct tf_cordon *cordon, const char *domain);
void tf_domain_cordon_release(struct tf_domain_cordon *cordon);
struct tf_domain_cordon tf_domain_cordon_copy(const struct tf_domain_cordon *from); /* owned by the caller */
/* False if it is that already. */
bool tf_cordon_judge(struct tf_cordon *cordon, enum tf_verdict verdict, struct tf_wall at);
/* NULL, or what is wrong with one that was stored. */
const char *tf_cordon_fault(const struct tf_cordon *cordon);

#endif
