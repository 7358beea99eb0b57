/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong in a scenario is told with line, column, key and advice: word by word. */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "tests/support/suite.h"
#include "tools/fedsim/scenario/scenario.h"

static const char good[] =
    "name: n\n"
    "clusters:\n"
    "  - {name: a, nodes: [{count: 4, model: H800, gpus: 8}]}\n"
    "  - {name: bb, levels: {net: [rack]}, nodes: [{count: 4, model: H800, gpus: 8, domain: \"r-{i/2}\"}]}\n"
    "jobs:\n"
    "  - {at: 0s, tenant: t, name: x, spec: {priority: train, instance: {gpus: 8}}}\n";

/* In the good scenario the first `was` becomes `is`, or (NULL) that is added at the end. */
static const struct {
    const char *was, *is, *told;
} cases[] = {
    {NULL, "evnts: []\n", "7:1: unknown key \"evnts\"; did you mean \"events\"?\n"},
    {"count: 4, model", "cuont: 4, model",
     "3:24: clusters[0].nodes[0]: unknown key \"cuont\"; did you mean \"count\"?\n"},
    {NULL, "settings: {absorbCooldwn: 5m}\n",
     "7:12: settings: unknown key \"absorbCooldwn\"; did you mean \"absorbCooldown\"?\n"},
    {NULL, "settings: {nodeLostAfter: 5}\n",
     "7:27: settings.nodeLostAfter: 5 has no unit: a duration needs one, as in 30s, 5m, 2h, 1d\n"},
    {"gpus: 8}}}", "gpsu: 8}}}",
     "6:69: jobs[0].spec.instance: unknown key \"gpsu\"; did you mean \"gpus\"?\n"},
    {"spec: {priority", "spec: {elastic: {min: 3, max: 8, step: 2}, priority",
     "6:56: jobs[0].spec.elastic.min: 3 is not a multiple of step 2; the nearest legal values are 2 and 4\n"},
    {"priority: train", "priority: tarin",
     "6:51: jobs[0].spec.priority: \"tarin\" is none of the classes: offline, batch, train, online\n"},
    {"clusters:\n", "clusters: []\nworld:\n",
     "2:1: clusters: has 0 items, at least 1 is needed\n"
     "4:3: world: must be a mapping of keys, not a list\n"},
    {", nodes: [{count: 4, model: H800, gpus: 8}]", "",
     "3:5: clusters[0].nodes: is missing: a cluster has nodes, or nodesFrom\n"},
    {"model: H800, ", "", "3:23: clusters[0].nodes[0]: has GPUs but no model\n"},
    {"levels: {net: [rack]}, ", "",
     "4:24: clusters[1].nodes[0]: has a domain, but its cluster has 0 planes: name one in levels, or write "
     "domains: {PLANE: ...}\n"},
    {"net: [rack]", "net: [rack], data: [pod]",
     "4:60: clusters[1].nodes[0]: has a domain, but its cluster has 2 planes: name one in levels, or write "
     "domains: {PLANE: ...}\n"},
    {"domain: \"r-{i/2}\"", "domains: {nets: r-1}",
     "4:47: clusters[1].nodes[0]: domains names the plane nets, which is not in levels\n"},
    {"domain: \"r-{i/2}\"", "domain: r-1/s-2",
     "4:47: clusters[1].nodes[0]: domain \"r-1/s-2\" has 2 parts; plane \"net\" has 1 levels\n"},
    {"r-{i/2}", "r-{j}",
     "4:47: clusters[1].nodes[0]: \"r-{j}\" has something in braces that is not {i} or {i/NUMBER}\n"},
    {"r-{i/2}", "r-{i/0}",
     "4:47: clusters[1].nodes[0]: \"r-{i/0}\" has something in braces that is not {i} or {i/NUMBER}\n"},
    {"gpus: 8}]", "gpus: 8}, {count: 2}]",
     "3:57: clusters[0].nodes[1]: has the same prefix as another group: their nodes would have the same "
     "names\n"},
    {"gpus: 8}]", "gpus: 8, foreign: \"0-8\"}]",
     "3:23: clusters[0].nodes[0]: foreign names GPUs that the node does not have\n"},
    {"gpus: 8}]", "gpus: 8, foreign: \"3-1\"}]",
     "3:23: clusters[0].nodes[0]: \"3-1\" is no set of GPUs: write \"0-3,6\" or none\n"},
    {"at: 0s", "at: {from: 0s, every: 1s, count: 5}",
     "6:60: jobs[0].name: is the same for all 5 jobs: put {k} into it\n"},
    {"name: x", "name: X_y",
     "6:31: jobs[0].name: the name \"X_y\": use lower-case letters, digits, '-' and single '.', and begin "
     "and end with a letter or digit\n"},
    {"name: x", "name: \"x-{n}\"",
     "6:31: jobs[0].name: \"x-{n}\" has something in braces that is not {k} or {k/NUMBER}\n"},
    {"at: 0s", "at: {from: 0s, every: 1s}",
     "6:6: jobs[0].at: says every how long, but not how many: add count\n"},
    {"at: 0s", "at: {from: 0s, count: 2000000}",
     "6:28: jobs[0].at.count: 2000000 is not between 1 and 1000000\n"},
    {"at: 0s", "run: 1h, work: 3h, at: 0s",
     "6:15: jobs[0].work: cannot be combined with run: say one of the two\n"},
    {"at: 0s", "from: {csv: x.csv}, at: 0s",
     "6:34: jobs[0].tenant: cannot be combined with from: say one of the two\n"
     "6:45: jobs[0].name: cannot be combined with from: say one of the two\n"
     "6:54: jobs[0].spec: cannot be combined with from: say one of the two\n"},
    {"tenant: t, ", "", "6:5: jobs[0].tenant: is missing\n"},
    {", spec: {priority: train, instance: {gpus: 8}}", "", "6:5: jobs[0].spec: is missing\n"},
    {"at: 0s", "on: [n0, n1], at: 0s",
     "6:6: jobs[0].on: names 2 nodes, and the job has at most 1 instances\n"},
    {"at: 0s", "on: n9, at: 0s", "6:10: jobs[0].on: cluster a has no n9\n"},
    {"name: bb", "name: a", "4:12: clusters[1].name: is there twice\n"},
    {NULL, "events: [{at: 1h, cluster: bbb, link: cut}]\n",
     "7:28: events[0].cluster: there is no cluster bbb; did you mean bb?\n"},
    {NULL, "events: [{at: 1h, node: a/n4, state: down}]\n", "7:25: events[0].node: cluster a has no a/n4\n"},
    {NULL, "events: [{at: 1h, nodes: [a/n1, bb/m1], state: down}]\n",
     "7:19: events[0].nodes: cluster bb has no bb/m1\n"},
    {NULL, "events: [{at: 1h, gpu: \"a/n3:8\", state: bad}]\n",
     "7:24: events[0].gpu: cluster a has no a/n3:8\n"},
    {NULL, "events: [{at: 1h, gpu: a/n3, state: bad}]\n",
     "7:24: events[0].gpu: \"a/n3\" is no GPU: write CLUSTER/NODE:INDEX\n"},
    {NULL, "events: [{at: 1h, gpu: \"a/n3:7\", state: down}]\n",
     "7:41: events[0].state: of a GPU is bad, suspect or ok\n"},
    {NULL, "events: [{at: 1h, node: n1, state: bad}]\n",
     "7:36: events[0].state: of a node is down, up, unreachable, cordoned or draining\n"},
    {NULL, "events: [{at: 1h, node: n1, state: down, lostAfter: 5s}]\n",
     "7:53: events[0].lostAfter: goes with unreachable\n"},
    {NULL, "events: [{at: 1h, crash: fedd, delete: t/x}]\n",
     "7:40: events[0].delete: is a second thing that happens besides crash: make it an event of its own\n"},
    {NULL, "events: [{at: 1h, for: 2h}]\n",
     "7:10: events[0]: says nothing that happens: node, gpu, cluster, crash, store, delete, scale ...\n"},
    {NULL, "events: [{crash: fedd}]\n", "7:10: events[0].at: is missing\n"},
    {NULL, "events: [{at: 1h, atEvent: 3, crash: fedd}]\n",
     "7:11: events[0].at: cannot be combined with atEvent: say one of the two\n"},
    {NULL, "events: [{at: 1h, crash: fedd, state: down}]\n",
     "7:39: events[0].state: does not go with crash\n"},
    {NULL, "events: [{at: 1h, node: a/n0}]\n", "7:10: events[0].state: is missing: it belongs to node\n"},
    {NULL, "events: [{at: 1h, crash: feddd}]\n",
     "7:26: events[0].crash: \"feddd\" is no daemon: write fedd, fedd/2, subclusterd/CLUSTER or "
     "subclusterd/CLUSTER/2\n"},
    {NULL, "events: [{at: 1h, crash: fedd/2}]\n",
     "7:26: events[0].crash: there is no fedd/2: their number is 1\n"},
    {NULL, "events: [{at: 1h, crash: subclusterd/c}]\n",
     "7:26: events[0].crash: there is no cluster c; did you mean a?\n"},
    {NULL, "events: [{at: 1h, delete: t/y}]\n",
     "7:27: events[0].delete: there is no job t/y: write TENANT/NAME of one of them\n"},
    {NULL, "events: [{at: 1h, scale: t/x}]\n", "7:10: events[0].elastic: is missing: it belongs to scale\n"},
    {NULL, "events: [{at: 1h, apply: t/x}]\n", "7:10: events[0].priority: is missing: it belongs to apply\n"},
    {NULL, "events: [{at: 1h, apply: t/x, priority: top}]\n",
     "7:41: events[0].priority: \"top\" is none of the classes: offline, batch, train, online\n"},
    {NULL, "events: [{at: 1h, cluster: a, link: sever}]\n",
     "7:37: events[0].link: \"sever\" is not one of cut, cutUp, cutDown or break\n"},
    {NULL, "events: [{at: 1h, cluster: a, link: {cut: cut, delay: 2s}}]\n",
     "7:31: events[0].link: is cut, or slow: say one\n"},
    {NULL, "events: [{at: 1h, store/a: gone}]\n",
     "7:28: events[0].store/a: \"gone\" is not one of unavailable or lostReply\n"},
    {NULL, "events: [{at: 1h, store/c: unavailable}]\n",
     "7:28: events[0].store/c: there is no cluster c; did you mean a?\n"},
    {NULL, "events: [{at: 1h, store: {fault: unavailable, slow: 2s}}]\n",
     "7:19: events[0].store: says more than one of unavailable, lostReply, slow and restored\n"},
    {NULL, "events: [{at: 1h, store: {restored: {to: 2h}}}]\n",
     "7:42: events[0].store.restored.to: is later than at\n"},
    {NULL, "faults: [{atEvent: 12, crash: fedd, before: 2}]\n",
     "7:45: faults[0].before: \"2\" is not a place in a list of actions: write action 0, action 1 ...\n"},
    {NULL, "events: [{at: 1h, defrag: a, nodes: many}]\n",
     "7:37: events[0].nodes: must be a number of nodes, or max\n"},
    {NULL, "events: [{at: 1h, migrate: t/x, model: H800}]\n",
     "7:40: events[0].model: does not go with migrate\n"},
    {NULL, "expect: [{job: t/x, phase: Running}]\n",
     "7:10: expect[0].at: is missing, or another time: at, within (and after), between or always\n"},
    {NULL, "expect: [{within: 1m, between: [0s, 1h], job: t/x, phase: Running}]\n",
     "7:10: expect[0].at: is one of several times; say one of them: at, within (and after), between or "
     "always\n"},
    {NULL, "expect: [{at: 1h, after: 1m, job: t/x, phase: Running}]\n",
     "7:19: expect[0].after: cannot be combined with at: say one of the two\n"},
    {NULL, "expect: [{at: 1h, phase: Running}]\n",
     "7:10: expect[0]: is about nothing: name one job, cluster, node or metric\n"},
    {NULL, "expect: [{at: 1h, job: t/x}]\n", "7:10: expect[0]: says nothing about the job\n"},
    {NULL, "expect: [{at: 1h, job: t/x, metric: evictions, phase: Running}]\n",
     "7:10: expect[0]: is about more than one thing: name one job, cluster, node or metric\n"},
    {NULL, "expect: [{at: 1h, cluster: a, phase: Running}]\n",
     "7:10: expect[0]: phase is nothing that a cluster has\n"},
    {NULL, "expect: [{at: 1h, job: t/x, phase: Runing}]\n",
     "7:36: expect[0].phase: \"Runing\" is not one of Pending, Held, Starting, Running, Stopping, Succeeded, "
     "Failed or Deleted; did you mean \"Running\"?\n"},
    {NULL, "expect: [{at: 1h, job: t/x, reason: {cluster: a}}]\n",
     "7:29: expect[0].reason: needs both cluster and code\n"},
    {NULL, "events: [{at: 1h, scale: t/x, elastic: {min: 4, max: 2}}]\n",
     "7:46: events[0].elastic.min: is above max\n"},
    {NULL, "events: [{at: 1h, scale: t/x, elastic: {min: 3, max: 4, step: 2}}]\n",
     "7:46: events[0].elastic.min: is no multiple of step\n"},
    {NULL, "events: [{at: 1h, node: n0, state: down, for: 0s}]\n",
     "7:47: events[0].for: 0s is too small: it must be at least 1ms, or be left out\n"},
    {NULL, "expect: [{at: end, metric: evictions, max: -1}]\n",
     "7:44: expect[0].max: \"-1\" is not a number, as in 12 or 0.95, of at most 6 digits after the point\n"},
    {NULL, "expect: [{at: end, metric: evictions, min: 2, max: 1}]\n", "7:44: expect[0].min: is above max\n"},
    {NULL, "expect: [{always: {job: t/x, waiting: 60s}}]\n",
     "7:39: expect[0].always.waiting: \"60s\" does not say less than what: write \"< 60s\"\n"},
    {NULL, "expect: [{always: {job: t/y, waiting: \"< 60s\"}}]\n",
     "7:25: expect[0].always.job: there is no job t/y: write TENANT/NAME of one of them\n"},
    {NULL, "expect: [{job: t/x, always: {job: t/x, waiting: \"< 60s\"}}]\n",
     "7:21: expect[0].always: holds all that is expected: nothing can stand beside it\n"},
    {NULL, "expect: [{between: [6h, 1h], job: t/x, instances: 1}]\n",
     "7:11: expect[0].between: ends before it begins\n"},
    {NULL, "expect: [{between: [6h], job: t/x, instances: 1}]\n",
     "7:11: expect[0].between: needs two moments, as in [0s, 6h]\n"},
    {NULL, "expect: [{at: ende, job: t/x, instances: 1}]\n",
     "7:15: expect[0].at: \"ende\" is no moment: write a duration, as in 1h30m, or end\n"},
    {"at: 0s", "at: 5", "6:10: jobs[0].at: 5 has no unit: a duration needs one, as in 30s, 5m, 2h, 1d\n"},
    {NULL,
     "tides: [{job: {tenant: t, name: s, spec: {priority: online, elastic: {step: 2}, instance: {gpus: 8}}}, "
     "low: 3, high: 2}]\n",
     "7:109: tides[0].low: is above high\n"
     "7:109: tides[0].low: is no multiple of the step, which is 2\n"},
    {NULL, "world: {fedds: [[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]}\n", "7:30: nested too deeply\n"},
    {NULL, "world: {messageDelayMin: 1s}\n", "7:26: world.messageDelayMin: is longer than messageDelayMax\n"},
    {NULL, "until: 1h\nuntil: 2h\n", "8:1: until: the key is there twice; the first is on line 7\n"},
    {NULL, "seed: \xff\n", "7:7: bytes that are not UTF-8: save the file as UTF-8\n"},
};

