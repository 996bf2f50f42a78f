#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loud: what differs from the straight way is listed, by plan and run, and strict mode refuses it.

    loud.py --weir build/weir --bad-models tests/errors --models DIR [--filled DIR] --work DIR

Of generated models the list is known; of real ones the steps that copy or run on reference have to be in it.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys

REAL = {
    "PP-OCRv6_det_small.onnx": ["x=1x3x96x160"],
    "PP-OCRv6_rec_small.onnx": ["x=1x3x48x320"],
    "ch_ppocr_mobile_v2.0_cls_mobile.onnx": ["x=1x3x48x192"],
    "silero_vad_v6.onnx": ["input=1x576"],
    "vit_small_patch16_224.onnx": ["input=1x3x224x224"],
    "yolov8n.onnx": [],
    "minilm_l6_fp32.onnx": ["input_ids=1x32", "attention_mask=1x32", "token_type_ids=1x32"],
}


class Loud:
    def __init__(self, arguments):
        self.arguments = arguments
        self.weir = str(pathlib.Path(arguments.weir).resolve())
        self.work = pathlib.Path(arguments.work).resolve()
        self.failures = []
        self.checked = 0

    def run(self, *command, code=0):
        result = subprocess.run([self.weir, *command], cwd=self.work, capture_output=True, text=True,
                                env=os.environ | {"WEIR_CACHE": str(self.work / "cache")})
        self.expect(f"exit code of {' '.join(command)}", code, result.returncode)
        return json.loads(result.stdout) if result.returncode == 0 and "--json" in command else result.stderr

    def expect(self, what, wanted, got):
        self.checked += 1
        if wanted != got:
            self.failures.append(f"{what}: {got} instead of {wanted}")

    def notices(self, report, *fields):
        """Without what tells only of the cache."""
        return [tuple(notice[field] for field in fields) for notice in report["notices"] if notice["what"] != "compiled"]

    def generated(self, what, model, run_options, wanted, plan_options=(), in_plan=True):
        """`wanted`: (kind, what, bytes, words of the reason)."""
        planned = self.run("plan", model, "--json", *plan_options)
        listed = self.run("run", model, "--json", *run_options)
        if isinstance(planned, str) or isinstance(listed, str):
            return
        if in_plan:
            self.expect(f"{what}: plan", [notice[:3] for notice in wanted],
                        self.notices(planned, "kind", "what", "bytes"))
        self.expect(f"{what}: run", [notice[:2] for notice in wanted], self.notices(listed, "kind", "what"))
        for notice, (_, _, _, words) in zip(listed["notices"], wanted):
            self.expect(f"{what}: '{words}' in the reason", True, words in notice["reason"])
        costs = any(notice[0] == "cost" for notice in wanted)
        refusal = self.run("run", model, "--strict", *run_options, code=1 if costs else 0)
        for kind, name, _, words in wanted:
            self.expect(f"{what}: strict mode names {name}", kind == "cost", f"{name}: " in refusal and words in refusal)

    def real(self, name, path, shapes):
        options = [f"--shape={shape}" for shape in shapes]
        plan = self.run("plan", path, "--json", *options)
        bench = self.run("bench", path, "--runs", "1", "--json", *options)
        if isinstance(plan, str) or isinstance(bench, str):
            return
        steps = plan["steps"]
        costs = [notice for notice in plan["notices"] if notice["kind"] == "cost"]
        copies = [step for step in steps if step["op"] == "Copy"]
        reference = [step for step in steps if step["implementation"].startswith("reference.")]
        self.expect(f"{name}: copies", len(copies), sum(notice["what"] == "copy" for notice in costs))
        self.expect(f"{name}: reference", len(reference), sum(notice["what"] == "reference" for notice in costs))
        self.expect(f"{name}: reference steps of bench", len(reference), bench["reference_steps"])
        self.expect(f"{name}: a copy has bytes", True,
                    all(notice["bytes"] > 0 for notice in costs if notice["what"] == "copy"))
        self.expect(f"{name}: strict", bool(costs), "Strict mode refuses" in
                    str(self.run("run", path, "--random", "1", "--strict", *options, code=1 if costs else 0)))

    def main(self):
        sys.path.insert(0, self.arguments.bad_models)
        try:
            import bad_models
            import onnx
            from onnx import TensorProto, helper
        except ImportError as error:
            print(f"SKIP: {error}")
            return 77
        shutil.rmtree(self.work, ignore_errors=True)
        bad_models.make(self.work)
        double = TensorProto.DOUBLE
        nodes = [helper.make_node("MatMul", ["x", "x"], ["y"], name="dense")]
        onnx.save(bad_models.model(nodes, [bad_models.tensor("x", double, [2, 2])],
                                   [bad_models.tensor("y", double, [2, 2])]), self.work / "double.onnx")

        self.generated("relu", "relu.onnx", ["--input", "x.npy"], [])
        self.generated("classifier", "classifier.onnx", ["--random", "1", "--shape", "x=1x3"], [])
        self.generated("copied", "copied.onnx", ["--input", "x.npy"], [("cost", "copy", 12, "output 'y'")])
        self.generated("double", "double.onnx", ["--random", "1"], [("cost", "reference", 0, "'dense'")])
        self.generated("photo", "image.onnx", ["--input", "photo.png"], [("cost", "conversion", 0, "'photo.png'")],
                       in_plan=False)
        discrete = ["--toggle", "simulate_discrete"]
        constants = self.run("plan", "classifier.onnx", "--json", *discrete)["planned"]["constants"]
        self.generated("discrete", "classifier.onnx", ["--random", "1", "--shape", "x=1x3", *discrete],
                       [("cost", "copy", constants, "the constants are copied to the device")], plan_options=discrete)

        # The cache is written once, told of once, and only --strict=all minds.
        self.run("run", "two_layers.onnx", "--random", "1", "--strict=all", code=1)
        first = self.run("run", "two_layers.onnx", "--random", "1", "--json", "--no-cache")
        self.expect("compiled now", [("info", "compiled")],
                    [(notice["kind"], notice["what"]) for notice in first["notices"]])
        self.run("run", "two_layers.onnx", "--random", "1", "--strict=all")

        for name, shapes in REAL.items():
            for folder in filter(None, (self.arguments.models, self.arguments.filled)):
                if (pathlib.Path(folder) / name).exists():
                    self.real(name, str((pathlib.Path(folder) / name).resolve()), shapes)
                    break
        for failure in self.failures:
            print("FAIL", failure)
        print(f"{self.checked} checks, {len(self.failures)} failures")
        return 1 if self.failures else 0


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--weir", required=True)
parser.add_argument("--bad-models", required=True)
parser.add_argument("--models", default="")
parser.add_argument("--filled", default="")
parser.add_argument("--work", required=True)
sys.exit(Loud(parser.parse_args()).main())
