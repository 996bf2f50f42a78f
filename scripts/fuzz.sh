#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Fuzzes the readers of files with libFuzzer under address and undefined sanitizers, each for some seconds, within
# 512 MiB and 10 seconds an input. Starts from the seeds and the corpus in tests/fuzz/corpus; what it finds stays in
# build-fuzz/corpus, an input that fails in build-fuzz/failures, with a log beside it.
#
#   scripts/fuzz.sh                    # every target, 60 seconds each
#   scripts/fuzz.sh onnx 1800          # one target: onnx, program, dim, image or npy
#   scripts/fuzz.sh all 1800 --jobs 4  # that many processes a target
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/packages.sh
targets=(onnx program dim image npy)
target=${1:-all}
seconds=${2:-60}
jobs=1
if [[ ${3:-} == --jobs ]]; then
  jobs=$4
fi
if [[ $target != all ]]; then
  targets=("$target")
fi
install_packages "${build_packages[@]}" "${fuzz_packages[@]}"

export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
CC=clang-19 CXX=clang++-19 cmake -S . -B build-fuzz -G Ninja -DWEIR_FUZZ=ON -DWEIR_SANITIZE=address,undefined \
  >build-configure.log || {
  cat build-configure.log
  exit 1
}
rm -f build-configure.log
ninja -C build-fuzz fuzz_seeds "${targets[@]/%/_fuzzer}"
build-fuzz/tests/fuzz_seeds build-fuzz/seeds

failed=0
for name in "${targets[@]}"; do
  work=build-fuzz/corpus/$name
  failures=build-fuzz/failures/$name
  mkdir -p "$work" "$failures"
  echo "$name: $seconds seconds"
  # Every error that a sanitizer finds ends the run; leaks are looked for as well. Freed memory that is kept to find
  # uses of it counts to the limit, so that it is less than usual.
  if ! ASAN_OPTIONS=quarantine_size_mb=64 UBSAN_OPTIONS=print_stacktrace=1 build-fuzz/tests/"${name}"_fuzzer -max_total_time="$seconds" -timeout=10 \
    -rss_limit_mb=512 -max_len=16384 -fork="$jobs" -artifact_prefix="$failures/" \
    "$work" build-fuzz/seeds/"$name" tests/fuzz/corpus/"$name" >"$failures/log" 2>&1; then
    echo "$name: an input failed; it lies in $failures, with the log"
    tail -n 40 "$failures/log"
    failed=1
  fi
done
exit $failed
