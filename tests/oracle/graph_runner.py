# SPDX-License-Identifier: Apache-2.0
"""Runs models in Weir, through run_graphs, and in onnxruntime, and compares.

    cases = [Case("name", model, feeds), …]        # a feed a run: arrays by the names of the model's inputs
    failed = compare(cases, runner, folder)        # texts, one a case that fails
"""
import shutil
import subprocess
import sys

try:
    import numpy as np
    import onnxruntime
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

RUNS = 3
WEIR_TYPES = {1: np.float32, 2: np.float16, 4: np.float64, 5: np.int8, 6: np.uint8, 9: np.int32, 11: np.int64,
              13: np.bool_}
WEIR_NUMBERS = {np.dtype(dtype): number for number, dtype in WEIR_TYPES.items()}


class Case:
    """`exact`: names of outputs that have no rounding. `isa`: a hyphen is the best that there is. `device`: cpu, validating
    or far."""

    def __init__(self, name, model, feeds, exact=(), isa="-", device="cpu"):
        self.name, self.model, self.feeds, self.exact, self.isa, self.device = name, model, feeds, exact, isa, device


def expected_of(case):
    """One list of results a run; throws what onnxruntime throws, which means that the model is none of ONNX's."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(case.model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return [session.run(None, feed) for feed in case.feeds]


def difference(got, want, exact):
    if got.shape != want.shape:
        return f"shape {got.shape}, and {want.shape} is expected"
    if got.dtype != want.dtype:
        return f"type {got.dtype}, and {want.dtype} is expected"
    if got.dtype.kind != "f":
        return "" if np.array_equal(got, want) else f"{np.count_nonzero(got != want)} elements of {got.size} differ"
    both = np.isfinite(got) & np.isfinite(want)
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    scale = float(np.max(np.abs(want[both]), initial=0.1))
    tolerance = 0 if exact else (1e-9 if got.dtype == np.float64 else 2e-4)
    close = np.zeros(got.shape, bool)
    close[both] = np.abs(got[both].astype(np.float64) - want[both]) <= tolerance * scale
    wrong = ~(same | close)
    if not wrong.any():
        return ""
    at = tuple(int(i[0]) for i in np.nonzero(wrong))
    return f"{np.count_nonzero(wrong)} elements of {got.size} differ, at {at} {got[at]} instead of {want[at]}"


def results_of(lines, data):
    """One list of arrays or text of an error for each run."""
    results, outputs, offset = [], [], 0
    for line in lines:
        words = line.split()
        if words[0] == "output":
            shape = [int(w) for w in words[2:]]
            outputs.append(np.frombuffer(data, WEIR_TYPES[int(words[1])], int(np.prod(shape)), offset).reshape(shape))
            offset += outputs[-1].nbytes
        else:
            results.append(outputs if words[0] == "ran" else line[len("error "):])
            outputs = []
    return results


def compare(cases, wanted, runner, folder):
    """(name, what is wrong) of each case that fails; `wanted` is expected_of() each."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    listing, data = [], []
    for case in cases:
        (folder / f"{case.name}.onnx").write_bytes(case.model.SerializeToString())
        listing.append(f"model {case.name}.onnx {case.isa} {case.device}")
        for feed in case.feeds:
            listing.append("run")
            for array in feed.values():
                listing.append(" ".join(str(w) for w in ("input", WEIR_NUMBERS[array.dtype], *array.shape)))
                data.append(array.tobytes())
    (folder / "cases").write_text("\n".join(listing) + "\n")
    (folder / "inputs").write_bytes(b"".join(data))
    ran = subprocess.run([runner, folder], capture_output=True, text=True)
    results = iter(results_of(ran.stdout.splitlines(), (folder / "outputs").read_bytes()))
    failed = []
    for case, expected in zip(cases, wanted):
        wrong = []
        for run, arrays in enumerate(expected):
            got = next(results, f"the runner ended ({ran.returncode}) {ran.stderr}")
            if isinstance(got, str):
                wrong.append(f"run {run}: {got}")
                continue
            for output, a, b in zip(case.model.graph.output, got, arrays):
                if text := difference(a, np.asarray(b), output.name in case.exact):
                    wrong.append(f"run {run}, output {output.name}: {text}")
        if wrong:
            failed.append((case.name, wrong[0]))
    return failed
