# SPDX-License-Identifier: Apache-2.0
"""Cases that ONNX's own collection lacks, with onnxruntime as the oracle: older versions of operators, windows that
round up, SAME padding on open sizes, recurrent layers, and shape arithmetic as exporters write it.

    opset_cases.py RUNNER FOLDER

Without the onnx and onnxruntime packages the test is skipped (exit status 77)."""
import itertools
import pathlib
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

RANDOM = np.random.default_rng(7)


def floats(*shape) -> np.ndarray:
    return np.asarray(RANDOM.standard_normal(shape), np.float32)


class Cases:
    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        self.listing = []

    def add(self, name, nodes, inputs, outputs=("y",), constants=None, opset=13, open_axes=None, tolerance=1e-5,
            ir_version=8, listed_constants=False):
        """`open_axes`: the axes of inputs that the model leaves open; None: all of extent above 1."""
        constants = constants or {}
        for is_open in (False, True):
            values = []
            for input_name, array in inputs.items():
                dims = list(array.shape)
                if is_open:
                    every = [axis for axis, dim in enumerate(dims) if dim > 1]
                    axes = every if open_axes is None else open_axes.get(input_name, [])
                    dims = [f"{input_name}_{i}" if i in axes else d for i, d in enumerate(dims)]
                values.append(helper.make_tensor_value_info(
                    input_name, helper.np_dtype_to_tensor_dtype(array.dtype), dims))
            tensors = [numpy_helper.from_array(array, key) for key, array in constants.items()]
            if listed_constants:  # as before IR version 4
                values += [helper.make_tensor_value_info(key, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
                           for key, array in constants.items()]
            graph = helper.make_graph(nodes, name, values, [helper.make_empty_tensor_value_info(o) for o in outputs],
                                      tensors)
            model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir_version)
            options = onnxruntime.SessionOptions()
            options.log_severity_level = 4
            session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                                   providers=["CPUExecutionProvider"])
            results = session.run(list(outputs), inputs)
            path = self.folder / (name + ("+open" if is_open else ""))
            path.mkdir(parents=True)
            (path / "model.onnx").write_bytes(model.SerializeToString())
            for stem, arrays in (("in", inputs.values()), ("out", results)):
                for number, array in enumerate(arrays):
                    tensor = numpy_helper.from_array(np.asarray(array))
                    (path / f"{stem}_{number}.pb").write_bytes(tensor.SerializeToString())
            self.listing.append(f"{path} {tolerance} {tolerance}\n")

    def one(self, name, op, inputs, attributes=None, outputs=("y",), constants=None, order=None, **options):
        constants = constants or {}
        operands = order or [*inputs, *constants]
        node = helper.make_node(op, operands, list(outputs), **(attributes or {}))
        self.add(name, [node], inputs, [o for o in outputs if o], constants, **options)


