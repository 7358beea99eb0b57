/* SPDX-License-Identifier: Apache-2.0 */
/* What is in each struct of jobs, nodes and profiles. Records and messages are image_record.c's. */
#include "common/model/image.h"

#include "common/model/manifest.h"

/* ---- identities and amounts ---- */

void tf_image_uid(struct tf_image *image, struct tf_uid *uid)
{
    tf_image_bytes(image, uid, sizeof *uid);
}

void tf_image_term(struct tf_image *image, struct tf_term *term)
{
    tf_image_open(image, term);
    tf_image_number(image, &term->era);
    tf_image_number(image, &term->revision);
    tf_image_close(image);
}

void tf_image_now(struct tf_image *image, struct tf_now *now)
{
    tf_image_open(image, now);
    tf_image_number(image, &now->mono);
    tf_image_number(image, &now->wall);
    tf_image_close(image);
}

void tf_image_instance_id(struct tf_image *image, struct tf_instance_id *id)
{
    tf_image_open(image, id);
    tf_image_uid(image, &id->uid);
    tf_image_number(image, &id->epoch);
    tf_image_number(image, &id->index);
    tf_image_number(image, &id->attempt);
    tf_image_close(image);
}

void tf_image_vector(struct tf_image *image, struct tf_vector *vector)
{
    tf_image_open(image, vector);
    tf_image_number(image, &vector->gpus);
    tf_image_number(image, &vector->slots);
    tf_image_number(image, &vector->cpu);
    tf_image_number(image, &vector->memory);
    tf_image_close(image);
}

/* ---- jobs ---- */

void tf_image_elastic(struct tf_image *image, struct tf_elastic *elastic)
{
    tf_image_open(image, elastic);
    tf_image_number(image, &elastic->min);
    tf_image_number(image, &elastic->max);
    tf_image_number(image, &elastic->step);
    tf_image_close(image);
}

void tf_image_spec(struct tf_image *image, struct tf_job_spec *spec)
{
    tf_image_open(image, spec);
    tf_image_table(image, &tf_job_spec_table, spec);
    tf_image_close(image);
}

void tf_image_shared_spec(struct tf_image *image, const struct tf_job_spec **shared)
{
    bool there = tf_image_flag(image, *shared != NULL);
    tf_image_told(image, shared, sizeof *shared);
    if (!there)
        return;
    struct tf_job_spec spec = {0};
    if (!tf_image_is_reading(image))
        spec = **shared; /* lent */
    tf_image_spec(image, &spec);
    if (tf_image_is_reading(image))
        *shared = tf_spec_share(&spec);
}

/* As the only thing said of a spec. */
void tf_image_group(struct tf_image *image, struct tf_group *group)
{
    struct tf_job_spec whole = {.group = *group};
    tf_image_told(image, group, sizeof *group);
    tf_image_spec(image, &whole);
    *group = whole.group;
}

void tf_image_manifest(struct tf_image *image, struct tf_job_manifest *manifest)
{
    tf_image_open(image, manifest);
    tf_image_string(image, &manifest->tenant);
    tf_image_string(image, &manifest->name);
    tf_image_pairs(image, &manifest->labels);
    tf_image_spec(image, &manifest->spec);
    tf_image_close(image);
}

/* ---- nodes ---- */

static void image_plane(struct tf_image *image, struct tf_plane *plane)
{
    tf_image_open(image, plane);
    tf_image_string(image, &plane->name);
    tf_image_strings(image, &plane->levels);
    tf_image_close(image);
}

void tf_image_planes(struct tf_image *image, struct tf_planes *planes)
{
    tf_image_list(image, planes, image_plane);
}

static void image_foreign(struct tf_image *image, struct tf_foreign *foreign)
{
    tf_image_open(image, foreign);
    tf_image_number(image, &foreign->gpus);
    tf_image_number(image, &foreign->slots);
    tf_image_number(image, &foreign->cpu);
    tf_image_number(image, &foreign->memory);
    tf_image_close(image);
}

void tf_image_node(struct tf_image *image, struct tf_node *node)
{
    tf_image_open(image, node);
    tf_image_string(image, &node->name);
    tf_image_string(image, &node->address);
    tf_image_string(image, &node->model);
    tf_image_number(image, &node->gpu_memory);
    tf_image_vector(image, &node->capacity);
    tf_image_pairs(image, &node->labels);
    tf_image_strings(image, &node->domains);
    image_foreign(image, &node->foreign);
    tf_image_number(image, &node->bad_gpus);
    tf_image_number(image, &node->suspect_gpus);
    tf_image_number(image, &node->state);
    tf_image_close(image);
}

