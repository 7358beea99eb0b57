#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every verb and format against a scripted federation (fake_fedd.c). usage: server.sh FEDCTL FAKE_FEDD
. tests/golden/fedctl/golden.sh

serve FEDD "$fake"
export TIDEFED_ENDPOINTS=$address
m=$here/manifests

run get jobs
run get jobs -A -o wide
run get jobs -o name
run get jobs --no-headers --tenant rec
run get jobs --phase pending,failed
run get jobs -l team=corpus
run get jobs -l 'team!=corpus' -o name
run get jobs -l 'team in (corpus, web)' -o name
run get jobs -l '!team' -o name
run get jobs -l 'team in (corpus'
run get jobs --cluster us-c
run get jobs --limit 3 --no-headers
run get jobs --limit 3 --chunk 2 -o name
run get jobs --limit 8 -o name
run get jobs web/hello data/refresh --limit 1 -o name
run get jobs --limit 1 -o json --phase failed
run get jobs --limit 0
run get jobs --limit 2 --watch
run get jobs --chunk 1001
run get jobs --tenant nobody
run get jobs --tenant nobody -o json
run get jobs --tenant nobody -o yaml
run get jobs --tenant nobody -o name
run get web/hello
run get jobs web/hello rec/none data/refresh
run get job hello --tenant web -o name
TIDEFED_TENANT=rec run get jobs
TIDEFED_TENANT=rec run get jobs -A -o name
golden get-jobs

run get jobs --tenant rec -o json
run get jobs --tenant rec -o yaml
run get job web/hello -o json
run get job web/hello -o yaml
golden get-jobs-data

run get jobs --archived
run get jobs --archived -o wide --limit 1
run get jobs --archived -l team=corpus -o name
run get jobs --archived --phase failed --no-headers
run get jobs --archived -t nobody
run get jobs --archived web/nothing
run get jobs --archived -o yaml --limit 1
run get clusters --archived
# two members: what both have is shown once; one that is away is missed
run get jobs --archived -o name --endpoints "$address,$address"
run get jobs --archived -o name --endpoints "$address,127.0.0.1:1"
run get reservations --archived
run get reservations --archived -o yaml --limit 1
run get reservations --archived rec/flaky -o name
run get reservations --archived rec/none
golden get-archive

run get clusters
run get clusters -o wide
run get clusters -o name
run get clusters -l site=gz
run get clusters -l 'site notin (gz)' -o name
run get clusters bj-a nowhere
run get clusters -o json
run get cluster gz-b -o yaml
run get cluster us-c -o yaml
golden get-clusters

run get nodes
run get nodes -o wide
run get nodes -o name
run get nodes -o name --limit 2
run get nodes --cluster us-c
run get nodes gz-b/a1
run get nodes n1 nowhere
run get nodes us-c/l0 --cluster us-c
run describe node us-c/l0
run get node gz-b/a1 -o json
run get nodes --cluster gz-b -o yaml
golden get-nodes

run get instances
run get instances -o wide
run get instances --limit 1 --no-headers
run get instances web/hello
run get instances web/hello -o name
run get instances web/none
run get instances rec/wants-b300
run get instances web/hello -o json
run get instances web/hello -o yaml
golden get-instances

run get instances --cluster sh-d
golden get-instances-away

run get gpus
run get gpus gz-b/a2 -o wide
run get gpus bj-a/n1 -o name
run get gpus --cluster us-c
run get gpus gz-b/a1 bj-a/none
run get gpus gz-b/a2 -o json
golden get-gpus

run top clusters
run top clusters -l site=gz
run top clusters -o name
run top nodes
run top nodes --sort name --limit 2
run top nodes --sort cpu -c gz-b --no-headers
run top nodes -o wide
run audit
run audit --cluster gz-b
run audit -o json
run audit n1
run top nodes -c us-c
run top jobs
run top nodes n1
run top nodes --sort fragmentation
golden top