def older_versions(cases: Cases):
    x = floats(2, 3, 4, 5)
    for opset, axis in itertools.product((7, 11, 12), (0, 1, 2, 3)):
        cases.one(f"softmax_{opset}_axis{axis}", "Softmax", {"x": x}, {"axis": axis}, opset=opset)
    cases.one("softmax_11_negative_axis", "Softmax", {"x": x}, {"axis": -2}, opset=11)
    cases.one("softmax_13_axis1", "Softmax", {"x": x}, {"axis": 1}, opset=13)
    cases.one("softmax_default_11", "Softmax", {"x": x}, opset=11)
    cases.one("softmax_default_13", "Softmax", {"x": x}, opset=13)
    cases.one("slice_7", "Slice", {"x": x}, {"starts": [1, -3], "ends": [100, -1], "axes": [2, 3]}, opset=7)
    cases.one("slice_9_no_axes", "Slice", {"x": x}, {"starts": [0, 1], "ends": [1, 3]}, opset=9)
    for mode in ("constant", "reflect", "edge"):
        cases.one(f"pad_7_{mode}", "Pad", {"x": x}, {"pads": [0, 0, 1, 2, 0, 0, 2, 1], "mode": mode, "value": 1.5}
                  if mode == "constant" else {"pads": [0, 0, 1, 2, 0, 0, 2, 1], "mode": mode}, opset=7)
    cases.one("squeeze_11", "Squeeze", {"x": floats(2, 1, 3, 1)}, {"axes": [1, -1]}, opset=11)
    cases.one("unsqueeze_11", "Unsqueeze", {"x": floats(2, 3)}, {"axes": [0, 3]}, opset=11)
    cases.one("split_11", "Split", {"x": x}, {"axis": 3, "split": [2, 3]}, outputs=("y", "z"), opset=11)
    cases.one("split_equal_11", "Split", {"x": x}, {"axis": 2}, outputs=("y", "z"), opset=11)
    cases.one("split_uneven_18", "Split", {"x": x}, {"axis": 3, "num_outputs": 3}, outputs=("y", "z", "w"), opset=18)
    cases.add("split_partly_read", [node("Split", "x", "y,z", axis=3, split=[2, 3])], {"x": x}, ("z",), opset=11)
    for op in ("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin"):
        cases.one(f"{op}_11", op, {"x": x}, {"axes": [-1, 1], "keepdims": 0}, opset=11, tolerance=1e-5)
        cases.one(f"{op}_11_all", op, {"x": x}, opset=11, tolerance=1e-5)
        cases.one(f"{op}_18", op, {"x": x}, {"noop_with_empty_axes": 1}, opset=18)
        cases.one(f"{op}_18_axes", op, {"x": x}, {"keepdims": 0}, constants={"a": np.array([2])}, opset=18)
    cases.one("clip_7", "Clip", {"x": x}, {"min": -0.5, "max": 0.25}, opset=7)
    cases.one("clip_7_max", "Clip", {"x": x}, {"max": 0.25}, opset=7)
    cases.one("clip_12_data", "Clip", {"x": x, "low": np.array(-0.5, np.float32)}, order=["x", "low"], opset=12)
    cases.one("clip_12_int", "Clip", {"x": np.arange(-5, 5)}, constants={"low": np.array(-2), "high": np.array(3)},
              opset=12)
    cases.one("dropout_7", "Dropout", {"x": x}, {"ratio": 0.3}, opset=7)
    parameters = {"s": floats(3), "b": floats(3), "m": floats(3), "v": np.abs(floats(3)) + 0.1}
    for opset in (7, 9, 15):
        cases.one(f"batch_normalization_{opset}", "BatchNormalization", {"x": x}, {"epsilon": 1e-3},
                  constants=parameters, opset=opset)
    cases.one("batch_normalization_2d", "BatchNormalization", {"x": floats(4, 3)}, constants=parameters, opset=15)
    cases.one("batch_normalization_data", "BatchNormalization", {"x": x, **parameters}, opset=15,
              open_axes={"x": [0, 2, 3]})
    cases.one("flatten_7", "Flatten", {"x": x}, {"axis": 2}, opset=7)
    cases.one("flatten_0", "Flatten", {"x": x}, {"axis": 0}, opset=13)
    cases.one("flatten_negative", "Flatten", {"x": x}, {"axis": -1}, opset=13)
    cases.one("sum_8", "Sum", {"a": x, "b": floats(5), "c": floats(3, 1, 5)}, opset=8, open_axes={"a": [0]})
    many = {f"x{i}": floats(2, 3) for i in range(17)}
    cases.one("max_of_17", "Max", many, opset=13, open_axes={})
    cases.one("mean_of_17", "Mean", many, opset=13, open_axes={})
    cases.one("initialiser_as_input", "Add", {"x": x}, constants={"b": floats(5)}, opset=8, ir_version=3,
              listed_constants=True)


