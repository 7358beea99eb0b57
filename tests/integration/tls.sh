#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Mutual TLS between real daemons and clients, and to etcd with users: who is let in, who is not, with which words, and
# that a certificate is renewed under load. usage: tls.sh BUILD_FOLDER
set -euo pipefail
bin=$1/bin test_name=tls
. "$(dirname "$0")/../support/daemons.sh"
need etcd etcdctl curl openssl
make_tls() { bash "$(dirname "$0")/../../deploy/tls.sh" "$@" 2>>"$home/log/tls.log" || fail "deploy/tls.sh $*"; }
pki=$home/tls

# ---- certificates: a CA for all, another one, and what is wrong ----
for certificate in ca fedd "subcluster a" "subcluster b" admin "admin ann" viewer; do
    # shellcheck disable=SC2086
    make_tls --dir "$pki" $certificate
done
make_tls --dir "$home/other" ca
make_tls --dir "$home/other" admin
make_tls --dir "$home/other" fedd
# No tool of Debian 12 signs a certificate of yesterday in one line but this.
mkdir "$home/ca"
touch "$home/ca/index"
cat >"$home/ca/conf" <<END
[ca]
default_ca = it
[it]
database = $home/ca/index
new_certs_dir = $home/ca
certificate = $pki/ca.pem
private_key = $pki/ca.key
rand_serial = yes
default_md = sha256
policy = any
unique_subject = no
copy_extensions = copy
[any]
commonName = supplied
END
expired() { # FILE COMMON-NAME USAGE [SUBJECT-ALTERNATIVE-NAMES]
    local names=()
    [ -z "${4:-}" ] || names=(-addext "subjectAltName=$4")
    openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$2" -keyout "$pki/$1.key" \
        -out "$home/ca/request" -addext "extendedKeyUsage=$3" "${names[@]}" 2>>"$home/log/tls.log"
    openssl ca -batch -config "$home/ca/conf" -in "$home/ca/request" -out "$pki/$1.pem" -notext \
        -startdate 20200101000000Z -enddate 20210101000000Z 2>>"$home/log/tls.log" || fail "openssl ca"
}
expired old-admin admin clientAuth
expired old-fedd fedd serverAuth DNS:localhost,IP:127.0.0.1

# ---- etcd: TLS, and a user who may only write below the two prefixes ----
client=$(new_address) peer=$(new_address)
make_tls --dir "$home/etcd" ca
make_tls --dir "$home/etcd" fedd "$own_host"
launch etcd etcd --name store --data-dir "$home/data/store" --unsafe-no-fsync --log-level warn \
    --cert-file "$home/etcd/fedd.pem" --key-file "$home/etcd/fedd.key" --listen-client-urls "https://$client" \
    --advertise-client-urls "https://$client" --listen-peer-urls "http://$peer" \
    --initial-advertise-peer-urls "http://$peer" --initial-cluster "store=http://$peer"
ctl() { ETCDCTL_API=3 etcdctl --endpoints "https://$client" --cacert "$home/etcd/ca.pem" "$@" >>"$home/log/etcdctl.log" 2>&1; }
wait_for etcd ctl endpoint health
printf 'very "secret"\\\n' >"$home/password"
ctl user add root:root && ctl user grant-role root root
ctl user add "tidefed:$(cat "$home/password")" && ctl role add tidefed && ctl user grant-role tidefed tidefed
ctl role grant-permission tidefed --prefix=true readwrite /tidefed/
ctl auth enable

