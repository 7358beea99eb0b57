/* SPDX-License-Identifier: Apache-2.0 */
/* Finished jobs that left the store, on the disk of whoever led then. A thread of its own writes and syncs,
 * several records at a time, and drops what is too old or too much; the core hears of each record when it is
 * on disk. A crash between the two leaves a record both here and in the store: it is archived again, and
 * readers keep the last of a uid. */
#include "federation/daemon/archive.h"

#include "common/base/cleanup.h"
#include "common/wire/records.h"
#include "federation/daemon/archive_files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

enum { TRIM_EVERY_S = 600 };

/* A record on its way to the disk and back to the loop. */
struct entry {
    struct tf_inbox_item item;
    struct entry *next;
    struct fedd *fedd;
    uint64_t reign; /* who asked: another core would not know it */
    struct tf_uid uid;
    struct tf_buf line;
    bool written;
};

static void on_archived(struct tf_inbox_item *item)
{
    struct entry *e = TF_CONTAINER_OF(item, struct entry, item);
    e->fedd->archive->out--;
    if (e->fedd->fed && e->fedd->reign == e->reign && e->written)
        host_step(e->fedd, &(struct fed_event){.kind = FED_EV_ARCHIVED, .archived = e->uid});
    tf_buf_release(&e->line);
    free(e);
}

/* ---- what the threads share ---- */

/* The configuration is the loop's, and may be read again. */
static void archive_settings(struct archive *archive, const struct tf_settings *settings)
{
    pthread_mutex_lock(&archive->lock);
    archive->limits =
        (struct archive_limits){.keep_ms = settings->history_keep, .max = settings->history_max};
    pthread_mutex_unlock(&archive->lock);
}

struct archive_limits archive_limits_of(struct archive *archive)
{
    pthread_mutex_lock(&archive->lock);
    struct archive_limits limits = archive->limits;
    pthread_mutex_unlock(&archive->lock);
    return limits;
}

static bool is_closing(struct archive *archive)
{
    pthread_mutex_lock(&archive->lock);
    bool closing = archive->closing;
    pthread_mutex_unlock(&archive->lock);
    return closing;
}

/* ---- the thread ---- */

/* Until it works: a job is not forgotten because a disk is full. False if the daemon ends meanwhile; the jobs
 * are then still in the store. */
static bool write_batch(struct archive *archive, const struct entry *batch)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    struct tf_error err = TF_ERROR_INIT;
    int64_t count = 0;
    for (const struct entry *e = batch; e; e = e->next, count++)
        tf_buf_add(&text, e->line.data, e->line.len);
    while (archive_writer_add(&archive->writer, (struct tf_bytes){text.data, text.len}, count, &err)) {
        tf_log_error("finished jobs stay in the store until dataDir has room again error=%s", err.text);
        if (is_closing(archive))
            return false;
        nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
    }
    return true;
}

static void trim(struct archive *archive)
{
    const struct archive_limits limits = archive_limits_of(archive);
    struct tf_error err = TF_ERROR_INIT;
    if (archive_writer_trim(&archive->writer, &limits, tf_clock_read().wall.ms, &err))
        tf_log_error("the archive cannot be kept within settings.history error=%s", err.text);
}

/* NULL: none came for a while, or the daemon ends. */
static struct entry *next_batch(struct archive *archive)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += TRIM_EVERY_S;
    pthread_mutex_lock(&archive->lock);
    while (!archive->first && !archive->closing)
        if (pthread_cond_timedwait(&archive->more, &archive->lock, &until))
            break;
    struct entry *batch = archive->first;
    archive->first = archive->last = NULL;
    pthread_mutex_unlock(&archive->lock);
    return batch;
}

static void *writer(void *arg)
{
    struct archive *archive = arg;
    for (;;) {
        trim(archive);
        struct entry *batch = next_batch(archive);
        if (!batch && is_closing(archive))
            return NULL;
        bool written = batch && write_batch(archive, batch);
        while (batch) {
            struct entry *next = batch->next;
            batch->written = written;
            tf_loop_post(batch->fedd->loop, &batch->item);
            batch = next;
        }
    }
}