run events --since 24h
run events
run events web/hello
run events web/hello -o wide
run events web/hello -o name
run_for 3 rec/soon events --tenant rec -f --since 24h -o name
run_for 1 "in us-c?" events --tenant rec -f --since 24h -o wide
run events rec/wants-b300 -o yaml
run events web/none
run events --since 0s -o json
run_for 1 "in us-c?" events --tenant rec -f --since 24h
run_for 1 Running events --tenant rec -f --since 24h -o json
run events cluster
run events clusters gz-b sh-d -o json --since 5h
run events cluster sh-d -o name
run events cluster nowhere
run events cluster -l a=b
run events cluster us-c -f --duration 100ms
golden events

run_for 1 "web/hello   gone" watch
run_for 1 "Running     2/2" watch jobs --tenant rec --no-headers
run_for 2 rec/soon watch jobs --tenant rec -o name
run_for 1 '"version":4' watch jobs --phase running -o json
run get jobs --tenant rec --watch -o yaml
run watch clusters --duration 100ms
run watch jobs web/hello
run watch jobs -o yaml
golden watch

run describe job web/hello
run describe data/refresh
run describe job rec/flaky
run describe job ops/parked
run describe job web/none
run describe job web/none -o json
run describe job web/hello -o name
run describe node gz-b/a1 -o wide
run describe cluster gz-b
run describe cluster us-c
run describe cluster sh-d
run describe cluster nowhere
run describe node gz-b/a1
run describe node bj-a/n1
run describe node bj-a/n2
run describe node bj-a/none
run describe node gz-b/a2
golden describe
run get drains -c dr-e
run get drains -c dr-e -o json
run get drains -c dr-e -o name
run get drains -c us-c
run describe drain dr-e
run describe drain dr-e/l2
run describe drain dr-e/rdma-1
run describe drain dr-e -l disk=sata
run describe drain dr-e -l disk=sata -o yaml
run describe drain dr-e/l0
run describe drain dr-e -l "disk in ("
run describe node dr-e/l0 -l disk=sata
run watch drains -c dr-e --duration 100ms
golden drains

run explain job rec/wants-b300
run explain rec/wants-b300 -o json
run explain rec/wants-b300 -o yaml
run explain rec/wants-b300 -o wide
run explain rec/wants-b300 -o name
run explain web/hello
run explain web/none
golden explain

run explain eviction data/refresh
run explain eviction data/refresh -o json
run explain evictions data/refresh -o yaml
run explain eviction data/refresh -o name
run explain eviction web/hello
run explain eviction web/none
run explain eviction
run explain eviction data/refresh web/hello
golden explain-eviction

run explain node bj-a/n1
run explain node n1 --cluster bj-a
run explain node bj-a/n2
run explain node gz-b/a1
run explain node gz-b/a1 -o name
run explain node gz-b/a2 -o json
run explain node bj-a/n1 -o yaml
run explain node bj-a/none
run explain node us-c/n1
run explain node n1
run explain node
run get reservations rec/none
run get reservations web/hello
run describe reservation rec/none
run delete reservation rec/none
run explain reservation rec/none
run explain reservation web/hello
run explain reservation
run explain nods bj-a/n1
golden explain-node

run apply -f "$m/outcomes"
run apply -f "$m/outcomes/d-fixed.yaml" --restart
run apply -f "$m/short.yaml" --dry-run
stdin=$m/two.yaml run apply -f -
run apply -f "$m/lost.yaml"

# A folder of 500 files, four of which are wrong: each is told, the others are applied. One of the same named with -f is
# another matter: nothing is sent.
mkdir "$tmp/many"
for i in $(seq 100 599); do
    sed "s/name: short/name: job-$i/" "$m/short.yaml" >"$tmp/many/$i.yaml"
done
sed -i 's/priority:/prioritty:/' "$tmp/many/100.yaml"
echo '{' >"$tmp/many/300.yaml"
cp "$tmp/many/597.yaml" "$tmp/many/598.yaml"
rm "$tmp/many/499.yaml" && mkdir "$tmp/many/499.yaml"
run apply -f "$tmp/many"
[ "$(grep -c '^job golden/job-[0-9]* created$' "$tmp/out")" -eq 496 ] ||
    { echo "FAILED: not 496 of 500 files were applied"; failed=1; }
