# SPDX-License-Identifier: Apache-2.0
# Sourced by the tests of this folder: `golden NAME` compares what was run since the last one with the file
# NAME.txt, letter by letter; UPDATE_GOLDEN=1 writes it. What differs from run to run is replaced first: ports, the
# temporary folder, moments (not ages: the fake federation stands still).
set -euo pipefail
fedctl=$1 fake=$2
here=tests/golden/fedctl
tmp=$(mktemp -d /tmp/fedctl-golden.XXXXXX)
. tests/support/own_host.sh
pids=() names=()
failed=0 compared=0

finish() {
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null || true; done
    rm -rf "$tmp"
}
trap finish EXIT
# For a shell without job control, a killed child is no news.
export TZ=UTC HOME=$tmp/home NO_COLOR=
unset TIDEFED_ENDPOINTS TIDEFED_TENANT TIDEFED_CONTEXT TIDEFED_TLS_CA TIDEFED_TLS_CERT TIDEFED_TLS_KEY XDG_CONFIG_HOME
: >"$tmp/out"

# serve NAME COMMAND...: a server that prints its port on its first line; NAME stands for its address in outputs.
# Sets $address and $port.
serve() {
    local name=$1
    shift
    : >"$tmp/port"
    "$@" >"$tmp/port" 2>"$tmp/server.log" </dev/null &
    pids+=($!)
    for _ in $(seq 500); do
        [ -s "$tmp/port" ] && break
        kill -0 "${pids[-1]}" 2>/dev/null || break
        sleep 0.02
    done
    port=$(head -1 "$tmp/port")
    [ -n "$port" ] || { echo "$* did not start:"; cat "$tmp/server.log"; exit 1; }
    address=127.0.0.1:$port
    names+=(-e "s/127\\.0\\.0\\.1:$port\\b/$name/g")
}

# closed NAME: sets $address to one where nobody listens, nor will.
closed() {
    address=$own_host:9
    names+=(-e "s/${address//./\\.}\\b/$1/g")
}

plain() {
    sed -E "${names[@]}" -e "s#$tmp#<tmp>#g" \
        -e 's/(fedctl abort |fedctl: migration |^migration )[0-9a-f]{8}[0-9a-f-]*/\1<id>/g' \
        -e 's/(begun as )[0-9a-f-]{32,36}/\1<id>/g' \
        -e 's/(golden\/[a-z.-]+-)[a-z2-9]{5}\b/\1<new>/g' \
        -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{3}Z/<utc>/g' \
        -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8} [+-][0-9]{4}/<local>/g' \
        -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8} UTC/<moment>/g'
}

# run ARGUMENT...: adds a run of fedctl, its output, messages and exit code to what the next `golden` compares.
run() {
    local code=0
    "$fedctl" "$@" >"$tmp/stdout" 2>"$tmp/stderr" <"${stdin:-/dev/null}" || code=$?
    {
        printf '$ fedctl'
        printf ' %s' "$@"
        printf '%s\n' "${stdin:+ <${stdin##*/}}"
        cat "$tmp/stdout"
        [ -s "$tmp/stderr" ] && { echo "--- stderr"; cat "$tmp/stderr"; }
        printf -- '--- exit %s\n\n' "$code"
    } >>"${tmp_out:-$tmp/out}"
}

# run_for COUNT WORDS ARGUMENT...: the same with --duration, as long as it takes until so many lines of the output have
# the words: how long that is depends on the machine; what a live list shows once the fake federation has said all it
# says does not.
run_for() {
    local count=$1 words=$2 out=$tmp/out span
    shift 2
    : >"$tmp/one"
    for span in 700ms 5s 20s; do
        tmp_out=$tmp/one run "$@" --duration $span
        [ "$(grep -cF -- "$words" "$tmp/stdout")" -ge "$count" ] && break
        : >"$tmp/one"
    done
    [ -s "$tmp/one" ] || { echo "FAILED: fedctl $* did not come to show \"$words\""; failed=1; }
    sed "1s/ --duration $span\$/ --duration 700ms/" "$tmp/one" >>"$out"
}

golden() {
    local file=$here/$1.txt
    plain <"$tmp/out" >"$tmp/actual"
    : >"$tmp/out"
    compared=$((compared + 1))
    if [ -n "${UPDATE_GOLDEN:-}" ]; then
        cp "$tmp/actual" "$file"
    elif ! diff -u "$file" "$tmp/actual"; then
        echo "FAILED: $1 differs from $file (UPDATE_GOLDEN=1 writes it anew)"
        failed=1
    fi
}

summary() {
    echo "golden: $compared files compared"
    exit "$failed"
}
