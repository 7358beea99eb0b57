/* SPDX-License-Identifier: Apache-2.0 */
/* subclusterd.yaml: what it stands for, and that what is wrong is told with its place. */
#include "subcluster/daemon/config.h"
#include "common/base/cleanup.h"
#include "common/conf/conf.h"
#include "tests/support/suite.h"

#include <unistd.h>

#define HEAD                                            \
    "name: bj-a\n"                                      \
    "federation: [\"127.0.0.1:7700\"]\n"                \
    "store: {endpoints: [\"http://127.0.0.1:2379\"]}\n" \
    "stateDir: /var/lib/tidefed/bj-a\n"
#define NODE "nodes: [{name: n, cpu: 4, memory: 8Gi}]\n"

static int load(const char *text, struct subd_config *config, struct tf_error *err)
{
    char path[] = "/tmp/tidefed-config-XXXXXX";
    int fd = mkstemp(path);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    CU_ASSERT_EQUAL_FATAL(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    int result = subd_config_load(path, config, err);
    unlink(path);
    return result;
}

static void load_well(const char *text, struct subd_config *config, struct subd_nodes *nodes)
{
    struct tf_error err = TF_ERROR_INIT;
    struct tf_complaints complaints = {0};
    *nodes = (struct subd_nodes){0};
    if (load(text, config, &err))
        printf("\n    %s\n", err.text);
    CU_ASSERT_EQUAL_FATAL(err.code, TF_OK);
    CU_ASSERT_TRUE(subd_config_nodes(config, nodes, &complaints));
}

static void test_defaults(void)
{
    struct subd_config config;
    struct subd_nodes nodes;
    load_well(HEAD NODE, &config, &nodes);
    CU_ASSERT_STRING_EQUAL(config.store.prefix, "/tidefed/local/bj-a");
    CU_ASSERT_STRING_EQUAL(config.log.decisions, "/var/lib/tidefed/bj-a/decisions.log");
    CU_ASSERT_EQUAL(config.engine, SUBD_ENGINE_PROCESS);
    const struct tf_log_options log = tf_log_config_options(&config.log);
    CU_ASSERT_EQUAL(log.level, TF_LOG_INFO);
    CU_ASSERT_EQUAL(log.format, TF_LOG_TEXT);
    CU_ASSERT_PTR_NULL(log.path);
    CU_ASSERT_FALSE(config.allow_root);
    CU_ASSERT_EQUAL(config.settings.lease_ttl, 5000);
    CU_ASSERT_EQUAL(config.settings.profile_interval, 500);
    CU_ASSERT_EQUAL_FATAL(nodes.count, 1);
    CU_ASSERT_EQUAL(nodes.items[0].capacity.gpus, 0);
    CU_ASSERT_EQUAL(nodes.items[0].capacity.slots, 16);
    CU_ASSERT_EQUAL(nodes.items[0].capacity.cpu, 4000);
    CU_ASSERT_EQUAL(nodes.items[0].capacity.memory, 8192);
    CU_ASSERT_EQUAL(nodes.items[0].state, TF_NODE_READY);
    subd_nodes_release(&nodes);
    subd_config_release(&config);
}

static void test_nodes(void)
{
    struct subd_config config;
    struct subd_nodes nodes;
    load_well(HEAD "topology:\n"
                   "  - {plane: parameter, levels: [pod, switch]}\n"
                   "  - {plane: data, levels: [az]}\n"
                   "nodes:\n"
                   "  - {prefix: n, count: 20, model: H800, gpus: 8, gpuMemory: 80Gi, cpu: 96, memory: 1Ti,\n"
                   "     domains: {parameter: 'pod-{i/8}/sw-{i/2}'}, labels: {disk: nvme}}\n"
                   "  - {name: big, slots: 5, cpu: 500m, memory: 1Gi, domains: {data: az-1}}\n",
              &config, &nodes);
    CU_ASSERT_EQUAL_FATAL(nodes.count, 21);
    const struct tf_node *n = &nodes.items[19];
    CU_ASSERT_STRING_EQUAL(n->name, "n19");
    CU_ASSERT_STRING_EQUAL(n->model, "H800");
    CU_ASSERT_EQUAL(n->gpu_memory, 80 * 1024);
    CU_ASSERT_EQUAL(n->capacity.slots, 32);
    CU_ASSERT_EQUAL_FATAL(n->domains.count, 2);
    CU_ASSERT_STRING_EQUAL(n->domains.items[0], "pod-2/sw-9");
    CU_ASSERT_STRING_EQUAL(n->domains.items[1], "");
    CU_ASSERT_STRING_EQUAL(tf_pairs_get(&n->labels, "disk"), "nvme");
    n = &nodes.items[20];
    CU_ASSERT_STRING_EQUAL(n->name, "big");
    CU_ASSERT_PTR_NULL(n->model);
    CU_ASSERT_EQUAL(n->capacity.slots, 5);
    CU_ASSERT_EQUAL(n->capacity.cpu, 500);
    CU_ASSERT_STRING_EQUAL(n->domains.items[0], "");
    CU_ASSERT_STRING_EQUAL(n->domains.items[1], "az-1");
    subd_nodes_release(&nodes);
    subd_config_release(&config);
}

/* The text that must be in what is said of each. */
static const struct bad {
    const char *text, *said;
} bad[] = {
    {"name: bj-a\n" NODE, "federation"},
    {HEAD, "nodes"},
    {HEAD NODE "colour: red\n", ":6:1: unknown key \"colour\""},
    {HEAD "nodes: [{cpu: 1, memory: 1Gi}]\n", ":5:9: nodes[0]: a node needs a name"},
    {HEAD "nodes: [{name: a, count: 2, cpu: 1, memory: 1Gi}]\n", "write prefix instead of name"},
    {HEAD "nodes: [{name: a, prefix: b, cpu: 1, memory: 1Gi}]\n", "prefix"},
    {HEAD "nodes: [{name: a, gpus: 8, cpu: 1, memory: 1Gi}]\n", "has GPUs but no model"},
    {HEAD "nodes: [{name: a, model: H800, cpu: 1, memory: 1Gi}]\n", "has a GPU model but no gpus"},
    {HEAD "nodes: [{name: a, gpus: 65, model: H800, cpu: 1, memory: 1Gi}]\n", "64"},
    {HEAD "nodes: [{name: a, cpu: 1, memory: 1Zi}]\n", "memory"},
    {HEAD "nodes:\n- {name: a, cpu: 1, memory: 1Gi}\n- {name: a, cpu: 1, memory: 1Gi}\n",
     ":7:3: nodes[1]: there are two nodes of the name \"a\""},
    {HEAD "nodes:\n- {prefix: a, count: 3, cpu: 1, memory: 1Gi}\n- {name: a2, cpu: 1, memory: 1Gi}\n",
     "two nodes of the name \"a2\""},
    {HEAD "nodes: [{prefix: a, count: 20001, cpu: 1, memory: 1Gi}]\n", "20000"},
    {HEAD "nodes: [{prefix: a/, count: 2, cpu: 1, memory: 1Gi}]\n", "name"},
    {HEAD "nodes: [{name: a, cpu: 1, memory: 1Gi, domains: {x: y}}]\n",
     ":5:53: nodes[0].domains.x: topology has no plane \"x\""},
    {HEAD "topology: [{plane: p, levels: [a, b]}]\n"
          "nodes: [{name: a, cpu: 1, memory: 1Gi, domains: {p: y}}]\n",
     "has 1 parts; plane \"p\" has 2 levels"},
    {HEAD "topology: [{plane: p, levels: [a]}]\n"
          "nodes: [{name: a, cpu: 1, memory: 1Gi, domains: {p: 'y{i/0}'}}]\n",
     "braces hold {i} or {i/K}"},
    {HEAD "topology: [{plane: p, levels: [a]}, {plane: p, levels: [b]}]\n" NODE,
     "two planes of the name \"p\""},
    {HEAD NODE "process: {portLow: 5000, portHigh: 4000}\n", "below portLow"},
    {HEAD NODE "settings: {leaseTtl: 5}\n", "leaseTtl"},
    {HEAD NODE "engine: docker\n", "engine"},
    {"name: ../x\nfederation: [a]\nstore: {endpoints: [\"http://a:1\"]}\nstateDir: /x\n" NODE, ":1:"},
    {"name: x\nfederation: [a]\nstore: {endpoints: [\"a:1\"]}\nstateDir: x\n" NODE,
     "does not begin with http://"},
    {"name: x\nfederation: [a]\nstore: {endpoints: [\"a:1\"]}\nstateDir: x\n" NODE, "not an absolute path"},
};

static void test_bad(void)
{
    for (size_t i = 0; i < TF_ARRAY_LEN(bad); i++) {
        struct subd_config config;
        struct tf_error err = TF_ERROR_INIT;
        CU_ASSERT_EQUAL(load(bad[i].text, &config, &err), -1);
        if (!strstr(err.text, bad[i].said))
            printf("\n    expected \"%s\" in: %s\n", bad[i].said, err.text);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, bad[i].said));
    }
}

int main(void)
{
    static const struct suite_test tests[] = {
        {"defaults", test_defaults},
        {"nodes", test_nodes},
        {"what is wrong", test_bad},
    };
    return suite_run("subclusterd.yaml", tests, TF_ARRAY_LEN(tests));
}
