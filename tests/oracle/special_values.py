# SPDX-License-Identifier: Apache-2.0
"""NaN, infinities, signed zeros and denormals go through the compiled program as they go through onnxruntime.

    special_values.py WEIR FOLDER

One small model an operator (or fused pair), on every instruction set of the machine and on the reference
implementations: NaN where onnxruntime has NaN, the same infinities, and all else within 1e-5 of the range.

What differs is Weir's own and tested as such (docs/errors.md says it to users):
- Denormals are zero wherever something is computed, in operands and results; what is only moved may keep them.
- SiLU and GELU of minus infinity are their limit 0; a composition of operators multiplies infinity by 0, which is NaN.
- The largest and smallest of values among which is a NaN is NaN; onnxruntime's depends on where the NaN stands.
- As an integer NaN is 0, and what is beyond the range is its nearest end; onnxruntime's answer is the processor's.
- An LSTM keeps a NaN to the end of its sequence; onnxruntime's sigmoid makes it a number.
- A 3×3 convolution that is transformed (Cook-Toom) computes a tile of outputs from sums over the tile's inputs, so one
  value that is not finite reaches its whole tile: never fewer outputs than in onnxruntime.

Without the onnx and onnxruntime packages the test is skipped (exit status 77)."""
import json
import pathlib
import re
import shutil
import subprocess
import sys

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

RANDOM = np.random.default_rng(11)
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-41, -1e-41, 3e38, -3e38], np.float32)
SMALLEST_NORMAL = np.finfo(np.float32).tiny


def floats(*shape):
    return np.asarray(RANDOM.standard_normal(shape), np.float32)


def special(*shape, share=0.2):
    """Random numbers, about `share` of them special."""
    x = floats(*shape)
    chosen = RANDOM.random(shape) < share
    x[chosen] = RANDOM.choice(SPECIAL, int(chosen.sum()))
    return x


def rare(*shape, values=(np.nan, np.inf, -np.inf)):
    """Random numbers with one element of each of `values`."""
    x = floats(*shape)
    x.reshape(-1)[RANDOM.choice(x.size, len(values), replace=False)] = values
    return x


def node(op, inputs, output="y", **attributes):
    return helper.make_node(op, inputs.split(","), [output], **attributes)


