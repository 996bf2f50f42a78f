#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy over every C and C++ source of the tree, in parallel, and prints what it finds.

    lint.py BUILD [--jobs N] [--only REGEX] [FILE...]

BUILD holds compile_commands.json. A file that was clean is not looked at again until it, a header of ours that it includes
(however indirectly), its compile command, a .clang-tidy above it or the version of clang-tidy changes: BUILD/lint holds an
empty file for each clean state.
"""
import argparse
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TIDY = "clang-tidy-19"
INCLUDE = re.compile(rb'^\s*#\s*include\s*(?:"([^"]+)"|<(weir/[^>]+)>)', re.MULTILINE)
# Where a source has no compile command in this build (the fuzzers' programs are clang's).
PLAIN = {".cc": ["-std=c++23"], ".cpp": ["-std=c++17"], ".c": ["-std=c11"]}
# What a build would define for such a source: one of several.
DEFINED = {"tests/fuzz/fuzzer.cc": ['-DWEIR_FUZZ_ENTRY="onnx_entry.h"', '-DWEIR_FUZZ_MUTATOR="onnx_mutator.h"']}


@functools.cache
def content(path: pathlib.Path) -> bytes:
    return path.read_bytes()


@functools.cache
def headers(path: pathlib.Path) -> tuple[pathlib.Path, ...]:
    found = []
    for quoted, angled in INCLUDE.findall(content(path)):
        name = (quoted or angled).decode()
        for folder in (path.parent, ROOT / "src", ROOT / "include", ROOT):
            if (folder / name).is_file():
                found.append((folder / name).resolve())
                break
    return tuple(found)


def reached(path: pathlib.Path) -> list[pathlib.Path]:
    seen, open_paths = {path}, [path]
    while open_paths:
        for header in headers(open_paths.pop()):
            if header not in seen:
                seen.add(header)
                open_paths.append(header)
    return sorted(seen)


def key_of(path: pathlib.Path, command: str, common: bytes) -> str:
    digest = hashlib.sha256(common)
    digest.update(command.encode())
    for folder in path.relative_to(ROOT).parents:
        if (ROOT / folder / ".clang-tidy").is_file():
            digest.update(content(ROOT / folder / ".clang-tidy"))
    for each in reached(path):
        digest.update(str(each).encode() + b"\0" + content(each))
    return digest.hexdigest()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--only", default="", help="look at paths that match this alone")
    parser.add_argument("files", nargs="*")
    arguments = parser.parse_intermixed_args()
    build = pathlib.Path(arguments.build).resolve()
    clean = build / "lint"
    clean.mkdir(exist_ok=True)
    commands = {entry["file"]: entry["command"]
                for entry in json.loads((build / "compile_commands.json").read_text())}
    names = arguments.files or subprocess.run(["git", "ls-files", "*.cc", "*.cpp", "*.c"], cwd=ROOT, check=True,
                                              capture_output=True, text=True).stdout.split()
    version = subprocess.run([TIDY, "--version"], check=True, capture_output=True).stdout
    common = version + json.dumps([PLAIN, DEFINED]).encode()
    work = []
    for name in names:
        path = (ROOT / name).resolve()
        if not re.search(arguments.only, name):
            continue
        # Where the tree and the build lie says nothing about what is found.
        command = commands.get(str(path), "").replace(str(build), "BUILD").replace(str(ROOT), "ROOT")
        key = key_of(path, command, common)
        if not (clean / key).exists():
            work.append((name, path, key))
    print(f"{len(names)} files, {len(work)} to look at", flush=True)

    def look(job):
        name, path, key = job
        command = [TIDY, "--quiet", str(path)]
        if str(path) in commands:
            command += ["-p", str(build)]
        else:
            defined = DEFINED.get(str(path.relative_to(ROOT)), ())
            command += ["--", *PLAIN[path.suffix], *defined, f"-I{ROOT}/src", f"-I{ROOT}/include", f"-I{ROOT}"]
        result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if result.returncode == 0:
            (clean / key).touch()
            return name, ""
        noise = re.compile(r"^\d+ (warnings|errors?)|^Suppressed|^Use -|^\[\d+/\d+\]|warnings? treated as errors?$")
        errors = "\n".join(line for line in result.stderr.splitlines() if not noise.match(line))
        return name, result.stdout.replace(f"{ROOT}/", "") + errors

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for name, found in pool.map(look, work):
            if found:
                failed += 1
                print(f"== {name}\n{found}", flush=True)
    print(f"{failed} of {len(work)} files have findings" if failed else "Nothing found.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
