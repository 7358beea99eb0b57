/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the memory: the marker, and the log, from which the instances come back. A line of words a fact, in
 * the order in which they came about:
 *
 *     tidefed-virtual 1
 *     boot ID                                                  of the machine
 *     owner REVISION
 *     start INSTANCE NODE GPUS READY ENDS CODE AT TENANT NAME [PORT=NUMBER]...
 *     stop INSTANCE DIES SIGNAL
 *     exit INSTANCE CAUSE CODE SIGNAL AT
 *     signals INSTANCE NAME COUNT                              so many times its peers changed
 *     fence INSTANCE DEADLINE                                  of its epoch, as:
 *     peers INSTANCE HASH                                      of the peers file, as a signed number
 *     forget INSTANCE
 *
 * Written at once, but not onto the disk: what a power cut takes away had ended with the machine. Whoever
 * takes the memory over writes a new log in the place of the old one: by that others find that they are
 * deposed. */
#include "subcluster/engine/virtual/private.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "subcluster/engine/state/folder.h"
#include "subcluster/engine/state/memory.h"
#include "subcluster/engine/state/proc.h"
#include "subcluster/engine/state/record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utlist.h>

static const char format_line[] = "tidefed-virtual 1";

enum {
    WORDS_MAX = 10 + TF_ENGINE_PORTS_MAX,
    LINES_EACH = 6, /* start, stop, signals, exit, and of its epoch fence and peers */
    SLACK = 10000,  /* lines of the past that do no harm */
    AGAIN = TF_SECOND,
};

/* ---- the folder ---- */

