#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks every C file with clang-format, clang-tidy (14) and cppcheck (2.10), and ends with 1
# when one of them finds something. Installs nothing: on Debian they come with
#     apt-get install clang-format clang-tidy cppcheck
# and what npusim is built with comes with scripts/setup.sh.
set -eu
cd "$(dirname "$0")/.."
for tool in clang-format clang-tidy cppcheck; do
    if ! command -v "$tool" >/dev/null; then
        echo "lint.sh: $tool is missing; apt-get install clang-format clang-tidy cppcheck" >&2
        exit 2
    fi
done
build="build-lint"
jobs=$(nproc)
found=0
sources() {
    find . -path "./build*" -prune -o -name "$1" -print | sort
}

echo "== clang-format"
sources '*.[ch]' | xargs clang-format --dry-run -Werror || found=1

cmake -S . -B $build -G Ninja >/dev/null
echo "== clang-tidy"
# One file a call: with several, the analyzer takes every va_list for uninitialized.
sources '*.c' | xargs -n1 -P"$jobs" clang-tidy -p $build --quiet >$build/tidy.txt 2>&1 || found=1
sed '/ warnings\{0,1\} generated\.$/d' $build/tidy.txt

echo "== cppcheck"
cppcheck --project=$build/compile_commands.json --enable=warning,performance,portability \
    --inline-suppr --suppressions-list=.cppcheck --error-exitcode=1 -q -j"$jobs" || found=1

exit $found
