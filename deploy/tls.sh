#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A small CA for the links of one federation, and the certificates that it needs. Made for a start and for small sites;
# a CA that you have already does as well: what counts is the common name and the extended key usage (see below).
#
# usage: deploy/tls.sh [--dir DIR] [--days N] COMMAND
#   ca                      the CA itself: ca.pem, ca.key (keep this one off the machines of the daemons)
#   fedd NAME...            fedd.pem, fedd.key: names and IP addresses under which others reach any fedd;
#                           localhost, 127.0.0.1 and ::1 are in it, too
#   subcluster NAME         subcluster-NAME.pem, .key: may attach as NAME, and as nobody else
#   admin [WHO]             admin.pem or admin-WHO.pem, .key: may do everything
#   viewer [WHO]            viewer.pem or viewer-WHO.pem, .key: may look
#
# DIR is ./tls, N is 365 (ten years for the CA). A certificate that is there is replaced: daemons take the new one with the
# next connection, without a restart. Common names: fedd, subcluster/NAME, admin, admin/WHO, viewer, viewer/WHO; usage:
# serverAuth for fedd, clientAuth for the others.
set -euo pipefail
umask 077
dir=tls days=365
say() { echo "tls.sh: $*" >&2; }
usage() { sed -n '/^# usage/,/^# serverAuth/s/^# \{0,1\}//p' "$0"; }
command -v openssl >/dev/null || { say "openssl is not installed: apt-get install openssl"; exit 1; }

while [ $# -gt 0 ]; do
    case $1 in
    --dir) dir=${2:?--dir needs a folder}; shift 2 ;;
    --days) days=${2:?--days needs a number}; shift 2 ;;
    -h | --help) usage; exit 0 ;;
    -*) say "unknown option $1 (see --help)"; exit 2 ;;
    *) break ;;
    esac
done
[ $# -gt 0 ] || { usage >&2; exit 2; }
[[ $days =~ ^[1-9][0-9]*$ ]] || { say "--days: \"$days\" is not a number of days"; exit 2; }
mkdir -p "$dir"
work=$(mktemp -d "$dir/.work-XXXXXX")
trap 'rm -rf "$work"' EXIT

check_name() { # WHAT NAME: as the daemons check names
    [[ $2 =~ ^[a-z0-9]([a-z0-9.-]{0,50}[a-z0-9])?$ ]] ||
        { say "$1 \"$2\": lower-case letters, digits, '-' and '.', at most 52, beginning and ending with a letter or digit"; exit 2; }
}
quietly() { "$@" >"$work/said" 2>&1 || { cat "$work/said" >&2; exit 1; }; }

make_ca() {
    [ ! -e "$dir/ca.key" ] || { say "$dir/ca.key is there already: every certificate depends on it; remove it by hand for a new CA"; exit 1; }
    quietly openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -sha256 -days 3650 \
        -subj "/CN=tidefed CA" -addext "basicConstraints=critical,CA:TRUE" -addext "keyUsage=critical,keyCertSign,cRLSign" \
        -keyout "$work/ca.key" -out "$work/ca.pem"
    chmod 644 "$work/ca.pem"
    mv "$work/ca.key" "$work/ca.pem" "$dir/"
    say "made $dir/ca.pem and $dir/ca.key"
}

make_certificate() { # FILE COMMON-NAME USAGE [SUBJECT-ALTERNATIVE-NAMES]
    local file=$1 name=$2
    [ -e "$dir/ca.key" ] || { say "there is no $dir/ca.key: begin with \`$0 --dir $dir ca\`"; exit 1; }
    {
        echo "basicConstraints=critical,CA:FALSE"
        echo "keyUsage=critical,digitalSignature"
        echo "extendedKeyUsage=$3"
        [ -z "${4:-}" ] || echo "subjectAltName=$4"
    } >"$work/extensions"
    quietly openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -sha256 \
        -subj "/CN=${name//\//\\/}" -keyout "$work/key" -out "$work/request"
    quietly openssl x509 -req -in "$work/request" -CA "$dir/ca.pem" -CAkey "$dir/ca.key" -sha256 -days "$days" \
        -set_serial "0x$(openssl rand -hex 16)" -extfile "$work/extensions" -out "$work/certificate"
    chmod 644 "$work/certificate"
    # Whoever reads between the two finds that they do not belong together, and reads again.
    mv "$work/key" "$dir/$file.key"
    mv "$work/certificate" "$dir/$file.pem"
    say "made $dir/$file.pem and $dir/$file.key for \"$name\", for $days days"
}

alternative_names() {
    local name list=DNS:localhost,IP:127.0.0.1,IP:::1
    for name in "$@"; do
        if [[ $name =~ ^[0-9.]+$ || $name == *:* ]]; then list+=",IP:$name"; else list+=",DNS:$name"; fi
    done
    echo "$list"
}

client() { # ROLE [WHO]
    [ $# -le 2 ] || { say "$1: one WHO at most"; exit 2; }
    [ $# -eq 1 ] || check_name "$1" "$2"
    make_certificate "$1${2:+-$2}" "$1${2:+/$2}" clientAuth
}

command=$1
shift
case $command in
ca) make_ca ;;
fedd) make_certificate fedd fedd serverAuth "$(alternative_names "$@")" ;;
subcluster)
    [ $# -eq 1 ] || { say "subcluster: which NAME?"; exit 2; }
    check_name subcluster "$1"
    make_certificate "subcluster-$1" "subcluster/$1" clientAuth
    ;;
admin | viewer) client "$command" "$@" ;;
*) say "unknown command $command (see --help)"; exit 2 ;;
esac
