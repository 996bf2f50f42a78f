#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# clang-tidy over the whole tree, with the checks of .clang-tidy. Quick when it was clean before: only files that changed, or
# include what changed, are looked at. Arguments go to scripts/lint.py: --jobs N, --only REGEX, files.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/packages.sh
install_packages "${build_packages[@]}" "${test_packages[@]}" "${lint_packages[@]}"
cmake -S . -B build-lint -G Ninja -DWEIR_BUILD_TESTS=ON -DWEIR_BUILD_BENCHMARKS=ON >/dev/null
ninja -C build-lint --quiet src/program/generated/program_generated.h  # sources include it
python3 scripts/lint.py build-lint "$@"
