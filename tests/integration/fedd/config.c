/* SPDX-License-Identifier: Apache-2.0 */
/* What fedd says to a configuration that is wrong, word by word, and with which code it ends. */
#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "tests/support/process.h"
#include "tests/support/suite.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/tidefed-config-XXXXXX";

/* Runs fedd in the folder; what it printed, owned by the caller. */
static char *run(const char *const *argv, int *code)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    char bytes[4096];
    TF_AUTO_FREE char *log = tf_asprintf("%s/log", folder);
    unlink(log);
    *code = -1;
    pid_t pid = test_process_start(argv, log, NULL, NULL);
    CU_ASSERT_FATAL(pid > 0);
    int status = test_process_wait(pid);
    if (WIFEXITED(status))
        *code = WEXITSTATUS(status);
    FILE *file = fopen(log, "re");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    for (size_t n; (n = fread(bytes, 1, sizeof bytes, file)) > 0;)
        tf_buf_add(&text, bytes, n);
    fclose(file);
    return tf_strdup(tf_buf_text(&text));
}

static void write_config(const char *text)
{
    FILE *file = fopen("c.yaml", "we");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs(text, file);
    fclose(file);
}

static void check(const char *config, const char *option, int wanted_code, const char *wanted)
{
    const char *argv[] = {TF_FEDD, "--config", "c.yaml", option, NULL};
    int code;
    write_config(config);
    TF_AUTO_FREE char *text = run(argv, &code);
    CU_ASSERT_EQUAL(code, wanted_code);
    CU_ASSERT_STRING_EQUAL(text, wanted);
    if (strcmp(text, wanted) != 0)
        fprintf(stderr, "\nwanted: %sgot:    %s", wanted, text);
}

#define STORE "store:\n  endpoints: [http://127.0.0.1:1]\n"
#define NEEDS_TLS                                                                                          \
    " can be reached from other machines, so it needs `tls` (deploy/tls.sh makes the files); without it, " \
    "listen on 127.0.0.1, [::1] or unix:/path\n"
#define NO_PORT ": no port from 0 to 65535 at the end (write host:port, or unix:/path)\n"
#define GOOD "listen: 127.0.0.1:0\ndataDir: d\n" STORE

static const struct {
    const char *config, *option;
    int code;
    const char *text;
} cases[] = {
    {"lisen: 127.0.0.1:0\ndataDir: d\n" STORE, NULL, 2,
     "fedd: c.yaml:1:1: unknown key \"lisen\"; did you mean \"listen\"?\n"},
    {"listen: 0.0.0.0:7700\ndataDir: d\n" STORE, NULL, 2,
     "fedd: c.yaml:1:9: listen: \"0.0.0.0:7700\"" NEEDS_TLS},
    {"listen: 127.0.0.1.example.com:7700\ndataDir: d\n" STORE, NULL, 2,
     "fedd: c.yaml:1:9: listen: \"127.0.0.1.example.com:7700\"" NEEDS_TLS},
    {"tls: {ca: c}\n" GOOD, NULL, 2,
     "fedd: c.yaml:1:1: tls.certificate: is missing: both ends of a link show a certificate (deploy/tls.sh "
     "makes "
     "them)\nc.yaml:1:1: tls.key: is missing: both ends of a link show a certificate (deploy/tls.sh makes "
     "them)\n"},
    {"tls: {ca: c.yaml, certificate: b, key: c}\n" GOOD, NULL, 2,
     "fedd: tls: c.yaml holds no certificate in PEM\n"},
    {"listen: 127.0.0.1:0\n" STORE, NULL, 2, "fedd: c.yaml:1:1: dataDir: is missing\n"},
    {"listen: 127.0.0.1:0\ndataDir: d\n", NULL, 2, "fedd: c.yaml:1:1: store: is missing\n"},
    {"listen: 127.0.0.1:0\ndataDir: d\nstore:\n  endpoints: [127.0.0.1:2379]\n", NULL, 2,
     "fedd: c.yaml:4:3: store.endpoints: \"127.0.0.1:2379\" does not begin with http:// or https://\n"},
    {"listen: 127.0.0.1:0\ndataDir: d\nstore:\n  endpoints: [https://127.0.0.1:2379]\n", NULL, 2,
     "fedd: c.yaml:4:3: store.endpoints: \"https://127.0.0.1:2379\" needs `tls: {ca: FILE}`, to know whom to "
     "believe\n"},
    {"listen: 127.0.0.1:0\ndataDir: d\nstore:\n  endpoints: [http://10.0.0.1:2379]\n  user: u\n  "
     "passwordFile: p\n",
     NULL, 2,
     "fedd: c.yaml:4:3: store.endpoints: \"http://10.0.0.1:2379\" would be sent the password in the clear: "
     "use https://, "
     "or an etcd on this machine\n"},
    {GOOD "  user: u\n", NULL, 2, "fedd: c.yaml:3:1: store.passwordFile: is missing: they go together\n"},
    {GOOD "  prefix: tidefed\n", NULL, 2,
     "fedd: c.yaml:5:11: store.prefix: \"tidefed\" does not begin with '/'\n"},
    {GOOD "settings: {leaseTtl: 5}\n", NULL, 2,
     "fedd: c.yaml:5:22: settings.leaseTtl: 5 has no unit: a duration needs one, as in 30s, 5m, 2h, 1d\n"},
    {GOOD "log: {level: loud}\n", NULL, 2,
     "fedd: c.yaml:5:14: log.level: \"loud\" is not one of debug, info, warn or error\n"},
    {"listen: 127.0.0.1:0\ndataDir: no/such/folder\n" STORE, NULL, 1,
     "fedd: dataDir no/such/folder cannot be made (make the folder that it is in): No such file or "
     "directory\n"},
    {GOOD, "--listen=10.0.0.1:7", 2, "fedd: --listen: \"10.0.0.1:7\"" NEEDS_TLS},
    {GOOD, "--check-config", 0, "c.yaml: the configuration is right\n"},
    {GOOD "settings: {refusalBackoff: 2s, fenceMargin: 2m}\n", "--check-config", 0,
     "c.yaml: the configuration is right\n"
     "c.yaml: note: settings.fenceMargin decides nothing yet\n"},
    {"listen: 127.0.0.1:99999\ndataDir: d\n" STORE, "--check-config", 2,
     "fedd: c.yaml:1:9: listen: address \"127.0.0.1:99999\"" NO_PORT},
    {"advertise: here\n" GOOD, "--check-config", 2, "fedd: c.yaml:1:12: advertise: address \"here\"" NO_PORT},
    {GOOD "metrics: {listen: 9770}\n", "--check-config", 2,
     "fedd: c.yaml:5:19: metrics.listen: address \"9770\"" NO_PORT},
    {GOOD "metrics: {listen: unix:/m}\n", "--check-config", 2,
     "fedd: c.yaml:5:19: metrics.listen: \"unix:/m\" is no HOST:PORT\n"},
    {GOOD, "--listen=here", 2, "fedd: --listen: address \"here\"" NO_PORT},
    {"listen: 127.0.0.1:0\ndataDir: d\nstore:\n  endpoints: []\n", "--check-config", 2,
     "fedd: c.yaml:4:3: store.endpoints: has 0 items, at least 1 is needed\n"},
    {"listen: unix:/no/such/dir/s\ndataDir: d\n" STORE, NULL, 2,
     "fedd: cannot listen on unix:/no/such/dir/s: no socket can be made in /no/such/dir: No such file or "
     "directory\n"},
    {GOOD "log: {file: /no/such/x.log}\n", NULL, 1,
     "fedd: cannot open the log file \"/no/such/x.log\": No such file or directory\n"},
};

