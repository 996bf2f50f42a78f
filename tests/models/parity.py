#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares real models with onnxruntime: every output, or every step's result with --steps.

    parity.py --weir build/weir --model resnet18 --models DIR [--graphs DIR] [--work DIR] [--steps] [--full]

Tolerance: 1e-4 of the range of the reference, per output and per group of like meaning (boxes and scores apart); where
onnxruntime differs by more from itself, with its optimisations and without, four times that difference: filled weights
make some networks amplify the rounding of any order of sums. Steps of a filled model share the largest such difference.
--full crosses threads, instruction sets, validation and simulate_discrete; otherwise one configuration of each runs.
A guard fails the comparison where two different inputs do not change a compared output by 100 times the tolerance.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import zlib

import cv2
import numpy as np
import onnx
import onnxruntime as ort

TOLERANCE = 1e-4
GUARD = 100
PHOTOS = pathlib.Path()  # set by main


def image(*shape):
    return lambda rng: rng.standard_normal(shape, dtype=np.float32)


def unit(*shape):
    return lambda rng: rng.uniform(-1, 1, shape).astype(np.float32)


def photo(name, batch, height, width):
    """Parts of a photo, as the text detector takes it."""
    def make(rng):
        pixels = cv2.imread(str(PHOTOS / name))
        assert pixels is not None, PHOTOS / name
        parts = []
        for _ in range(batch):
            y = rng.integers(0, pixels.shape[0] - height + 1)
            x = rng.integers(0, pixels.shape[1] - width + 1)
            parts.append(pixels[y:y + height, x:x + width].transpose(2, 0, 1))
        return ((np.stack(parts) / 255 - 0.5) / 0.5).astype(np.float32)
    return make


def tokens(batch, length, limit=30522):
    return lambda rng: rng.integers(0, limit, (batch, length), dtype=np.int64)


