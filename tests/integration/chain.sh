#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A whole node is freed by a chain of two moves of real processes, each of which is a service under clients that never
# try again: no request is lost, and the node is there for the job that it was freed for. usage: chain.sh BUILD_FOLDER
set -euo pipefail
bin=$1/bin tests=$1/tests test_name=chain
. "$(dirname "$0")/../support/daemons.sh"
examples=$(cd "$(dirname "$0")/../../deploy/examples" && pwd)
need etcd curl jq perl
requests=300
subcluster_nodes() {
    cat <<END
stateDir: $home/state/$1
allowRoot: $allow_root
nodes:
  - {prefix: n, count: 3, model: H800, gpus: 8, gpuMemory: 80Gi, cpu: 64, memory: 512Gi}
END
}
all_attached() { [ "$(fedctl get clusters -o json | jq "[.items[] | select(.status.gpus.free == 24)] | length")" = "$1" ]; }
launch_federation "{absorbCooldown: 1s, offerTime: 1s}" a

# NODE NAME GPUS MIGRATION: a service of one instance, on that node.
submit_on() {
    local node
    for node in n0 n1 n2; do [ $node = "$1" ] || fedctl cordon node "a/$node" --reason "not for $2" >/dev/null; done
    sed -e "s|name: hello$|name: $2|; s|instances: 2|instances: 1|; s|gpus: 1|gpus: $3|; s|grace: 3s|&\n    stopDelay: 2s|" \
        -e "s|workload: inference|&\n  migration: $4|" "$examples/hello-service.yaml" | fedctl apply -f - >/dev/null
    wait_for "$2 on $1" is_on "$2" "$1"
    for node in n0 n1 n2; do [ $node = "$1" ] || fedctl uncordon node "a/$node" >/dev/null; done
}
is_on() {
    [ "$(fedctl get instances "web/$1" -o json | jq -r '.items[0].status | "\(.node) \(.state)"')" = "$2 Ready" ]
}
submit_on n0 j1 4 allow
submit_on n1 j2 4 never
submit_on n1 j3 2 allow
submit_on n2 j4 4 never
submit_on n2 j5 2 never

callers=()
# NAME: clients call it from now on.
call() {
    local uid peers
    uid=$(fedctl get job "web/$1" -o json | jq -r .metadata.uid)
    peers=$(find "$home/state/a" -path "*$uid*" -name peers)
    mkfifo "$home/end-$1"
    "$tests/tf_caller" "$peers" http "$requests" <"$home/end-$1" >"$home/calls-$1" 2>"$home/log/calls-$1.log" &
    callers+=($!)
}
call j1
exec 8>"$home/end-j1"
call j3
exec 9>"$home/end-j3"

# The one that it is for waits, and so does one of its priority that needs less.
for size in 7 8; do
    sed -e "s|name: hello$|name: whole-$size|; s|instances: 2|instances: 1|; s|gpus: 1|gpus: $size|" \
        "$examples/hello-service.yaml" | fedctl apply -f - >/dev/null
done
fedctl defrag plan --cluster a --for web/whole-8 --out "$home/plan" >/dev/null || [ $? = 1 ] || fail "there is no plan"
[ "$(grep -c 'instance: web/j[13]/0' "$home/plan")" = 2 ] || { cat "$home/plan"; fail "not a chain of two moves"; }

# What is said beside the file, or says nothing, is refused and not overheard; nothing moves for it.
refused() {
    local code=0
    fedctl defrag "$@" >"$home/refused" 2>&1 || code=$?
    [ $code = 2 ] || [ $code = 3 ] || { cat "$home/refused"; fail "not refused: defrag $*"; }
}
refused apply "$home/plan" --free 1
refused apply "$home/plan" --cluster b
refused apply "$home/plan" --window 02:00-02:00
refused plan --cluster a --nodes n0 --worst 1
refused plan --cluster a --nodes ""
refused plan --cluster a --for web/whole-8 --unit 4
refused plan --cluster a --stop-after 1h
[ "$(fedctl get migrations -o json | jq '.items | length')" = 0 ] || fail "something moves"

# The leader is killed while the plan is carried out: whoever waits for the end is told of it by the next one.
fedctl defrag apply "$home/plan" --wait >"$home/applied" 2>"$home/waited" &
applying=$!
wait_for "the first word of how far it is" grep -q 'of 2 moves done' "$home/applied"
kill -KILL "$pid_fedd"
wait_for "that the leader is gone" eval '! fedctl get clusters'
launch fedd "$bin/fedd" --config "$home/conf/fedd.yaml" 8>&- 9>&- # their ends are what the clients wait for
wait $applying || { cat "$home/applied" "$home/waited"; fail "it was not carried out"; }
cat "$home/applied"
grep -q 'a: 1 of 1 places freed by 2 of 2 moves, 6 of 6 GPUs moved' "$home/applied" || fail "another result"
wait_for "j1 on n1" is_on j1 n1
wait_for "j3 on n2" is_on j3 n2
wait_for "the job that n0 was freed for" is_on whole-8 n0
[ "$(fedctl get job web/whole-7 -o json | jq -r .status.phase)" = Pending ] || fail "another job has taken a place"

exec 8>&- 9>&-
for caller in "${callers[@]}"; do wait "$caller" || true; done
for name in j1 j3; do
    echo "$name: $(cat "$home/calls-$name")"
    jq -e --argjson n "$requests" '.answered == .requests and .requests >= $n' "$home/calls-$name" >/dev/null ||
        fail "requests of $name were lost"
done
