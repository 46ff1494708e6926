#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what npusim is built with, from Debian's packages. Does nothing when all is there.
set -eu
packages="gcc libc6-dev cmake ninja-build pkg-config libyaml-dev libjansson-dev libyajl-dev
libsimgrid-dev libnlopt-dev libcmocka-dev gnuplot-nox"
missing=""
for p in $packages; do
    dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing="$missing $p"
done
if [ -n "$missing" ]; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -q
    # shellcheck disable=SC2086
    apt-get install -y -q --no-install-recommends $missing
fi
