# SPDX-License-Identifier: Apache-2.0
"""Runs `weir bench --profile` on a network whose work is known by hand, and checks its figures.

    python check_profile.py WEIR BUILD_FOLDER

Exit code 77 (skipped) when there is no onnx.
"""
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


def network(path):
    """y = softmax(flatten(relu(conv 3×3 of 8 to 16 channels at 12×10)) · w)"""
    random = numpy.random.default_rng(1)
    weight = lambda name, *shape: numpy_helper.from_array(random.standard_normal(shape, numpy.float32), name)
    nodes = [helper.make_node("Conv", ["x", "k", "b"], ["c"], "convolve", pads=[1, 1, 1, 1]),
             helper.make_node("Relu", ["c"], ["r"], "relu"),
             helper.make_node("Flatten", ["r"], ["f"], "flatten"),
             helper.make_node("MatMul", ["f", "w"], ["m"], "product"),
             helper.make_node("Softmax", ["m"], ["y"], "softmax")]
    graph = helper.make_graph(nodes, "known",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8, 12, 10])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 20])],
                              [weight("k", 16, 8, 3, 3), weight("b", 16), weight("w", 1920, 20)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)


class Profile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        path = FOLDER / "known.onnx"
        network(path)
        environment = os.environ | {"WEIR_CACHE": str(FOLDER / "cache")}
        run = lambda *options: subprocess.run(
            [WEIR, "bench", str(path), "--runs", "5", "--threads", "1", "--profile", *options],
            env=environment, check=True, capture_output=True, text=True).stdout
        cls.report = json.loads(run("--json"))
        cls.text = run()

    def by_op(self, op):
        (step,) = [step for step in self.report["profile"] if step["op"] == op]
        return step

    def test_counts_flops_and_bytes(self):
        elements = 16 * 12 * 10
        convolution = self.by_op("Conv")
        self.assertEqual(convolution["flops"], elements * (2 * 8 * 9 + 1 + 1))  # bias and relu
        self.assertEqual(convolution["bytes_written"], elements * 4)
        # The constants are packed: at least the plain ones, at most twice these.
        plain = (16 * 8 * 9 + 16) * 4
        self.assertTrue(plain <= convolution["constant_bytes"] <= 2 * plain, convolution)
        self.assertEqual(convolution["bytes_read"], 8 * 12 * 10 * 4 + convolution["constant_bytes"])
        product = self.by_op("MatMul")
        self.assertEqual(product["flops"], 20 * 2 * 1920)
        self.assertEqual(product["bytes_written"], 20 * 4)
        self.assertEqual(product["bytes_read"], 1920 * 4 + product["constant_bytes"])
        softmax = self.by_op("Softmax")
        self.assertEqual((softmax["flops"], softmax["bytes_read"], softmax["bytes_written"]), (100, 80, 80))

    def test_rates_and_verdicts_follow_from_the_parts(self):
        peaks = self.report["peaks"]
        for step in self.report["profile"]:
            bytes_moved = step["bytes_read"] + step["bytes_written"]
            self.assertGreater(step["ms"], 0)
            self.assertAlmostEqual(step["gflops_per_s"], step["flops"] / step["ms"] * 1e-6)
            self.assertAlmostEqual(step["gbytes_per_s"], bytes_moved / step["ms"] * 1e-6)
            self.assertAlmostEqual(step["arithmetic_limit_ms"], step["flops"] / peaks["gflops_per_s"] * 1e-6)
            limit = max(step["arithmetic_limit_ms"], step["bandwidth_limit_ms"])
            self.assertAlmostEqual(step["efficiency"], limit / step["ms"])
            if step["ms"] * 1e3 < 4 * peaks["launch_us"]:
                expected = "launch"
            elif step["efficiency"] < 0.5:
                expected = "neither"
            else:
                expected = "arithmetic" if limit == step["arithmetic_limit_ms"] else "bandwidth"
            self.assertEqual(step["bound"], expected)
        speeds = [stream["gbytes_per_s"] for stream in peaks["streams"]]
        self.assertTrue(all(speed > 0 for speed in speeds))

    def test_totals_are_the_sums(self):
        for key, name in (("op", "operators"), ("implementation", "implementations")):
            totals = self.report["profile_totals"][name]
            self.assertEqual(sum(total["steps"] for total in totals), len(self.report["profile"]))
            for total in totals:
                steps = [step for step in self.report["profile"] if step[key] == total[key]]
                self.assertEqual(total["flops"], sum(step["flops"] for step in steps))
                self.assertAlmostEqual(total["ms"], sum(step["ms"] for step in steps))

    def test_the_table_is_sorted_by_time(self):
        table = self.text[self.text.index("bound by"):]
        rows = table.splitlines()[2:2 + len(self.report["profile"])]
        times = [float(row.split()[0]) for row in rows]
        self.assertEqual(times, sorted(times, reverse=True))
        self.assertIn("peaks measured in this run", self.text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
