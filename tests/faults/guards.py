# SPDX-License-Identifier: Apache-2.0
#
# Checks that no exception can leave the C interface: every function of it that returns a status is a function try
# block that ends in caught(), and the header's functions and the definitions found are the same.
#
#   guards.py SOURCE_FOLDER
import pathlib
import re
import sys

source = pathlib.Path(sys.argv[1])
declared = set()
for header in sorted((source / "include/weir").glob("*.h")):
    declared |= set(re.findall(r"^WEIR_API WEIR_MUST_USE weir_status\* (weir_\w+)\(", header.read_text(), re.M))
defined = set()
unguarded = []
files = sorted((source / "src/api_runtime").glob("*.cc")) + sorted((source / "src/api").glob("*.cc"))
for file in files:
    text = file.read_text()
    for match in re.finditer(r'^(?:extern "C" )?weir_status\* (weir_\w+)\([^{;]*\{\n(.*?)^\}(.*?)$', text, re.M | re.S):
        name, body, after = match.groups()
        defined.add(name)
        header = match.group(0)[: match.group(0).index("{")]
        forwards = re.fullmatch(r"\s*return weir::api::\w+\([^;]*\);\s*", body)  # whose body is guarded
        if not forwards and not (header.rstrip().endswith("try") and " catch (...) {" in after):
            unguarded.append(f"{file.relative_to(source)}: {name}")
for line in unguarded:
    print(f"not guarded: {line}")
for name in sorted(declared - defined):
    print(f"declared and not found: {name}")
print(f"{len(defined)} functions return a status")
sys.exit(1 if unguarded or declared - defined or len(defined) < 50 else 0)
