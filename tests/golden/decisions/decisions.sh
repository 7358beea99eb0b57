#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Twelve decisions with their reasons: what the daemons' traces say in a scenario,
# compared with the file of its name letter by letter. UPDATE_GOLDEN=1 writes the files.
# usage: decisions.sh FEDSIM
set -euo pipefail
fedsim=$1 here=tests/golden/decisions failed=0
tmp=$(mktemp -d /tmp/decisions.XXXXXX)
trap 'rm -rf "$tmp"' EXIT

# Who needs what and gets it from whom; a trace that goes on for long says the same again.
decisions() {
    local words=' needs | is evicted|has its GPUs|for its minRuntime| absorbs | gives a step | wants a step '
    "$fedsim" run --trace "tests/scenarios/$1.yaml" >"$tmp/trace" || { tail -5 "$tmp/trace"; return 1; }
    sed -nE "s/^\\[ *[0-9.]+\\] ([a-z0-9/-]+ +\\[ *[0-9.]+\\] job .*($words))/\\1/p" "$tmp/trace" >"$tmp/lines"
    head -50 "$tmp/lines"
}

compare() {
    local want=$here/$1.txt
    { sed -n 's/^name: //p' "tests/scenarios/$1.yaml"; echo; decisions "$@"; } >"$tmp/got"
    [ -z "${UPDATE_GOLDEN:-}" ] || cp "$tmp/got" "$want"
    diff -u "$want" "$tmp/got" || { echo "decisions of $1 are not what $want says"; failed=1; }
}

compare capacity-race
compare commit-or-nothing
compare minimal-victims
compare no-ping-pong
compare protected
compare reclaim-surplus-first
compare pit-08-no-preempt-readmit-preempt
compare pit-11-gangs-counted-whole
compare pit-12-a-stop-that-takes-for-ever
compare pit-17-victims-come-back
compare pit-21-why-is-it-pending
compare pit-27-never-fits-evicts-nobody
exit $failed
