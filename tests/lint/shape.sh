#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints the shape of the tree: sizes of functions and files and the share of comments by layer, beside those of
# well-kept C trees, and which layer includes which. Fails when functions or files outgrow the house's bounds:
# half of all functions within 16 lines, 97 % within 100; a file of the product within 900 lines.
# usage: shape.sh SOURCE_FOLDER
set -euo pipefail
cd "${1:-.}"
export LC_ALL=C

product() {
    git ls-files -co --exclude-standard -- 'common/*.[ch]' 'federation/*.[ch]' 'subcluster/*.[ch]' 'tools/*.[ch]'
}
tests() {
    git ls-files -co --exclude-standard -- 'tests/*.[ch]'
}

# One line a function (F layer lines file:line name), one a file (L layer kind lines code comment file).
# A function is what clang-format leaves between a lone { and a lone } at the left edge, after a line that ends
# in ): its lines are those from its name to its closing brace.
measure='
function layer_of(file,    part, n) {
    n = split(file, part, "/")
    if (part[1] == "tests" || part[1] == "tools" && n < 3) return part[1]
    return part[1] "/" part[2]
}
FNR == 1 { if (file != "") finish(); file = FILENAME; lines = code = comment = 0; inside = 0; start = 0 }
{
    lines++
    text = $0; has_code = has_comment = 0
    while (text != "") {
        if (inside) {
            has_comment = 1; end = index(text, "*/")
            if (!end) break
            inside = 0; text = substr(text, end + 2); continue
        }
        begin = match(text, /\/\*|\/\//)
        before = begin ? substr(text, 1, begin - 1) : text
        if (before ~ /[^ \t]/) has_code = 1
        if (!begin) break
        if (substr(text, begin, 2) == "//") { has_comment = 1; break }
        inside = 1; text = substr(text, begin + 2)
    }
    code += has_code; comment += has_comment
    if ($0 ~ /^[a-zA-Z_]/ && $0 !~ /[;{]$/) { start = FNR; head = $0 }
    if ($0 == "{" && start) body = start
    if ($0 == "}" && body) {
        name = head; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name)
        print "F", layer_of(file), FNR - body + 1, file ":" body, name
        body = start = 0
    }
    if ($0 ~ /;$/ && !body) start = 0
}
function finish() {
    print "L", layer_of(file), file ~ /\.h$/ ? "h" : "c", lines, code, comment, file
}
END { if (file != "") finish() }'

facts=$({ product; tests; } | sort | while read -r f; do [ -f "$f" ] && echo "$f"; done | xargs awk "$measure")

# layer -> its sorted numbers of one kind; prints median, 90 %, 97 %, 99 %, max
spread() { # regular expression of layers, kind (F or L)
    awk -v layer="$1" -v kind="$2" '$1 == kind && $2 ~ layer { print kind == "F" ? $3 : $4 }' <<<"$facts" | sort -n |
        awk '{ x[NR] = $1 } END { if (!NR) { print "- - - - -"; exit }
            print x[int((NR + 1) / 2)], x[int(NR * .9 + .999)], x[int(NR * .97 + .999)],
                x[int(NR * .99 + .999)], x[NR] }'
}
ratio() { # regular expression of layers, c or h
    awk -v layer="$1" -v kind="$2" '$1 == "L" && $2 ~ layer && $3 == kind { code += $5; comment += $6 }
        END { if (code) printf "%.2f", comment / code; else printf "-" }' <<<"$facts"
}

printf '%-22s %7s %25s %30s %17s\n' '' '' 'lines a file' 'lines a function' 'comment / code'
printf '%-22s %7s %8s %7s %8s %8s %7s %6s %6s %8s %8s\n' layer files median '90 %' max median '90 %' '99 %' max .c .h
row() { # name, regular expression
    read -r fm f9 _ _ fx <<<"$(spread "$2" L)"
    read -r m p9 _ p99 x <<<"$(spread "$2" F)"
    printf '%-22s %7s %8s %7s %8s %8s %7s %6s %6s %8s %8s\n' "$1" \
        "$(awk -v l="$2" '$1 == "L" && $2 ~ l' <<<"$facts" | wc -l)" "$fm" "$f9" "$fx" "$m" "$p9" "$p99" "$x" \
        "$(ratio "$2" c)" "$(ratio "$2" h)"
}
for layer in $(awk '{ print $2 }' <<<"$facts" | sort -u); do row "$layer" "^$layer\$"; done
row 'the product' '^(common|federation|subcluster|tools)'
row 'product and tests' '.'
cat <<'REFERENCE'
for comparison, the whole of
flux-core                          270     904               15      45    108             0.16     1.28
raft, dqlite                       244     962               16      56    120             0.17     0.86
crun                               244   1,153               21      78    221             0.09     0.44
valkey                             491   3,222               12      52    211             0.38     0.51
FRR lib                            421   1,779               14      48    139             0.14     0.73
git, reftable                      281   1,322               11      51    136             0.13     0.91
REFERENCE

printf '\nthe longest functions of the product\n'
awk '$1 == "F" && $2 != "tests" { print $3, $4, $5 }' <<<"$facts" | sort -rn | sed -n 1,8p | sed 's/^/  /'
printf 'the longest files of the product\n'
awk '$1 == "L" && $2 != "tests" { print $4, $7 }' <<<"$facts" | sort -rn | sed -n 1,8p | sed 's/^/  /'

printf '\nwho includes whom (number of includes)\n'
product | while read -r file; do
    [ -f "$file" ] || continue
    from=$(cut -d/ -f1,2 <<<"$file")
    sed -n 's/^#[[:space:]]*include "\([^"]*\)".*/\1/p' "$file" | sed 's/^[^/]*\.pb-c\.h$/proto\/generated/' | cut -d/ -f1,2 |
        awk -v from="$from" '$0 != from { print from, $0 }'
done | sort | uniq -c | awk '{ to[$2] = to[$2] "  " $3 " " $1 } END { for (f in to) printf "  %-22s ->%s\n", f, to[f] }' | sort

read -r median _ p97 _ _ <<<"$(spread '^(common|federation|subcluster|tools)' F)"
longest=$(awk '$1 == "L" && $2 != "tests" && $4 > max { max = $4 } END { print max }' <<<"$facts")
bad=
[ "$median" -le 16 ] || bad+=$'\nhalf of all functions should be within 16 lines, the median is '$median
[ "$p97" -le 100 ] || bad+=$'\n97 % of all functions should be within 100 lines, theirs is '$p97
[ "$longest" -le 900 ] || bad+=$'\na file of the product should be within 900 lines, the longest has '$longest
[ -z "$bad" ] || { echo "$bad"; exit 1; }
