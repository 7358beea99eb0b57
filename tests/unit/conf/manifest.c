/* SPDX-License-Identifier: Apache-2.0 */
/* Job manifests from text: what is accepted, and the very words of every refusal. */
#include "common/model/manifest.h"

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/conf/conf.h"
#include "tests/support/suite.h"

#define HEAD \
    "apiVersion: tidefed/v1\nkind: Job\nmetadata: {tenant: search, name: rank}\nspec:\n  priority: batch\n"

/* Reads text; gives the problems as they are shown (free()), "" if there were none. */
static char *problems_of(const char *text, size_t len, struct tf_job_manifest *manifest)
{
    struct tf_conf_problems problems = {0};
    TF_AUTO_BUF shown = TF_BUF_INIT;
    int failed = tf_conf_read_text(text, len, NULL, &tf_job_manifest_table, manifest, &problems);
    tf_conf_problems_print(&problems, "job.yaml", &shown);
    CU_ASSERT_EQUAL(failed != 0, problems.count != 0);
    tf_conf_problems_release(&problems);
    return tf_buf_take(&shown);
}

static void expect(const char *text, const char *wanted)
{
    struct tf_job_manifest manifest;
    TF_AUTO_FREE char *shown = problems_of(text, strlen(text), &manifest);
    CU_ASSERT_STRING_EQUAL(shown, wanted);
    if (strcmp(shown, wanted) != 0)
        printf("\n--- of\n%s--- got\n%s--- wanted\n%s", text, shown, wanted);
    tf_job_manifest_release(&manifest);
}

static const char full[] = "# as in the design\n"
                           "apiVersion: tidefed/v1\n"
                           "kind: Job\n"
                           "metadata: {tenant: search, name: rerank-refresh, labels: {team: ranking}}\n"
                           "spec:\n"
                           "  priority: batch\n"
                           "  workload: offline\n"
                           "  elastic: {min: 8, max: 64, step: 8, belowMin: keep, grow: continuous}\n"
                           "  instance:\n"
                           "    gpus: 8\n"
                           "    gpuModels: [H800, H100]\n"
                           "    gpuMemory: 80Gi\n"
                           "    cpu: 96\n"
                           "    memory: 900Gi\n"
                           "    image: registry/x:1\n"
                           "    command: [python, refresh.py]\n"
                           "    env: {K: V, N: 1, EMPTY: \"\"}\n"
                           "    ports: [http]\n"
                           "    grace: 30s\n"
                           "    stopDelay: 10s\n"
                           "    ready: {command: [curl, localhost], period: 5s, timeout: 2m}\n"
                           "  topology: [{plane: parameter, within: rdma-pod, of: job, mode: require}]\n"
                           "  nodes: {labels: {disk: nvme}}\n"
                           "  spread: {maxNodes: 16}\n"
                           "  onResize: {signal: SIGUSR1}\n"
                           "  migration: allow\n"
                           "  readyMin: 6\n"
                           "  minRuntime: 2h\n"
                           "  maxRuntime: 12h\n"
                           "  retries: {limit: 3, backoff: 10s}\n"
                           "  completion: all\n"
                           "  keepFinished: 24h\n"
                           "  placement: {clusters: [bj-a, gz-b], regions: [], onClusterLost: wait}\n";

static void test_full(void)
{
    struct tf_job_manifest m;
    TF_AUTO_FREE char *shown = problems_of(full, sizeof full - 1, &m);
    CU_ASSERT_STRING_EQUAL_FATAL(shown, "");
    const struct tf_job_spec *s = &m.spec;
    CU_ASSERT_STRING_EQUAL(m.tenant, "search");
    CU_ASSERT_STRING_EQUAL(tf_pairs_get(&m.labels, "team"), "ranking");
    CU_ASSERT_EQUAL(s->elastic.max, 64);
    CU_ASSERT_EQUAL(s->group.shape.gpus, 8);
    CU_ASSERT_STRING_EQUAL(s->group.shape.gpu_models.items[1], "H100");
    CU_ASSERT_EQUAL(s->group.shape.gpu_memory, 80 * 1024);
    CU_ASSERT_EQUAL(s->group.shape.cpu, 96000);
    CU_ASSERT_EQUAL(s->group.shape.memory, 900 * 1024);
    CU_ASSERT_STRING_EQUAL(tf_pairs_get(&s->group.env, "N"), "1");
    CU_ASSERT_STRING_EQUAL(tf_pairs_get(&s->group.env, "EMPTY"), "");
    CU_ASSERT_EQUAL(s->group.stop_delay, 10 * TF_SECOND);
    CU_ASSERT_EQUAL(s->group.ready.timeout, 2 * TF_MINUTE);
    CU_ASSERT_STRING_EQUAL(s->topology.items[0].within, "rdma-pod");
    CU_ASSERT_EQUAL(s->on_resize, TF_ON_RESIZE_SIGNAL);
    CU_ASSERT_STRING_EQUAL(s->resize_signal, "SIGUSR1");
    CU_ASSERT_EQUAL(s->max_runtime, 12 * TF_HOUR);
    CU_ASSERT_STRING_EQUAL(s->clusters.items[1], "gz-b");
    tf_job_manifest_release(&m);
}

