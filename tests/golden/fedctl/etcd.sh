#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# An etcd at the other end: it speaks gRPC, but is no federation. usage: etcd.sh FEDCTL FAKE_FEDD
. tests/golden/fedctl/golden.sh
command -v etcd >/dev/null || { echo "etcd is not installed"; [ -z "${CI:-}" ]; exit; }

port=$(closed_port) peer=$(closed_port)
names+=(-e "s/127\\.0\\.0\\.1:$port\\b/ETCD/g")
etcd --name golden --data-dir "$tmp/etcd" --log-level error \
    --listen-client-urls "http://127.0.0.1:$port" --advertise-client-urls "http://127.0.0.1:$port" \
    --listen-peer-urls "http://127.0.0.1:$peer" --initial-advertise-peer-urls "http://127.0.0.1:$peer" \
    --initial-cluster "golden=http://127.0.0.1:$peer" >"$tmp/etcd.log" 2>&1 &
pids+=($!)
for _ in $(seq 500); do
    perl -MIO::Socket::INET -e 'exit !IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => shift)' "$port" && break
    sleep 0.02
done
run --endpoints "127.0.0.1:$port" get jobs
run --endpoints "127.0.0.1:$port" apply -f $here/manifests/short.yaml
golden etcd
summary
