#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Everything that must hold: installs, builds with warnings as errors, checks format and layers, runs every test.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh --test
scripts/check_format.sh
.venv/bin/python scripts/check_layers.py
scripts/build.sh -DWEIR_BUILD_TESTS=ON -DWEIR_PYTHON="$PWD/.venv/bin/python"
ls -l build/weir
ctest --test-dir build --output-on-failure --parallel 2 --timeout 900