sed -i '/^job golden\/job-[0-9]* created$/d' "$tmp/out"
run apply -f "$tmp/many/101.yaml" -f "$tmp/many/100.yaml"
run apply -f "$tmp/many" -f "$tmp/many/100.yaml" --dry-run
sed -i '/^job golden\/job-[0-9]* created (dry run)$/d' "$tmp/out"
golden apply

planned() { sed "s/^\(metadata: .*name: \)[a-z]*/\1$1/" "$m/short.yaml" >"$tmp/$1.yaml"; } # NAME
for name in short victims unsaid waits same changed; do planned $name; done
run plan -f "$tmp/victims.yaml"
run plan -f "$tmp/short.yaml"
run plan -f "$tmp/unsaid.yaml"
run plan -f "$tmp/waits.yaml"
run plan -f "$tmp/same.yaml"
run plan -f "$tmp/short.yaml" --restart
run plan -f "$m/outcomes"
run plan -f "$tmp/victims.yaml" -o json
run plan -f "$tmp/victims.yaml" -o yaml
run plan -f "$tmp/victims.yaml" --out "$tmp/no-such-folder/plan"
run plan -f "$m/bad-key.yaml"
run plan
run plan -f
run plan victims
golden plan

run plan -f "$tmp/victims.yaml" --out "$tmp/plan.yaml"
run apply --plan "$tmp/plan.yaml" --dry-run
run apply --plan "$tmp/plan.yaml"
sed -i 's/cluster: gz-b/cluster: bj-a/' "$tmp/plan.yaml"
run apply --plan "$tmp/plan.yaml"
run apply --plan "$tmp/short.yaml"
run apply --plan "$tmp/nothing.yaml"
run apply --plan "$tmp/plan.yaml" -f "$tmp/short.yaml"
sed -i 's/action: create/acton: create/' "$tmp/plan.yaml"
run apply --plan "$tmp/plan.yaml"
golden apply-plan

run submit -t golden -p batch --name one -- python x.py --lr 1
run submit -t golden -p batch --name one -o name python x.py --lr 1
run submit -t golden -p batch --name every --gpus 8 -n 4 --gpu-model H800,H100 --gpu-model A100 --gpu-memory 80Gi \
    --cpu 96 --memory 900Gi --image img:1 -e A=1 -e B=x=y --port http --label team=a -c bj-a,gz-b --max-runtime 12h \
    --retries 1 --workload training --dry-run -o yaml -- bash -c 'echo -n "a b"'
run submit -t golden -p batch --name sizes --min 2 --max 6 --step 2 --dry-run -o json ./run.sh
run submit -t golden -p urgent --name rules ls
run submit -t golden -p batch --name taken ls
run submit -t golden -p batch --name warned --dry-run ls
run submit -t llm -p batch --name pretrain --wait ls
run submit -t golden -p batch "./Train LLM.py"
mkdir -p "$tmp/home/.config/tidefed"
echo '{tenant: golden, priority: batch}' >"$tmp/home/.config/tidefed/fedctl.yaml"
run submit --name configured -o name ls
rm "$tmp/home/.config/tidefed/fedctl.yaml"
golden submit

run scale web/hello --instances 4
run scale web/hello 4
run scale web/hello --max 4
run scale data/refresh --instances 4
run scale data/refresh --max 4
run scale data/refresh --min 6
run scale data/refresh --max 5
run scale data/refresh web/none --min 4
golden scale

