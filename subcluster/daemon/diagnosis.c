/* SPDX-License-Identifier: Apache-2.0 */
/* Why a link to the federation cannot be made, when certificates may be the reason: gRPC does not say. It
 * takes a handshake of its own, which blocks, so it has a thread; one at a time, and seldom. */
#include "subcluster/daemon/private.h"

#include "common/base/cleanup.h"

#include <pthread.h>

enum {
    HANDSHAKE_MS = 2 * TF_SECOND,
    AGAIN_MS = 30 * TF_SECOND,
};

struct diagnosis {
    struct subd *subd;
    pthread_t thread;
    bool running;
    struct tf_mono next; /* not before */
    char *address;
    struct tf_tls_files tls;
    bool found;
    struct tf_error error;
    struct tf_inbox_item over;
};

static void *look(void *arg)
{
    struct diagnosis *d = arg;
    d->error = (struct tf_error)TF_ERROR_INIT;
    d->found = tf_tls_diagnose(d->address, &d->tls, HANDSHAKE_MS, &d->error) != 0;
    tf_loop_post(d->subd->loop, &d->over);
    return NULL;
}

static void on_over(struct tf_inbox_item *item)
{
    struct diagnosis *d = TF_CONTAINER_OF(item, struct diagnosis, over);
    pthread_join(d->thread, NULL);
    d->running = false;
    if (d->found)
        tf_log_error("no link to the federation can be made: the work runs on error=%s", d->error.text);
}

void subd_diagnose(struct subd *subd, const char *address)
{
    struct diagnosis *d = subd->diagnosis;
    struct tf_mono now = tf_loop_now(subd->loop).mono;
    if (!d) {
        d = subd->diagnosis = tf_calloc(1, sizeof *d);
        d->subd = subd;
        d->over.run = on_over;
    }
    if (d->running || now.ms < d->next.ms)
        return;
    tf_str_set(&d->address, address);
    tf_tls_files_copy(&d->tls, &subd->config.tls);
    d->next.ms = now.ms + AGAIN_MS;
    d->running = pthread_create(&d->thread, NULL, look, d) == 0;
}

void subd_diagnosis_destroy(struct subd *subd)
{
    struct diagnosis *d = subd->diagnosis;
    if (!d)
        return;
    while (d->running)
        tf_loop_turn(subd->loop, TF_SECOND);
    tf_tls_files_release(&d->tls);
    free(d->address);
    free(d);
    subd->diagnosis = NULL;
}
