# SPDX-License-Identifier: Apache-2.0
"""What the tests of the command line in this folder share: a folder of their own, the command, and what was found.

Without the packages numpy and onnx the test is skipped (exit status 77)."""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys

try:
    import numpy as np  # noqa: F401
    from onnx import helper, numpy_helper
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)


def model(nodes, inputs, outputs, constants=()):
    """Inputs and outputs are (name, type, shape), constants (name, array)."""
    def declare(values):
        return [helper.make_tensor_value_info(*value) for value in values]
    graph = helper.make_graph(nodes, "network", declare(inputs), declare(outputs),
                              [numpy_helper.from_array(value, name) for name, value in constants])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


class WeirTest:
    """A test derives from it, makes its files in prepare() and names its methods in parts()."""

    def __init__(self, arguments):
        self.weir_path = str(pathlib.Path(arguments.weir).resolve())
        self.work = pathlib.Path(arguments.work).resolve()
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(parents=True)
        self.cache = self.work / "cache"
        self.environment = os.environ | {"WEIR_CACHE": str(self.cache)}
        self.environment.pop("WEIR_MEMORY_LIMIT", None)
        self.failures = []
        self.checked = 0

    def expect(self, holds, message):
        self.checked += 1
        if not holds:
            self.failures.append(message)

    def weir(self, *options):
        return subprocess.run([self.weir_path, *map(str, options)], cwd=self.work, env=self.environment,
                              capture_output=True, text=True)

    def text(self, *options):
        result = self.weir(*options)
        self.expect(result.returncode == 0, f"{options}: {result.stderr}")
        return result.stdout

    def json(self, *options):
        return json.loads(self.text(*options, "--json") or "{}")

    @classmethod
    def main(cls, description):
        parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument("--weir", required=True)
        parser.add_argument("--work", required=True)
        test = cls(parser.parse_args())
        test.prepare()
        for part in test.parts():
            part()
        for failure in test.failures[:40]:
            print("FAIL", failure)
        print(f"{test.checked} checks, {len(test.failures)} failures")
        sys.exit(1 if test.failures else 0)