run cordon cluster bj-a --reason "switch firmware"
run cordon cluster bj-a nowhere us-c
run uncordon cluster bj-a
run cordon node bj-a/n1 --reason fan
run cordon node n1 n2 --cluster bj-a
run cordon gpu bj-a/n1:5 --reason "XID 79"
run cordon gpus bj-a/n1:0-3,6
run cordon gpu bj-a/n1:4 --suspect --reason slow
run cordon node bj-a/none bj-a/n1
run cordon node sh-d/n1
run uncordon node bj-a/n1
run uncordon gpu bj-a/n1:5
run drain node bj-a/n1 --deadline 2h --reason fan
run drain node bj-a/none bj-a/n1
run drain node sh-d/n1
run drain domain bj-a/nowhere
run drain cluster nowhere
run drain domain bj-a/pod-3 --dry-run
run drain domain bj-a/pod-3 --max-at-once 2
run drain domain pod-3/switch-1 --cluster bj-a
run drain cluster bj-a --deadline 1h --force
run drain node -l "disk = nvme" -c bj-a --dry-run
run drain node -l disk=nvme --cluster bj-a --deadline 2h --reason fan
run drain node -l disk=nvme
run drain node -l disk=tape -c bj-a
run drain node -l "disk in (nvme"
run drain node -l "" -c bj-a
run drain node bj-a/n1 -l disk=nvme
run drain domain -l disk=nvme
run uncordon node -l disk=nvme -c bj-a
run uncordon domain bj-a/pod-3
run uncordon domain bj-a/nowhere
run uncordon domain bj-a
run cordon domain bj-a/pod-3 --reason optics
run cordon domain bj-a/nowhere
run uncordon node -l disk=tape -c bj-a
run cordon domain bj-a
run cordon domain -l disk=nvme
run cordon node -l disk=nvme --cluster bj-a --reason firmware
run cordon node -l disk=tape -c bj-a
run freeze evictions --for 2h --reason "release of search"
run freeze all --cluster gz-b --for 30m --reason fan
run freeze moves --cluster nowhere --for 30m --reason fan
run freeze --list
run freeze --list -o yaml
run freeze --list -o name
run unfreeze growth --cluster gz-b
run unfreeze evictions
run describe cluster gz-b
run node confirm-lost bj-a/n2 --reason "rack 7 burnt"
run node confirm-lost bj-a/none
run cluster forget us-c --i-know-it-is-dead
run cluster forget nowhere bj-a --i-know-it-is-dead
grep -A 100 bj-a "$tmp/port" >>"$tmp/out" # what the federation was told
golden cordon

run get migrations
run get migrations -o wide
run get migrations web/hello
run get migrations ab
run get migrations ab01 -o yaml
run get migrations -o name
run describe migration 5eed
run describe migration web/hello
run describe migration ab02
run describe migration none
run migrate pause ab01
run migrate resume 5eed
run abort ab01 --reason "not now"
run migrate instance web/hello/0 --to bj-a/n3/x
run migrate instance --from bj-a/n3 --to us-c/n1
golden migrations

run defrag plan --cluster bj-a
run defrag plan --cluster bj-a --nodes n0,n1 --free 1
run defrag plan --cluster bj-a --model A100
run defrag plan --cluster bj-a --unit 4 --free 2 --max-moves 5 -o json
run defrag plan --cluster bj-a --worst 1
run defrag plan --cluster bj-a --for data/refresh --out "$tmp/defrag.plan"
cat "$tmp/defrag.plan" >>"$tmp/out"
run defrag plan
run defrag plan --cluster bj-a --free none
run defrag plan n0 --cluster bj-a
run defrag plan --cluster bj-a --out "$tmp/no-such-folder/plan"
run defrag
run defrag apply "$tmp/defrag.plan"
run defrag apply "$tmp/defrag.plan" --window 00:00-00:00 --reason "room for the big one"
run defrag apply "$tmp/defrag.plan" --wait
run defrag apply "$tmp/defrag.plan" --stop-after 1s --reason "takes long"
run defrag apply "$tmp/defrag.plan" --window noon
sed 's/to: n1/to: n2/' "$tmp/defrag.plan" >"$tmp/edited.plan"
run defrag apply "$tmp/edited.plan"
sed '/^moves:/,$d' "$tmp/defrag.plan" >"$tmp/short.plan"
run defrag apply "$tmp/short.plan"
sed -i 's/0abc/0abd/' "$tmp/defrag.plan"
run defrag apply "$tmp/defrag.plan"
sed -i '/digest/d' "$tmp/defrag.plan"
run defrag apply "$tmp/defrag.plan"
run defrag apply "$tmp/none.plan"
run defrag apply
golden defrag

