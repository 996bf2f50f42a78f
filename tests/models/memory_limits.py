#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what `weir plan` says of real models: how much memory, how close to the bound, and that its lines add up.

    memory_limits.py --weir build/weir --models DIR [--filled DIR] [--only MODEL]

Prints a line a model and shape, then what fails.
"""
import argparse
import json
import pathlib
import subprocess
import sys

MIB = 1 << 20
WORKSPACE = 2 * MIB
OVER_BOUND = 1.01

# For each model: its file, the most that its activations may take at batch 1 in MiB (0: no limit of its own), and the
# shapes; the first one is the one of the limit.
MODELS = {
    "resnet50": ("resnet50.onnx", 5.1, [["input=1x3x224x224"], ["input=3x3x224x224"]]),
    "yolov8n": ("yolov8n.onnx", 9.6, [[]]),
    "mobilenet_v2": ("mobilenet_v2.onnx", 5.8, [["input=1x3x224x224"], ["input=2x3x224x224"]]),
    "resnet18": ("resnet18.onnx", 4.0, [["input=1x3x224x224"], ["input=4x3x224x224"]]),
    "efficientnet_b0": ("efficientnet_b0.onnx", 5.9, [["input=1x3x224x224"]]),
    "efficientnet_lite0": ("efficientnet_lite0.onnx", 0, [[]]),
    "vit_small": ("vit_small_patch16_224.onnx", 0, [[]]),
    "minilm": ("minilm_l6_fp32.onnx", 0,
               [[f"{name}={batch}x{length}" for name in ("input_ids", "attention_mask", "token_type_ids")]
                for batch, length in ((1, 9), (1, 128), (4, 33))]),
    "det": ("PP-OCRv6_det_small.onnx", 0, [[f"x=1x3x{h}x{w}"] for h, w in ((736, 736), (736, 992), (64, 96), (320, 64))]),
    "rec": ("PP-OCRv6_rec_small.onnx", 0, [[f"x={n}x3x48x{w}"] for n, w in ((1, 320), (1, 75), (1, 1200), (6, 320))]),
    "cls": ("ch_ppocr_mobile_v2.0_cls_mobile.onnx", 0, [["x=1x3x48x192"], ["x=6x3x48x192"]]),
    "silero": ("silero_vad_v6.onnx", 0, [["input=1x576"], ["input=40x576"]]),
}
LINES = ("constants", "activations", "workspace", "scratch", "io", "state", "host")


class Limits:
    def __init__(self, arguments):
        self.arguments = arguments
        self.failures = []
        self.checked = 0

    def locate(self, name):
        for folder in filter(None, (self.arguments.models, self.arguments.filled)):
            if (pathlib.Path(folder) / name).exists():
                return str(pathlib.Path(folder) / name)
        return None

    def expect(self, holds, message):
        self.checked += 1
        if not holds:
            self.failures.append(message)

    def check(self, model, path, limit, shapes):
        what = f"{model} {' '.join(shapes)}".strip()
        command = [self.arguments.weir, "plan", path, "--threads", "2", "--json", *(f"--shape={shape}" for shape in shapes)]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode != 0:
            self.expect(False, f"{what}: {' '.join(command)} fails: {result.stderr.strip()}")
            return
        plan = json.loads(result.stdout)
        ledger = plan["planned"]
        peak, bound = plan["peak_bytes"], plan["lower_bound_bytes"]
        print(f"{what:40}  activations {ledger['activations'] / MIB:7.3f}  workspace {ledger['workspace'] / MIB:6.3f}  "
              f"peak {peak:10}  bound {bound:10}  {peak / max(bound, 1):.4f}  scratch {ledger['scratch'] / MIB:6.3f}")
        self.expect(ledger["total"] == sum(ledger[line] for line in LINES),
                    f"{what}: total {ledger['total']} is not the sum of {ledger}")
        self.expect(ledger["activations"] + ledger["workspace"] == peak,
                    f"{what}: activations {ledger['activations']} and workspace {ledger['workspace']} are not the peak {peak}")
        self.expect(bound <= peak <= OVER_BOUND * bound, f"{what}: peak {peak} is {peak / max(bound, 1):.4f} of its bound {bound}")
        self.expect(ledger["workspace"] <= WORKSPACE, f"{what}: workspace {ledger['workspace']} is over {WORKSPACE}")
        self.expect(0 < peak <= plan["sum_bytes"], f"{what}: peak {peak} of {plan['sum_bytes']} in all")
        if limit:
            self.expect(ledger["activations"] <= limit * MIB,
                        f"{what}: activations {ledger['activations'] / MIB:.3f} MiB are over {limit} MiB")
        self.check_placement(what, plan)

    # By the lifetimes and offsets that the plan lists: inside the arena, and no two at one place at one time.
    def check_placement(self, what, plan):
        placed = [t for t in plan["tensors"] if t["kind"] in ("activation", "workspace") and t["alias_of"] in (-1, None)]
        for tensor in placed:
            self.expect(0 <= tensor["offset"] and tensor["offset"] + tensor["bytes"] <= plan["peak_bytes"],
                        f"{what}: tensor {tensor['name']} lies outside the arena")
        clashes = []
        for i, a in enumerate(placed):
            for b in placed[i + 1:]:
                if (a["first_step"] <= b["last_step"] and b["first_step"] <= a["last_step"] and
                        a["offset"] < b["offset"] + b["bytes"] and b["offset"] < a["offset"] + a["bytes"]):
                    clashes.append(f"{a['name']} and {b['name']}")
        self.expect(not clashes, f"{what}: {len(clashes)} tensors overlap while both live, such as {clashes[:1]}")

    def main(self):
        for model, (name, limit, shapes) in MODELS.items():
            path = self.locate(name)
            if self.arguments.only not in (None, model):
                continue
            if path is None:
                print(f"{name} is not here")
                continue
            for position, shape in enumerate(shapes):
                self.check(model, path, limit if position == 0 else 0, shape)
        for failure in self.failures:
            print("FAIL", failure)
        if not self.checked:
            print("SKIP: no model is here")
            return 77
        print(f"{self.checked} checks, {len(self.failures)} failures")
        return 1 if self.failures else 0


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--weir", required=True)
parser.add_argument("--models", default="")
parser.add_argument("--filled", default="")
parser.add_argument("--only", choices=sorted(MODELS))
sys.exit(Limits(parser.parse_args()).main())
