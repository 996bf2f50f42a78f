#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds Weir into build/ with warnings as errors; arguments go to CMake. The command line is left at build/weir.
#
#   scripts/build.sh [--target TARGET] [-DOPTION=VALUE ...]
set -euo pipefail
cd "$(dirname "$0")/.."
targets=()
options=()
while (($#)); do
  if [[ $1 == --target ]]; then
    targets+=("$2")
    shift 2
  else
    options+=("$1")
    shift
  fi
done
# Lets clones in different folders share what they have compiled.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
cmake -S . -B build -G Ninja -DWEIR_WARNINGS_AS_ERRORS=ON "${options[@]}" >build-configure.log || {
  cat build-configure.log
  exit 1
}
rm -f build-configure.log
# On a terminal ninja shows how far it is, in one line.
quiet=(--quiet)
if [[ -t 1 ]]; then
  quiet=()
fi
echo "Building (minutes, the first time)"
ninja -C build "${quiet[@]}" "${targets[@]}"
