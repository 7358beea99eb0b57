#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every C file is as clang-format 14 writes it. usage: format.sh SOURCE_FOLDER
set -euo pipefail
cd "${1:-.}"
git ls-files -co --exclude-standard -- '*.c' '*.h' | while read -r f; do [ -f "$f" ] && echo "$f"; done |
    xargs clang-format-14 --dry-run --Werror
echo "format: clean"
