#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Fails when a C or C++ file is not formatted as .clang-format says. With --fix, formats instead.
set -euo pipefail
cd "$(dirname "$0")/.."
mode=(--dry-run --Werror)
if [[ ${1:-} == --fix ]]; then
  mode=(-i)
fi
git ls-files -z '*.h' '*.hpp' '*.cc' '*.cpp' '*.c' | xargs -0 -r clang-format-19 "${mode[@]}"
