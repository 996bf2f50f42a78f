#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Still and planned, as a user sees them: `weir bench` of compiled programs, in processes of their own.

    still.py --weir build/weir --interposer libweir_interposer.so --models DIR [--filled DIR] --work DIR

With the interposer loaded: over 1000 runs neither Weir nor a driver allocates, no page fault happens, and every line is
counted as planned. Without it the command says that nothing was counted. A process that maps a compiled program keeps
its anonymous memory within the plan, less the mapped constants, and 12 MiB.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

SLACK = 12 << 20

# Shapes of each model; the first list is run a thousand times.
SMALL = {
    "ch_ppocr_mobile_v2.0_cls_mobile.onnx": ["x=1x3x48x192"],
    "silero_vad_v6.onnx": ["input=1x576"],
}
LARGE = {
    "PP-OCRv6_det_small.onnx": ["x=1x3x320x320"],
    "PP-OCRv6_rec_small.onnx": ["x=1x3x48x320"],
    "mobilenet_v2.onnx": ["input=1x3x224x224"],
    "minilm_l6_fp32.onnx": ["input_ids=1x32", "attention_mask=1x32", "token_type_ids=1x32"],
}
# Kept from run to run.
STATES = {"silero_vad_v6.onnx": "h=hn,c=cn"}
CONFIGURATIONS = [["--threads", "1"], ["--threads", "2"], ["--threads", "2", "--toggle", "simulate_discrete"]]


class Bench:
    def __init__(self, arguments):
        self.arguments = arguments
        self.work = pathlib.Path(arguments.work)
        self.work.mkdir(parents=True, exist_ok=True)
        self.failures = []
        self.checked = 0

    def run(self, command, **environment):
        result = subprocess.run([self.arguments.weir, *command], capture_output=True, text=True,
                                env=os.environ | environment)
        if result.returncode != 0:
            print(" ".join([self.arguments.weir, *command]), result.stdout, result.stderr, sep="\n")
            sys.exit(1)
        return result.stdout

    def program(self, name, shapes):
        for folder in filter(None, (self.arguments.models, self.arguments.filled)):
            source = pathlib.Path(folder) / name
            if source.exists():
                target = self.work / (name + ".weir")
                states = [f"--state={STATES[name]}"] if name in STATES else []
                self.run(["compile", str(source), "-o", str(target), *(f"--shape={shape}" for shape in shapes), *states])
                return target
        return None

    def expect(self, what, wanted, got):
        self.checked += 1
        if wanted != got:
            self.failures.append(f"{what}: {got} instead of {wanted}")

    def check_memory(self, what, report):
        self.expect(f"{what}: counted", report["planned"], report["counted"])
        planned = report["planned"]
        self.expect(f"{what}: has a line of state", what.split()[0] in STATES, planned["state"] > 0)
        self.expect(f"{what}: the total is the sum of its lines", planned["total"],
                    sum(value for line, value in planned.items() if line != "total"))
        most = planned["total"] - planned["constants"] + SLACK
        self.checked += 1
        if report["rss_anon_bytes"] > most:
            self.failures.append(f"{what}: anonymous memory {report['rss_anon_bytes']} is over {most}, that is planned "
                                 f"{planned['total']} less constants {planned['constants']} and {SLACK}")

    def check_still(self, name, program):
        for options in CONFIGURATIONS:
            what = f"{name} {' '.join(options)}"
            report = json.loads(self.run(["bench", str(program), "--runs", "1000", "--json", *options],
                                         LD_PRELOAD=self.arguments.interposer))
            self.expect(f"{what}: allocations", {"weir": 0.0, "driver": 0.0, "user": 0.0},
                        report["allocations_per_inference"])
            self.expect(f"{what}: runs", 1000, report["runs"])
            self.expect(f"{what}: counted", report["planned"], report["counted"])
            if "simulate_discrete" not in options:  # which takes pages away and gives them back
                self.expect(f"{what}: page faults", 0.0, report["page_faults_per_inference"])

    def main(self):
        for name, shapes in (SMALL | LARGE).items():
            program = self.program(name, shapes)
            if program is None:
                print(f"{name} is not here")
                continue
            report = json.loads(self.run(["bench", str(program), "--runs", "3", "--threads", "2", "--json"]))
            self.expect(f"{name}: allocations without the interposer", None, report["allocations_per_inference"])
            self.check_memory(name, report)
            if name in SMALL:
                self.check_still(name, program)
        for failure in self.failures:
            print("FAIL", failure)
        if not self.checked:
            print("SKIP: no model is here")
            return 77
        print(f"{self.checked} checks, {len(self.failures)} failures")
        return 1 if self.failures else 0


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--weir", required=True)
parser.add_argument("--interposer", required=True)
parser.add_argument("--models", default="")
parser.add_argument("--filled", default="")
parser.add_argument("--work", required=True)
sys.exit(Bench(parser.parse_args()).main())
