/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDCTL_RESOURCE_H
#define TF_FEDCTL_RESOURCE_H

#include "tools/fedctl/fedctl.h"
#include "tools/fedctl/listing.h"
#include "tools/fedctl/target.h"

/* Kinds of things that can be listed: how one is shown (struct resource, for the listing), and how they are
 * fetched. */

extern const struct resource resource_jobs, resource_archive, resource_clusters, resource_nodes,
    resource_gpus, resource_instances, resource_reservations, resource_migrations, resource_drains,
    resource_archived_reservations;

/* Fetch what the words and options name, and add it to the listing. Give the exit code. */
int fetch_jobs(struct fedctl *ctl, struct listing *listing);
int fetch_archive(struct fedctl *ctl, struct listing *listing);
int fetch_archived_reservations(struct fedctl *ctl, struct listing *listing);
int fetch_clusters(struct fedctl *ctl, struct listing *listing);
int fetch_nodes(struct fedctl *ctl, struct listing *listing);
int fetch_gpus(struct fedctl *ctl, struct listing *listing);
int fetch_instances(struct fedctl *ctl, struct listing *listing);
int fetch_reservations(struct fedctl *ctl, struct listing *listing);
int fetch_drains(struct fedctl *ctl, struct listing *listing);
/* Jobs or reservations; those that are named, whatever they are. */
int fetch_of_kind(struct fedctl *ctl, struct listing *listing, bool reservations);
int fetch_migrations(struct fedctl *ctl, struct listing *listing);

/* By kind. */
struct fetcher {
    const struct resource *resource;
    int (*fetch)(struct fedctl *ctl, struct listing *listing);
};
extern const struct fetcher fetchers[];

/* Says of which subclusters something is missing. Gives FEDCTL_DONE when there is none. */
int tell_missing(const struct tf_strs *clusters, const char *what);
/* Says that the node word is not there, or that nobody knows since its cluster is among the missing. Gives
 * the exit code. */
int tell_no_node(const char *word, const struct tf_strs *missing);
/* Asks for the nodes that the options and words name, in *reply (owned by the caller), and tells of
 * subclusters that did not answer. each is called for each node. Gives the exit code. */
typedef void node_each_f(void *arg, const struct tf_node_info *info);
int fetch_each_node(struct fedctl *ctl, node_each_f *each, void *arg);

/* The filter that the options say: tenant, cluster, selector, phase. */
int fetch_filter(const struct fedctl *ctl, struct tf_job_filter *filter, struct tf_error *err);
/* Jobs a request, by --chunk and --limit. */
int32_t fetch_page_size(const struct fedctl *ctl);
/* Asks for page after page of request->list; add takes what is in the reply and gives the next token (owned).
 */
int fetch_pages(struct fedctl *ctl, struct tf_request *request, struct listing *listing,
                char *(*add)(struct tf_reply *reply, struct listing *listing));

/* "Ready"; "Away" (not attached), "Stopped" (politely), "Lost", "Waiting" (attached, nothing known yet),
 * "StoreDown" (attached, and its own store does not answer it), "Forgotten"; with ",Cordoned", ",Frozen". */
enum { CLUSTER_STATE_TEXT = 48 };
const char *cluster_state(const struct tf_cluster_info *info, char text[CLUSTER_STATE_TEXT]);
enum cell_style cluster_style(const struct tf_cluster_info *info);

enum cell_style phase_style(enum tf_phase phase);
enum cell_style member_style(enum tf_member_state state);
/* "Running,Short" */
void phase_text(const struct tf_job_view *job, struct tf_buf *buf);
/* "NO_SUCH_MODEL: no cluster has B300"; for a job that has ended, how. */
void reason_text(const struct tf_job_view *job, struct tf_buf *buf);
void job_name(const struct tf_job_view *job, struct tf_buf *buf);

/* "Pending", "Kept", "Stopping", "Used" (all of it by jobs of its owner), "Over". */
const char *reservation_state(const struct tf_job_view *job);
/* "search/rank", "search, team=ranking" or "search": whose jobs may start in it. */
void reservation_owner(const struct tf_owner *owner, struct tf_buf *buf);
struct tf_wall reservation_end(const struct tf_job_view *job); /* when it expires */

/* The members of a job, of a listing or a description. */
extern const struct column member_columns[];
extern const size_t member_column_count;
void member_cells(const struct tf_member *member, struct tf_wall now, struct columns *columns);

#endif
