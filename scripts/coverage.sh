#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Which lines of src/ and tools/ the tests run: builds with counters into build-coverage/, runs the tests, and prints a line a
# file, the least covered first. build-coverage/report/index.html shows every line. Arguments go to ctest, as in -R placement.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/packages.sh
scripts/setup.sh --test
install_packages "${coverage_packages[@]}"
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
cmake -S . -B build-coverage -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG="-Og -g1" -DWEIR_COVERAGE=ON \
  -DWEIR_BUILD_TESTS=ON -DWEIR_PYTHON="$PWD/.venv/bin/python" >/dev/null
ninja -C build-coverage --quiet
find build-coverage -name '*.gcda' -delete
# A test that fails says so, and counts all the same. Optimisation is off, so whole networks take longer.
ctest --test-dir build-coverage --output-on-failure --parallel "$(nproc)" --timeout 3600 "$@" | tail -25 || true
mkdir -p build-coverage/report
# Tests themselves are not counted, nor lines that only say what cannot be.
gcovr --root . --object-directory build-coverage --filter src/ --filter tools/ \
  --exclude '.*_(test|benchmark)\.cc' --exclude '.*/testing/.*' --exclude-unreachable-branches \
  --gcov-ignore-parse-errors -j "$(nproc)" --sort-percentage \
  --print-summary --txt build-coverage/report/files.txt --html-details build-coverage/report/index.html
head -60 build-coverage/report/files.txt
