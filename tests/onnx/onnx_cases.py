# SPDX-License-Identifier: Apache-2.0
"""The test cases that ONNX keeps for each of its operators, run through Weir's importer and reference kernels.

    onnx_cases.py RUNNER FOLDER

Writes the cases of the operators that Weir imports into FOLDER and gives them to RUNNER, once with the shapes that the
model states and once with every dimension left open. A case that is not expected to fail and does, and one that is
expected to fail and does not, is an error. Without the onnx package the test is skipped (exit status 77)."""
import fnmatch
import pathlib
import shutil
import subprocess
import sys

try:
    import numpy
    import onnx
    from onnx import numpy_helper
    from onnx.backend.test.case.node import collect_testcases
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

OPERATORS = set("""
Abs Add And AveragePool BatchNormalization Cast CastLike Ceil Clip Concat Constant ConstantOfShape Conv ConvTranspose
DepthToSpace Div Dropout Elu Equal Erf Exp Expand Flatten Floor Gather Gelu Gemm GlobalAveragePool GlobalMaxPool Greater
GreaterOrEqual HardSigmoid HardSwish Identity LSTM LayerNormalization LeakyRelu Less LessOrEqual Log MatMul Max MaxPool
Mean Min Mish Mul Neg Not Or PRelu Pad Pow Range Reciprocal ReduceMax ReduceMean ReduceMin ReduceSum Relu Reshape Resize
Round Shape Sigmoid Size Slice Softmax Softplus Softsign SpaceToDepth Split Sqrt Squeeze Sub Sum Swish Tanh Transpose
Unsqueeze Upsample Where Xor GroupNormalization InstanceNormalization LogSoftmax RMSNormalization ReduceL1 ReduceL2
ReduceLogSum ReduceLogSumExp ReduceSumSquare Tile""".split())

# Operands that Weir takes as attributes: they stay constants of the model. Position → operand, for each operator.
ATTRIBUTE_OPERANDS = {
    "Expand": [1], "Reshape": [1], "Resize": [1, 2, 3], "Upsample": [1], "Slice": [1, 2, 3, 4], "Split": [1],
    "Pad": [1, 2, 3], "Squeeze": [1], "Unsqueeze": [1], "ReduceMax": [1], "ReduceMean": [1], "ReduceMin": [1],
    "ReduceSum": [1], "ReduceL1": [1], "ReduceL2": [1], "ReduceLogSum": [1], "ReduceLogSumExp": [1],
    "ReduceSumSquare": [1], "Tile": [1], "Range": [0, 1, 2], "ConstantOfShape": [0], "Dropout": [1, 2],
}


# The sizes of kernels are numbers too: weights keep their shapes where the others are left open.
STATIC_OPERANDS = {"Conv": [1], "ConvTranspose": [1]}


def is_tensor(value) -> bool:
    return isinstance(value, (numpy.ndarray, numpy.generic)) and not value.dtype.kind in "OUSc"


def write_case(case, folder: pathlib.Path, is_open: bool) -> bool:
    """One folder a case: model.onnx, in_N.pb, out_N.pb. False where the case is none for Weir."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    if len(model.graph.node) != 1 or model.graph.node[0].op_type not in OPERATORS or model.graph.node[0].domain:
        return False
    node = model.graph.node[0]
    inputs, outputs = case.data_sets[0]
    if not all(is_tensor(value) for value in [*inputs, *outputs]):
        return False
    names = [value.name for value in model.graph.input]
    kept = []
    for position, name in enumerate(names):
        operand = list(node.input).index(name)
        array = numpy.asarray(inputs[position])
        if operand in ATTRIBUTE_OPERANDS.get(node.op_type, []):
            tensor = numpy_helper.from_array(array, name)
            model.graph.initializer.append(tensor)
        else:
            kept.append((position, array))
    values = [model.graph.input[position] for position, _ in kept]
    del model.graph.input[:]
    model.graph.input.extend(values)
    if is_open:
        for value in model.graph.input:
            if list(node.input).index(value.name) in STATIC_OPERANDS.get(node.op_type, []):
                continue
            for dim in value.type.tensor_type.shape.dim:
                # An open dimension takes 1 or more, and does not broadcast.
                if dim.dim_value > 1:
                    dim.Clear()
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    for number, (_, array) in enumerate(kept):
        (folder / f"in_{number}.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())
    for number, array in enumerate(outputs):
        (folder / f"out_{number}.pb").write_bytes(numpy_helper.from_array(numpy.asarray(array)).SerializeToString())
    return True


def main() -> int:
    runner, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    expectations = []
    for line in (pathlib.Path(__file__).parent / "expected_refusals.txt").read_text().splitlines():
        line = line.split("#")[0].strip()
        if line:
            pattern, reason = line.split(":", 1)
            expectations.append((pattern.strip(), reason.strip()))
    if folder.exists():
        shutil.rmtree(folder)
    written = []
    seen = set()
    for case in collect_testcases(None):
        if case.kind != "node" or case.name in seen:
            continue
        seen.add(case.name)
        for is_open in (False, True):
            path = folder / (case.name + ("+open" if is_open else ""))
            if write_case(case, path, is_open):
                written.append((path, case.rtol, case.atol))
    listing = folder / "cases.txt"
    listing.write_text("".join(f"{path} {rtol} {atol}\n" for path, rtol, atol in written))
    result = subprocess.run([runner, str(listing)], capture_output=True, text=True)
    if result.returncode != 0:
        print(result.stdout[-2000:], result.stderr[-2000:])
        return 1
    wrong = 0
    passed = 0
    refused = 0
    for line in result.stdout.splitlines():
        name, verdict = line.split("\t", 1)
        plain = name.removesuffix("+open")
        expected = next((reason for pattern, reason in expectations if fnmatch.fnmatchcase(plain, pattern)), None)
        if verdict == "pass" and expected is None:
            passed += 1
        elif verdict != "pass" and expected is not None and expected in verdict:
            refused += 1
        elif verdict == "pass":
            print(f"{name} passes, and is expected to fail: {expected}")
            wrong += 1
        else:
            print(f"{name}: {verdict}")
            wrong += 1
    print(f"{passed} cases pass, {refused} are refused as expected, {wrong} are wrong, of {len(written)}")
    return 1 if wrong or passed + refused + wrong != len(written) or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
