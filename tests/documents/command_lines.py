#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each `weir COMMAND … --option` that README.md or a document shows names a command and options that there are.

    command_lines.py ROOT WEIR

Lines of blocks that begin with `weir` are looked at to their end, and so is code in the text. Lines "$ weir …" are run
by transcripts.py."""
import pathlib
import re
import subprocess
import sys

root, weir = pathlib.Path(sys.argv[1]), sys.argv[2]


def help_of(*command):
    return subprocess.run([weir, *command, "--help"], check=True, capture_output=True, text=True).stdout


def options_in(text):
    return re.findall(r"(?<![\w-])--[a-z][a-z-]*", text)


commands = re.findall(r"^  ([a-z]+) ", help_of().split("Subcommands:")[1], re.M)
options = {command: set(options_in(help_of(command).split("Options:")[1])) for command in commands}
shown, failures = 0, []
for document in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
    text = document.read_text()
    lines = re.findall(r"^ *(?:[\w./$]*/)?weir +([a-z]+)\b(.*)$", text, re.M)
    prose = re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S)
    for span in re.findall(r"`((?:[\w./]*/)?weir +[a-z][^`]*)`", prose):
        lines += re.findall(r"weir +([a-z]+)\b(.*)", span, re.S)
    for command, rest in lines:
        if command == "help":
            continue
        shown += 1
        if command not in options:
            failures.append(f"{document.name}: 'weir {command}{rest}' is no command ({', '.join(commands)}).")
            continue
        for option in options_in(rest):
            if option not in options[command]:
                failures.append(f"{document.name}: 'weir {command}{rest}' has '{option}', which there is not.")
for failure in failures:
    print("FAIL", failure)
print(f"{shown} command lines, {len(failures)} failures")
if shown < 20:
    print("FAIL Fewer command lines were found than the documents show.")
sys.exit(1 if failures or shown < 20 else 0)
