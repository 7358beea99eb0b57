# SPDX-License-Identifier: Apache-2.0
# For tests in shell: processes that end with the test, however it ends. Sourced, after `bin` is set; makes the folder
# $home and, at the exit, ends what was launched and removes it. A test that fails shows the logs.

home=$(mktemp -d "/tmp/tidefed-$test_name-XXXXXX")
mkdir "$home"/{log,conf,data,state}
pids=()

finish() {
    local status=$? pid
    trap - EXIT
    for pid in "${pids[@]}"; do kill -KILL "$pid" 2>/dev/null || true; done
    for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
    for state in "$home"/state/*/; do
        if [ -e "$state/marker" ]; then "$bin/tidefed-shim" end-all "$state" >/dev/null 2>&1 || true; fi
    done
    if [ $status -ne 0 ]; then
        echo "FAILED; the ends of the logs:"
        tail -n 15 "$home"/log/*.log || true
    fi
    rm -rf "$home"
    exit $status
}
trap finish EXIT
trap 'exit 1' INT TERM

fail() { echo "$test_name: $*"; exit 1; }

. "$(dirname "${BASH_SOURCE[0]}")/own_host.sh"
echo 10000 >"$home/port"
new_address() { # an address that was not given out before
    local port=$(($(cat "$home/port") + 1))
    echo $port >"$home/port"
    echo "$own_host:$port"
}

# NAME COMMAND...: dies with this shell. Its pid is in $launched.
launch() {
    local name=$1
    shift
    setpriv --pdeathsig KILL "$@" >>"$home/log/$name.log" 2>&1 </dev/null &
    launched=$!
    pids+=("$launched")
}

# WHAT COMMAND...: until it succeeds, at most 60 s.
wait_for() {
    local what=$1 deadline=$((SECONDS + 60))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $deadline ] || fail "gave up waiting for $what"
        sleep 0.1
    done
}

# NAME [OPTION...]: an etcd of one member, http; its address is in $home/conf/NAME.etcd.
launch_etcd() {
    local name=$1 client peer
    shift
    client=$(new_address) peer=$(new_address)
    echo "$client" >"$home/conf/$name.etcd"
    launch "etcd-$name" etcd --name "$name" --data-dir "$home/data/$name" --unsafe-no-fsync --log-level warn \
        --listen-client-urls "http://$client" --advertise-client-urls "http://$client" \
        --listen-peer-urls "http://$peer" --initial-advertise-peer-urls "http://$peer" \
        --initial-cluster "$name=http://$peer" "$@"
    wait_for "etcd $name" curl -fsS "http://$client/health"
}

allow_root=false
[ "$(id -u)" -ne 0 ] || allow_root=true

# SUBCLUSTER: the part of subclusterd.yaml that tests do not care about: two nodes of eight H800.
subcluster_nodes() {
    cat <<END
stateDir: $home/state/$1
allowRoot: $allow_root
nodes:
  - {prefix: n, count: 2, model: H800, gpus: 8, gpuMemory: 80Gi, cpu: 64, memory: 512Gi}
END
}

fedctl() { "$bin/fedctl" "$@"; }

# SETTINGS SUBCLUSTER...: an etcd, fedd with these settings ("" = none), and subclusterds of two nodes each (pids in
# $pid_fedd and $pid_SUBCLUSTER), all attached. TIDEFED_ENDPOINTS names it, $fedd_http has its metrics.
launch_federation() {
    local settings=$1 fedd_at=$(new_address) store name
    fedd_http=$(new_address)
    shift
    launch_etcd store
    store="store: {endpoints: [\"http://$(cat "$home/conf/store.etcd")\"]}"
    export TIDEFED_ENDPOINTS=$fedd_at
    cat >"$home/conf/fedd.yaml" <<END
listen: $fedd_at
metrics: {listen: "$fedd_http"}
dataDir: $home/data/fedd
$store
log: {file: "$home/log/fedd.log"}
${settings:+settings: $settings}
END
    launch fedd-stderr "$bin/fedd" --config "$home/conf/fedd.yaml"
    pid_fedd=$launched
    for name in "$@"; do
        cat >"$home/conf/$name.yaml" <<END
name: $name
federation: ["$fedd_at"]
$store
log: {file: "$home/log/$name.log"}
$(subcluster_nodes "$name")
END
        launch "$name-stderr" "$bin/subclusterd" --config "$home/conf/$name.yaml"
        declare -g "pid_$name=$launched"
    done
    wait_for "the subclusters" all_attached $#
}
all_attached() { [ "$(fedctl get clusters -o json | jq "[.items[] | select(.status.gpus.free == 16)] | length")" = "$1" ]; }

# The test is about real programs of others: without them it is skipped, but never in CI.
need() {
    local program
    for program in "$@"; do
        command -v "$program" >/dev/null && continue
        [ -z "${CI:-}" ] || fail "$program is not installed"
        echo "$test_name: $program is not installed: skipped"
        exit 77
    done
}
