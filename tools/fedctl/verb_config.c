/* SPDX-License-Identifier: Apache-2.0 */
/* Owns config: whether a configuration file is right. Each program knows the rules of its own file, so that
 * of a daemon is given to that daemon of the same installation, which only reads it. */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "common/conf/conf.h"
#include "tools/fedctl/fedctl.h"

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

static int run(struct fedctl *ctl)
{
    const struct tf_strs *words = &ctl->words;
    if (words->count != 2 || strcmp(words->items[0], "check") != 0)
        return fedctl_usage(ctl, "check which file? Say fedctl config check FILE");
    const char *path = words->items[1], *program = program_of(path);
    return program ? check_with(program, path) : check_own(ctl, path);
}

const struct verb verb_config = {
    .name = "config",
    .usage = "check FILE",
    .help = "Say whether a configuration of fedd, subclusterd or fedctl is right",
    .more = "What is wrong is told with line and column, and exit code 2; nothing is started or changed. A "
            "daemon's\n"
            "file is checked by that daemon, which must be installed beside fedctl or be in the PATH.",
    .examples = "# Before a reload\n"
                "fedctl config check /etc/tidefed/fedd.yaml && systemctl reload fedd\n"
                "fedctl config check ~/.config/tidefed/fedctl.yaml\n",
    .run = run,
};
