#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every line of `weir check` that can warn or fail, and that each says what would fix it.

    check.py --weir build/weir --work DIR
"""
import json
import os
import pathlib

from weir_test import WeirTest, model

import numpy as np
import onnx
from onnx import TensorProto, helper


def network(dims=(1, 8, 40, 40), last="Relu"):
    """A convolution of 3 by 3, whose weights grow when they are packed, and an operator."""
    rng = np.random.default_rng(1)
    weights = rng.standard_normal((64, 8, 3, 3), dtype=np.float32)
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], "conv", pads=[1, 1, 1, 1]),
             helper.make_node(last, ["c"], ["y"], "last")]
    return model(nodes, [("x", TensorProto.FLOAT, dims)], [("y", TensorProto.FLOAT, None)], [("w", weights)])


def plain():
    """Nothing that is copied, packed or slow."""
    return model([helper.make_node("Relu", ["x"], ["y"], "act")], [("x", TensorProto.FLOAT, (1, 3))],
                 [("y", TensorProto.FLOAT, (1, 3))])


class Check(WeirTest):
    def make(self, *options):
        result = self.weir(*options)
        assert result.returncode == 0, (options, result.stderr)
        return result

    def check(self, model, *options, code=0):
        """The report, after text and JSON were compared."""
        text = self.weir("check", model, *options)
        result = self.weir("check", model, *options, "--json")
        what = f"check {model} {' '.join(map(str, options))}"
        self.expect(result.returncode == code == text.returncode, f"{what}: exits with {result.returncode}")
        self.expect(result.stderr == "", f"{what}: prints {result.stderr}")
        report = json.loads(result.stdout)
        self.expect(report["ready"] == (code == 0), f"{what}: ready is {report['ready']}")
        self.expect(text.stdout.rstrip().splitlines()[-1].startswith("ready" if code == 0 else "not ready"),
                    f"{what}: the text ends with {text.stdout.splitlines()[-1]}")
        for line in report["checks"]:
            self.expect(line["status"] == "ok" or line["fix"] or line["status"] == "fail", f"{what}: {line} has no fix")
            self.expect(any(t.startswith(line["status"]) and line["check"] in t for t in text.stdout.splitlines()),
                        f"{what}: the text lacks {line}")
        return report

    def line(self, report, name, status, *parts):
        found = [c for c in report["checks"] if c["check"] == name]
        self.expect(any(c["status"] == status and all(p in c["finding"] + " → " + c["fix"] for p in parts) for c in found),
                    f"{report['model']}: no {status} line of {name} with {parts} in {found}")

    def files(self):
        self.line(self.check("absent.onnx", code=1), "file", "fail", "absent.onnx", "give the path")
        (self.work / "folder").mkdir()
        self.line(self.check("folder", code=1), "file", "fail", "'folder' is a folder, and a model (.onnx) or a program")
        (self.work / "words.onnx").write_text("words")
        self.line(self.check("words.onnx", code=1), "file", "fail", "words.onnx")
        onnx.save(network(last="Det"), self.work / "unsupported.onnx")
        self.unsupported()
        program = (self.work / "net.weir").read_bytes()
        (self.work / "cut.weir").write_bytes(program[:-100])
        self.line(self.check("cut.weir", code=1), "file", "fail", "truncated or damaged", "copy the file again")
        metadata = bytearray(program)
        metadata[-40] ^= 1
        (self.work / "metadata.weir").write_bytes(metadata)
        self.line(self.check("metadata.weir", code=1), "file", "fail", "metadata section has the hash")
        constants = bytearray(program)
        constants[4096 + 64] ^= 1
        (self.work / "constants.weir").write_bytes(constants)
        report = self.check("constants.weir", code=1)
        self.line(report, "constants", "fail", "the file is damaged", "copy the file again")
        self.line(report, "file", "ok", "header and metadata are sound")
        for command in (["run", "constants.weir", "--random", "1"], ["bench", "constants.weir", "--runs", "1"]):
            self.expect(self.weir(*command).returncode == 0, f"{command} looks at the hashes unasked")
            result = self.weir(*command, "--verify-constants")
            self.expect(result.returncode == 1 and "the file is damaged" in result.stderr, f"{command}: {result.stderr}")
        self.line(self.check("net.weir", "--dim", "n=1", code=1), "shapes", "fail", "no open dimension 'n'", "what the program takes")

    def unsupported(self):
        """A line for each operator and reason; every node in the JSON."""
        nodes = [helper.make_node("Det", ["x"], [f"d{i}"], f"det{i}") for i in range(50)]
        nodes += [helper.make_node("NonZero", ["x"], ["z"], "places"), helper.make_node("Relu", ["d0"], ["y"], "after")]
        outputs = [f"d{i}" for i in range(50)] + ["z", "y"]
        graph = helper.make_graph(nodes, "network", [helper.make_tensor_value_info("x", TensorProto.FLOAT, (4, 4))],
                                  [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), self.work / "many.onnx")
        report = self.check("many.onnx", code=1)
        self.line(report, "file", "fail", "(51) nodes of the model are not supported", "--operators FILE.so")
        self.expect(report["checks"][0]["parts"] == [
            "50 × Det (ai.onnx 17): The operator is not supported: 'det0', 'det1', 'det2' and 47 more",
            "1 × NonZero (ai.onnx 17): The operator is not supported: 'places'",
            "1 node behind these could not be examined"], f"{report['checks'][0]}")
        self.expect([n["node"] for n in report["unsupported"]] == [f"det{i}" for i in range(50)] + ["places"],
                    f"{report['unsupported']}")
        self.expect(report["unexamined"] == 1, f"{report['unexamined']}")
        text = self.weir("check", "many.onnx").stdout
        self.expect("\n                 50 × Det (ai.onnx 17)" in text and max(map(len, text.splitlines())) < 160, text)
        self.line(self.check("unsupported.onnx", code=1), "file", "fail", "(1) nodes")

        self.line(self.check("net.weir", "--prefer", "memory", code=1), "file", "fail", "--prefer is for compiling", "leave")
        self.line(self.check("net.weir", "--state", "x=y", code=1), "file", "fail", "states cannot be chosen any more", "leave")

    def cached(self):
        before = self.check("net.onnx")
        self.line(before, "cache", "warn", "not cached", "run it once")
        self.expect(not self.cache.exists() or not list(self.cache.glob("*.weir")), "check writes to the cache")
        self.make("run", "net.onnx", "--random", "1")
        after = self.check("net.onnx")
        self.line(after, "cache", "ok", "compiled already")
        self.expect(after["cache"]["found"] and pathlib.Path(after["cache"]["program"]).exists(), f"{after['cache']}")
        entry = pathlib.Path(after["cache"]["program"])
        entry.write_bytes(entry.read_bytes()[:-100])
        result = json.loads(self.weir("check", "net.onnx", "--json").stdout)
        self.line(result, "cache", "warn", "was damaged")
        environment, self.environment = self.environment, {
            k: v for k, v in os.environ.items() if k not in ("WEIR_CACHE", "XDG_CACHE_HOME", "HOME")}
        self.line(self.check("net.onnx"), "cache", "warn", "each start compiles the model", "set WEIR_CACHE")
        self.environment = environment

    def processor(self):
        best = json.loads(self.make("devices", "--json").stdout)["devices"][0]["isa"]
        report = self.check("net.weir")
        self.line(report, "processor", "ok", best, "steps run on the first of their implementations")
        self.expect(report["processor"]["slower"] == [], f"{report['processor']}")
        if best != "sse4":
            report = self.check("net.weir", "--isa", "sse4")
            self.line(report, "processor", "warn", "run slower than on a processor with", "leave --isa out")
            self.expect(all(s["implementation"].endswith(".sse4") for s in report["processor"]["slower"]) and
                        report["processor"]["slower"], f"{report['processor']}")
        self.line(self.check("net.weir", "--reference", code=1), "session", "fail", "compile the model again with --portable")
        self.line(self.check("portable.weir", "--reference"), "processor", "warn", "leave --reference out")

    def memory(self):
        report = self.check("net.weir")
        self.line(report, "memory", "ok", "a session and one request take")
        planned = report["memory"]["planned"]
        plan = json.loads(self.make("plan", "net.weir", "--json").stdout)["planned"]
        self.expect(planned == plan, f"check says {planned}, plan {plan}")
        self.expect(sum(v for k, v in planned.items() if k != "total") == planned["total"], f"{planned}")
        total = planned["total"]
        tight = self.check("net.weir", "--memory-limit", total - 1, code=1)
        self.line(tight, "memory", "fail", "1 B too much", "the most are")
        self.expect(tight["memory"]["limit"] == total - 1 and tight["memory"]["limit_from"] == "--memory-limit",
                    f"{tight['memory']}")
        self.line(self.check("net.weir", "--memory-limit", total), "memory", "ok", "--memory-limit")

    def shapes(self):
        onnx.save(network(("n", 8, 40, 40)), self.work / "open.onnx")
        report = self.check("open.onnx")
        self.line(report, "shapes", "warn", "'n' of input 'x' (1 or more; planned for 1)", "--dim")
        ranged = self.check("open.onnx", "--dim", "n=1..8")
        self.line(ranged, "shapes", "warn", "(1 to 8; planned for 8)")
        self.expect(ranged["open_dimensions"][0]["planned_for"] == 8, f"{ranged['open_dimensions']}")
        self.expect(ranged["memory"]["planned"]["io"] == 8 * report["memory"]["planned"]["io"],
                    f"{ranged['memory']}, {report['memory']}")
        fixed = self.check("open.onnx", "--dim", "n=8")
        self.line(fixed, "shapes", "ok", "all dimensions are numbers")
        self.expect("open_dimensions" not in fixed, "a static program has open dimensions")
        self.make("compile", "open.onnx", "-o", "open.weir")
        self.line(self.check("open.weir"), "shapes", "warn", "planned for 1", "to plan for other sizes, give them: --dim")
        given = self.check("open.weir", "--dim", "n=8")
        self.line(given, "shapes", "ok", "planned for x float32[8, 8, 40, 40], as given")
        self.expect(given["memory"]["planned"]["io"] == ranged["memory"]["planned"]["io"], f"{given['memory']}")

    def costs(self):
        self.line(self.check("plain.weir"), "cost", "ok", "nothing is copied")
        report = self.check("portable.weir")
        self.line(report, "cost", "warn", "packing", "compile without --portable")
        self.expect(any(n["what"] == "packing" and n["bytes"] >= 64 * 8 * 9 * 4 for n in report["notices"]), "no packing")
        far = self.check("net.weir", "--toggle", "simulate_discrete")
        self.line(far, "cost", "warn", "the constants are copied to the device")

    def constants(self):
        np.save(self.work / "w.npy", np.zeros((64, 8, 3, 3), np.float32))
        np.save(self.work / "narrow.npy", np.zeros((64, 8, 1, 1), np.float32))
        self.line(self.check("portable.weir", "--constant", "w=w.npy"), "constants", "ok")
        for options, part in ((["W=w.npy"], "near it: 'w'"), (["w=narrow.npy"], "the program takes float32[64,8,3,3]")):
            self.line(self.check("portable.weir", "--constant", *options, code=1), "session", "fail", part)
        self.line(self.check("net.weir", "--constant", "w=w.npy", code=1), "session", "fail", "--swappable w")

    def inspect(self):
        """What `weir inspect` says that --constant takes."""
        shown = {p: json.loads(self.make("inspect", p, "--json").stdout)["constants"] for p in ("net.weir", "portable.weir")}
        self.expect(shown["portable.weir"] == [{"name": "w", "fate": "plain", "type": "float32[64, 8, 3, 3]"}], f"{shown}")
        self.expect(shown["net.weir"] == [{"name": "w", "fate": "packed only", "type": None}], f"{shown}")
        text = self.make("inspect", "portable.weir").stdout
        self.expect("constant 'w' float32[64, 8, 3, 3] takes another value\n" in text, text)

    def usage(self):
        self.expect(self.weir("help", "check").stdout == self.weir("check", "--help").stdout != "", "weir help check")
        self.expect(self.weir("help").stdout == self.weir("--help").stdout == self.weir("--help").stdout != "", "weir help")
        for options in (["check"], ["check", "net.weir", "--memory-limit", "much"], ["check", "net.weir", "--nothing"]):
            result = self.weir(*options)
            self.expect(result.returncode == 2, f"{options} exits with {result.returncode}")

    def prepare(self):
        onnx.save(network(), self.work / "net.onnx")
        onnx.save(plain(), self.work / "plain.onnx")
        self.make("compile", "plain.onnx", "-o", "plain.weir")
        self.make("compile", "net.onnx", "-o", "net.weir")
        self.make("compile", "net.onnx", "-o", "portable.weir", "--portable")

    def parts(self):
        return (self.files, self.cached, self.processor, self.memory, self.shapes, self.costs, self.constants,
                self.inspect, self.usage)


Check.main(__doc__)
