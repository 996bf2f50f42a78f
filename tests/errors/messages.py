#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every message that the command line gives for a bad command, file or tensor, word by word.

    messages.py --weir build/weir --work DIR [--record]

messages.txt is the table: a command after '$', all that it prints to standard error, its exit code. The commands run
inside DIR, where bad_models.py makes their files, so that no message holds a path of a machine; they print nothing to
standard output. --record writes the table anew from what is said now: read the difference before you keep it.
"""
import argparse
import difflib
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

TABLE = pathlib.Path(__file__).parent / "messages.txt"


def read_table():
    """[(heading lines before it, command, message, exit code)]"""
    cases = []
    heading, command, message = [], None, []
    for line in TABLE.read_text().splitlines():
        if command is None:
            if line.startswith("$ weir"):
                command = line[len("$ weir "):]
            else:
                heading.append(line)
        elif line.startswith("exit "):
            cases.append((heading, command, "\n".join(message), int(line.split()[1])))
            heading, command, message = [], None, []
        else:
            message.append(line)
    assert command is None, f"'{command}' has no exit code"
    return cases


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weir", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--record", action="store_true")
    arguments = parser.parse_args()
    try:
        import bad_models
    except ImportError as error:
        print(f"SKIP: {error}")
        return 77
    work = pathlib.Path(arguments.work).resolve()
    shutil.rmtree(work, ignore_errors=True)
    bad_models.make(work)
    environment = os.environ | {"WEIR_CACHE": str(work / "cache")}
    weir = str(pathlib.Path(arguments.weir).resolve())
    for model, options in (("words", []), ("relu", []), ("open_image", []), ("two_layers", []),
                           ("two_inputs", [])):  # programs for the cases that take one
        subprocess.run([weir, "compile", f"{model}.onnx", "-o", f"{model}.weir", *options], cwd=work, env=environment,
                       stdout=subprocess.DEVNULL, check=True)

    failures = 0
    recorded = []
    cases = read_table()
    for heading, command, wanted, wanted_code in cases:
        result = subprocess.run([weir, *shlex.split(command)], cwd=work, env=environment, capture_output=True, text=True)
        said = result.stderr.rstrip("\n")
        recorded += [*heading, f"$ weir {command}", said, f"exit {result.returncode}"]
        if (said, result.returncode, result.stdout) != (wanted, wanted_code, ""):
            failures += 1
            print(f"FAIL weir {command}")
            for line in difflib.ndiff([*wanted.splitlines(), f"exit {wanted_code}"],
                                      [*said.splitlines(), f"exit {result.returncode}"]):
                print("   ", line)
            if result.stdout:
                print("    and prints", result.stdout[:200])
    if arguments.record:
        TABLE.write_text("\n".join(recorded) + "\n")
    print(f"{len(cases)} messages, {failures} failures")
    return 1 if failures and not arguments.record else 0


sys.exit(main())
