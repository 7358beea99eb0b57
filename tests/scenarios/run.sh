#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One scenario of this folder; skipped (77) when data that it reads is not on this machine.
# usage: run.sh FEDSIM FILE
set -euo pipefail
fedsim=$1 file=$2 folder=$(dirname "$2")
while read -r csv; do
    [ -e "$folder/$csv" ] || { echo "skipped: there is no $folder/$csv"; exit 77; }
done < <(grep -o 'csv: *[^,}]*' "$file" | sed 's/csv: *//')
exec "$fedsim" run --xfail "$(dirname "$0")/xfail.yaml" "$file"
