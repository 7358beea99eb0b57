/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the processes and folders of a federation; what they are told is in configs.c. */
#include "tests/support/federation/private.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "tests/support/federation/instances.h"
#include "tests/support/federation/stored.h"
#include "tests/support/loopback.h"
#include "tests/support/process.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LEAK_TIMEOUT_MS = 5 * 1000, STOP_TIMEOUT_MS = 20 * 1000 };

bool test_federation_available(void)
{
    return test_etcd_available();
}

/* ---- daemons ---- */

static struct test_daemon *find(const struct test_federation *f, const char *name)
{
    tf_vec_each (d, &f->daemons)
        if (strcmp(d->name, name) == 0)
            return d;
    fprintf(stderr, "there is no daemon %s in this test\n", name);
    abort();
}

static char *log_path(const struct test_federation *f, const struct test_daemon *d)
{
    return tf_asprintf("%s/log/%s.log", f->place, d->name);
}

void test_daemon_start(struct test_federation *f, const char *name)
{
    struct test_daemon *d = find(f, name);
    TF_AUTO_FREE char *config = test_config_path(f, d);
    TF_AUTO_FREE char *log = log_path(f, d);
    const char *argv[] = {d->subcluster < 0 ? TF_FEDD : TF_SUBCLUSTERD, "--config", config, NULL};
    if (d->pid <= 0)
        d->pid = test_process_start(argv, log, NULL, NULL);
    d->frozen = false;
}

void test_daemon_kill(struct test_federation *f, const char *name)
{
    struct test_daemon *d = find(f, name);
    test_process_kill(d->pid);
    d->pid = 0;
}

void test_daemon_freeze(struct test_federation *f, const char *name)
{
    struct test_daemon *d = find(f, name);
    int status = 0;
    if (d->pid <= 0 || d->frozen)
        return;
    kill(d->pid, SIGSTOP);
    waitpid(d->pid, &status, WUNTRACED); /* until all its threads stand still */
    d->frozen = true;
}

void test_daemon_thaw(struct test_federation *f, const char *name)
{
    struct test_daemon *d = find(f, name);
    if (d->pid > 0)
        kill(d->pid, SIGCONT);
    d->frozen = false;
}

bool test_daemon_runs(const struct test_federation *f, const char *name)
{
    const struct test_daemon *d = find(f, name);
    return d->pid > 0 && !d->frozen;
}

int64_t test_daemon_cpu_us(const struct test_federation *f, const char *name)
{
    return test_process_cpu_us(find(f, name)->pid);
}

int64_t test_daemon_rss(const struct test_federation *f, const char *name)
{
    TF_AUTO_FREE char *path = tf_asprintf("/proc/%d/statm", (int)find(f, name)->pid);
    long long size, resident = 0;
    FILE *file = fopen(path, "re");
    if (!file || fscanf(file, "%lld %lld", &size, &resident) != 2)
        resident = 0;
    if (file)
        fclose(file);
    return resident * sysconf(_SC_PAGESIZE);
}

const struct tf_strs *test_federation_daemons(const struct test_federation *f)
{
    return &f->names;
}

struct test_proxy *test_daemon_proxy(struct test_federation *f, const char *name)
{
    return find(f, name)->proxy;
}

enum test_etcd_role test_daemon_store(const struct test_federation *f, const char *name)
{
    return test_config_role(find(f, name));
}

