#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Silero VAD over many frames with its state declared, against onnxruntime whose state is fed by hand.

    state.py --frames-tool build/tests/state_frames --weir build/weir --models DIR --work DIR

The tool checks in bits what Weir promises by itself (fed by hand, saved, restored, reset); here its answers and its
states are compared with another runtime's, on every frame, for threads and devices. `weir bench --state` measures the
network with its state kept: what it is run with, and the bytes of the plan, are those of `weir plan --state`.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

MODEL, SIZE, STATES, FRAMES = "silero_vad_v6.onnx", 576, {"h": "hn", "c": "cn"}, 24
TOLERANCE = 1e-4  # of the range of all frames; recurrent errors add up, and stay below a tenth of this here


def bench(weir: str, model: pathlib.Path, work: pathlib.Path, pairs: str) -> int:
    """How much of what `weir bench` reports with a state is not as it has to be."""
    failures = 0

    def expect(holds, message):
        nonlocal failures
        if not holds:
            print("FAIL", message)
            failures += 1

    def report(command, *options):
        result = subprocess.run([weir, command, *options, "--json"], capture_output=True, text=True,
                                env=os.environ | {"WEIR_CACHE": str(work / "cache")})
        expect(result.returncode == 0, f"{command} {options}: {result.stdout}{result.stderr}")
        return json.loads(result.stdout)

    program = work / "with_state.weir"
    report("compile", str(model), "-o", str(program), "--dim", "seq_len=1", "--state", pairs)
    plan = report("plan", str(model), "--dim", "seq_len=1", "--state", pairs)["planned"]
    expect(plan["state"] == 2 * 2 * 128 * 4, f"planned {plan}: each of two states of 128 numbers twice")
    few = ("--runs", "5")
    for options in ((str(model), "--dim", "seq_len=1", "--state", pairs, *few), (str(program), *few)):
        with_state = report("bench", *options)
        expect(with_state["inputs"] == [f"input float32[1, {SIZE}]"], f"{options}: {with_state['inputs']}")
        expect(with_state["planned"] == plan, f"{options}: planned {with_state['planned']}, and by weir plan {plan}")
        expect(with_state["counted"] == plan, f"{options}: counted {with_state['counted']}, planned {plan}")
        expect(with_state["runs"] == 5 and with_state["latency_ms"]["min"] > 0, f"{options}: {with_state}")
    without = report("bench", str(model), "--dim", "seq_len=1", *few)
    expect(len(without["inputs"]) == 3 and without["planned"]["state"] == 0, f"without --state: {without}")
    refused = subprocess.run([weir, "bench", str(model), "--state", "h=absent"], capture_output=True, text=True)
    expect(refused.returncode == 1 and "State 'h' is fed from 'absent'" in refused.stderr, f"h=absent: {refused}")
    return failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames-tool", required=True)
    parser.add_argument("--weir", required=True)
    parser.add_argument("--models", required=True)
    parser.add_argument("--work", required=True)
    arguments = parser.parse_args()
    model = pathlib.Path(arguments.models) / MODEL
    if not arguments.models or not model.exists():
        print(f"SKIP: {MODEL} is not here")
        return 77
    try:
        import numpy as np
        import onnxruntime as ort
    except ImportError as error:
        print(f"SKIP: {error}")
        return 77
    work = pathlib.Path(arguments.work)
    work.mkdir(parents=True, exist_ok=True)

    # Sound that comes and goes, so that the network has something to remember.
    rng = np.random.default_rng(7)
    time = np.arange(FRAMES * SIZE) / 16000
    loud = 0.3 * (np.sin(2 * np.pi * 2.5 * time) > 0)
    sound = loud * (np.sin(2 * np.pi * 180 * time) + 0.5 * np.sin(2 * np.pi * 720 * time)) + 0.01 * rng.standard_normal(time.size)
    frames = sound.reshape(FRAMES, 1, SIZE).astype(np.float32)
    frames.tofile(work / "frames.f32")

    options = ort.SessionOptions()
    options.log_severity_level = 3
    session = ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    state = {name: np.zeros((1, 1, 128), np.float32) for name in STATES}
    wanted = []
    for frame in frames:
        results = dict(zip([o.name for o in session.get_outputs()], session.run(None, {"input": frame, **state})))
        state = {name: results[output] for name, output in STATES.items()}
        wanted.append(np.concatenate([results["speech_probs"].ravel(), *[state[name].ravel() for name in STATES]]))
    wanted = np.stack(wanted)
    forgetful = session.run(["speech_probs"], {"input": frames[-1], **{n: np.zeros((1, 1, 128), np.float32) for n in STATES}})
    if abs(float(forgetful[0].ravel()[0]) - wanted[-1][0]) < 100 * TOLERANCE:
        print("FAIL the last answer hardly depends on the state, so comparing it shows nothing")
        return 1

    failures = 0
    pairs = ",".join(f"{name}={output}" for name, output in STATES.items())
    for words in (["threads=1"], ["threads=2"], ["threads=2", "discrete"], ["threads=2", "validation"]):
        out = work / "out.f32"
        result = subprocess.run([arguments.frames_tool, str(model), str(work / "frames.f32"), str(out), str(SIZE), pairs, *words],
                                capture_output=True, text=True)
        print(f"[{' '.join(words)}] {result.stdout.strip()} {result.stderr.strip()}")
        failures += result.returncode != 0
        if result.returncode == 0:
            got = np.fromfile(out, np.float32).reshape(wanted.shape)
            difference = np.abs(got - wanted).max() / np.abs(wanted).max()
            print(f"  differs from onnxruntime by {difference:.1e}")
            failures += not difference <= TOLERANCE
    failures += bench(arguments.weir, model, work, pairs)
    return 1 if failures else 0


sys.exit(main())