static void test_short_forms(void)
{
    struct tf_job_manifest m;
    const char *text = HEAD "  workload: debug\n  instances: 4\n  instance: {gpus: 1}\n  onResize: restart\n"
                            "  topology: [{within: pod}]\n";
    TF_AUTO_FREE char *shown = problems_of(text, strlen(text), &m);
    CU_ASSERT_STRING_EQUAL_FATAL(shown, "");
    CU_ASSERT_EQUAL(m.spec.elastic.min, 4);
    CU_ASSERT_EQUAL(m.spec.elastic.max, 4);
    CU_ASSERT_EQUAL(m.spec.elastic.step, 4);
    CU_ASSERT_EQUAL(m.spec.max_runtime, 8 * TF_HOUR);
    CU_ASSERT_EQUAL(m.spec.on_resize, TF_ON_RESIZE_RESTART);
    CU_ASSERT_EQUAL(m.spec.topology.items[0].of, TF_TOPOLOGY_OF_JOB);
    CU_ASSERT_EQUAL(m.spec.topology.items[0].mode, TF_TOPOLOGY_REQUIRE);
    tf_job_manifest_release(&m);
    const char *none = HEAD "  workload: debug\n  maxRuntime: none\n  instance: {}\n";
    TF_AUTO_FREE char *shown_none = problems_of(none, strlen(none), &m);
    CU_ASSERT_STRING_EQUAL_FATAL(shown_none, "");
    CU_ASSERT_EQUAL(m.spec.max_runtime, 0);
    CU_ASSERT_EQUAL(m.spec.elastic.min, 1);
    tf_job_manifest_release(&m);
}

static void test_json(void)
{
    const char *text =
        "{\"apiVersion\":\"tidefed/"
        "v1\",\"kind\":\"Job\",\n\t\"metadata\":{\"tenant\":\"a\",\"name\":\"b\"},\n"
        "\t\"spec\":{\"priority\":\"batch\",\"instances\":2,\"instance\":{\"gpus\":1,\"cpu\":\"1\\u0035\","
        "\"command\":[\"a\\/b\",\"\\ud83d\\ude00\",\"\\\\ud83d\"],\"env\":{}}}}";
    struct tf_job_manifest m;
    TF_AUTO_FREE char *shown = problems_of(text, strlen(text), &m);
    CU_ASSERT_STRING_EQUAL_FATAL(shown, "");
    CU_ASSERT_EQUAL(m.spec.group.shape.cpu, 15000);
    CU_ASSERT_STRING_EQUAL(m.spec.group.command.items[0], "a/b");
    CU_ASSERT_STRING_EQUAL(m.spec.group.command.items[1], "\xf0\x9f\x98\x80");
    CU_ASSERT_STRING_EQUAL(m.spec.group.command.items[2], "\\ud83d");
    tf_job_manifest_release(&m);
    TF_AUTO_BUF windows = TF_BUF_INIT;
    tf_buf_str(&windows, "\xef\xbb\xbf");
    for (const char *p = full; *p; p++)
        tf_buf_str(&windows, *p == '\n' ? "\r\n" : (char[]){*p, 0});
    TF_AUTO_FREE char *shown_windows = problems_of(windows.data, windows.len, &m);
    CU_ASSERT_STRING_EQUAL(shown_windows, "");
    tf_job_manifest_release(&m);
}

