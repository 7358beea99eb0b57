/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the files of one recorder: their names, sizes and ends. What is in a frame is file.c's, what is in an
 * image the cores'. */
#include "common/eventlog/recorder.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "common/eventlog/digest.h"
#include "common/eventlog/file.h"
#include "common/log/log.h"
#include "common/model/image.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".events"
enum { DIGITS = 12 };

struct tf_recorder {
    const struct tf_core_ops *ops;
    char *folder, *name;
    uint64_t max_bytes, files;
    int lock;
    int fd; /* of the present file; -1 = none */
    char *path;
    uint64_t number;       /* of the last file */
    uint64_t state, steps; /* bytes of the present file */
    bool stopped;
    bool waits; /* the event in `frame` waits for its actions */
    struct tf_buf frame, scratch;
};

/* ---- names ---- */

static char *path_of(const struct tf_recorder *r, uint64_t number)
{
    return tf_asprintf("%s/%s-%0*" PRIu64 SUFFIX, r->folder, r->name, DIGITS, number);
}

/* The number in a name of ours; 0 if it is none. */
static uint64_t number_of(const struct tf_recorder *r, const char *file)
{
    size_t prefix = strlen(r->name), len = strlen(file);
    int64_t number;
    if (len != prefix + 1 + DIGITS + strlen(SUFFIX) || !tf_starts_with(file, r->name) ||
        file[prefix] != '-' || strcmp(file + prefix + 1 + DIGITS, SUFFIX) != 0)
        return 0;
    TF_AUTO_FREE char *digits = tf_strndup(file + prefix + 1, DIGITS);
    return tf_parse_int64(digits, 1, INT64_MAX, &number, NULL) ? 0 : (uint64_t)number;
}

/* ---- life ---- */

static int find_last(struct tf_recorder *r, struct tf_error *err)
{
    DIR *folder = opendir(r->folder);
    if (!folder)
        return tf_error_errno(err, TF_ERR_IO, errno, "eventLog.folder %s cannot be read", r->folder);
    struct dirent *entry;
    while ((entry = readdir(folder))) {
        uint64_t number = number_of(r, entry->d_name);
        if (number > r->number)
            r->number = number;
    }
    closedir(folder);
    return 0;
}

/* A lock of the process, which ends with it: one of the open file would live on in children that have not
 * come to their exec, and keep the daemon's successor out. */
static int lock_folder(struct tf_recorder *r, struct tf_error *err)
{
    TF_AUTO_FREE char *path = tf_asprintf("%s/%s.lock", r->folder, r->name);
    if (mkdir(r->folder, 0700) && errno != EEXIST)
        return tf_error_errno(err, TF_ERR_IO, errno, "eventLog.folder %s cannot be made", r->folder);
    r->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (r->lock < 0)
        return tf_error_errno(err, TF_ERR_IO, errno, "eventLog.folder: %s cannot be opened", path);
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(r->lock, F_SETLK, &whole))
        return tf_error_errno(
            err, TF_ERR_CONFLICT, errno,
            "eventLog.folder: another process records there (it holds %s): give each daemon "
            "a folder of its own",
            path);
    return 0;
}

int tf_recorder_create(const struct tf_eventlog_config *config, const struct tf_core_ops *ops,
                       const char *name, struct tf_recorder **recorder, struct tf_error *err)
{
    *recorder = NULL;
    if (!config->folder)
        return 0;
    struct tf_recorder *r = tf_calloc(1, sizeof *r);
    r->ops = ops;
    r->folder = tf_strdup(config->folder);
    r->name = tf_strdup(name);
    r->max_bytes = (uint64_t)config->max_mib << 20;
    r->files = (uint64_t)config->files;
    r->lock = r->fd = -1;
    if (lock_folder(r, err) || find_last(r, err)) {
        tf_recorder_destroy(r);
        return -1;
    }
    *recorder = r;
    return 0;
}

static void close_file(struct tf_recorder *r)
{
    if (r->fd >= 0)
        close(r->fd);
    r->fd = -1;
    r->waits = false;
    free(TF_STEAL(r->path));
}

void tf_recorder_destroy(struct tf_recorder *r)
{
    if (!r)
        return;
    close_file(r);
    if (r->lock >= 0)
        close(r->lock);
    tf_buf_release(&r->frame);
    tf_buf_release(&r->scratch);
    free(r->folder);
    free(r->name);
    free(r);
}

bool tf_recorder_stopped(const struct tf_recorder *r)
{
    return r && r->stopped;
}

/* ---- writing ---- */

static void stop(struct tf_recorder *r, const char *what, const char *why)
{
    tf_log_error("the event log has stopped, and the daemon goes on without it until it is started anew: %s "
                 "path=%s error=%s",
                 what, r->path ? r->path : r->folder, why);
    r->stopped = true;
    close_file(r);
}

static bool write_all(struct tf_recorder *r, const void *bytes, size_t len)
{
    const char *at = bytes;
    while (len > 0) {
        ssize_t n = write(r->fd, at, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            stop(r, "a file cannot be written", strerror(n < 0 ? errno : ENOSPC));
            return false;
        }
        at += n;
        len -= (size_t)n;
    }
    return true;
}

