/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a file of job manifests: read, and what was accepted is printed and read back. */
#include "common/model/manifest.h"

#include "common/base/text.h"
#include "common/conf/conf.h"
#include "tests/fuzz/fuzz.h"

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void print_and_read(const struct tf_job_manifest *job)
{
    struct tf_job_manifest back;
    struct tf_conf_problems problems = {0};
    struct tf_buf text = TF_BUF_INIT;
    tf_table_yaml(&tf_job_manifest_table, job, &text);
    must(tf_conf_read_text(text.data, text.len, NULL, &tf_job_manifest_table, &back, &problems) == 0);
    must(tf_job_manifest_eq(job, &back));
    tf_job_manifest_release(&back);
    tf_buf_release(&text);
}

static void read_document(const struct tf_conf_doc *doc)
{
    struct tf_job_manifest job;
    struct tf_conf_problems problems = {0};
    if (tf_conf_read(doc, &tf_job_manifest_table, &job, &problems) == 0) {
        must(problems.count == 0);
        print_and_read(&job);
    }
    tf_vec_each (p, &problems)
        must(tf_utf8_valid(p->text, strlen(p->text)) && tf_utf8_valid(p->path, strlen(p->path)));
    tf_job_manifest_release(&job);
    tf_conf_problems_release(&problems);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tf_conf_problems problems = {0};
    struct tf_conf *conf = tf_conf_parse((const char *)data, size, NULL, &problems);
    must((conf == NULL) == (problems.count > 0));
    for (size_t i = 0; i < tf_conf_count(conf); i++)
        read_document(tf_conf_doc(conf, i));
    tf_conf_destroy(conf);
    tf_conf_problems_release(&problems);
    return 0;
}
