# SPDX-License-Identifier: Apache-2.0
"""Runs commands with --trace and checks what they wrote: the format, lanes, nesting, sums and clock.

    python check_trace.py WEIR BUILD_FOLDER

Exit code 77 (skipped) when there is no onnx.
"""
import collections
import json
import os
import pathlib
import subprocess
import sys
import unittest

try:
    import numpy
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    print(f"SKIPPED: {error}; install onnx for {sys.executable}.")
    sys.exit(77)

WEIR, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
HOST, DEVICE = 1, 2


def network(path):
    """Two convolutions that can run at the same time, side by side in one tensor, and its pool."""
    random = numpy.random.default_rng(1)
    weight = lambda name, *shape: numpy_helper.from_array(random.standard_normal(shape, numpy.float32), name)
    nodes = [helper.make_node("Conv", ["x", "a"], ["left"], "left \"branch\"", pads=[1, 1, 1, 1]),
             helper.make_node("Conv", ["x", "b"], ["right"], "right branch"),
             helper.make_node("Concat", ["left", "right"], ["both"], "both", axis=1),
             helper.make_node("MaxPool", ["both"], ["y"], "pool", kernel_shape=[2, 2], strides=[2, 2])]
    shape = lambda channels, size: [1, channels, size, size]
    graph = helper.make_graph(nodes, "branches",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape(16, 32))],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape(48, 16))],
                              [weight("a", 16, 16, 3, 3), weight("b", 32, 16, 1, 1)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


class Trace:
    def __init__(self, path):
        self.document = json.loads(path.read_text())  # strict: UTF-8, no trailing commas
        self.lanes = {}
        self.slices = collections.defaultdict(list)
        for event in self.document["traceEvents"]:
            if event["ph"] == "M":
                self.lanes.setdefault((event["pid"], event["tid"]), {})[event["name"]] = event["args"]["name"]
            else:
                self.slices[event["pid"], event["tid"]].append(event)

    def of(self, process):
        return [event for (pid, _), events in self.slices.items() if pid == process for event in events]

    def named(self, name):
        return [event for events in self.slices.values() for event in events if event["name"] == name]


# To the nanosecond, as they are written; sums of the parts as floats may differ by less.
def begin(event):
    return round(event["ts"] * 1000)


def end(event):
    return round(event["ts"] * 1000) + round(event["dur"] * 1000)


def within(inner, outer):
    return begin(outer) <= begin(inner) and end(inner) <= end(outer)


class Traces(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = FOLDER / "branches.onnx"
        network(cls.model)
        for path in FOLDER.glob("cache/*"):
            path.unlink()
        cls.first = cls.trace("run", "--random", "1")
        cls.second = cls.trace("run", "--random", "1")
        cls.bench = cls.trace("bench", "--runs", "5", "--json")
        cls.report = json.loads(cls.output)

    @classmethod
    def trace(cls, command, *options):
        path = FOLDER / f"{command}.json"
        path.unlink(missing_ok=True)
        done = subprocess.run([WEIR, command, str(cls.model), "--threads", "2", "--trace", str(path), *options],
                              env=os.environ | {"WEIR_CACHE": str(FOLDER / "cache")}, check=True,
                              capture_output=True, text=True)
        assert "ui.perfetto.dev" in done.stderr, done.stderr
        cls.output = done.stdout
        return Trace(path)

    def traces(self):
        return {"first": self.first, "second": self.second, "bench": self.bench}.items()

    def test_every_slice_has_a_named_lane_and_a_time(self):
        for name, trace in self.traces():
            self.assertEqual(trace.document["otherData"]["dropped_events"], "0", name)
            self.assertEqual(trace.lanes[HOST, 0]["process_name"], "host")
            for (pid, tid), events in trace.slices.items():
                self.assertIn("thread_name", trace.lanes[pid, tid], name)
                for event in events:
                    self.assertEqual(event["ph"], "X")
                    self.assertGreaterEqual(event["ts"], 0)
                    self.assertGreaterEqual(event["dur"], 0)
            self.assertIn("main", [lane["thread_name"] for lane in trace.lanes.values() if "thread_name" in lane])

    def test_slices_of_a_lane_are_in_order_and_nest(self):
        for name, trace in self.traces():
            for lane, events in trace.slices.items():
                open_slices = []
                last = 0
                for event in events:
                    self.assertGreaterEqual(begin(event), last, name)
                    last = begin(event)
                    while open_slices and end(open_slices[-1]) <= begin(event):
                        open_slices.pop()
                    if open_slices:
                        self.assertTrue(within(event, open_slices[-1]), (name, trace.lanes[lane], event, open_slices[-1]))
                    open_slices.append(event)

    def test_the_host_shows_the_way_to_the_first_result(self):
        compiled = {"weir run", "open model", "import", "parse", "compile", "fold-constants", "fuse-epilogue", "lower",
                    "emit", "place", "load session", "constants", "prepare", "run", "report"}
        self.assertLessEqual(compiled, {event["name"] for event in self.first.of(HOST)})
        names = {event["name"] for event in self.second.of(HOST)}
        self.assertNotIn("compile", names)
        self.assertIn("read program", names)
        (whole,) = self.second.named("weir run")
        for event in self.second.of(HOST):
            self.assertTrue(within(event, whole), event)

    def test_steps_lie_within_their_run_and_sum_up_to_it(self):
        for name, trace in self.traces():
            device = trace.of(DEVICE)
            runs = {event["args"]["run"]: event for event in device if event["name"] == "run"}
            host_runs = sorted((event for event in trace.of(HOST) if event["name"] == "run"), key=begin)[-len(runs):]
            self.assertEqual(len(runs), 20 if name == "bench" else 1)
            for (number, run), host_run in zip(sorted(runs.items()), host_runs):
                self.assertTrue(within(run, host_run), "the host's and the device's clock are one")
                steps = [event for event in device if event["name"] != "run" and event["args"]["run"] == number]
                self.assertLessEqual({"left \"branch\"", "right branch", "pool"}, {step["name"] for step in steps})
                for step in steps:
                    self.assertTrue(within(step, run))
                for key in ("flops", "bytes_read", "bytes_written", "busy_ns"):
                    self.assertEqual(run["args"][key], sum(step["args"][key] for step in steps), key)
                left = next(step for step in steps if step["name"] == "left \"branch\"")
                self.assertEqual(left["args"]["flops"], 16 * 32 * 32 * 2 * 16 * 9)
                self.assertEqual(left["args"]["op"], "Conv")
                self.assertTrue(left["args"]["implementation"].startswith("conv."), left)
                # What the threads did adds up to what the step took of them.
                for step in steps:
                    parts = [event for event in trace.of(HOST) if event["name"] == step["name"]
                             and event["args"].get("run") == number and within(event, step)]
                    self.assertGreaterEqual(len(parts), 1, step)
                    self.assertLessEqual(sum(part["args"]["busy_ns"] for part in parts), step["args"]["busy_ns"])

    def test_bench_says_what_tracing_costs(self):
        cost = self.report["trace"]
        self.assertEqual(cost["runs"], 20)
        self.assertGreater(cost["untraced_ms"], 0)
        self.assertGreater(cost["traced_ms"], 0)

    def test_a_file_that_cannot_be_written_is_an_error(self):
        done = subprocess.run([WEIR, "run", str(self.model), "--random", "1", "--trace", "/no/such/folder/t.json"],
                              env=os.environ | {"WEIR_CACHE": str(FOLDER / "cache")}, capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("while writing a trace", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
