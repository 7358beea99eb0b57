/* SPDX-License-Identifier: Apache-2.0 */
#include "common/trace/trace.h"

#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "tests/support/suite.h"
#include "tests/unit/trace/file.h"

#define HEADER "node_id,gpu_model,gpus,cpus,mem_gib,topology_domain\n"

static const struct tf_trace_node_defaults defaults = TF_TRACE_NODE_DEFAULTS;

static int read_text(const char *text, struct tf_trace_nodes *out, struct tf_error *err)
{
    char path[FILE_PATH];
    file_write(path, text, strlen(text));
    int failed = tf_trace_nodes_read(path, &defaults, out, err);
    unlink(path);
    return failed;
}

static void test_columns(void)
{
    struct tf_trace_nodes nodes = {0};
    struct tf_error err = TF_ERROR_INIT;
    CU_ASSERT_EQUAL_FATAL(read_text(HEADER "n1,H800,8,96.5,1024,\nn0,,0,32,256.5,\nn2,,,,,\n", &nodes, &err),
                          0);
    CU_ASSERT_EQUAL_FATAL(nodes.count, 3);
    const struct tf_node *n1 = &nodes.items[0], *n0 = &nodes.items[1], *n2 = &nodes.items[2];
    CU_ASSERT_STRING_EQUAL(n1->name, "n1");
    CU_ASSERT_STRING_EQUAL(n1->model, "H800");
    CU_ASSERT(n1->capacity.gpus == 8 && n1->capacity.cpu == 96500 && n1->capacity.memory == 1024 * 1024);
    CU_ASSERT(n1->capacity.slots == 32 && n1->state == TF_NODE_READY && n1->domains.count == 0);
    CU_ASSERT(n0->capacity.gpus == 0 && !n0->model && n0->capacity.memory == 256 * 1024 + 512);
    CU_ASSERT(n2->capacity.gpus == 8 && n2->capacity.cpu == 128000);
    CU_ASSERT_STRING_EQUAL(n2->model, "unknown");
    CU_ASSERT_EQUAL(nodes.depth, 0);
    tf_trace_nodes_release(&nodes);
}

static void test_domains(void)
{
    struct tf_trace_nodes nodes = {0};
    CU_ASSERT_EQUAL_FATAL(read_text(HEADER "a,,,,,G6/P10/S14\nb,,,,,\n", &nodes, NULL), 0);
    CU_ASSERT(nodes.depth == 3 && nodes.count == 2);
    CU_ASSERT_STRING_EQUAL(nodes.items[0].domains.items[0], "G6/P10/S14");
    CU_ASSERT_STRING_EQUAL(nodes.items[1].domains.items[0], "");
    tf_trace_nodes_release(&nodes);
}

static void expect_error(const char *text, const char *part)
{
    struct tf_trace_nodes nodes = {0};
    struct tf_error err = TF_ERROR_INIT;
    CU_ASSERT_EQUAL(read_text(text, &nodes, &err), -1);
    CU_ASSERT_EQUAL(nodes.count, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, part));
}

static void test_errors(void)
{
    expect_error("name,gpus\na,8\n", ":1: the header has no column node_id");
    expect_error(HEADER "a b,,,,,\n", ":2: node_id \"a b\"");
    expect_error(HEADER "a,,,,,\nb,,,,,\na,,,,,\n", ":4: node_id \"a\" is on line 2 already");
    expect_error(HEADER "a,,7.5,,,\n", "column gpus: 7.5 is not a whole number from 0 to 64");
    expect_error(HEADER "a,,8,many,,\n", "column cpus: \"many\" is not a number");
    expect_error(HEADER "a,,,,,x/y\nb,,,,,x\n", ":3: topology_domain \"x\" has 1 parts, but others");
}

static void test_public_data(void)
{
    const char *openb = file_public("../shared/traces/nodes_openb2023.csv");
    const char *lingjun = file_public("../shared/traces/nodes_lingjun2023_topo.csv");
    struct tf_trace_nodes nodes = {0};
    if (openb) {
        int32_t gpus = 0;
        CU_ASSERT_EQUAL(tf_trace_nodes_read(openb, &defaults, &nodes, NULL), 0);
        tf_vec_each (node, &nodes)
            gpus += node->capacity.gpus;
        CU_ASSERT(nodes.count == 1523 && gpus == 6212);
        tf_trace_nodes_release(&nodes);
    }
    if (lingjun) {
        CU_ASSERT_EQUAL(tf_trace_nodes_read(lingjun, &defaults, &nodes, NULL), 0);
        CU_ASSERT(nodes.count == 847 && nodes.depth == 3);
        tf_trace_nodes_release(&nodes);
    }
}

int main(void)
{
    static const struct suite_test tests[] = {
        {"columns", test_columns},
        {"domains", test_domains},
        {"errors", test_errors},
        {"public data", test_public_data},
    };
    return suite_run("trace/nodes", tests, TF_ARRAY_LEN(tests));
}
