#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The pure libraries call no clock, file, socket, thread, random source or environment: what they leave undefined must
# come from each other or from the short list below. usage: core_symbols.sh SOURCE_FOLDER BUILD_FOLDER
set -euo pipefail
build=$2
libraries=()
for library in common/base/libtf_base.a common/model/libtf_model.a common/fit/libtf_fit.a \
    federation/core/libtf_federation_core.a subcluster/core/libtf_subcluster_core.a \
    subcluster/core/consolidate/libtf_consolidate.a subcluster/core/victims/libtf_victims.a; do
    [ -f "$build/$library" ] && libraries+=("$build/$library")
done
allowed='abort|free|malloc|calloc|realloc|reallocarray|mem(cpy|move|set|cmp|chr)|str(len|nlen|cmp|ncmp|chr|rchr|str|spn|cspn|casecmp|pbrk)|__xpg_strerror_r|strerror_r|strto(l|ll|ul|ull)|__isoc[0-9]+_strto[a-z]+|(v|vs|s|as|vas)n?printf|__(v|vs|s|as|vas)n?printf_chk|__(memcpy|memmove|memset|strcpy|stpcpy)_chk|fprintf|__fprintf_chk|fwrite|stderr|__errno_location|qsort|bsearch|gmtime_r|timegm|__assert_fail|__stack_chk_fail|__ctype_b_loc|__ctype_tolower_loc|tolower|_GLOBAL_OFFSET_TABLE_|__(asan|ubsan|tsan|sanitizer|lsan)_[a-z0-9_]+|__(udivti3|umodti3|divti3|modti3|popcountdi2)'
defined=$(nm --defined-only "${libraries[@]}" 2>/dev/null | awk 'NF == 3 { print $3 }' | sort -u)
undefined=$(nm --undefined-only "${libraries[@]}" 2>/dev/null | awk '$1 == "U" { print $2 }' | sort -u)
bad=$(comm -23 <(echo "$undefined") <(echo "$defined") | grep -vE "^($allowed)(@.*)?$" || true)
if [ -n "$bad" ]; then
    echo "the pure libraries call what they must not:"
    echo "$bad"
    exit 1
fi
echo "core symbols: ${#libraries[@]} pure libraries call nothing but memory and strings"
# Simulations and tests link both cores into one program.
names() { nm --defined-only --extern-only "$build/$1" 2>/dev/null | awk 'NF == 3 { print $3 }' | sort -u; }
federation=federation/core/libtf_federation_core.a subcluster=subcluster/core/libtf_subcluster_core.a
if [ -f "$build/$federation" ] && [ -f "$build/$subcluster" ]; then
    twice=$(comm -12 <(names $federation) <(names $subcluster))
    if [ -n "$twice" ]; then
        echo "both cores define these, so that no program can hold both:"
        echo "$twice"
        exit 1
    fi
fi
