#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The page of fedsim run --html: its numbers, words and colours (page.py), and how a browser shows it, where
# there is one (chromium is no package of the tests: it is larger than all the others together).
# usage: page.sh FEDSIM SCENARIO...
set -euo pipefail
fedsim=$1
shift
folder=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d "/tmp/tidefed-test-page-XXXXXX")
trap 'rm -rf "$work"' EXIT

browse() {
    timeout 60 chromium --headless=new --no-sandbox --hide-scrollbars --disable-gpu --disable-dev-shm-usage --user-data-dir="$work/profile" \
        --enable-logging=stderr --virtual-time-budget=2000 "$@" 2>"$work/browser.log"
}

# Whether it fits a screen of that width: a frame of that width tells how wide its page would be.
fits() {
    local width=$1
    cat >"$work/frame.html" <<END
<body><iframe src="page.html" width="$width" height="900" onload="let d = this.contentDocument;
document.title = 'wide ' + d.documentElement.scrollWidth + ' texts ' + [...d.querySelectorAll('svg text')].filter(t => {
let b = t.getBoundingClientRect(); return b.width && (b.left < 0 || b.right > $width || parseFloat(getComputedStyle(t).fontSize) < 11) }).length
+ ' plots ' + [...d.querySelectorAll('svg.data')].filter(p => p.getBoundingClientRect().width > $width / 3).length"></iframe>
END
    browse --allow-file-access-from-files --window-size=1400,1000 --dump-dom "file://$work/frame.html" >"$work/dom.html"
    if ! grep -qE "<title>wide $width texts 0 plots [1-9]" "$work/dom.html"; then
        echo "on a screen of $width px: $(grep -o '<title>[^<]*' "$work/dom.html")"
        return 1
    fi
    if grep -E 'CONSOLE|Uncaught' "$work/browser.log"; then
        echo "the browser complains"
        return 1
    fi
}

# Names that are no HTML, and a run in which hardly anything is.
cat >"$work/strange.yaml" <<'END'
name: 'nobody <script>alert("x")</script> & nothing'
clusters: [{name: a, nodes: [{count: 1, model: H800, gpus: 8}]}]
until: 700ms
END

# A long run of a large fleet: the page stays small, and small figures beside large ones are those of the JSON.
cat >"$work/sixty-days.yaml" <<'END'
name: sixty days
clusters:
  - {name: a, nodes: [{count: 600, prefix: n, model: H800, gpus: 8}]}
  - {name: b, nodes: [{count: 400, prefix: n, model: H800, gpus: 8}]}
  - {name: c, nodes: [{count: 200, prefix: n, model: H800, gpus: 8}]}
classes: {online: 900, train: 500, offline: 100}
tides:
  - {job: {tenant: feed, name: rank, spec: {priority: online, workload: inference, placement: {clusters: [a]}, elastic: {step: 1}, instance: {gpus: 8}}}, low: 20, high: 60, period: 24h, peakAt: 14h, every: 6h}
jobs:
  - {at: 0s, tenant: data, name: refresh, spec: {priority: offline, elastic: {min: 1, max: 600, step: 1}, instance: {gpus: 8}}}
  - {at: {from: 0s, every: 8h, count: 180}, tenant: rec, name: "exp-{k}", run: 5h, spec: {priority: train, instances: 20, instance: {gpus: 8}}}
until: 60d
END

for scenario in "$@" "$work/strange.yaml" "$work/sixty-days.yaml"; do
    "$fedsim" run --check off --report json --html "$work/page.html" "$scenario" >"$work/report.json" 2>"$work/log" ||
        grep -q '^FAIL' "$work/log" || { cat "$work/log"; exit 1; }
    python3 "$folder/page.py" "$work/report.json" "$work/page.html"
    if command -v chromium >/dev/null; then
        fits 1280
        fits 390
    else
        echo "not looked at in a browser: there is no chromium here"
    fi
done
