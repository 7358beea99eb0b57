#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Real processes that are resized: the elastic example shrinks by whole steps for an urgent job, within its grace, grows
# back after, and has hashed each file once, also when an instance is killed in the middle of it; an instance that looks at
# nothing survives what happens to its peers. usage: resize.sh BUILD_FOLDER
set -euo pipefail
bin=$1/bin test_name=resize
. "$(dirname "$0")/../support/daemons.sh"
examples=$(cd "$(dirname "$0")/../../deploy/examples" && pwd)
need etcd curl jq

launch_federation "{absorbCooldown: 1s, offerTime: 1s}" a

# ---- 400 files; 16 GPUs are four steps of two instances of two ----

mkdir -p "$home/tree/some where"
for i in $(seq 400); do echo "file $i" >"$home/tree/some where/$i"; done
sed -e "s|HASH_ROOT: .*|HASH_ROOT: \"$home/tree\"|; s|HASH_OUT: .*|HASH_OUT: \"$home/hashed\"|; s|HASH_PACE: .*|HASH_PACE: \"0.1\"|" \
    "$examples/elastic-hash.yaml" | fedctl apply -f -
field() { fedctl get job "$1" -o json | jq -r "$2"; }
has_size() { [ "$(field "$1" .status.size)" = "$2" ] && [ "$(field "$1" .status.ready)" = "$2" ]; }
hashed() { find "$home/hashed/done" -type f | wc -l; }
wait_for "eight instances" has_size data/elastic-hash 8

# An elastic job that sleeps: what happens to others of it is nothing to it.
manifest() { # NAME PRIORITY ELASTIC COMMAND
    cat <<END
apiVersion: tidefed/v1
kind: Job
metadata: {tenant: rec, name: $1}
spec:
  priority: $2
  workload: offline
  elastic: $3
  instance: {gpus: 2, cpu: 1, memory: 1Gi, grace: 5s, command: [$4]}
END
}

# ---- an urgent job takes whole steps of it ----

manifest urgent online "{min: 3, max: 3, step: 3}" "sleep, '1000'" | fedctl apply -f -
fedctl wait --for=running rec/urgent --timeout 30s
wait_for "four instances" has_size data/elastic-hash 4
[ "$(field data/elastic-hash .status.phase)" = Running ] || fail "it does not run on"
[ "$(field data/elastic-hash .status.restarts)" = 0 ] || fail "it was started again"

# One is killed in the middle of a file: it has its retry, the others go on.
victim=
for environ in /proc/[0-9]*/environ; do
    pid=${environ//[!0-9]/}
    if grep -qzx "HASH_OUT=$home/hashed" "$environ" 2>/dev/null && grep -qz mapfile "/proc/$pid/cmdline" 2>/dev/null; then
        [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = bash ] && victim=$pid && break
    fi
done
[ -n "$victim" ] || fail "no instance of it is there"
kill -KILL "$victim"

# ---- it grows back ----

fedctl delete rec/urgent --wait
wait_for "eight instances again" has_size data/elastic-hash 8
[ "$(hashed)" -lt 400 ] || fail "the work was done before it had grown back"

# ---- each file once ----

fedctl wait --for=succeeded data/elastic-hash --timeout 60s
[ "$(hashed)" = 400 ] || fail "$(hashed) records of 400 files"
(cd "$home/hashed/done" && sort ./*) | grep -v '^unreadable' >"$home/got"
find "$home/tree" -type f -print0 | xargs -0 sha256sum | sort >"$home/want"
diff "$home/want" "$home/got" || fail "some were left out, or hashed twice"

# ---- plain sleepers: those that stay are not touched ----

manifest sleepers offline "{min: 2, max: 8, step: 2}" "sleep, '1000'" | fedctl apply -f -
wait_for "eight sleepers" has_size rec/sleepers 8
attempts() { fedctl get instances rec/sleepers -o json | jq -c '[.items[].status | select(.state == "Ready") | {index, attempt, started}]'; }
before=$(attempts)
fedctl scale rec/sleepers --max 4 >/dev/null
wait_for "four sleepers" has_size rec/sleepers 4
fedctl scale rec/sleepers --max 8 >/dev/null
wait_for "eight sleepers again" has_size rec/sleepers 8
kept=$(attempts)
[ "$(jq -n --argjson a "$before" --argjson b "$kept" '[$a[] | select(. as $x | $b | index($x))] | length')" = 4 ] ||
    fail "those that stayed did not stay as they were: $before, then $kept"

# ---- who wants to be told by a signal is: those that stay, when their peers change ----

fedctl delete rec/sleepers --wait >/dev/null
mkdir "$home/told"
sed "/instance:/i\\  onResize: {signal: SIGUSR1}" <(manifest told offline "{min: 2, max: 4, step: 2}" "bash, -c, '
    say() { head -n 1 \"\$TIDEFED_PEERS_FILE\" >>$home/told/\$TIDEFED_INDEX; touch \"\$TIDEFED_CHECKPOINT_FILE\"; };
    trap say USR1; say; while :; do sleep 1000 & wait; done'") | fedctl apply -f -
wait_for "four that listen" has_size rec/told 4
fedctl scale rec/told --max 2 >/dev/null
wait_for "two that listen" has_size rec/told 2
told() { [ "$(cat "$home/told"/* | grep -c '"size":2,')" -ge 2 ]; }
wait_for "both to be told of their new size" told
[ "$(field rec/told .status.restarts)" = 0 ] || fail "who was told was started again"

# ---- a checkpoint that a job tells of is shown ----

checkpointed() { [ "$(field rec/told '.status.checkpoint // ""')" != "" ]; }
wait_for "its checkpoint" checkpointed
fedctl describe job rec/told | grep -q '^Checkpoint:' || fail "describe says nothing of its checkpoint"
echo "resized: 8, 4, 8; 400 files once each"
