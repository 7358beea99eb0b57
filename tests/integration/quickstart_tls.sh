#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# deploy/quickstart.sh --tls: a federation of three subclusters whose every link shows certificates. A job runs, a viewer
# may look and not touch, who shows nothing is not heard. usage: quickstart_tls.sh SOURCE_FOLDER
set -euo pipefail
source=$1
home=$(mktemp -d /tmp/tidefed-quickstart-tls-XXXXXX)
export TIDEFED_HOME=$home/state
finish() {
    status=$?
    bash "$source/deploy/quickstart.sh" --stop >/dev/null 2>&1 || true
    [ $status -eq 0 ] || { echo "FAILED; what was said last:"; tail -n 30 "$home/said"; }
    rm -rf "$home"
    exit $status
}
trap finish EXIT
trap 'exit 1' INT TERM
fail() { echo "quickstart_tls: $*"; exit 1; }

bash "$source/deploy/quickstart.sh" --tls --no-demo >"$home/said" 2>&1 || fail "it did not come up"
. "$TIDEFED_HOME/env"
[ "$(stat -c %a "$TIDEFED_HOME/tls/admin.key")" = 600 ] || fail "others can read the key of an admin"
fedctl submit -t t -p batch --name one --gpus 1 --wait -- sh -c 'echo done over TLS' >"$home/said" 2>&1 ||
    fail "an admin's job did not succeed"
fedctl logs t/one >"$home/said" 2>&1 && grep -qx 'done over TLS' "$home/said" || fail "its output did not come"
fedctl describe job t/one >"$home/said" 2>&1 && grep -q '^User: *admin' "$home/said" || fail "it is not put down to the admin"

viewer=(--tls-cert "$TIDEFED_HOME/tls/viewer.pem" --tls-key "$TIDEFED_HOME/tls/viewer.key")
fedctl "${viewer[@]}" get jobs -A >"$home/said" 2>&1 && grep -q '^t/one ' "$home/said" || fail "a viewer sees nothing"
fedctl "${viewer[@]}" config get tls.ca >"$home/said" 2>&1 || fail "a viewer may not read the configuration"
code=0
fedctl "${viewer[@]}" delete t/one >"$home/said" 2>&1 || code=$?
[ $code -eq 1 ] && grep -q 'not for viewers' "$home/said" || fail "a viewer's delete ends with $code"
code=0
env -u TIDEFED_TLS_CA -u TIDEFED_TLS_CERT -u TIDEFED_TLS_KEY fedctl get jobs --timeout 5s >"$home/said" 2>&1 || code=$?
[ $code -eq 5 ] && grep -qi 'tls' "$home/said" || fail "without certificates it ends with $code"
bash "$source/deploy/quickstart.sh" --stop >"$home/said" 2>&1 || fail "--stop failed"
[ ! -e "$TIDEFED_HOME" ] || fail "--stop left $TIDEFED_HOME"
echo "quickstart_tls: as it should be"