# What bash offers at the end of a line, with the names of the federation.
offers() { # WORD...: the last is being typed
    printf '$ fedctl %s<TAB>\n' "$*" >>"$tmp/out"
    PATH=$(dirname "$fedctl"):$PATH bash -c '
        source <(fedctl completion bash)
        COMP_WORDS=(fedctl "$@") COMP_CWORD=$#
        complete -p fedctl | grep -q _fedctl || echo "bash does not know it"
        _fedctl
        printf "%s\n" "${COMPREPLY[@]}"' bash "$@" >>"$tmp/out" 2>&1
    echo >>"$tmp/out"
}
offers un
offers get ""
offers get jobs web/
offers describe ""
offers describe node gz-b/
offers logs da
offers get jobs --tenant re
offers get jobs --cluster ""
offers get jobs --ph
offers get jobs --output ""
offers get jobs --phase pe
offers wait web/hello --for ""
offers cordon ""
offers cordon cluster b
offers top n
offers cluster forget u
offers config ""
offers config get ""
offers events ""
offers events cluster b
offers help rep
offers drain ""
offers describe reservation re
offers delete reservation ""
offers migrate ""
offers migrate instance web/
offers migrate --from gz-b/
offers freeze ""
offers node ""
offers node confirm-lost gz-b/
offers defrag ""
offers defrag plan --for web/
offers apply -f ""
TIDEFED_ENDPOINTS=127.0.0.1:1 offers get clusters ""
TIDEFED_ENDPOINTS=127.0.0.1:1 offers sub
golden completion

run hold job data/refresh
run hold ops/parked web/none
run resume ops/parked
run delete web/hello
run delete job web/none
run delete web/none rec/flaky --ignore-not-found
run delete -f "$m/short.yaml"
run delete -f "$m/short.yaml" --ignore-not-found
run delete web/hello --wait --timeout 20s
run delete data/refresh --wait --timeout 1500ms
golden change

run migrate job web/hello --to gz-b --dry-run
run migrate job web/hello --to gz-b
run migrate job web/hello --to gz-b --yes
run migrate job web/hello --to us-c --yes
run migrate job web/hello --to nowhere --yes
run migrate job web/none --to gz-b --yes
run migrate job data/refresh --to gz-b
run migrate job web/hello
run migrate job --to gz-b
run migrate job web/hello --from bj-a/n3 --to gz-b
run migrate
run migrate jbo web/hello --to gz-b
run abort web/hello
run abort web/none
golden migrate-job

run wait job web/hello --for=running
run wait llm/pretrain --for=succeeded
run wait llm/pretrain rec/flaky --for=finished
run wait rec/flaky --for=running
run wait llm/pretrain --for=failed
run wait rec/soon --for=running --timeout 20s
run wait rec/soon --for=running
run wait rec/wants-b300 --for=running --timeout 1500ms
run wait ops/parked --for=running --timeout 1500ms
run wait web/none --for=running
run wait web/none --for=deleted
golden wait

run logs llm/pretrain --tail 2
run logs web/hello/1 --tail 1
run logs web/hello --index 1 --tail 3 -f
run logs web/hello --tail 0 -f
run logs web/hello --attempt 1 --tail 1
run logs web/hello
run logs rec/wants-b300
run logs web/none
golden logs

run config get
run config get settings -o wide
run config get settings.claimAfter -o yaml
run config get settings.classes -o json
run config get nothing
run config get settings.classes -o name --endpoints "$address,$address"
run config get a b
: >"$tmp/same.yaml" && echo 'advertise: f:7' >"$tmp/fedd.yaml"
run config diff -f "$tmp/same.yaml"
run config diff -f "$tmp/fedd.yaml"
run config diff "$tmp/fedd.yaml" -o json
run config diff -f "$tmp/none.yaml"
run config diff
golden config-live

