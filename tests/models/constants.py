#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plain constants of real models: packed when a program is loaded, and given other values.

    constants.py --weir build/weir --models DIR [--filled DIR] --work DIR [--only MODEL]

A program of `weir compile --portable` gives the bits of the packed one on every instruction set, and on --reference what
is near; its memory is planned and listed. A classifier whose last layer is replaced with --constant, in the model, in a
program compiled for it and in a portable one, answers as onnxruntime does for the changed model. Two small classifiers
are made here, and replaced on every instruction set; whole networks come on top where they are there.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import time
import zlib

try:
    import numpy as np
    import onnx
    import onnxruntime as ort

    import parity
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)

TOLERANCE = 1e-4  # of the range, as in parity.py
# Two of each kind: with and without transformed weights, with open dimensions, recurrent; and whether the reference, which
# is slow, is run too.
PORTABLE = {"cls": True, "silero": True, "rec": False, "efficientnet_lite0": False, "resnet18": False, "yolov8n": False,
            "minilm": False}
# Networks that end in a layer to replace, and the name of their input.
CLASSIFIERS = {"resnet18": "input", "mobilenet_v2": "input"}
# The small ones' last layer: whether its weights are transposed, and how many inputs and classes it has.
MADE = {"made_rows": (0, 24, 10), "made_columns": (1, 19, 37)}


