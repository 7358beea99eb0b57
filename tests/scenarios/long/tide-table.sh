#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The tide table of README.md: two scenarios under tidefed, under what else might decide, and without one mechanism
# each, over several seeds: mean (least to most). Some minutes; the second needs the trace (else it is left out).
# usage: tide-table.sh FEDSIM [SEEDS]
set -euo pipefail
fedsim=$1 seeds=${2:-5}
folder=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d "/tmp/tidefed-test-table-XXXXXX")
trap 'rm -rf "$work"' EXIT

choices=("--policy tidefed" "--policy fifo" "--policy static-quota" "--policy priority" "--policy youngest-first"
    "--without absorb" "--without align" "--without cost" "--without claims")

# One object a run: who decided, and its report.
runs() {
    local scenario=$1 choice seed
    for choice in "${choices[@]}"; do
        for seed in $(seq "$seeds"); do
            # shellcheck disable=SC2086
            "$fedsim" run --check off --report json --seed "$seed" $choice "$scenario" 2>"$work/said" ||
                grep -q '^FAIL' "$work/said" || { cat "$work/said" >&2; return 1; }
        done
    done
}

table='
def commas: tostring | [match("\\d{1,3}(?=(\\d{3})*$)"; "g").string] | join(",");
def rounded(d): pow(10; d) as $power | . * $power | round / $power;
def fixed: rounded(1) | tostring | if test("[.]") then . else . + ".0" end;
def number: round | commas;
def time: if . < 1 then "\(. * 1000 | round) ms" elif . < 120 then "\(rounded(if . < 20 then 1 else 0 end)) s"
    elif . < 7200 then "\(. / 60 | round) min" else "\(. / 3600 | rounded(1)) h" end;
def over(f; show): map(f) | (add / length | show) as $mean | (min | show) as $least | (max | show) as $most
    | if $least == $most then $mean else "\($mean) (\($least) to \($most))" end;
def percent(f): over(f * 100; "\(fixed) %");
def causes: . as $runs | [["deliverable", "count", "cpu_memory", "topology", "policy", "step", "health"][]
    | . as $cause | {cause: $cause, part: ($runs | map(.idleGpuHoursByCause[$cause] / .gpuHoursThere * 100) | add / length)}
    | select(.part >= 0.05)] | if length == 0 then "none" else map("\(.part | fixed) % \(.cause)") | join(", ") end;
def row: [.[0].policy, percent(.gpuAllocation), percent(.gpuUsable), causes,
    over(.classes.online.scaleSeconds.p50; time), over(.classes.online.scaleSeconds.p99; time),
    over(.classes.online.unmetGpuHours; number),
    over(.classes.train.waitSeconds.p50; time), over(.classes.train.waitSeconds.p99; time),
    over(.lostGpuHours; number), over(.evictions; number), over(.jobsEvicted; number)];
def line: "| " + join(" | ") + " |";
(["who decides", "held", "usable", "idle, by cause", "online waits p50", "p99", "unmet GPU-h", "train waits p50", "p99",
  "lost GPU-h", "evictions", "jobs evicted"] | line),
([range(12) | "---"] | line),
(reduce .[] as $run ([]; (map(.[0].policy) | index($run.policy)) as $i
    | if $i == null then . + [[$run]] else .[$i] += [$run] end) | .[] | row | line)'

for scenario in "$folder/../tide-three-days.yaml" "$folder/itp-day-tide.yaml"; do
    if grep -q csv: "$scenario" && [ ! -e "$folder/../../../../shared/traces/jobs_itp2021.csv.gz" ]; then
        echo "left out, since the trace is not here: $(basename "$scenario")" >&2
        continue
    fi
    runs "$scenario" >"$work/runs.json"
    printf '\n`%s`, %s seeds:\n\n' "$(basename "$scenario" .yaml)" "$seeds"
    jq -rs "$table" "$work/runs.json"
done
