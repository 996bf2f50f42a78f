# SPDX-License-Identifier: Apache-2.0
"""Random small models, compiled by Weir and run by onnxruntime, are to give the same results.

    random_graphs.py RUN_GRAPHS FOLDER [--seed N] [--models N] [--keep]

Each model has a few nodes over odd, open and empty dimensions, written for a random version of ONNX's operators, and is
run at three sets of shapes by one request: on the instruction sets in turns, and on a plain device, one that validates
and one whose memory is its own. The runner also binds the inputs in place and asks for equal bits, and for
a plan that is what was counted. What one model is follows from its seed, which a failure prints: `--seed N --models 1
--keep` repeats it and leaves the model in FOLDER.

Without the onnx and onnxruntime packages the test is skipped (exit status 77)."""
import argparse
import pathlib
import shutil
import sys

try:
    import onnx  # noqa: F401
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

from graph_runner import compare, expected_of
from random_model import Model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("runner")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--models", type=int, default=120)
    parser.add_argument("--keep", action="store_true", help="keeps the folder, also where all is well")
    options = parser.parse_args()
    cases, wanted, refused = [], [], 0
    for seed in range(options.seed, options.seed + options.models):
        case = Model(seed).build()
        if case is None:
            continue
        try:
            wanted.append(expected_of(case))
        except Exception as error:  # of onnxruntime: the model is none of ONNX's, or not implemented there
            refused += 1
            if options.models == 1:
                print(f"onnxruntime: {error}")
            continue
        cases.append(case)
    failed = compare(cases, wanted, options.runner, options.folder)
    for name, text in failed:
        print(f"seed {name}: {text}")
    print(f"{len(cases)} models, {len(failed)} failed, {refused} refused by onnxruntime")
    if not options.keep and not failed:
        shutil.rmtree(options.folder)
    if len(cases) < options.models * 0.7:
        print("too few models were made")
        return 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