static void test_texts(void)
{
    for (size_t i = 0; i < TF_ARRAY_LEN(cases); i++)
        check(cases[i].config, cases[i].option, cases[i].code, cases[i].text);
}

static void test_options(void)
{
    const char *none[] = {TF_FEDD, NULL}, *absent[] = {TF_FEDD, "--config", "nosuch.yaml", NULL},
               *version[] = {TF_FEDD, "--version", NULL},
               *reference[] = {TF_FEDD, "--print-config-reference", NULL};
    int code;
    TF_AUTO_FREE char *text = run(none, &code);
    CU_ASSERT_EQUAL(code, 2);
    CU_ASSERT_STRING_EQUAL(text, "fedd: --config FILE is needed (see --help)\n");
    free(text);
    text = run(absent, &code);
    CU_ASSERT_EQUAL(code, 1);
    CU_ASSERT_STRING_EQUAL(text, "fedd: nosuch.yaml: cannot be opened: No such file or directory\n");
    free(text);
    text = run(version, &code);
    CU_ASSERT_EQUAL(code, 0);
    CU_ASSERT_EQUAL(strncmp(text, "fedd ", 5), 0);
    free(text);
    text = run(reference, &code);
    CU_ASSERT_EQUAL(code, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "dataDir"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "leaseTtl"));
}

static void test_port_in_use(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CU_ASSERT_FATAL(fd >= 0 && bind(fd, (struct sockaddr *)&at, len) == 0 && listen(fd, 1) == 0 &&
                    getsockname(fd, (struct sockaddr *)&at, &len) == 0);
    TF_AUTO_FREE char *config = tf_asprintf("listen: 127.0.0.1:%d\ndataDir: d\n" STORE, ntohs(at.sin_port));
    TF_AUTO_FREE char *wanted = tf_asprintf("fedd: cannot listen on 127.0.0.1:%d: the address is in use by "
                                            "another process; stop it, or choose another port\n",
                                            ntohs(at.sin_port));
    check(config, NULL, 1, wanted);
    close(fd);
}

/* Two in one folder would write one archive. */
static bool has_started(void *arg)
{
    FILE *file = fopen(arg, "re");
    char line[400] = "";
    bool yes = file && fgets(line, sizeof line, file) && strstr(line, "address=");
    if (file)
        fclose(file);
    return yes;
}

static void test_folder_in_use(void)
{
    const char *argv[] = {TF_FEDD, "--config", "first.yaml", NULL};
    TF_AUTO_FREE char *log = tf_asprintf("%s/first.log", folder);
    write_config(GOOD);
    CU_ASSERT_EQUAL(rename("c.yaml", "first.yaml"), 0);
    pid_t first = test_process_start(argv, log, NULL, NULL);
    CU_ASSERT_TRUE(test_wait_for(has_started, log, 20000));
    check(GOOD, NULL, 1, "fedd: dataDir d is in use by another fedd: give each one its own\n");
    test_process_kill(first);
}

static const struct suite_test tests[] = {
    {"texts", test_texts},
    {"options", test_options},
    {"port in use", test_port_in_use},
    {"dataDir in use", test_folder_in_use},
};

int main(void)
{
    if (!mkdtemp(folder) || chdir(folder) != 0) {
        perror(folder);
        return 1;
    }
    int result = suite_run("fedd/config", tests, TF_ARRAY_LEN(tests));
    test_remove_tree(folder);
    return result;
}
