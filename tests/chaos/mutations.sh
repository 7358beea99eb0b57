#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Shows that chaos finds what it is for: each patch of tests/chaos/mutations breaks one promise on purpose; it is
# applied to a copy of the tree, built, and random runs are made until one breaks. A patch that no run finds is a
# promise that nobody checks, and fails this script. By hand and nightly: about a minute a patch.
# A patch that reproduces what has hurt users elsewhere says so, "Fails: pit-NN": that scenario must fail, too; likewise any
# other that it names.
# usage: mutations.sh [--check] [--seeds N] [NAME...]     --check: only whether each still applies
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
seeds=2000 check= names=()
while [ $# -gt 0 ]; do
    case $1 in
        --check) check=1 ;;
        --seeds) seeds=$2; shift ;;
        -*) echo "usage: ${0##*/} [--check] [--seeds N] [NAME...]" >&2; exit 2 ;;
        *) names+=("$1") ;;
    esac
    shift
done
[ ${#names[@]} -gt 0 ] || mapfile -t names < <(cd "$root/tests/chaos/mutations" && ls -- *.patch | sed 's/\.patch$//')

# Few lines around a change must still be as they were.
apply() {
    (cd "$1" && git apply -C1 "${@:3}" "tests/chaos/mutations/$2.patch")
}

# The file of a scenario, by its number (pit-13) or its whole name.
scenario() {
    compgen -G "$1/tests/scenarios/$2-*.yaml" || { [ -f "$1/tests/scenarios/$2.yaml" ] && echo "$1/tests/scenarios/$2.yaml"; }
}

if [ -n "$check" ]; then
    failed=0
    for pit in $(cd "$root/tests/chaos/mutations" && sed -n 's/^Fails: //p' "${names[@]/%/.patch}"); do
        scenario "$root" "$pit" >/dev/null || { echo "there is no scenario $pit"; failed=1; }
    done
    for name in "${names[@]}"; do
        apply "$root" "$name" --check || { echo "mutation $name does not apply any more: make it anew"; failed=1; }
    done
    [ $failed = 0 ] && echo "mutations: all ${#names[@]} still apply"
    exit $failed
fi

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
(cd "$root" && git ls-files -co --exclude-standard -z | while IFS= read -r -d '' f; do [ -f "$f" ] && printf '%s\0' "$f"; done |
    tar --null -T - -cf -) | tar -xf - -C "$copy"
cd "$copy"
export CCACHE_BASEDIR=$copy CCACHE_NOHASHDIR=1
cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    "-DCMAKE_C_COMPILER_LAUNCHER=$(command -v ccache || true)" >configure.log || { cat configure.log; exit 1; }

# The scenarios that name what the patch $1 reproduces; fails if one of them holds all the same.
fail_scenarios() {
    local pit holds=0
    for pit in $(sed -n 's/^Fails: //p' "tests/chaos/mutations/$1.patch"); do
        if timeout 300 build/bin/fedsim run "$(scenario . "$pit")" >run.log 2>&1; then
            echo "| $1 | $pit HOLDS all the same |"
            holds=1
        fi
    done
    return $holds
}

build() {
    cmake --build build --target fedsim >build.log 2>&1 || { tail -40 build.log; return 1; }
}
# Prints the first seed up to $1 that breaks, and how; fails if there is none.
hunt() {
    # One process, so that it is the first seed; a run that does not end is a find, too.
    if timeout 1800 build/bin/fedsim chaos --seeds "1..$1" --jobs 1 --no-shrink >run.log 2>&1; then
        return 1
    fi
    local words
    words=$(grep -am1 -oE 'Assertion .* failed' run.log || true)
    grep -am1 -E '^seed [0-9]+: ' run.log | cut -c6- | sed "s/: it ends the program.*/: $(sed 's/[&/\\]/\\&/g' <<<"$words")/" || { echo "the run does not end, or ends oddly:"; tail -3 run.log; }
}

build
if found=$(hunt "$seeds"); then
    echo "without any mutation a run breaks: $found"
    exit 1
fi
failed=0
for name in "${names[@]}"; do
    apply . "$name"
    if ! build; then
        echo "| $name | does not compile |"
        failed=1
    elif ! fail_scenarios "$name"; then
        failed=1
    elif found=$(hunt "$seeds"); then
        echo "| $name | $found |"
    else
        echo "| $name | NOT FOUND in $seeds runs |"
        failed=1
    fi
    apply . "$name" -R
done
exit $failed
