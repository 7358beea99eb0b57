#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The configuration reference in README.md is what the programs print; UPDATE_GOLDEN=1 writes it anew.
# usage: readme.sh SOURCE_FOLDER BUILD_FOLDER
set -euo pipefail
readme=$1/README.md build=$2
new=$(mktemp)
trap 'rm -f "$new"' EXIT
cp "$readme" "$new"
for program in fedd subclusterd; do
    [ -x "$build/bin/$program" ] || { echo "readme: $program is not built"; exit 1; }
    "$build/bin/$program" --print-config-reference >"$new.table"
    awk -v table="$new.table" -v name="$program" '
        $0 == "<!-- " name ".yaml, printed by " name " -->" {
            print; print ""
            while ((getline line < table) > 0) print line
            print ""; skipping = 1; found = 1; next
        }
        $0 == "<!-- end -->" { skipping = 0 }
        !skipping { print }
        END { exit !found }' "$new" >"$new.next" || { echo "readme: no place for the table of $program"; exit 1; }
    mv "$new.next" "$new"
    rm -f "$new.table"
done
if [ "${UPDATE_GOLDEN:-}" = 1 ]; then
    cp "$new" "$readme"
elif ! diff -u "$readme" "$new"; then
    echo "readme: the configuration reference is out of date: UPDATE_GOLDEN=1 $0 $*"
    exit 1
fi
echo "readme: the configuration reference is what the programs print"
