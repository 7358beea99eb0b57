#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Who may include whom: fails when a file includes a header of a layer it may not see, or a third-party header
# outside the folder that owns it. usage: layers.sh SOURCE_FOLDER
set -euo pipefail
cd "${1:-.}"

# folder, then the folders whose headers it may include; the first line whose folder is a prefix counts.
layers='
common/base            common/base
common/model           common/base common/model
common/fit             common/base common/model common/fit
common/wire            common/base common/model common/wire proto
common/eventlog        common/base common/model common/log common/eventlog
common/conf            common/base common/conf
common/log             common/base common/log
common/loop            common/base common/log common/loop
common/net             common/base common/net
common/monitor         common/base common/conf common/log common/net common/loop common/monitor
common/daemon          common/base common/conf common/log common/loop common/monitor common/daemon
common/rpc             common/base common/log common/net common/loop common/rpc
common/store           common/base common/log common/net common/loop common/store
common/keep            common/base common/model common/wire common/log common/loop common/store common/keep
common/live            common/base common/model common/wire common/conf common/live
common/trace           common/base common/model common/conf common/trace
federation/core        common/base common/model common/fit federation/core
subcluster/core/consolidate  common/base common/model subcluster/core/consolidate
subcluster/core/victims      common/base common/model common/fit subcluster/core/victims
subcluster/core        common/base common/model common/fit subcluster/core
subcluster/engine      common subcluster/core subcluster/engine
federation/daemon      common federation
subcluster/daemon      common subcluster
tools/fedctl           common tools/fedctl
tools/fedsim/audit     common/base common/model tools/fedsim/audit
tools/fedsim           common federation/core subcluster/core tools/fedsim
tools/fedbench         common federation/core subcluster/core tools/fedbench tests/support
tests                  common proto federation subcluster tools tests
'
# third-party header prefix, then the only folders that may include it.
owners='
grpc/            common/rpc
curl/            common/loop common/store
yaml.h           common/conf
cjson/           common/store common/wire tests
uthash.h         common/base
xxhash.h         common/eventlog
protobuf-c       common/wire
zlib.h           common/trace tests
CUnit            tests
microhttpd.h     common/monitor
openssl/         common/net
'

files() {
    git ls-files -co --exclude-standard -- '*.c' '*.h' | while read -r file; do [ ! -f "$file" ] || echo "$file"; done
}
# The tables are cut once; then one pass over all lines.
check='
BEGIN {
    layer_count = split(ENVIRON["layers"], line, "\n")
    for (i = 1; i <= layer_count; i++) if (match(line[i], /^[^ ]+ +/)) {
        layer[i] = line[i]; sub(/ .*/, "", layer[i]); allowed[i] = substr(line[i], RLENGTH + 1)
    }
    owner_count = split(ENVIRON["owners"], line, "\n")
    for (i = 1; i <= owner_count; i++) if (match(line[i], /^[^ ]+ +/)) {
        owned[i] = line[i]; sub(/ .*/, "", owned[i]); owners[i] = substr(line[i], RLENGTH + 1)
    }
}
function below(path, folders,    n, i, folder) {
    n = split(folders, folder, " ")
    for (i = 1; i <= n; i++) if (index(path, folder[i] "/") == 1) return 1
    return 0
}
FNR == 1 {
    for (mine = 1; mine <= layer_count; mine++) if (mine in layer && index(FILENAME, layer[mine] "/") == 1) break
    if (!(mine in layer)) print FILENAME ": in no known layer (see tests/lint/layers.sh)"
}
(mine in layer) && match($0, /^#[ \t]*include "[^"]+"/) {
    header = $0; sub(/^[^"]*"/, "", header); sub(/".*/, "", header)
    seen = header ~ /\.pb-c\.h$/ ? "proto/" header : header
    if (!below(seen, allowed[mine])) print FILENAME ": may not include \"" header "\" (allowed: " allowed[mine] ")"
}
match($0, /^#[ \t]*include <[^>]+>/) {
    header = $0; sub(/^[^<]*</, "", header); sub(/>.*/, "", header)
    for (i in owned) if (index(header, owned[i]) == 1 && !below(FILENAME, owners[i])) print FILENAME ": may not include <" header ">"
}'
failures=$(files | layers=$layers owners=$owners xargs awk "$check")
if [ -n "$failures" ]; then
    echo "$failures"
    exit 1
fi
grpc_files=$(git ls-files -co --exclude-standard -- '*.c' '*.h' | xargs grep -l '^#include <grpc' 2>/dev/null || true)
if [ "$(wc -w <<<"$grpc_files")" -gt 1 ]; then
    echo "only one file may include <grpc/...>, found:" $grpc_files
    exit 1
fi
echo "layers: every include is allowed"
