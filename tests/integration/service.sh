#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A service under clients that never try again: no request is lost when instances of it go or move, since they leave the
# peers file stopDelay before they are asked to stop; without one, requests are lost. TF_FULL=1: 10,000 requests.
# usage: service.sh BUILD_FOLDER
set -euo pipefail
bin=$1/bin tests=$1/tests test_name=service
. "$(dirname "$0")/../support/daemons.sh"
examples=$(cd "$(dirname "$0")/../../deploy/examples" && pwd)
need etcd curl jq perl
requests=1500
[ -z "${TF_FULL:-}" ] || requests=10000

launch_federation "{absorbCooldown: 1s, offerTime: 1s}" a

# NAME STOP_DELAY: the example, of two to four instances.
submit() {
    sed -e "s|name: hello$|name: $1|; s|instances: 2|elastic: {min: 2, max: 4, step: 2}|; s|grace: 3s|&\n    stopDelay: $2|" \
        "$examples/hello-service.yaml" | fedctl apply -f -
    wait_for "four instances of $1" has_size "$1" 4
}
has_size() { [ "$(fedctl get job "web/$1" -o json | jq -r '"\(.status.size) \(.status.ready)"')" = "$2 $2" ]; }

# NAME INDEX: to the other node.
move() {
    fedctl migrate instance "web/$1/$2" --wait >/dev/null || fail "instance $2 of $1 did not move"
}

# NAME: the clients' view while two of four instances go, twice, then each moves, and what is on a node leaves it; $calls
# is what they tell then.
under_load() {
    local peers uid caller
    uid=$(fedctl get job "web/$1" -o json | jq -r .metadata.uid)
    peers=$(find "$home/state/a" -path "*$uid*" -name peers)
    mkfifo "$home/end-$1"
    "$tests/tf_caller" "$peers" http "$requests" <"$home/end-$1" >"$home/calls-$1" 2>"$home/log/calls-$1.log" &
    caller=$!
    exec 9>"$home/end-$1"
    for _ in 1 2; do
        fedctl scale "web/$1" --max 2 >/dev/null
        wait_for "two instances of $1" has_size "$1" 2
        fedctl scale "web/$1" --max 4 >/dev/null
        wait_for "four instances of $1 again" has_size "$1" 4
    done
    for index in 0 1 2 3; do move "$1" $index; done
    node=$(fedctl get instances "web/$1" -o json | jq -r '.items[0].status.node')
    fedctl migrate instance --from "a/$node" --wait >/dev/null || fail "not all left $node"
    wait_for "four instances of $1 after the moves" has_size "$1" 4
    [ "$(fedctl get instances "web/$1" -o json | jq --arg n "$node" '[.items[] | select(.status.node == $n)] | length')" = 0 ] ||
        fail "something of $1 is still on $node"
    exec 9>&-
    wait $caller || true
    calls=$(cat "$home/calls-$1")
    echo "$1: $calls"
}

submit patient 2s
under_load patient
jq -e --argjson n "$requests" '.answered == .requests and .requests >= $n' <<<"$calls" >/dev/null || fail "requests were lost"
submit hasty 0s
under_load hasty
jq -e '.answered < .requests' <<<"$calls" >/dev/null || fail "without stopDelay none was lost: the test shows nothing"
