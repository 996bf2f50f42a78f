# SPDX-License-Identifier: Apache-2.0
"""Checks the cases that dim_cases writes with Python's integers, which do not overflow.

Usage: dim_oracle.py DIM_CASES FILE

Runs the program DIM_CASES to write FILE, then checks of each case that

- the expression as it was written has the value that its Dim has, wherever it has one;
- simplifying adds no error but an overflow: what the expression computes, its Dim computes or overflows;
- the range holds the value, also one that does not fit in 64 bits;
- the table's entries, evaluated here, have the values that they have there, or fail likewise.
"""

import json
import math
import subprocess
import sys

INT64 = range(-(2**63), 2**63)


class Failure(Exception):
    """An operation without a value: `kind` is "range" where it does not fit, else "argument"."""

    def __init__(self, kind):
        super().__init__(kind)
        self.kind = kind


def divisor(value):
    if value == 0:
        raise Failure("argument")
    return value


def exact(a, b):
    quotient, remainder = divmod(a, divisor(b))
    if remainder != 0:
        raise Failure("argument")
    return quotient


def scaled(a, scale):
    try:
        return math.floor(float(a) * float(scale))
    except (OverflowError, ValueError) as error:
        raise Failure("range") from error


OPERATIONS = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "floor_div": lambda a, b: a // divisor(b),
    "ceil_div": lambda a, b: -(-a // divisor(b)),
    "exact_div": exact,
    "mod": lambda a, b: a % divisor(b),
    "min": min,
    "max": max,
    "equal": lambda a, b: int(a == b),
    "less": lambda a, b: int(a < b),
    "not": lambda a: int(a == 0),
    "select": lambda a, b, c: b if a != 0 else c,
}
ARITY = {"not": 1, "select": 3, "floor_scale": 1}


def value_of(expression, symbols):
    if isinstance(expression, int):
        return expression
    name, *operands = expression
    if name == "symbol":
        return symbols[operands[0]]
    if name == "floor_scale":
        return scaled(value_of(operands[0], symbols), operands[1])
    return OPERATIONS[name](*(value_of(operand, symbols) for operand in operands))


def values_of_table(table, symbols):
    """Every step within 64 bits, as the program file's table is evaluated."""
    values = []
    for name, a, b, c, value, scale in table:
        if name == "symbol":
            value = symbols[value]
        elif name == "floor_scale":
            value = scaled(values[a], scale)
        elif name != "constant":
            value = OPERATIONS[name](*(values[i] for i in (a, b, c)[: ARITY.get(name, 2)]))
        if value not in INT64:
            raise Failure("range")
        values.append(value)
    return values


def outcome(function, *arguments):
    """The value and no failure, or no value and its kind."""
    try:
        return function(*arguments), None
    except Failure as failure:
        return None, failure.kind


def problems(case):
    expected, _ = outcome(value_of, case["expr"], case["symbols"])
    if expected is not None:
        if "value" in case and case["value"] != expected:
            yield f"has the value {case['value']}, expected {expected}"
        if case.get("error") == "argument":
            yield f"fails, expected {expected}"
        low, high = case["range"]
        if (low is not None and expected < low) or (high is not None and expected > high):
            yield f"has the range [{low}, {high}], which does not hold {expected}"
    values, _ = outcome(values_of_table, case["table"], case["symbols"])
    if values != case.get("entries"):
        yield f"has entries {case.get('entries')}, expected {values}"
    entry = None if values is None else values[case["position"]]
    if entry != case.get("value"):
        yield f"has the value {case.get('value')}, and its table entry {entry}"


def main():
    program, path = sys.argv[1:]
    subprocess.run([program, path], check=True)
    cases = failed = compared = overflown = 0
    names = set()
    with open(path, encoding="utf-8") as file:
        for line in file:
            case = json.loads(line)
            cases += 1
            names.add(case["name"])
            compared += "value" in case
            overflown += case.get("error") == "range"
            for problem in problems(case):
                failed += 1
                print(f"Case {cases} ({case['name']}): {case['expr']} at {case['symbols']} {problem}.")
    print(f"{cases} cases of {len(names)} kinds: {compared} values, {overflown} overflows, {failed} failures.")
    # Fewer would mean that the cases no longer test what they were written for.
    return 0 if failed == 0 and compared > 5000 and overflown > 100 and len(names) > 20 else 1


if __name__ == "__main__":
    sys.exit(main())
