#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A service goes from one subcluster to another and back, in real processes, under clients that never try again and know
# the peers files of both: no request is lost, also when fedd or the subclusterd that it leaves is killed in mid-move. What
# is refused, called back, or stops first does what was said of it. usage: cross.sh BUILD_FOLDER
set -euo pipefail
bin=$1/bin tests=$1/tests test_name=cross
. "$(dirname "$0")/../support/daemons.sh"
examples=$(cd "$(dirname "$0")/../../deploy/examples" && pwd)
need etcd curl jq perl
requests=1500
[ -z "${TF_FULL:-}" ] || requests=10000

launch_federation "{absorbCooldown: 1s, offerTime: 1s, leaseTtl: 2s}" a b

job() { fedctl get job "web/$1" -o json; }
field() { job "$1" | jq -r ".status.$2"; }
is() { [ "$(job "$1" | jq -r '.status | "\(.phase) \(.cluster) \(.ready)"')" = "$2" ]; } # NAME "PHASE CLUSTER READY"
free_gpus() { fedctl get clusters -o json | jq -r ".items[] | select(.metadata.name == \"$1\") | .status.gpus.free"; }
is_free() { [ "$(free_gpus "$1")" = 16 ]; }
is_used() { [ "$(free_gpus "$1")" -lt 16 ]; }
# NAME TEXT: the condition, and how far it is.
shows_move() { job "$1" | jq -e --arg t "$2" '.status | (.conditions | index("Moving")) and .reasonText == $t' >/dev/null; }
shows_no_move() { job "$1" | jq -e '.status.conditions // [] | index("Moving") | not' >/dev/null; }
last_event() { fedctl events "web/$1" -o json | jq -r '[.items[].event.type] | last'; }
has_event() { fedctl events "web/$1" -o json | jq -e --arg t "$2" 'any(.items[].event; .type == $t)' >/dev/null; }

# NAME MORE...: the example, started in a; an epoch is not ready as long as the file shut-EPOCH is there.
submit() {
    local name=$1
    shift
    fedctl cordon cluster b --reason "it starts in a" >/dev/null
    sed -e "s|name: hello$|name: $name|; s|grace: 3s|&\n    stopDelay: 2s|; s|timeout: 10s|timeout: 2m|" \
        -e "s|exec 3<>|[ ! -e $home/shut-\$TIDEFED_EPOCH ] \&\& &|" "$@" "$examples/hello-service.yaml" | fedctl apply -f -
    wait_for "$name in a" is "$name" "Running a 2"
    fedctl uncordon cluster b >/dev/null
}
# NAME EPOCH: that epoch is ready, as an event says.
has_ready() { fedctl events "web/$1" -o json | jq -e --argjson e "$2" 'any(.items[].event; .type == "Ready" and .epoch == $e)'; }
# The epoch that comes next will not be ready until it is opened.
shut() { next=$(($(fedctl events "web/$1" -o json | jq '[.items[].event.epoch // 0] | max') + 1)) && touch "$home/shut-$next"; }
open() { rm "$home/shut-$next"; }

# NAME FROM TO: it is there, and nothing of it runs or is held where it was.
settled() {
    wait_for "$1 in $3" is "$1" "Running $3 2"
    wait_for "nothing of $1 in $2" is_free "$2"
}
# NAME COUNT: clients call it from now on.
call() {
    mkfifo "$home/end-$1"
    "$tests/tf_caller" "$home/state/*/instances/$(job "$1" | jq -r .metadata.uid)/*/peers" http "$2" \
        <"$home/end-$1" >"$home/calls-$1" 2>"$home/log/calls-$1.log" &
    caller=$!
    exec 9>"$home/end-$1"
}
end_calls() {
    exec 9>&-
    wait $caller || true
    echo "$1: $(cat "$home/calls-$1")"
}
kill_hard() { kill -KILL "$1" && { wait "$1" 2>/dev/null || true; }; }

submit hello
call hello $requests

# ---- plain: what would happen is said first, and is wanted by --yes ----

fedctl migrate job web/hello --to b --dry-run | grep -q 'What is not moved: data, images, addresses' || fail "a dry run says something else"
code=0
fedctl migrate job web/hello --to b >"$home/said" 2>&1 || code=$?
[ $code = 2 ] && grep -q -- '--yes' "$home/said" || fail "without --yes it ended with $code: $(cat "$home/said")"
is hello "Running a 2" && ! has_event hello MoveAsked || fail "a dry run has moved it"
fedctl migrate job web/hello --to b --yes --wait || fail "hello did not move"
settled hello a b

# ---- called back while the new one starts ----

shut hello
fedctl migrate job web/hello --to a --yes
wait_for "the new epoch to be accepted" is_used a
shows_move hello "goes from b to a: STARTING" || fail "get job does not show the move: $(job hello)"
fedctl describe job web/hello | grep -q "Running,Moving" || fail "describe job does not show the move"
fedctl abort web/hello
settled hello a b
wait_for "no sign of a move" shows_no_move hello
[ "$(last_event hello)" = MoveEnded ] || fail "the last event of a move that was called back is $(last_event hello)"
open

# ---- fedd is killed while it starts ----

shut hello
fedctl migrate job web/hello --to a --yes
wait_for "the new epoch to be accepted" is_used a
kill_hard "$pid_fedd"
open
launch fedd-stderr "$bin/fedd" --config "$home/conf/fedd.yaml" 9>&- # else it kept the clients going
pid_fedd=$launched
settled hello b a
[ "$(field hello epoch)" = "$next" ] || fail "another epoch than $next is hello"

# ---- the subclusterd that it leaves is killed before it can have promised ----

shut hello
fedctl migrate job web/hello --to b --yes
wait_for "the new epoch to be accepted" is_used b
kill_hard "$pid_a"
open
wait_for "the new epoch to be ready" has_ready hello "$next"
is hello "Running a 2" || [ "$(field hello cluster)" = a ] || fail "it is the job although a has promised nothing"
launch a-stderr "$bin/subclusterd" --config "$home/conf/a.yaml" 9>&-
settled hello a b
[ "$(field hello epoch)" = "$next" ] || fail "another epoch than $next is hello"

end_calls hello
jq -e --argjson n "$requests" '.answered == .requests and .requests >= $n' "$home/calls-hello" >/dev/null || fail "requests were lost"
fedctl delete web/hello --wait

# ---- without stopDelay some are lost: the clients would notice ----

submit hasty -e '/stopDelay/d'
call hasty 300
fedctl migrate job web/hasty --to b --yes --wait || fail "hasty did not move"
settled hasty a b
end_calls hasty
jq -e '.answered < .requests' "$home/calls-hasty" >/dev/null || fail "without stopDelay none was lost: the test shows nothing"
fedctl delete web/hasty --wait

# ---- one that stops first, one that never moves ----

submit stops -e 's|workload: inference|&\n  migration: restart|'
fedctl migrate job web/stops --to b --yes --wait || fail "stops did not move"
settled stops a b
fedctl delete web/stops --wait
submit stays -e 's|workload: inference|&\n  migration: never|'
code=0
fedctl migrate job web/stays --to b --yes 2>"$home/said" || code=$?
[ $code = 1 ] && grep -q 'migration: never' "$home/said" || fail "one that never moves: $code, $(cat "$home/said")"
fedctl audit
