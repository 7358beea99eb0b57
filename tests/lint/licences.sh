#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every source file names its licence in its first lines. usage: licences.sh SOURCE_FOLDER
set -euo pipefail
cd "${1:-.}"
missing=$(git ls-files -co --exclude-standard -- '*.c' '*.h' '*.sh' '*.proto' '*.py' '*CMakeLists.txt' |
    while read -r file; do [ ! -f "$file" ] || echo "$file"; done |
    xargs awk '
        FNR == 1 && NR > 1 && !found { print file }
        FNR == 1 { file = FILENAME; found = 0 }
        FNR <= 3 && /SPDX-License-Identifier: Apache-2\.0/ { found = 1 }
        END { if (file != "" && !found) print file }')
if [ -n "$missing" ]; then
    echo "no SPDX line:"
    echo "$missing"
    exit 1
fi
echo "licences: every source file has its SPDX line"
