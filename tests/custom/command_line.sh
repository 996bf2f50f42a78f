#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# command_line.sh WEIR EXAMPLES LIBRARIES MODELS WORK: every command with --operators, and compiled programs in programs
# that link the library without a compiler.
set -eu
weir=$1 examples=$2 libraries=$3 models=$4 work=$5
rm -rf "$work"
mkdir -p "$work"
export WEIR_CACHE="$work/cache"
clip="--operators $libraries/libclip_operator.so"
blur="--operators $libraries/libblur_operator.so"

fail() {
  echo "command_line: $*" >&2
  exit 1
}
# says TEXT COMMAND...: the command succeeds and prints the text.
says() {
  text=$1
  shift
  "$@" >"$work/said" 2>&1 || fail "'$*' fails: $(cat "$work/said")"
  grep -qF -- "$text" "$work/said" || fail "'$*' does not say '$text': $(cat "$work/said")"
}
# refuses TEXT COMMAND...: the command fails and prints the text.
refuses() {
  text=$1
  shift
  if "$@" >"$work/said" 2>&1; then fail "'$*' succeeds"; fi
  grep -qF -- "$text" "$work/said" || fail "'$*' does not say '$text': $(cat "$work/said")"
}

says 'com.example.TopPercentClip' "$weir" inspect "$models/clip.onnx" $clip
says '"com.example.BoxBlur": 1' "$weir" inspect "$models/blur.onnx" $blur --json
says 'y float32[3, 200]' "$weir" run "$models/clip.onnx" $clip --shape x=3x200 --random 1
says 'custom:com.example.TopPercentClip' "$weir" plan "$models/clip.onnx" $clip --shape x=3x200 --json
says 'custom:com.example.BoxBlur' "$weir" bench "$models/blur.onnx" $blur --shape x=1x3x20x20 --runs 3 --profile --json
says 'y float32[1, 3, 16, 16]' "$weir" run "$models/blur.onnx" $blur $clip --shape x=1x3x20x20 --random 1 \
  --toggle validation --threads 2
refuses '1 × com.example.TopPercentClip' "$weir" run "$models/clip.onnx" --shape x=3x200 --random 1
refuses 'with --operators on the command line' "$weir" run "$models/clip.onnx" $blur --shape x=3x200 --random 1

says 'steps' "$weir" compile "$models/clip.onnx" -o "$work/clip.weir" $clip
says 'steps' "$weir" compile "$models/blur.onnx" -o "$work/blur.weir" $blur
says 'custom:com.example.TopPercentClip' "$weir" inspect "$work/clip.weir"
refuses 'The program needs custom operator com.example.TopPercentClip (version 1)' "$weir" run "$work/clip.weir" --random 1
says 'row 2: threshold 378' "$examples/example_custom_operator_c_runtime" "$work/clip.weir"
says 'of them workspace' "$examples/example_custom_operator_cpp_runtime" "$work/blur.weir"
refuses 'com.example.BoxBlur' "$examples/example_custom_operator_c_runtime" "$work/blur.weir"
