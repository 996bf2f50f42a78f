#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Weir beside other runtimes in one interleaved run: latencies and ratios, as a table of Markdown.

    against_peers.py --setup build/peers                       a virtual environment with onnxruntime, OpenVINO, ncnn, MNN
    against_peers.py --work build/peers --models DIR [--threads 1,2] [--rounds 4] [--seconds 0.3] [NAME ...]

Each peer is a process of its own (peer.py), loaded once and stopped while others have their turn; the order rotates from
round to round. Weir's turn is `weir bench`, started anew. Given are latencies and, in brackets, the ratio Weir / peer (below
1: Weir is faster). --take chooses what to take of the rounds: `processor`, processor time, is at one thread the latency
without what other work on the machine adds; with more threads it also counts what a runtime spends on waiting. A peer's
call through its Python interface is included (5 to 40 µs), Weir's is not there. Outputs are compared with onnxruntime's.
"""
import argparse
import json
import math
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
PACKAGES = ["numpy", "onnxruntime", "openvino", "ncnn", "pnnx", "MNN"]
PEERS = ["onnxruntime", "openvino", "ncnn", "mnn"]

# name: file, shapes of the inputs
MODELS = {
    "resnet50": ("resnet50.onnx", {"input": (1, 3, 224, 224)}),
    "resnet18": ("resnet18.onnx", {"input": (1, 3, 224, 224)}),
    "mobilenet_v2": ("mobilenet_v2.onnx", {"input": (1, 3, 224, 224)}),
    "efficientnet_b0": ("efficientnet_b0.onnx", {"input": (1, 3, 224, 224)}),
    "yolov8n": ("yolov8n.onnx", {"images": (1, 3, 640, 640)}),
    "minilm": ("minilm_l6_fp32.onnx", {"input_ids": (1, 128), "attention_mask": (1, 128), "token_type_ids": (1, 128)}),
    "vit_small": ("vit_small_patch16_224.onnx", {"input": (1, 3, 224, 224)}),
    "det": ("PP-OCRv6_det_small.onnx", {"x": (1, 3, 736, 1280)}),
    "rec": ("PP-OCRv6_rec_small.onnx", {"x": (1, 3, 48, 320)}),
    "silero": ("silero_vad_v6.onnx", {"input": (1, 576), "h": (1, 1, 128), "c": (1, 1, 128)}),
}


TAKES = {"least": "least latency of all rounds", "median": "median latency of the best round",
         "processor": "processor time of a run, all threads, on average over the best round"}

# Of outputs that are taken for the same network's.
FURTHEST = 0.05


def set_up(folder):
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    subprocess.run([str(folder / "venv/bin/pip"), "install", *PACKAGES], check=True)


def make_inputs(shapes, path):
    import numpy
    random = numpy.random.default_rng(0)
    integers = ("input_ids", "attention_mask", "token_type_ids")
    numpy.savez(path, **{name: numpy.ones(shape, numpy.int64) if name in integers
                         else random.uniform(-1, 1, shape).astype(numpy.float32) for name, shape in shapes.items()})


class Peer:
    def __init__(self, name, path, threads, work):
        self.name, self.times = name, []
        self.outputs = work / f"{name}.npz"
        self.outputs.unlink(missing_ok=True)
        self.errors = open(work / f"{name}.log", "w+")
        self.process = subprocess.Popen(
            [str(work / "venv/bin/python"), str(HERE / "peer.py"), name, str(path), str(threads), str(work / "inputs.npz"),
             str(self.outputs), str(work)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True,
            env=os.environ | {"OMP_NUM_THREADS": str(threads)})
        self.version = ""
        while line := self.process.stdout.readline():
            if line.startswith("ready "):
                self.version = line.split()[1]
                self.pause()
                return
        self.process.wait()

    def pause(self):
        os.kill(self.process.pid, signal.SIGSTOP)

    def turn(self, seconds):
        os.kill(self.process.pid, signal.SIGCONT)
        for warm in (True, False):
            self.process.stdin.write(f"{0.05 if warm else seconds}\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
            while line and not line.startswith("{"):
                line = self.process.stdout.readline()
            if not line:
                self.version = ""
                return
        report = json.loads(line)
        self.times.append({"least": min(report["latencies"]), "median": statistics.median(report["latencies"]),
                           "processor": report["processor"]})
        self.pause()

    def end(self):
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGCONT)
            self.process.stdin.close()
            try:
                self.process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                self.process.kill()

    def why_not(self):
        self.errors.seek(0)
        lines = self.errors.read().strip().splitlines()
        return lines[-1][:160] if lines else f"it ended with {self.process.poll()}"


class Weir:
    name, version = "weir", "weir"

    def __init__(self, weir, path, shapes, threads):
        self.times = []
        self.command = [weir, "bench", str(path), "--json", "--threads", str(threads)]
        for name, shape in shapes.items():
            self.command += ["--shape", f"{name}={'x'.join(map(str, shape))}"]

    def turn(self, seconds):
        done = subprocess.run([*self.command, "--seconds", str(seconds)], capture_output=True, text=True, check=True)
        report = json.loads(done.stdout)
        self.times.append({"least": report["latency_ms"]["min"], "median": report["latency_ms"]["p50"],
                           "processor": report["cpu_seconds_per_inference"] * 1e3})

    def end(self):
        pass


def difference(a, b):
    """The largest difference of the outputs, as a part of the largest value; infinite where one has no counterpart.
    Runtimes give them in orders of their own."""
    import numpy
    a, b = (list(numpy.load(path).values()) for path in (a, b))
    apart = lambda x, y: float(numpy.abs(x.reshape(-1) - y.reshape(-1)).max() / max(numpy.abs(x).max(), 1e-12))
    return max(min((apart(x, y) for y in b if y.size == x.size), default=math.inf) for x in a)


def measure(arguments, name, threads, notes):
    file, shapes = MODELS[name]
    path = (pathlib.Path(arguments.models) / file).resolve()
    make_inputs(shapes, arguments.work / "inputs.npz")
    weir = Weir(arguments.weir, path, shapes, threads)
    weir.turn(0.05)  # compiles
    weir.times.clear()
    peers = []
    for peer_name in arguments.peers.split(","):
        peer = Peer(peer_name, path, threads, arguments.work)
        if not peer.version:
            notes.append(f"{name}, {peer_name}: {peer.why_not()}")
            continue
        if peer_name != "onnxruntime" and peers and peers[0].name == "onnxruntime":
            far = difference(peers[0].outputs, peer.outputs)
            if not far < FURTHEST:
                notes.append(f"{name}, {peer_name}: its outputs differ from onnxruntime's by ({far:.2g}); not counted")
                peer.end()
                continue
        peers.append(peer)
    takers = [weir, *peers]
    for number in range(arguments.rounds):
        first = number % len(takers)
        for taker in takers[first:] + takers[:first]:
            if taker.version:
                taker.turn(arguments.seconds)
    for taker in takers:
        taker.end()
    best = {take: {taker.name: min(times[take] for times in taker.times) for taker in takers if taker.version and taker.times}
            for take in TAKES}
    return best, {peer.name: peer.version for peer in peers}


def table(results, peers, threads):
    lines = [f"| model, {threads} thread{'s' if threads > 1 else ''} | Weir | " + " | ".join(peers) + " |",
             "|---|" + "---|" * (len(peers) + 1)]
    logs = {peer: [] for peer in peers}
    for name, times in results.items():
        row = [f"| {name} | {times['weir']:.3f}"]
        for peer in peers:
            if peer in times:
                ratio = times["weir"] / times[peer]
                logs[peer].append(math.log(ratio))
                row.append(f"{times[peer]:.3f} (**{ratio:.2f}**)")
            else:
                row.append("–")
        lines.append(" | ".join(row) + " |")
    means = [f"**{math.exp(statistics.mean(logs[peer])):.2f}**" if logs[peer] else "–" for peer in peers]
    lines.append("| geometric mean of the ratios | | " + " | ".join(means) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--setup", type=pathlib.Path, metavar="DIR", help="make the peers' environment there, and end")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("build/peers"))
    parser.add_argument("--weir", default="build/weir")
    parser.add_argument("--models")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--take", default="least,median", help="tables to print, of: " + ", ".join(TAKES))
    parser.add_argument("names", nargs="*", help="models of the list to run; all by default")
    arguments = parser.parse_args()
    if arguments.setup:
        set_up(arguments.setup)
        return
    if not arguments.models:
        parser.error("--models is missing")
    for name in arguments.names:
        if name not in MODELS:
            parser.error(f"there is no model '{name}'; the models are {', '.join(MODELS)}")
    python = arguments.work / "venv/bin/python"
    if not python.exists():
        parser.error(f"'{arguments.work}' has no peers; make them first: {parser.prog} --setup {arguments.work}")
    if pathlib.Path(sys.prefix).resolve() != python.parent.parent.resolve():
        os.execv(python, [str(python), *sys.argv])  # numpy is there
    arguments.weir = str(pathlib.Path(arguments.weir).resolve())
    begin = time.time()
    notes, versions = [], {}
    there = lambda name: (pathlib.Path(arguments.models) / MODELS[name][0]).is_file()
    names = [name for name in arguments.names or MODELS if there(name)]
    notes += [f"{name}: '{MODELS[name][0]}' is not in '{arguments.models}'; left out"
              for name in arguments.names or MODELS if name not in names]
    for threads in map(int, arguments.threads.split(",")):
        results = {}
        for name in names:
            results[name], found = measure(arguments, name, threads, notes)
            versions |= found
            for take in arguments.take.split(","):
                print(f"{name} {threads} {take}: " +
                      ", ".join(f"{key} {value:.3f}" for key, value in results[name][take].items()),
                      file=sys.stderr, flush=True)
        for take in arguments.take.split(","):
            print(f"{TAKES[take]}, ms:\n")
            print(table({name: best[take] for name, best in results.items()},
                        [peer for peer in arguments.peers.split(",") if peer in versions], threads) + "\n", flush=True)
    print("versions: " + ", ".join(f"{name} {version}" for name, version in versions.items()))
    print(f"load when it ended: {os.getloadavg()[0]:.1f}; {time.time() - begin:.0f} s")
    for note in notes:
        print(f"- {note}")


if __name__ == "__main__":
    main()