run version
run version -o json
run version -o yaml
golden version

# A reader that has gone is no error, and what was asked for is still done.
set +e
"$fedctl" get jobs -o json | head -1 >/dev/null
[ "${PIPESTATUS[0]}" -eq 0 ] || { echo "FAILED: get with a reader that left"; failed=1; }
"$fedctl" get jobs >/dev/full 2>"$tmp/full"
[ $? -eq 1 ] && grep -q "cannot write" "$tmp/full" || { echo "FAILED: get on a full disk"; failed=1; }
set -e

# Ctrl-C ends a wait at once, with the code that shells use. Sent until it is heard: a shell starts its background
# commands with the signal ignored, until fedctl says otherwise. Not before it is fedctl: the shell's own copy would
# take it for the end of this script.
"$fedctl" wait rec/wants-b300 --for=running >/dev/null 2>&1 &
waiting=$!
pids+=("$waiting")
for _ in $(seq 500); do
    [ "$(cat "/proc/$waiting/comm" 2>/dev/null || echo fedctl)" = fedctl ] || { sleep 0.02; continue; }
    kill -INT "$waiting" 2>/dev/null || break
    sleep 0.02
done
code=0
wait "$waiting" || code=$?
[ "$code" -eq 130 ] || { echo "FAILED: Ctrl-C during wait gave $code"; failed=1; }

# A wait outlives the federation that it asked first: it is killed, and another one comes up at its address.
serve FIRST "$fake"
TIDEFED_ENDPOINTS=$address "$fedctl" wait rec/wants-b300 --for=running --timeout 60s >"$tmp/survivor" 2>&1 &
waiting=$!
for _ in $(seq 500); do
    grep -q watched "$tmp/port" && break
    sleep 0.02
done
kill -9 "${pids[-1]}"
wait "${pids[-1]}" 2>/dev/null || true
serve SECOND "$fake" --running "$port"
code=0
wait "$waiting" || code=$?
grep -qx "job rec/wants-b300 is Running" "$tmp/survivor" && [ "$code" -eq 0 ] ||
    { echo "FAILED: a wait over a restart ended with $code:"; cat "$tmp/survivor"; failed=1; }

# On a terminal: colour, unless it is not wanted, and the last column cut to the width.
terminal() { # COMMAND [WORDS]: what it writes to a terminal of 80 columns, once it has come to write the words
    printf '$ %s\n' "$1" >>"$tmp/out"
    for _ in $(seq 20); do
        PATH=$(dirname "$fedctl"):$PATH TERM=xterm script -qec "stty cols 80 -onlcr; $1" /dev/null </dev/null >"$tmp/one"
        grep -qF -- "${2:-}" "$tmp/one" && break
    done
    cat "$tmp/one" >>"$tmp/out"
    echo >>"$tmp/out"
}
unset NO_COLOR
terminal "fedctl get jobs"
terminal "fedctl get jobs --no-color"
terminal "NO_COLOR=1 fedctl get clusters"
terminal "fedctl explain rec/wants-b300"
terminal "fedctl watch --duration 500ms" llm/pretrain
golden terminal
export NO_COLOR=

# A standby names the leader; one that knows none is asked again; a leader that is gone is reported.
leader=${TIDEFED_ENDPOINTS}
serve STANDBY "$fake" --standby "$leader"
run --endpoints "$address" get clusters -o name
run --endpoints "$address" wait rec/soon --for=running --timeout 20s
run --endpoints "$address" version
run --endpoints "$address" version -o yaml
# what the leader says counts, not that others passed the question on
run --endpoints "$address,$leader" config get settings --cluster sh-d --timeout 2s
serve LEADERLESS "$fake" --standby ""
run --endpoints "$address" get clusters -o name --timeout 20s
closed CLOSED
serve LOST "$fake" --standby "$address"
run --endpoints "$address" get clusters --timeout 1500ms
golden leader
summary
