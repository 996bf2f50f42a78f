#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What must hold of the shared libraries:
#   size LIBRARY STRIP                   stripped, under 4,000,000 bytes
#   dependencies LIBRARY                 neither protobuf nor ONNX
#   exports HEADERS LIBRARY...           exactly the functions that the folder of headers declares
#   runs COMPILE RUN FOLDER              a program file runs without the compiler
#   installs CMAKE BUILD SOURCE FOLDER   an installed copy is found, linked and run
set -eu
what=$1
shift

fail() {
  echo "check_libraries: $*" >&2
  exit 1
}

case $what in
size)
  stripped=$(mktemp)
  trap 'rm -f "$stripped"' EXIT
  "$2" -o "$stripped" "$1"
  bytes=$(wc -c <"$stripped")
  echo "$(basename "$1") has $bytes bytes stripped, and the most are 3999999."
  [ "$bytes" -lt 4000000 ] || fail "$1 is too large"
  ;;
dependencies)
  needed=$(readelf -d "$1" | grep NEEDED)
  echo "$needed"
  if echo "$needed" | grep -Ei 'protobuf|onnx'; then fail "$1 needs what imports"; fi
  if nm -D "$1" | grep -E 'protobuf|onnx'; then fail "$1 refers to what imports"; fi
  if nm -DC "$1" | grep -E ' T .*weir::'; then fail "$1 shows its inside"; fi
  ;;
exports)
  header=$(cat "$1"/*.h | sed -e 's|//.*||' -e '/^#/d' | tr '\n' ' ' | grep -oE 'WEIR_API[^;]*' | grep -oE '\bweir_[a-z0-9_]+ *\(' |
    tr -d ' (' | sort -u)
  [ -n "$header" ] || fail "$1 declares nothing"
  shift
  for library in "$@"; do
    exported=$(nm -D --defined-only "$library" | awk '{print $3}' | sort -u)
    if echo "$exported" | grep -v '^weir_'; then fail "$library exports other names than weir_*"; fi
    for name in $header; do
      echo "$exported" | grep -qx "$name" || fail "$library lacks $name"
    done
    for name in $exported; do
      echo "$header" | grep -qx "$name" || fail "$library exports $name, which no header declares"
    done
    echo "$(basename "$library") exports the $(echo "$exported" | wc -l) functions of the headers."
  done
  ;;
runs)
  mkdir -p "$3"
  "$1" "$3/small.onnx" "$3/small.weir"
  "$2" "$3/small.weir" "$3/small.onnx"
  ;;
installs)
  rm -rf "$4"
  "$1" --install "$2" --prefix "$4/prefix" >/dev/null
  "$1" -S "$3" -B "$4/build" -DCMAKE_PREFIX_PATH="$4/prefix" >/dev/null
  "$1" --build "$4/build" >/dev/null
  "$4/build/consumer"
  "$4/build/runtime_consumer"
  ;;
*)
  fail "'$what' is no check"
  ;;
esac
