# SPDX-License-Identifier: Apache-2.0
"""One runtime in a process of its own, for against_peers.py.

    peer.py NAME MODEL.onnx THREADS INPUTS.npz OUTPUTS.npz WORK

loads the model, runs it once, writes its outputs, prints "ready VERSION", and then for every line "SECONDS" of its
standard input a line of JSON: the latencies of the runs in that time, and the processor time of one on average, in ms. Each runtime has the settings that are best
for latency on one stream in float32.
"""
import json
import pathlib
import subprocess
import sys
import time

import numpy


def onnxruntime(path, threads, inputs, work):
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return ort.__version__, lambda: session.run(None, inputs), lambda outputs: outputs


def openvino(path, threads, inputs, work):
    import openvino as ov
    core = ov.Core()
    model = core.read_model(path)
    model.reshape({port.get_any_name(): list(inputs[port.get_any_name()].shape) for port in model.inputs})
    compiled = core.compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY",
                                                 "INFERENCE_PRECISION_HINT": "f32", "NUM_STREAMS": "1"})
    request = compiled.create_infer_request()
    run = lambda: request.infer(inputs, share_inputs=True, share_outputs=True)
    return ov.__version__.split("-")[0], run, lambda outputs: list(outputs.values())


def ncnn(path, threads, inputs, work):
    import importlib.metadata

    import ncnn
    stem = pathlib.Path(path).stem.replace("-", "_")
    folder = pathlib.Path(work) / "ncnn" / stem
    if not (folder / f"{stem}.ncnn.bin").exists():
        folder.mkdir(parents=True, exist_ok=True)
        local = folder / f"{stem}.onnx"
        local.unlink(missing_ok=True)
        local.symlink_to(pathlib.Path(path).resolve())
        types = {"int64": "i64", "float32": "f32"}
        shapes = ",".join(f"[{','.join(map(str, value.shape))}]{types[value.dtype.name]}" for value in inputs.values())
        pnnx = pathlib.Path(sys.executable).with_name("pnnx")
        done = subprocess.run([pnnx, local.name, f"inputshape={shapes}", "fp16=0"], cwd=folder, timeout=300,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if done.returncode != 0:
            raise RuntimeError(f"pnnx ends with {done.returncode}")
    net = ncnn.Net()
    net.opt.num_threads = threads
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
    net.opt.use_bf16_storage = net.opt.use_vulkan_compute = False
    if net.load_param(str(folder / f"{stem}.ncnn.param")) or net.load_model(str(folder / f"{stem}.ncnn.bin")):
        raise RuntimeError("the converted model does not load")
    values = [value.astype(numpy.int32) if value.dtype == numpy.int64 else value for value in inputs.values()]
    outputs = [name for name in net.output_names()]
    names = net.input_names()

    def run():
        extractor = net.create_extractor()
        for name, value in zip(names, values):
            extractor.input(name, ncnn.Mat(value, batch_index=0))
        return [extractor.extract(name)[1] for name in outputs]

    return importlib.metadata.version("ncnn"), run, lambda mats: [mat.numpy(batch_index=0) for mat in mats]


def mnn(path, threads, inputs, work):
    import importlib.metadata

    import MNN
    target = pathlib.Path(work) / "mnn" / f"{pathlib.Path(path).stem}.mnn"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        convert = pathlib.Path(sys.executable).with_name("mnnconvert")
        subprocess.run([convert, "-f", "ONNX", "--modelFile", path, "--MNNModel", str(target), "--bizCode", "none"],
                       check=True, timeout=300, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    interpreter = MNN.Interpreter(str(target))
    session = interpreter.createSession({"backend": "CPU", "numThread": threads, "precision": "high"})
    ports = interpreter.getSessionInputAll(session)
    for name, value in inputs.items():
        interpreter.resizeTensor(ports[name], value.shape)
    interpreter.resizeSession(session)
    ports = interpreter.getSessionInputAll(session)
    results = interpreter.getSessionOutputAll(session)

    def host(port, value):
        kind = MNN.Halide_Type_Int if value.dtype == numpy.int32 else MNN.Halide_Type_Float
        return port, MNN.Tensor(value.shape, kind, value, MNN.Tensor_DimensionType_Caffe), value

    given = [host(ports[name], value.astype(numpy.int32) if value.dtype == numpy.int64 else value)
             for name, value in inputs.items()]
    taken = [host(port, numpy.zeros(port.getShape(), numpy.float32)) for port in results.values()]

    def run():
        for port, tensor, _ in given:
            port.copyFrom(tensor)
        interpreter.runSession(session)
        for port, tensor, _ in taken:
            port.copyToHostTensor(tensor)
        return taken

    read = lambda tensors: [numpy.array(tensor.getNumpyData()).reshape(value.shape) for _, tensor, value in tensors]
    return importlib.metadata.version("MNN"), run, read


PEERS = {"onnxruntime": onnxruntime, "openvino": openvino, "ncnn": ncnn, "mnn": mnn}


def main():
    name, path, threads, given, written, work = sys.argv[1:]
    inputs = dict(numpy.load(given))
    version, run, read = PEERS[name](path, int(threads), inputs, work)
    numpy.savez(written, *[numpy.asarray(output) for output in read(run())])
    print(f"ready {version}", flush=True)
    for line in sys.stdin:
        seconds = float(line)
        times = []
        processor = time.process_time()
        end = time.perf_counter() + seconds
        while time.perf_counter() < end or len(times) < 3:
            begin = time.perf_counter()
            run()
            times.append((time.perf_counter() - begin) * 1e3)
        processor = (time.process_time() - processor) * 1e3 / len(times)
        print(json.dumps({"latencies": times, "processor": processor}), flush=True)


if __name__ == "__main__":
    main()
