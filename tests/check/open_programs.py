#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program whose dimensions are open, planned, measured, checked and run at shapes from the command line: what is planned
is what is counted, and what it answers is what the model answers that was compiled for that shape.

    open_programs.py --weir build/weir --work DIR
"""
import json
import shutil
import struct
import zlib

from weir_test import WeirTest, model

import numpy as np
import onnx
from onnx import TensorProto, helper


def picture():
    """Two convolutions over a picture of any size."""
    rng = np.random.default_rng(1)
    weights = [("w", rng.standard_normal((16, 3, 3, 3), dtype=np.float32)),
               ("v", rng.standard_normal((8, 16, 1, 1), dtype=np.float32))]
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], "conv", pads=[1, 1, 1, 1], strides=[2, 2]),
             helper.make_node("Relu", ["c"], ["r"], "relu"), helper.make_node("Conv", ["r", "v"], ["y"], "point")]
    return model(nodes, [("x", TensorProto.FLOAT, ["batch", 3, "height", "width"])],
                 [("y", TensorProto.FLOAT, None)], weights)


def sentence():
    """Rows of a table by token, where a mask lets them through."""
    table = np.random.default_rng(2).standard_normal((10, 4), dtype=np.float32)
    nodes = [helper.make_node("Gather", ["table", "ids"], ["rows"], "look_up"),
             helper.make_node("Cast", ["mask"], ["open"], "cast", to=TensorProto.FLOAT),
             helper.make_node("Unsqueeze", ["open", "last"], ["column"], "unsqueeze"),
             helper.make_node("Mul", ["rows", "column"], ["y"], "let_through")]
    return model(nodes, [("ids", TensorProto.INT64, ["batch", "tokens"]), ("mask", TensorProto.INT64, ["batch", "tokens"])],
                 [("y", TensorProto.FLOAT, None)], [("table", table), ("last", np.array([2]))])


def png(height, width):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + bytes((y * 7 + x) % 256 for x in range(3 * width)) for y in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class OpenPrograms(WeirTest):
    def fails(self, *options, says, code=1):
        result = self.weir(*options)
        self.expect(result.returncode == code and says in result.stderr, f"{options}: {result.stdout}{result.stderr}")

    def output(self, *options):
        """What a run writes for the output 'y'."""
        shutil.rmtree(self.work / "out", ignore_errors=True)
        self.text("run", *options, "--output", "out")
        path = self.work / "out" / "y.npy"
        return np.load(path) if path.exists() else np.zeros(0)

    def planned(self):
        """At a shape an open program takes what one takes that was compiled for it, and what is counted."""
        for batch, height, width in ((1, 8, 8), (2, 33, 17), (3, 64, 48)):
            shape = f"x={batch}x3x{height}x{width}"
            self.text("compile", "picture.onnx", "-o", "fixed.weir", "--shape", shape)
            fixed = self.json("plan", "fixed.weir")
            by_dims = ["--dim", f"batch={batch}", "--dim", f"height={height}", "--dim", f"width={width}"]
            for how in (["--shape", shape], by_dims, [*by_dims[:4], "--shape", shape]):
                plan = self.json("plan", "picture.weir", *how, "--count")
                self.expect(plan["inputs"] == [f"x float32[{batch}, 3, {height}, {width}]"], f"{plan['inputs']}")
                self.expect(plan["planned"] == plan["counted"], f"{how}: {plan['planned']}, {plan['counted']}")
                for line in ("activations", "workspace", "scratch", "io"):
                    self.expect(plan["planned"][line] == fixed["planned"][line], f"{how}: {line} of {plan['planned']}")
                blocks = [t for t in plan["tensors"] if t["offset"] >= 0 and t["alias_of"] < 0]
                self.expect(blocks and max(t["offset"] + t["bytes"] for t in blocks) <= plan["peak_bytes"] <= plan["sum_bytes"],
                            f"{how}: {plan['peak_bytes']} of {blocks}")
                bench = self.json("bench", "picture.weir", *how, "--runs", 2)
                self.expect(bench["planned"] == bench["counted"] == plan["planned"], f"{bench}")
                check = self.json("check", "picture.weir", *how)
                self.expect(check["memory"]["planned"] == plan["planned"], f"{check['memory']}")
        text = self.text("plan", "picture.weir", "--shape", "x=1x3x8x8", "--blocks")
        block = next(t for t in self.json("plan", "picture.weir", "--shape", "x=1x3x8x8")["tensors"] if t["offset"] >= 0)
        self.expect(f"{block['bytes']:,}" in text and f"at {block['offset']:,}" in text and "for x float32[1, 3, 8, 8]" in text,
                    text)
        profile = self.json("bench", "picture.weir", "--shape", "x=1x3x8x8", "--runs", 1, "--profile")
        self.expect(len(profile["profile"]) == profile["steps"], f"{profile['profile']}")
        self.text("bench", "picture.weir", "--shape", "x=1x3x8x8", "--runs", 1, "--trace", "trace.json")

    def expressions(self):
        plan = self.json("plan", "picture.weir")
        self.expect([(d["name"], d["axis"], d["min"], d["max"]) for d in plan["open_dimensions"]] ==
                    [("batch", 0, 1, None), ("height", 2, 1, None), ("width", 3, 1, None)], f"{plan['open_dimensions']}")
        blocks = {b["name"]: b for b in plan["blocks"]}
        self.expect(blocks["x"]["bytes"] == "12·batch·height·width" and blocks["x"]["kind"] == "input", f"{blocks['x']}")
        self.expect("⌊(width + 1) / 2⌋" in blocks["y"]["bytes"], f"{blocks['y']}")
        self.expect(plan["largest"] is None, f"{plan['largest']}")
        text = self.text("plan", "picture.weir")
        for part in ("12·batch·height·width", "width   1 or more  axis 3 of input 'x'",
                     "weir plan picture.weir --dim batch=N --dim height=N --dim width=N\n"):
            self.expect(part in text, f"no {part!r} in {text}")
        ranges = ["--dim", "batch=1..2", "--dim", "height=8..64", "--dim", "width=8..64"]
        self.text("compile", "picture.onnx", "-o", "ranges.weir", *ranges)
        most = self.json("plan", "ranges.weir", "--shape", "x=2x3x64x64")["planned"]
        for how in (["ranges.weir"], ["picture.onnx", *ranges]):
            plan = self.json("plan", *how)
            self.expect(plan["largest"]["inputs"] == ["x float32[2, 3, 64, 64]"], f"{plan['largest']}")
            self.expect(plan["largest"]["planned"]["io"] == most["io"], f"{plan['largest']}, {most}")
            self.expect("At the largest values, x float32[2, 3, 64, 64]:" in self.text("plan", *how), "no largest values")
        self.expect(self.json("plan", "ranges.weir", "--memory-limit", most["total"])["largest"]["planned"] == most, f"{most}")
        self.fails("plan", "ranges.weir", "--memory-limit", most["total"] - 1, says="(1) more than the memory limit")
        self.fails("plan", "picture.weir", "--memory-limit", "1M", says="without a largest value of each")
        self.fails("plan", "picture.weir", "--html", "plan.html", says="a drawing needs numbers")
        self.fails("plan", "picture.weir", "--count", says="counting needs numbers")
        self.expect("<html" in self.text("plan", "picture.weir", "--shape", "x=1x3x8x8", "--html", "plan.html") or
                    (self.work / "plan.html").stat().st_size > 1000, "no drawing")

    def answers(self):
        shape = ["--shape", "x=2x3x20x30"]
        mine = self.output("picture.weir", "--random", 7, *shape)
        self.expect(mine.shape == (2, 8, 10, 15), f"{mine.shape}")
        self.expect(np.array_equal(mine, self.output("picture.onnx", "--random", 7, *shape)), "another answer than the model")
        self.expect(self.output("picture.weir", "--random", 7, "--dim", "height=6", "--dim", "width=4").shape == (1, 8, 3, 2),
                    "a first dimension that is open is 1")
        # A photo is resized to the shape that is asked for, and gives its own where none is.
        (self.work / "photo.png").write_bytes(png(12, 18))
        self.expect(self.output("picture.weir", "--input", "photo.png").shape == (1, 8, 6, 9), "the photo's own size")
        self.expect(self.output("picture.weir", "--input", "photo.png", "--shape", "x=1x3x40x20").shape == (1, 8, 20, 10),
                    "the photo at a size")

    def files(self):
        np.save(self.work / "ids.npy", np.array([[1, 2, 9], [0, 3, 4]]))
        both = self.output("sentence.weir", "--input", "ids=ids.npy", "--random", 1)
        self.expect(both.shape == (2, 3, 4), f"the mask has the shape of the tokens: {both.shape}")
        self.expect(self.output("sentence.onnx", "--input", "ids=ids.npy", "--random", 1).shape == (2, 3, 4), "of a model")
        self.fails("run", "sentence.weir", "--input", "ids=ids.npy", "--random", 1, "--dim", "tokens=4",
                   says="Dimension 'tokens' (axis 1 of input 'ids') is (4) by --dim, and (3) by file 'ids.npy'.")
        self.fails("run", "sentence.weir", "--random", 1, says="give --dim tokens=N")

    def refusals(self):
        self.text("compile", "picture.onnx", "-o", "narrow.weir", "--dim", "height=8..64", "--dim", "width=8..64")
        for command in (["plan"], ["bench", "--runs", 1], ["run", "--random", 1]):
            self.fails(*command, "narrow.weir", "--dim", "height=8", "--dim", "width=65",
                       says="Dimension 'width' (axis 3 of input 'x') is (65) by --dim, and the program was compiled for (8 to 64).")
            self.fails(*command, "narrow.weir", "--dim", "width=9", says="Dimension 'height' (axis 2 of input 'x') is open")
            self.fails(*command, "narrow.weir", "--dim", "widht=9", says="did you mean 'width'?")
            self.fails(*command, "narrow.weir", "--dim", "width=8..9", says="a program that is compiled already takes one number")
        check = json.loads(self.weir("check", "narrow.weir", "--dim", "width=65", "--json").stdout)
        self.expect(not check["ready"] and any("(65) by --dim" in c["finding"] for c in check["checks"]), f"{check}")
        np.save(self.work / "wide.npy", np.zeros((1, 3, 8, 65), np.float32))
        self.fails("run", "narrow.weir", "--input", "wide.npy", says="is (65) by file 'wide.npy', and the program was compiled for")

    def limits(self):
        """A limit of the program is kept at the largest values of its ranges."""
        ranges = ["--dim", "batch=1..2", "--dim", "height=8..64", "--dim", "width=8..64"]
        most = self.json("plan", "ranges.weir")["largest"]["planned"]
        total = sum(most[line] for line in ("constants", "activations", "workspace", "io", "state"))
        self.text("compile", "picture.onnx", "-o", "limited.weir", "--memory-limit", total, *ranges)
        kept = self.json("plan", "limited.weir")["largest"]["planned"]
        self.expect(sum(kept[line] for line in ("constants", "activations", "workspace", "io", "state")) <= total, f"{kept}")
        self.fails("compile", "picture.onnx", "-o", "limited.weir", "--memory-limit", most["io"], *ranges,
                   says="at the largest values of its dimensions (batch = 2, height = 64, width = 64)")
        self.fails("compile", "picture.onnx", "-o", "limited.weir", "--memory-limit", "1M", *ranges[:4],
                   says="largest value at which they could be counted: 'width' (axis 3 of input 'x'); "
                        "give them a number or a range, as in --dim width=1..N.")

    def names(self):
        """A dimension without a name takes the one that is shown for it."""
        onnx.save(model([helper.make_node("Relu", ["x"], ["y"], "act")], [("x", TensorProto.FLOAT, [None, 3, None])],
                        [("y", TensorProto.FLOAT, None)]), self.work / "nameless.onnx")
        self.fails("plan", "nameless.onnx", says="give --dim dim1=N")
        plan = self.json("plan", "nameless.onnx", "--dim", "dim1=5")
        self.expect(plan["inputs"] == ["x float32[1, 3, 5]"], f"{plan['inputs']}")
        for file in ("nameless.onnx", "nameless.weir"):  # the only input needs no name
            self.text("compile", "nameless.onnx", "-o", "nameless.weir")
            self.expect(self.json("plan", file, "--shape", "2x3x7")["inputs"] == ["x float32[2, 3, 7]"], file)
        self.expect(0 < plan["planned"]["io"] and plan["peak_bytes"] <= plan["sum_bytes"], f"{plan}")

    def prepare(self):
        onnx.save(picture(), self.work / "picture.onnx")
        onnx.save(sentence(), self.work / "sentence.onnx")
        for name in ("picture", "sentence"):
            self.text("compile", f"{name}.onnx", "-o", f"{name}.weir")

    def parts(self):
        return self.planned, self.expressions, self.answers, self.files, self.refusals, self.limits, self.names


OpenPrograms.main(__doc__)
