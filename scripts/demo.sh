#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds, and predicts the DeepSeek V4-Flash SWA attention layer on an A3 die.
set -eu
cd "$(dirname "$0")/.."
sh scripts/setup.sh
cmake --preset release >/dev/null
cmake --build --preset release --target npusim
exec build/bin/npusim run configs/models/deepseek_v4_flash/swa.yaml --die A3 --out out/swa