def mask(batch, length):
    def make(rng):
        lengths = rng.integers(max(1, length // 2), length + 1, batch)
        return (np.arange(length)[None] < lengths[:, None]).astype(np.int64)
    return make


def text(batch, length):
    return {"input_ids": tokens(batch, length), "attention_mask": mask(batch, length),
            "token_type_ids": tokens(batch, length, 2)}


def voice(frames):
    return {"input": unit(frames, 576), "h": unit(1, 1, 128), "c": unit(1, 1, 128)}


# For each model: its file, whether its weights are filled in, the inputs of each run, and the groups of its outputs as
# {output: [(label, slice)]}.
FIXED = {"/m/embeddings/position_embeddings/Gather_output_0"}  # depend on the shape alone
BOXES = {"output0": [("boxes", np.s_[:, :4]), ("scores", np.s_[:, 4:])]}
MODELS = {
    "det": ("PP-OCRv6_det_small.onnx", False, [{"x": photo("page.png", 1, 96, 160)}, {"x": photo("page.png", 2, 64, 224)}], {}),
    "rec": ("PP-OCRv6_rec_small.onnx", False, [{"x": image(1, 3, 48, 320)}, {"x": image(2, 3, 48, 75)}], {}),
    "cls": ("ch_ppocr_mobile_v2.0_cls_mobile.onnx", False, [{"x": image(1, 3, 48, 192)}], {}),
    "silero": ("silero_vad_v6.onnx", False, [voice(1), voice(5)], {}),
    "efficientnet_lite0": ("efficientnet_lite0.onnx", False, [{"input": unit(1, 3, 224, 224)}], {}),
    "resnet18": ("resnet18.onnx", True, [{"input": image(1, 3, 224, 224)}, {"input": image(2, 3, 224, 224)}], {}),
    "resnet50": ("resnet50.onnx", True, [{"input": image(1, 3, 224, 224)}], {}),
    "mobilenet_v2": ("mobilenet_v2.onnx", True, [{"input": image(1, 3, 224, 224)}, {"input": image(3, 3, 224, 224)}],
                     {}),
    "efficientnet_b0": ("efficientnet_b0.onnx", True, [{"input": image(1, 3, 224, 224)}], {}),
    "yolov8n": ("yolov8n.onnx", True, [{"images": image(1, 3, 640, 640)}], BOXES),
    "minilm": ("minilm_l6_fp32.onnx", True, [text(1, 9), text(2, 33)], {}),
    "vit_small": ("vit_small_patch16_224.onnx", True, [{"input": image(1, 3, 224, 224)}], {}),
}


def file_name(name: str) -> str:
    return "".join(c if c.isascii() and c.isalnum() else "_" for c in name) + ".npy"


class Parity:
    def __init__(self, arguments):
        self.arguments = arguments
        name, self.filled, self.runs, self.groups = MODELS[arguments.model]
        self.work = pathlib.Path(arguments.work) / arguments.model
        self.work.mkdir(parents=True, exist_ok=True)
        self.path = self.locate(name)
        self.failures = []
        self.compared = 0
        self.spread = 0.0  # of onnxruntime with itself, over all steps of a filled model

    def locate(self, name: str) -> pathlib.Path:
        for folder in filter(None, (self.arguments.models, self.arguments.graphs)):
            if (pathlib.Path(folder) / name).exists():
                return pathlib.Path(folder) / name
        if not self.arguments.graphs:
            print(f"SKIP: {name} is not here")
            sys.exit(77)
        stripped = pathlib.Path(self.arguments.graphs) / "graphs" / name
        if not stripped.exists():
            print(f"SKIP: {stripped.name} is not here")
            sys.exit(77)
        filled = self.work / name
        if not filled.exists():
            subprocess.run([sys.executable, str(pathlib.Path(self.arguments.graphs) / "fill.py"), str(stripped),
                            str(filled)], check=True)
        return filled

    def reference(self, names, optimised=True):
        """A session of onnxruntime that also returns the values called `names`."""
        model = onnx.load(self.path)
        known = {output.name for output in model.graph.output}
        for name in names:
            if name not in known:
                model.graph.output.append(onnx.ValueInfoProto(name=name))
        options = ort.SessionOptions()
        options.log_severity_level = 3
        if not optimised:
            options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])

    def weir(self, inputs, folder, *options):
        folder.mkdir(parents=True, exist_ok=True)
        command = [self.arguments.weir, "run", str(self.path), "--task", "raw", "--json", "--output", str(folder)]
        for name, value in inputs.items():
            path = folder / f"input_{file_name(name)}"
            np.save(path, value)
            command += ["--input", f"{name}={path}"]
        result = subprocess.run(command + list(options), capture_output=True, text=True)
        if result.returncode != 0:
            print(" ".join(command + list(options)))
            print(result.stdout, result.stderr)
            sys.exit(1)
        return json.loads(result.stdout)

    def compare(self, what, wanted, plain, got):
        if wanted.shape != got.shape or wanted.dtype != got.dtype:
            self.failures.append(f"{what}: {got.dtype}{list(got.shape)} instead of {wanted.dtype}{list(wanted.shape)}")
            return
        self.compared += 1
        if wanted.size == 0:
            return
        wanted = wanted.astype(np.float64)
        difference = np.abs(wanted - got.astype(np.float64))
        scale = max(float(np.max(np.abs(wanted))), 1e-6)
        worst = float(np.max(difference)) if np.all(np.isfinite(difference)) else float("inf")
        itself = max(float(np.max(np.abs(wanted - plain.astype(np.float64)))), self.spread * scale)
        if worst > max(TOLERANCE * scale, 4 * itself):
            self.failures.append(f"{what}: differs by {worst / scale:.2e} of its range {scale:.3g} "
                                 f"(onnxruntime from itself by {itself / scale:.2e})")

    @staticmethod
    def relative(a, b):
        """The largest difference, as a part of the range of `a`."""
        if a.size == 0 or not np.issubdtype(a.dtype, np.floating):
            return 0.0
        return float(np.max(np.abs(a - b))) / max(float(np.max(np.abs(a))), 1e-6)

    def check_moves(self, what, first, second):
        if first.shape != second.shape or not np.issubdtype(first.dtype, np.floating):
            return
        scale = max(float(np.max(np.abs(first))), 1e-6)
        if float(np.max(np.abs(first - second))) < GUARD * TOLERANCE * scale:
            self.failures.append(f"{what}: hardly depends on the input, so comparing it shows nothing")

    def configurations(self):
        devices = json.loads(subprocess.run([self.arguments.weir, "devices", "--json"], capture_output=True, text=True,
                                            check=True).stdout)["devices"]
        isas = ["sse4", "avx2", "avx512"]
        isas = isas[:isas.index(devices[0]["isa"]) + 1]
        if self.arguments.full:
            for isa in isas:
                for threads in ("1", "2"):
                    for toggles in ([], ["validation"], ["simulate_discrete"], ["validation", "simulate_discrete"]):
                        yield ["--isa", isa, "--threads", threads, *[x for t in toggles for x in ("--toggle", t)]]
            return
        yield ["--threads", "1"]
        yield ["--threads", "2", "--toggle", "validation"]
        yield ["--threads", "2", "--toggle", "simulate_discrete"]
        for isa in isas[:-1]:
            yield ["--threads", "2", "--isa", isa]

    def run(self):
        bits = {}
        for index, spec in enumerate(self.runs):
            rng = np.random.default_rng(zlib.crc32(self.arguments.model.encode()) + index)
            inputs = {name: make(rng) for name, make in spec.items()}
            others = {name: make(rng) for name, make in spec.items()}
            others = {name: value * 3 + 1 if value.dtype == np.float32 else value for name, value in others.items()}
            steps = ["--all-steps"] if self.arguments.steps else []
            configurations = [["--threads", "2"]] if self.arguments.steps else list(self.configurations())
            session = None
            for options in configurations:
                label = "_".join(options).replace("-", "") or "default"
                folder = self.work / f"run{index}_{label}{'_steps' if steps else ''}"
                report = self.weir(inputs, folder, *options, *steps)
                names = [output["name"] for output in report["outputs"]]
                if session is None:
                    session = self.reference(names)
                    every = [o.name for o in session.get_outputs()]
                    wanted = dict(zip(every, session.run(None, inputs)))
                    moved = dict(zip(every, session.run(None, others)))
                    plain = dict(zip(every, self.reference(names, optimised=False).run(every, inputs)))
                    if self.arguments.steps and self.filled:
                        # One sample of a step's spread says little: a network's steps share the largest of them.
                        self.spread = max(self.relative(wanted[name], plain[name]) for name in names)
                    # Filled weights make nothing of some outputs: then a comparison would prove nothing.
                    for name in set(names) - FIXED:
                        self.check_moves(name, wanted[name], moved[name])
                for name in names:
                    got = np.load(folder / file_name(name))
                    for what, part in self.groups.get(name, [("", np.s_[...])]):
                        self.compare(f"{name} {what} [{' '.join(options)}]", wanted[name][part],
                                     plain[name][part], got[part])
                    isa = options[options.index("--isa") + 1] if "--isa" in options else "best"
                    known = bits.setdefault((index, name, isa), got.tobytes())
                    if known != got.tobytes():
                        self.failures.append(f"{name} [{' '.join(options)}]: other bits than the first run")
        for failure in self.failures[:40]:
            print("FAIL", failure)
        print(f"{self.arguments.model}: {self.compared} comparisons, {len(self.failures)} failures")
        return 1 if self.failures or not self.compared else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weir", required=True)
    parser.add_argument("--model", required=True, choices=sorted(MODELS))
    parser.add_argument("--models", required=True)
    parser.add_argument("--photos", help="by default the folder photos beside --models")
    parser.add_argument("--graphs")
    parser.add_argument("--work", required=True)
    parser.add_argument("--steps", action="store_true")
    parser.add_argument("--full", action="store_true")
    arguments = parser.parse_args()
    global PHOTOS
    PHOTOS = pathlib.Path(arguments.photos or pathlib.Path(arguments.models).parent / "photos")
    sys.exit(Parity(arguments).run())


if __name__ == "__main__":
    main()
