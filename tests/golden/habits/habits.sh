#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Twenty-two habits of people who know kubectl, nomad or slurm: each command is given to real daemons that run real
# processes, and what it prints is compared, letter by letter, with deploy/habits.md; UPDATE_GOLDEN=1 writes it anew. What
# differs from run to run (moments, ages, uids, ports) is replaced by stand-ins of the same width first.
# usage: habits.sh SOURCE_FOLDER BUILD_FOLDER
set -euo pipefail
source=$1 bin=$2/bin test_name=habits
. "$source/tests/support/daemons.sh"
need etcd curl perl
export PATH=$bin:$PATH TZ=UTC HOME=$home NO_COLOR=1
unset TIDEFED_TENANT TIDEFED_CONTEXT TIDEFED_TLS_CA TIDEFED_TLS_CERT TIDEFED_TLS_KEY XDG_CONFIG_HOME

# ---- the federation ----

launch_etcd store
TIDEFED_ENDPOINTS=$(new_address)
export TIDEFED_ENDPOINTS
cat >"$home/conf/fedd.yaml" <<END
listen: $TIDEFED_ENDPOINTS
dataDir: $home/data/fedd
store: {endpoints: ["http://$(cat "$home/conf/store.etcd")"]}
settings: {classes: {online: 900, train: 500, batch: 300, offline: 100}}
END
subcluster() { # NAME REGION NODES
    cat >"$home/conf/$1.yaml" <<END
name: $1
region: $2
federation: ["$TIDEFED_ENDPOINTS"]
store: {endpoints: ["http://$(cat "$home/conf/store.etcd")"]}
stateDir: $home/state/$1
allowRoot: $allow_root
nodes:
  - {$3}
END
    launch "$1" "$bin/subclusterd" --config "$home/conf/$1.yaml"
}
launch fedd "$bin/fedd" --config "$home/conf/fedd.yaml"
subcluster bj-a north "prefix: n, count: 4, model: H800, gpus: 8, gpuMemory: 80Gi, cpu: 128, memory: 1Ti"
subcluster gz-b south "prefix: a, count: 2, model: A100, gpus: 4, gpuMemory: 40Gi, cpu: 64, memory: 512Gi"
all_ready() { [ "$(fedctl get clusters --no-headers | grep -c Ready)" -eq 2 ]; }
wait_for "the subclusters to attach" all_ready

# ---- what is typed, and what comes ----

number=0
: >"$home/table" && : >"$home/answers"

plain() {
    # A wait tells what it waits for unless that is there already: here it depends on the machine.
    perl -ne '
        next if /^fedctl: job \S+ is .*: waiting for it to /;
        s/\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+0000/2026-11-30 09:00:00 +0000/g;
        s/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/2026-11-30T09:00:00.000Z/g;
        s/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/7d3c5a10-9e1f-4b62-8a44-0c2f6b1d9e57/g;
        s/\b[0-9a-f]{32}\b/7d3c5a109e1f4b628a440c2f6b1d9e57/g;
        s/127\.0\.0\.1:\d+/fedd-1:7700/g;
        s/^(migration )[0-9a-f]{8}\b/${1}26d38c2d/;
        s/^[0-9a-f]{8}( +PLANNED )/26d38c2d$1/;
        s/http=\d{5}/http=20080/g;
        s/^(version: )\d+$/${1}12/;
        # ages: moments ago, right-aligned
        s/( +)(?<=  )(\d+s|now)(?= |$)/sprintf("%*s", length($1) + length($2), "5s")/ge;
        s/\b\d+m?s ago/5s ago/g;
        s/\(since \d+s\)/(since 5s)/;
        print'
}