/* ---- life ---- */

static void archive_free(struct archive *archive)
{
    archive_writer_release(&archive->writer);
    if (archive->lock_fd >= 0)
        close(archive->lock_fd);
    pthread_mutex_destroy(&archive->lock);
    pthread_cond_destroy(&archive->more);
    free(archive);
}

/* For the whole folder: it goes with the process, however that ends. */
static int lock_folder(const char *folder, struct tf_error *err)
{
    TF_AUTO_FREE char *path = tf_asprintf("%s/lock", folder);
    int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0)
        return tf_error_errno(err, TF_ERR_IO, errno, "%s cannot be opened", path);
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    tf_error_set(err, TF_ERR_IO, "dataDir %s is in use by another fedd: give each one its own", folder);
    close(fd);
    return -1;
}

static int start_thread(struct archive *archive, struct tf_error *err)
{
    int failed = pthread_create(&archive->thread, NULL, writer, archive);
    return failed ? tf_error_errno(err, TF_ERR_IO, failed, "the archive's thread cannot be started") : 0;
}

int archive_open(struct fedd *fedd, struct tf_error *err)
{
    const char *folder = fedd->config.data_dir;
    struct archive *archive = tf_calloc(1, sizeof *archive);
    archive->folder = folder;
    archive->writer.fd = -1;
    pthread_mutex_init(&archive->lock, NULL);
    pthread_cond_init(&archive->more, NULL);
    archive_settings(archive, &fedd->config.settings);
    archive->lock_fd = lock_folder(folder, err);
    if (archive->lock_fd >= 0 && archive_writer_open(&archive->writer, folder, err) == 0 &&
        start_thread(archive, err) == 0) {
        fedd->archive = archive;
        return 0;
    }
    archive_free(archive);
    return -1;
}

static int make_line(struct fedd *fedd, const struct tf_job_record *job, struct tf_buf *line,
                     struct tf_error *err)
{
    TF_AUTO_BUF bytes = TF_BUF_INIT;
    struct tf_record record = {.kind = TF_RECORD_JOB, .job = *job};
    if (tf_wire_record_pack(&record, &bytes, err))
        return -1;
    archive_line_make(line, tf_loop_now(fedd->loop).wall.ms, (struct tf_bytes){bytes.data, bytes.len},
                      job->tenant, job->name);
    return 0;
}

void archive_append(struct fedd *fedd, const struct tf_job_record *job)
{
    struct archive *archive = fedd->archive;
    struct entry *e = tf_calloc(1, sizeof *e);
    struct tf_error err = TF_ERROR_INIT;
    e->item.run = on_archived;
    e->fedd = fedd;
    e->reign = fedd->reign;
    e->uid = job->uid;
    if (make_line(fedd, job, &e->line, &err)) {
        tf_log_error(
            "a finished job cannot be written to the archive and stays in the store job=%s/%s error=%s",
            job->tenant, job->name, err.text);
        free(e);
        return;
    }
    archive->out++;
    archive_settings(archive, &fedd->config.settings);
    pthread_mutex_lock(&archive->lock);
    if (archive->last)
        archive->last->next = e;
    else
        archive->first = e;
    archive->last = e;
    pthread_cond_signal(&archive->more);
    pthread_mutex_unlock(&archive->lock);
}

void archive_close(struct fedd *fedd)
{
    struct archive *archive = fedd->archive;
    if (!archive)
        return;
    pthread_mutex_lock(&archive->lock);
    archive->closing = true;
    pthread_cond_signal(&archive->more);
    pthread_mutex_unlock(&archive->lock);
    pthread_join(archive->thread, NULL);
    while (archive->out)
        tf_loop_turn(fedd->loop, 0); /* what the thread still had to say */
    archive_free(TF_STEAL(fedd->archive));
}
