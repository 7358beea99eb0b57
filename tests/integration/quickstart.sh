#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The README's first command: jobs run and succeed on three subclusters, and --stop leaves no process behind.
# usage: quickstart.sh SOURCE_FOLDER
set -euo pipefail
source=$1
home=$(mktemp -d /tmp/tidefed-quickstart-XXXXXX)
export TIDEFED_HOME=$home/state
output=$home/output

ours() { # processes that run from, or for, this quick start
    local pid
    for pid in /proc/[0-9]*; do
        { tr '\0' '\n' <"$pid/cmdline"; tr '\0' '\n' <"$pid/environ"; } 2>/dev/null |
            grep -q "^TIDEFED_PEERS_FILE=$TIDEFED_HOME\|$TIDEFED_HOME/\(conf\|data\|state\)" && echo "${pid#/proc/}"
    done
    return 0
}
finish() {
    status=$?
    bash "$source/deploy/quickstart.sh" --stop >/dev/null 2>&1 || true
    if [ $status -ne 0 ]; then
        echo "FAILED; what it printed:"
        cat "$output"
    fi
    chmod -f 700 "$home/tree/closed" || true
    rm -rf "$home"
    exit $status
}
trap finish EXIT
fail() { echo "quickstart: $*"; exit 1; }

bash "$source/deploy/quickstart.sh" >"$output" 2>&1 || fail "the quick start failed"
for job in llm/pretrain rec/flaky rec/nightly-eval data/refresh; do
    grep -Eq "^$job +.*Succeeded" "$output" || fail "$job did not succeed"
done
grep -Eq '^web/hello +.*Running +2/2' "$output" || fail "web/hello does not run"
grep -q '^hello from web/hello rank 0' "$output" || fail "the service did not answer"
grep -q '^digest of shard 0\|digest of shard 0' "$output" || fail "the output of data/refresh is missing"
[ "$(grep -c 'NO_SUCH_MODEL' "$output")" -ge 4 ] || fail "explain does not list three subclusters"
for cluster in bj-a gz-b us-c; do
    grep -Eq "(Succeeded|Running) .* $cluster " "$output" || fail "nothing ran in $cluster"
done
grep '^Up after' "$output"
[ -n "$(ours)" ] || fail "the check for processes finds none while everything runs: it cannot be trusted"

# Not everybody may read everything under /usr/share (polkit's rules, say): the example hashes what it may.
"$source/build/release/bin/fedctl" explain manifest -f "$source/deploy/examples/data-refresh.yaml" -o json |
    jq -r '.spec.instance.command[2]' >"$home/command"
mkdir -p "$home/tree/closed"
touch "$home/tree/"{mine,theirs} "$home/tree/closed/hidden"
chmod 0 "$home/tree/closed" "$home/tree/theirs"
chmod 755 "$home"
echo '{"epoch":1,"size":1,"version":1}' >"$home/peers"
somebody=()
[ "$(id -u)" -ne 0 ] || somebody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
env HASH_ROOT="$home/tree" TIDEFED_PEERS_FILE="$home/peers" TIDEFED_RANK=0 TIDEFED_GPUS=0 TIDEFED_CHECKPOINT_FILE=/dev/null \
    "${somebody[@]}" bash "$home/command" >"$home/hashed" 2>&1 || fail "data-refresh ends with $? where it may not read all: $(cat "$home/hashed")"
grep -q 'digest of shard 0' "$home/hashed" || fail "data-refresh has no digest: $(cat "$home/hashed")"

# A daemon that somebody killed and started again by hand belongs to it, too, also when its program was built anew
# since, so that its file is gone.
pid=$(awk '$1 == "subclusterd-us-c" { print $2 }' "$TIDEFED_HOME/processes")
kill -9 "$pid"
mkdir "$home/bin"
cp "$source/build/release/bin/"{subclusterd,tidefed-shim} "$home/bin"
setsid "$home/bin/subclusterd" --config "$TIDEFED_HOME/conf/us-c.yaml" >/dev/null 2>&1 </dev/null &
by_hand=$!
for _ in $(seq 100); do # until it is that program: before, nobody could tell whose it is
    [ "$(basename "$(readlink "/proc/$by_hand/exe")")" = subclusterd ] && break
    sleep 0.1
done
rm "$home/bin/subclusterd"

bash "$source/deploy/quickstart.sh" >"$output" 2>&1 || fail "a second run over the first failed"
bash "$source/deploy/quickstart.sh" --stop || fail "--stop failed"
[ -z "$(ours)" ] || fail "--stop left processes: $(ps -o pid,args -p "$(ours | paste -sd,)")"
[ ! -e "$TIDEFED_HOME" ] || fail "--stop left $TIDEFED_HOME"
echo "quickstart: ran twice, stopped, nothing left"