def small_classifier(transposed, features, classes):
    """Two convolutions, the mean, and a layer [features, classes], or transposed."""
    rng = np.random.default_rng(features)
    weights = {"w1": (16, 3, 3, 3), "w2": (features, 16, 3, 3), "b2": (features,),
               "w3": (classes, features) if transposed else (features, classes), "b3": (classes,)}
    helper = onnx.helper
    nodes = [helper.make_node("Conv", ["x", "w1"], ["c1"], "first", pads=[1, 1, 1, 1], strides=[2, 2]),
             helper.make_node("Relu", ["c1"], ["r1"]),
             helper.make_node("Conv", ["r1", "w2", "b2"], ["c2"], "second", pads=[1, 1, 1, 1]),
             helper.make_node("Relu", ["c2"], ["r2"]),
             helper.make_node("GlobalAveragePool", ["r2"], ["mean"]),
             helper.make_node("Flatten", ["mean"], ["flat"]),
             helper.make_node("Gemm", ["flat", "w3", "b3"], ["scores"], "last", transB=transposed)]
    graph = helper.make_graph(
        nodes, "classifier", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [3, 3, 21, 18])],
        [helper.make_tensor_value_info("scores", onnx.TensorProto.FLOAT, [3, classes])],
        [onnx.numpy_helper.from_array((rng.standard_normal(shape) * 0.3).astype(np.float32), name)
         for name, shape in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


class Constants:
    def __init__(self, arguments):
        self.arguments = arguments
        self.work = pathlib.Path(arguments.work)
        self.work.mkdir(parents=True, exist_ok=True)
        self.failures = []
        self.missing = []
        self.checked = 0

    def expect(self, holds, message):
        self.checked += 1
        if not holds:
            self.failures.append(message)

    def weir(self, *options, fails=False):
        result = subprocess.run([self.arguments.weir, *map(str, options)], capture_output=True, text=True)
        if fails:
            self.expect(result.returncode == 1, f"{' '.join(map(str, options))} succeeds")
            return result.stderr
        if result.returncode != 0:
            print(*options)
            print(result.stdout, result.stderr)
            sys.exit(1)
        return json.loads(result.stdout) if "--json" in options else result.stdout

    def locate(self, name):
        for folder in filter(None, (self.arguments.models, self.arguments.filled)):
            if (pathlib.Path(folder) / name).exists():
                return pathlib.Path(folder) / name
        if name not in self.missing:
            self.missing.append(name)
        return None

    def run(self, model, inputs, *options):
        """The outputs by name, and what is reported."""
        folder = self.work / "outputs"
        command = []
        for name, value in inputs.items():
            path = self.work / f"input_{parity.file_name(name)}"
            np.save(path, value)
            command += ["--input", f"{name}={path}"]
        report = self.weir("run", model, "--json", "--output", folder, *command, *options)
        return {o["name"]: np.load(folder / parity.file_name(o["name"])) for o in report["outputs"]}, report

    def isas(self):
        best = self.weir("devices", "--json")["devices"][0]["isa"]
        every = ["sse4", "avx2", "avx512"]
        return every[:every.index(best) + 1]

    def portable(self, name, reference):
        file, _, runs, _ = parity.MODELS[name]
        model = self.locate(file)
        if model is None:
            return
        packed, portable = self.work / f"{name}.packed.weir", self.work / f"{name}.portable.weir"
        arenas = [self.weir("compile", model, "-o", packed, "--json")["arena_bytes"],
                  self.weir("compile", model, "-o", portable, "--portable", "--json")["arena_bytes"]]
        self.expect(arenas[0] == arenas[1], f"{name}: the arena takes {arenas}, packed and portable")
        rng = np.random.default_rng(zlib.crc32(name.encode()))
        inputs = {key: make(rng) for key, make in runs[0].items()}
        for isa in self.isas():
            wanted, _ = self.run(packed, inputs, "--isa", isa)
            got, report = self.run(portable, inputs, "--isa", isa, "--verify-constants")
            for output, value in wanted.items():
                self.expect(value.tobytes() == got[output].tobytes(), f"{name} {output} [{isa}]: other bits than packed")
            packing = [n for n in report["notices"] if n["what"] == "packing"]
            self.expect(len(packing) == 1 and packing[0]["kind"] == "cost", f"{name} [{isa}]: packing is not listed")
        stderr = self.weir("run", portable, "--strict", "--random", 1, *(
            x for key in inputs for x in ("--input", f"{key}={self.work}/input_{parity.file_name(key)}")), fails=True)
        self.expect("packing:" in stderr, f"{name}: --strict does not name the packing")
        if self.weir("inspect", portable, "--json")["static"]:
            bench = self.weir("bench", portable, "--json", "--runs", 1)
            self.expect(bench["planned"] == bench["counted"],
                        f"{name}: planned {bench['planned']}, counted {bench['counted']}")
        if reference:
            got, _ = self.run(portable, inputs, "--reference")
            for output, value in wanted.items():
                scale = max(float(np.max(np.abs(value))), 1e-6)
                worst = float(np.max(np.abs(got[output] - value))) / scale
                self.expect(worst <= TOLERANCE, f"{name} {output}: the reference differs by {worst:.2e} of the range")
        sizes = [path.stat().st_size / 2**20 for path in (model, packed, portable)]
        print(f"{name}: model {sizes[0]:.2f} MiB, packed {sizes[1]:.2f}, portable {sizes[2]:.2f}")

    @staticmethod
    def last_layer(graph):
        """Names of the weights and the bias that make the graph's only output."""
        constants = {initializer.name for initializer in graph.initializer}
        last = next(node for node in graph.node if graph.output[0].name in node.output)
        weights, bias = last.input[1], last.input[2]
        assert last.op_type == "Gemm" and weights in constants and bias in constants
        return weights, bias

    def swap_made(self, name):
        model = self.work / f"{name}.onnx"
        onnx.save(small_classifier(*MADE[name]), model)
        for isa in self.isas():
            self.swap(name, model, "x", (3, 3, 21, 18), "--isa", isa, transposed=MADE[name][0] == 1)

    def swap_network(self, name, input_name):
        model = self.locate(parity.MODELS[name][0])
        if model is not None:
            self.swap(name, model, input_name, (1, 3, 224, 224))

    def swap(self, name, model, input_name, shape, *device, transposed=False):
        proto = onnx.load(model)
        rng = np.random.default_rng(zlib.crc32(name.encode()))
        names = self.last_layer(proto.graph)
        options = []
        for initializer in proto.graph.initializer:
            if initializer.name in names:
                old = onnx.numpy_helper.to_array(initializer)
                new = (rng.standard_normal(old.shape) * 0.1).astype(np.float32)
                initializer.CopyFrom(onnx.numpy_helper.from_array(new, initializer.name))
                path = self.work / f"{name}.{len(options)}.npy"
                np.save(path, new)
                options += ["--constant", f"{initializer.name}={path}"]
        inputs = {input_name: rng.standard_normal(shape, dtype=np.float32)}
        session = ort.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
        wanted = session.run(None, inputs)[0]
        scale = float(np.max(np.abs(wanted)))
        before, _ = self.run(model, inputs, *device)
        self.expect(float(np.max(np.abs(next(iter(before.values())) - wanted))) > 100 * TOLERANCE * scale,
                    f"{name}: the new layer answers like the old one, so comparing shows nothing")
        kept = self.work / f"{name}.kept.weir"
        swappable = [option for constant in names for option in ("--swappable", constant)]
        self.weir("compile", model, "-o", kept, *swappable)
        portable = self.work / f"{name}.portable.weir"
        self.weir("compile", model, "-o", portable, "--portable")
        if transposed:  # a copy of the weights, which a program replaces only where they were declared swappable
            stderr = self.weir("run", portable, "--random", 1, *options[:2], fails=True)
            self.expect("it was folded or fused" in stderr, f"a portable program of transposed weights says: {stderr}")
            self.weir("compile", model, "-o", portable, "--portable", *swappable)
        for program in (model, kept, portable):
            started = time.perf_counter()
            got, report = self.run(program, inputs, *options, *device)
            seconds = time.perf_counter() - started
            worst = float(np.max(np.abs(next(iter(got.values())) - wanted))) / scale
            self.expect(worst <= TOLERANCE, f"{program.name}: differs by {worst:.2e} of the range from the changed model")
            listed = [n for n in report["notices"] if n["what"] == "constant"]
            self.expect(len(listed) == 2, f"{program.name}: lists {listed}")
            print(f"{' '.join((program.name, *device))}: {worst:.1e} of the range, {seconds:.2f} s")
            unchanged, _ = self.run(program, inputs, *device)
            self.expect(float(np.max(np.abs(next(iter(unchanged.values())) - next(iter(before.values()))))) <=
                        TOLERANCE * float(np.max(np.abs(next(iter(before.values()))))),
                        f"{program.name}: answers otherwise without --constant too")
        packed = self.work / f"{name}.plain.weir"
        self.weir("compile", model, "-o", packed)
        stderr = self.weir("run", packed, "--random", 1, *options[:2], fails=True)
        self.expect("compile the model again with --swappable" in stderr, f"a packed program says: {stderr}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weir", required=True)
    parser.add_argument("--models", required=True)
    parser.add_argument("--photos")
    parser.add_argument("--filled")
    parser.add_argument("--work", required=True)
    parser.add_argument("--only")
    arguments = parser.parse_args()
    parity.PHOTOS = pathlib.Path(arguments.photos or pathlib.Path(arguments.models).parent / "photos")
    test = Constants(arguments)
    for name, reference in PORTABLE.items():
        if arguments.only in (None, name):
            test.portable(name, reference)
    for name in MADE:
        if arguments.only in (None, name):
            test.swap_made(name)
    for name, input_name in CLASSIFIERS.items():
        if arguments.only in (None, name):
            test.swap_network(name, input_name)
    if test.missing:
        print(f"Not here, so not tested: {', '.join(test.missing)}")
    for failure in test.failures[:40]:
        print("FAIL", failure)
    print(f"{test.checked} checks, {len(test.failures)} failures")
    sys.exit(1 if test.failures else 0 if test.checked else 77)


if __name__ == "__main__":
    main()
