#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the documents say that `weir` answers is what it answers, word by word and byte by byte.

    transcripts.py ROOT --weir build/weir --work DIR [--models DIR…] [--record]

A transcript is an indented block of README.md or docs/ with lines "$ weir …", each followed by the whole answer: an
error where the command fails, and then no result, else all that it prints. The commands run in DIR among the files of
transcript_models.py. --record writes into the documents what is answered now: read the difference before you keep it.

Without the onnx package the test is skipped (exit status 77)."""
import argparse
import difflib
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

try:
    import transcript_models
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

INDENT = "    "
COMMAND = INDENT + "$ weir "

# Commands whose answer holds sizes of a large model, which takes the place of the small one of that name: its file in a
# folder of --models. Without it the command is not run, and the test says so.
LARGE = {
    "compile minilm.onnx -o minilm.weir --memory-limit 100M --dim batch=1..4 --dim seq=1..128": "minilm_l6_fp32.onnx",
}


def transcripts(lines):
    """[(command, index of the first line of its answer, index after its last)] of a document."""
    found = []
    index = 0
    while index < len(lines):
        if not lines[index].startswith(COMMAND):
            index += 1
            continue
        command = lines[index][len(COMMAND):]
        first = index = index + 1
        while index < len(lines) and lines[index].startswith(INDENT) and not lines[index].startswith(COMMAND):
            index += 1
        found.append((command, first, index))
    return found


class Runner:
    def __init__(self, weir, work, models):
        self.weir = weir
        self.work = work
        self.models = models
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith("WEIR_")}
        self.environment["WEIR_CACHE"] = str(work / "cache")

    def run(self, command, folder):
        return subprocess.run([self.weir, *shlex.split(command)], cwd=folder, env=self.environment, capture_output=True,
                              text=True)

    def prepare(self):
        """The programs that the transcripts name."""
        result = self.run("compile matmul.onnx -o m.weir --dim rows=1..2", self.work)
        assert result.returncode == 0, result.stderr
        program = (self.work / "m.weir").read_bytes()
        (self.work / "cut.weir").write_bytes(program[:3000])
        weights = program.index(transcript_models.weights()[0].tobytes())
        (self.work / "damaged.weir").write_bytes(program[:weights] + b"?" + program[weights + 1:])

    def folder_of(self, command):
        """Where the command runs, or nothing where it needs what is not there."""
        if command not in LARGE:
            return self.work
        large = next((folder / LARGE[command] for folder in self.models if (folder / LARGE[command]).is_file()), None)
        if large is None:
            return None
        folder = self.work / "large"
        folder.mkdir(exist_ok=True)
        name = next(word for word in shlex.split(command) if word.endswith(".onnx"))
        if not (folder / name).exists():
            (folder / name).symlink_to(large.resolve())
        return folder

    def answer(self, command, folder):
        """The lines that a reader sees, and what is wrong with how the command ended."""
        result = self.run(command, folder)
        failed = result.stderr.startswith("weir: error:")
        wrong = []
        if failed != (result.returncode in (1, 2)):
            wrong.append(f"exits with {result.returncode}")
        if failed and result.stdout:
            wrong.append(f"fails and prints {result.stdout[:200]!r}")
        return (result.stdout + result.stderr).rstrip("\n").split("\n"), wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--weir", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--models", type=pathlib.Path, nargs="*", default=[])
    parser.add_argument("--record", action="store_true")
    arguments = parser.parse_args()
    work = pathlib.Path(arguments.work).resolve()
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    transcript_models.make(work)
    runner = Runner(str(pathlib.Path(arguments.weir).resolve()), work, arguments.models)
    runner.prepare()

    compared, failures, seen = 0, 0, set()
    for document in [arguments.root / "README.md", *sorted((arguments.root / "docs").rglob("*.md"))]:
        lines = document.read_text().split("\n")
        recorded = list(lines)
        for command, first, end in reversed(transcripts(lines)):
            seen.add(command)
            folder = runner.folder_of(command)
            if folder is None:
                print(f"not run: 'weir {command}' needs '{LARGE[command]}'")
                continue
            said, wrong = runner.answer(command, folder)
            said = [(INDENT + line).rstrip() for line in said]
            compared += 1
            agrees = lines[first:end] == said
            if agrees and not wrong:
                continue
            failures += 1
            print(f"FAIL {document.name}, line {first}: weir {command}", *wrong, sep="\n    ")
            if not agrees:
                print("\n".join(difflib.ndiff(lines[first:end], said)))
                recorded[first:end] = said
        if arguments.record and recorded != lines:
            document.write_text("\n".join(recorded))
    for command in sorted(LARGE.keys() - seen):
        failures += 1
        print(f"FAIL no document has the transcript 'weir {command}'")
    print(f"{compared} transcripts, {failures} failures")
    return 1 if failures and not arguments.record else 0


sys.exit(main())
