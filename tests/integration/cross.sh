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
fedctl delete web/stays --wait

# ---- what people see of them: how far, who and why, what became of it, the figures ----

# EXIT COMMAND...: ends so; what it printed, without the moments and ids that are new each time.
said() {
    local wanted=$1 code=0
    shift
    "$@" >"$home/said" 2>&1 || code=$?
    [ $code = "$wanted" ] || fail "$* ended with $code: $(cat "$home/said")"
    sed -E -e "s/$(job seen | jq -r '.metadata.uid[0:8]')/<id>/g" -e 's/ +[0-9.]+(ms|s)( |$)/ <age>\2/g; s/  +/ /g; s/ +$//' "$home/said"
}
figure() { curl -fsS "http://$fedd_http/metrics" | grep -qxF "tidefed_job_moves$1"; }
same() { diff <(cat) <(printf '%s\n' "$1") || fail "$2 says something else"; } # the answer is on stdin

submit seen
shut seen
fedctl migrate job web/seen --to b --yes --reason "power works"
wait_for "the new epoch to be accepted" is_used b
same "$(said 0 fedctl get migrations web/seen)" "get migrations" <<'END'
ID STATE JOB INDEX CLUSTER FROM TO FOR AGE REASON WHY
<id> STARTING web/seen all - a b operator <age> power works -
END
same "$(said 1 fedctl migrate pause web/seen)" "pause" <<'END'
fedctl: a job that goes to another subcluster is not paused: it runs twice meanwhile, and what is not there by the move's deadline is taken back by itself; `fedctl abort web/seen` takes it back now
END
wait_for "the figure of the move" figure '{state="STARTING"} 1'
fedctl abort web/seen --reason "too early"
settled seen b a
same "$(said 0 fedctl get migrations web/seen)" "get migrations of what is over" <<'END'
ID STATE JOB INDEX CLUSTER FROM TO FOR AGE REASON WHY
<id> ROLLED_BACK web/seen all - a b operator <age> power works aborted: too early
END
open
same "$(said 0 fedctl migrate job web/seen --to b --yes --wait --reason "power works")" "migrate --wait" <<'END'
job web/seen moves: 2 of 2 instances go from a to b, into what is free there; the old ones stop when the new ones are ready. What is not moved: data, images, addresses
job web/seen moved: from a to b (asked for: power works)
END
settled seen a b
[ "$(last_event seen)" = Moved ] || fail "the last event of a move is $(last_event seen)"
fedctl migrate instance web/seen/0 --wait --reason fan >/dev/null
fedctl events web/seen | grep -Eq 'InstanceMoved +in b, instance 0 from n[01] to n[01] \(asked for: fan\)$' || fail "events: $(fedctl events web/seen)"
shut seen
fedctl migrate job web/seen --to a --yes --wait >"$home/waited" 2>&1 &
waiter=$!
wait_for "the new epoch to be accepted" is_used a
fedctl cordon cluster a --reason "no more room" >/dev/null
code=0
wait $waiter || code=$?
[ $code = 1 ] && grep -qx 'fedctl: job web/seen has not moved: not from b to a: its target was cordoned' "$home/waited" ||
    fail "a wait for a move that comes to nothing: $code, $(cat "$home/waited")"
same "$(said 1 fedctl migrate job web/seen --to a --yes)" "an order to a cordoned cluster" <<'END'
fedctl: web/seen: subcluster a is cordoned: `fedctl uncordon cluster a` lets it take work again
END
settled seen a b
while read -r line; do # since fedd was started anew
    wait_for "the figure $line" figure "$line"
done <<'END'
{state="STARTING"} 0
_total{outcome="done",cause="none"} 5
_total{outcome="rolled_back",cause="abort"} 1
_total{outcome="rolled_back",cause="target_cordoned"} 1
_total{outcome="rolled_back",cause="deadline"} 0
END
fedctl audit
