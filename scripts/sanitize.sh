#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds tests with sanitizers into a folder of their own (build-thread, build-address-undefined), and runs them.
#
#   scripts/sanitize.sh thread [REGEX]              data races; without REGEX, the tests of what threads share
#   scripts/sanitize.sh address,undefined [REGEX]   memory and undefined behaviour; without REGEX, every test
#
# REGEX chooses by name, as ctest -R does. Sanitizers stop a test at the first finding; there are no suppressions.
set -euo pipefail
cd "$(dirname "$0")/.."
if [[ $# -lt 1 || $# -gt 2 || ! $1 =~ ^(thread|address|undefined|address,undefined)$ ]]; then
  sed -n '4,9s/^# \?//p' "$0"
  exit 2
fi
names=(thread_pool conformance validation resources
  request request_state request_states request_shape request_trace request_chains completion_handlers
  sessions session_requests trace traces hal_faults custom_operator custom_answers pressure same_teams)
threads="^($(IFS='|' && echo "${names[*]}"))_test\$"
regex=${2:-$([[ $1 == thread ]] && echo "$threads" || echo .)}
folder=build-${1//,/-}
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
cmake -S . -B "$folder" -G Ninja -DWEIR_WARNINGS_AS_ERRORS=ON -DWEIR_SANITIZE="$1" >"$folder.log" || {
  cat "$folder.log"
  exit 1
}
rm -f "$folder.log"
if [[ $regex == . ]]; then
  ninja -C "$folder" --quiet
else
  # The tests that are programs have the names of their targets.
  ninja -C "$folder" -t targets all | sed -n 's/: phony$//p' | sort >"$folder/targets"
  mapfile -t chosen < <(ctest --test-dir "$folder" -N -R "$regex" | sed -n 's/^ *Test *#[0-9]*: //p' | sort |
    comm -12 - "$folder/targets")
  if ((${#chosen[@]} == 0)); then
    echo "No test program's name matches '$regex'."
    exit 1
  fi
  ninja -C "$folder" --quiet "${chosen[@]}"
fi
export TSAN_OPTIONS="halt_on_error=1 second_deadlock_stack=1 ${TSAN_OPTIONS:-}"
export UBSAN_OPTIONS="print_stacktrace=1 ${UBSAN_OPTIONS:-}"
ctest --test-dir "$folder" --output-on-failure --timeout 1800 -j "$(nproc)" -R "$regex"
