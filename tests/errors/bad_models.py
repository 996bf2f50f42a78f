# SPDX-License-Identifier: Apache-2.0
"""The small models and files of the error tests, good and bad, made in a folder."""
import pathlib
import struct
import zlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT
INT64 = TensorProto.INT64


def tensor(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


def constant(name, values, kind=np.float32):
    return numpy_helper.from_array(np.asarray(values, kind), name)


def model(nodes, inputs, outputs, initializers=(), opset=17, name="net"):
    graph = helper.make_graph(nodes, name, inputs, outputs, list(initializers))
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    made.producer_name = ""
    return made


def relu(shape=(1, 3), **options):
    return model([helper.make_node("Relu", ["x"], ["y"], name="act")], [tensor("x", FLOAT, list(shape))],
                 [tensor("y", FLOAT, list(shape))], **options)


def words():
    """Rows of a table by token."""
    return model([helper.make_node("Gather", ["table", "ids"], ["rows"], name="look_up"),
                  helper.make_node("Relu", ["rows"], ["y"], name="act")],
                 [tensor("ids", INT64, ["count"])], [tensor("y", FLOAT, ["count", 4])],
                 [constant("table", np.arange(40).reshape(10, 4))])


def copied():
    """An output that is an input: it has to be copied."""
    return model([helper.make_node("Identity", ["x"], ["y"], name="same")], [tensor("x", FLOAT, [1, 3])],
                 [tensor("y", FLOAT, [1, 3])])


def classifier():
    return model([helper.make_node("MatMul", ["x", "w"], ["scores"], name="dense")], [tensor("x", FLOAT, ["batch", 3])],
                 [tensor("scores", FLOAT, ["batch", 4])], [constant("w", np.ones((3, 4)))])


def operands():
    return model([helper.make_node("Concat", ["x"] * 5000, ["y"], name="join", axis=0)], [tensor("x", FLOAT, [1])],
                 [tensor("y", FLOAT, [5000])])


def negative():
    return model([helper.make_node("Expand", ["one", "shape"], ["y"], name="grow")], [], [tensor("y", FLOAT, [0, 0, 0])],
                 [constant("one", [1]), constant("shape", [-2, -1, 0], np.int64)])


def deep():
    """Branches in branches."""
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["inner"])], "leaf", [], [tensor("inner", FLOAT, [1])])
    for _ in range(30):
        graph = helper.make_graph([helper.make_node("If", ["yes"], ["inner"], then_branch=graph)], "branch", [],
                                  [tensor("inner", FLOAT, [1])])
    return model([helper.make_node("If", ["yes"], ["y"], name="choose", then_branch=graph)], [tensor("x", FLOAT, [1])],
                 [tensor("y", FLOAT, [1])], [constant("yes", True, np.bool_)])


def image():
    return model([helper.make_node("GlobalAveragePool", ["x"], ["y"], name="pool")],
                 [tensor("x", FLOAT, [1, 3, 8, 8])], [tensor("y", FLOAT, [1, 3, 1, 1])])


def reader():
    made = image()
    helper.set_model_props(made, {"character": "a"})
    return made


def open_image():
    return model([helper.make_node("Relu", ["x"], ["y"], name="act")], [tensor("x", FLOAT, ["batch", 3, "h", "w"])],
                 [tensor("y", FLOAT, ["batch", 3, "h", "w"])])


def two_layers():
    return model([helper.make_node("MatMul", ["x", "w"], ["hidden"], name="dense"),
                  helper.make_node("Softmax", ["hidden"], ["y"], name="scores")],
                 [tensor("x", FLOAT, [1, 3])], [tensor("y", FLOAT, [1, 4])], [constant("w", np.ones((3, 4)))])


def two_inputs():
    """Lengths that have to be equal, which the model does not say."""
    return model([helper.make_node("Add", ["a", "b"], ["y"], name="sum")],
                 [tensor("a", FLOAT, ["n", 4]), tensor("b", FLOAT, ["m", 4])], [tensor("y", FLOAT, ["k", 4])])


def unsupported():
    nodes = [helper.make_node("NonZero", ["x"], ["places"], name="find"),
             helper.make_node("Det", ["x"], ["d"], name="determinant"),
             helper.make_node("Fancy", ["x"], ["z"], name="own", domain="com.example")]
    made = model(nodes, [tensor("x", FLOAT, [3, 3])],
                 [tensor("places", INT64, [2, "n"]), tensor("d", FLOAT, []), tensor("z", FLOAT, [3, 3])])
    made.opset_import.append(helper.make_opsetid("com.example", 1))
    return made


def cycle():
    nodes = [helper.make_node("Add", ["x", "b"], ["a"], name="first"),
             helper.make_node("Relu", ["a"], ["b"], name="second")]
    return model(nodes, [tensor("x", FLOAT, [2])], [tensor("b", FLOAT, [2])])


def nothing_writes():
    return model([helper.make_node("Add", ["x", "ghost"], ["y"], name="sum")], [tensor("x", FLOAT, [2])],
                 [tensor("y", FLOAT, [2])])


def output_unwritten():
    return model([helper.make_node("Relu", ["x"], ["y"], name="act")], [tensor("x", FLOAT, [2])],
                 [tensor("z", FLOAT, [2])])


def written_twice():
    nodes = [helper.make_node("Relu", ["x"], ["y"], name="first"),
             helper.make_node("Neg", ["x"], ["y"], name="second")]
    return model(nodes, [tensor("x", FLOAT, [2])], [tensor("y", FLOAT, [2])])


