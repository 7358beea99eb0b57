#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The trace of ten clusters: its first three days, or with TF_FULL all of it, as it came and 2 and 10 times as fast:
# what a run costs, and how that grows with what waits. Skipped (77) without the trace. usage: trace.sh FEDSIM
set -euo pipefail
fedsim=$1 folder=$(cd "$(dirname "$0")" && pwd)
[ -e "$folder/../../../../shared/traces/jobs_itp2021.csv.gz" ] || { echo "skipped: the trace is not here"; exit 77; }
if [ -z "${TF_FULL:-}" ]; then
    exec "$fedsim" run --check end --until 3d "$folder/itp-ten-clusters.yaml"
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf '%8s %9s %12s %9s %11s %11s\n' arrivals seconds events "MiB" "p95 wait/s" "max wait/s"
for scale in 1 2 10; do
    sed -e "s/arrivalScale: 1/arrivalScale: $scale/" -e "s|csv: [./]*|csv: $folder/../../../../|" \
        "$folder/itp-ten-clusters.yaml" >"$work/trace.yaml"
    "$fedsim" run --check end --report json "$work/trace.yaml" \
        >"$work/report.json" 2>"$work/said" || { cat "$work/said"; exit 1; }
    jq -r --arg scale "${scale}x" \
        '[$scale, .wallSeconds, .events, (.peakMemoryKib / 1024 | floor), .waitSeconds.p95, .waitSeconds.max] | @tsv' \
        "$work/report.json" | awk '{ printf "%8s %9.2f %12d %9d %11.0f %11.0f\n", $1, $2, $3, $4, $5, $6 }'
done
