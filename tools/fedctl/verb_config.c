/* SPDX-License-Identifier: Apache-2.0 */
/* Owns config: which part of it is meant (get and diff are in live_config.c), and whether a configuration
 * file is right. Each program knows the rules of its own file, so that of a daemon is given to that daemon of
 * the same installation, which only reads it. */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "common/conf/conf.h"
#include "tools/fedctl/live_config.h"

#include <errno.h>
#include <unistd.h>

/* Keys that tell whose file it is; they are of one program only. */
static const struct {
    const char *key, *program;
} signs[] = {
    {"dataDir", "fedd"},         {"listen", "fedd"},        {"advertise", "fedd"},
    {"stateDir", "subclusterd"}, {"engine", "subclusterd"}, {"name", "subclusterd"},
};

/* NULL: of fedctl, also when it cannot be told. */
static const char *program_of(const char *path)
{
    struct tf_conf_problems problems = {0};
    TF_AUTO_BUF text = TF_BUF_INIT;
    const char *program = NULL;
    if (tf_conf_read_file(path, TF_CONF_BYTES_MAX, &text, NULL))
        return NULL;
    struct tf_conf *conf = tf_conf_parse(tf_buf_text(&text), text.len, NULL, &problems);
    for (size_t i = 0; i < TF_ARRAY_LEN(signs) && !program && tf_conf_count(conf) > 0; i++)
        if (tf_conf_text(tf_conf_doc(conf, 0), signs[i].key))
            program = signs[i].program;
    tf_conf_destroy(conf);
    tf_conf_problems_release(&problems);
    return program;
}

static int check_own(struct fedctl *ctl, const char *path)
{
    struct tf_error err = TF_ERROR_INIT;
    if (config_check_file(path, &err))
        return fedctl_fail(ctl, &err);
    out_fmt(&ctl->out, "%s is right, as fedctl.yaml\n", path);
    return FEDCTL_DONE;
}

/* The daemon beside this program, else that of the PATH, takes its place: its answer and exit code are ours.
 */
static int check_with(const char *program, const char *path)
{
    char self[4096];
    char *const words[] = {(char *)(uintptr_t)program, (char *)(uintptr_t) "--check-config",
                           (char *)(uintptr_t) "--config", (char *)(uintptr_t)path, NULL};
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    self[len > 0 ? len : 0] = '\0';
    char *slash = strrchr(self, '/');
    if (slash) {
        *slash = '\0';
        TF_AUTO_FREE char *beside = tf_asprintf("%s/%s", self, program);
        execv(beside, words);
    }
    execvp(program, words);
    message("%s: %s checks its own file, and is neither beside fedctl nor in the PATH: %s", path, program,
            strerror(errno));
    return FEDCTL_FAILED;
}

static int check(struct fedctl *ctl, const char *path)
{
    const char *program = program_of(path);
    return program ? check_with(program, path) : check_own(ctl, path);
}

static const struct option options[] = {
    OPTION_OUTPUT_ALL,
    OPTION_FILES("diff, check: the configuration; - for stdin"),
    {'c',
     "CLUSTER",
     {.key = "cluster",
      TF_NAME(struct options, cluster),
      .help = "get, diff: of the subclusterd of this cluster, instead of fedd"}},
    {0,
     NULL,
     {.key = "no-headers", TF_BOOL(struct options, no_headers), .help = "tables without their titles"}},
};

/* The one file of check and diff, as a word or as -f; NULL if there is none or more. */
static const char *the_file(const struct fedctl *ctl)
{
    const struct tf_strs *words = &ctl->words, *files = &ctl->options.files;
    if (words->count - 1 + files->count != 1)
        return NULL;
    return files->count ? files->items[0] : words->items[1];
}

static int run(struct fedctl *ctl)
{
    const struct tf_strs *words = &ctl->words;
    const char *what = words->count ? words->items[0] : "";
    bool is_check = strcmp(what, "check") == 0, is_diff = strcmp(what, "diff") == 0;
    if (strcmp(what, "get") == 0) {
        if (words->count > 2 || ctl->options.files.count)
            return fedctl_usage(ctl, "config get takes one KEY, and no file");
        return live_config_get(ctl, words->count > 1 ? words->items[1] : NULL);
    }
    if (!is_check && !is_diff)
        return fedctl_usage(ctl, "config what? Say get, diff -f FILE or check FILE");
    const char *path = the_file(ctl);
    if (!path)
        return fedctl_usage(ctl, "%s which file? Say fedctl config %s", what,
                            is_diff ? "diff -f FILE" : "check FILE");
    bool readable_twice = strcmp(path, "-") != 0;
    if (is_diff && !ctl->options.cluster && readable_twice && tf_str_eq(program_of(path), "subclusterd"))
        return fedctl_usage(ctl, "%s is a file of subclusterd: say of which, with --cluster NAME", path);
    return is_check ? check(ctl, path) : live_config_diff(ctl, path);
}

const struct verb verb_config = {
    .name = "config",
    .usage = "get [KEY] [--cluster CLUSTER]\ndiff -f FILE [--cluster CLUSTER]\ncheck FILE",
    .help = "Show the configuration that a daemon runs with, and what a file would change of it",
    .more =
        "get: every key with its value, where that comes from (default, file, reload: taken over since the "
        "start,\n"
        "option: of the command line), and whether it changes by a reload or by a restart. KEY may be a "
        "group. "
        "-o wide\n"
        "has the meaning of each. What is secret is never shown.\n"
        "diff: exit code 0 the same, 1 some differ, 2 and more: not known. With one endpoint both ask the "
        "fedd "
        "there,\n"
        "with several the leader; with --cluster the leader asks the subclusterd of that cluster.\n"
        "check: whether a file of fedd, subclusterd or fedctl is right; what is wrong is told with line and "
        "column, and\n"
        "exit code 2; nothing is started or changed. A daemon's file is checked by that daemon, which must "
        "be "
        "installed\n"
        "beside fedctl or be in the PATH.",
    .examples = "# What decisions go by\n"
                "fedctl config get settings -o wide\n"
                "fedctl config get settings.classes\n"
                "fedctl config get settings --cluster bj-a\n"
                "# Before a reload\n"
                "fedctl config check /etc/tidefed/fedd.yaml\n"
                "fedctl config diff -f /etc/tidefed/fedd.yaml\n"
                "fedctl config check ~/.config/tidefed/fedctl.yaml\n",
    .options = OPTION_LIST(options),
    .run = run,
};
