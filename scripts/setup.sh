#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs what Weir needs on Debian 12 and fetches its pinned models and photos; quick when all is there already.
#
#   scripts/setup.sh          what building and the demonstration need
#   scripts/setup.sh --test   and what the tests need
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/packages.sh

packages=("${build_packages[@]}")
if [[ ${1:-} == --test ]]; then
  packages+=("${test_packages[@]}")
fi
install_packages "${packages[@]}"

# A Python of the project's own: for fetching, and for the tests' independent oracles.
if [[ ! -x .venv/bin/python ]]; then
  python3 -m venv .venv
fi
if [[ ${1:-} == --test ]]; then
  if ! cmp -s scripts/requirements-test.txt .venv/installed-test.txt; then
    .venv/bin/pip install --quiet --disable-pip-version-check -r scripts/requirements-test.txt
    cp scripts/requirements-test.txt .venv/installed-test.txt
  fi
fi

.venv/bin/python scripts/fetch_assets.py
