/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_EVENTLOG_RECORDER_H
#define TF_EVENTLOG_RECORDER_H

#include "common/eventlog/config.h"
#include "common/model/core.h"

/* Records what a core is given and a digest of what it decides, so that the same decisions can be made again
 * elsewhere (replay.h). Each file begins with the image of the core, so that old files can go and each can be
 * replayed alone: a new one is begun with each new core, and when the events of the present one exceed
 * maxBytes and the image it began with.
 *
 * It never stands in the way: when a file cannot be written (a full disk), one error is logged and recording
 * stops until the daemon is started again; the file is then torn, and good up to there. Writes go to the
 * kernel with each step and are not flushed to the disk: a crash of the daemon loses nothing, one of the
 * machine the last seconds.
 *
 * The files hold whatever jobs carry, their environments included: they and their folder are made for the
 * owner alone. */
struct tf_recorder;

/* Makes the folder if need be, and locks it against other recorders of that name. name begins the names of
 * the files: NAME-000000000001.events. config is borrowed during the call. -1 and *err if that fails; with
 * no folder configured *recorder is NULL, which is fine everywhere below. */
int tf_recorder_create(const struct tf_eventlog_config *config, const struct tf_core_ops *ops,
                       const char *name, struct tf_recorder **recorder, struct tf_error *err);
void tf_recorder_destroy(struct tf_recorder *recorder);

/* A core was made; is gone. */
void tf_recorder_begin(struct tf_recorder *recorder, void *core);
void tf_recorder_end(struct tf_recorder *recorder);
/* Around a step: before the event is taken, and before the actions are carried out. */
void tf_recorder_event(struct tf_recorder *recorder, struct tf_now now, void *event);
void tf_recorder_actions(struct tf_recorder *recorder, void *core, void *actions);

/* Whether it has stopped by itself; of NULL: no. The daemons show it in /metrics. */
bool tf_recorder_stopped(const struct tf_recorder *recorder);

/* The digest of an action. scratch is used and left empty. */
uint64_t tf_action_digest(const struct tf_core_ops *ops, void *action, struct tf_buf *scratch);

#endif
