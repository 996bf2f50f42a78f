#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Silero VAD over many frames with its state declared, against onnxruntime whose state is fed by hand.

    state.py --frames-tool build/tests/state_frames --models DIR --work DIR

The tool checks in bits what Weir promises by itself (fed by hand, saved, restored, reset); here its answers and its
states are compared with another runtime's, on every frame, for threads and devices.
"""
import argparse
import pathlib
import subprocess
import sys

MODEL, SIZE, STATES, FRAMES = "silero_vad_v6.onnx", 576, {"h": "hn", "c": "cn"}, 24
TOLERANCE = 1e-4  # of the range of all frames; recurrent errors add up, and stay below a tenth of this here


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames-tool", required=True)
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
    return 1 if failures else 0


sys.exit(main())