def mismatch():
    return model([helper.make_node("MatMul", ["x", "w"], ["y"], name="dense")], [tensor("x", FLOAT, [2, 3])],
                 [tensor("y", FLOAT, [2, 4])], [constant("w", np.ones((5, 4)))])


def no_broadcast():
    return model([helper.make_node("Add", ["x", "b"], ["y"], name="sum")], [tensor("x", FLOAT, [2, 3])],
                 [tensor("y", FLOAT, [2, 3])], [constant("b", np.ones((2, 5)))])


def mixed_types():
    return model([helper.make_node("Add", ["x", "b"], ["y"], name="sum")], [tensor("x", FLOAT, [2])],
                 [tensor("y", FLOAT, [2])], [constant("b", np.ones(2), np.float64)])


def conv_channels():
    return model([helper.make_node("Conv", ["x", "w"], ["y"], name="conv")], [tensor("x", FLOAT, [1, 3, 8, 8])],
                 [tensor("y", FLOAT, [1, 4, 6, 6])], [constant("w", np.ones((4, 2, 3, 3)))])


def short_weights():
    made = classifier()
    made.graph.initializer[0].raw_data = made.graph.initializer[0].raw_data[:-4]
    return made


def external(location, length=48, offset=0):
    made = classifier()
    weights = made.graph.initializer[0]
    weights.ClearField("raw_data")
    weights.data_location = TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", str(offset)), ("length", str(length))):
        weights.external_data.add(key=key, value=value)
    return made


def png(width, height):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + bytes(range(width)) * 3 for _ in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def make(folder: pathlib.Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    models = {
        "relu": relu(), "words": words(), "copied": copied(), "classifier": classifier(), "image": image(),
        "reader": reader(),
        "open_image": open_image(), "two_layers": two_layers(), "two_inputs": two_inputs(), "unsupported": unsupported(), "cycle": cycle(),
        "nothing_writes": nothing_writes(), "output_unwritten": output_unwritten(), "written_twice": written_twice(),
        "mismatch": mismatch(), "no_broadcast": no_broadcast(), "mixed_types": mixed_types(),
        "conv_channels": conv_channels(), "short_weights": short_weights(), "new_opset": relu(opset=99),
        "external_missing": external("weights.bin"), "external_short": external("short.bin"),
        "external_outside": external("../weights.bin"), "rank_nine": relu((1,) * 9),
        "operands": operands(), "negative": negative(), "deep": deep(),
    }
    for name, made in models.items():
        (folder / f"{name}.onnx").write_bytes(made.SerializeToString())
    no_opset = relu()
    del no_opset.opset_import[:]
    (folder / "no_opset.onnx").write_bytes(no_opset.SerializeToString())
    whole = classifier().SerializeToString()
    (folder / "truncated.onnx").write_bytes(whole[:len(whole) // 2])
    (folder / "empty.onnx").write_bytes(b"")
    (folder / "text.onnx").write_text("This is a text, and no model.\n")
    (folder / "short.bin").write_bytes(bytes(40))
    (folder / "folder").mkdir(exist_ok=True)
    (folder / "magic.weir").write_bytes(b"WEIRPROG")
    (folder / "a_file").write_text("")
    (folder / "photo.png").write_bytes(png(4, 4))
    (folder / "cut.png").write_bytes(png(4, 4)[:60])
    (folder / "noise.png").write_bytes(bytes(100))
    photo = png(4, 4)
    claim = b"IHDR" + struct.pack(">II", 30000, 2000) + photo[24:29]
    (folder / "claim.png").write_bytes(photo[:12] + claim + struct.pack(">I", zlib.crc32(claim)) + photo[33:])
    np.save(folder / "x.npy", np.ones((1, 3), np.float32))
    np.save(folder / "nan.npy", np.array([[1, 2, np.nan]], np.float32))
    np.save(folder / "double.npy", np.ones((1, 3), np.float64))
    np.save(folder / "flat.npy", np.ones(3, np.float32))
    np.save(folder / "wide.npy", np.ones((1, 4), np.float32))
    np.save(folder / "ids.npy", np.array([1, 2, 10], np.int64))
    np.save(folder / "a.npy", np.ones((2, 4), np.float32))
    np.save(folder / "frames.npy", np.ones((5, 1, 3), np.float32))
    np.save(folder / "no_frames.npy", np.ones((0, 1, 3), np.float32))
    np.save(folder / "more_frames.npy", np.ones((3, 2, 4), np.float32))
    np.save(folder / "b.npy", np.ones((3, 4), np.float32))
    np.save(folder / "complex.npy", np.ones((1, 3), np.complex64))
    (folder / "not.npy").write_text("x")
    np.save(folder / "big_endian.npy", np.ones((1, 3), ">f4"))
    np.save(folder / "fortran.npy", np.asfortranarray(np.ones((2, 3), np.float32)))
    good = (folder / "x.npy").read_bytes()
    (folder / "version.npy").write_bytes(good[:6] + bytes([9, 0]) + good[8:])
    (folder / "head.npy").write_bytes(good[:20])
    (folder / "no_key.npy").write_bytes(good.replace(b"'descr'", b"'dtype'"))
    (folder / "negative.npy").write_bytes(good.replace(b"(1, 3)", b"(-1,3)"))
    (folder / "head.jpg").write_bytes(b"\xff\xd8\xff\xe0")
    (folder / "no_labels.txt").write_text("")
    (folder / "two_labels.txt").write_text("ant\nbee\n")
    (folder / "cut.npy").write_bytes((folder / "x.npy").read_bytes()[:-4])
