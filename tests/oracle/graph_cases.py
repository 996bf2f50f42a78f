# SPDX-License-Identifier: Apache-2.0
"""Small models in which compiled programs went wrong once, or could, against onnxruntime.

    graph_cases.py RUN_GRAPHS FOLDER

Each runs on the best instruction set, on the oldest and a device with memory of its own, and on one that validates.

Without the onnx and onnxruntime packages the test is skipped (exit status 77)."""
import pathlib
import sys

try:
    import numpy as np
    import onnx  # noqa: F401
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

from graph_runner import Case, compare, expected_of

RANDOM = np.random.default_rng(3)
INFINITY, NAN, FAR = np.float32(np.inf), np.float32(np.nan), 2 ** 63 - 1


def floats(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def node(op, inputs, output="y", **attributes):
    return helper.make_node(op, inputs.split(","), output.split(","), **attributes)


def case(name, nodes, feeds, constants=None, shapes=None, outputs=("y",), opset=15):
    """`shapes`: of the inputs that are open, by name. Outputs of whole numbers are compared as they are anyway."""
    feeds = feeds if isinstance(feeds, list) else [feeds]
    inputs = [helper.make_tensor_value_info(key, helper.np_dtype_to_tensor_dtype(array.dtype),
                                            (shapes or {}).get(key, array.shape)) for key, array in feeds[0].items()]
    graph = helper.make_graph(nodes, name, inputs, [helper.make_empty_tensor_value_info(o) for o in outputs],
                              [numpy_helper.from_array(np.asarray(v), k) for k, v in (constants or {}).items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    for suffix, isa, device in (("", "-", "cpu"), (".oldest", "sse4", "far"), (".validated", "-", "validating")):
        yield Case(name + suffix, model, feeds, isa=isa, device=device)


def dimensions():
    x = floats(5, 4)
    open_rows = {"x": ["n", 4]}
    # An open dimension that can only be what it meets: it is not repeated, and the program is compiled.
    yield from case("expand_open", [node("Expand", "x,s")], {"x": x}, {"s": np.array([5, 4])}, open_rows)
    yield from case("add_open", [node("Add", "x,k")], {"x": x}, {"k": floats(5, 1)}, open_rows)
    yield from case("sum_is_7", [node("Concat", "x,k", "c", axis=0), node("Add", "c,l")], {"x": x},
                    {"k": floats(2, 4), "l": floats(7, 1)}, open_rows)
    yield from case("reflect_open", [node("Pad", "x,p", mode="reflect")], {"x": x}, {"p": np.array([3, 0, 3, 0])},
                    open_rows)
    # Quotients that have to be exact, of two sizes.
    image = [node("Pad", "x,p", "z"), node("SpaceToDepth", "z", blocksize=2)]
    yield from case("halves_open", image, {"x": floats(1, 2, 5, 7)}, {"p": np.array([0, 0, 0, 0, 0, 0, 1, 1])},
                    {"x": [1, 2, "h", "w"]})
    # Strides that may be below 0 as far as ranges tell, between convolutions.
    yield from case("narrow_open", [node("Conv", "x,w", "c", kernel_shape=[3, 3]), node("Conv", "c,v", kernel_shape=[1, 2])],
                    {"x": floats(1, 2, 7, 9)}, {"w": floats(1, 2, 3, 3), "v": floats(17, 1, 1, 2)},
                    {"x": [1, 2, "h", "w"]})


def empty_tensors():
    x, wide = floats(5, 8), {"x": [5, "n"]}
    none = [node("Slice", "x,b,e,a", "z")]
    bounds = {"b": np.array([0]), "e": np.array([0]), "a": np.array([0])}
    yield from case("elementwise_part", none + [node("Slice", "z,p,q,r", "t"), node("Exp", "t")], {"x": x}, {
        **bounds, "p": np.array([100]), "q": np.array([3]), "r": np.array([1])}, wide)
    yield from case("product", none + [node("Transpose", "z", "t", perm=[1, 0]), node("MatMul", "t,z")], {"x": x}, bounds,
                    wide)
    yield from case("constant", [node("MatMul", "x,w")], {"x": floats(7, 0)}, {"w": floats(0, 11)})
    yield from case("part", none + [node("Neg", "z", "n"), node("Gather", "n,i", axis=1)], {"x": x}, {
        **bounds, "i": np.int64(1)}, wide)
    for step in (-1, -2):
        yield from case(f"backwards{step}", [node("Slice", "x,b,e,a,s")], {"x": floats(3, 0)},
                        {"b": np.array([-1]), "e": np.array([-2 ** 63]), "a": np.array([1]), "s": np.array([step])})
    yield from case("backwards_far", [node("Slice", "x,b,e,a,s")], {"x": x},
                    {"b": np.array([100]), "e": np.array([FAR]), "a": np.array([1]), "s": np.array([-2])}, wide)


def numbers():
    x = floats(7)
    whole = np.arange(-3, 4, dtype=np.int32)
    yield from case("nan_scalar", [node("Where", "c,k,x")], {"x": x}, {"c": np.arange(7) % 2 == 0, "k": NAN})
    yield from case("divide_far", [node("Div", "x,k")], {"x": x * np.float32(1e38)}, {"k": np.float32(3e38)})
    yield from case("almost_one", [node("Mul", "x,k")], {"x": x.astype(np.float64)}, {"k": np.float64(1 + 1e-6)})
    yield from case("log_sum_exp", [node("ReduceLogSumExp", "x", axes=[1], keepdims=0)], {
        "x": np.array([[-INFINITY, -INFINITY], [INFINITY, 1], [1, 2], [-INFINITY, 3], [NAN, 0]])})
    for power in (0.5, 1.5, 2, 2.5, 3, 4):
        yield from case(f"whole_power_{power}", [node("Pow", "x,k")], {"x": np.abs(whole)}, {"k": np.float32(power)})
    yield from case("half_constants", [node("Where", "c,a,b", "w"), node("Add", "w,x")], {"x": np.zeros(2, np.float16)},
                    {"c": np.array([True, False]), "a": np.float16([1.5, 2]), "b": np.float16([3, 4])})
    yield from case("range", [node("Range", "a,b,c", "r"), node("Add", "r,x")], {"x": floats(1)},
                    {"a": np.float32(0.1), "b": np.float32(1.1), "c": np.float32(0.1)})


def fusions():
    x = floats(4, 6)
    yield from case("double_bias", [node("MatMul", "x,w", "p"), node("Add", "p,k")], {"x": x.astype(np.float64)},
                    {"w": floats(6, 3).astype(np.float64), "k": np.float64(2)})
    # What looks like layer normalisation: √(v + v), and squares of twice the difference.
    mean = {"axes": [-1]}
    common = [node("ReduceMean", "x", "m", **mean), node("Sub", "x,m", "d")]
    end = [node("Div", "d,q", "n"), node("Mul", "n,g", "o"), node("Add", "o,b")]
    constants = {"g": floats(6), "b": floats(6), "two": np.float32(2), "e": np.float32(0.01)}
    yield from case("twice_the_variance", common + [
        node("Mul", "d,d", "s"), node("ReduceMean", "s", "v", **mean), node("Add", "v,v", "t"), node("Sqrt", "t", "q")] + end,
        {"x": x}, constants)
    yield from case("no_square", common + [
        node("Mul", "d,two", "s"), node("ReduceMean", "s", "v", **mean), node("Add", "v,e", "t"), node("Sqrt", "t", "q")] + end,
        {"x": x}, constants)
    # Padding behind a pointwise convolution, its own or taken from a Pad.
    image, weights = floats(1, 4, 3, 5), {"w": floats(6, 2, 1, 1), "p": np.array([0, 0, 0, 0, 0, 0, 1, 2])}
    yield from case("pointwise_behind", [node("Conv", "x,w", pads=[0, 0, 1, 2], group=2)], {"x": image}, weights)
    yield from case("pad_pointwise", [node("Pad", "x,p", "z"), node("Conv", "z,w", group=2)], {"x": image}, weights)
    yield from case("factors_far_apart", [node("Mul", "x,k", "a"), node("Mul", "z,l", "b"), node("MatMul", "a,b")],
                    {"x": x * np.float32(1e25), "z": floats(6, 3) * np.float32(1e25)},
                    {"k": np.float32(1e-25), "l": np.float32(1e-25)})
    yield from case("infinite_factor", [node("Conv", "x,w", "c"), node("Mul", "c,k")], {"x": np.abs(image)},
                    {"w": floats(2, 4, 1, 1), "k": INFINITY})


def main():
    runner, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    cases = [c for family in (dimensions, empty_tensors, numbers, fusions) for c in family()]
    failed = compare(cases, [expected_of(c) for c in cases], runner, folder)
    for name, text in failed:
        print(f"{name}: {text}")
    print(f"{len(cases)} cases, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