bool test_federation_sound(struct test_federation *f)
{
    bool sound = true;
    tf_vec_each (d, &f->daemons) {
        int status = 0;
        if (d->pid <= 0 || d->frozen || waitpid(d->pid, &status, WNOHANG) != d->pid)
            continue;
        fprintf(stderr, "%s has ended by itself: %s %d\n", d->name, WIFSIGNALED(status) ? "signal" : "code",
                WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        d->pid = 0;
        sound = false;
    }
    return sound;
}

void test_federation_etcd_kill(struct test_federation *f, enum test_etcd_role role)
{
    test_etcd_kill(f->etcds[role]);
}

bool test_federation_etcd_restart(struct test_federation *f, enum test_etcd_role role)
{
    return test_etcd_restart(f->etcds[role]);
}

void test_federation_etcd_freeze(struct test_federation *f, enum test_etcd_role role)
{
    test_etcd_freeze(f->etcds[role]);
}

void test_federation_etcd_thaw(struct test_federation *f, enum test_etcd_role role)
{
    test_etcd_thaw(f->etcds[role]);
}

const char *test_subcluster_owner(const struct test_federation *f, size_t subcluster)
{
    TF_AUTO_FREE char *prefix = test_federation_prefix(f, subcluster);
    TF_AUTO_FREE char *key = tf_asprintf("%s/owner", prefix);
    TF_AUTO_FREE char *value = test_stored_value(test_etcd_endpoint(f->etcds[TEST_ETCD_LOCAL]), key);
    const char *colon = value ? strrchr(value, ':') : NULL; /* its owner value is HOST:PID */
    tf_vec_each (d, &f->daemons)
        if (colon && d->subcluster == (int)subcluster && d->pid == (pid_t)strtol(colon + 1, NULL, 10))
            return d->name;
    return NULL;
}

/* ---- where things are ---- */

const struct tf_strs *test_federation_endpoints(const struct test_federation *f)
{
    return &f->endpoints;
}

struct test_etcd *test_federation_etcd(const struct test_federation *f, enum test_etcd_role role)
{
    return f->etcds[role];
}

const char *test_federation_etcd_endpoint(const struct test_federation *f, enum test_etcd_role role)
{
    return test_etcd_endpoint(f->etcds[role]);
}

size_t test_federation_subclusters(const struct test_federation *f)
{
    return f->options.subcluster_count;
}

char *test_federation_state_dir(const struct test_federation *f, size_t subcluster)
{
    return tf_asprintf("%s%s", f->state, f->options.subclusters[subcluster].name);
}

char *test_federation_prefix(const struct test_federation *f, size_t subcluster)
{
    return tf_asprintf("/tidefed/%d/%s", f->round, f->options.subclusters[subcluster].name);
}

const char *test_federation_instances(const struct test_federation *f)
{
    return f->state;
}

/* ---- beginning and end ---- */

static void make_folder(const char *path)
{
    if (mkdir(path, 0700) != 0 && errno != EEXIST) {
        perror(path);
        abort();
    }
}

static bool start_etcds(struct test_federation *f)
{
    const struct test_etcd_options options = {.dir = f->folder,
                                              .fsync = f->options.plain && !f->options.no_fsync,
                                              .quota_bytes = f->options.plain ? INT64_C(8) << 30 : 0};
    for (int i = 0; i < TEST_ETCD_ROLES; i++) {
        struct test_etcd_options own = options;
        if (i == TEST_ETCD_FEDERATION && f->options.quota)
            own.quota_bytes = f->options.quota;
        f->etcds[i] = test_etcd_start(&own);
        if (!f->etcds[i])
            return false;
    }
    return true;
}

/* Takes name. */
static bool add_daemon(struct test_federation *f, char *name, int subcluster)
{
    struct test_daemon *d = tf_vec_add(&f->daemons);
    d->name = name;
    d->subcluster = subcluster;
    tf_strs_add(&f->names, name);
    if (subcluster < 0) {
        TF_AUTO_FREE char *address = test_new_address();
        tf_strs_add(&f->endpoints, address);
    }
    if (f->options.proxies)
        d->proxy = test_proxy_start(test_etcd_address(f->etcds[test_config_role(d)]));
    return d->proxy || !f->options.proxies;
}

static bool add_daemons(struct test_federation *f)
{
    bool ok = true;
    for (int i = 0; i < f->options.fedds; i++)
        ok = ok && add_daemon(f, tf_asprintf("fedd-%d", i), -1);
    for (size_t s = 0; s < f->options.subcluster_count; s++)
        for (int i = 0; i < f->options.subclusters[s].daemons; i++)
            ok = ok && add_daemon(f, tf_asprintf("%s-%d", f->options.subclusters[s].name, i), (int)s);
    return ok;
}

struct test_federation *test_federation_create(const struct test_federation_options *options)
{
    struct test_federation *f = tf_calloc(1, sizeof *f);
    f->options = *options;
    f->folder = tf_asprintf("%s/tidefed-test-XXXXXX", options->dir ? options->dir : "/tmp");
    if (!mkdtemp(f->folder)) {
        perror(f->folder);
        abort();
    }
    TF_AUTO_FREE char *instances = tf_asprintf("%s/state/", f->folder);
    make_folder(instances);
    f->guardian = test_guardian_start(instances);
    if (start_etcds(f) && add_daemons(f))
        return f;
    test_federation_destroy(f);
    return NULL;
}

void test_federation_keep(struct test_federation *f)
{
    f->round_failed = f->failed = true;
    fflush(stdout);
    fprintf(stderr, "\nlogs are in %s/log (kept); the last lines of each:\n", f->place);
    tf_vec_each (d, &f->daemons) {
        TF_AUTO_FREE char *log = log_path(f, d);
        TF_AUTO_FREE char *tail = tf_asprintf("tail -n 12 '%s' >&2", log);
        fprintf(stderr, "---- %s%s\n", d->name, d->pid > 0 ? "" : " (not running)");
        if (system(tail) != 0)
            fprintf(stderr, "(no log)\n");
    }
}

static bool no_instance(void *ctx)
{
    const struct test_federation *f = ctx;
    return test_instances_count(f->state) == 0;
}

/* False if instances had to be killed. */
static bool end_instances(struct test_federation *f)
{
    if (test_wait_for(no_instance, f, f->round_failed ? 0 : LEAK_TIMEOUT_MS))
        return true;
    if (!f->round_failed) {
        fprintf(stderr, "processes of jobs are left:\n");
        test_instances_print(f->state);
    }
    test_instances_kill(f->state);
    return f->round_failed; /* else it is known already that something is wrong */
}

static bool has_gone(void *ctx)
{
    struct test_daemon *d = ctx;
    return waitpid(d->pid, &d->status, WNOHANG) == d->pid;
}

/* As an operator does it; false if one does not end well (a sanitizer's word is an end with an error, too).
 */
static bool stop_daemons(struct test_federation *f)
{
    bool clean = true;
    tf_vec_each (d, &f->daemons)
        if (d->pid > 0)
            kill(d->pid, SIGTERM);
    tf_vec_each (d, &f->daemons) {
        if (d->pid <= 0)
            continue;
        bool gone = test_wait_for(has_gone, d, STOP_TIMEOUT_MS);
        if (!gone || !WIFEXITED(d->status) || WEXITSTATUS(d->status) != 0) {
            fprintf(stderr, "%s did not end well at SIGTERM: %s %d\n", d->name,
                    gone ? "status" : "still there", d->status);
            clean = false;
        }
        d->pid = gone ? 0 : d->pid;
    }
    return clean;
}

static bool end_daemons(struct test_federation *f)
{
    bool clean = true;
    tf_vec_each (d, &f->daemons)
        if (d->frozen)
            test_daemon_kill(f, d->name);
    if (!f->round_failed)
        clean = stop_daemons(f);
    tf_vec_each (d, &f->daemons)
        test_daemon_kill(f, d->name);
    if (!clean)
        test_federation_keep(f);
    return clean;
}

/* What the daemons decided can be decided again: from their event logs, to the same actions. */
static bool replay_logs(struct test_federation *f)
{
    size_t differing = f->replayed.differing, failed = f->replayed.failed;
    FILE *quiet = fopen("/dev/null", "we");
    tf_vec_each (d, &f->daemons) {
        TF_AUTO_FREE char *folder = test_config_events(f, d);
        if (f->place && access(folder, F_OK) == 0)
            replay_path(folder, &f->replayed, quiet, stderr);
    }
    if (quiet)
        fclose(quiet);
    bool same = f->replayed.differing == differing && f->replayed.failed == failed;
    if (!same) {
        fprintf(stderr, "event logs are not replayed identically: fedsim replay %s/events/*\n", f->place);
        test_federation_keep(f);
    }
    return same;
}

static bool end_round(struct test_federation *f)
{
    bool clean = end_daemons(f);
    if (f->options.records && !f->round_failed)
        clean = replay_logs(f) && clean;
    if (f->state) {
        clean = end_instances(f) && clean;
        if (!f->round_failed && clean) {
            test_remove_tree(f->state);
            test_remove_tree(f->place);
        }
    }
    free(TF_STEAL(f->state));
    free(TF_STEAL(f->place));
    return clean;
}

static void make_places(struct test_federation *f)
{
    static const char *const folders[] = {"", "/log", "/conf", "/data", "/events"};
    f->state = tf_asprintf("%s/state/%d/", f->folder, f->round);
    f->place = tf_asprintf("%s/%d", f->folder, f->round);
    make_folder(f->state);
    for (size_t i = 0; i < TF_ARRAY_LEN(folders); i++) {
        TF_AUTO_FREE char *path = tf_asprintf("%s%s", f->place, folders[i]);
        make_folder(path);
    }
}

bool test_federation_prepare(struct test_federation *f)
{
    bool clean = end_round(f);
    f->round++;
    f->round_failed = false;
    make_places(f);
    for (size_t i = 0; i < f->daemons.count; i++) {
        test_config_write(f, i);
        if (f->daemons.items[i].proxy && !test_proxy_command(f->daemons.items[i].proxy, "reset"))
            return false;
    }
    return clean;
}

bool test_federation_round(struct test_federation *f)
{
    bool clean = test_federation_prepare(f);
    tf_vec_each (d, &f->daemons)
        test_daemon_start(f, d->name);
    return clean;
}

bool test_federation_destroy(struct test_federation *f)
{
    if (!f)
        return true;
    bool clean = end_round(f);
    if (f->replayed.files)
        replay_print_totals(&f->replayed, stdout);
    tf_vec_each (d, &f->daemons) {
        test_proxy_stop(d->proxy);
        free(d->name);
    }
    tf_vec_release(&f->daemons);
    for (int i = 0; i < TEST_ETCD_ROLES; i++)
        test_etcd_stop(f->etcds[i]);
    test_guardian_end(f->guardian);
    if (!f->failed && clean)
        test_remove_tree(f->folder);
    tf_strs_release(&f->names);
    tf_strs_release(&f->endpoints);
    free(f->folder);
    free(f);
    return clean;
}
