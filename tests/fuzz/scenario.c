/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a scenario: read, and what was accepted is printed and read back. */
#include "tools/fedsim/scenario/scenario.h"
#include "common/base/text.h"
#include "tests/fuzz/fuzz.h"

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void print_and_read(const struct scenario *scenario)
{
    struct scenario back;
    struct tf_conf_problems problems = {0};
    struct tf_buf text = TF_BUF_INIT;
    scenario_yaml(scenario, &text);
    must(scenario_read(tf_buf_text(&text), text.len, &back, &problems) == 0);
    must(scenario_eq(scenario, &back));
    must(scenario_end(scenario) == scenario_end(&back));
    scenario_release(&back);
    tf_buf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tf_conf_problems problems = {0};
    struct scenario scenario;
    int failed = scenario_read((const char *)data, size, &scenario, &problems);
    must((failed != 0) == (problems.count > 0));
    if (!failed)
        print_and_read(&scenario);
    tf_vec_each (p, &problems)
        must(tf_utf8_valid(p->text, strlen(p->text)) && tf_utf8_valid(p->path, strlen(p->path)));
    scenario_release(&scenario);
    tf_conf_problems_release(&problems);
    return 0;
}
