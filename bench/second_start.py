#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processor time from the start of a process to a first result, when the model was compiled before.

    second_start.py --build build --model mobilenet_v2.onnx [--dim N=1] [--threads 2] [--rounds 15] [--limit-ms 40]

Processor time is what the system counts for the process (user and system, all threads, from exec on, linking included).
The files are in the page cache: the first round is not counted. The programs take turns:

    nothing        weir --version: a process, its libraries, and no network
    cached model   weir run MODEL, which finds the program in its cache
    program file   weir run PROGRAM.weir
    library        bench/first_result.cpp over libweir_runtime, built here

Then the parts of one run of the program file, from its trace, in wall time. The exit code is 1 where the median of the
cached model or of the library is above the limit, and 77 where there is no model. Of several models the first that is
there is taken.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def once(command, environment):
    """(processor ms, wall ms)"""
    begin = time.perf_counter()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - begin
    if status != 0:
        sys.exit(f"'{' '.join(map(str, command))}' ends with {status}.")
    process.returncode = 0
    return (usage.ru_utime + usage.ru_stime) * 1e3, wall * 1e3


def build_library_program(build, folder, compiler):
    program = folder / "first_result"
    subprocess.run([compiler, "-std=c++17", "-O2", f"-I{ROOT / 'include'}", str(ROOT / "bench/first_result.cpp"),
                    f"-L{build}", "-lweir_runtime", f"-Wl,-rpath,{build}", "-o", str(program)], check=True)
    return program


def parts(path):
    """[(depth, name, ms)] of the main thread, in order."""
    document = json.loads(path.read_text())
    names = {(event["pid"], event["tid"]): event["args"]["name"] for event in document["traceEvents"]
             if event["ph"] == "M" and event["name"] == "thread_name"}
    open_ends, result = [], []
    for event in document["traceEvents"]:
        if event["ph"] != "X" or names[event["pid"], event["tid"]] != "main" or "run" in event["args"]:
            continue
        while open_ends and open_ends[-1] <= event["ts"]:
            open_ends.pop()
        result.append((len(open_ends), event["name"], event["dur"] / 1e3))
        open_ends.append(event["ts"] + event["dur"])
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--model", required=True, nargs="+")
    parser.add_argument("--dim", action="append", default=[])
    parser.add_argument("--threads", default="2")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--limit-ms", type=float, default=0)
    parser.add_argument("--compiler", default="c++")
    arguments = parser.parse_args()
    model = next((path for path in arguments.model if pathlib.Path(path).is_file()), None)
    if model is None:
        print(f"SKIP: there is no file {' and no file '.join(arguments.model)}")
        return 77
    build = pathlib.Path(arguments.build).resolve()
    weir = str(build / "weir")
    dims = [option for dim in arguments.dim for option in ("--dim", dim)]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        environment = os.environ | {"WEIR_CACHE": str(folder / "cache")}
        program = folder / "model.weir"
        subprocess.run([weir, "compile", model, "-o", str(program), *dims], env=environment, check=True,
                       stdout=subprocess.DEVNULL)
        run = ["--random", "1", "--threads", arguments.threads]
        commands = {"nothing": [weir, "--version"],
                    "cached model": [weir, "run", model, *run, *dims],
                    "program file": [weir, "run", str(program), *run],
                    "library": [str(build_library_program(build, folder, arguments.compiler)), str(program)]}
        times = {command: [] for command in commands}
        for round_number in range(arguments.rounds + 1):
            for command, line in commands.items():
                measured = once(line, environment)
                if round_number > 0:
                    times[command].append(measured)
        print(f"{'':14}{'processor ms: median':>22}{'least':>8}{'wall ms: median':>18}{'least':>8}")
        for command, measured in times.items():
            processor, wall = zip(*measured)
            print(f"{command:14}{statistics.median(processor):22.1f}{min(processor):8.1f}"
                  f"{statistics.median(wall):18.1f}{min(wall):8.1f}")
        trace = folder / "trace.json"
        subprocess.run([*commands["program file"], "--trace", str(trace)], env=environment, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        print("\nparts of 'weir run PROGRAM.weir', wall ms:")
        for depth, part, milliseconds in parts(trace):
            print(f"{milliseconds:9.3f}  {'  ' * depth}{part}")
        worst = max(statistics.median(time for time, _ in times[key]) for key in ("cached model", "library"))
    if 0 < arguments.limit_ms < worst:
        print(f"\nThe limit is ({arguments.limit_ms:g}) ms of processor time, and the median is ({worst:.1f}) ms.")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