static void test_wrong_keys(void)
{
    expect(HEAD "  instance: {}\n  prioritty: batch\n",
           "job.yaml:7:3: spec: unknown key \"prioritty\"; did you mean \"priority\"?\n");
    expect(HEAD "  instance: {}\n  gpus: 8\n",
           "job.yaml:7:3: spec: unknown key \"gpus\"; it belongs at spec.instance.gpus\n");
    expect(HEAD "  instance: {}\n  spread: {zebra: 1}\n",
           "job.yaml:7:12: spec.spread: unknown key \"zebra\"; known here: maxNodes\n");
    expect(HEAD "  instance: {gpus: 1,\n    gpus: 2}\n",
           "job.yaml:7:5: spec.instance.gpus: the key is there twice; the first is on line 6\n");
    expect(HEAD "  instance:\n    env: {A: 1, B: 2, A: 3}\n",
           "job.yaml:7:23: spec.instance.env.A: the key is there twice; the first is on line 7\n");
    expect(HEAD "  instance: {}\n  instances: 4\n  elastic: {min: 1, max: 2}\n",
           "job.yaml:7:3: spec.instances: cannot be combined with elastic: say one of the two\n");
    expect(HEAD "  instance: {}\n  elastic: {max: 2}\n", "job.yaml:7:3: spec.elastic.min: is missing\n");
    expect(HEAD, "job.yaml:4:1: spec.instance: is missing\n");
    expect("kind: Reservation\napiVersion: v1\n",
           "job.yaml:1:1: metadata: is missing\n"
           "job.yaml:1:1: spec: is missing\n"
           "job.yaml:1:7: kind: \"Reservation\" is not known here: it must be Job\n"
           "job.yaml:2:13: apiVersion: \"v1\" is not known here: it must be tidefed/v1\n");
}

static void expect_reservation(const char *spec, const char *wanted)
{
    TF_AUTO_FREE char *text = tf_asprintf("apiVersion: tidefed/v1\nkind: Reservation\n"
                                          "metadata: {tenant: search, name: room}\nspec:\n%s",
                                          spec);
    struct tf_job_manifest manifest = {0};
    struct tf_conf_problems problems = {0};
    TF_AUTO_BUF shown = TF_BUF_INIT;
    tf_conf_read_text(text, strlen(text), NULL, &tf_reservation_manifest_table, &manifest, &problems);
    tf_conf_problems_print(&problems, "r.yaml", &shown);
    CU_ASSERT_STRING_EQUAL(tf_buf_text(&shown), wanted);
    if (strcmp(tf_buf_text(&shown), wanted) != 0)
        printf("\n--- got\n%s--- wanted\n%s", tf_buf_text(&shown), wanted);
    struct tf_complaints complaints = {0};
    if (!problems.count) {
        CU_ASSERT_TRUE(tf_job_manifest_check(&manifest, &complaints));
        CU_ASSERT_STRING_EQUAL(manifest.spec.reserve.owner.tenant, "search");
    }
    tf_complaints_release(&complaints);
    tf_conf_problems_release(&problems);
    tf_job_manifest_release(&manifest);
}

static void test_reservations(void)
{
    expect_reservation(
        "  {priority: batch, count: 4, expires: 2h, owner: {job: rank}, instance: {gpus: 8}}\n", "");
    expect_reservation(
        "  priority: batch\n  expires: 2h\n  owner: {selector: \"team=a\"}\n  instance: {gpus: 8}\n", "");
    expect_reservation("  priority: batch\n  owner: {job: rank}\n  instance: {gpus: 8, command: [x]}\n",
                       "r.yaml:4:1: spec.expires: is missing\n"
                       "r.yaml:7:23: spec.instance: unknown key \"command\"; known here: gpus, gpuModels, "
                       "gpuMemory, cpu, memory\n");
    expect_reservation(
        "  priority: batch\n  expires: 2h\n  owner: {selector: \"team in (\"}\n  instance: {cpu: 8}\n",
        "r.yaml:7:21: spec.owner.selector: column 10: the values end with ), as in: zone in (a, b)\n"
        "r.yaml:8:3: spec.instance.gpus: is missing: what is reserved are GPUs, at least one an instance\n");
}