static char *edited(const char *was, const char *is)
{
    const char *at = was ? strstr(good, was) : good + strlen(good);
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    return tf_asprintf("%.*s%s%s", (int)(at - good), good, is, at + (was ? strlen(was) : 0));
}

static void test_errors(void)
{
    for (size_t i = 0; i < TF_ARRAY_LEN(cases); i++) {
        TF_AUTO_FREE char *text = edited(cases[i].was, cases[i].is);
        TF_AUTO_BUF told = TF_BUF_INIT;
        struct tf_conf_problems problems = {0};
        struct scenario scenario;
        CU_ASSERT_EQUAL_FATAL(scenario_read(text, strlen(text), &scenario, &problems), -1);
        tf_vec_each (p, &problems)
            tf_buf_fmt(&told, "%d:%d: %s%s%s\n", p->line, p->column, p->path, *p->path ? ": " : "", p->text);
        if (strcmp(tf_buf_text(&told), cases[i].told) != 0)
            printf("\n%s--- is told:\n%s--- expected:\n%s", text, tf_buf_text(&told), cases[i].told);
        CU_ASSERT_STRING_EQUAL(tf_buf_text(&told), cases[i].told);
        tf_conf_problems_release(&problems);
    }
}

static void test_good(void)
{
    struct tf_conf_problems problems = {0};
    struct scenario scenario;
    CU_ASSERT_EQUAL_FATAL(scenario_read(good, strlen(good), &scenario, &problems), 0);
    CU_ASSERT_EQUAL(scenario.clusters.count, 2);
    scenario_release(&scenario);
}

static const struct suite_test tests[] = {{"the text without an error", test_good}, {"errors", test_errors}};

int main(void)
{
    return suite_run("scenario errors", tests, TF_ARRAY_LEN(tests));
}
