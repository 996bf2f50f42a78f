#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the documents show is there: the first program of README.md is the text of examples/first_inference.cpp, which
the tests compile and run; code that a document quotes stands in the named sources, whatever its white space; links lead
somewhere, and files of the tree that are named are there.

    readme_test.py ROOT
"""
import pathlib
import re
import sys

# The files that the C++ blocks of a document are taken from.
QUOTED = {
    "docs/requests.md": ["examples/inputs.cpp", "examples/pipeline.cpp"],
    "docs/add-a-backend.md": ["tests/serial_device/serial_device.cc", "tests/conformance/backends.cc"],
    "docs/custom-operators.md": ["tests/custom/scale.h", "tests/custom/custom_operator_test.cc"],
}

# Folders of the tree whose files documents name.
FOLDERS = "bench|cmake|docs|examples|include|libraries|scripts|src|tests|tools"

root = pathlib.Path(sys.argv[1])
failures = []


def code_of(document: str) -> list[str]:
    return re.findall(r"^ *```cpp\n(.*?)^ *```", (root / document).read_text(), re.S | re.M)


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


example = (root / "examples" / "first_inference.cpp").read_text()
first_program = code_of("README.md")
if len(first_program) != 1 or first_program[0].strip() != example[example.index("#include"):].strip():
    failures.append("README.md does not show examples/first_inference.cpp from its first #include on.")
for document, sources in QUOTED.items():
    text = squeezed("".join((root / source).read_text() for source in sources))
    blocks = code_of(document)
    if not blocks:
        failures.append(f"{document} quotes nothing.")
    for block in blocks:
        if squeezed(block) not in text:
            failures.append(f"{document} quotes code that is in none of {', '.join(sources)}:\n{block}")
for document in ["README.md", *sorted(str(path.relative_to(root)) for path in root.glob("docs/**/*.md"))]:
    text = (root / document).read_text()
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        if not ((root / document).parent / target).exists():
            failures.append(f"{document} links to '{target}', which is not there.")
    for code in re.findall(r"`([^`\n]+)`", text):
        for named in re.findall(rf"(?<![\w./-])((?:{FOLDERS})/[\w./*-]*)", code):
            if "**" not in named and not any(root.glob(named.rstrip("./"))):
                failures.append(f"{document} names '{named}', which is not there.")
for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