def upsampling(cases: Cases):
    x = floats(1, 2, 3, 4)
    for mode in ("nearest", "linear"):
        scales = np.array([1, 1, 2, 3], np.float32)
        cases.one(f"upsample_7_{mode}", "Upsample", {"x": x}, {"scales": scales.tolist(), "mode": mode}, opset=7)
        cases.one(f"upsample_9_{mode}", "Upsample", {"x": x}, {"mode": mode}, constants={"s": scales}, opset=9)
        cases.one(f"resize_10_{mode}", "Resize", {"x": x}, {"mode": mode}, constants={"s": scales}, opset=10)
        down = np.array([1, 1, 0.5, 0.5], np.float32)
        cases.one(f"resize_10_{mode}_down", "Resize", {"x": x}, {"mode": mode}, constants={"s": down}, opset=10)
    coordinates = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric")
    for mode, coordinate in itertools.product(("nearest", "linear", "cubic"), coordinates):
        for label, scales in (("up", [1, 1, 2, 3]), ("odd", [1, 1, 1.7, 2.5]), ("down", [1, 1, 0.7, 0.6])):
            cases.one(f"resize_{mode}_{coordinate}_{label}", "Resize", {"x": floats(1, 2, 10, 7)},
                      {"mode": mode, "coordinate_transformation_mode": coordinate, "nearest_mode": "floor"},
                      constants={"r": np.array([], np.float32), "s": np.array(scales, np.float32)}, opset=13,
                      tolerance=1e-4)
    for size in (5, 10, 13, 20, 50, 100, 200):
        for scale in (0.7, 0.29, 0.3, 1.1, 1 / 3):
            if int(np.float32(size) * np.float32(scale)) == size:
                continue  # the oracle copies where the size stays
            cases.one(f"resize_size_{size}_{scale:.2f}", "Resize", {"x": floats(1, 1, size, 1)},
                      {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
                      constants={"s": np.array([1, 1, scale, 1], np.float32)}, order=["x", "", "s"], opset=13)
    cases.one("resize_sizes", "Resize", {"x": x}, {"mode": "linear"}, constants={"z": np.array([1, 2, 7, 5])},
              order=["x", "", "", "z"], opset=13)
    cases.one("resize_sizes_axes", "Resize", {"x": x}, {"mode": "linear", "axes": [3, 2]},
              constants={"z": np.array([7, 5])}, order=["x", "", "", "z"], opset=18)


def windows(cases: Cases):
    x = floats(2, 3, 11, 8)
    combinations = [
        ({"kernel_shape": [3, 3], "strides": [2, 2]}, "plain"),
        ({"kernel_shape": [3, 2], "strides": [2, 3], "pads": [1, 0, 1, 1]}, "pads"),
        ({"kernel_shape": [2, 2], "strides": [3, 3]}, "gaps"),
        ({"kernel_shape": [3, 3], "strides": [3, 2], "pads": [1, 1, 1, 1]}, "padded"),
        ({"kernel_shape": [1, 1], "strides": [4, 4], "pads": [0, 0, 0, 0]}, "points"),
    ]
    for op in ("MaxPool", "AveragePool"):
        for attributes, label in combinations:
            for ceil in (0, 1):
                cases.one(f"{op}_{label}_ceil{ceil}", op, {"x": x}, {**attributes, "ceil_mode": ceil}, opset=12)
        for auto_pad in ("SAME_UPPER", "SAME_LOWER", "VALID"):
            cases.one(f"{op}_{auto_pad}", op, {"x": x},
                      {"kernel_shape": [3, 2], "strides": [2, 3], "auto_pad": auto_pad}, opset=12)
    cases.one("AveragePool_include", "AveragePool", {"x": x},
              {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1], "count_include_pad": 1}, opset=12)
    cases.one("AveragePool_include_ceil", "AveragePool", {"x": x}, {
        "kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1], "count_include_pad": 1, "ceil_mode": 1},
        opset=19)
    cases.one("MaxPool_dilated", "MaxPool", {"x": x}, {"kernel_shape": [3, 3], "dilations": [2, 2]}, opset=12)
    cases.one("MaxPool_1d", "MaxPool", {"x": floats(2, 3, 17)}, {"kernel_shape": [4], "strides": [3]}, opset=12)
    for op in ("GlobalAveragePool", "GlobalMaxPool"):
        cases.one(op, op, {"x": x}, opset=9)
    w = floats(4, 3, 3, 2)
    for auto_pad in ("SAME_UPPER", "SAME_LOWER", "VALID"):
        for strides in ([1, 1], [2, 3]):
            cases.one(f"Conv_{auto_pad}_{strides[0]}", "Conv", {"x": x}, {"auto_pad": auto_pad, "strides": strides},
                      constants={"w": w, "b": floats(4)}, opset=11, tolerance=1e-4)
    cases.one("Conv_grouped", "Conv", {"x": floats(1, 6, 9, 7)},
              {"group": 3, "pads": [2, 1, 0, 1], "dilations": [2, 1], "strides": [2, 1]},
              constants={"w": floats(6, 2, 3, 3)}, opset=11, tolerance=1e-4)
    cases.one("Conv_1d", "Conv", {"x": floats(2, 3, 19)}, {"pads": [1, 2], "strides": [2]},
              constants={"w": floats(5, 3, 4), "b": floats(5)}, opset=11, tolerance=1e-4)
    cases.one("Conv_data_weights", "Conv", {"x": x, "w": w}, opset=11, open_axes={"x": [0, 2, 3]}, tolerance=1e-4)
    wt = floats(3, 2, 3, 4)
    for label, attributes in {
        "plain": {"strides": [2, 2]},
        "pads": {"strides": [2, 2], "pads": [1, 1, 0, 2]},
        "output_padding": {"strides": [3, 2], "output_padding": [2, 1]},
        "padded": {"strides": [3, 2], "output_padding": [1, 1], "pads": [1, 1, 1, 1], "dilations": [2, 1]},
        "same_upper": {"strides": [2, 3], "auto_pad": "SAME_UPPER"},
        "same_lower": {"strides": [2, 3], "auto_pad": "SAME_LOWER"},
    }.items():
        cases.one(f"ConvTranspose_{label}", "ConvTranspose", {"x": floats(1, 3, 5, 4)}, attributes,
                  constants={"w": wt, "b": floats(2)}, opset=11, tolerance=1e-4)
    cases.one("ConvTranspose_output_shape", "ConvTranspose", {"x": floats(1, 3, 5, 4)},
              {"strides": [2, 2], "output_shape": [10, 9]}, constants={"w": wt}, opset=11, open_axes={"x": [0]},
              tolerance=1e-4)


def products(cases: Cases):
    for a, b in (((3,), (3,)), ((3,), (3, 4)), ((2, 3), (3,)), ((3,), (5, 3, 4)), ((5, 2, 3), (3,)),
                 ((4, 1, 2, 3), (5, 3, 2)), ((2, 3), (3, 4))):
        name = "matmul_" + "_".join("x".join(map(str, shape)) for shape in (a, b))
        cases.one(name, "MatMul", {"a": floats(*a), "b": floats(*b)}, opset=9, tolerance=1e-4,
                  open_axes={"a": [0]} if len(a) > 2 else {})
    for trans_a, trans_b, alpha, beta in itertools.product((0, 1), (0, 1), (1.0, 0.5), (1.0, 2.0, 0.0)):
        a = floats(3, 4).T.copy() if trans_a else floats(3, 4)
        b = floats(4, 5).T.copy() if trans_b else floats(4, 5)
        for label, c in (("none", None), ("scalar", floats()), ("row", floats(5)), ("row2", floats(1, 5)),
                         ("column", floats(3, 1)), ("full", floats(3, 5))):
            constants = {"b": b} if c is None else {"b": b, "c": c}
            cases.one(f"gemm_{trans_a}{trans_b}_{alpha}_{beta}_{label}", "Gemm", {"a": a},
                      {"transA": trans_a, "transB": trans_b, "alpha": alpha, "beta": beta}, constants=constants, opset=11,
                      open_axes={"a": [1 if trans_a else 0]} if label not in ("column", "full") else {}, tolerance=1e-4)
    steps, batch, size, hidden = 5, 3, 4, 6
    for direction, directions in (("forward", 1), ("reverse", 1), ("bidirectional", 2)):
        weights = {"w": floats(directions, 4 * hidden, size), "r": floats(directions, 4 * hidden, hidden)}
        bias = {"b": floats(directions, 8 * hidden)}
        attributes = {"hidden_size": hidden, "direction": direction}
        state = {"h": floats(directions, batch, hidden), "c": floats(directions, batch, hidden)}
        x = {"x": floats(steps, batch, size)}
        outputs = ("y", "yh", "yc")
        cases.one(f"lstm_{direction}", "LSTM", x, attributes, outputs, weights, opset=14, tolerance=1e-4)
        cases.one(f"lstm_{direction}_bias_state", "LSTM", {**x, **state}, attributes, outputs, {**weights, **bias},
                  order=["x", "w", "r", "b", "", "h", "c"], opset=14, tolerance=1e-4, open_axes={"x": [0]})
        cases.one(f"lstm_{direction}_lengths", "LSTM", {**x, "l": np.array([5, 2, 3], np.int32)}, attributes, outputs,
                  {**weights, **bias}, order=["x", "w", "r", "b", "l"], opset=14, tolerance=1e-4, open_axes={"x": [0]})
        cases.one(f"lstm_{direction}_last", "LSTM", x, attributes, ("", "yh"), weights, opset=14, tolerance=1e-4)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(","), outputs.split(","), **attributes)


