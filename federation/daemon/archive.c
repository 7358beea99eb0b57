/* SPDX-License-Identifier: Apache-2.0 */
/* Finished jobs that left the store: one file, append only. A record is a line: the time when it was
 * archived, then the store's bytes of the job in base64, so that a torn last line is recognised and dropped.
 * A thread of its own writes and syncs, several records at a time; the core hears of each when it is on disk.
 * A crash between the two leaves a record both here and in the store: it is archived again, and readers keep
 * the last of a uid. */
#include "federation/daemon/private.h"

#include "common/base/base64.h"
#include "common/base/cleanup.h"
#include "common/wire/records.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <unistd.h>

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

struct archive {
    int fd;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct entry *first, *last;
    bool closing;
    size_t out; /* loop only: entries that have not come back */
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

static int write_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, data, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        data += n;
        len -= (size_t)n;
    }
    return 0;
}

static bool is_closing(struct archive *archive)
{
    pthread_mutex_lock(&archive->lock);
    bool closing = archive->closing;
    pthread_mutex_unlock(&archive->lock);
    return closing;
}

/* Until it works: a job is not forgotten because a disk is full. False if the daemon ends meanwhile; the jobs
 * are then still in the store. */
static bool write_batch(struct archive *archive, const struct entry *batch)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    for (const struct entry *e = batch; e; e = e->next)
        tf_buf_add(&text, e->line.data, e->line.len);
    off_t start = lseek(archive->fd, 0, SEEK_END);
    while (write_all(archive->fd, text.data, text.len) || fdatasync(archive->fd)) {
        tf_log_error(
            "the archive of finished jobs cannot be written, trying again: make room in dataDir error=%s",
            strerror(errno));
        if (ftruncate(archive->fd, start))
            tf_log_error("the archive cannot be cut back either error=%s", strerror(errno));
        if (is_closing(archive))
            return false;
        nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
    }
    return true;
}

static struct entry *next_batch(struct archive *archive)
{
    pthread_mutex_lock(&archive->lock);
    while (!archive->first && !archive->closing)
        pthread_cond_wait(&archive->more, &archive->lock);
    struct entry *batch = archive->first;
    archive->first = archive->last = NULL;
    pthread_mutex_unlock(&archive->lock);
    return batch;
}

static void *writer(void *arg)
{
    struct archive *archive = arg;
    for (struct entry *batch; (batch = next_batch(archive));) {
        bool written = write_batch(archive, batch);
        while (batch) {
            struct entry *next = batch->next;
            batch->written = written;
            tf_loop_post(batch->fedd->loop, &batch->item);
            batch = next;
        }
    }
    return NULL;
}

/* The line of a crash is given its end, so that the next record does not become a part of it. */
static int end_last_line(int fd)
{
    char last = '\n';
    off_t size = lseek(fd, 0, SEEK_END);
    if (size < 0 || (size > 0 && pread(fd, &last, 1, size - 1) != 1))
        return -1;
    return last == '\n' ? 0 : write_all(fd, "\n", 1);
}

/* So that the file itself is there after a crash. */
static int sync_folder(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int failed = fd < 0 ? -1 : fsync(fd);
    if (fd >= 0)
        close(fd);
    return failed;
}

/* The lock is for the whole folder: it goes with the process, however that ends. */
static int open_file(const char *folder, struct tf_error *err)
{
    TF_AUTO_FREE char *path = tf_asprintf("%s/archive", folder);
    int fd = open(path, O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        return tf_error_errno(err, TF_ERR_IO, errno, "%s: the archive of finished jobs cannot be opened",
                              path);
    if (flock(fd, LOCK_EX | LOCK_NB))
        tf_error_set(err, TF_ERR_IO, "dataDir %s is in use by another fedd: give each one its own", folder);
    else if (end_last_line(fd) || sync_folder(folder))
        tf_error_errno(err, TF_ERR_IO, errno, "%s: the archive of finished jobs cannot be written", path);
    else
        return fd;
    close(fd);
    return -1;
}

int archive_open(struct fedd *fedd, struct tf_error *err)
{
    int fd = open_file(fedd->config.data_dir, err);
    if (fd < 0)
        return -1;
    struct archive *archive = tf_calloc(1, sizeof *archive);
    archive->fd = fd;
    pthread_mutex_init(&archive->lock, NULL);
    pthread_cond_init(&archive->more, NULL);
    int failed = pthread_create(&archive->thread, NULL, writer, archive);
    if (failed) {
        close(fd);
        free(archive);
        return tf_error_errno(err, TF_ERR_IO, failed, "the archive's thread cannot be started");
    }
    fedd->archive = archive;
    return 0;
}

static int make_line(struct fedd *fedd, const struct tf_job_record *job, struct tf_buf *line,
                     struct tf_error *err)
{
    TF_AUTO_BUF bytes = TF_BUF_INIT;
    struct tf_record record = {.kind = TF_RECORD_JOB, .job = *job};
    if (tf_wire_record_pack(&record, &bytes, err))
        return -1;
    tf_buf_fmt(line, "%lld ", (long long)tf_loop_now(fedd->loop).wall.ms);
    tf_base64_encode(line, (struct tf_bytes){bytes.data, bytes.len});
    tf_buf_char(line, '\n');
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
    close(archive->fd);
    pthread_mutex_destroy(&archive->lock);
    pthread_cond_destroy(&archive->more);
    free(archive);
    fedd->archive = NULL;
}
