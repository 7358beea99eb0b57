#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SIGHUP of real daemons: what may change under way is in force, what may not is named, a wrong file changes nothing;
# and what both tell a service manager. usage: reload.sh BUILD_FOLDER
set -euo pipefail
bin=$1/bin test_name=reload
. "$(dirname "$0")/../support/daemons.sh"
need etcd curl

launch_etcd store
fedd_at=$(new_address) fedd_http=$(new_address) sub_http=$(new_address)
fedd_config() { # SETTINGS LEVEL
    cat >"$home/conf/fedd.yaml" <<END
listen: $fedd_at
dataDir: $home/data/fedd
metrics: {listen: "$fedd_http"}
store: {endpoints: ["http://$(cat "$home/conf/store.etcd")"]}
settings: {$1}
log: {level: $2, file: "$home/log/fedd.log"}
END
}
sub_config() { # SETTINGS LEVEL REGION
    cat >"$home/conf/a.yaml" <<END
name: a
region: $3
federation: ["$fedd_at"]
metrics: {listen: "$sub_http"}
store: {endpoints: ["http://$(cat "$home/conf/store.etcd")"]}
settings: {$1}
log: {level: $2, file: "$home/log/a.log"}
eventLog: {folder: "$home/data/events"}
$(subcluster_nodes a)
END
}
fedd_config 'leaseTtl: 2s' info
sub_config 'leaseTtl: 2s' info north

# A service manager that writes down what it is told.
launch manager python3 -u -c '
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
while True: print(*s.recv(1000).decode().split("\n"))' "$home/notify"
wait_for "the manager" test -S "$home/notify"
managed() { # NAME COMMAND...
    local name=$1
    shift
    launch "$name" env NOTIFY_SOCKET="$home/notify" WATCHDOG_USEC=200000 "$@"
}
told() { # COUNT LINE: at least so often
    [ "$(grep -c "^$2" "$home/log/manager.log")" -ge "$1" ]
}
managed fedd-stderr "$bin/fedd" --config "$home/conf/fedd.yaml" --listen "$fedd_at"
fedd=$launched
wait_for "READY=1" told 1 READY=1
wait_for "fedd to lead" curl -fsS "http://$fedd_http/readyz"
managed a-stderr "$bin/subclusterd" --config "$home/conf/a.yaml"
sub=$launched
wait_for "READY=1 of subclusterd" told 2 READY=1
wait_for "the watchdog to be told" told 6 WATCHDOG=1
attached() { curl -fsS "http://$sub_http/readyz" | grep -q 'attached to the federation'; }
wait_for "the subcluster to attach" attached
export TIDEFED_ENDPOINTS=$fedd_at

logged() { # FILE WORDS: since the last reload
    tail -n +"$((seen + 1))" "$home/log/$1.log" | grep -qF -- "$2"
}
reload() { # FILE PID WORDS: sends SIGHUP, waits until the words are logged
    seen=$(wc -l <"$home/log/$1.log")
    kill -HUP "$2"
    wait_for "\"$3\" in the log of $1" logged "$1" "$3"
}
shows() { curl -fsS "http://$1/metrics" | grep -qx "$2"; } # AT SAMPLE
cat >"$home/job.yaml" <<END
apiVersion: tidefed/v1
kind: Job
metadata: {tenant: t, name: j}
spec:
  priority: urgent
  instances: 1
  instance: {gpus: 1, cpu: 1, memory: 1Gi, command: [sleep, '600']}
END
! "$bin/fedctl" apply -f "$home/job.yaml" >"$home/said" 2>&1 || fail "a class that is not there yet was accepted"
grep -q 'urgent' "$home/said" || fail "the refusal does not name the class: $(cat "$home/said")"

# Nothing changed.
reload fedd "$fedd" 'nothing changed'
reload a "$sub" 'nothing changed'
told 2 RELOADING=1 || fail "the manager was not told of reloads"

# A wrong file: told where, and all stays as it was.
fedd_config 'leaseTtl: 2s, classes: {urgent: high}' info
reload fedd "$fedd" 'not taken over, all stays as it was'
logged fedd "fedd.yaml:5:44: settings.classes.urgent" || fail "the log does not say where: $(tail -n 2 "$home/log/fedd.log")"
wait_for "tidefed_config_reload_failed" shows "$fedd_http" 'tidefed_config_reload_failed 1'
mv "$home/conf/fedd.yaml" "$home/conf/away"
reload fedd "$fedd" "No such file"
! "$bin/fedctl" apply -f "$home/job.yaml" >"$home/said" 2>&1 || fail "a wrong file changed the classes"

# What runs, and what the file would change of it before it is taken over.
config_get() { # KEY VALUE ORIGIN CHANGES-BY
    "$bin/fedctl" config get "$1" --no-headers >"$home/said" || fail "config get $1"
    grep -Eqx -- "$1 +$2 +$3 +$4" "$home/said" || fail "config get $1: $(cat "$home/said")"
}
differ() { # EXIT-CODE LINE...: what config diff says
    local wanted=$1 code=0 line
    shift
    "$bin/fedctl" config diff -f "$home/conf/fedd.yaml" --no-headers >"$home/said" 2>&1 || code=$?
    [ $code -eq "$wanted" ] || fail "config diff ends with $code: $(cat "$home/said")"
    for line in "$@"; do grep -Eq "^$line\$" "$home/said" || fail "config diff: no $line in $(cat "$home/said")"; done
}
config_get settings.leaseTtl 2s file restart
config_get settings.claimAfter 30m default reload
config_get store.tls.ca - default restart
config_get dataDir "$home/data/fedd" file restart
config_get listen "$fedd_at" option restart
"$bin/fedctl" config get settings.claimAftr >"$home/said" 2>&1 && fail "a key that is not there" || code=$?
[ $code -eq 3 ] && grep -q 'did you mean settings.claimAfter?' "$home/said" || fail "no nearest key: $code $(cat "$home/said")"
fedd_config 'leaseTtl: 2s' info
differ 0
fedd_config 'leaseTtl: 2s, classes: {urgent: high}' info
differ 2 '.*fedd.yaml:5:44: settings.classes.urgent: .*'
fedd_config 'leaseTtl: 2s' info && sed -i 's#http://#http://me:secret@#' "$home/conf/fedd.yaml"
differ 1 'store.endpoints +\["http://[0-9.:]+"\] +\["http://\*\*\*@[0-9.:]+"\] +restart'
! grep -q secret "$home/said" || fail "a secret is shown: $(cat "$home/said")"
cp "$home/conf/a.yaml" "$home/conf/fedd.yaml"
differ 2 '.* is a file of subclusterd: say of which, with --cluster NAME'

