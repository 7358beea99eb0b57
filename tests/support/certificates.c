/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/certificates.h"

#include "common/base/alloc.h"
#include "common/base/cleanup.h"
#include "tests/support/process.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

enum { WORDS_MAX = 8 };

bool test_certificates_add(const struct test_certificates *certificates, const char *command)
{
    TF_AUTO_FREE char *words = tf_strdup(command), *log = tf_asprintf("%s/log", certificates->folder);
    const char *argv[5 + WORDS_MAX] = {"bash", "deploy/tls.sh", "--dir", certificates->folder};
    size_t count = 4;
    char *rest = NULL;
    for (char *word = strtok_r(words, " ", &rest); word && count < 4 + WORDS_MAX;
         word = strtok_r(NULL, " ", &rest))
        argv[count++] = word;
    pid_t pid = test_process_start(argv, log, NULL, NULL);
    int status = pid > 0 ? test_process_wait(pid) : -1;
    if (status == 0)
        return true;
    fprintf(stderr, "deploy/tls.sh %s failed; see %s\n", command, log);
    return false;
}

bool test_certificates_make(struct test_certificates *certificates, const char *const *commands)
{
    snprintf(certificates->folder, sizeof certificates->folder, "/tmp/tidefed-tls-XXXXXX");
    if (!mkdtemp(certificates->folder)) {
        perror(certificates->folder);
        return false;
    }
    for (; *commands; commands++)
        if (!test_certificates_add(certificates, *commands))
            return false;
    return true;
}

void test_certificates_remove(struct test_certificates *certificates)
{
    test_remove_tree(certificates->folder);
}

struct tf_tls_files test_certificates_files(const struct test_certificates *certificates, const char *name)
{
    struct tf_tls_files files = {.ca = tf_asprintf("%s/ca.pem", certificates->folder)};
    if (name) {
        files.certificate = tf_asprintf("%s/%s.pem", certificates->folder, name);
        files.key = tf_asprintf("%s/%s.key", certificates->folder, name);
    }
    return files;
}
