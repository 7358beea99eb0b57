/* SPDX-License-Identifier: Apache-2.0 */
/* Writing lines of the journal. Old days are removed by the engine. */
#include "subcluster/engine/state/journal.h"

#include "common/base/buf.h"
#include "subcluster/engine/state/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

static void put_text(struct tf_buf *line, const char *key, const char *value)
{
    tf_buf_fmt(line, ",\"%s\":", key);
    tf_buf_json(line, value ? value : "");
}

static void put_line(struct tf_buf *line, enum tf_journal_event event, const struct tf_engine_spec *spec,
                     const struct tf_exit_record *end, struct tf_wall wall)
{
    char uid[TF_UID_TEXT];
    tf_uid_format(spec->id.uid, uid);
    tf_buf_fmt(line, "{\"event\":\"%s\",\"uid\":\"%s\",\"epoch\":%" PRIu64 ",\"index\":%" PRIu32,
               event == TF_JOURNAL_START ? "start" : "stop", uid, spec->id.epoch, spec->id.index);
    tf_buf_fmt(line, ",\"attempt\":%" PRIu32 ",\"wall\":%" PRId64 ",\"boottime\":%" PRId64, spec->id.attempt,
               wall.ms, tf_boottime_ms());
    put_text(line, "tenant", spec->tenant);
    put_text(line, "name", spec->name);
    put_text(line, "node", spec->node);
    tf_buf_str(line, ",\"gpus\":[");
    const char *comma = "";
    for (int gpu = 0; gpu < TF_NODE_GPUS_MAX; gpu++)
        if (spec->gpus >> gpu & 1) {
            tf_buf_fmt(line, "%s%d", comma, gpu);
            comma = ",";
        }
    tf_buf_fmt(line, "],\"pid\":%d", (int)getpid());
    if (end)
        tf_buf_fmt(line, ",\"cause\":\"%s\",\"code\":%d,\"signal\":%d", tf_engine_cause_name(end->cause),
                   end->code, end->signal);
    tf_buf_str(line, "}\n");
}

int tf_journal_add(int root, enum tf_journal_event event, const struct tf_engine_spec *spec,
                   const struct tf_exit_record *end, struct tf_error *err)
{
    struct tf_wall wall = tf_wall_read();
    time_t seconds = (time_t)(wall.ms / 1000);
    struct tm day;
    char path[64];
    gmtime_r(&seconds, &day);
    strftime(path, sizeof path, "journal/%Y-%m-%d.log", &day);
    mkdirat(root, "journal", 0700);
    int fd = openat(root, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return tf_error_errno(err, TF_ERR_IO, errno, "cannot open %s in the state folder", path);
    TF_AUTO_BUF line = TF_BUF_INIT;
    put_line(&line, event, spec, end, wall);
    ssize_t n = write(fd, line.data, line.len);
    int rc = n == (ssize_t)line.len && fsync(fd) == 0 ? 0 : -1;
    int why = errno;
    close(fd);
    return rc ? tf_error_errno(err, TF_ERR_IO, why, "cannot write to %s in the state folder", path) : 0;
}
