#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The figures of networks in docs/memory.md are what `weir plan --json` gives: both tables, cell by cell.

    memory_tables.py ROOT --weir build/weir --models DIR…

A row whose model is in no folder is left out, and named; without any the test is skipped (exit status 77)."""
import argparse
import json
import pathlib
import re
import subprocess
import sys

# A row's name → the model's file, and the shape that the row is for.
ROWS = {
    "ResNet-18": ("resnet18", []),
    "ResNet-50": ("resnet50", []),
    "MobileNetV2": ("mobilenet_v2", []),
    "EfficientNet-B0": ("efficientnet_b0", []),
    "EfficientNet-Lite0": ("efficientnet_lite0", []),
    "YOLOv8n": ("yolov8n", []),
    "ViT-small": ("vit_small_patch16_224", []),
    "MiniLM-L6": ("minilm_l6_fp32", ["--dim", "batch=1", "--dim", "seq=128"]),
    "PP-OCRv6 detector": ("PP-OCRv6_det_small", []),
    "PP-OCRv6 recogniser": ("PP-OCRv6_rec_small", []),
    "PP-OCR line angle": ("ch_ppocr_mobile_v2.0_cls_mobile", []),
    "Silero VAD": ("silero_vad_v6", ["--dim", "seq_len=1"]),
}


def tables(text):
    """The rows of cells of each table."""
    for table in re.findall(r"(?:^\|.*\|\n)+", text, re.M):
        yield [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in table.splitlines()]


def mebibytes(size):
    return f"{size / 2**20:.2f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--weir", required=True)
    parser.add_argument("--models", type=pathlib.Path, nargs="*", default=[])
    arguments = parser.parse_args()

    def model_of(row):
        """The file of a row's model, or nothing; the options of its shape."""
        name, _, sides = row.partition(", ")
        stem, options = ROWS[name]
        if sides:
            options = ["--shape", f"x=1x3x{sides.replace('×', 'x')}"]
        files = (folder / f"{stem}.onnx" for folder in arguments.models)
        return next((file for file in files if file.is_file()), None), options

    def plan(file, *options):
        done = subprocess.run([arguments.weir, "plan", file, "--json", *options], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return json.loads(done.stdout)

    def activations(file, options):
        planned = plan(file, *options)
        sizes = ("sum_bytes", "unfused_bound_bytes", "lower_bound_bytes", "peak_bytes")
        return [*(mebibytes(planned[size]) for size in sizes),
                str(sum(notice["kind"] == "cost" for notice in planned["notices"]))]

    def constants(file, options):
        return [mebibytes(file.stat().st_size), mebibytes(plan(file, *options)["planned"]["constants"]),
                mebibytes(plan(file, *options, "--prefer", "memory")["planned"]["constants"])]

    figures = {("sum", "bound without fusion", "lower bound", "peak", "copies"): activations,
               ("model file", "resident constants", "with `--prefer memory`"): constants}
    found, compared, failures, absent = set(), 0, [], set()
    for head, _, *rows in tables((arguments.root / "docs" / "memory.md").read_text()):
        figure = figures.get(tuple(head[1:]))
        if figure is None:
            continue
        found.add(tuple(head[1:]))
        for name, *cells in rows:
            file, options = model_of(name)
            if file is None:
                absent.add(name)
                continue
            compared += 1
            planned = figure(file, options)
            if planned != cells:
                failures.append(f"{name} has {planned}, and docs/memory.md says {cells} ({', '.join(head[1:])}).")
    for missing in figures.keys() - found:
        failures.append(f"docs/memory.md has no table of {', '.join(missing)}.")
    for name in sorted(absent):
        print(f"left out, without its model: {name}")
    for failure in failures:
        print("FAIL", failure)
    print(f"{compared} rows, {len(failures)} failures")
    return 1 if failures else 0 if compared else 77


sys.exit(main())
