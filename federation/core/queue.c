/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the order of waiting jobs and which of them must be looked at. Jobs that ask for the same are one
 * shape: a failure of its first is the failure of all, until a subcluster has more to give. A job with
 * refusals in force, or with a claim, is a shape of its own. Where a job goes is place.c's. */
#include "federation/core/queue.h"

#include "common/base/cleanup.h"
#include "federation/core/claims.h"
#include "federation/core/image.h"
#include "federation/core/jobs.h"
#include "federation/core/mix.h"
#include "federation/core/refusals.h"
#include "federation/core/reservations.h"

#include <assert.h>

int fed_queue_cmp(const struct job *x, const struct job *y)
{
    if (x->rank != y->rank)
        return x->rank > y->rank ? -1 : 1;
    int64_t a = x->record.submitted.ms, b = y->record.submitted.ms;
    if (a != b)
        return a < b ? -1 : 1;
    return tf_uid_cmp(x->record.uid, y->record.uid);
}

static int waiting_cmp(const struct tf_tree_node *a, const struct tf_tree_node *b)
{
    return fed_queue_cmp(TF_CONTAINER_OF(a, struct job, waiting), TF_CONTAINER_OF(b, struct job, waiting));
}

struct job *fed_queue_first(const struct shape *shape)
{
    assert(shape->first && "a shape has a waiting job");
    return shape->first;
}

static void find_first(struct shape *shape)
{
    struct tf_tree_node *first = tf_tree_first(&shape->waiting);
    shape->first = first ? TF_CONTAINER_OF(first, struct job, waiting) : NULL;
}

int fed_todo_cmp(const struct tf_tree_node *a, const struct tf_tree_node *b)
{
    return fed_queue_cmp(fed_queue_first(TF_CONTAINER_OF(a, struct shape, todo)),
                         fed_queue_first(TF_CONTAINER_OF(b, struct shape, todo)));
}

/* ---- what jobs of one shape have in common: all that decides where they fit ---- */

static void key_strs(struct tf_buf *key, const struct tf_strs *list)
{
    tf_vec_each (item, list)
        tf_buf_cat(key, *item, ",");
    tf_buf_char(key, ';');
}

static void key_topology(struct tf_buf *key, const struct tf_job_spec *spec)
{
    tf_vec_each (rule, &spec->topology)
        tf_buf_fmt(key, "%s/%s/%d/%d,", rule->plane ? rule->plane : "", rule->within, (int)rule->of,
                   (int)rule->mode);
    tf_buf_char(key, ';');
    tf_vec_each (pair, &spec->node_labels)
        tf_buf_cat(key, pair->key, "=", pair->value, ",");
    tf_buf_char(key, ';');
}

void fed_queue_key(struct tf_buf *key, const struct tf_job_spec *spec)
{
    key_strs(key, &spec->group.shape.gpu_models);
    key_topology(key, spec);
    key_strs(key, &spec->clusters);
    key_strs(key, &spec->regions);
}

/* What is reserved for the one is not for the other. */
static void key_reservations(struct tf_buf *key, const struct fed *fed, const struct job *job)
{
    struct fed_uids uids = {0};
    char text[TF_UID_TEXT];
    if (tf_is_reservation(job->record.spec))
        tf_buf_str(key, "reserves;");
    fed_reservations_of(fed, job, &uids);
    tf_vec_each (uid, &uids) {
        tf_uid_format(*uid, text);
        tf_buf_cat(key, text, ";");
    }
    tf_vec_release(&uids);
}

static char *shape_key(const struct fed *fed, const struct job *job)
{
    const struct tf_job_spec *s = job->record.spec;
    const struct tf_shape *shape = &s->group.shape;
    struct tf_buf key = TF_BUF_INIT;
    tf_buf_int(&key, job->rank);
    tf_buf_char(&key, ';');
    tf_buf_ints(&key, s->elastic.min, s->elastic.max, s->elastic.step, s->grow);
    tf_buf_char(&key, ';');
    tf_buf_ints(&key, shape->gpus, shape->gpu_memory, shape->cpu, shape->memory, s->max_runtime,
                s->max_nodes);
    tf_buf_char(&key, ';');
    fed_queue_key(&key, s);
    key_reservations(&key, fed, job);
    if (fed_refusals_any(job) || job->record.claims_in) {
        char uid[TF_UID_TEXT];
        tf_uid_format(job->record.uid, uid);
        tf_buf_str(&key, uid);
    }
    return tf_buf_take(&key);
}

/* Takes the key. */
static struct shape *shape_add(struct fed *fed, char *key)
{
    struct shape *shape = tf_calloc(1, sizeof *shape);
    shape->key = key;
    tf_tree_init(&shape->waiting, waiting_cmp);
    HASH_ADD_KEYPTR(hh, fed->shapes, shape->key, strlen(shape->key), shape);
    return shape;
}

static struct shape *shape_of(struct fed *fed, const struct job *job)
{
    TF_AUTO_FREE char *key = shape_key(fed, job);
    struct shape *shape = NULL;
    HASH_FIND_STR(fed->shapes, key, shape);
    if (shape)
        return shape;
    return shape_add(fed, TF_STEAL(key));
}

static void shape_destroy(struct fed *fed, struct shape *shape)
{
    assert(!tf_tree_linked(&shape->todo));
    HASH_DELETE(hh, fed->shapes, shape);
    tf_vec_release(&shape->verdicts);
    free(shape->key);
    free(shape);
}

/* ---- filing ---- */

/* Some job of this demand must be considered. */
static void mark_due(struct fed *fed, struct shape *shape)
{
    if (!tf_tree_linked(&shape->todo))
        tf_tree_insert(&fed->todo, &shape->todo);
}