# ---- configurations ----
free_port() { # on all addresses of the machine, since this fedd listens on all
    python3 -c 'import socket; s = socket.socket(); s.bind(("0.0.0.0", 0)); print(s.getsockname()[1])'
}
at=127.0.0.1:$(free_port)
store="{endpoints: [\"https://$client\"], user: tidefed, passwordFile: $home/password, tls: {ca: $home/etcd/ca.pem}}"
tls() { echo "tls: {ca: $pki/ca.pem, certificate: $pki/$1.pem, key: $pki/$1.key}"; }
cp "$pki/fedd.pem" "$pki/live.pem"
cp "$pki/fedd.key" "$pki/live.key"
http=$(new_address)
cat >"$home/conf/fedd.yaml" <<END
listen: 0.0.0.0:${at##*:}
advertise: $at
dataDir: $home/data/fedd
metrics: {listen: "$http"}
$(tls live)
store: $store
settings: {leaseTtl: 2s, clusterLostAfter: 2s}
END
subcluster() { # NAME CERTIFICATE STATE
    cat <<END
name: $1
federation: ["$at"]
$(tls "$2")
store: $store
settings: {leaseTtl: 2s}
$(subcluster_nodes "$3")
END
}
subcluster a subcluster-a a >"$home/conf/a.yaml"
subcluster b subcluster-a thief >"$home/conf/thief.yaml"

# What can be reached from elsewhere needs certificates.
sed '/^tls:/d' "$home/conf/fedd.yaml" >"$home/conf/bare.yaml"
! "$bin/fedd" --config "$home/conf/bare.yaml" --check-config >"$home/said" 2>&1 || fail "fedd would listen everywhere without TLS"
grep -q 'can be reached from other machines, so it needs `tls` (deploy/tls.sh makes the files)' "$home/said" || fail "$(cat "$home/said")"
sed 's/^federation:.*/federation: ["fedd.example:7700"]/; /^tls:/d' "$home/conf/a.yaml" >"$home/conf/bare.yaml"
! "$bin/subclusterd" --config "$home/conf/bare.yaml" --check-config >"$home/said" 2>&1 || fail "subclusterd would go there without TLS"
grep -q '"fedd.example:7700" is on another machine, so it needs `tls`' "$home/said" || fail "$(cat "$home/said")"
sed "s#key: $pki/live.key#key: $pki/admin.key#" "$home/conf/fedd.yaml" >"$home/conf/bare.yaml"
! "$bin/fedd" --config "$home/conf/bare.yaml" >"$home/said" 2>&1 || fail "fedd started with a wrong key"
grep -q "admin.key is not the key of the certificate in .*live.pem" "$home/said" || fail "$(cat "$home/said")"

launch fedd "$bin/fedd" --config "$home/conf/fedd.yaml"
fedd=$launched
wait_for "fedd to lead" curl -fsS "http://$http/readyz"
launch a "$bin/subclusterd" --config "$home/conf/a.yaml"

export TIDEFED_ENDPOINTS=$at TIDEFED_TLS_CA=$pki/ca.pem TIDEFED_TLS_CERT=$pki/admin.pem TIDEFED_TLS_KEY=$pki/admin.key
as() { # CERTIFICATE COMMAND...: of fedctl
    local certificate=$1
    shift
    "$bin/fedctl" "$@" --tls-cert "$certificate.pem" --tls-key "$certificate.key" --timeout 10s
}
attached() { as "$pki/viewer" get clusters | grep -Eq '^a +.*(Ready|attached)'; }
wait_for "a to attach" attached

cat >"$home/job.yaml" <<END
apiVersion: tidefed/v1
kind: Job
metadata: {tenant: t, name: j}
spec:
  priority: batch
  instances: 1
  instance: {gpus: 1, cpu: 1, memory: 1Gi, command: [sh, -c, 'echo here; sleep 600']}
END

# ---- who may do what ----
refused() { # EXIT WORDS COMMAND...
    local code=0 wanted=$1 words=$2 begin=$SECONDS
    shift 2
    "$@" >"$home/said" 2>&1 || code=$?
    [ $code -eq "$wanted" ] || fail "$* ended with $code, not $wanted: $(cat "$home/said")"
    grep -qF -- "$words" "$home/said" || fail "$* does not say \"$words\": $(cat "$home/said")"
    [ $((SECONDS - begin)) -lt 8 ] || fail "$* was refused only after $((SECONDS - begin)) s"
}
refused 1 'is not for viewers, and the certificate is of "viewer": use one of an admin' as "$pki/viewer" apply -f "$home/job.yaml"
as "$pki/admin-ann" apply -f "$home/job.yaml"
as "$pki/admin" wait job t/j --for=running --timeout 60s
as "$pki/viewer" describe job t/j | grep -q 'ann' || fail "the job is not put down to ann"
as "$pki/viewer" logs t/j --index 0 | grep -q here || fail "a viewer cannot read the output"
refused 1 'Delete is not for viewers' as "$pki/viewer" delete job t/j
refused 1 'is for clients, and the certificate is of "subcluster/a"' as "$pki/subcluster-a" get jobs -A
as "$pki/viewer" get jobs -A | grep -Eq '^t/j .*Running' || fail "the refused delete did something"

# ---- who is not believed, on either side ----
refused 5 'does not believe the certificate' as "$home/other/admin" get jobs -A
refused 2 'old-admin.pem: the certificate expired at 2021-01-01' as "$pki/old-admin" get jobs -A
# A client that does not look at its own certificate is not let in either: an HTTP/2 server speaks first, if at all.
greeting() { timeout 2 openssl s_client -quiet -alpn h2 -connect "$at" -CAfile "$pki/ca.pem" -cert "$pki/$1.pem" -key "$pki/$1.key" \
    </dev/null 2>/dev/null | wc -c; }
[ "$(greeting viewer)" -gt 0 ] || fail "fedd does not greet a viewer"
[ "$(greeting old-admin)" -eq 0 ] || fail "fedd greets a certificate that has expired"
refused 5 'wants to see a certificate, and none was given: say which with --tls-cert and --tls-key' \
    env -u TIDEFED_TLS_CERT -u TIDEFED_TLS_KEY "$bin/fedctl" get jobs -A
refused 5 'is not signed by a CA in' "$bin/fedctl" get jobs -A --tls-ca "$home/other/ca.pem"
refused 5 'is not one of a client' as "$pki/fedd" get jobs -A
refused 5 'speaks TLS, and was asked without' env -u TIDEFED_TLS_CA -u TIDEFED_TLS_CERT -u TIDEFED_TLS_KEY "$bin/fedctl" get jobs -A
stale=127.0.0.1:$(free_port)
launch stale openssl s_server -accept "$stale" -cert "$pki/old-fedd.pem" -key "$pki/old-fedd.key" -alpn h2 -quiet
stale_is_up() { openssl s_client -connect "$stale" </dev/null; }
wait_for "a server with an old certificate" stale_is_up
refused 5 "the certificate that $stale shows is not valid now (certificate has expired)" "$bin/fedctl" get jobs -A --endpoints "$stale"
sed "s#$pki/live\.#$pki/old-fedd.#g" "$home/conf/fedd.yaml" >"$home/conf/bare.yaml"
! "$bin/fedd" --config "$home/conf/bare.yaml" --listen 127.0.0.1:0 >"$home/said" 2>&1 || fail "fedd started with an expired certificate"
grep -q 'old-fedd.pem: the certificate expired at 2021-01-01' "$home/said" || fail "$(cat "$home/said")"
refused 5 'is not for the name "127.0.0.2"' "$bin/fedctl" get jobs -A --endpoints "127.0.0.2:${at##*:}"
refused 5 'does not speak TLS' "$bin/fedctl" get jobs -A --endpoints "$http"
mkdir -p "$home/xdg/tidefed"
cat >"$home/xdg/tidefed/fedctl.yaml" <<END
context: look
contexts:
  look: {endpoints: ["$at"], tls: {ca: $pki/ca.pem, certificate: ../../tls/viewer.pem, key: ../../tls/viewer.key}}
  act: {endpoints: ["$at"], tls: {ca: $pki/ca.pem, certificate: $pki/admin.pem, key: $pki/admin.key}, tenant: t}
END
context() { env -u TIDEFED_ENDPOINTS -u TIDEFED_TLS_CA -u TIDEFED_TLS_CERT -u TIDEFED_TLS_KEY XDG_CONFIG_HOME="$home/xdg" "$bin/fedctl" "$@"; }
context get jobs -A | grep -q '^t/j' || fail "the context of fedctl.yaml"
refused 1 'is not for viewers' context hold t/j
context wait job j --for=running --context act || fail "--context"
refused 2 'there is no context "akt" in fedctl.yaml; did you mean act?' context get jobs --context akt

# ---- a subcluster that speaks as another ----
launch thief "$bin/subclusterd" --config "$home/conf/thief.yaml"
thief=$launched
told() { grep -qF "$2" "$home/log/$1.log"; }
wait_for "the thief to be told" told thief 'the certificate is of \"subcluster/a\", which may not attach as b'
told fedd 'which may not attach as b: give that subclusterd a certificate of subcluster/b' || fail "the log of fedd does not tell"
! as "$pki/viewer" get clusters | grep -q '^b ' || fail "b was registered"
kill -TERM "$thief"
wait "$thief" || true
attached || fail "a is not attached any more"

# A subclusterd whose certificate nobody believes says so in its log, and its work goes on.
subcluster b ../other/admin stranger >"$home/conf/stranger.yaml"
launch stranger "$bin/subclusterd" --config "$home/conf/stranger.yaml"
stranger=$launched
wait_for "the stranger to be told" told stranger 'does not believe the certificate in'
kill -TERM "$stranger"
wait "$stranger" || fail "a subclusterd that is not let in does not end well"

# ---- a certificate that is renewed under load ----
serial() { openssl s_client -connect "$at" -CAfile "$pki/ca.pem" -cert "$pki/viewer.pem" -key "$pki/viewer.key" </dev/null 2>/dev/null |
    openssl x509 -noout -serial; }
[ "$(serial)" = "$(openssl x509 -in "$pki/live.pem" -noout -serial)" ] || fail "not the certificate that was given"
load() { # calls one after the other, each on a connection of its own, until the file is there
    while [ ! -e "$home/enough" ]; do
        as "$pki/viewer" get jobs -A >/dev/null 2>>"$home/log/load.log" || echo failed >>"$home/failures"
        echo >>"$home/calls"
    done
}
touch "$home/failures" "$home/calls"
load &
load_one=$!
load &
load_two=$!
pids+=("$load_one" "$load_two")
replace() { # NAME: as a tool would that knows of no order: with a moment in which both do not fit together
    cp "$pki/$1.key" "$pki/new.key"
    mv "$pki/new.key" "$pki/live.key"
    sleep 0.3
    cp "$pki/$1.pem" "$pki/new.pem"
    mv "$pki/new.pem" "$pki/live.pem"
}
renewed() { [ "$(serial)" = "$(openssl x509 -in "$pki/fedd.pem" -noout -serial)" ]; }
for _ in 1 2 3; do
    make_tls --dir "$pki" fedd
    replace fedd
    wait_for "the new certificate" renewed
done
# One that has expired is not taken over: what was in use stays in use, and the log says so.
replace old-fedd
refused_old() { "$bin/fedctl" version >/dev/null && told fedd 'the certificate expired at 2021-01-01'; }
wait_for "the expired one to be refused" refused_old
renewed || fail "the expired certificate is in use"
replace fedd
# The CA is replaced by way of both: certificates of the new one are believed then, too.
cat "$home/other/ca.pem" "$pki/ca.pem" >"$pki/both.pem"
mv "$pki/both.pem" "$pki/ca.pem"
both() { as "$home/other/admin" get jobs -A; }
wait_for "the second CA to be believed" both
touch "$home/enough"
wait "$load_one" "$load_two"
[ ! -s "$home/failures" ] || fail "$(wc -l <"$home/failures") of $(wc -l <"$home/calls") calls failed meanwhile: $(tail -n 3 "$home/log/load.log")"
[ "$(wc -l <"$home/calls")" -ge 20 ] || fail "only $(wc -l <"$home/calls") calls: that was no load"
attached || fail "a did not stay attached"

# ---- etcd: a token that is lost, a password that is wrong ----
ctl --user root:root user passwd tidefed --interactive=false <<<"another" || fail "passwd"
echo another >"$home/password"
ctl --user root:root auth disable
ctl --user root:root auth enable
for _ in 1 2 3; do
    sleep 0.5
    as "$pki/admin" hold t/j && as "$pki/admin" resume t/j || fail "a change after the users had changed"
done
sed 's/leaseTtl: 2s/leaseTtl: 1s/; s#/data/fedd#/data/fedd-2#; s/^listen:.*/listen: 127.0.0.1:0/; s/^metrics:.*//' "$home/conf/fedd.yaml" |
    sed "s#$home/password#$home/wrong#" >"$home/conf/second.yaml"
echo guess >"$home/wrong"
launch second "$bin/fedd" --config "$home/conf/second.yaml"
wait_for "the wrong password to be told" told second "the user \\\"tidefed\\\" cannot log in: https://$own_host"
sed "s#$home/etcd/ca.pem#$pki/ca.pem#; s#/data/fedd-2#/data/fedd-3#" "$home/conf/second.yaml" >"$home/conf/third.yaml"
launch third "$bin/fedd" --config "$home/conf/third.yaml"
wait_for "the wrong CA of etcd to be told" told third 'check the `tls` of the store'

told fedd 'change asked for verb=Hold of=t/j by=admin ' || fail "the log of fedd does not say who held the job"
kill -TERM "$fedd"
wait "$fedd" || fail "fedd ended with $?"
! grep -rqsF -e 'very "secret"' -e '"another"' "$home/log" || fail "a password is in a log"
echo "tls: as it should be, $(wc -l <"$home/calls") calls while certificates changed"
