/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the memory of specs that have several owners. */
#include "common/model/spec.h"

#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "common/model/manifest.h"

#include <assert.h>
#include <stdint.h>

struct shared {
    size_t owners;
    size_t weight; /* 0 = not counted yet */
    struct tf_job_spec spec;
};

/* Nobody's, so that it needs no count: it is the one thing here that threads may share. */
static const struct shared none;

/* The count is no part of what must not change. */
static struct shared *shared_of(const struct tf_job_spec *spec)
{
    return TF_CONTAINER_OF((struct tf_job_spec *)(uintptr_t)spec, struct shared, spec);
}

const struct tf_job_spec *tf_spec_share(struct tf_job_spec *spec)
{
    struct shared *shared = tf_calloc(1, sizeof *shared);
    shared->owners = 1;
    shared->spec = *spec;
    *spec = (struct tf_job_spec){0};
    return &shared->spec;
}

const struct tf_job_spec *tf_spec_take(const struct tf_job_spec *spec)
{
    if (!spec || spec == &none.spec)
        return spec;
    struct shared *shared = shared_of(spec);
    assert(shared->owners > 0);
    shared->owners++;
    return spec;
}

void tf_spec_drop(const struct tf_job_spec *spec)
{
    if (!spec || spec == &none.spec)
        return;
    struct shared *shared = shared_of(spec);
    assert(shared->owners > 0);
    if (--shared->owners > 0)
        return;
    tf_job_spec_release(&shared->spec);
    free(shared);
}

void tf_spec_set(const struct tf_job_spec **to, const struct tf_job_spec *spec)
{
    const struct tf_job_spec *before = *to;
    *to = tf_spec_take(spec);
    tf_spec_drop(before);
}

struct tf_job_spec *tf_spec_own(const struct tf_job_spec **shared)
{
    if (!*shared || *shared == &none.spec || shared_of(*shared)->owners > 1) {
        struct tf_job_spec copy = {0};
        if (*shared)
            tf_job_spec_copy(&copy, *shared);
        tf_spec_drop(*shared);
        *shared = tf_spec_share(&copy);
    }
    struct shared *own = shared_of(*shared);
    own->weight = 0;
    return &own->spec;
}

bool tf_spec_eq(const struct tf_job_spec *a, const struct tf_job_spec *b)
{
    return a == b || (a && b && tf_job_spec_eq(a, b));
}

size_t tf_spec_weight(const struct tf_job_spec *spec)
{
    if (!spec || spec == &none.spec)
        return 0;
    struct shared *shared = shared_of(spec);
    if (shared->weight == 0)
        shared->weight = tf_table_weight(&tf_job_spec_table, spec);
    return shared->weight;
}

const struct tf_job_spec *tf_spec_none(void)
{
    return &none.spec;
}
