/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_FEDCTL_MIGRATION_H
#define TF_FEDCTL_MIGRATION_H

#include "tools/fedctl/fedctl.h"
#include "tools/fedctl/listing.h"

/* Migrations, as they are asked for and shown: a line a move. */

/* One move, with its chain; or that of a whole job to another cluster. Borrowed. */
struct move {
    const char *cluster;
    const struct tf_migration *chain;
    const struct tf_move *move;
    const struct tf_job_move *job; /* then the others are NULL */
};

/* "1a2b3c4d": as much of an id as people type. */
enum { MIGRATION_ID_TEXT = 9 };
const char *migration_id(struct tf_uid id, char text[MIGRATION_ID_TEXT]);
/* Asks all clusters (or that of the options) for the chains they know. Gives the exit code; reply is owned by
 * the caller. */
int migrations_ask(struct fedctl *ctl, struct tf_reply *reply);
/* The same for whoever follows what was begun: a federation that is away is waited for, which is told once.
 */
int migrations_await(struct fedctl *ctl, struct tf_reply *reply);
/* The one that the word names, by the begin of its id, or of a job by "TENANT/NAME". Gives the exit code,
 * after saying why there is none. */
struct migration_found {
    const struct tf_chain_info *info; /* or */
    const struct tf_job_move *job;
};
int migration_find(const struct fedctl *ctl, const struct tf_migrate_reply *reply, const char *word,
                   struct migration_found *found);
void migration_list(struct listing *listing, const struct tf_chain_info *info);
/* An order about the migration of that name. Gives the exit code. */
int migration_order(struct fedctl *ctl, const char *word, enum tf_migrate_verb verb, const char *done);
/* Between two looks at what goes on. */
void migration_pause(void);
/* "job TENANT/NAME --to CLUSTER". Gives the exit code. */
int migrate_job(struct fedctl *ctl);
/* Ends such a move of that job, if there is a way back. Gives the exit code. */
int migrate_job_abort(struct fedctl *ctl, const char *word);

#endif
