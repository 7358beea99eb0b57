#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What needs no federation: help, slips of the pen on the command line, bad manifests, manifests with their defaults.
# usage: offline.sh FEDCTL FAKE_FEDD
. tests/golden/fedctl/golden.sh

run --help
for verb in $("$fedctl" --help | sed -n '/^Verbs:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
    run "$verb" --help
done
run help wait
run version --client
run version --client -o json
run version --client -o yaml
golden help

run
run frobnicate
run gte jobs
run rm web/hello
run --tenant web get jobs
run get
run get jbos
run get jobs --outptu json
run get jobs -o jsn
run get jobs -o
run get jobs -Z
run get jobs --timeout 5
run get jobs --endpoints nowhere
run get jobs --phase runing
run get jobs -l 'team='x=y
run watch jobs -l 'team in'
run get jobs ../etc/passwd
run get jobs web/..
run describe instances web/hello
run describe job web/hello data/refresh
run logs web/hello/x
run wait web/hello
run wait web/hello --for=runing
run delete
run delete nodes n1
run delete hello
run apply
run apply job.yaml
run apply -f
run submit
run submit --gpus 1 ls
run submit -t a --gpus 1 ls
run submit -t a -p batch --gpus 99 --name Bad ls
run submit -t a -p batch --gpus 99 ls
run submit -t a -p batch -n 2 --max 4 ls
run submit -t a -p batch --max 4 ls
run submit -t a -p batch --min 2 --max 5 --step 2 ls
run submit -t a -p batch -e NOPE ls
run scale web/hello
run scale web/hello --instances 4 --max 8
run scale web/hello 0
run scale
run cordon
run cordon bj-a
run cordon cluster
run cordon cluster ../etc
run cordon node
run cordon node n1
run cordon node bj-a/
run cordon gpu bj-a/n1
run cordon gpu bj-a/n1:
run cordon gpu bj-a/n1:3-1
run cordon gpu bj-a/n1:64
run cordon gpu bj-a/n1:1,,2
run cordon gpu n1:1
run drain
run drain gpu bj-a/n1:1
run drain node
run drain node n1
run drain domain bj-a
run drain node bj-a/n1 --force
run drain node bj-a/n1 --max-at-once 0
run drain node bj-a/n1 --deadline soon
run freeze
run freeze evictons
run freeze evictions
run freeze evictions --for 2h
run freeze evictions --for 31d --reason x
run freeze evictions growth --for 2h --reason x
run freeze all --cluster ../etc --for 2h --reason x
run freeze all --list
run unfreeze
run unfreeze al
run cluster
run cluster remove bj-a
run node
run node confirm-lost
run node confirm-lost n3
run cluster forget --i-know-it-is-dead
run cluster forget us-c
run cluster forget us-c ../etc --i-know-it-is-dead
run forget us-c
run explain
run explain -f job.yaml web/hello
run help frobnicate
run completion
run completion fish
run replay
run replay "$tmp/none.csv"
run replay $here/manifests/trace.csv --time-scale 0
run replay $here/manifests/trace.csv
run replay $here/manifests/bad-trace.csv
golden usage

m=$here/manifests
for manifest in "$m"/bad-*.yaml; do
    run apply -f "$manifest"
done
golden bad-manifests

# What cannot be kept in a folder of text files.
mkdir -p "$tmp/odd" "$tmp/empty"
manifest() { printf 'apiVersion: tidefed/v1\nkind: Job\nmetadata: {tenant: a, name: %b}\nspec: {priority: p, instances: 1}\n' "$1"; }
manifest '"nul\\0"' >"$tmp/odd/nul-escaped.yaml"
manifest 'n\0ul' >"$tmp/odd/nul.yaml"
manifest 'caf\xe9' >"$tmp/odd/latin1.yaml"
{ manifest job && printf '# ' && head -c 10485760 /dev/zero | tr '\0' x && echo; } >"$tmp/odd/ten-megabytes.yaml"
{ manifest job | sed 's/instances: 1/instance: {image: "@"}/' | head -c -4; head -c 10485760 /dev/zero | tr '\0' y; echo '"}}'; } \
    >"$tmp/odd/long-string.yaml"
{ manifest job && printf 'x: ' && printf '[%.0s' $(seq 5000) && printf ']%.0s' $(seq 5000) && echo; } >"$tmp/odd/deep.yaml"
: >"$tmp/odd/empty.yaml"
for manifest in nul-escaped nul latin1 ten-megabytes long-string deep empty; do
    run apply -f "$tmp/odd/$manifest.yaml"
done
run apply -f "$tmp/empty"
run apply -f "$tmp/no-such-file.yaml"
run apply -f "$m" -f "$tmp/odd/nul.yaml" --dry-run
stdin=$m/bad-type.yaml run apply -f -
run delete -f "$m/bad-key.yaml"
golden odd-manifests

run explain manifest -f "$m/short.yaml"
run explain manifest -f "$m/every-key.yaml"
run explain manifest -f "$m/short.yaml" -o json
run explain manifest -f "$m/two.yaml"
run explain manifest -f "$m/two.yaml" -o json
run explain manifest -f "$m/two.yaml" -o name
stdin=$m/short.yaml run explain -f -
golden explain-manifest

# Files of configuration, each checked by the program it is for.
mkdir "$tmp/conf"
printf 'listen: 127.0.0.1:0\ndataDir: /tmp/x\nstore: {endpoints: ["http://127.0.0.1:1"]}\n' >"$tmp/conf/fedd.yaml"
printf 'listen: 127.0.0.1:0\nstore: {endpoint: [x]}\n' >"$tmp/conf/bad-fedd.yaml"
printf 'name: a\nfederation: ["127.0.0.1:1"]\nstateDir: relative\n' >"$tmp/conf/bad-subclusterd.yaml"
printf 'endpoints: [127.0.0.1:7700]\ntenant: web\n' >"$tmp/conf/fedctl.yaml"
printf 'endpoints: [127.0.0.1:7700]\ntenent: web\n' >"$tmp/conf/bad-fedctl.yaml"
for file in fedd bad-fedd bad-subclusterd fedctl bad-fedctl none; do
    run config check "$tmp/conf/$file.yaml"
done
run config
run config show
golden config

# The configuration file.
mkdir -p "$tmp/home/.config/tidefed"
echo 'endpoint: [127.0.0.1:1]' >"$tmp/home/.config/tidefed/fedctl.yaml"
run get jobs
echo 'endpoints: ["127.0.0.1"]' >"$tmp/home/.config/tidefed/fedctl.yaml"
run get jobs
golden bad-config
summary
