#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The scenarios that README.md and `fedsim help` show are good, and hold. usage: documented.sh README FEDSIM
set -euo pipefail
readme=$1 fedsim=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
awk '/^```yaml$/ { text = ""; inside = 1; next }
     /^```$/ { if (inside && text ~ /^name: /) print text; inside = 0 }
     inside { text = text $0 "\n" }' "$readme" >"$work/readme.yaml"
"$fedsim" help | awk '/^  name: / { inside = 1 } inside { print substr($0, 3) }' >"$work/help.yaml"
for file in "$work"/*.yaml; do
    [ -s "$file" ] || { echo "documented: no scenario found for $file"; exit 1; }
done
"$fedsim" run "$work"/*.yaml
