#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up a fresh Debian 12 machine and runs every test: lint, unit, property, golden, integration with real etcd and
# real daemons, a bounded fault run; then the same under the address, undefined-behaviour and thread sanitizers.
# usage: tests/run.sh [--full]     --full: every kind of fault at every durable write (long)
set -euo pipefail
cd "$(dirname "$0")/.."
[ "${1:-}" = --full ] && export TF_FULL=1
started=$SECONDS
failed=()

step() { # NAME COMMAND...
    local name=$1 begin=$SECONDS
    shift
    echo "=== $name"
    if "$@"; then
        echo "=== $name: passed in $((SECONDS - begin)) s"
    else
        echo "=== $name: FAILED after $((SECONDS - begin)) s"
        failed+=("$name")
    fi
}
build() { # PRESET
    cmake --preset "$1" >/dev/null && cmake --build --preset "$1"
}

bash deploy/packages.sh --tests
export CTEST_OUTPUT_ON_FAILURE=1
step "build release" build release
step "build asan" build asan
step "build tsan" build tsan
# Tests that start servers and drive load take turns; the others share both cores.
step "tests" ctest --preset release -j2
step "tests under asan and ubsan" ctest --preset asan -j2 -R '^(unit|property|golden|integration|fuzz)/' -LE no_sanitizer
step "tests under tsan" ctest --preset tsan -R '^(unit/(log|loop|monitor|rpc)|integration/(echo|fedd/(attach|logs)))'

echo "=== all done in $((SECONDS - started)) s"
if [ ${#failed[@]} -gt 0 ]; then
    printf 'failed: %s\n' "${failed[@]}"
    exit 1
fi
echo "everything passed"