# Some may change, one may not.
fedd_config 'leaseTtl: 3s, classes: {urgent: 999, batch: 300}, claimAfter: 1m' warn
differ 1 'log.level +info +warn +reload' 'settings.leaseTtl +2s +3s +restart' 'settings.classes.offline +100 +- +reload' \
    'settings.classes.urgent +- +999 +reload' 'settings.claimAfter +30m +1m +reload'
reload fedd "$fedd" 'needs a restart, and is not in force'
logged fedd 'key=settings.leaseTtl' || fail "the log does not name leaseTtl"
! logged fedd 'key=listen' || fail "--listen counts as a change of the file"
wait_for "tidefed_config_restart_keys" shows "$fedd_http" 'tidefed_config_restart_keys 1'
wait_for "tidefed_config_reload_failed to go" shows "$fedd_http" 'tidefed_config_reload_failed 0'
differ 1 'settings.leaseTtl +2s +3s +restart'
config_get settings.classes.urgent 999 reload reload
config_get settings.claimAfter 1m reload reload
"$bin/fedctl" apply -f "$home/job.yaml" || fail "the new class is not in force"
"$bin/fedctl" wait job t/j --for=running --timeout 60s
seen=$(wc -l <"$home/log/fedd.log")
fedd_config 'leaseTtl: 2s, classes: {urgent: 999, batch: 300}, claimAfter: 2m' info
kill -HUP "$fedd"
wait_for "tidefed_config_restart_keys to go" shows "$fedd_http" 'tidefed_config_restart_keys 0'
fedd_config 'leaseTtl: 2s, classes: {urgent: 999, batch: 300}, claimAfter: 3m' info
reload fedd "$fedd" 'key=settings.claimAfter'

# The subcluster's own, asked through the leader.
of_a() { # WANTED-EXIT-CODE WORDS ARGUMENT...
    local wanted=$1 words=$2 code=0
    shift 2
    "$bin/fedctl" config "$@" --cluster a --no-headers >"$home/said" 2>&1 || code=$?
    [ $code -eq "$wanted" ] && grep -Eq -- "$words" "$home/said" || fail "config $* of a: $code $(cat "$home/said")"
}
of_a 0 '^settings.profileInterval +500ms +default +reload' get settings.profileInterval
of_a 0 '^stateDir +.*/state/a +file +restart' get stateDir
of_a 0 '^nodes\[0\].model +H800 +file +restart' get nodes
of_a 3 'subclusterd.yaml has no key "dataDir"' get dataDir
of_a 3 'did you mean process.outputLimit[?]' get process.outputLimits
of_a 3 'did you mean settings[?]' get setings # a group is a key, too
of_a 0 'no differences' diff -f "$home/conf/a.yaml"
sed 's/^region: north/region: south/; s/^settings: {/&profileInterval: 50ms, /' "$home/conf/a.yaml" >"$home/conf/other.yaml"
of_a 1 '^region +north +south +restart' diff -f "$home/conf/other.yaml"
grep -Eq '^settings.profileInterval +500ms +50ms +reload' "$home/said" || fail "profileInterval: $(cat "$home/said")"
echo 'names: a' >"$home/conf/other.yaml"
of_a 2 'other.yaml:1:1: unknown key "names"; did you mean "name"' diff -f "$home/conf/other.yaml"
code=0
"$bin/fedctl" config get --cluster none >"$home/said" 2>&1 || code=$?
[ $code -eq 3 ] && grep -q 'there is no subcluster none' "$home/said" || fail "no such cluster: $code $(cat "$home/said")"

# The subcluster: a log that was moved away is opened anew, the running instance does not notice.
mv "$home/log/a.log" "$home/log/a.log.1"
sub_config 'leaseTtl: 2s, profileInterval: 50ms, decisionBudget: 10' info south
kill -HUP "$sub"
new_log() { grep -qF 'key=region' "$home/log/a.log"; }
wait_for "the new log" new_log
wait_for "the recording to go on" shows "$sub_http" 'tidefed_eventlog_stopped 0'
grep -qF 'the configuration changed key=settings.profileInterval' "$home/log/a.log" || fail "profileInterval"
grep -F 'needs a restart' "$home/log/a.log" | grep -qF 'key=region' || fail "region is not refused"
"$bin/fedctl" get jobs -A | grep -Eq '^t/j .*Running' || fail "the job does not run any more"

# The end.
kill -TERM "$sub" "$fedd"
wait "$sub" || fail "subclusterd ended with $?"
wait "$fedd" || fail "fedd ended with $?"
"$bin/fedsim" replay "$home/data/events" >"$home/said" || fail "what was recorded does not replay: $(cat "$home/said")"
told 2 STOPPING=1 || fail "the manager was not told of the end"
echo "reload: as it should be"