# TITLE KUBECTL NOMAD SLURM ("-" = has no such thing), then from standard input the commands, one a line. A line that
# begins with "~" is not shown: what a person would see before going on, waited for.
habit() {
    local command code output cells=()
    number=$((number + 1))
    for command in "$2" "$3" "$4"; do
        if [ "$command" = - ]; then cells+=(""); else cells+=("\`${command//|/\\|}\`"); fi
    done
    printf '\n## %d. %s\n\n```text\n' "$number" "$1" >>"$home/answers"
    local first=
    while read -r command; do
        case $command in "~"*) eval "${command#"~"}"; continue ;; esac
        [ -n "$first" ] || first=$command
        code=0
        output=$(cd "$source/deploy/examples" && bash -c "$command" 2>&1 </dev/null) || code=$?
        {
            printf '$ %s\n' "$command"
            [ -z "$output" ] || plain <<<"$output"
            [ $code -eq 0 ] || printf '(exit %d)\n' "$code"
        } >>"$home/answers"
    done
    echo '```' >>"$home/answers"
    printf '| [%d](#%s) | %s | %s | %s | %s | `%s` |\n' "$number" "$(anchor "$number. $1")" "$1" \
        "${cells[0]}" "${cells[1]}" "${cells[2]}" "${first//|/\\|}" >>"$home/table"
}
anchor() { tr 'A-Z ' 'a-z-' <<<"$1" | tr -cd 'a-z0-9-'; }

# Placement and lists of clusters are as fresh as the last profile, which comes twice a second.
free() { wait_for "$2 free GPUs in $1" has_free "$@"; }
has_free() { fedctl get clusters | grep -Eq "^$1( +[^ ]+){4} +$2 "; }
shows() { wait_for "$1 to show $2" shows_now "$@"; }
shows_now() { $1 | grep -Eq "$2"; }
settled() { wait_for "$1 to be $2" fedctl wait job "$1" --for="$2" --timeout 30s; }

