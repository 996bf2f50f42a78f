#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The first program of README.md is the text of examples/first_inference.cpp, which the tests compile and run.

    readme_test.py ROOT
"""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
blocks = re.findall(r"```cpp\n(.*?)```", (root / "README.md").read_text(), re.S)
example = (root / "examples" / "first_inference.cpp").read_text()
body = example[example.index("#include"):]
if len(blocks) != 1 or blocks[0].strip() != body.strip():
    sys.exit("README.md does not show examples/first_inference.cpp from its first #include on.")
for target in re.findall(r"\]\(([^)#:]+)\)", (root / "README.md").read_text()):
    if not (root / target).exists():
        sys.exit(f"README.md links to '{target}', which is not there.")
