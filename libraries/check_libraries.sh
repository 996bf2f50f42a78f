#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What must hold of the shared libraries:
#   size LIBRARY STRIP                   stripped, under 4,000,000 bytes
#   dependencies LIBRARY                 neither protobuf nor ONNX
#   exports HEADERS LIBRARY...           exactly the functions that the folder of headers declares
#   names ARCHIVE...                     every strong symbol is weir_* or lies in namespace weir
#   runs COMPILE RUN FOLDER              a program file runs without the compiler
#   installs CMAKE BUILD SOURCE FOLDER   an installed copy that was moved is found, linked and run
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
names)
  # Weak ones (templates, inline functions) are the same in every program that has them.
  for archive in "$@"; do
    strong=$(nm -gC --defined-only "$archive" 2>/dev/null | grep -E '^[0-9a-f]+ [TDBRSG] ' | cut -d' ' -f3-)
    [ "$(echo "$strong" | grep -c '^weir_')" -gt 50 ] || fail "$archive lacks the C interface"
    if echo "$strong" | grep -vE '^weir_|^((vtable|typeinfo|typeinfo name|guard variable) for |(non-)?virtual thunk to )?weir::'; then
      fail "$archive defines names that a program may have too"
    fi
    echo "$(basename "$archive") defines $(echo "$strong" | wc -l) names, all of them Weir's."
  done
  ;;
runs)
  mkdir -p "$3"
  "$1" "$3/small.onnx" "$3/small.weir" "$3/portable.weir"
  "$2" "$3/small.weir" "$3/small.onnx"
  "$2" "$3/portable.weir" "$3/small.onnx" # packs without the compiler
  ;;
installs)
  rm -rf "$4"
  "$1" --install "$2" --prefix "$4/first" >/dev/null
  mkdir "$4/moved"
  mv "$4/first" "$4/moved/prefix"
  prefix=$(cd "$4/moved/prefix" && pwd)
  "$1" -S "$3" -B "$4/build" -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
  "$1" --build "$4/build" >/dev/null
  for program in consumer runtime_consumer static_consumer runtime_static_consumer; do
    "$4/build/$program"
  done
  for program in static_consumer runtime_static_consumer; do
    if readelf -d "$4/build/$program" | grep -E 'NEEDED.*libweir'; then fail "$program needs a shared library"; fi
  done
  if "$1" -S "$3" -B "$4/none" -DCMAKE_PREFIX_PATH="$prefix" -DCONSUMER_COMPONENTS=vulkan >"$4/none.log" 2>&1; then
    fail "a component that is not there is found"
  fi
  "$1" -S "$prefix/share/doc/weir/examples" -B "$4/examples" -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
  "$1" --build "$4/examples" >/dev/null
  "$4/examples/heap_loop" >/dev/null

  PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name weir.pc)")
  export PKG_CONFIG_PATH
  libraries=$(pkg-config --variable=libdir weir)
  for library in weir weir_runtime; do
    # shellcheck disable=SC2046  # flags are words
    "${CXX:-c++}" -std=c++17 "$3/consumer.cc" $(pkg-config --cflags --libs $library) "-Wl,-rpath,$libraries" -o "$4/$library"
    "$4/$library"
    [ "$(pkg-config --modversion $library)" = "$("$prefix/bin/weir" --version | cut -d' ' -f2)" ] || fail "versions differ"
  done
  "$prefix/bin/weir" devices
  [ -f "$prefix/share/doc/weir/LICENSE" ] || fail "the licence is not installed"

  # The runtime library alone is a component.
  "$1" --install "$2" --prefix "$4/runtime" --component Runtime >/dev/null
  alone=$(cd "$4/runtime" && find . ! -type d | sed 's|.*/||' | sort | tr '\n' ' ')
  echo "component Runtime: $alone"
  case $alone in
  "libweir_runtime.so.0 libweir_runtime.so.0."*) ;;
  *) fail "component Runtime holds other files than the library" ;;
  esac
  ;;
*)
  fail "'$what' is no check"
  ;;
esac