void fed_queue_considered(struct fed *fed, struct shape *shape)
{
    if (tf_tree_linked(&shape->todo))
        tf_tree_remove(&fed->todo, &shape->todo);
}

void fed_queue_add(struct fed *fed, struct job *job)
{
    assert(!job->shape && fed_job_is_waiting(job));
    struct shape *shape = shape_of(fed, job);
    fed_queue_considered(fed, shape); /* its place may change with its first job */
    job->shape = shape;
    tf_tree_insert(&shape->waiting, &job->waiting);
    find_first(shape);
    mark_due(fed, shape);
    fed_claims_queued(fed, job);
    fed_mix_touch(fed);
}

void fed_queue_remove(struct fed *fed, struct job *job)
{
    struct shape *shape = job->shape;
    if (!shape)
        return;
    bool marked = tf_tree_linked(&shape->todo);
    fed_queue_considered(fed, shape);
    tf_tree_remove(&shape->waiting, &job->waiting);
    find_first(shape);
    job->shape = NULL;
    fed_claims_touch(fed);
    fed_mix_touch(fed);
    if (shape->waiting.count == 0)
        shape_destroy(fed, shape);
    else if (marked)
        mark_due(fed, shape);
}

void fed_queue_rebuild(struct fed *fed)
{
    for (struct job *job = fed_job_first(fed); job; job = fed_job_following(job)) {
        bool waits = job->shape != NULL;
        fed_queue_remove(fed, job);
        job->rank = tf_classes_rank(&fed->settings.policy.classes, job->record.spec->priority);
        if (waits)
            fed_queue_add(fed, job);
    }
}

struct shape *fed_queue_next(const struct fed *fed)
{
    struct tf_tree_node *first = tf_tree_first(&fed->todo);
    return first ? TF_CONTAINER_OF(first, struct shape, todo) : NULL;
}

void fed_queue_reconsider(struct fed *fed)
{
    for (struct shape *shape = fed->shapes; shape; shape = shape->hh.next)
        mark_due(fed, shape);
}

void fed_queue_release(struct fed *fed)
{
    struct shape *shape, *next;
    tf_tree_init(&fed->todo, fed_todo_cmp);
    HASH_ITER (hh, fed->shapes, shape, next) {
        memset(&shape->todo, 0, sizeof shape->todo);
        shape_destroy(fed, shape);
    }
}

/* ---- images ---- */

static void image_verdict(struct tf_image *image, struct verdict *v)
{
    tf_image_open(image, v);
    tf_image_number(image, &v->capacity);
    tf_image_number(image, &v->change);
    tf_image_number(image, &v->fits);
    tf_image_number(image, &v->kept);
    tf_image_number(image, &v->level);
    tf_image_number(image, &v->free);
    tf_image_number(image, &v->below);
    tf_image_number(image, &v->count);
    tf_image_number(image, &v->model);
    tf_image_number(image, &v->number);
    tf_image_number(image, &v->domains);
    tf_image_number(image, &v->good_until);
    tf_image_close(image);
}

static void image_waiting_job(struct tf_image *image, struct fed *fed, struct shape *shape, struct job *job)
{
    struct tf_uid uid = {{0}};
    if (job)
        uid = job->record.uid;
    tf_image_uid(image, &uid);
    if (job || tf_image_failed(image))
        return;
    job = fed_job_by_uid(fed, uid);
    if (!job || job->shape) {
        tf_image_fail(image, "the queue names a job that is not there");
        return;
    }
    job->shape = shape;
    tf_tree_insert(&shape->waiting, &job->waiting);
}

static void image_waiting(struct tf_image *image, struct fed *fed, struct shape *shape)
{
    uint64_t count = tf_image_count(image, shape->waiting.count);
    struct tf_tree_node *at = tf_tree_first(&shape->waiting);
    for (; count > 0 && !tf_image_failed(image); count--) {
        bool reads = tf_image_is_reading(image);
        image_waiting_job(image, fed, shape, reads ? NULL : TF_CONTAINER_OF(at, struct job, waiting));
        at = reads ? NULL : tf_tree_next(at);
    }
    find_first(shape);
}

static void image_shape(struct tf_image *image, struct fed *fed, struct shape *shape)
{
    tf_image_open(image, shape);
    tf_image_skip(image, &shape->key, "written before");
    tf_image_skip(image, &shape->hh, "filed by its key");
    tf_image_skip(image, &shape->waiting, "one by one");
    tf_image_skip(image, &shape->first, "the first of them");
    image_waiting(image, fed, shape);
    tf_image_skip(image, &shape->todo, "filed if it was:");
    bool todo = tf_image_flag(image, tf_tree_linked(&shape->todo));
    tf_image_number(image, &shape->failed);
    tf_image_list(image, &shape->verdicts, image_verdict);
    tf_image_close(image);
    if (tf_image_failed(image))
        return;
    if (!shape->first)
        tf_image_fail(image, "a demand has no job");
    else if (todo)
        mark_due(fed, shape);
}

/* In the order in which they are gone through. */
void fed_queue_image(struct tf_image *image, struct fed *fed)
{
    uint64_t count = tf_image_count(image, HASH_COUNT(fed->shapes));
    struct shape *shape = tf_image_is_reading(image) ? NULL : fed->shapes;
    tf_image_skip(image, &fed->shapes, "one by one");
    tf_image_skip(image, &fed->todo, "made of the shapes");
    for (; count > 0 && !tf_image_failed(image); count--) {
        char *key = NULL;
        tf_image_string(image, shape ? &shape->key : &key);
        if (tf_image_failed(image) || (!shape && !key))
            return;
        image_shape(image, fed, shape ? shape : shape_add(fed, key));
        shape = shape ? shape->hh.next : NULL;
    }
}
