# SPDX-License-Identifier: Apache-2.0
"""Compares the reference kernels with another runtime, operator case by operator case.

usage: reference_ops.py WRITE_REFERENCE_CASES [FILTER]

Runs WRITE_REFERENCE_CASES, builds the smallest ONNX model for each case, runs it in onnxruntime and compares. Exits
with 77 (skipped) where onnx, onnxruntime or numpy are missing. What onnxruntime does not implement, or defines
otherwise, is listed in EXCEPTIONS with the reason; any other failure to run is an error.
"""

import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

OPSET = 20

# (pattern of case names, reason). Each must match at least one case.
EXCEPTIONS = [
    (r"^fill", "ConstantOfShape has no strided form to compare"),
    (r"^dim_tensor", "a constant"),
    (r"^elementwise_div_int.._with_zeros", "onnxruntime refuses zeros, and Weir gives zero"),
    (r"^reduce_k[23]_.*_specials", "NaN stays in Weir; onnxruntime loses it, depending on where in the row it is"),
]

ONNX_TYPES = {
    "float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE, "float16": TensorProto.FLOAT16,
    "int8": TensorProto.INT8, "uint8": TensorProto.UINT8, "int32": TensorProto.INT32,
    "int64": TensorProto.INT64, "bool": TensorProto.BOOL,
}
NUMPY_TYPES = {name: np.dtype(name) for name in ONNX_TYPES}

# Absolute and relative difference that is allowed: onnxruntime sums in single precision and approximates functions;
# its LSTM's sigmoid and tanh are good to about 1e-6, and a recurrent state carries that on.
TOLERANCES = {
    "Conv": (1e-5, 1e-4), "ConvTranspose": (1e-5, 1e-4), "MatMul": (1e-5, 1e-4), "Lstm": (5e-5, 1e-4),
    "Elementwise": (1e-6, 1e-5), "AveragePool": (1e-6, 1e-5), "Reduce": (1e-5, 1e-5), "Softmax": (1e-6, 1e-5),
    "LayerNormalization": (2e-4, 1e-4), "Resize": (2e-5, 1e-5),
}


def number(value):
    return float(value)


class Model:
    """A graph under construction."""

    def __init__(self):
        self.nodes = []
        self.initializers = []
        self.count = 0

    def name(self):
        self.count += 1
        return f"t{self.count}"

    def constant(self, values, dtype):
        name = self.name()
        self.initializers.append(onnx.numpy_helper.from_array(np.asarray(values, dtype=dtype), name))
        return name

    def add(self, op, inputs, outputs=None, **attributes):
        outputs = outputs or [self.name()]
        attributes = {k: v for k, v in attributes.items() if v is not None}
        self.nodes.append(helper.make_node(op, inputs, outputs, **attributes))
        return outputs[0]

    def program(self, program, inputs):
        """The nodes of a tile program; returns the name of its result."""
        values = list(inputs)
        types = list(program["inputs"])
        simple = {
            "add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "pow": "Pow", "min": "Min", "max": "Max",
            "sqrt": "Sqrt", "erf": "Erf", "exp": "Exp", "log": "Log", "tanh": "Tanh", "neg": "Neg", "abs": "Abs",
            "reciprocal": "Reciprocal", "floor": "Floor", "ceil": "Ceil", "relu": "Relu", "sigmoid": "Sigmoid",
            "hard_swish": "HardSwish", "gelu": "Gelu", "where": "Where", "equal": "Equal", "less": "Less",
            "less_or_equal": "LessOrEqual", "greater": "Greater", "greater_or_equal": "GreaterOrEqual", "and": "And",
            "or": "Or", "not": "Not", "round": "Round",
        }
        for instruction in program["instructions"]:
            op, kind = instruction["op"], instruction["type"]
            operands = [values[i] for i in instruction["operands"]]
            v0, v1 = (number(v) for v in instruction["value"])
            dtype = NUMPY_TYPES[kind]
            if op == "immediate":
                result = self.constant(v0, dtype)
            elif op == "cast":
                result = self.add("Cast", operands, to=ONNX_TYPES[kind])
            elif op == "clip":
                result = self.add("Clip", operands + [self.constant(v0, dtype), self.constant(v1, dtype)])
            elif op == "hard_sigmoid":
                result = self.add("HardSigmoid", operands, alpha=v0, beta=v1)
            elif op == "leaky_relu":
                result = self.add("LeakyRelu", operands, alpha=v0)
            elif op == "silu":
                result = self.add("Mul", [operands[0], self.add("Sigmoid", operands)])
            else:
                result = self.add(simple[op], operands)
            values.append(result)
            types.append(kind)
        return values[-1] if program["instructions"] else values[0]


