#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian 12 packages that tidefed is built from and runs with; with --tests also those of the tests.
# Does nothing when all are there. usage: deploy/packages.sh [--tests]
set -euo pipefail

packages=(gcc libc6-dev cmake ninja-build pkg-config git
    libgrpc-dev libprotobuf-c-dev protobuf-c-compiler libcurl4-openssl-dev libyaml-dev libcjson-dev
    libmicrohttpd-dev libssl-dev openssl uthash-dev libxxhash-dev libmimalloc-dev zlib1g-dev libcunit1-dev
    etcd-server etcd-client curl)
if [ "${1:-}" = --tests ]; then
    packages+=(clang-format-14 clang-14 libclang-rt-14-dev jq python3 procps prometheus zsh)
fi

missing=()
for package in "${packages[@]}"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

sudo=()
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || {
        echo "packages.sh: these packages are missing and this is neither root nor has sudo: ${missing[*]}" >&2
        exit 1
    }
    sudo=(sudo)
fi
echo "installing ${#missing[@]} packages: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${sudo[@]}" apt-get update -qq
"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
