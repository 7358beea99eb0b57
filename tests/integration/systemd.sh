#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The units are what systemd takes, as tight as they were, and keep the promise that instances outlive their daemon.
# usage: systemd.sh BUILD_FOLDER
set -euo pipefail
bin=$1/bin
units=$(cd "$(dirname "$0")/../../deploy/systemd" && pwd)
command -v systemd-analyze >/dev/null || { echo "systemd: systemd-analyze is not installed: skipped"; exit 77; }
folder=$(mktemp -d /tmp/tidefed-systemd-XXXXXX)
trap 'rm -rf "$folder"' EXIT
fail() { echo "systemd: $*"; exit 1; }

for unit in fedd.service subclusterd@.service; do
    sed "s#=/usr/bin/#=$bin/#; /^Documentation=/d" "$units/$unit" >"$folder/${unit/@./@a.}"
done
systemd-analyze verify --man=no "$folder"/*.service >"$folder/said" 2>&1 || fail "verify: $(cat "$folder/said")"
[ ! -s "$folder/said" ] || fail "verify says: $(cat "$folder/said")"
exposed() { # UNIT TENTHS
    systemd-analyze security --offline=true --no-pager --threshold="$2" "$folder/$1" >"$folder/said" 2>&1 ||
        fail "$1 is more exposed than $2 tenths: $(tail -n 3 "$folder/said")"
}
exposed fedd.service 15
exposed subclusterd@a.service 45
# A unit in which one of these is wrong kills work when the daemon stops, or when one instance runs out of memory.
for line in KillMode=process OOMPolicy=continue TasksMax=infinity; do
    grep -qx "$line" "$units/subclusterd@.service" || fail "subclusterd@.service lacks $line"
done
! grep -Eq '^(PrivateTmp=yes|RuntimeDirectory=|DynamicUser=yes|PrivateDevices=yes)' "$units/subclusterd@.service" ||
    fail "subclusterd@.service takes away what running instances have"
for unit in "$units"/*.service; do
    grep -qx 'Type=notify' "$unit" && grep -q '^ExecReload=/bin/kill -HUP' "$unit" || fail "$unit: Type, ExecReload"
done
echo "systemd: the units are sound"
