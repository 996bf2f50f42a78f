#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# From a bare Debian 12 to the text on two photos: installs, builds, fetches, and reads. Annotated pictures and the
# memory plan are written to output/.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh
scripts/build.sh --target weir
models=.cache/models
photos=.cache/photos
build/weir ocr "$models/PP-OCRv6_det_small.onnx" "$models/PP-OCRv6_rec_small.onnx" \
  "$photos/page.png" "$photos/motorcycle_left.png" --output output
build/weir plan "$models/PP-OCRv6_det_small.onnx" --shape x=1x3x736x1472 --html output/plan.html
echo "Written: output/page.png, output/motorcycle_left.png, output/plan.html"