static void test_wrong_types(void)
{
    expect(HEAD "  instance: {gpus: eight}\n",
           "job.yaml:6:20: spec.instance.gpus: \"eight\" is not a whole number\n");
    expect(HEAD "  instance: {}\n  instances: 0\n",
           "job.yaml:7:14: spec.instances: 0 is too small: it must be at least 1, or be left out\n");
    expect(HEAD "  instance: {memory: 64}\n", "job.yaml:6:22: spec.instance.memory: 64 without a unit would "
                                              "be so many bytes: write 64Mi or 64Gi, or "
                                              "what is meant\n");
    expect(HEAD "  instance: {gpus: 1.5}\n",
           "job.yaml:6:20: spec.instance.gpus: \"1.5\" is not a whole number\n");
    expect(HEAD "  instance: {gpus: \"8\"}\n",
           "job.yaml:6:20: spec.instance.gpus: must be a whole number, not a text in quotes\n");
    expect(HEAD "  instance: {gpus: [8]}\n",
           "job.yaml:6:20: spec.instance.gpus: must be a whole number, not a list\n");
    expect(HEAD "  instance: {gpus: 99999999999}\n",
           "job.yaml:6:20: spec.instance.gpus: 99999999999 is too large a number\n");
    expect(HEAD "  instance: {gpus: 99999999999999999999}\n",
           "job.yaml:6:20: spec.instance.gpus: \"99999999999999999999\" is not a whole number that fits 64 "
           "bits\n");
    expect(HEAD "  instance: {command: python}\n",
           "job.yaml:6:23: spec.instance.command: must be a list of texts: write [python]\n");
    expect(HEAD "  instance: {command: [{a: b}]}\n",
           "job.yaml:6:24: spec.instance.command[0]: must be a single text, not a mapping\n");
    expect(HEAD "  instance: {image: }\n",
           "job.yaml:6:21: spec.instance.image: has no value: write a text (\"\" if it is "
           "to be empty), or leave the key out\n");
    expect(HEAD "  instance: {command: [echo, null]}\n",
           "job.yaml:6:30: spec.instance.command[1]: null means \"no value\" "
           "in YAML: put it in quotes if the word is meant\n");
    expect(HEAD "  instance: [1]\n", "job.yaml:6:13: spec.instance: must be a mapping of keys, not a list\n");
    expect(HEAD "  instance:\n",
           "job.yaml:6:12: spec.instance: has no value: write a mapping of keys, or leave the key out\n");
    expect(HEAD "  instance: {}\n  topology: {within: pod}\n",
           "job.yaml:7:13: spec.topology: must be a list of mappings, not a mapping\n");
    expect(HEAD "  instance: {}\n  workload: traning\n",
           "job.yaml:7:13: spec.workload: \"traning\" is not one of inference, training, offline or debug; "
           "did you "
           "mean \"training\"?\n");
    expect(HEAD "  instance: {}\n  onResize: signal\n",
           "job.yaml:7:13: spec.onResize: signal needs a text: write {signal: ...}\n");
    expect(HEAD "  instance: {}\n  onResize: {none: x}\n",
           "job.yaml:7:13: spec.onResize: none takes no text: write none alone\n");
    expect("[a, b]\n", "job.yaml:1:1: the document must be a mapping of keys, not a list\n");
    expect("hello\n", "job.yaml:1:1: the document must be a mapping of keys, not a single value\n");
}

static void test_wrong_units(void)
{
    expect(HEAD "  instance: {grace: 30}\n",
           "job.yaml:6:21: spec.instance.grace: 30 has no unit: a duration needs one, as "
           "in 30s, 5m, 2h, 1d\n");
    expect(HEAD "  instance: {grace: 30sec}\n", "job.yaml:6:21: spec.instance.grace: \"30sec\" is not a "
                                                "duration: write whole numbers with units, larger "
                                                "units first, as in 500ms, 30s, 5m, 1h30m, 2d\n");
    expect(HEAD "  instance: {memory: 900GB}\n", "job.yaml:6:22: spec.instance.memory: \"900GB\" is not a "
                                                 "size: write a number with Ki, Mi, Gi, Ti, Pi (or "
                                                 "k, M, G, T, P), as in 80Gi\n");
    expect(HEAD "  instance: {cpu: 96 cores}\n", "job.yaml:6:19: spec.instance.cpu: \"96 cores\" is not an "
                                                 "amount of CPU: write cores, as in 96 or 1.5, or "
                                                 "millicores, as in 500m\n");
    expect(HEAD "  instance: {grace: 2h}\n",
           "job.yaml:6:21: spec.instance.grace: 2h is not between 0s and 1h\n");
    expect(HEAD "  instance: {gpus: -1}\n",
           "job.yaml:6:20: spec.instance.gpus: -1 is not between 0 and 64\n");
}

