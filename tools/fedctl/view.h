/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDCTL_VIEW_H
#define TF_FEDCTL_VIEW_H

#include "common/base/arena.h"
#include "common/base/row.h"
#include "common/wire/api.h"

/* What -o json and -o yaml show: documents described by tables of rows, with the names of manifests, times in
 * UTC, apiVersion and kind. Append only: scripts read them. */
struct view {
    const struct tf_table *table;
    size_t size;
    /* Fills document (zeroed) from the object; strings are borrowed from it or from the arena. Documents are
     * never released. */
    void (*fill)(const void *object, void *document, struct tf_arena *arena);
};

extern const struct view view_job;         /* struct tf_job_view */
extern const struct view view_reservation; /* the same of a reservation */
extern const struct view view_cluster;     /* struct tf_cluster_info */
extern const struct view view_node;        /* struct tf_node_info */
extern const struct view view_drain;       /* struct drain (drains.h) */
extern const struct view view_gpu;         /* struct gpu */
extern const struct view view_instance;    /* struct tf_instance_info */
extern const struct view view_move;        /* struct move (migration.h) */
/* One event of a job. */
struct job_event {
    struct tf_uid uid;
    char *job; /* TENANT/NAME */
    struct tf_job_event event;
    uint64_t number; /* of the job's events, from 0 */
    int64_t sort_ms; /* its moment, or that of a later one that happened before it */
};
void job_event_release(struct job_event *event);
extern const struct view view_event; /* struct job_event */

extern const struct tf_table view_idle_table;       /* struct tf_idle_causes, in clusters and nodes */
extern const struct view view_explain;              /* struct tf_explain_reply */
extern const struct view view_manifest;             /* struct tf_job_manifest */
extern const struct view view_reservation_manifest; /* the same of a reservation */
/* Of the two the one that it is. */
static inline const struct view *view_of_manifest(const struct tf_job_manifest *manifest)
{
    return tf_is_reservation(&manifest->spec) ? &view_reservation_manifest : &view_manifest;
}

/* A document as JSON or as YAML; both end with a newline. */
void view_json(const struct view *view, const void *object, struct tf_buf *buf);
void view_yaml(const struct view *view, const void *object, struct tf_buf *buf);
void view_line(const struct view *view, const void *object, struct tf_buf *buf); /* JSON in one line */
void view_table_json(const struct tf_table *table, const void *document, struct tf_buf *buf);
void view_table_yaml(const struct tf_table *table, const void *document, struct tf_buf *buf);

/* The pieces of a list: begin, items, end. */
void view_list_begin(bool json, struct tf_buf *buf);
void view_list_item(const struct view *view, const void *object, bool json, bool first, struct tf_buf *buf);
void view_list_end(bool json, bool empty, struct tf_buf *buf);

/* ---- for the fill functions ---- */

char *view_time(struct tf_wall at, struct tf_arena *arena); /* NULL when not set */
char *view_uid(struct tf_uid uid, struct tf_arena *arena);  /* NULL when none */
/* The indices of a set, as numbers in a list of texts. */
struct tf_strs view_gpus(uint64_t set, struct tf_arena *arena);
char *view_word(const char *word); /* constant text as a field of a document; "" gives NULL */

#endif