def shapes(cases: Cases):
    x = floats(2, 6, 4, 5)
    i64 = lambda *values: np.array(values, np.int64)
    scalar = lambda value: np.array(value, np.int64)
    cases.add("reshape_by_shape", [
        node("Shape", "x", "s"), node("Gather", "s,zero", "n"), node("Unsqueeze", "n,axis0", "n1"),
        node("Concat", "n1,rest", "target", axis=0), node("Reshape", "x,target", "y")],
        {"x": x}, constants={"zero": scalar(0), "axis0": i64(0), "rest": i64(2, -1, 10)}, opset=13)
    cases.add("flatten_by_product", [
        node("Shape", "x", "s"), node("Slice", "s,a,b", "tail"), node("ReduceProd", "tail", "p", keepdims=1),
        node("Slice", "s,z,a", "head"), node("Concat", "head,p", "t", axis=0), node("Reshape", "x,t", "y")],
        {"x": x}, constants={"a": i64(2), "b": i64(2**63 - 1), "z": i64(0)}, opset=13)
    cases.add("half_by_div", [
        node("Shape", "x", "s"), node("Gather", "s,one", "c"), node("Div", "c,two", "h"),
        node("Unsqueeze", "h,axis0", "h1"), node("Slice", "x,zero1,h1,one1", "y")],
        {"x": x}, constants={"one": scalar(1), "two": scalar(2), "axis0": i64(0), "zero1": i64(0), "one1": i64(1)})
    cases.add("resize_to_other", [
        node("Shape", "z", "s"), node("Slice", "s,two,four", "hw"), node("Shape", "x", "sx"),
        node("Slice", "sx,zero,two", "nc"), node("Concat", "nc,hw", "sizes", axis=0),
        node("Resize", "x,,,sizes", "y", mode="nearest", coordinate_transformation_mode="asymmetric",
             nearest_mode="floor")],
        {"x": x, "z": floats(2, 6, 8, 10)}, constants={"two": i64(2), "four": i64(4), "zero": i64(0)})
    cases.add("resize_by_float_scale", [
        node("Shape", "x", "s"), node("Slice", "s,two,four", "hw"), node("Cast", "hw", "f", to=TensorProto.FLOAT),
        node("Mul", "f,k", "g"), node("Floor", "g", "fl"), node("Cast", "fl", "i", to=TensorProto.INT64),
        node("Slice", "s,zero,two", "nc"), node("Concat", "nc,i", "sizes", axis=0),
        node("Resize", "x,,,sizes", "y", mode="linear")],
        {"x": x}, constants={"two": i64(2), "four": i64(4), "zero": i64(0), "k": np.array(1.5, np.float32)},
        tolerance=1e-4)
    cases.add("resize_by_quotient", [
        node("Shape", "z", "sz"), node("Slice", "sz,two,four", "a"), node("Cast", "a", "af", to=TensorProto.FLOAT),
        node("Shape", "x", "s"), node("Slice", "s,two,four", "b"), node("Cast", "b", "bf", to=TensorProto.FLOAT),
        node("Div", "af,bf", "q"), node("Concat", "ones,q", "scales", axis=0),
        node("Resize", "x,,scales", "y", mode="nearest", coordinate_transformation_mode="asymmetric",
             nearest_mode="floor")],
        {"x": x, "z": floats(1, 1, 8, 10)},
        constants={"two": i64(2), "four": i64(4), "ones": np.array([1, 1], np.float32)})
    cases.add("expand_where", [
        node("Shape", "x", "s"), node("Equal", "want,minus", "e"), node("Where", "e,s,want", "t"),
        node("Expand", "row,t", "y")],
        {"x": x}, constants={"want": i64(-1, 6, -1, 5), "minus": i64(-1), "row": floats(5)})
    cases.add("constant_of_shape", [
        node("Shape", "x", "s"),
        helper.make_node("ConstantOfShape", ["s"], ["c"], value=numpy_helper.from_array(np.array([2.5], np.float32))),
        node("Add", "x,c", "y")], {"x": x})
    cases.add("range_positions", [
        node("Shape", "x", "s"), node("Gather", "s,three", "w"), node("Range", "zero,w,one", "r"),
        node("Cast", "r", "f", to=TensorProto.FLOAT), node("Add", "x,f", "y")],
        {"x": x}, constants={"three": scalar(3), "zero": scalar(0), "one": scalar(1)})
    cases.add("range_float", [node("Range", "a,b,c", "r"), node("Add", "x,r", "y")], {"x": floats(7)},
              constants={"a": np.array(0.5, np.float32), "b": np.array(4, np.float32), "c": np.array(0.5, np.float32)},
              open_axes={})
    cases.add("shape_as_data", [
        node("Shape", "x", "s"), node("Cast", "s", "f", to=TensorProto.FLOAT), node("Reciprocal", "f", "q"),
        node("Mul", "f,q", "one"), node("Reshape", "one,column", "o"), node("Gather", "o,z", "k", axis=0),
        node("Mul", "x,k", "y")], {"x": x}, constants={"column": i64(4, 1), "z": scalar(3)})
    cases.add("shape_output", [node("Shape", "x", "y"), node("Size", "x", "z")], {"x": x}, ("y", "z"))
    cases.add("scale_by_dimension", [
        node("Shape", "x", "s"), node("Gather", "s,one", "c"), node("Cast", "c", "f", to=TensorProto.FLOAT),
        node("Sqrt", "f", "q"), node("Div", "x,q", "y")], {"x": x}, constants={"one": scalar(1)},
        open_axes={"x": [0, 2, 3]})
    cases.add("if_on_shape", [
        node("Shape", "x", "s"), node("Gather", "s,one", "c"), node("Equal", "c,six", "e"),
        helper.make_node("If", ["e"], ["y"],
                         then_branch=helper.make_graph([node("Relu", "x", "t")], "then", [],
                                                       [helper.make_empty_tensor_value_info("t")]),
                         else_branch=helper.make_graph([node("Neg", "x", "t")], "else", [],
                                                       [helper.make_empty_tensor_value_info("t")]))],
        {"x": x}, constants={"one": scalar(1), "six": scalar(6)}, open_axes={"x": [0, 2, 3]})
    cases.add("pads_by_reshape", [
        node("ConstantOfShape", "four", "z"), node("Concat", "given,z", "p", axis=0), node("Reshape", "p,two", "pairs"),
        node("Slice", "pairs,last,first,axis0,minus", "r"), node("Transpose", "r", "t", perm=[1, 0]),
        node("Reshape", "t,flat", "pads0"), node("Cast", "pads0", "pads", to=TensorProto.INT64),
        node("Pad", "x,pads,value", "y")],
        {"x": x}, constants={"four": i64(4), "given": np.array([1, 2, 0, 3], np.float32), "two": i64(-1, 2),
                             "last": i64(-1), "first": i64(-2**63), "axis0": i64(0), "minus": i64(-1), "flat": i64(-1),
                             "value": np.array(0.5, np.float32)})
    for start, end, step in ((0, 2**63 - 1, 1), (-1, -2**63, -1), (-1, -2**63, -2), (3, 0, -1), (-100, 100, 2),
                             (1, -1, 1), (2**31, -2**31, -3), (2, 2, 1), (4, 1, 1)):
        cases.add(f"slice_{start}_{end}_{step}", [node("Slice", "x,a,b,c,d", "y")], {"x": floats(2, 5)},
                  constants={"a": i64(start), "b": i64(end), "c": i64(1), "d": i64(step)}, open_axes={"x": [0]})
    for start, end in ((0, 2**63 - 1), (-2, 2**63 - 1), (1, -1), (0, 3)):
        cases.add(f"slice_open_{start}_{end}", [node("Slice", "x,a,b,c", "y")], {"x": floats(2, 5)},
                  constants={"a": i64(start), "b": i64(end), "c": i64(1)})
    cases.add("gather_last", [node("Gather", "x,i", "y", axis=1)], {"x": floats(2, 5, 3)}, constants={"i": scalar(-1)})
    cases.add("gather_list", [node("Gather", "x,i", "y", axis=2)], {"x": floats(2, 5, 3)}, constants={"i": i64(2, 0, -1)})
    cases.add("depth_to_space", [node("DepthToSpace", "x", "y", blocksize=2, mode="CRD")], {"x": floats(1, 8, 3, 2)},
              opset=11)
    cases.add("space_to_depth", [node("SpaceToDepth", "x", "y", blocksize=2)], {"x": floats(1, 3, 4, 6)}, opset=11)
    cases.add("scalars", [node("Add", "x,k", "a"), node("Mul", "a,s", "b"), node("Squeeze", "b", "y")],
              {"x": floats()}, constants={"k": np.array([3], np.float32), "s": np.array(2, np.float32)})


def main() -> int:
    runner, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    if folder.exists():
        shutil.rmtree(folder)
    cases = Cases(folder)
    for family in (older_versions, upsampling, windows, products, shapes):
        family(cases)
    listing = folder / "cases.txt"
    listing.write_text("".join(cases.listing))
    result = subprocess.run([runner, str(listing)], capture_output=True, text=True)
    verdicts = [line.split("\t", 1) for line in result.stdout.splitlines()]
    failures = [f"{name}: {verdict}" for name, verdict in verdicts if verdict != "pass"]
    print("\n".join(failures))
    print(f"{len(verdicts) - len(failures)} of {len(cases.listing)} cases pass")
    if result.returncode != 0:
        print(result.stderr[-2000:])
    return 1 if failures or len(verdicts) != len(cases.listing) or not verdicts else 0


if __name__ == "__main__":
    sys.exit(main())
