#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `weir run` makes of batches, labels and frames, and that nothing is written where something does not fit.

    run_command.py --weir build/weir --work DIR
"""
from weir_test import WeirTest, model

import numpy as np
import onnx
from onnx import TensorProto, helper

FLOAT = TensorProto.FLOAT


def classifier():
    """Scores are the inputs themselves."""
    return model([helper.make_node("MatMul", ["x", "w"], ["scores"], "dense")], [("x", FLOAT, ["batch", 4])],
                 [("scores", FLOAT, ["batch", 4])], [("w", np.eye(4, dtype=np.float32))])


def adder():
    """A sum that goes on from run to run, of frames, times a gain that is the same in each."""
    nodes = [helper.make_node("Mul", ["x", "gain"], ["part"], "scale"),
             helper.make_node("Add", ["sum", "part"], ["next"], "add"),
             helper.make_node("Relu", ["next"], ["y"], "show")]
    return model(nodes, [("x", FLOAT, [1, 3]), ("sum", FLOAT, [1, 3]), ("gain", FLOAT, [1, 3])],
                 [("y", FLOAT, [1, 3]), ("next", FLOAT, [1, 3])])


class RunCommand(WeirTest):
    def json(self, *options):
        return super().json("run", *options)

    def refused(self, *options, says):
        """And nothing was written."""
        result = self.weir("run", *options, "--output", "refused")
        self.expect(result.returncode == 1 and says in result.stderr, f"{options}: {result.stdout}{result.stderr}")
        self.expect(not (self.work / "refused").exists(), f"{options}: wrote before it refused")

    def batches(self):
        scores = np.array([[0, 9, 1, 2], [5, 0, 0, 4], [0, 0, 0, 1]], np.float32)
        np.save(self.work / "x.npy", scores)
        (self.work / "labels.txt").write_text("ant\nbee\ncow\ndog\n")
        run = ["classifier.onnx", "--input", "x.npy", "--task", "classify", "--labels", "labels.txt", "--top", 2]
        classes = self.json(*run)["outputs"][0]["classes"]
        self.expect([(c["row"], c["label"]) for c in classes] ==
                    [(0, "bee"), (0, "dog"), (1, "ant"), (1, "dog"), (2, "dog"), (2, "ant")], f"{classes}")
        soft = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
        soft[2] = scores[2]  # a distribution already
        self.expect(all(abs(c["score"] - soft[c["row"], c["index"]]) < 1e-5 for c in classes), f"{classes}, {soft}")
        np.save(self.work / "one.npy", scores[:1])
        one = self.json("classifier.onnx", "--input", "one.npy", "--task", "classify")["outputs"][0]["classes"]
        self.expect(len(one) == 4 and "row" not in one[0], f"{one}")

    def refusals(self):
        (self.work / "few.txt").write_text("ant\nbee\n")
        (self.work / "many.txt").write_text("ant\nbee\ncow\ndog\nelk\n")
        run = ["classifier.onnx", "--input", "x.npy"]
        self.refused(*run, "--task", "classify", "--labels", "few.txt",
                     says="File 'few.txt' has (2) labels, and output 'scores' has (4) classes.")
        self.refused(*run, "--task", "classify", "--labels", "absent.txt", says="'absent.txt' cannot be opened")
        self.refused(*run, "--labels", "few.txt", says="give --task classify")
        self.refused(*run, "--task", "embed", says="Task 'embed' takes an output of float32 [batch, tokens, features]")
        notices = self.json(*run, "--task", "classify", "--labels", "many.txt")["notices"]
        self.expect(any(n["what"] == "labels" and n["kind"] == "info" and "(5) labels" in n["reason"] for n in notices),
                    f"{notices}")

    def frames(self):
        frames = np.random.default_rng(3).standard_normal((5, 1, 3)).astype(np.float32)
        gain = np.array([[1, 2, -1]], np.float32)
        np.save(self.work / "frames.npy", frames)
        np.save(self.work / "gain.npy", gain)
        np.save(self.work / "zero.npy", np.zeros((1, 3), np.float32))
        files = ["--input", "x=frames.npy", "--input", "gain=gain.npy"]
        state = ["--state", "sum=next"]
        report = self.json("adder.onnx", *files, *state, "--frames", "--output", "out")
        expected = np.maximum(np.cumsum(frames * gain, axis=0, dtype=np.float32), 0)
        self.expect(report["frames"] == 5 and report["outputs"][0]["shape"] == [5, 1, 3], f"{report}")
        self.expect(np.allclose(np.load(self.work / "out" / "y.npy"), expected, atol=1e-6), "another sum")
        text = self.weir("run", "adder.onnx", *files, *state, "--frames").stdout
        self.expect(text.startswith("adder.onnx on ") and ", 5 frames\n" in text and "  frame 4: " in text, text)
        # Without state each run begins anew.
        alone = self.json("adder.onnx", *files, "--input", "sum=zero.npy", "--frames", "--output", "alone")
        self.expect(alone["frames"] == 5, f"{alone}")
        self.expect(np.array_equal(np.load(self.work / "alone" / "y.npy"), np.maximum(frames * gain, 0)), "another product")
        # A program is run frame by frame as well.
        self.weir("compile", "adder.onnx", "-o", "adder.weir", *state)
        self.json("adder.weir", *files, "--frames", "--output", "program")
        self.expect(np.array_equal(np.load(self.work / "program" / "y.npy"), np.load(self.work / "out" / "y.npy")),
                    "a program has another sum")
        self.refused("adder.onnx", *files, *state, says="with --frames each of its (5) frames is a run")
        self.refused("adder.onnx", "--input", "x=zero.npy", "--input", "gain=gain.npy", *state, "--frames",
                     says="There are no frames to run")
        np.save(self.work / "four.npy", frames[:4])
        self.refused("adder.onnx", *files, "--input", "sum=four.npy", "--frames", says="File 'four.npy' has (4) frames, and another input has (5).")
        np.save(self.work / "none.npy", frames[:0])
        self.refused("adder.onnx", "--input", "x=none.npy", "--input", "gain=gain.npy", *state, "--frames",
                     says="frames of float32[1,3] are taken, one at least")
        self.refused("adder.onnx", *files, *state, "--frames", "--task", "embed", says="is for one run")
        np.save(self.work / "scores.npy", np.eye(4, dtype=np.float32)[[2, 0]].reshape(2, 1, 4))
        classes = self.json("classifier.onnx", "--input", "scores.npy", "--frames", "--task", "classify", "--top", 1)
        self.expect([(c["frame"], c["index"]) for c in classes["outputs"][0]["classes"]] == [(0, 2), (1, 0)], f"{classes}")

    def prepare(self):
        onnx.save(classifier(), self.work / "classifier.onnx")
        onnx.save(adder(), self.work / "adder.onnx")

    def parts(self):
        return self.batches, self.refusals, self.frames


RunCommand.main(__doc__)
