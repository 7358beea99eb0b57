#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The references of configuration and metrics in README.md are what the programs print; UPDATE_GOLDEN=1 writes them anew.
# usage: readme.sh SOURCE_FOLDER BUILD_FOLDER
set -euo pipefail
readme=$1/README.md build=$2
new=$(mktemp)
trap 'rm -f "$new"' EXIT
cp "$readme" "$new"
insert() { # PROGRAM OPTION MARK: what it prints, between the mark and the end
    [ -x "$build/bin/$1" ] || { echo "readme: $1 is not built"; exit 1; }
    "$build/bin/$1" "$2" >"$new.table"
    awk -v table="$new.table" -v mark="$3" -v program="$1" '
        $0 == "<!-- " mark ", printed by " program " -->" {
            print; print ""
            while ((getline line < table) > 0) print line
            print ""; skipping = 1; found = 1; next
        }
        $0 == "<!-- end -->" { skipping = 0 }
        !skipping { print }
        END { exit !found }' "$new" >"$new.next" || { echo "readme: no place for $3"; exit 1; }
    mv "$new.next" "$new"
    rm -f "$new.table"
}
for program in fedd subclusterd; do
    insert $program --print-config-reference $program.yaml
    insert $program --print-metrics-reference "metrics of $program"
done
if [ "${UPDATE_GOLDEN:-}" = 1 ]; then
    cp "$new" "$readme"
elif ! diff -u "$readme" "$new"; then
    echo "readme: a reference is out of date: UPDATE_GOLDEN=1 $0 $*"
    exit 1
fi
echo "readme: the references are what the programs print"