/* ---- profiles ---- */

void tf_image_node_class(struct tf_image *image, struct tf_node_class *class)
{
    tf_image_open(image, class);
    tf_image_string(image, &class->model);
    tf_image_number(image, &class->gpu_memory);
    tf_image_strings(image, &class->domains);
    tf_image_pairs(image, &class->labels);
    tf_image_close(image);
}

static void image_level_vector(struct tf_image *image, struct tf_level_vector *at)
{
    tf_image_open(image, at);
    tf_image_number(image, &at->level);
    tf_image_vector(image, &at->have);
    tf_image_close(image);
}

static void image_reserved(struct tf_image *image, struct tf_reserved *reserved)
{
    tf_image_open(image, reserved);
    tf_image_uid(image, &reserved->uid);
    tf_image_number(image, &reserved->level);
    tf_image_vector(image, &reserved->more);
    tf_image_close(image);
}

void tf_image_profile_row(struct tf_image *image, struct tf_profile_row *row)
{
    tf_image_open(image, row);
    tf_image_number(image, &row->id);
    tf_image_number(image, &row->class);
    tf_image_number(image, &row->count);
    tf_image_list(image, &row->levels, image_level_vector);
    tf_image_number(image, &row->claim_rank);
    tf_image_number(image, &row->claim_until);
    tf_image_list(image, &row->reserved, image_reserved);
    tf_image_close(image);
}

static void image_short(struct tf_image *image, struct tf_short_demand *demand)
{
    tf_image_open(image, demand);
    tf_image_uid(image, &demand->uid);
    tf_image_number(image, &demand->rank);
    tf_image_number(image, &demand->missing);
    tf_image_number(image, &demand->fits);
    tf_image_close(image);
}

static void image_cost(struct tf_image *image, struct tf_level_cost *cost)
{
    tf_image_open(image, cost);
    tf_image_number(image, &cost->level);
    tf_image_number(image, &cost->gpus);
    tf_image_number(image, &cost->since);
    tf_image_number(image, &cost->before);
    tf_image_close(image);
}

static void image_idle(struct tf_image *image, struct tf_idle_causes *idle)
{
    tf_image_open(image, idle);
    tf_image_number(image, &idle->deliverable);
    tf_image_number(image, &idle->count);
    tf_image_number(image, &idle->cpu_memory);
    tf_image_number(image, &idle->topology);
    tf_image_number(image, &idle->policy);
    tf_image_number(image, &idle->step);
    tf_image_number(image, &idle->health);
    tf_image_close(image);
}

static void image_health(struct tf_image *image, struct tf_health_counts *health)
{
    tf_image_open(image, health);
    tf_image_number(image, &health->nodes);
    tf_image_number(image, &health->ready);
    tf_image_number(image, &health->unreachable);
    tf_image_number(image, &health->lost);
    tf_image_number(image, &health->cordoned);
    tf_image_number(image, &health->draining);
    tf_image_number(image, &health->bad_gpus);
    tf_image_number(image, &health->gpus);
    tf_image_number(image, &health->free_gpus);
    tf_image_number(image, &health->held_gpus);
    tf_image_number(image, &health->foreign_gpus);
    tf_image_number(image, &health->suspect_gpus);
    tf_image_close(image);
}

void tf_image_generation(struct tf_image *image, struct tf_generation *generation)
{
    tf_image_open(image, generation);
    tf_image_number(image, &generation->owner);
    tf_image_number(image, &generation->counter);
    tf_image_close(image);
}

void tf_image_vacatable(struct tf_image *image, struct tf_vacatable *v)
{
    tf_image_open(image, v);
    tf_image_number(image, &v->class);
    tf_image_number(image, &v->nodes);
    tf_image_vector(image, &v->room);
    tf_image_number(image, &v->cost);
    tf_image_close(image);
}

static void image_emptying(struct tf_image *image, struct tf_emptying *e)
{
    tf_image_open(image, e);
    tf_image_uid(image, &e->chain);
    tf_image_string(image, &e->owner);
    tf_image_number(image, &e->class);
    tf_image_number(image, &e->nodes);
    tf_image_vector(image, &e->room);
    tf_image_close(image);
}