int log_open(struct virtual *v, bool make, struct tf_error *err)
{
    if (make && tf_root_make(v->config.state_dir, err))
        return -1;
    if (v->root < 0)
        v->root = tf_root_open(v->config.state_dir, err);
    if (v->root < 0 || (make ? tf_memory_make : tf_memory_load)(v->root, &v->memory, err))
        return -1;
    if (v->lock < 0)
        v->lock = openat(v->root, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    return v->lock >= 0 ? 0 : tf_error_errno(err, TF_ERR_IO, errno, "cannot open the lock of the memory");
}

void log_close(struct virtual *v)
{
    const int fds[] = {v->log, v->lock, v->root};
    for (size_t i = 0; i < TF_ARRAY_LEN(fds); i++)
        if (fds[i] >= 0)
            close(fds[i]);
    tf_timer_cancel(v->loop, &v->again);
    tf_buf_release(&v->lines);
}

static void lock(struct virtual *v)
{
    while (flock(v->lock, LOCK_EX) != 0 && errno == EINTR)
        continue;
}

static void unlock(struct virtual *v)
{
    flock(v->lock, LOCK_UN);
}

static bool is_ours(const struct virtual *v)
{
    struct stat st;
    return v->log >= 0 && fstatat(v->root, "log", &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_ino == v->inode;
}

/* ---- lines ---- */

static void put_id(struct virtual *v, const char *word, const struct tf_instance_id *id)
{
    char path[TF_INSTANCE_PATH];
    tf_instance_path(id, path);
    tf_buf_fmt(&v->lines, "%s %s", word, path);
    v->line_count++;
}

static void put_epoch(struct virtual *v, const char *word, const struct epoch *epoch)
{
    const struct tf_instance_id id = {.uid = epoch->key.uid, .epoch = epoch->key.epoch};
    put_id(v, word, &id);
}

void log_owner(struct virtual *v)
{
    tf_buf_fmt(&v->lines, "owner %" PRIu64 "\n", v->owner);
    v->line_count++;
}

void log_start(struct virtual *v, const struct life *life)
{
    put_id(v, "start", &life->id);
    tf_buf_fmt(&v->lines, " %s %" PRId64 " %" PRId64 " %" PRId64 " %" PRId32 " %" PRId64 " %s %s",
               life->node_name, (int64_t)life->gpus, life->ready_at, life->ends_at, life->code, life->at.ms,
               life->tenant, life->name);
    for (size_t i = 0; i < life->port_count; i++)
        tf_buf_fmt(&v->lines, " %s=%u", life->ports[i].name, (unsigned)life->ports[i].port);
    tf_buf_char(&v->lines, '\n');
}

void log_stop(struct virtual *v, const struct life *life)
{
    put_id(v, "stop", &life->id);
    tf_buf_fmt(&v->lines, " %" PRId64 " %" PRId32 "\n", life->dies_at, life->signal);
}

void log_exit(struct virtual *v, const struct life *life)
{
    put_id(v, "exit", &life->id);
    tf_buf_fmt(&v->lines, " %s %" PRId32 " %" PRId32 " %" PRId64 "\n", tf_engine_cause_name(life->cause),
               life->exit_code, life->exit_signal, life->at.ms);
}

void log_fence(struct virtual *v, const struct epoch *epoch)
{
    put_epoch(v, "fence", epoch);
    tf_buf_fmt(&v->lines, " %" PRId64 "\n", epoch->fence);
}

void log_peers(struct virtual *v, const struct epoch *epoch)
{
    put_epoch(v, "peers", epoch);
    tf_buf_fmt(&v->lines, " %" PRId64 "\n", (int64_t)epoch->peers);
}

void log_signals(struct virtual *v, const struct life *life)
{
    put_id(v, "signals", &life->id);
    tf_buf_fmt(&v->lines, " %s %" PRId64 "\n", life->resize_signal, life->resize_signals);
}

void log_forget(struct virtual *v, const struct epoch *epoch)
{
    put_epoch(v, "forget", epoch);
    tf_buf_char(&v->lines, '\n');
}

/* ---- writing ---- */

/* The present state, and nothing of how it came about. */
static void put_all(struct virtual *v)
{
    tf_buf_clear(&v->lines);
    tf_buf_fmt(&v->lines, "%s\nboot %s\n", format_line, tf_boot_id());
    v->line_count = 2;
    log_owner(v);
    for (const struct epoch *e = v->epochs; e; e = e->hh.next) {
        if (e->fence != INT64_MAX)
            log_fence(v, e);
        if (e->peers)
            log_peers(v, e);
    }
    for (const struct life *life = v->lives; life; life = life->hh.next) {
        if (life->node_name)
            log_start(v, life);
        if (life->resize_signal)
            log_signals(v, life);
        if (life->dies_at != INT64_MAX)
            log_stop(v, life);
        if (life->state == TF_INSTANCE_EXITED)
            log_exit(v, life);
    }
}

/* A new log in the place of the old one. */
static int rewrite(struct virtual *v, struct tf_error *err)
{
    struct stat st;
    put_all(v);
    if (tf_file_save(v->root, "log", v->lines.data, v->lines.len, false, err))
        return -1;
    tf_buf_clear(&v->lines);
    if (v->log >= 0)
        close(v->log);
    v->log = openat(v->root, "log", O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
    if (v->log < 0 || fstat(v->log, &st) != 0)
        return tf_error_errno(err, TF_ERR_IO, errno, "cannot open the log of the memory");
    v->inode = st.st_ino;
    return 0;
}

static void on_again(struct tf_timer *timer)
{
    struct virtual *v = TF_CONTAINER_OF(timer, struct virtual, again);
    if (log_begin(v))
        log_end(v);
}

/* What could not be written goes on waiting, and starts are refused meanwhile. */
static void failed(struct virtual *v, const char *why)
{
    if (!v->troubled)
        virtual_trouble(v, "the log of the invented instances cannot be written: %s", why);
    v->troubled = true;
    tf_timer_start(v->loop, &v->again, (struct tf_mono){tf_boottime_ms() + AGAIN}, on_again);
}

static void write_lines(struct virtual *v)
{
    size_t done = 0;
    while (done < v->lines.len) {
        ssize_t n = write(v->log, v->lines.data + done, v->lines.len - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        done += (size_t)n;
    }
    int why = errno;
    if (done == v->lines.len) {
        tf_buf_clear(&v->lines);
        v->troubled = false;
        return;
    }
    memmove(v->lines.data, v->lines.data + done, v->lines.len - done);
    v->lines.len -= done;
    failed(v, strerror(why));
}

void log_end(struct virtual *v)
{
    struct tf_error err = TF_ERROR_INIT;
    write_lines(v);
    if (!v->troubled && v->line_count > LINES_EACH * (size_t)HASH_COUNT(v->lives) + SLACK && rewrite(v, &err))
        failed(v, err.text);
    unlock(v);
}

/* ---- reading ---- */

/* A line, cut into words in place. */
struct words {
    char *items[WORDS_MAX];
    size_t count;
};

static bool cut(char *line, struct words *words)
{
    char *rest = NULL;
    words->count = 0;
    for (char *word = strtok_r(line, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        if (words->count == WORDS_MAX)
            return false;
        words->items[words->count++] = word;
    }
    return words->count > 0;
}

static bool number(const struct words *words, size_t at, int64_t *out)
{
    return at < words->count && tf_parse_int64(words->items[at], INT64_MIN, INT64_MAX, out, NULL) == 0;
}

static bool number32(const struct words *words, size_t at, int32_t *out)
{
    int64_t n;
    if (!number(words, at, &n) || n < INT32_MIN || n > INT32_MAX)
        return false;
    *out = (int32_t)n;
    return true;
}

static bool read_ports(struct life *life, const struct words *words, size_t from)
{
    life->ports = tf_calloc(words->count, sizeof *life->ports);
    for (size_t i = from; i < words->count; i++) {
        struct tf_engine_port *port = &life->ports[life->port_count++];
        char *equals = strchr(words->items[i], '=');
        int64_t n;
        if (!equals || tf_parse_int64(equals + 1, 1, UINT16_MAX, &n, NULL))
            return false;
        *equals = '\0';
        snprintf(port->name, sizeof port->name, "%s", words->items[i]);
        port->port = (uint16_t)n;
    }
    return true;
}

static bool read_start(struct virtual *v, const struct tf_instance_id *id, const struct words *words)
{
    int64_t gpus;
    if (words->count < 10 || life_find(v, id))
        return false;
    struct life *life = life_add(v, id);
    if (!number(words, 3, &gpus) || !number(words, 4, &life->ready_at) || !number(words, 5, &life->ends_at) ||
        !number32(words, 6, &life->code) || !number(words, 7, &life->at.ms) || !read_ports(life, words, 10))
        return false;
    life_settle(life, words->items[2], (uint64_t)gpus);
    tf_str_set(&life->tenant, words->items[8]);
    tf_str_set(&life->name, words->items[9]);
    return true;
}

static bool read_exit(struct virtual *v, const struct tf_instance_id *id, const struct words *words)
{
    struct life *life = life_find(v, id);
    int cause = words->count > 2 ? tf_engine_cause_parse(words->items[2]) : -1;
    if (!life) /* it never started */
        life = life_add(v, id);
    life_leave(life);
    life->state = TF_INSTANCE_EXITED;
    life->cause = (enum tf_engine_cause)(cause > 0 ? cause : 0);
    return cause > 0 && number32(words, 3, &life->exit_code) && number32(words, 4, &life->exit_signal) &&
           number(words, 5, &life->at.ms);
}

static bool read_signals(struct life *life, const struct words *words)
{
    if (!life || !number(words, 3, &life->resize_signals))
        return false;
    tf_str_set(&life->resize_signal, words->items[2]);
    return true;
}

static bool read_peers(struct virtual *v, const struct tf_instance_id *id, const struct words *words)
{
    int64_t hash;
    if (!number(words, 2, &hash))
        return false;
    life_epoch_get(v, id->uid, id->epoch)->peers = (uint64_t)hash;
    return true;
}

static void read_forget(struct virtual *v, const struct tf_instance_id *id)
{
    struct epoch *epoch = life_epoch_find(v, id->uid, id->epoch);
    struct life *life, *next;
    if (!epoch)
        return;
    DL_FOREACH_SAFE(epoch->lives, life, next)
    {
        if (life->state == TF_INSTANCE_EXITED)
            life_remove(life);
    }
    if (!epoch->lives)
        life_epoch_remove(v, epoch);
}

/* False: no line of ours. */
static bool read_line(struct virtual *v, char *line, bool *same_boot)
{
    struct words words;
    struct tf_instance_id id;
    int64_t owner;
    if (!cut(line, &words) || words.count < 2)
        return false;
    const char *word = words.items[0];
    if (tf_str_eq(word, "boot")) {
        *same_boot = tf_str_eq(words.items[1], tf_boot_id());
        return true;
    }
    if (tf_str_eq(word, "owner")) {
        if (!number(&words, 1, &owner) || owner < 0)
            return false;
        v->owner = (uint64_t)owner > v->owner ? (uint64_t)owner : v->owner;
        return true;
    }
    if (tf_instance_path_parse(words.items[1], &id, NULL))
        return false;
    struct life *life = life_find(v, &id);
    if (tf_str_eq(word, "start"))
        return read_start(v, &id, &words);
    if (tf_str_eq(word, "stop"))
        return life && number(&words, 2, &life->dies_at) && number32(&words, 3, &life->signal);
    if (tf_str_eq(word, "signals"))
        return read_signals(life, &words);
    if (tf_str_eq(word, "peers"))
        return read_peers(v, &id, &words);
    if (tf_str_eq(word, "exit"))
        return read_exit(v, &id, &words);
    if (tf_str_eq(word, "fence"))
        return number(&words, 2, &life_epoch_get(v, id.uid, id.epoch)->fence);
    if (!tf_str_eq(word, "forget"))
        return false;
    read_forget(v, &id);
    return true;
}

/* All that ran has ended with the machine. Nothing is told: it will be. */
static void machine_restarted(struct virtual *v)
{
    for (struct epoch *e = v->epochs; e; e = e->hh.next)
        e->fence = INT64_MAX;
    for (struct life *life = v->lives; life; life = life->hh.next) {
        if (life->state == TF_INSTANCE_EXITED)
            continue;
        life_leave(life);
        life->state = TF_INSTANCE_EXITED;
        life->cause = TF_CAUSE_REBOOTED;
        life->exit_code = -1;
        life->dies_at = INT64_MAX;
        life->at = tf_wall_read();
    }
}

/* The last line may have been broken off: it was not acknowledged. */
static int read_lines(struct virtual *v, FILE *file, struct tf_error *err)
{
    TF_AUTO_FREE char *line = NULL;
    size_t size = 0, number_of = 0;
    bool same_boot = false;
    for (ssize_t len; (len = getline(&line, &size, file)) > 0 && line[len - 1] == '\n';) {
        line[len - 1] = '\0';
        number_of++;
        bool good = number_of == 1 ? tf_str_eq(line, format_line) : read_line(v, line, &same_boot);
        if (!good)
            return tf_error_set(err, TF_ERR_INVALID, "line %zu of the log of %s cannot be understood",
                                number_of, v->config.state_dir);
    }
    if (number_of > 0 && !same_boot)
        machine_restarted(v);
    return 0;
}

static int read_log(struct virtual *v, struct tf_error *err)
{
    int fd = openat(v->root, "log", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT)
        return 0;
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    if (!file) {
        tf_error_errno(err, TF_ERR_IO, errno, "cannot read the log of %s", v->config.state_dir);
        if (fd >= 0)
            close(fd);
        return -1;
    }
    int rc = read_lines(v, file, err);
    fclose(file);
    return rc;
}

/* ---- taking over ---- */

static int take(struct virtual *v, uint64_t owner, bool fresh, struct tf_error *err)
{
    struct tf_error why = TF_ERROR_INIT;
    if (!is_ours(v)) {
        lives_clear(v);
        if (read_log(v, &why)) {
            lives_clear(v);
            if (!fresh || why.code != TF_ERR_INVALID || renameat(v->root, "log", v->root, "log.broken"))
                return tf_error_set(err, why.code, "%s", why.text);
            virtual_trouble(v, "%s: it is log.broken now, and nothing of it is known any more", why.text);
        }
    }
    if (owner < v->owner)
        return tf_error_set(err, TF_ERR_REFUSED,
                            "owner revision %" PRIu64 " has been replaced by %" PRIu64
                            ": this daemon is deposed",
                            owner, v->owner);
    v->owner = owner;
    return rewrite(v, err);
}

int log_take(struct virtual *v, uint64_t owner, bool fresh, struct tf_error *err)
{
    lock(v);
    int rc = take(v, owner, fresh, err);
    unlock(v);
    return rc;
}

/* Its owner stands near the beginning. */
static uint64_t later_owner(const struct virtual *v)
{
    char text[300];
    int fd = openat(v->root, "log", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[len > 0 ? len : 0] = '\0';
    const char *at = strstr(text, "\nowner ");
    uint64_t owner = at ? strtoull(at + strlen("\nowner "), NULL, 10) : 0;
    return owner > v->owner ? owner : v->owner;
}

bool log_begin(struct virtual *v)
{
    lock(v);
    if (is_ours(v))
        return true;
    v->adopted = false;
    struct stat st;
    if (fstatat(v->root, "log", &st, AT_SYMLINK_NOFOLLOW) == 0)
        v->owner = later_owner(v);
    else
        virtual_trouble(v, "the log of the invented instances in %s cannot be found: %s", v->config.state_dir,
                        strerror(errno));
    unlock(v);
    return false;
}