def spatial_pads(attributes):
    return attributes["pads_begin"] + attributes["pads_end"]


def build(case, inputs):
    """Adds the case's nodes to a model; returns it and the names of its outputs."""
    model = Model()
    a = case["attributes"]
    op = case["op"]
    shapes = [None if i is None else i["shape"] for i in case["inputs"]]
    y_shape = case["outputs"][0]["shape"]

    def epilogue(result, first):
        program = a["epilogue"]
        return model.program(program, [result] + inputs[first:]) if program["instructions"] else result

    if op in ("Conv", "ConvTranspose"):
        operands = inputs[:2] + ([inputs[2]] if inputs[2] else [])
        padding = None
        if op == "ConvTranspose":
            pads = [b + e for b, e in zip(a["pads_begin"], a["pads_end"])]
            padding = [y_shape[2 + i] - ((shapes[0][2 + i] - 1) * a["strides"][i]
                                         + (shapes[1][2 + i] - 1) * a["dilations"][i] + 1 - pads[i])
                       for i in range(len(pads))]
        result = model.add(op, operands, strides=a["strides"], dilations=a["dilations"], pads=spatial_pads(a),
                           group=a["group"], output_padding=padding)
        return model, [epilogue(result, 3)]
    if op == "MatMul":
        result = model.add("MatMul", inputs[:2])
        if inputs[2]:
            result = model.add("Add", [result, inputs[2]])
        return model, [epilogue(result, 3)]
    if op == "Elementwise":
        result = model.program(a["program"], inputs)
        if not a["program"]["instructions"] or a["program"]["instructions"][-1]["op"] == "immediate":
            result = model.add("Expand", [result, model.constant(y_shape, np.int64)])
        return model, [result]
    if op == "Lstm":
        outputs = [model.name() if o else "" for o in case["outputs"]]
        model.add("LSTM", [i or "" for i in inputs], outputs, hidden_size=a["hidden_size"], direction=a["direction"])
        return model, outputs
    if op in ("MaxPool", "AveragePool"):
        pads = [b + e for b, e in zip(a["pads_begin"], a["pads_end"])]
        floors = [(shapes[0][2 + i] + pads[i] - (a["kernel"][i] - 1) * a["dilations"][i] - 1) // a["strides"][i] + 1
                  for i in range(len(pads))]
        count = int(a["count_include_pad"]) if op == "AveragePool" else None
        return model, [model.add(op, inputs, kernel_shape=a["kernel"], strides=a["strides"],
                                 dilations=a["dilations"], pads=spatial_pads(a), ceil_mode=int(floors != y_shape[2:]),
                                 count_include_pad=count)]
    if op == "Reduce":
        name = {"mean": "ReduceMean", "sum": "ReduceSum", "max": "ReduceMax", "min": "ReduceMin"}[a["kind"]]
        return model, [model.add(name, [inputs[0], model.constant(a["axes"], np.int64)],
                                 keepdims=int(a["keep_dims"]), noop_with_empty_axes=1)]
    if op == "Softmax":
        return model, [model.add("Softmax", inputs, axis=a["axis"])]
    if op == "LayerNormalization":
        return model, [model.add("LayerNormalization", [i for i in inputs if i], axis=a["axis"],
                                 epsilon=a["epsilon"])]
    if op == "Resize":
        scales, sizes = "", ""
        if a["scales"]:
            scales = model.constant(a["scales"], np.float32)
        else:
            sizes = model.constant(y_shape, np.int64)
        operands = [inputs[0], "", scales] + ([sizes] if sizes else [])
        return model, [model.add("Resize", operands, mode=a["mode"], nearest_mode=a["nearest"],
                                 coordinate_transformation_mode=a["coordinates"],
                                 cubic_coeff_a=a["cubic_coefficient"], exclude_outside=int(a["exclude_outside"]))]
    if op == "Pad":
        dtype = NUMPY_TYPES[case["inputs"][0]["type"]]
        return model, [model.add("Pad", [inputs[0], model.constant(a["begin"] + a["end"], np.int64),
                                         model.constant(a["value"], dtype)], mode=a["mode"])]
    if op == "Gather":
        return model, [model.add("Gather", inputs, axis=a["axis"])]
    if op == "Reshape":
        return model, [model.add("Reshape", [inputs[0], model.constant(y_shape, np.int64)], allowzero=1)]
    if op == "Transpose":
        return model, [model.add("Transpose", inputs, perm=a["permutation"])]
    if op == "Slice":
        ends = [s + n * step for s, n, step in zip(a["starts"], y_shape, a["steps"])]
        # An end before the first element is far below: −1 would count from the end.
        ends = [-(2**31) if e < 0 else e for e in ends]
        return model, [model.add("Slice", [inputs[0]] + [model.constant(v, np.int64) for v in (
            a["starts"], ends, list(range(len(ends))), a["steps"])])]
    if op == "Concat":
        return model, [model.add("Concat", inputs, axis=a["axis"])]
    if op == "Expand":
        return model, [model.add("Expand", [inputs[0], model.constant(y_shape, np.int64)])]
    if op == "Copy":
        return model, [model.add("Identity", inputs)]
    if op == "Range":
        kind = case["outputs"][0]["type"]
        values = [a["start"], a["start"] + a["delta"] * y_shape[0], a["delta"]]
        result = model.add("Range", [model.constant(v, np.int64) for v in values])
        return model, [model.add("Cast", [result], to=ONNX_TYPES[kind])]
    raise NotImplementedError(op)