void tf_image_profile(struct tf_image *image, struct tf_profile *profile)
{
    tf_image_open(image, profile);
    tf_image_generation(image, &profile->base);
    tf_image_generation(image, &profile->generation);
    tf_image_number(image, &profile->full);
    tf_image_term(image, &profile->reflects_term);
    tf_image_number(image, &profile->reflects_n);
    tf_image_planes(image, &profile->planes);
    tf_image_list(image, &profile->classes, tf_image_node_class);
    tf_image_list(image, &profile->rows, tf_image_profile_row);
    tf_image_list(image, &profile->shorts, image_short);
    tf_image_list(image, &profile->costs, image_cost);
    image_idle(image, &profile->idle);
    image_health(image, &profile->health);
    tf_image_list(image, &profile->vacatable, tf_image_vacatable);
    tf_image_strings(image, &profile->moving_for);
    tf_image_list(image, &profile->emptying, image_emptying);
    tf_image_number(image, &profile->brakes);
    tf_image_number(image, &profile->loss_cap);
    tf_image_close(image);
}

void tf_image_summary_record(struct tf_image *image, struct tf_summary_record *record)
{
    tf_image_open(image, record);
    tf_image_string(image, &record->name);
    tf_image_number(image, &record->contact);
    tf_image_generation(image, &record->generation);
    image_health(image, &record->health);
    tf_image_close(image);
}

static void image_migrate_order(struct tf_image *image, struct tf_migrate_order *order)
{
    tf_image_open(image, order);
    tf_image_number(image, &order->verb);
    tf_image_uid(image, &order->id);
    tf_image_uid(image, &order->uid);
    tf_image_number(image, &order->all);
    tf_image_number(image, &order->index);
    tf_image_string(image, &order->from);
    tf_image_string(image, &order->to);
    tf_image_number(image, &order->may_restart);
    tf_image_string(image, &order->reason);
    tf_image_string(image, &order->user);
    tf_image_close(image);
}

static void image_defrag_order(struct tf_image *image, struct tf_defrag_order *order)
{
    tf_image_open(image, order);
    tf_image_number(image, &order->apply);
    tf_image_uid(image, &order->id);
    tf_image_number(image, &order->digest);
    tf_image_string(image, &order->model);
    tf_image_strings(image, &order->nodes);
    tf_image_number(image, &order->worst);
    tf_image_number(image, &order->want);
    tf_image_number(image, &order->total);
    tf_image_number(image, &order->gpus);
    tf_image_number(image, &order->cpu);
    tf_image_number(image, &order->memory);
    tf_image_string(image, &order->plane);
    tf_image_string(image, &order->within);
    tf_image_number(image, &order->max_moves);
    tf_image_number(image, &order->may_restart);
    tf_image_string(image, &order->reason);
    tf_image_string(image, &order->user);
    tf_image_string(image, &order->for_job);
    tf_image_close(image);
}

static void image_drain_order(struct tf_image *image, struct tf_drain_order *drain)
{
    tf_image_open(image, drain);
    tf_image_number(image, &drain->on);
    tf_image_number(image, &drain->dry);
    tf_image_number(image, &drain->force);
    tf_image_number(image, &drain->max_at_once);
    tf_image_number(image, &drain->within);
    tf_image_close(image);
}

static void image_ask(struct tf_image *image, struct tf_ask *ask)
{
    tf_image_open(image, ask);
    tf_image_number(image, &ask->id);
    tf_image_number(image, &ask->kind);
    tf_image_uid(image, &ask->uid);
    tf_image_number(image, &ask->epoch);
    tf_image_number(image, &ask->index);
    tf_image_number(image, &ask->follow);
    tf_image_number(image, &ask->tail_bytes);
    tf_image_string(image, &ask->node);
    tf_image_number(image, &ask->gpus);
    tf_image_number(image, &ask->on);
    tf_image_number(image, &ask->suspect);
    tf_image_string(image, &ask->reason);
    tf_image_number(image, &ask->attempt);
    image_drain_order(image, &ask->drain);
    tf_image_list(image, &ask->place, tf_image_entry);
    tf_image_blob(image, &ask->data, &ask->len);
    tf_image_list(image, &ask->migrate, image_migrate_order);
    tf_image_list(image, &ask->defrag, image_defrag_order);
    tf_image_string(image, &ask->domain);
    tf_image_close(image);
}

void tf_image_down(struct tf_image *image, struct tf_down *down)
{
    tf_image_open(image, down);
    tf_image_number(image, &down->kind);
    tf_image_term(image, &down->term);
    tf_image_number(image, &down->n);
    tf_image_number(image, &down->count);
    tf_image_number(image, &down->highest_epoch);
    tf_image_policy(image, &down->policy);
    tf_image_list(image, &down->entries, tf_image_entry);
    tf_image_number(image, &down->fence_boot_ms);
    image_ask(image, &down->ask);
    tf_image_generation(image, &down->considered);
    tf_image_close(image);
}
