#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# An etcd at the other end: it speaks gRPC, but is no federation. usage: etcd.sh FEDCTL FAKE_FEDD
. tests/golden/fedctl/golden.sh
command -v etcd >/dev/null || { echo "etcd is not installed"; [ -z "${CI:-}" ]; exit; }

port=2379 peer=2380
names+=(-e "s/${own_host//./\\.}:$port\\b/ETCD/g")
etcd --name golden --data-dir "$tmp/etcd" --log-level error \
    --listen-client-urls "http://$own_host:$port" --advertise-client-urls "http://$own_host:$port" \
    --listen-peer-urls "http://$own_host:$peer" --initial-advertise-peer-urls "http://$own_host:$peer" \
    --initial-cluster "golden=http://$own_host:$peer" >"$tmp/etcd.log" 2>&1 &
pids+=($!)
for _ in $(seq 500); do
    perl -MIO::Socket::INET -e 'exit !IO::Socket::INET->new(PeerAddr => shift)' "$own_host:$port" && break
    sleep 0.02
done
run --endpoints "$own_host:$port" get jobs
run --endpoints "$own_host:$port" apply -f $here/manifests/short.yaml
golden etcd
summary
