#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One command from a fresh Debian 12 machine to a running federation: installs what is missing, builds, starts two local
# etcd (one of the federation, one of the subclusters), fedd and three subclusterd whose process engine runs real
# processes, then places, runs and explains real work. Loopback only, free ports; safe to run again.
#
# usage: deploy/quickstart.sh [--no-demo] [--keep-data] [--tls]    start (and show the tour); --tls: with certificates
#        deploy/quickstart.sh --stop [--keep-data]                 end everything that it started
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
home=${TIDEFED_HOME:-$root/.quickstart}
bin=$root/build/release/bin
demo=1 keep=0 stop=0 tls=0
for argument in "$@"; do
    case $argument in
    --stop) stop=1 ;;
    --tls) tls=1 ;;
    --keep-data) keep=1 ;;
    --no-demo) demo=0 ;;
    -h | --help) sed -n '3,9s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "quickstart.sh: unknown option $argument (see --help)" >&2; exit 2 ;;
    esac
done

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[ -t 1 ] || say() { printf '\n%s\n' "$*"; }
show() { # COMMAND...: print it as a user would type it, then run it
    printf '$ %s\n' "${*/#"$bin/"/}"
    "$@" || true
}

# ---- processes: each is remembered as "name pid start-time", so that a reused pid is never killed ----
start_time() { awk '{ sub(/.*\) /, ""); print $20 }' "/proc/$1/stat" 2>/dev/null; }
remember() { echo "$1 $2 $(start_time "$2")" >>"$home/processes"; }
alive() { [ -n "${2:-}" ] && [ "$(start_time "$1")" = "$2" ]; }

# Asks those whose name matches to stop, waits, and kills what is left.
stop_some() { # PATTERN
    local name pid started left
    while read -r name pid started; do
        [[ $name == $1 ]] && alive "$pid" "$started" && kill "$pid" 2>/dev/null || true
    done <"$home/processes"
    for _ in $(seq 100); do
        left=0
        while read -r name pid started; do
            if [[ $name == $1 ]] && alive "$pid" "$started"; then left=1; fi
        done <"$home/processes"
        [ $left -eq 0 ] && return 0
        sleep 0.1
    done
    while read -r name pid started; do
        [[ $name == $1 ]] && alive "$pid" "$started" && { echo "$name did not stop: killed"; kill -9 "$pid" || true; }
    done <"$home/processes" || true
}

# Daemons over this folder that somebody started by hand, with the same command lines, are ours to stop, too.
remember_strays() {
    local entry pid name
    for entry in /proc/[0-9]*; do
        pid=${entry#/proc/}
        grep -qs "^$pid$" < <(awk '{ print $2 }' "$home/processes") && continue
        { tr '\0' '\n' <"$entry/cmdline"; } 2>/dev/null | grep -q "^$home/\(conf\|data\)/" || continue
        name=$(basename "$(readlink "$entry/exe" 2>/dev/null)")
        name=${name% (deleted)} # built anew meanwhile
        case $name in
        subclusterd | etcd) remember "$name-by-hand" "$pid" ;;
        fedd) remember fedd "$pid" ;;
        esac
    done
}

