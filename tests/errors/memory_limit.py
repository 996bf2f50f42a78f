#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A limit of exactly the planned bytes is enough, one byte less is not: as an option and in the environment.

    memory_limit.py --weir build/weir --work DIR
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weir", required=True)
    parser.add_argument("--work", required=True)
    arguments = parser.parse_args()
    try:
        import bad_models
    except ImportError as error:
        print(f"SKIP: {error}")
        return 77
    work = pathlib.Path(arguments.work).resolve()
    shutil.rmtree(work, ignore_errors=True)
    bad_models.make(work)
    weir = str(pathlib.Path(arguments.weir).resolve())
    clean = {name: value for name, value in os.environ.items() if name != "WEIR_MEMORY_LIMIT"}

    def call(*command, limit=None):
        environment = clean | {"WEIR_CACHE": str(work / "cache")} | ({"WEIR_MEMORY_LIMIT": limit} if limit else {})
        return subprocess.run([weir, *command], cwd=work, env=environment, capture_output=True, text=True)

    failures = []

    def expect(holds, what, result):
        if not holds:
            failures.append(what)
            print(f"FAIL {what}: exit {result.returncode}\n{result.stdout[-300:]}\n{result.stderr}")

    ledger = json.loads(call("plan", "two_layers.onnx", "--json").stdout)["planned"]
    total = ledger["total"]
    run = ("run", "two_layers.onnx", "--random", "1")
    plan = ("plan", "two_layers.onnx")
    enough, short = str(total), str(total - 1)
    for command in (run, plan):
        name = command[0]
        for how, limited in (("option", lambda bytes: call(*command, "--memory-limit", bytes)),
                             ("environment", lambda bytes: call(*command, limit=bytes))):
            fits = limited(enough)
            expect(fits.returncode == 0, f"{name} within a limit of its plan ({how})", fits)
            fails = limited(short)
            expect(fails.returncode == 1 and f"({short})" in fails.stderr, f"{name} one byte over ({how})", fails)
            expect((fails.stdout == "") == (name == "run"), f"{name} prints its result first ({how})", fails)
        over = call(*command, "--memory-limit", enough, limit="1K")
        expect(over.returncode == 0, f"{name}: the option is stronger than the environment", over)
    fails = call(*run, "--memory-limit", short)
    holders = [line.split() for line in fails.stderr.splitlines() if "' of" not in line and " of " in line]
    sizes = [int(line[0]) for line in holders if line and line[0].isdigit()]
    expect(len(sizes) > 2 and sizes == sorted(sizes, reverse=True), "holders, largest first", fails)
    expect("of request 1 of net'" in fails.stderr, "holders by names that a user knows", fails)
    fails = call(*plan, "--memory-limit", "100")
    expect("The plan takes (" in fails.stderr and f"({total - 100}) more" in fails.stderr, "plan says how much more", fails)
    listed = call("devices", "--json", limit=short)
    expect(listed.returncode == 0 and json.loads(listed.stdout)["devices"][0]["memory_limit_bytes"] == total - 1,
           "devices shows the limit", listed)
    print(f"planned {total}: {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
