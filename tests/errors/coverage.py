#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""That each error message is asserted by a test.

    coverage.py SOURCE_FOLDER

Every message of the sources (the format strings of fail(), Status(), refuse() and their like, or after a StatusCode, in
src, tools and libraries) has fixed parts between its values. A message counts as asserted where a test, messages.txt or
another table of expected answers has

  - all of its fixed parts in their order, in one string: the message as a whole;
  - or 24 characters of a fixed part, from the beginning of a word, that no other message of the tree has.

What another message fits better says nothing of it: 'The {} is ({}).' is not asserted by the text of 'The step of a
range is ({}).' where that is a message too. Places that give the same message count as one. A message that no test asserts is
named with its file, and fails the test: write the test beside the source, or, where nothing can provoke it, let the
message go.
"""
import argparse
import pathlib
import re
import sys

CALL = re.compile(r"\b(?:(?:fail|weir::fail|refuse|unsupported|Status|no_memory|damaged|wrong|file_error|broken)\s*\("
                  r"|StatusCode::k\w+,)")
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
STRETCH = 24  # characters of a fixed part that say which message it is


def unescape(text):
    return text.replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\")


def messages_of(text):
    """The format strings of the calls: adjacent literals joined, sentences only."""
    text = re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE)
    found = []
    for call in CALL.finditer(text):
        position, depth, literals, last = call.end(), 1, [], None
        while position < len(text) and depth > 0:
            character = text[position]
            if character == '"':
                literal = LITERAL.match(text, position)
                if literal is None:
                    break
                between = text[last:position] if last is not None else ""
                if last is not None and between.strip() == "":
                    literals[-1] += unescape(literal.group(1))
                else:
                    literals.append(unescape(literal.group(1)))
                position = last = literal.end()
                continue
            if text.startswith("//", position):
                position = text.find("\n", position)
                continue
            if character in "({[":
                depth += 1
            elif character in ")}]":
                depth -= 1
            elif character == ";" and depth <= 1:
                break
            position += 1
        first = True
        for literal in literals:
            if len(literal) >= 20 and " " in literal and literal[0].isalpha() | (literal[0] in "'{"):
                if literal.endswith((".", ".)")) or first and "{" in literal:
                    found.append(literal)
                    first = False
    return found


def fixed_parts(message):
    parts = re.split(r"\{[^{}]*\}", message.replace("{{", "\1").replace("}}", "\2"))
    return [part.replace("\1", "{").replace("\2", "}") for part in parts]


def pattern_of(message):
    """What fits the message with any values, within one string."""
    parts = fixed_parts(message)
    while parts and not parts[0]:
        parts.pop(0)
    while parts and not parts[-1]:
        parts.pop()
    return re.compile(r'[^"\n]*?'.join(re.escape(part) for part in parts))


def stretches_of(message):
    for part in fixed_parts(message):
        part = part.strip()
        for start in [0] + [match.end() for match in re.finditer(" ", part)]:
            if len(part) - start >= STRETCH:
                yield part[start:start + STRETCH]


def is_asserted(message, messages, tests):
    pattern = pattern_of(message)
    better = [other for other in messages if other != message and pattern.search(other)]
    for other in better:
        tests = pattern_of(other).sub('"', tests)
    if pattern.search(tests):
        return True
    return any(stretch in tests and not any(stretch in other for other in messages if other != message)
               for stretch in stretches_of(message))


def joined_literals(text):
    """A test's text with adjacent literals joined, so that a message split over lines is found whole."""
    return unescape(re.sub(r'"\s*\n\s*"', "", text))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=pathlib.Path)
    arguments = parser.parse_args()
    source = arguments.source
    sources, asserted = [], []
    for root in ("src", "tools", "libraries"):
        for file in sorted((source / root).rglob("*")):
            if file.suffix not in (".cc", ".h", ".c"):
                continue
            if file.stem.endswith("_test") or "testing" in file.parts:
                asserted.append(joined_literals(file.read_text()))
            elif not file.name.endswith("_benchmark.cc"):
                sources.append(file)
    for file in sorted((source / "tests").rglob("*")):
        if file.suffix in (".cc", ".h", ".py", ".txt", ".c") and file.name != "coverage.py":
            asserted.append(joined_literals(file.read_text()))
    for file in sorted((source / "tools").rglob("*.py")):
        asserted.append(joined_literals(file.read_text()))
    tests = "\n".join(asserted)

    found = [(file, message) for file in sources for message in messages_of(file.read_text())]
    messages = sorted({message for _, message in found})
    unasserted = {message for message in messages if not is_asserted(message, messages, tests)}
    missing = [f"{file.relative_to(source)}: {message}".replace("\n", "\\n") for file, message in found
               if message in unasserted]
    missing = sorted(set(missing))
    for line in missing:
        print(f"asserted by no test: {line}")
    print(f"{len(messages)} messages, {len(messages) - len(unasserted)} asserted by tests")
    return 1 if missing or len(messages) < 300 else 0


if __name__ == "__main__":
    sys.exit(main())