def run(case, arrays, expected):
    names = [f"x{i}" if array is not None else "" for i, array in enumerate(arrays)]
    model, outputs = build(case, names)
    feeds = {name: array for name, array in zip(names, arrays) if name}
    used = {name for node in model.nodes for name in node.input}
    graph_inputs = [helper.make_tensor_value_info(name, ONNX_TYPES[spec["type"]], spec["shape"])
                    for name, spec in zip(names, case["inputs"]) if name and name in used]
    graph_outputs = []
    for name, spec in zip(outputs, case["outputs"]):
        if spec is None:
            continue
        graph_outputs.append(helper.make_tensor_value_info(name, ONNX_TYPES[spec["type"]], spec["shape"]))
    if outputs[0] in feeds:  # a program that passes its input through
        outputs[0] = model.add("Identity", [outputs[0]])
        graph_outputs[0].name = outputs[0]
    graph = helper.make_graph(model.nodes, "case", graph_inputs, graph_outputs, model.initializers)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    results = session.run(None, {name: value for name, value in feeds.items() if name in used})
    return compare(case, results, [e for e in expected if e is not None])


def compare(case, results, expected):
    """Nothing, or what differs."""
    absolute, relative = TOLERANCES.get(case["op"], (0, 0))
    for i, (theirs, ours) in enumerate(zip(results, expected)):
        if theirs.shape != ours.shape or theirs.dtype != ours.dtype:
            return f"output {i} is {ours.dtype}{list(ours.shape)}, and onnxruntime's {theirs.dtype}{list(theirs.shape)}"
        if ours.size == 0:
            continue
        if not np.issubdtype(ours.dtype, np.floating):
            wrong = ours != theirs
        else:
            ours, theirs = ours.astype(np.float64), theirs.astype(np.float64)
            with np.errstate(invalid="ignore"):
                close = np.abs(ours - theirs) <= absolute + relative * np.abs(theirs)
            wrong = ~(close | (ours == theirs) | (np.isnan(ours) & np.isnan(theirs)))
        if wrong.any():
            at = tuple(int(v) for v in np.argwhere(wrong)[0])
            return (f"output {i}: {int(wrong.sum())} of {wrong.size} elements differ; at {list(at)} ours is {ours[at]}, "
                    f"onnxruntime's {theirs[at]}")
    return None


def load(folder):
    data = (folder / "data.bin").read_bytes()

    def array(spec):
        if spec is None:
            return None
        raw = data[spec["offset"]:spec["offset"] + spec["bytes"]]
        return np.frombuffer(raw, dtype=NUMPY_TYPES[spec["type"]]).reshape(spec["shape"])

    for case in json.loads((folder / "cases.json").read_text()):
        yield case, [array(s) for s in case["inputs"]], [array(s) for s in case["outputs"]]


def main():
    pattern = re.compile(sys.argv[2] if len(sys.argv) > 2 else "")
    failures, compared = [], {}
    unmatched = {expression for expression, _ in EXCEPTIONS}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([sys.argv[1], name], check=True)
        for case, inputs, expected in load(folder):
            exception = next((e for e, _ in EXCEPTIONS if re.search(e, case["name"])), None)
            if exception is not None:
                unmatched.discard(exception)
                continue
            if not pattern.search(case["name"]):
                continue
            try:
                difference = run(case, inputs, expected)
            except Exception as error:  # whatever the other runtime raises is reported with the case
                difference = f"does not run: {str(error).splitlines()[0]}"
            compared[case["op"]] = compared.get(case["op"], 0) + 1
            if difference:
                failures.append(f"{case['name']}: {difference}")
    for failure in failures:
        print(failure)
    if not pattern.pattern and unmatched:
        failures.extend(unmatched)
        print(f"Exceptions ({sorted(unmatched)}) match no case.")
    total = sum(compared.values())
    print(f"{total} cases compared, {len(failures)} differ: " + ", ".join(f"{k} {v}" for k, v in compared.items()))
    return 1 if failures or total == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
