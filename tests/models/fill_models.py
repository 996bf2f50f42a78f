#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gives the architectures that the tests use random weights, and links to trained models that lie beside them.

    fill_models.py --models DIR --graphs DIR --output DIR

What is there already, in DIR of models or of the output, stays. Without graphs, or onnx for Python, nothing is made, and
the tests that need a filled model are skipped.
"""
import argparse
import importlib.util
import pathlib
import subprocess
import sys

FILLED = ["resnet18", "resnet50", "mobilenet_v2", "efficientnet_b0", "yolov8n", "minilm_l6_fp32",
          "vit_small_patch16_224"]
TRAINED = ["efficientnet_lite0"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="")
    parser.add_argument("--graphs", default="")
    parser.add_argument("--output", required=True)
    arguments = parser.parse_args()
    output = pathlib.Path(arguments.output)
    output.mkdir(parents=True, exist_ok=True)

    def is_here(name: str) -> bool:
        return (output / name).exists() or (bool(arguments.models) and (pathlib.Path(arguments.models) / name).exists())

    graphs = pathlib.Path(arguments.graphs) if arguments.graphs else None
    if graphs is None or not (graphs / "fill.py").exists():
        print("no graphs to fill")
        return 0
    if importlib.util.find_spec("onnx") is None or importlib.util.find_spec("numpy") is None:
        print("onnx or numpy is missing, so nothing is filled")
        return 0
    for name in (f"{stem}.onnx" for stem in TRAINED):
        if not is_here(name) and (graphs / name).exists():
            (output / name).symlink_to(graphs / name)
    for name in (f"{stem}.onnx" for stem in FILLED):
        source = graphs / "graphs" / name
        if is_here(name) or not source.exists():
            continue
        partial = output / f"{name}.partial"  # a file is either complete or not there
        subprocess.run([sys.executable, str(graphs / "fill.py"), str(source), str(partial)], check=True)
        partial.rename(output / name)
        print("filled", name)
    return 0


sys.exit(main())
