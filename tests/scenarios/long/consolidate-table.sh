#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What automatic consolidation is worth: weeks of ten clusters' training jobs, as they came, on one fleet that they
# fill to 85 % on average, with consolidate: off and on. A week begins with what ran then; half of the jobs are more
# important than the other half, and 40 % of all may not move without a restart. One week a seed: mean (least to most).
# A minute a week. usage: consolidate-table.sh FEDSIM [WEEKS]
set -euo pipefail
fedsim=$1 weeks=${2:-5}
folder=$(cd "$(dirname "$0")" && pwd)
trace=$folder/../../../../shared/traces/jobs_itp2021.csv.gz
[ -e "$trace" ] || { echo "skipped: the trace is not here"; exit 77; }
work=$(mktemp -d "/tmp/tidefed-test-consolidate-XXXXXX")
trap 'rm -rf "$work"' EXIT

# The jobs of week $1, and on stderr the nodes of 8 GPUs that they fill to 85 %. What a job is called decides by lot, so
# that it is the same with and without. Tenants are sizes: the report has waits by tenant.
week() {
    zcat "$trace" | awk -F, -v week="$1" '
        BEGIN { OFS = ","; span = 7 * 86400; begin = week * span; for (i = 0; i < 256; i++) code[sprintf("%c", i)] = i }
        NR == 1 { print "job_id,submit_s,duration_s,gpus_per_instance,instances,priority_class,tenant,kind"; next }
        $2 + $3 <= begin || $2 >= begin + span { next }
        {
            lot = week
            for (i = 1; i <= length($1); i++) lot = (lot * 31 + code[substr($1, i, 1)]) % 9973
            at = $2 < begin ? 0 : $2 - begin
            lasts = $2 < begin ? $2 + $3 - begin : $3
            in_week = at + lasts > span ? span - at : lasts
            gpu_hours += $4 * in_week / 3600
            print $1, at, lasts, $6, $5, lot % 2 ? "train" : "batch", $4 < 8 ? "small" : $4 == 8 ? "node" : "gang",
                int(lot / 2) % 5 < 2 ? "train" : ""
        }
        END { print int(gpu_hours / 168 / 0.85 / 8 + 0.5) > "/dev/stderr" }'
}

scenario() {
    cat <<END
name: week $1 of ten clusters' training jobs, consolidate $2
classes: {train: 500, batch: 100}
settings: {leaseTtl: 60s, consolidate: $2}
clusters: [{name: a, nodes: [{count: $(cat "$work/nodes"), prefix: n, model: V100, gpus: 8}]}]
jobs: [{from: {csv: week.csv, resumes: true}, startTime: 40s, stopTime: 10s, checkpointEvery: 30m}]
until: 7d
END
}

for mode in off on; do
    for w in $(seq "$weeks"); do
        week "$w" >"$work/week.csv" 2>"$work/nodes"
        scenario "$w" "$mode" >"$work/week.yaml"
        "$fedsim" run --check end --report json "$work/week.yaml" 2>"$work/said" |
            jq --arg mode "$mode" --argjson nodes "$(cat "$work/nodes")" '{mode: $mode, nodes: $nodes, run: .}' ||
            { cat "$work/said" >&2; exit 1; }
    done
done >"$work/runs.json"

table='
def rounded(d): pow(10; d) as $power | . * $power | round / $power;
def fixed: rounded(1) | tostring | if test("[.]") then . else . + ".0" end;
def time: if . < 120 then "\(round) s" elif . < 7200 then "\(. / 60 | round) min" else "\(. / 3600 | rounded(1)) h" end;
def over(f; show): map(f) | (add / length | show) as $mean | (min | show) as $least | (max | show) as $most
    | if $least == $most then $mean else "\($mean) (\($least) to \($most))" end;
def number: round | tostring;
def percent(f): over(f * 100; "\(fixed) %");
def row: [.[0].mode, percent(.run.gpuAllocation),
    percent(.run.idleGpuHoursByCause.deliverable / .run.gpuHoursThere), percent(.run.idleGpuHoursByCause.count / .run.gpuHoursThere),
    over(.run.tenants.node.waitSeconds.p50; time), over(.run.tenants.node.waitSeconds.p99; time),
    over(.run.tenants.gang.waitSeconds.p50; time), over(.run.tenants.gang.waitSeconds.p99; time),
    over(.run.tenants.small.waitSeconds.p99; time),
    over(.run.evictionsByCause.core; number), over(.run.lostGpuHours; number), over(.run.migrations; number)];
def line: "| " + join(" | ") + " |";
(["consolidate", "held", "deliverable", "idle, too few on a node", "8 GPUs wait p50", "p99", "gangs wait p50", "p99",
  "smaller ones p99", "evicted for others", "lost GPU-h", "moves"] | line),
([range(12) | "---"] | line), (group_by(.mode) | .[] | row | line)'
jq -rs "$table" "$work/runs.json"
