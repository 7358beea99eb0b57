#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every source file names its licence in its first lines. usage: licences.sh SOURCE_FOLDER
set -euo pipefail
cd "${1:-.}"
missing=$(git ls-files -co --exclude-standard -- '*.c' '*.h' '*.sh' '*.proto' '*.py' '*CMakeLists.txt' |
    while read -r f; do [ -f "$f" ] && { head -3 "$f" | grep -q 'SPDX-License-Identifier: Apache-2.0' || echo "$f"; }; done || true)
if [ -n "$missing" ]; then
    echo "no SPDX line:"
    echo "$missing"
    exit 1
fi
echo "licences: every source file has its SPDX line"