/* Head and payload by one call, so that a crash between two seldom tears them. The payload stands at
 * TF_FRAME_HEAD in frame. */
static bool write_frame(struct tf_recorder *r, enum tf_frame_kind kind)
{
    struct tf_bytes payload = {r->frame.data + TF_FRAME_HEAD, r->frame.len - TF_FRAME_HEAD};
    if (payload.len > UINT32_MAX) {
        stop(r, "the state is too large for one record", "more than 4 GiB");
        return false;
    }
    tf_frame_head(kind, payload, (uint8_t *)r->frame.data);
    return write_all(r, r->frame.data, r->frame.len);
}

static void start_frame(struct tf_recorder *r, struct tf_image *image)
{
    static const char head[TF_FRAME_HEAD];
    tf_buf_clear(&r->frame);
    tf_buf_add(&r->frame, head, sizeof head);
    tf_image_write(image, &r->frame, false);
}

static bool write_header(struct tf_recorder *r, bool continues)
{
    struct tf_image image;
    struct tf_eventlog_header header = {.format = TF_EVENTLOG_FORMAT,
                                        .release = tf_strdup(TF_VERSION),
                                        .core = tf_strdup(r->ops->name),
                                        .name = tf_strdup(r->name),
                                        .number = r->number,
                                        .continues = continues};
    start_frame(r, &image);
    tf_image_eventlog_header(&image, &header);
    tf_image_finish(&image, NULL);
    tf_eventlog_header_release(&header);
    return write_frame(r, TF_FRAME_HEADER);
}

static bool write_state(struct tf_recorder *r, void *core)
{
    struct tf_image image;
    struct tf_error err = TF_ERROR_INIT;
    start_frame(r, &image);
    r->ops->image_state(&image, &core);
    if (tf_image_finish(&image, &err)) {
        stop(r, "the state cannot be written", err.text);
        return false;
    }
    r->state = r->frame.len;
    return write_frame(r, TF_FRAME_STATE);
}

/* The number is that of the file begun last. */
static void drop_oldest(struct tf_recorder *r)
{
    if (r->number <= r->files)
        return;
    for (uint64_t number = r->number - r->files; number > 0; number--) {
        TF_AUTO_FREE char *path = path_of(r, number);
        if (unlink(path))
            return; /* and none before it is there */
    }
}

static void begin_file(struct tf_recorder *r, void *core, bool continues)
{
    close_file(r);
    r->number++;
    r->path = path_of(r, r->number);
    r->steps = 0;
    r->fd = open(r->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (r->fd < 0)
        stop(r, "a file cannot be made", strerror(errno));
    else if (write_header(r, continues) && write_state(r, core))
        drop_oldest(r);
}

/* ---- what happens ---- */

void tf_recorder_begin(struct tf_recorder *r, void *core)
{
    if (r && !r->stopped)
        begin_file(r, core, false);
}

void tf_recorder_end(struct tf_recorder *r)
{
    struct tf_image image;
    if (!r || r->fd < 0)
        return;
    start_frame(r, &image);
    if (write_frame(r, TF_FRAME_END))
        close_file(r);
}

void tf_recorder_event(struct tf_recorder *r, struct tf_now now, void *event)
{
    struct tf_image image;
    if (!r || r->fd < 0)
        return;
    assert(!r->waits);
    start_frame(r, &image);
    tf_image_now(&image, &now);
    r->ops->image_event(&image, event);
    struct tf_error err = TF_ERROR_INIT;
    if (tf_image_finish(&image, &err))
        stop(r, "an event cannot be written", err.text);
    else
        r->waits = true;
}

uint64_t tf_action_digest(const struct tf_core_ops *ops, void *action, struct tf_buf *scratch)
{
    struct tf_image image;
    tf_buf_clear(scratch);
    tf_image_write(&image, scratch, false);
    ops->image_action(&image, action);
    tf_image_finish(&image, NULL);
    return tf_digest(scratch->data, scratch->len);
}

static void add_actions(struct tf_recorder *r, void *actions)
{
    struct tf_image image;
    uint64_t count = tf_core_action_count(actions);
    tf_image_write(&image, &r->frame, false);
    tf_image_count(&image, count);
    for (size_t i = 0; i < count; i++) {
        void *action = tf_core_action_at(r->ops, actions, i);
        int kind = r->ops->action_kind(action);
        uint64_t digest = tf_action_digest(r->ops, action, &r->scratch);
        tf_image_number(&image, &kind);
        tf_image_number(&image, &digest);
    }
    tf_image_finish(&image, NULL);
}

void tf_recorder_actions(struct tf_recorder *r, void *core, void *actions)
{
    if (!r || !r->waits)
        return;
    r->waits = false;
    add_actions(r, actions);
    if (!write_frame(r, TF_FRAME_STEP))
        return;
    r->steps += r->frame.len;
    if (r->steps > r->max_bytes && r->steps > r->state)
        begin_file(r, core, true);
}
