#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What fedsim run prints and how it ends, for each kind of outcome. usage: exit_codes.sh FEDSIM
set -euo pipefail
fedsim=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fleet='clusters: [{name: a, nodes: [{count: 1, model: H800, gpus: 8}]}]
jobs: [{at: 0s, tenant: t, name: x, spec: {priority: train, instance: {gpus: 8}}}]'
printf 'name: holds\n%s\nexpect: [{at: 1m, job: t/x, phase: Running}, {at: 3h, job: t/x, phase: Running}]\nuntil: 4h\n' "$fleet" >good.yaml
printf 'name: fails\n%s\nexpect: [{at: 1m, job: t/x, phase: Pending}]\n' "$fleet" >bad.yaml
printf 'name: wrong\n%s\nexpct: []\n' "$fleet" >wrong.yaml
printf 'name: no file\nclusters: [{name: a, nodesFrom: {csv: none.csv}}]\n' >data.yaml
printf 'scenarios: {bad.yaml: it is not there yet}\n' >xfail.yaml
printf 'scenarios: {good.yaml: it is not there yet}\n' >stale.yaml
printf 'scenarios: [good.yaml]\n' >broken.yaml

# What only the files beside it can tell is wrong at a place of the scenario, too.
printf 'job_id,submit_s,duration_s,gpus_per_instance,priority_class\nj1,0,60,1,train\nj2,5,60,1,nope\n' >jobs.csv
printf 'node_id,gpu_model,gpus\nm0,H800,8\n' >nodes.csv
traced='clusters: [{name: a, nodesFrom: {csv: nodes.csv}}]'
printf 'name: classes\n%s\njobs: [{from: {csv: jobs.csv}}]\n' "$traced" >classes.yaml
one='jobs: [{from: {csv: jobs.csv, priority: train}}]'
printf 'name: traced\n%s\n%s\n' "$traced" "$one" >traced.yaml
printf 'name: event\n%s\n%s\nevents: [{at: 1m, delete: trace/j3}]\n' "$traced" "$one" >event.yaml
printf 'name: node\n%s\n%s\nexpect: [{at: 1m, node: a/m1, freeGpus: 8}]\n' "$traced" "$one" >node.yaml
printf 'name: twice\n%s\njobs: [{from: {csv: jobs.csv, priority: train}}, {at: 0s, tenant: trace, name: j1, spec: {priority: train, instance: {gpus: 1}}}]\n' "$traced" >twice.yaml
printf 'name: target\n%s\nevents: [{at: 1m, migrate: t/x, instance: 0, to: n7}]\n' "$fleet" >target.yaml
printf 'name: instance\n%s\nevents: [{at: 1m, migrate: t/x, instance: 1, to: n0}]\n' "$fleet" >instance.yaml
printf 'name: refused\n%s\nevents: [{at: 1m, resume: t/x},\n  {at: 2m, scale: t/x, elastic: {min: 3}}]\n' "$fleet" >refused.yaml

# expect CODE TEXT ARGUMENT...: fedsim ends with CODE and prints TEXT
expect() {
    local code=$1 text=$2 is=0
    shift 2
    "$fedsim" "$@" >out 2>&1 || is=$?
    if [ "$is" != "$code" ] || ! grep -qF -- "$text" out; then
        echo "fedsim $*: exit $is, expected $code and \"$text\":"
        cat out
        exit 1
    fi
}

expect 0 'PASS  good.yaml: holds' run good.yaml
expect 0 'skipped: the expectation is about 3h, and the run ended at 2h' run --until 2h good.yaml
expect 0 '1 passed, 1 failed as expected, 0 failed, 0 could not be played' run --xfail xfail.yaml good.yaml bad.yaml
expect 0 'seed 7' run --seed 7 good.yaml
expect 0 'PASS' run --check end good.yaml
expect 0 'PASS' run --check off good.yaml
expect 0 'instance' run --trace good.yaml
expect 0 'PASS' run --policy tidefed good.yaml
expect 0 '<!DOCTYPE html>' run --report html good.yaml
expect 0 'PASS' run --html page.html good.yaml
grep -q '^<!DOCTYPE html>' page.html
expect 2 'no/folder/page.html: the page could not be written' run --html no/folder/page.html good.yaml
expect 2 '--html takes one scenario at a time' run --html page.html good.yaml bad.yaml
expect 0 'RAN' run --policy priority bad.yaml
expect 0 '"policy": "fifo"' run --policy fifo --report json bad.yaml
expect 0 'decided by tidefed without absorb without cost' run --without cost --without absorb --report text bad.yaml
expect 2 '--without is about tidefed' run --policy fifo --without cost good.yaml
expect 0 'RAN' run --without absorb --without cost bad.yaml
expect 2 '--without takes absorb, align, cost or claims' run --without sense good.yaml
expect 1 'bad.yaml:4: job t/x at 1m: the phase is Running, expected Pending' run bad.yaml
expect 1 'it holds, and is on the list of those that fail (it is not there yet): take it off' run --xfail stale.yaml good.yaml
expect 2 'wrong.yaml:4:1: unknown key "expct"; did you mean "expect"?' run wrong.yaml
expect 2 'data.yaml:2:39: clusters[0].nodesFrom.csv: cannot open none.csv: No such file or directory' run data.yaml
expect 2 'classes.yaml:3:21: jobs[0].from.csv: jobs.csv:3: column priority_class: "nope" is none of the classes' run classes.yaml
expect 2 'event.yaml:4:27: events[0].delete: there is no job trace/j3' run event.yaml
expect 2 'node.yaml:4:25: expect[0].node: cluster a has no node m1' run node.yaml
expect 2 'twice.yaml:3:80: jobs[1].name: the job trace/j1 is there twice: jobs[0] is it, too' run twice.yaml
expect 2 'target.yaml:4:50: events[0].to: there is neither a cluster nor a node n7' run target.yaml
expect 2 'instance.yaml:4:43: events[0].instance: t/x has at most 1 instances' run instance.yaml
expect 0 'traced.yaml:3: note: 1 of 2 jobs would come after the end' run --until 1s traced.yaml
expect 1 'refused.yaml:5: at 2m10ms: scale t/x is refused' run refused.yaml
expect 2 'nowhere.yaml' run nowhere.yaml
expect 2 'broken.yaml:1:12' run --xfail broken.yaml good.yaml
expect 2 'there is no policy "first-fit"' run --policy first-fit good.yaml
expect 2 '--until: 5 has no unit' run --until 5 good.yaml
expect 2 '--check takes every, end or off' run --check never good.yaml
expect 2 '--report takes text, json or html' run --report csv good.yaml
expect 2 'which scenario?' run
expect 2 'did you mean run?' rnu
expect 0 'A first scenario' help
expect 0 'jobs[].checkpointEvery' help scenario
expect 0 '--xfail' help run
expect 0 'gpus_per_instance' help trace
expect 0 'fedsim ' --version
expect 2 '--trace is for one run: say --seed N' chaos --trace
expect 2 '--out: no/folder cannot be made' chaos --seeds 1..2 --out no/folder
"$fedsim" run good.yaml >/dev/null 2>err
[ ! -s err ] || { echo "how far a run is, is for terminals:"; cat err; exit 1; }
"$fedsim" run good.yaml --report json >/dev/full 2>out && { echo "a report that could not be written is not missed"; exit 1; }
grep -qF 'fedsim: what it says could not be written' out
echo "fedsim run ends as it should"
