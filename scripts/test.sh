#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds and tests: once plainly, once with AddressSanitizer and
# UndefinedBehaviorSanitizer. Ends with CTest's summary of the second run.
set -eu
cd "$(dirname "$0")/.."
sh scripts/setup.sh
jobs=$(nproc)
for preset in release asan; do
    echo "== $preset"
    cmake --preset "$preset" >/dev/null
    cmake --build --preset "$preset" -j "$jobs"
    ctest --preset "$preset" -j "$jobs"
done
