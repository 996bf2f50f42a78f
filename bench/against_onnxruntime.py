#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Weir beside onnxruntime in one interleaved run: latency at 1 and 2 threads, as a ratio.

    against_onnxruntime.py --weir build/weir --models DIR [--threads 1,2] [--rounds 5] [--seconds 0.5]
                           [--limit 1.5] [--limit silero=2] [NAME ...]

Each round runs onnxruntime, then Weir, for the given time each; the other one is idle meanwhile. A row gives the least
latency of all rounds and the median of the best round of each, and the ratio Weir / onnxruntime of both (below 1: Weir is
faster). NAMEs are those of DEFAULT below. With --limit the exit code is 1 where the ratio of the least latency is above
it, for all models or for one; the lines at the end name those.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

import numpy as np
import onnxruntime as ort

DEFAULT = {
    "resnet50": ("resnet50.onnx", {"input": (1, 3, 224, 224)}),
    "resnet18": ("resnet18.onnx", {"input": (1, 3, 224, 224)}),
    "mobilenet_v2": ("mobilenet_v2.onnx", {"input": (1, 3, 224, 224)}),
    "efficientnet_b0": ("efficientnet_b0.onnx", {"input": (1, 3, 224, 224)}),
    "yolov8n": ("yolov8n.onnx", {"images": (1, 3, 640, 640)}),
    "minilm": ("minilm_l6_fp32.onnx", {"input_ids": (1, 128), "attention_mask": (1, 128), "token_type_ids": (1, 128)}),
    "vit_small": ("vit_small_patch16_224.onnx", {"input": (1, 3, 224, 224)}),
    "det": ("PP-OCRv6_det_small.onnx", {"x": (1, 3, 736, 1280)}),
    "rec": ("PP-OCRv6_rec_small.onnx", {"x": (1, 3, 48, 320)}),
    "silero": ("silero_vad_v6.onnx", {"input": (1, 576), "h": (1, 1, 128), "c": (1, 1, 128)}),
}


def ort_session(path, threads):
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = threads
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def inputs_of(session, shapes):
    rng = np.random.default_rng(0)
    result = {}
    for value in session.get_inputs():
        shape = shapes[value.name]
        if "int64" in value.type:
            result[value.name] = np.ones(shape, np.int64)
        else:
            result[value.name] = rng.uniform(-1, 1, shape).astype(np.float32)
    return result


def measure_ort(session, inputs, seconds):
    times = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 3:
        begin = time.perf_counter()
        session.run(None, inputs)
        times.append((time.perf_counter() - begin) * 1e3)
    return min(times), statistics.median(times)


def measure_weir(weir, path, shapes, threads, seconds):
    command = [weir, "bench", str(path), "--json", "--threads", str(threads), "--seconds", str(seconds)]
    for name, shape in shapes.items():
        command += ["--shape", f"{name}={'x'.join(map(str, shape))}"]
    report = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return report["latency_ms"]["min"], report["latency_ms"]["p50"]


def read_limits(parser, given):
    """{name: ratio}; None is the name of all others."""
    limits = {}
    for text in given:
        name, _, ratio = text.rpartition("=")
        if name and name not in DEFAULT:
            parser.error(f"--limit {text}: there is no model '{name}'; the models are {', '.join(DEFAULT)}")
        try:
            limits[name or None] = float(ratio)
        except ValueError:
            parser.error(f"--limit {text}: '{ratio}' is no number")
        if not limits[name or None] > 0:
            parser.error(f"--limit {text}: a ratio is above 0")
    return limits


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weir", default="build/weir")
    parser.add_argument("--models", required=True)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--limit", action="append", default=[], metavar="RATIO|NAME=RATIO",
                        help="the largest ratio of the least latency, of all models or of one; repeatable")
    parser.add_argument("names", nargs="*", help="models of the list to run; all by default")
    arguments = parser.parse_args()
    for name in arguments.names:
        if name not in DEFAULT:
            parser.error(f"there is no model '{name}'; the models are {', '.join(DEFAULT)}")
    limits = read_limits(parser, arguments.limit)
    exceeded, measured = [], 0
    print(f"onnxruntime {ort.__version__}; least latency and median of the best round, ms")
    print(f"{'model':16} {'threads':>7} {'ort':>17} {'weir':>17} {'ratio':>13}")
    for name in arguments.names or DEFAULT:
        file, shapes = DEFAULT[name]
        path = pathlib.Path(arguments.models) / file
        if not path.is_file():
            print(f"{name:16} left out: '{path}' is not there", flush=True)
            continue
        for threads in map(int, arguments.threads.split(",")):
            session = ort_session(path, threads)
            inputs = inputs_of(session, shapes)
            measure_ort(session, inputs, 0.05)
            ours, theirs = [], []
            for _ in range(arguments.rounds):
                theirs.append(measure_ort(session, inputs, arguments.seconds))
                ours.append(measure_weir(arguments.weir, path, shapes, threads, arguments.seconds))
            best = [(min(m for m, _ in side), min(p for _, p in side)) for side in (theirs, ours)]
            ratio = best[1][0] / best[0][0]
            limit = limits.get(name, limits.get(None))
            measured += 1
            if limit is not None and ratio > limit:
                exceeded.append(f"{name} at {threads} threads: the ratio is ({ratio:.2f}), and the limit ({limit:g}).")
            print(f"{name:16} {threads:7} {best[0][0]:8.3f}/{best[0][1]:8.3f} {best[1][0]:8.3f}/{best[1][1]:8.3f} "
                  f"{ratio:6.2f}/{best[1][1] / best[0][1]:6.2f}", flush=True)
            del session
    if limits and measured == 0:
        exceeded.append("No model was measured, so no limit is kept.")
    for line in exceeded:
        print(line)
    return 1 if exceeded else 0


if __name__ == "__main__":
    sys.exit(main())
