#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the first C++ program of README.md against the build tree, as a reader would, and runs it on a model.

    readme_program_test.py SOURCE_FOLDER BUILD_FOLDER COMPILER MODEL

Exit code 77 (skipped) where the README has no C++ block, or the model is not there."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SKIPPED = 77


def main() -> int:
    source, build, compiler, model = (pathlib.Path(argument) for argument in sys.argv[1:5])
    blocks = re.findall(r"^```cpp\n(.*?)^```", (source / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    programs = [block for block in blocks if re.search(r"\bint main\(", block)]
    if not programs:
        print("README.md has no C++ program.")
        return SKIPPED
    if not model.is_file():
        print(f"There is no model '{model}'.")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        text = pathlib.Path(folder) / "first.cpp"
        program = pathlib.Path(folder) / "first"
        text.write_text(programs[0])
        subprocess.run(
            [compiler, "-std=c++17", "-Wall", "-Wextra", "-Werror", f"-I{source / 'include'}", text, "-o", program,
             f"-L{build}", "-lweir", f"-Wl,-rpath,{build}"], check=True)
        environment = dict(os.environ, WEIR_CACHE=f"{folder}/cache")
        # The name that the text has for the model, in case it takes no argument.
        (pathlib.Path(folder) / "model.onnx").symlink_to(model.resolve())
        run = subprocess.run([program, model], cwd=folder, env=environment, check=True, capture_output=True, text=True)
        print(run.stdout, end="")
        if not run.stdout.strip():
            print("The program printed nothing.")
            return 1
    return 0


sys.exit(main())
