#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command line on a disk without room: the error says so, and no part of a file is left.

    full_disk.py --weir build/weir --work DIR

The system's limit on the size of files stands for the full disk: a write beyond it fails, as one without room does, and
needs no file system of the test's own. Where the disk has room again, the same command succeeds.
"""
import argparse
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys

LIMIT = 8192


def no_room():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # the write answers instead
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weir", required=True)
    parser.add_argument("--work", required=True)
    arguments = parser.parse_args()
    try:
        import numpy as np
        from onnx import TensorProto, helper, numpy_helper
    except ImportError as error:
        print(f"SKIP: {error}")
        return 77
    weir = str(pathlib.Path(arguments.weir).resolve())
    work = pathlib.Path(arguments.work).resolve()
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    weights = numpy_helper.from_array(np.ones((64, 4096), np.float32), "w")
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"], name="dense")], "wide",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 64])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4096])], [weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (work / "wide.onnx").write_bytes(model.SerializeToString())

    failures = 0

    def run(*words, full):
        return subprocess.run([weir, *words], cwd=work, capture_output=True, text=True,
                              env=os.environ | {"WEIR_CACHE": str(work / "cache")}, preexec_fn=no_room if full else None)

    def expect(what, condition, result):
        nonlocal failures
        if not condition:
            failures += 1
            print(f"FAIL {what}: exit {result.returncode}\n{result.stdout[:500]}{result.stderr[:500]}")

    def names():
        return {str(path.relative_to(work)) for path in work.rglob("*") if path.is_file() and path.suffix != ".source"}

    before = names()
    cases = [
        (["compile", "wide.onnx", "-o", "wide.weir"], "File 'wide.weir' cannot be written: File too large."),
        (["run", "wide.onnx", "--random", "1", "--no-cache", "--output", "out"],
         "File 'out/y.npy' cannot be written (File too large)."),
        (["plan", "wide.onnx", "--no-cache", "--html", "plan.html"],
         "File 'plan.html' cannot be written (File too large)."),
        (["run", "wide.onnx", "--random", "1", "--no-cache", "--trace", "trace.json"], None),
    ]
    for words, message in cases:
        result = run(*words, full=True)
        if message is not None:
            expect(words, result.returncode == 1 and message in result.stderr and result.stdout == "", result)
        expect([*words, "leaves", names() - before], names() == before or message is None, result)
        before = names()

    # The cache is a convenience: without room for it everything runs, and a notice says why nothing is kept.
    result = run("run", "wide.onnx", "--random", "1", "--json", full=True)
    expect("run without room for the cache", result.returncode == 0, result)
    expect("its notice", "not cached" in result.stdout and "File too large" in result.stdout, result)
    expect(["the cache is left with", names() - before], names() == before, result)
    result = run("run", "wide.onnx", "--random", "1", "--json", full=False)
    expect("run with room again", result.returncode == 0 and "not cached" not in result.stdout, result)
    expect("the cache has it", any(name.endswith(".weir") for name in names()), result)
    result = run("run", "wide.onnx", "--random", "1", "--json", full=True)
    expect("what is cached needs no room", result.returncode == 0 and "compiled" not in result.stdout, result)
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
