#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fedctl replay against real daemons: every job of a trace is submitted and ends, its wait is known, and what cannot be
# replayed is told. usage: replay.sh BUILD_FOLDER
set -euo pipefail
bin=$1/bin test_name=replay
. "$(dirname "$0")/../support/daemons.sh"
need etcd jq curl gzip

launch_etcd store
fedd_at=$(new_address)
export TIDEFED_ENDPOINTS=$fedd_at HOME=$home
unset TIDEFED_TENANT TIDEFED_CONTEXT XDG_CONFIG_HOME
cat >"$home/conf/fedd.yaml" <<END
listen: $fedd_at
dataDir: $home/data/fedd
store: {endpoints: ["http://$(cat "$home/conf/store.etcd")"]}
END
cat >"$home/conf/a.yaml" <<END
name: a
federation: ["$fedd_at"]
store: {endpoints: ["http://$(cat "$home/conf/store.etcd")"]}
$(subcluster_nodes a)
END
launch fedd "$bin/fedd" --config "$home/conf/fedd.yaml"
launch subclusterd "$bin/subclusterd" --config "$home/conf/a.yaml"
ready() { "$bin/fedctl" get clusters --no-headers | grep -q Ready; }
wait_for "the subcluster to attach" ready

# An hour a second: 24 jobs within three seconds, of two classes, more than fits at once; one that would not end, one that
# asks for a part of a GPU, models that nobody has.
{
    echo job_id,submit_s,duration_s,gpus_per_instance,instances,gpu_model,priority_class,tenant
    for i in $(seq 24); do
        echo "j$i,$((i * 450)),$((i % 4 * 1200 + 60)),$((i % 3 + 1)),$((i % 2 + 1)),V100,$([ $((i % 3)) -eq 0 ] && echo train || echo batch),t$((i % 2))"
    done
    echo endless,0,,1,1,,batch,t0
    echo part,100,60,0.5,1,,batch,t0
} | gzip >"$home/trace.csv.gz"
replay() { "$bin/fedctl" replay "$home/trace.csv.gz" --time-scale 3600 --any-model "$@"; }

replay -o json >"$home/all.json" 2>"$home/all.err" || { cat "$home/all.err"; fail "a replay failed"; }
jq -e '.kind == "Replay" and .apiVersion == "tidefed/v1" and .submitted == 25 and .succeeded == 25 and .refused == 0
    and .waits.started == 25 and ([.waitsByPriority[] | {(.name): .jobs}] | add) == {"batch": 17, "train": 8}' \
    "$home/all.json" >/dev/null || { cat "$home/all.json"; fail "the summary of a replay"; }
grep -q '1 jobs without a duration are left out' "$home/all.err" || fail "a job without an end is not told"
grep -q '1 jobs ask for a part of a GPU' "$home/all.err" || fail "a part of a GPU is not told"
id=$(jq -r .replay "$home/all.json")
[ "$("$bin/fedctl" get jobs -A -l "replay=$id" -o name | wc -l)" -eq 25 ] || fail "the label replay does not find the jobs"

# Again, as other jobs: names do not clash; only some of them, of another class and tenant.
replay --limit 3 -p offline -t mine >"$home/some" 2>/dev/null || fail "a second replay failed"
grep -Eq '^3 submitted: 3 succeeded.*; [0-9.]+m?s in all' "$home/some" || { cat "$home/some"; fail "a replay of three"; }
grep -Eq '^offline +3 +3 +[0-9.]+s ' "$home/some" || { cat "$home/some"; fail "the waits of three"; }

# What nobody can run waits: the replay gives up in time, and says what is left.
code=0
"$bin/fedctl" replay "$home/trace.csv.gz" --time-scale 3600 --limit 2 --duration 3s >"$home/late" 2>"$home/late.err" || code=$?
[ $code -eq 4 ] || fail "exit $code, not 4, of a replay that did not end"
grep -q 'end it with' "$home/late.err" || fail "what is left is not told"

# A class that the federation does not have.
code=0
replay -p urgent >/dev/null 2>"$home/class.err" || code=$?
[ $code -eq 2 ] && grep -q 'has no class urgent' "$home/class.err" && grep -q 'nothing was replayed' "$home/class.err" ||
    { cat "$home/class.err"; fail "exit $code of a class that is not there"; }
echo "replay: all ended, waits known, what cannot be replayed is told"