def cases():
    """(name, nodes, inputs, constants, operator set if not 17)"""
    x = special(3, 67)
    for op in ("Relu", "Sigmoid", "Tanh", "Erf", "Exp", "Abs", "Neg", "Sqrt", "Log", "HardSwish", "HardSigmoid",
               "LeakyRelu", "Elu", "Softplus", "Floor", "Ceil", "Round", "Reciprocal", "Identity", "Softsign",
               "Dropout"):
        yield op, [node(op, "x")], {"x": x}, {}
    yield "Clip", [node("Clip", "x,low,high")], {"x": x}, {"low": np.float32(-1), "high": np.float32(6)}
    for op in ("Add", "Sub", "Mul", "Div", "Pow", "Min", "Max"):
        yield op, [node(op, "x,z")], {"x": x, "z": special(3, 67)}, {}
        yield f"{op}_row", [node(op, "x,z")], {"x": x, "z": special(67)}, {}
    for op in ("Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual"):
        yield op, [node(op, "x,z"), ], {"x": x, "z": special(3, 67, share=0.5)}, {}
    yield "Where", [node("Greater", "x,z", "c"), node("Where", "c,x,z")], {"x": x, "z": special(3, 67)}, {}
    x = np.where(np.abs(x) > 1e38, np.copysign(np.float32(np.inf), x), x)  # else the order of the products matters
    yield "gelu", [node("Div", "x,r", "a"), node("Erf", "a", "e"), node("Add", "e,one", "f"), node("Mul", "x,f", "g"),
                   node("Mul", "g,half")], {"x": x}, {"r": np.float32(2 ** 0.5), "one": np.float32(1),
                                                      "half": np.float32(0.5)}
    yield "silu", [node("Sigmoid", "x", "s"), node("Mul", "x,s")], {"x": x}, {}
    masked = rare(7, 5, 33)
    masked[2] = -np.inf
    masked[3, 2, :] = np.where(np.arange(33) < 9, 0.5, -np.inf)
    yield "Softmax", [node("Softmax", "x", axis=-1)], {"x": masked}, {}
    yield "Softmax_axis1", [node("Softmax", "x", axis=1)], {"x": masked}, {}
    scale = {"s": floats(33), "b": floats(33)}
    yield "LayerNormalization", [node("LayerNormalization", "x,s,b", axis=-1)], {"x": rare(9, 33)}, scale
    for op in ("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin"):
        for axis in (1, 2):
            by = {"inputs": "x,a"} if op == "ReduceSum" else {"inputs": "x", "axes": [axis]}
            constants = {"a": np.array([axis])} if op == "ReduceSum" else {}
            values = (np.inf, -np.inf) if op in ("ReduceMax", "ReduceMin") else (np.nan, np.inf, -np.inf)
            yield f"{op}_{axis}", [node(op, **by)], {"x": rare(5, 6, 37, values=values)}, constants
    image = rare(1, 16, 19, 21)
    yield "MaxPool", [node("MaxPool", "x", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])], {
        "x": rare(1, 16, 19, 21, values=(np.inf, -np.inf))}, {}
    yield "AveragePool", [node("AveragePool", "x", kernel_shape=[3, 3], strides=[2, 2])], {"x": image}, {}
    yield "GlobalAveragePool", [node("GlobalAveragePool", "x")], {"x": image}, {}
    yield "BatchNormalization", [node("BatchNormalization", "x,s,b,m,v")], {"x": image}, {
        "s": floats(16), "b": floats(16), "m": floats(16), "v": np.abs(floats(16)) + 0.1}
    yield "Resize", [node("Resize", "x,,k", mode="linear")], {"x": image}, {"k": np.array([1, 1, 2, 2], np.float32)}
    yield "Resize_nearest", [node("Resize", "x,,k", mode="nearest")], {"x": image}, {
        "k": np.array([1, 1, 2, 2], np.float32)}
    yield "Transpose", [node("Transpose", "x", perm=[0, 2, 3, 1])], {"x": special(1, 16, 19, 21)}, {}
    yield "Concat", [node("Concat", "x,z", axis=1)], {"x": special(1, 16, 9, 5), "z": special(1, 3, 9, 5)}, {}
    yield "MatMul", [node("MatMul", "x,w")], {"x": rare(37, 40)}, {"w": floats(40, 35)}
    yield "MatMul_data", [node("MatMul", "x,w")], {"x": rare(3, 37, 40), "w": rare(3, 40, 35)}, {}
    yield "Gemm_relu", [node("Gemm", "x,w,b", "g"), node("Relu", "g")], {"x": rare(5, 40)}, {
        "w": floats(40, 35), "b": floats(35)}
    for name, shape, channels, outputs, attributes in (
            ("pointwise", (1, 1), 16, 24, {}),
            ("5x5", (5, 5), 16, 24, {"pads": [2, 2, 2, 2]}),
            ("3x3_stride", (3, 3), 16, 24, {"pads": [1, 1, 1, 1], "strides": [2, 2]}),
            ("depthwise", (3, 3), 16, 16, {"pads": [1, 1, 1, 1], "group": 16}),
            ("first", (3, 3), 3, 16, {"pads": [1, 1, 1, 1], "strides": [2, 2]}),
            ("grouped", (3, 3), 16, 16, {"pads": [1, 1, 1, 1], "group": 4})):
        group = attributes.get("group", 1)
        constants = {"w": floats(outputs, channels // group, *shape), "b": floats(outputs)}
        picture = rare(1, channels, 19, 21)
        yield f"Conv_{name}", [node("Conv", "x,w,b", **attributes)], {"x": picture}, constants
        yield f"Conv_{name}_relu", [node("Conv", "x,w,b", "c", **attributes), node("Relu", "c")], {"x": picture}, constants
        yield (f"Conv_{name}_clip", [node("Conv", "x,w,b", "c", **attributes), node("Clip", "c,low,high")], {"x": picture},
               {**constants, "low": np.float32(0), "high": np.float32(6)})
    yield "ConvTranspose", [node("ConvTranspose", "x,w", strides=[2, 2])], {"x": rare(1, 16, 9, 11)}, {
        "w": floats(16, 8, 2, 2)}
    yield "LSTM", [node("LSTM", "x,w,r,b", hidden_size=8)], {"x": rare(5, 2, 6, values=(np.inf,))}, {
        "w": floats(1, 32, 6), "r": floats(1, 32, 8), "b": floats(1, 64)}


def moving_cases():
    """Operators that move elements, or give them another type: the same values, zeros with their signs."""
    x = special(4, 6, 10)
    image = special(1, 16, 6, 10)
    picks = np.array([3, 0, 3, -1])
    yield "Gather", [node("Gather", "x,i", axis=1)], {"x": x, "i": picks}, {}
    yield "Gather_rows", [node("Gather", "x,i")], {"x": x, "i": picks}, {}
    for mode in ("constant", "edge", "reflect"):
        yield f"Pad_{mode}", [node("Pad", "x,p,v" if mode == "constant" else "x,p", mode=mode)], {"x": x}, {
            "p": np.array([0, 2, 3, 0, 1, 4]), **({"v": np.float32(np.nan)} if mode == "constant" else {})}
    for name, steps in (("", [1, 2]), ("_backwards", [-1, -3])):
        first, last = ([1, 0], [6, 9]) if steps[0] > 0 else ([5, 9], [0, -11])
        yield f"Slice{name}", [node("Slice", "x,f,l,a,s")], {"x": x}, {
            "f": np.array(first), "l": np.array(last), "a": np.array([1, 2]), "s": np.array(steps)}
    yield "Split", [helper.make_node("Split", ["x"], ["first", "y"], axis=2)], {"x": x}, {}
    yield "Expand", [node("Expand", "x,s")], {"x": special(4, 1, 10)}, {"s": np.array([4, 6, 10])}
    yield "Tile", [node("Tile", "x,r")], {"x": x}, {"r": np.array([1, 2, 3])}
    yield "Reshape", [node("Reshape", "x,s")], {"x": x}, {"s": np.array([10, -1])}
    yield "Flatten", [node("Flatten", "x")], {"x": x}, {}
    yield "Squeeze", [node("Unsqueeze", "x,a", "u"), node("Relu", "u", "r"), node("Squeeze", "r,a")], {"x": x}, {
        "a": np.array([1])}
    yield "DepthToSpace", [node("DepthToSpace", "x", blocksize=2)], {"x": image}, {}
    yield "SpaceToDepth", [node("SpaceToDepth", "x", blocksize=2)], {"x": image}, {}
    yield "Upsample", [node("Upsample", "x,k", mode="nearest")], {"x": image}, {
        "k": np.array([1, 1, 2, 2], np.float32)}, 9
    yield "ConstantOfShape", [node("Shape", "x", "s"), node("ConstantOfShape", "s", "c", value=numpy_helper.from_array(
        np.array([-np.inf], np.float32))), node("Add", "x,c")], {"x": special(5, 7, share=0.5)}, {}
    yield "Cast_double", [node("Cast", "x", to=TensorProto.DOUBLE)], {"x": x}, {}
    yield "Cast_bool", [node("Cast", "x", to=TensorProto.BOOL)], {"x": x}, {}
    yield "Cast_float", [node("Cast", "x", to=TensorProto.FLOAT)], {"x": x.astype(np.float64)}, {}
    yield "CastLike", [node("CastLike", "x,z", "d"), node("Cast", "d", to=TensorProto.FLOAT)], {
        "x": x, "z": np.zeros(1, np.float64)}, {}


def composed_cases():
    """Operators that are made of several of Weir's own."""
    x = special(3, 67)
    yield "PRelu", [node("PRelu", "x,s")], {"x": x}, {"s": floats(67)}
    for op in ("Sum", "Mean"):
        yield op, [node(op, "x,z,v")], {"x": x, "z": rare(3, 67), "v": rare(67)}, {}
    x = np.where(np.abs(x) > 1e38, np.copysign(np.float32(np.inf), x), x)
    yield "Gelu", [node("Gelu", "x")], {"x": x}, {}, 20
    yield "Swish", [node("Swish", "x")], {"x": x}, {}, 24
    yield "Mish", [node("Mish", "x")], {"x": x}, {}, 18
    image = rare(2, 16, 9, 11)
    yield "LogSoftmax", [node("LogSoftmax", "x", axis=1)], {"x": rare(7, 5, 33, values=(np.nan, -np.inf))}, {}
    yield "InstanceNormalization", [node("InstanceNormalization", "x,s,b")], {"x": image}, {
        "s": floats(16), "b": floats(16)}
    yield "GroupNormalization", [node("GroupNormalization", "x,s,b", num_groups=4)], {"x": image}, {
        "s": floats(16), "b": floats(16)}, 21
    yield "RMSNormalization", [node("RMSNormalization", "x,s")], {"x": rare(9, 33)}, {"s": floats(33)}, 23
    yield "GlobalMaxPool", [node("GlobalMaxPool", "x")], {"x": rare(2, 16, 9, 11, values=(np.inf, -np.inf))}, {}
    for op in ("ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"):
        yield op, [node(op, "x", axes=[1])], {"x": rare(5, 6, 37)}, {}


# Operators that have no element in which these values could be, or give none.
WITHOUT_VALUES = {"And", "Or", "Xor", "Not", "Shape", "Size", "Range", "Mod", "ReduceProd", "Constant"}


def operators_of_importer():
    folder = pathlib.Path(__file__).resolve().parents[2] / "src" / "import" / "onnx"
    sources = "".join(path.read_text() for path in folder.glob("convert_*.cc"))
    return set(re.findall(r'\{"", "([A-Z]\w*)", \d+', sources))


def model_of(name, nodes, inputs, constants, opset=17):
    infos = [helper.make_tensor_value_info(key, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
             for key, value in inputs.items()]
    graph = helper.make_graph(nodes, name, infos, [helper.make_empty_tensor_value_info("y")],
                              [numpy_helper.from_array(np.asarray(value), key) for key, value in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def flushed(array):
    """The array with its denormals made zeros of their sign."""
    if array.dtype != np.float32:
        return array
    return np.where(np.abs(array) < SMALLEST_NORMAL, np.copysign(np.float32(0), array), array)


def answer_of_onnxruntime(path, inputs):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    # Without its fusions, some of which have approximations of their own for values that are not finite.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return flushed(session.run(["y"], {key: flushed(value) for key, value in inputs.items()})[0])


def difference(wanted, actual):
    """Why `actual` is not the same as `wanted`, or an empty text."""
    if wanted.shape != actual.shape:
        return f"has the shape {actual.shape}, and {wanted.shape} is right"
    if wanted.dtype == bool:
        return "" if (wanted == actual).all() else f"{(wanted != actual).sum()} comparisons differ"
    for what, is_one in (("NaN", np.isnan), ("+inf", np.isposinf), ("-inf", np.isneginf)):
        differs = np.argwhere(is_one(wanted) != is_one(actual))
        if differs.size:
            place = tuple(int(i) for i in differs[0])
            return f"{what} at {len(differs)} other places: at {place} {actual[place]}, and {wanted[place]} is right"
    finite = np.isfinite(wanted)
    distance = np.abs(wanted[finite].astype(np.float64) - actual[finite])
    allowed = 1e-5 * np.maximum(np.abs(wanted[finite].astype(np.float64)), min(10, np.abs(wanted[finite]).max(initial=1)))
    return "" if (distance <= allowed).all() else f"finite values differ by {distance.max()}"


class Checks:
    def __init__(self, weir, folder):
        self.weir = weir
        self.folder = folder
        self.failures = []
        self.compared = 0
        self.operators = set()
        devices = json.loads(subprocess.run([weir, "devices", "--json"], check=True, capture_output=True).stdout)
        names = ["sse4", "avx2", "avx512"]
        best = names.index(devices["devices"][0]["isa"])
        self.variants = [["--isa", name] for name in names[:best + 1]] + [["--reference"]]

    def run(self, path, inputs, options):
        command = [self.weir, "run", str(path), "--no-cache", "--json", "--output", str(path.parent / "out"), *options]
        for key, value in inputs.items():
            file = path.parent / f"{key}.npy"
            np.save(file, value)
            command += ["--input", f"{key}={file}"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return np.load(path.parent / "out" / "y.npy")

    def prepare(self, name, nodes, inputs, constants, opset=17):
        path = self.folder / name / "model.onnx"
        path.parent.mkdir(parents=True)
        onnx.save(model_of(name, nodes, inputs, constants, opset), path)
        self.operators.update(made.op_type for made in nodes)
        return path, answer_of_onnxruntime(path, inputs)

    def check(self, name, nodes, inputs, constants, opset=17, *, exact=False):
        path, wanted = self.prepare(name, nodes, inputs, constants, opset)
        for variant in self.variants:
            actual = self.run(path, inputs, variant)
            if name in ("silu", "gelu", "Swish", "Gelu"):
                limit = np.isneginf(inputs["x"]) & (np.abs(actual) < 1e-5)
                actual = np.where(limit, wanted, actual)
            why = difference(wanted, actual)
            if exact and not why and wanted.dtype != bool:
                numbers = ~np.isnan(wanted)
                moved, came = wanted[numbers], flushed(actual)[numbers]
                if not ((moved == came) & (np.signbit(moved) == np.signbit(came))).all():
                    why = "values are not the same"
            self.say(name, variant, why)

    def check_kept(self, name, nodes, inputs, constants, wanted):
        """Against an answer that was computed here."""
        path, _ = self.prepare(name, nodes, inputs, constants)
        for variant in self.variants:
            self.say(name, variant, difference(wanted, self.run(path, inputs, variant)))

    def check_extremes(self):
        x = rare(5, 6, 37)
        self.check_kept("ReduceMax_nan", [node("ReduceMax", "x", axes=[2])], {"x": x}, {}, x.max(2, keepdims=True))
        self.check_kept("ReduceMin_nan", [node("ReduceMin", "x", axes=[1])], {"x": x}, {}, x.min(1, keepdims=True))
        image = rare(1, 16, 19, 21)
        windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3), axis=(2, 3))[:, :, ::2, ::2]
        self.check_kept("MaxPool_nan", [node("MaxPool", "x", kernel_shape=[3, 3], strides=[2, 2])], {"x": image}, {},
                        windows.max((4, 5)))

    def check_integers(self):
        x = special(4, 67)
        x[np.abs(x) < 10] *= 300
        for dtype in (np.int8, np.uint8, np.int32, np.int64):
            ends = np.iinfo(dtype)
            whole = [0 if np.isnan(value) else ends.max if value >= ends.max else ends.min if value <= ends.min else
                     int(value) for value in x.reshape(-1).tolist()]
            path, _ = self.prepare(f"Cast_{dtype.__name__}", [node("Cast", "x", to=helper.np_dtype_to_tensor_dtype(
                np.dtype(dtype)))], {"x": x}, {})
            for variant in self.variants:
                equal = self.run(path, {"x": x}, variant).reshape(-1).tolist() == whole
                self.say(path.parent.name, variant, "" if equal else "integers differ")

    def check_recurrent(self):
        inputs = {"x": floats(5, 2, 6)}
        constants = {"w": floats(1, 32, 6), "r": floats(1, 32, 8), "b": floats(1, 64)}
        nodes = [node("LSTM", "x,w,r,b", hidden_size=8)]
        _, wanted = self.prepare("LSTM_clean", nodes, inputs, constants)
        inputs["x"][2, 1, 3] = np.nan
        wanted = wanted.copy()
        wanted[2:, :, 1] = np.nan
        self.check_kept("LSTM_nan", nodes, inputs, constants, wanted)

    def check_transformed(self):
        inputs = {"x": rare(1, 32, 40, 40)}
        constants = {"w": floats(32, 32, 3, 3), "b": floats(32)}
        path, wanted = self.prepare("Conv_3x3", [node("Conv", "x,w,b", pads=[1, 1, 1, 1])], inputs, constants)
        for variant in (v + p for v in self.variants for p in (["--prefer", "speed"], ["--prefer", "memory"])):
            actual = self.run(path, inputs, variant)
            lost = np.isfinite(actual[~np.isfinite(wanted)]).sum()
            kept = np.isfinite(actual)
            if lost:
                why = f"{lost} values that are not finite are lost"
            elif kept.mean() < 0.8:
                why = f"only {kept.mean():.3f} of all are finite"
            else:
                why = difference(wanted[kept] / 10, actual[kept] / 10)
            self.say("Conv_3x3", variant, why)

    def say(self, name, variant, why):
        self.compared += 1
        if why:
            self.failures.append(f"{name} {' '.join(variant)}: {why}")


def main():
    folder = pathlib.Path(sys.argv[2])
    shutil.rmtree(folder, ignore_errors=True)
    checks = Checks(sys.argv[1], folder)
    for case in (*cases(), *composed_cases()):
        checks.check(*case)
    for case in moving_cases():
        checks.check(*case, exact=True)
    checks.check_extremes()
    checks.check_integers()
    checks.check_recurrent()
    checks.check_transformed()
    for operator in sorted(operators_of_importer() - WITHOUT_VALUES - checks.operators):
        checks.failures.append(f"{operator} has no case")
    for failure in checks.failures:
        print(f"FAIL {failure}")
    print(f"{checks.compared} comparisons on {len(checks.variants)} variants, {len(checks.failures)} failures")
    return 1 if checks.failures else 0


if __name__ == "__main__":
    sys.exit(main())