static void test_rules(void)
{
    expect(HEAD "  instance: {}\n  elastic: {min: 7, max: 8, step: 2}\n",
           "job.yaml:7:18: spec.elastic.min: 7 is not a multiple of step 2; the nearest legal values are 6 "
           "and 8\n");
    expect(HEAD "  instance: {gpuModels: [H800], gpuMemory: 80Gi}\n",
           "job.yaml:6:14: spec.instance.gpuModels: means nothing with gpus: 0; leave it out\n"
           "job.yaml:6:44: spec.instance.gpuMemory: means nothing with gpus: 0; leave it out\n");
    expect(HEAD "  instance:\n    env: {A-B: 1}\n", "job.yaml:7:16: spec.instance.env.A-B: a variable's name "
                                                    "has only letters, digits and '_', and does not "
                                                    "begin with a digit\n");
    expect(HEAD "  instance: {}\n  topology:\n  - within: pod\n    of: step\n  spread:\n    maxNodes: 2\n",
           "job.yaml:9:9: spec.topology[0].of: a required domain of each step cannot be combined with "
           "spread.maxNodes; use mode: prefer, or leave maxNodes out\n");
    expect(
        "apiVersion: tidefed/v1\nkind: Job\nmetadata: {tenant: ../etc, name: a/b, labels: {a.b/c: \"x y\"}}\n"
        "spec: {priority: batch, instance: {}}\n",
        "job.yaml:3:20: metadata.tenant: the name \"../etc\": use lower-case letters, digits, '-' and single "
        "'.', and "
        "begin and end with a letter or digit\n"
        "job.yaml:3:34: metadata.name: the name \"a/b\": use lower-case letters, digits, '-' and single '.', "
        "and "
        "begin and end with a letter or digit\n");
    expect("apiVersion: tidefed/v1\nkind: Job\nmetadata: {tenant: a, name: b, labels: {a.b/c: \"x y\"}}\n"
           "spec: {priority: batch, instance: {}}\n",
           "job.yaml:3:48: metadata.labels.a.b/c: a label's value has only letters, digits, '-', '_', '.' "
           "and '/'\n");
}

static void test_all_at_once(void)
{
    expect(
        "apiVersion: tidefed/v1\nkind: Job\nmetadata: {tenant: search, nam: rank}\nspec:\n  priority: [a]\n"
        "  instance: {gpus: x, grace: 30, memory: 1Zi}\n  readyMin: 5000\n",
        "job.yaml:3:28: metadata: unknown key \"nam\"; did you mean \"name\"?\n"
        "job.yaml:5:13: spec.priority: must be a name, not a list\n"
        "job.yaml:6:20: spec.instance.gpus: \"x\" is not a whole number\n"
        "job.yaml:6:30: spec.instance.grace: 30 has no unit: a duration needs one, as in 30s, 5m, 2h, 1d\n"
        "job.yaml:6:42: spec.instance.memory: \"1Zi\" is not a size: write a number with Ki, Mi, Gi, Ti, Pi "
        "(or k, M, "
        "G, T, P), as in 80Gi\n"
        "job.yaml:7:13: spec.readyMin: 5000 is not between 0 and 4096\n");
}

/* The complaints of a peer, which knows paths only. */
static void test_locate(void)
{
    struct tf_conf_problems problems = {0};
    struct tf_conf *conf = tf_conf_parse(full, sizeof full - 1, NULL, &problems);
    CU_ASSERT_EQUAL_FATAL(tf_conf_count(conf), 1);
    const struct tf_conf_doc *doc = tf_conf_doc(conf, 0);
    static const struct {
        const char *path;
        int line, column;
    } places[] = {
        {"spec.elastic.min", 8, 18},
        {"spec.topology[0].within", 22, 41},
        {"spec.topology[0]", 22, 14},
        {"spec.topology[7].within", 22, 3},
        {"spec.instance.command[1]", 16, 23},
        {"spec.instance", 9, 3},
        {"spec.instance.nothing", 9, 3},
        {"metadata.labels.team", 4, 65},
        {"nowhere.at.all", 2, 1},
        {"", 2, 1},
    };
    for (size_t i = 0; i < TF_ARRAY_LEN(places); i++) {
        int line = 0, column = 0;
        tf_conf_locate(doc, places[i].path, &line, &column);
        CU_ASSERT_EQUAL(line, places[i].line);
        CU_ASSERT_EQUAL(column, places[i].column);
        if (line != places[i].line || column != places[i].column)
            printf("\n    %s is at %d:%d", places[i].path, line, column);
    }
    CU_ASSERT_STRING_EQUAL(tf_conf_text(doc, "kind"), "Job");
    CU_ASSERT_PTR_NULL(tf_conf_text(doc, "spec"));
    CU_ASSERT_PTR_NULL(tf_conf_text(doc, "kin"));
    tf_conf_destroy(conf);
}

static const struct suite_test tests[] = {
    {"full", test_full},
    {"short forms", test_short_forms},
    {"JSON, BOM and CRLF", test_json},
    {"wrong keys", test_wrong_keys},
    {"reservations", test_reservations},
    {"wrong types", test_wrong_types},
    {"wrong units and bounds", test_wrong_units},
    {"rules", test_rules},
    {"all problems at once", test_all_at_once},
    {"locate", test_locate},
};

int main(void)
{
    return suite_run("manifest", tests, TF_ARRAY_LEN(tests));
}
