/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_ENGINE_LOGS_H
#define TF_ENGINE_LOGS_H

#include "common/base/error.h"
#include "common/model/id.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What an instance of the process engine printed, read from its files: any thread but the loop's, one thread
 * a log. Only the newest part is kept on the disk (two files a stream); a reader that is slower than the
 * writer loses what was dropped meanwhile, and is told. */
enum tf_output_stream { TF_STREAM_OUT, TF_STREAM_ERR };

struct tf_instance_log;

/* Begins `tail` bytes before the end, at the next line; -1 = with all that is kept. TF_ERR_NOT_FOUND: no such
 * instance here (any more). */
struct tf_instance_log *tf_instance_log_open(const char *state_dir, const struct tf_instance_id *id,
                                             enum tf_output_stream stream, int64_t tail,
                                             struct tf_error *err);
void tf_instance_log_close(struct tf_instance_log *log); /* NULL is fine */

/* The next bytes; 0 = none at present: to follow, call again later (the files do not announce themselves;
 * every 200 ms is often enough). *gap: bytes before these were lost. -1: cannot be read. */
ssize_t tf_instance_log_read(struct tf_instance_log *log, char *bytes, size_t size, bool *gap,
                             struct tf_error *err);
/* The instance has ended: asked before a read that then gives 0, there is nothing more to come. */
bool tf_instance_log_ended(const struct tf_instance_log *log);

#endif