stop_all() {
    [ -d "$home" ] || return 0
    touch "$home/processes"
    remember_strays
    stop_some 'subclusterd-*'
    # Instances outlive their daemon on purpose.
    for state in "$home"/state/*/; do
        if [ -e "$state/marker" ]; then "$bin/tidefed-shim" end-all "$state" || true; fi
    done
    stop_some fedd
    stop_some 'etcd-*'
    rm -f "$home/processes"
}

if [ $stop -eq 1 ]; then
    stop_all
    [ $keep -eq 1 ] || rm -rf "$home"
    echo "stopped$([ $keep -eq 1 ] && echo ", data kept in $home")"
    exit 0
fi

# ---- packages, build ----
bash deploy/packages.sh
begin=$SECONDS
say "Building (release)"
cmake --preset release >/dev/null
cmake --build --preset release --target fedd subclusterd tidefed-shim fedctl | tail -1

# ---- a clean start ----
stop_all
[ $keep -eq 1 ] || rm -rf "$home"
mkdir -p "$home"/{log,conf,data,state,work}

free_port() { # below those that the kernel gives to outgoing connections, so that it stays free while a daemon restarts
    perl -MIO::Socket::INET -e '
        for (1 .. 100) {
            my $port = 10000 + int rand 10000;
            if (IO::Socket::INET->new(LocalAddr => "127.0.0.1", LocalPort => $port, Listen => 1)) { print $port; exit }
        }
        die "no free port from 10000 to 19999\n"'
}
launch() { # NAME COMMAND...: in a session of its own, so that the terminal's Ctrl-C does not reach it
    local name=$1
    shift
    setsid "$@" >"$home/log/$name.log" 2>&1 </dev/null &
    local pid=$!
    remember "$name" "$pid"
}
wait_for() { # WHAT COMMAND...: until it succeeds, at most 30 s
    local what=$1 deadline=$((SECONDS + 30))
    shift
    until "$@" >/dev/null 2>&1; do
        if [ $SECONDS -ge $deadline ]; then
            echo "quickstart.sh: gave up waiting for $what; the logs are in $home/log" >&2
            tail -n 5 "$home"/log/*.log >&2
            exit 1
        fi
        sleep 0.1
    done
}

say "Starting two etcd, one fedd, three subclusterd"
for store in federation local; do
    client=$(free_port) peer=$(free_port)
    echo "http://127.0.0.1:$client" >"$home/conf/$store.etcd"
    launch "etcd-$store" etcd --name "$store" --data-dir "$home/data/$store" \
        --listen-client-urls "http://127.0.0.1:$client" --advertise-client-urls "http://127.0.0.1:$client" \
        --listen-peer-urls "http://127.0.0.1:$peer" --initial-advertise-peer-urls "http://127.0.0.1:$peer" \
        --initial-cluster "$store=http://127.0.0.1:$peer" --log-level warn
done
etcd_up() { curl -fsS "$(cat "$home/conf/$1.etcd")/health" | grep -q true; }
wait_for "the federation's etcd" etcd_up federation
wait_for "the subclusters' etcd" etcd_up local

tls_lines() { # CERTIFICATE: for a configuration
    [ $tls -eq 0 ] || echo "tls: {ca: $home/tls/ca.pem, certificate: $home/tls/$1.pem, key: $home/tls/$1.key}"
}
if [ $tls -eq 1 ]; then
    rm -rf "$home/tls"
    for certificate in ca fedd "subcluster bj-a" "subcluster gz-b" "subcluster us-c" admin viewer; do
        # shellcheck disable=SC2086
        bash deploy/tls.sh --dir "$home/tls" $certificate
    done
fi
fedd_address=127.0.0.1:$(free_port) fedd_metrics=127.0.0.1:$(free_port)
cat >"$home/conf/fedd.yaml" <<EOF
listen: $fedd_address
$(tls_lines fedd)
dataDir: $home/data/fedd
store: {endpoints: ["$(cat "$home/conf/federation.etcd")"]}
metrics: {listen: $fedd_metrics}
settings:
  classes: {online: 900, train: 500, batch: 300, offline: 100}
EOF
allow_root=false
[ "$(id -u)" -eq 0 ] && allow_root=true
subcluster() { # NAME REGION, nodes from standard input
    cat >"$home/conf/$1.yaml" <<EOF
name: $1
region: $2
federation: ["$fedd_address"]
store: {endpoints: ["$(cat "$home/conf/local.etcd")"]}
metrics: {listen: "127.0.0.1:$(free_port)"}
$(tls_lines "subcluster-$1")
stateDir: $home/state/$1
engine: process
process: {workDir: "$home/work"}
allowRoot: $allow_root
topology:
  - {plane: parameter, levels: [rdma-pod]}
nodes:
$(cat)
EOF
}
subcluster bj-a north <<'EOF'
  - {prefix: n, count: 4, model: H800, gpus: 8, gpuMemory: 80Gi, cpu: 128, memory: 1Ti, domains: {parameter: rdma-0}}
EOF
subcluster gz-b south <<'EOF'
  - {prefix: n, count: 2, model: H800, gpus: 8, gpuMemory: 80Gi, cpu: 96, memory: 900Gi, domains: {parameter: rdma-0}}
  - {prefix: a, count: 2, model: A100, gpus: 4, gpuMemory: 40Gi, cpu: 64, memory: 512Gi, domains: {parameter: rdma-1}}
EOF
subcluster us-c west <<'EOF'
  - {prefix: l, count: 4, model: L40, gpus: 4, gpuMemory: 48Gi, cpu: 32, memory: 256Gi, domains: {parameter: rdma-0}}
EOF
launch fedd "$bin/fedd" --config "$home/conf/fedd.yaml"
for name in bj-a gz-b us-c; do
    launch "subclusterd-$name" "$bin/subclusterd" --config "$home/conf/$name.yaml"
done
cat >"$home/env" <<EOF
export PATH="$bin:\$PATH" TIDEFED_ENDPOINTS="$fedd_address"
EOF
[ $tls -eq 0 ] || cat >>"$home/env" <<EOF
export TIDEFED_TLS_CA="$home/tls/ca.pem" TIDEFED_TLS_CERT="$home/tls/admin.pem" TIDEFED_TLS_KEY="$home/tls/admin.key"
EOF
# shellcheck disable=SC1091
. "$home/env"
three_ready() { [ "$(fedctl get clusters -o name | wc -l)" -eq 3 ] && ! fedctl get clusters | grep -qiE 'lost|waiting|away'; }
wait_for "three subclusters to attach" three_ready
[ "$allow_root" = true ] && echo "(this is root, so the process engine was told allowRoot: true; do not do that elsewhere)"

if [ $demo -eq 1 ]; then
    say "The federation"
    show fedctl get clusters
    say "Seven jobs: elastic hashing of /usr/share (twice: in fixed shards, and in as many as there are instances), a service with a port, a gang in one RDMA pod, an evaluation on A100s, one that fails once, one that cannot run"
    show fedctl apply -f deploy/examples
    short=()
    fedctl wait job web/hello --for=running --timeout 30s >/dev/null || short+=(web/hello)
    show fedctl get jobs -A
    show fedctl get instances -A
    say "Why does one wait?"
    show fedctl explain job rec/wants-b300
    say "The service answers"
    port=$(fedctl get instances web/hello -o json | grep -o '"http=[0-9]*"' | head -1 | tr -dc 0-9)
    show curl -fsS "http://127.0.0.1:$port/"
    for job in llm/pretrain rec/flaky rec/nightly-eval data/refresh; do
        fedctl wait job "$job" --for=succeeded --timeout 60s >/dev/null || short+=("$job")
    done
    show fedctl get jobs -A
    show fedctl logs data/refresh --index 0
    show fedctl delete job rec/wants-b300
    show fedctl get jobs -A
fi

say "Up after $((SECONDS - begin)) s (build included, package installation not)"
cat <<EOF
Try next:
  . $home/env                     # puts fedctl on the PATH and tells it where the federation is
  fedctl get jobs -A              fedctl describe job web/hello
  fedctl get nodes                fedctl explain job web/hello
  fedctl apply -f JOB.yaml        fedctl logs -f web/hello
  curl http://$fedd_metrics/metrics    # figures for Prometheus; also /healthz and /readyz
Logs are in $home/log. To stop everything:
  deploy/quickstart.sh --stop     # --keep-data keeps the stores
EOF
if [ $demo -eq 1 ] && [ ${#short[@]} -gt 0 ]; then
    echo "quickstart.sh: not as it should be: ${short[*]}; \`fedctl describe job ${short[0]}\` says why" >&2
    exit 1
fi