habit "Which clusters are there, and what is free" "kubectl config get-contexts" "nomad server members" "sinfo -s" <<'END'
fedctl get clusters
END
habit "Which nodes, and in which state" "kubectl get nodes" "nomad node status" "sinfo -N" <<'END'
fedctl get nodes
END
habit "Say what would happen, before it does" "kubectl apply -f . --dry-run=server" "nomad job plan job.hcl" "sbatch --test-only job.sh" <<'END'
fedctl plan -f .
END
habit "Ask for work with a file" "kubectl apply -f job.yaml" "nomad job run job.hcl" "sbatch job.sh" <<'END'
fedctl apply -f hello-service.yaml -f wants-b300.yaml
fedctl apply -f hello-service.yaml
END
settled web/hello running
habit "Run a command, and wait for it" "kubectl run x --rm -i --image=i -- cmd" "nomad job dispatch x" "srun -G 1 cmd" <<'END'
fedctl submit -t rec -p batch --name eval --gpus 4 --wait -- bash -c 'echo score 0.93'
END
free bj-a 30
habit "Queue a command, from a script" "kubectl create job x --image=i -- cmd" "-" "sbatch -n 2 -G 8 --wrap cmd" <<'END'
fedctl submit -t llm -p train -J pretrain -n 2 --gpus 8 --label team=llm -o name -- sleep 1000
~free bj-a 14
fedctl submit -t llm -p batch -J sweep --min 1 --max 3 --gpus 4 --label team=llm -o name -- sleep 1000
END
settled llm/pretrain running
settled llm/sweep running
shows "fedctl get jobs" '^llm/sweep .* 3/3 '
habit "Which jobs are there" "kubectl get jobs -A" "nomad job status" "squeue" <<'END'
fedctl get jobs -A
END
habit "Only some of them, for a script" "kubectl get jobs -l team=llm -o name" "nomad job status -filter ..." "squeue -h -o %i -t R" <<'END'
fedctl get jobs -A -l team=llm -o name
fedctl get jobs -A -l 'team notin (llm),!canary' --limit 1 --no-headers
fedctl get jobs -A --phase pending --no-headers
END
habit "Everything about one" "kubectl describe job x" "nomad job status x" "scontrol show job 17" <<'END'
fedctl describe job llm/pretrain
END
habit "Why does it wait" "kubectl describe pod x" "nomad eval status 5e2" "squeue --start -j 17" <<'END'
fedctl explain job rec/wants-b300
END
habit "Where does it run, with which ports" "kubectl get pods -o wide" "nomad alloc status" "squeue -s" <<'END'
fedctl get instances web/hello
END
habit "What does it say" "kubectl logs job/x" "nomad alloc logs 8f1" "tail -f slurm-17.out" <<'END'
fedctl logs rec/eval
END
habit "What happened to it" "kubectl get events" "nomad job history x" "sacct -j 17" <<'END'
fedctl events llm/sweep
fedctl events cluster bj-a
END
habit "Smaller, or larger" "kubectl scale --replicas=2 deploy/x" "nomad job scale x 2" "scontrol update jobid=17 NumNodes=2" <<'END'
fedctl scale llm/sweep --max 2
~shows "fedctl get jobs" '^llm/sweep .* 2/2 '
~free bj-a 6
~shows "fedctl get instances llm/sweep" " Gone "
fedctl get instances llm/sweep
END
habit "Not now, and then go on" "kubectl patch job x -p ..." "nomad job stop x" "scontrol hold 17" <<'END'
fedctl hold llm/sweep
~free bj-a 14
fedctl resume llm/sweep
fedctl wait llm/sweep --for=running --timeout 30s
END
habit "Take a node out of use" "kubectl cordon n1" "nomad node eligibility -disable 4d2" "scontrol update node=n1 state=drain" <<'END'
fedctl cordon node bj-a/n3 --reason "fan, INC-4711"
fedctl get nodes --cluster bj-a
fedctl drain node bj-a/n3 --dry-run
fedctl drain node bj-a/n3 --deadline 2h --reason "fan, INC-4711"
fedctl get drains
fedctl uncordon node bj-a/n3
~free bj-a 6
END
habit "Take one bad GPU out of use" "-" "-" "scontrol update node=n1 gres=gpu:7" <<'END'
fedctl cordon gpu bj-a/n3:5 --reason "XID 79"
~free bj-a 5
fedctl get gpus bj-a/n3
END
habit "How full is it" "kubectl top nodes" "nomad node status -stats" "sinfo -O NodeList,GresUsed" <<'END'
~shows "fedctl top clusters" "^bj-a( +[^ ]+){5} +4 "
fedctl top clusters
fedctl top nodes --limit 3
END
habit "Stop it" "kubectl delete job x" "nomad job stop -purge x" "scancel 17" <<'END'
fedctl delete llm/pretrain llm/sweep --wait
fedctl delete llm/nothing
END
habit "Move one instance elsewhere" "kubectl delete pod x-0" "nomad alloc stop 8f1" "scontrol requeue 17" <<'END'
fedctl migrate instance web/hello/0 --to n1 --dry-run
fedctl migrate instance web/hello/0 --to n1 --reason "noisy neighbour" --wait
END
habit "Take a whole cluster out of use" "kubectl drain -l zone=b" "nomad node drain -enable 4d2" "scontrol create reservation flags=maint" <<'END'
fedctl drain cluster bj-a --dry-run
fedctl drain cluster gz-b --deadline 2h --reason "power, INC-4712"
fedctl get drains
fedctl uncordon cluster gz-b
END
habit "Slips of the pen" "kubectl gte pods" "nomad jbo status" "squeue --user" <<'END'
fedctl squeue
fedctl get jbos
fedctl get jobs --outptu wide
fedctl submit -t llm -p urgent -J x --gpus 1 -- ls
END

# ---- the file ----

[ "$number" -eq 22 ] || fail "$number habits, not 22"
{
    cat <<'END'
# Twenty-two habits

What people who know kubectl, nomad or slurm type every day, what they type here, and what comes. The answers below are
those of a real federation of two clusters: a test gives it these commands and compares, letter by letter, so they are what
the programs of this tree print; only moments, ages, uids and ports are stand-ins. `fedctl VERB --help` has more examples.

| | you want | kubectl | nomad | slurm | fedctl |
| --- | --- | --- | --- | --- | --- |
END
    cat "$home/table" "$home/answers"
} >"$home/habits.md"
if [ -n "${UPDATE_GOLDEN:-}" ]; then
    cp "$home/habits.md" "$source/deploy/habits.md"
elif ! diff -u "$source/deploy/habits.md" "$home/habits.md"; then
    fail "deploy/habits.md is not what the programs print: UPDATE_GOLDEN=1 writes it anew"
fi
echo "habits: $number habits, as in deploy/habits.md"
