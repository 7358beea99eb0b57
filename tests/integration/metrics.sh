#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# /metrics, /healthz and /readyz of real daemons: promtool finds nothing to say against them, a real Prometheus scrapes
# them, and the figures are those of what was done. usage: metrics.sh BUILD_FOLDER
set -euo pipefail
bin=$1/bin test_name=metrics
. "$(dirname "$0")/../support/daemons.sh"
need etcd prometheus promtool jq curl

launch_etcd store
fedd_at=$(new_address) fedd_http=$(new_address) sub_http=$(new_address)
cat >"$home/conf/fedd.yaml" <<END
listen: $fedd_at
dataDir: $home/data/fedd
metrics: {listen: "$fedd_http"}
store: {endpoints: ["http://$(cat "$home/conf/store.etcd")"]}
settings: {leaseTtl: 2s}
END
cat >"$home/conf/a.yaml" <<END
name: a
federation: ["$fedd_at"]
metrics: {listen: "$sub_http"}
store: {endpoints: ["http://$(cat "$home/conf/store.etcd")"]}
settings: {leaseTtl: 2s}
$(subcluster_nodes a)
END
launch fedd "$bin/fedd" --config "$home/conf/fedd.yaml"
fedd=$launched
wait_for "fedd to lead" curl -fsS "http://$fedd_http/readyz"
launch subclusterd "$bin/subclusterd" --config "$home/conf/a.yaml"
attached() { curl -fsS "http://$sub_http/readyz" | grep -q 'attached to the federation'; }
wait_for "the subcluster to attach" attached
[ "$(curl -s "http://$fedd_http/readyz")" = leading ] || fail "fedd's /readyz does not say that it leads"
curl -fsS "http://$sub_http/healthz" | grep -q 'subclusterd .* is alive' || fail "/healthz of subclusterd"

# Work: one that runs, one that ends, one that waits.
job() { # NAME GPUS COMMAND
    cat <<END
---
apiVersion: tidefed/v1
kind: Job
metadata: {tenant: t, name: $1}
spec:
  priority: batch
  instances: 1
  instance: {gpus: $2, cpu: 1, memory: 1Gi, command: [$3]}
END
}
{ job runs 4 "sleep, '600'"; job ends 1 "'true'"; job waits 8 "sleep, '600'" | sed 's/instances: 1/instances: 3/'; } >"$home/jobs.yaml"
export TIDEFED_ENDPOINTS=$fedd_at
"$bin/fedctl" apply -f "$home/jobs.yaml"
"$bin/fedctl" wait job t/runs --for=running --timeout 60s
"$bin/fedctl" wait job t/ends --for=succeeded --timeout 60s
"$bin/fedctl" migrate instance t/runs/0 --wait
"$bin/fedctl" audit | grep -q 'nothing that can be seen is wrong$' || { echo "audit finds breaches"; exit 1; }

cat >"$home/conf/prometheus.yml" <<END
global: {scrape_interval: 1s, scrape_timeout: 1s}
scrape_configs:
  - {job_name: tidefed, static_configs: [{targets: ["$fedd_http", "$sub_http"]}]}
END
prometheus_at=$(new_address)
launch prometheus prometheus --config.file="$home/conf/prometheus.yml" --storage.tsdb.path="$home/data/prometheus" \
    --web.listen-address="$prometheus_at" --log.level=warn
is() { # QUERY VALUE
    curl -fsS --get "http://$prometheus_at/api/v1/query" --data-urlencode "query=$1" |
        jq -e --arg value "$2" '.status == "success" and (.data.result | length) == 1 and .data.result[0].value[1] == $value'
}
while read -r value query; do
    wait_for "$query to be $value" is "$query" "$value"
done <<'END'
2 sum(up)
1 tidefed_leading
1 tidefed_placing
1 tidefed_active
1 tidefed_attached
1 tidefed_jobs{phase="Running",class="batch"}
1 tidefed_jobs{phase="Succeeded",class="batch"}
1 tidefed_jobs{phase="Pending",class="batch"}
24 tidefed_waiting_gpus{class="batch"}
1 tidefed_oldest_pending_job_seconds > bool 0
2 tidefed_job_wait_seconds_count{class="batch"}
1 tidefed_epochs_ended_total{end="finished"}
1 tidefed_subcluster_attached{subcluster="a"}
4 tidefed_subcluster_gpus{subcluster="a",state="held"}
12 sum(tidefed_idle_gpus{subcluster="a"})
2 tidefed_nodes{state="ready"}
4 tidefed_gpus{model="H800",state="held"}
12 tidefed_gpus{model="H800",state="free"}
1 tidefed_instances{state="Ready"}
3 tidefed_engine_calls_total{call="start"}
1 tidefed_instance_ends_total{cause="ended"}
0 tidefed_moves{cause="operator",state="running"}
1 tidefed_moves_total{cause="operator",outcome="done"}
0 tidefed_moves_total{cause="drain",outcome="rolled_back"}
2 count(tidefed_transaction_seconds_count > 0)
2 count(tidefed_store_quota_bytes > tidefed_store_used_bytes)
2 count(process_resident_memory_bytes > 1e6)
2 count(tidefed_build_info)
END

for at in "$fedd_http" "$sub_http"; do
    curl -fsS "http://$at/metrics" >"$home/page"
    promtool check metrics <"$home/page" || fail "promtool finds fault with http://$at/metrics"
    # Every figure of the reference is there, or is one that needs a cause (a refusal).
    program=fedd && [ "$at" = "$fedd_http" ] || program=subclusterd
    "$bin/$program" --print-metrics-reference | sed -n 's/^| `\([a-z_]*\)`.*/\1/p' | while read -r name; do
        grep -q "^# TYPE $name " "$home/page" || [[ $name =~ ^tidefed_(refusals_total|certificate_) ]] || fail "$program does not show $name"
    done
done

# Without its store fedd is alive, but neither leads nor is ready, and says why.
kill -STOP "${pids[0]}"
unready() { [ "$(curl -s -o "$home/page" -w '%{http_code}' "http://$fedd_http/readyz")" = 503 ]; }
wait_for "fedd to be unready" unready
grep -q 'etcd' "$home/page" || fail "/readyz does not name the store: $(cat "$home/page")"
curl -fsS "http://$fedd_http/healthz" >/dev/null
wait_for "tidefed_store_trouble" is 'min(tidefed_store_trouble)' 1
kill -CONT "${pids[0]}"
wait_for "fedd to lead again" curl -fsS "http://$fedd_http/readyz"

kill -TERM "$fedd"
wait "$fedd" || fail "fedd ended with $? on SIGTERM"
echo "metrics: as they should be"
