#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Urgent work on a full federation of real processes: what plan says is what happens, to the GPU; those who give way stop
# within their grace and come back; apply --plan refuses an answer that has changed. usage: urgent.sh BUILD_FOLDER
set -euo pipefail
bin=$1/bin test_name=urgent
. "$(dirname "$0")/../support/daemons.sh"
need etcd curl jq

launch_federation "" a b

# NAME PRIORITY NODES MORE: whole nodes; a polite stop takes half a second.
manifest() {
    cat <<END
apiVersion: tidefed/v1
kind: Job
metadata: {tenant: rec, name: $1}
spec:
  priority: $2
  workload: offline
  instances: $3
  instance:
    gpus: 8
    gpuModels: [H800]
    cpu: 8
    memory: 8Gi
    grace: 20s
    command: [bash, -c, 'trap "sleep 0.5; touch $home/polite-$1; exit 0" TERM; while :; do sleep 0.05; done']
${4:-}
END
}

# ---- four nodes, four jobs that cannot be told apart but by their age ----

for i in 0 1 2 3; do manifest bulk-$i batch 1 | fedctl apply -f -; done
fedctl wait --for=running rec/bulk-0 rec/bulk-1 rec/bulk-2 rec/bulk-3 --timeout 30s
# Both subclusters would do; that only one may keeps the choice out of what is compared.
manifest urgent online 2 "  placement: {clusters: [a]}" >"$home/urgent.yaml"

job() { fedctl get job "rec/$1" -o json; }

# ---- what would happen ----

plan() { # FILE: writes the plan there; its exit code is in $code
    code=0
    fedctl plan -f "$home/urgent.yaml" --out "$1" -o json >"$1.json" || code=$?
}
placeable() { plan "$home/try" && [ $code -eq 1 ]; } # when the profiles reflect what was placed last
wait_for "a place for it" placeable
plan "$home/first"
[ $code -eq 1 ] || fail "plan ended with $code"
cluster=$(jq -r '.jobs[0].cluster' "$home/first.json")
mapfile -t victims < <(jq -r '.jobs[0].victims[].job' "$home/first.json")
[ ${#victims[@]} -eq 2 ] || fail "${#victims[@]} victims of two nodes: ${victims[*]}"
jq -e '.jobs[0] | .size == 2 and .wait == "20s" and (.nodes | length) == 2 and .clusters[0].answered and .cluster == "a"' \
    "$home/first.json" >/dev/null || fail "the plan says something else"
fedctl plan -f "$home/urgent.yaml" || true

# Another urgent job takes a part of what was planned: the plan does not hold, and nothing is sent.
manifest other online 1 "  placement: {clusters: [a]}" | fedctl apply -f -
fedctl wait --for=running rec/other --timeout 30s
code=0
fedctl apply --plan "$home/first" 2>"$home/refused" || code=$?
if grep -q "was made of another state" "$home/refused"; then
    [ $code -eq 6 ] || fail "a plan that does not hold ended with $code"
    fedctl get job rec/urgent >/dev/null 2>&1 && fail "it was applied all the same"
else
    fail "the plan held, although a victim had gone: $(cat "$home/refused")"
fi
fedctl delete rec/other --wait
fedctl wait --for=running rec/bulk-0 rec/bulk-1 rec/bulk-2 rec/bulk-3 --timeout 60s

# ---- it happens ----

wait_for "a place for it again" placeable
plan "$home/second"
mapfile -t victims < <(jq -r '.jobs[0].victims[].job' "$home/second.json")
cluster=$(jq -r '.jobs[0].cluster' "$home/second.json")
held() { # of the victims, as node and GPUs
    for victim in "${victims[@]}"; do fedctl get instances "$victim" -o json; done | instances
}
instances() { jq -s -c '[.[].items[] | .status | {node, gpus}] | sort'; }
before=$(held)
rm -f "$home"/polite-*
fedctl apply --plan "$home/second"
fedctl wait --for=running rec/urgent --timeout 60s
[ "$(job urgent | jq -r '.status.cluster')" = "$cluster" ] || fail "it went elsewhere"
after=$(fedctl get instances rec/urgent -o json | instances)
[ "$before" = "$after" ] || fail "it runs on $after, and not on what was freed: $before"
[ "$(jq -c '[.jobs[0].nodes[] | {node, gpus}] | sort' "$home/second.json")" = "$after" ] || fail "it runs on $after, planned was: $(jq -c '.jobs[0].nodes' "$home/second.json")"
for i in 0 1 2 3; do
    case " ${victims[*]} " in
    *" rec/bulk-$i "*) phase=Pending ;;
    *) phase=Running ;;
    esac
    [ "$(job bulk-$i | jq -r '.status.phase')" = $phase ] || fail "rec/bulk-$i is not $phase"
done

# ---- and the time it took ----

moment() { # JOB EVENT: ms of the last one
    fedctl events "$1" -o json | jq "[.items[].event | select(.type == \"$2\") | .at | (.[0:19] + \"Z\" | fromdate) * 1000 + (.[20:23] | tonumber)] | last"
}
submitted=$(moment rec/urgent Submitted) placed=$(moment rec/urgent Placed) accepted=$(moment rec/urgent Accepted)
running=$(moment rec/urgent Running) gone=0
for victim in "${victims[@]}"; do
    [ -e "$home/polite-${victim#rec/}" ] || fail "$victim did not stop by itself within its grace"
    at=$(moment "$victim" Evicted)
    [ "$at" -gt $gone ] && gone=$at
done
echo "from submit to running: $((running - submitted)) ms: decision $((placed - submitted)), writes and claims $((accepted - placed)), grace $((gone - accepted)) (of 20000; a polite stop takes 500), start $((running - gone))"

# Who gave way can be asked why, and a node who has it.
for victim in "${victims[@]}"; do
    fedctl explain eviction "$victim" -o json |
        jq -e '.latest[0] | .by == "rec/urgent" and .priority == "online" and .level == "core(batch)" and .whole' >/dev/null ||
        fail "$victim does not know why it was evicted"
done
fedctl explain eviction "${victims[0]}"
fedctl explain node a/n0 -o json | jq -e '.free == 0 and (.parts | map(.job) == ["rec/urgent"])' >/dev/null ||
    fail "the node does not say who has it: $(fedctl explain node a/n0)"

# ---- victims come back, in their old order, when it ends ----

fedctl delete rec/urgent --wait
fedctl wait --for=running rec/bulk-0 rec/bulk-1 rec/bulk-2 rec/bulk-3 --timeout 60s
fedctl explain job rec/bulk-0

# ---- a subcluster that says nothing is counted as its profile has it, and that is told ----

wait_for "a place for it once more" placeable
kill -STOP "$pid_a"
plan "$home/silent"
kill -CONT "$pid_a"
[ $code -eq 1 ] || fail "without a word of a, plan ended with $code"
jq -e '.jobs[0] | .cluster == "a" and (.clusters[0] | .answered == false and .has == 2) and
    (.answer | test("has not answered within 2 s")) and (.victims | length) == 0' "$home/silent.json" >/dev/null ||
    fail "it does not say that a was silent: $(jq -c '.jobs[0]' "$home/silent.json")"
