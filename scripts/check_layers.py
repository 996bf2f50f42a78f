#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every include under src/ points down the list of layers in cmake/WeirLayers.cmake, and that every source
file carries its licence line."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def layers() -> list[str]:
    text = (ROOT / "cmake" / "WeirLayers.cmake").read_text()
    return re.search(r"set\(WEIR_LAYERS ([^)]*)\)", text).group(1).split()


def main() -> int:
    order = {name: position for position, name in enumerate(layers())}
    problems = []
    for path in sorted((ROOT / "src").rglob("*")):
        if path.suffix not in {".h", ".cc"}:
            continue
        own = path.relative_to(ROOT / "src").parts[0]
        text = path.read_text()
        if "SPDX-License-Identifier: Apache-2.0" not in text.splitlines()[0]:
            problems.append(f"{path.relative_to(ROOT)}: the first line is not the licence line")
        is_test = path.stem.endswith(("_test", "_benchmark")) or "testing" in path.parts
        for number, line in enumerate(text.splitlines(), 1):
            included = re.match(r'#include "([a-z_]+)/', line)
            if not included or included.group(1) not in order:
                continue
            other = included.group(1)
            if order[other] > order[own] and not is_test:
                problems.append(f"{path.relative_to(ROOT)}:{number}: layer '{own}' includes '{other}', which lies above it")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


sys.exit(main())
