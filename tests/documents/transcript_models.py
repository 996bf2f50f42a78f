# SPDX-License-Identifier: Apache-2.0
"""The models and files that the documents' transcripts name, made in a folder; none is larger than some kilobytes."""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "errors"))
from bad_models import png  # noqa: E402

FLOAT = TensorProto.FLOAT
INT64 = TensorProto.INT64


def tensor(name, shape, kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def model(name, nodes, inputs, outputs, **constants):
    initializers = [numpy_helper.from_array(value, key) for key, value in constants.items()]
    graph = helper.make_graph(nodes, name, inputs, outputs, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def node(op, inputs, output, name=None, **attributes):
    return helper.make_node(op, inputs.split(","), [output], name=name or op.lower(), **attributes)


def weights():
    return np.linspace(-1, 1, 256, dtype=np.float32).reshape(16, 16)


def models():
    kernels = np.linspace(-1, 1, 16 * 27, dtype=np.float32).reshape(16, 3, 3, 3)
    sides = ["height", "width"]
    ids = [tensor(name, ["batch", "seq"], INT64) for name in ("input_ids", "attention_mask", "token_type_ids")]
    return [
        # A table of ten rows.
        model("lookup", [node("Gather", "table,ids", "y", "lookup")], [tensor("ids", ["count"], INT64)],
              [tensor("y", ["count", 4])], table=np.arange(40, dtype=np.float32).reshape(10, 4)),
        # A small file that describes 4 TiB.
        model("fill", [node("ConstantOfShape", "shape", "y", "fill")], [], [tensor("y", [2**20, 2**20])],
              shape=np.array([2**20, 2**20], np.int64)),
        model("unsupported", [node("Det", "x", "volumes", "volume"), node("NonZero", "x", "places", "where")],
              [tensor("x", [2, 4, 4])], [tensor("volumes", [2]), tensor("places", [3, "found"], INT64)]),
        model("matmul", [node("MatMul", "x,w", "y")], [tensor("x", ["rows", 16])], [tensor("y", ["rows", 16])],
              w=weights()),
        # Two lengths that have to be equal, which the model does not say.
        model("two", [node("Add", "a,b", "y", "sum")], [tensor("a", ["n", 4]), tensor("b", ["m", 4])],
              [tensor("y", ["n", 4])]),
        model("classifier", [node("MatMul", "x,w", "scores", "dense")], [tensor("x", ["batch", 16])],
              [tensor("scores", ["batch", 4])], w=np.ascontiguousarray(weights()[:, :4])),
        model("conv_relu", [node("Conv", "image,w", "c", "conv", pads=[1, 1, 1, 1]), node("Relu", "c", "y")],
              [tensor("image", [1, 3, *sides])], [tensor("y", [1, 16, *sides])], w=kernels),
        # The inputs of a language model: what is said of their dimensions is said of the large one too.
        model("minilm", [node("Add", "input_ids,attention_mask", "a"), node("Add", "a,token_type_ids", "y", "b")], ids,
              [tensor("y", ["batch", "seq"], INT64)]),
    ]


def make(folder: pathlib.Path) -> None:
    for made in models():
        onnx.save(made, folder / f"{made.graph.name}.onnx")
    x = np.linspace(0, 1, 48, dtype=np.float32).reshape(3, 16)
    np.save(folder / "x.npy", x)
    np.save(folder / "x15.npy", x[:, :15].copy())
    np.save(folder / "x64.npy", x.astype(np.float64))
    np.save(folder / "a.npy", np.ones((2, 4), np.float32))
    np.save(folder / "b.npy", np.ones((3, 4), np.float32))
    np.save(folder / "ids.npy", np.array([1, 12, 3], np.int64))
    (folder / "page.png").write_bytes(png(32, 32))
    (folder / "few.txt").write_text("ant\nbee\n")
    (folder / "notes.py").write_text("#!/usr/bin/env python3\nprint('What was seen while the model was trained.')\n")
