# SPDX-License-Identifier: Apache-2.0
"""Random models of a few nodes, for random_graphs.py. A model follows from its seed."""
import numpy as np
from onnx import helper

from graph_runner import RUNS, Case
from random_builder import BOOL, F32, F64, I32, I64, Builder, Dim, Value


class Model(Builder):
    # --- operators: each adds nodes, or does nothing where no value fits
    def unary(self):
        x = self.value(lambda v: v.real)
        if x is None:
            return
        op = self.pick(["Relu", "Sigmoid", "Tanh", "Neg", "Abs", "Exp", "Erf", "Sqrt", "HardSigmoid", "LeakyRelu", "Elu",
                        "Softplus", "Identity", "Clip", "silu", "gelu", "hard_swish", "square", "scale", "Round", "Floor",
                        "Ceil", "half", "power"])
        if op in ("Exp", "Sqrt", "Softplus"):
            bounded = self.clip(x, *((0.0, 3.0) if op == "Sqrt" else (-3.0, 3.0)))
            self.add(op, [bounded], x.dtype, x.shape, False)
        elif op in ("Round", "Floor", "Ceil"):
            if x.exact and (op != "Round" or self.opset >= 11) and x.dtype == F32:
                half = self.add("Mul", [x, self.constant(np.asarray(self.pick([0.25, 0.5]), x.dtype))], x.dtype, x.shape)
                self.add(op, [half], x.dtype, x.shape)
        elif op == "Clip":
            self.clip(x, self.pick([-1.0, 0.0]), self.pick([2.0, 6.0]))
        elif op == "silu":
            self.add("Mul", [x, self.add("Sigmoid", [x], x.dtype, x.shape, False)], x.dtype, x.shape, False)
        elif op == "gelu":
            scaled = self.add("Div", [x, self.constant(np.asarray(2 ** 0.5, x.dtype))], x.dtype, x.shape, False)
            one = self.add("Add", [self.add("Erf", [scaled], x.dtype, x.shape, False),
                                   self.constant(np.asarray(1, x.dtype))], x.dtype, x.shape, False)
            whole = self.add("Mul", [x, one], x.dtype, x.shape, False)
            self.add("Mul", [whole, self.constant(np.asarray(0.5, x.dtype))], x.dtype, x.shape, False)
        elif op == "hard_swish":
            six = self.clip(self.add("Add", [x, self.constant(np.asarray(3, x.dtype))], x.dtype, x.shape, False), 0, 6)
            self.add("Div", [self.add("Mul", [x, six], x.dtype, x.shape, False), self.constant(np.asarray(6, x.dtype))],
                     x.dtype, x.shape, False)
        elif op == "square":
            self.add("Mul", [x, x], x.dtype, x.shape, False)
        elif op == "scale":
            factor = self.constant(np.asarray(self.pick([0.5, 2.0, 1.0000005, 0.125]), x.dtype))
            self.add(self.pick(["Mul", "Div"]), [x, factor], x.dtype, x.shape, False)
        elif op == "half":
            self.add(self.pick(["Add", "Sub"]), [x, self.constant(np.asarray(0.5, x.dtype))], x.dtype, x.shape, False)
        elif op == "power":
            bounded = self.clip(x, 0.25, 2.0)
            exponent = self.constant(np.asarray(self.pick([0.5, 1.0, 2.0, 3.0, 1.5, -1.0]), x.dtype))
            self.add("Pow", [bounded, exponent], x.dtype, x.shape, False)
        else:
            exact = x.exact and op in ("Relu", "Neg", "Abs", "Identity")
            self.add(op, [x], x.dtype, x.shape, exact)

    def clip(self, x, low, high):
        if self.opset < 11:
            if x.dtype != F32:
                return x
            return self.add("Clip", [x], x.dtype, x.shape, min=float(low), max=float(high))
        bounds = [self.constant(np.asarray(low, x.dtype)), self.constant(np.asarray(high, x.dtype))]
        if x.dtype == F64 and self.opset < 12:
            return x
        return self.add("Clip", [x, *bounds], x.dtype, x.shape, None if float(low).is_integer() else False)

    def binary(self):
        x = self.value(lambda v: v.dtype != BOOL)
        if x is None:
            return
        y = self.partner(x)
        shape = self.joined(x.shape, y.shape)
        if shape is None or len(shape) > 6:
            return
        op = self.pick(["Add", "Add", "Sub", "Mul", "Mul", "Div", "Max", "Min", "Pow"])
        if self.chance(0.5):
            x, y = y, x
        if op == "Pow" or (op == "Div" and not x.real):
            return
        if op in ("Max", "Min") and (x.dtype in (I32, I64) and self.opset < 12):
            return
        if op == "Div":
            y = self.add("Add", [self.add("Abs", [y], y.dtype, y.shape), self.constant(np.asarray(1, y.dtype))], y.dtype,
                         y.shape)
        self.add(op, [x, y], x.dtype, shape, False if op == "Div" or (x.real and op == "Mul") else None)

    def compare(self):
        x = self.value(lambda v: v.dtype in (F32, I64, I32) and v.exact)
        if x is None:
            return
        y = self.partner(x)
        shape = self.joined(x.shape, y.shape)
        if shape is None or not y.exact or len(shape) > 6:
            return
        op = self.pick(["Equal", "Less", "Greater"] + (["LessOrEqual", "GreaterOrEqual"] if self.opset >= 12 else []))
        if op == "Equal" and self.opset < 11 and x.real:
            return
        self.add(op, [x, y], BOOL, shape, True)

    def where(self):
        condition = self.value(lambda v: v.dtype == BOOL)
        x = self.value(lambda v: v.dtype in (F32, I64, I32))
        if condition is None or x is None:
            return
        y = self.partner(x)
        shape = self.joined(x.shape, y.shape)
        shape = None if shape is None else self.joined(shape, condition.shape)
        if shape is not None and len(shape) <= 6:
            self.add("Where", [condition, x, y], x.dtype, shape, x.exact and y.exact)

    def logic(self):
        x = self.value(lambda v: v.dtype == BOOL)
        if x is None:
            return
        y = self.partner(x)
        shape = self.joined(x.shape, y.shape)
        if shape is None or self.chance(0.3):
            self.add("Not", [x], BOOL, x.shape, True)
        elif len(shape) <= 6:
            self.add(self.pick(["And", "Or", "Xor"]), [x, y], BOOL, shape, True)

    def cast(self):
        x = self.value(lambda v: v.exact)
        if x is not None:
            to = self.pick([F32, F32, I64, I32, BOOL, F64])
            self.add("Cast", [x], to, x.shape, True, to=helper.np_dtype_to_tensor_dtype(to))

    def transpose(self):
        x = self.value(lambda v: v.rank >= 2)
        if x is not None:
            order = [int(i) for i in self.random.permutation(x.rank)]
            self.add("Transpose", [x], x.dtype, [x.shape[i] for i in order], perm=order)

    def axes_argument(self, since, axes):
        """(operands, attributes) of axes, which became an input."""
        if self.opset < since:
            return [], {"axes": axes}
        return [self.constant(np.asarray(axes, np.int64))], {}

    def reshape(self):
        x = self.value(lambda v: True)
        if x is None:
            return
        kind = self.pick(["flatten", "merge", "unsqueeze", "squeeze", "split", "shape"])
        if kind == "flatten" and x.rank >= 1:
            axis = self.number(0, x.rank)
            product = lambda dims: dims[0].map(lambda *v: int(np.prod(v)), *dims[1:]) if dims else Dim.of(1)
            self.add("Flatten", [x], x.dtype, [product(x.shape[:axis]), product(x.shape[axis:])],
                     axis=axis - x.rank if axis < x.rank and self.opset >= 11 and self.chance(0.5) else axis)
        elif kind == "merge" and x.rank >= 2:
            at = self.number(0, x.rank - 2)
            merged = x.shape[at].map(lambda a, b: a * b, x.shape[at + 1])
            if merged.least == 0:
                return
            shape = x.shape[:at] + [merged] + x.shape[at + 2:]
            target = [0] * at + [-1] + [d.fixed if not d.open else None for d in x.shape[at + 2:]]
            if None in target or 0 in target[at:]:
                return
            self.add("Reshape", [x, self.constant(np.asarray(target, np.int64))], x.dtype, shape)
        elif kind == "split" and x.rank >= 1 and x.rank < 6 and x.least_size() > 0:
            at = self.pick([i for i, d in enumerate(x.shape) if not d.open and d.fixed > 1 and d.fixed % 2 == 0])
            if at is None or any(d.open for d in x.shape[at + 1:]):
                return
            shape = x.shape[:at] + [Dim.of(2), Dim.of(x.shape[at].fixed // 2)] + x.shape[at + 1:]
            target = [0] * at + [2, -1] + [d.fixed for d in x.shape[at + 1:]]
            self.add("Reshape", [x, self.constant(np.asarray(target, np.int64))], x.dtype, shape)
        elif kind == "unsqueeze" and x.rank < 6:
            at = self.number(0, x.rank)
            operands, attributes = self.axes_argument(13, [at])
            self.add("Unsqueeze", [x, *operands], x.dtype, x.shape[:at] + [Dim.of(1)] + x.shape[at:], **attributes)
        elif kind == "squeeze":
            at = self.pick([i for i, d in enumerate(x.shape) if d.one])
            if at is not None:
                axis = at - x.rank if self.opset >= 11 and self.chance(0.5) else at
                operands, attributes = self.axes_argument(13, [axis])
                self.add("Squeeze", [x, *operands], x.dtype, x.shape[:at] + x.shape[at + 1:], **attributes)
        elif kind == "shape" and x.rank == 3 and x.least_size() > 0:  # as attention splits its heads
            shape = self.add("Shape", [x], I64, [Dim.of(3)], True)
            self.values.pop()
            zero, one = (self.constant(np.asarray(i)) for i in (0, 1))
            parts = []
            for index in (zero, one):
                part = self.add("Gather", [shape, index], I64, [], True, axis=0)
                self.values.pop()
                operands, attributes = self.axes_argument(13, [0])
                part = self.add("Unsqueeze", [part, *operands], I64, [Dim.of(1)], True, **attributes)
                self.values.pop()
                parts.append(part)
            target = self.add("Concat", [*parts, self.constant(np.asarray([1, -1]))], I64, [Dim.of(4)], True, axis=0)
            self.values.pop()
            self.add("Reshape", [x, target], x.dtype, [x.shape[0], x.shape[1], Dim.of(1), x.shape[2]])

    def expand(self):
        x = self.value(lambda v: v.rank >= 1 and v.rank < 6)
        if x is None:
            return
        at = self.number(0, x.rank - 1)
        target = [d.fixed if not d.open and self.chance(0.7) else 1 for d in x.shape]
        shape = list(x.shape)
        if x.shape[at].one:
            target[at] = self.pick([2, 3, 5])
            shape[at] = Dim.of(target[at])
        for i, d in enumerate(x.shape):
            if d.open and len(set(d.values)) == 1 and self.chance(0.5):
                target[i] = d.values[0]
        if self.chance(0.3):
            target.insert(0, 2)
            shape.insert(0, Dim.of(2))
        self.add("Expand", [x, self.constant(np.asarray(target, np.int64))], x.dtype, shape)

    def slice(self):
        x = self.value(lambda v: v.rank >= 1)
        if x is None:
            return
        at = self.number(0, x.rank - 1)
        step = self.pick([1, 1, 1, 2, 3, -1, -2]) if self.opset >= 10 else 1
        bounds = [-2 ** 63, -100, -3, -2, -1, 0, 1, 2, 3, 100, 2 ** 63 - 1]
        start, end = self.pick(bounds), self.pick(bounds)
        shape = list(x.shape)

        def count(n):
            if step < 0 and start < -n:  # begins at the first element, where Python's slice has none
                return min(n, 1) if end < -n or end == bounds[-1] else 0
            return len(range(n)[slice(start, None if step < 0 and (end < -n or end == bounds[-1]) else end, step)])
        shape[at] = x.shape[at].map(count)
        if self.opset < 10:
            self.add("Slice", [x], x.dtype, shape, starts=[start], ends=[end], axes=[at])
            return
        axis = at - x.rank if self.chance(0.5) else at
        operands = [self.constant(np.asarray([v], np.int64)) for v in (start, end, axis, step)]
        self.add("Slice", [x, *operands], x.dtype, shape)

    def split(self):
        x = self.value(lambda v: any(not d.open and d.fixed and d.fixed >= 2 for d in v.shape))
        if x is None:
            return
        at = self.pick([i for i, d in enumerate(x.shape) if not d.open and d.fixed >= 2])
        size = x.shape[at].fixed
        first = self.number(1, size - 1)
        sizes = [first, size - first]
        outputs = [Value(self.name() + s, x.dtype, x.shape[:at] + [Dim.of(n)] + x.shape[at + 1:], x.exact)
                   for s, n in zip("ab", sizes)]
        operands, attributes = [x.name], {"axis": at - x.rank if self.opset >= 11 and self.chance(0.5) else at}
        if self.opset < 13:
            attributes["split"] = sizes
        else:
            operands.append(self.constant(np.asarray(sizes, np.int64)).name)
        self.nodes.append(helper.make_node("Split", operands, [o.name for o in outputs], **attributes))
        self.values += outputs
        if self.chance(0.4):  # put together again, as they were or the other way round
            if self.chance(0.5):
                outputs.reverse()
            self.add("Concat", outputs, x.dtype, x.shape, axis=at)

    def concat(self):
        x = self.value(lambda v: v.rank >= 1)
        if x is None:
            return
        at = self.number(0, x.rank - 1)
        off = lambda v: v.shape[:at] + v.shape[at + 1:]
        parts = [x]
        for _ in range(self.number(1, 3)):
            other = self.value(lambda v: v.dtype == x.dtype and v.rank == x.rank and off(v) == off(x))
            if other is not None and self.chance(0.7):
                parts.append(other)
            elif not any(d.open for d in off(x)):
                shape = [d.fixed if not d.open else None for d in x.shape]
                shape[at] = self.number(0, 3)
                parts.append(self.constant(self.data(x.dtype, shape, x.exact)))
                parts[-1].exact = x.exact
        if len(parts) < 2:
            return
        parts = [parts[int(i)] for i in self.random.permutation(len(parts))]
        dim = parts[0].shape[at].map(lambda *v: sum(v), *[p.shape[at] for p in parts[1:]])
        axis = at - x.rank if self.opset >= 11 and self.chance(0.5) else at
        self.add("Concat", parts, x.dtype, x.shape[:at] + [dim] + x.shape[at + 1:], axis=axis)

    def reduce(self):
        x = self.value(lambda v: v.rank >= 1 and v.dtype == F32 and v.least_size() > 0)
        if x is None:
            return
        op = self.pick(["ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL2", "ReduceL1", "ReduceSumSquare",
                        "ReduceLogSumExp"])
        axes = sorted(int(i) for i in self.random.choice(x.rank, self.number(1, x.rank), replace=False))
        keep = self.chance(0.5)
        shape = [Dim.of(1) if i in axes else d for i, d in enumerate(x.shape) if keep or i not in axes]
        given = [a - x.rank if self.opset >= 11 and self.chance(0.5) else a for a in axes]
        operands, attributes = self.axes_argument(13 if op == "ReduceSum" else 18, given)
        if len(axes) == x.rank and self.chance(0.3):
            operands, attributes = [], {}
        self.add(op, [x, *operands], x.dtype, shape, x.exact and op in ("ReduceMax", "ReduceMin"), keepdims=int(keep),
                 **attributes)

    def softmax(self):
        x = self.value(lambda v: v.rank >= 1 and v.dtype == F32 and v.least_size() > 0)
        if x is not None:
            self.add(self.pick(["Softmax", "LogSoftmax"]), [x], x.dtype, x.shape, False,
                     axis=self.number(-x.rank if self.opset >= 11 else 0, x.rank - 1))

    def normalise(self):
        x = self.value(lambda v: v.rank >= 2 and v.dtype == F32 and v.shape[-1].fixed and v.least_size() > 0)
        if x is None:
            return
        n = x.shape[-1].fixed
        scale, bias = (self.constant(self.data(F32, [n], False)) for _ in range(2))
        if self.opset >= 17 and self.chance(0.4):
            self.add("LayerNormalization", [x, scale, bias], x.dtype, x.shape, False, axis=-1)
            return
        mean = lambda v: self.add("ReduceMean", [v, *operands], F32, x.shape[:-1] + [Dim.of(1)], False, **attributes)
        operands, attributes = self.axes_argument(18, [x.rank - 1])
        if self.opset < 18 and self.opset >= 11:
            attributes = {"axes": [-1]}
        centred = self.add("Sub", [x, mean(x)], F32, x.shape, False)
        square = self.add("Pow", [centred, self.constant(np.float32(2))], F32, x.shape, False) if self.chance(0.5) else \
            self.add("Mul", [centred, centred], F32, x.shape, False)
        spread = self.add("Add", [mean(square), self.constant(np.float32(1e-2))], F32, x.shape[:-1] + [Dim.of(1)], False)
        y = self.add("Div", [centred, self.add("Sqrt", [spread], F32, spread.shape, False)], F32, x.shape, False)
        y = self.add("Mul", [y, scale], F32, x.shape, False)
        if self.chance(0.7):
            self.add("Add", [y, bias], F32, x.shape, False)

    def matmul(self):
        a = self.value(lambda v: v.rank >= 2 and v.real)
        if a is None:
            return
        if self.chance(0.3):
            a = self.add("Mul", [a, self.constant(np.asarray(self.pick([0.5, 0.25, 4]), a.dtype))], a.dtype, a.shape, False)
        b = self.value(lambda v: v.dtype == a.dtype and v.rank >= 2 and v.shape[-2] == a.shape[-1] and
                       self.joined(v.shape[:-2], a.shape[:-2]) is not None)
        if b is None or self.chance(0.4):
            if a.shape[-1].open:
                return
            b = self.constant(self.data(a.dtype, [a.shape[-1].fixed, self.number(1, 18)], False))
        shape = self.joined(a.shape[:-2], b.shape[:-2]) + [a.shape[-2], b.shape[-1]]
        if a.rank == 2 and b.rank == 2 and self.chance(0.4) and a.dtype == F32:
            wide = [1] if shape[1].open or self.chance(0.3) else [shape[1].fixed]
            c = self.constant(self.data(a.dtype, self.pick([wide, [1, *wide], []]), False))
            attributes = {}
            if self.chance(0.5):
                attributes = {"alpha": self.pick([1.0, 0.5]), "beta": self.pick([1.0, 0.5, 0.0])}
            if self.chance(0.3):
                b = self.add("Transpose", [b], b.dtype, b.shape[::-1], perm=[1, 0])
                attributes["transB"] = 1
            self.add("Gemm", [a, b, c], a.dtype, shape, False, **attributes)
            return
        y = self.add("MatMul", [a, b], a.dtype, shape, False)
        self.follow(y, -1)

    def follow(self, y, axis):
        """What is fused into a product: maps a channel, activations, residuals."""
        for _ in range(self.number(0, 3)):
            kind = self.pick(["channel", "scalar", "relu", "clip", "residual", "divide"])
            if kind == "relu":
                y = self.add(self.pick(["Relu", "Sigmoid", "LeakyRelu"]), [y], y.dtype, y.shape, False)
            elif kind == "clip":
                y = self.clip(y, 0, 6)
            elif kind == "residual":
                other = self.partner(y, keep=True)
                if self.joined(y.shape, other.shape) == y.shape:
                    y = self.add("Add", self.pick([[y, other], [other, y]]), y.dtype, y.shape, False)
            else:
                shape = []
                if kind == "channel" and not y.shape[axis].open:
                    shape = [y.shape[axis].fixed] + [1] * (0 if axis == -1 else y.rank - axis - 1)
                    if self.chance(0.3):
                        shape = [1] * (y.rank - len(shape)) + shape
                number = np.asarray(self.random.uniform(0.5, 2, shape), y.dtype)
                op = "Div" if kind == "divide" else self.pick(["Mul", "Add", "Sub"])
                order = [y, self.constant(number)]
                if op in ("Mul", "Add", "Sub") and self.chance(0.4):
                    order.reverse()
                y = self.add(op, order, y.dtype, y.shape, False)
        return y

    def image(self):
        x = self.value(lambda v: v.dtype == F32 and v.rank in (3, 4) and not v.shape[1].open and v.shape[1].fixed > 0 and
                       v.least_size() > 0)
        if x is None or self.chance(0.15):
            axes = self.pick([1, 2, 2, 2])
            shape = [self.pick([Dim.of(1), Dim.of(2), self.dims[0]]), Dim.of(self.pick([1, 2, 3, 4, 8, 16]))]
            for _ in range(axes):
                shape.append(Dim((int(n) for n in self.random.integers(3, 14, RUNS)), True) if self.chance(0.3)
                             else Dim.of(self.number(3, 13)))
            x = Value(f"x{len(self.inputs)}", F32, shape, self.chance(0.3))
            self.inputs.append(x)
            self.values.append(x)
        return x

    def windows(self, x, kernels, dilated=True):
        """Kernel, attributes and output extents on the spatial axes; None where the input is too small."""
        axes = x.rank - 2
        kernel = [self.pick(kernels) for _ in range(axes)]
        strides = [self.pick([1, 1, 2, 3]) for _ in range(axes)]
        dilations = [self.pick([1, 1, 1, 2]) if dilated else 1 for _ in range(axes)]
        reach = [d * (k - 1) + 1 for d, k in zip(dilations, kernel)]
        auto = self.pick([None, None, None, "SAME_UPPER", "SAME_LOWER", "VALID"])
        pads = [[self.number(0, (k - 1) // 2 + (1 if k > 2 else 0)) for k in kernel] for _ in range(2)]
        if auto:
            pads = [[0] * axes] * 2
        attributes = {"kernel_shape": kernel, "strides": strides}
        if dilated and dilations != [1] * axes:
            attributes["dilations"] = dilations
        if auto:
            attributes["auto_pad"] = auto
        elif any(pads[0] + pads[1]):
            attributes["pads"] = pads[0] + pads[1]
        shape = []
        for i in range(axes):
            size = x.shape[2 + i]
            padded = size.least + pads[0][i] + pads[1][i]
            if padded < reach[i] or size.least < reach[i]:
                return None
            if auto in ("SAME_UPPER", "SAME_LOWER"):
                shape.append(size.map(lambda n: -(-n // strides[i])))
            else:
                shape.append(size.map(lambda n: (n + pads[0][i] + pads[1][i] - reach[i]) // strides[i] + 1))
        return kernel, attributes, shape

    def conv(self):
        x = self.image()
        channels = x.shape[1].fixed
        group = self.pick([g for g in (1, 1, 1, 2, channels) if channels % g == 0])
        if self.chance(0.3) and x.rank == 4:
            pads = [0, 0, self.number(0, 2), self.number(0, 2), 0, 0, self.number(0, 2), self.number(0, 2)]
            shape = x.shape[:2] + [d.map(lambda n: n + pads[2 + i] + pads[6 + i]) for i, d in enumerate(x.shape[2:])]
            if self.opset < 11:
                x = self.add("Pad", [x], F32, shape, pads=pads)
            else:
                x = self.add("Pad", [x, self.constant(np.asarray(pads, np.int64))], F32, shape)
        windows = self.windows(x, [1, 1, 2, 3, 3, 5])
        if windows is None:
            return
        kernel, attributes, spatial = windows
        outputs = group * self.pick([1, 2, 3, 8, 17] if group == 1 else [1, 2])
        weights = self.constant(self.data(F32, [outputs, channels // group, *kernel], False))
        bias = self.constant(self.data(F32, [outputs], False)) if self.chance(0.5) else None
        y = self.add("Conv", [x, weights, bias], F32, [x.shape[0], Dim.of(outputs), *spatial], False, group=group,
                     **attributes)
        if self.chance(0.2):
            parts = [self.constant(self.data(F32, [outputs], False)) for _ in range(3)]
            parts.append(self.constant(np.asarray(self.random.uniform(0.5, 2, [outputs]), F32)))
            y = self.add("BatchNormalization", [y, *parts], F32, y.shape, False)
        self.follow(y, 1)

    def conv_transpose(self):
        x = self.image()
        channels, axes = x.shape[1].fixed, x.rank - 2
        kernel = [self.pick([1, 2, 3, 4]) for _ in range(axes)]
        strides = [self.pick([1, 2, 2, 3]) for _ in range(axes)]
        outputs = self.pick([1, 2, 5, 16])
        pads = [self.number(0, (k - 1) // 2) for k in kernel] * 2
        extra = [self.number(0, s - 1) for s in strides]
        shape = [d.map(lambda n: (n - 1) * strides[i] + kernel[i] - 2 * pads[i] + extra[i])
                 for i, d in enumerate(x.shape[2:])]
        if min(d.least for d in shape) < 1:
            return
        weights = self.constant(self.data(F32, [channels, outputs, *kernel], False))
        y = self.add("ConvTranspose", [x, weights], F32, [x.shape[0], Dim.of(outputs), *shape], False, strides=strides,
                     pads=pads, output_padding=extra)
        self.follow(y, 1)

    def pool(self):
        x = self.image()
        op = self.pick(["MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"])
        if op.startswith("Global"):
            self.add(op, [x], F32, x.shape[:2] + [Dim.of(1)] * (x.rank - 2), x.exact and op == "GlobalMaxPool")
            return
        dilated = (op == "MaxPool" and self.opset >= 10) or self.opset >= 19
        windows = self.windows(x, [1, 2, 3, 3], dilated)
        if windows is None:
            return
        kernel, attributes, shape = windows
        if "dilations" in attributes and "auto_pad" in attributes:
            return
        if "auto_pad" in attributes and any(s > k for s, k in zip(attributes["strides"], kernel)):
            return  # onnxruntime pads pools with less than nothing there
        if op == "AveragePool":
            attributes["count_include_pad"] = self.number(0, 1)
        pads = attributes.get("pads", [0] * (2 * len(kernel)))
        if any(p >= k for p, k in zip(pads, kernel * 2)):
            return
        if self.opset >= 10 and "auto_pad" not in attributes and self.chance(0.3):
            attributes["ceil_mode"] = 1
            for i, k in enumerate(kernel):
                stride, reach = attributes["strides"][i], attributes.get("dilations", [1] * len(kernel))[i] * (k - 1) + 1
                begin, end = pads[i], pads[i + len(kernel)]

                def count(n):
                    windows = -(-(n + begin + end - reach) // stride) + 1
                    return windows - 1 if (windows - 1) * stride >= n + begin else windows
                shape[i] = x.shape[2 + i].map(count)
        self.add(op, [x], F32, x.shape[:2] + shape, x.exact and op == "MaxPool", **attributes)

    def pad(self):
        x = self.value(lambda v: v.dtype == F32 and 1 <= v.rank <= 4 and v.least_size() > 0)
        if x is None:
            return
        mode = self.pick(["constant", "constant", "reflect", "edge"])
        pads = [self.number(-1 if mode == "constant" and d.least > 2 else 0, 0 if d.least < 3 else 2) for d in x.shape * 2]
        shape = [d.map(lambda n: n + pads[i] + pads[i + x.rank]) for i, d in enumerate(x.shape)]
        attributes, operands = {"mode": mode}, []
        value = self.pick([0.0, 1.0])
        if self.opset < 11:
            attributes["pads"] = pads
            if mode == "constant":
                attributes["value"] = value
        else:
            operands = [self.constant(np.asarray(pads, np.int64))]
            if mode == "constant" and self.chance(0.7):
                operands.append(self.constant(np.float32(value)))
        self.add("Pad", [x, *operands], F32, shape, **attributes)

    def gather(self):
        x = self.value(lambda v: any(d.least >= 1 for d in v.shape) and v.rank <= 4)
        if x is None:
            return
        at = self.pick([i for i, d in enumerate(x.shape) if d.least >= 1])
        least = x.shape[at].least
        shape = self.pick([[], [1], [3], [2, 2], [0]])
        low = -least if self.opset >= 11 else 0
        indices = self.constant(self.random.integers(low, least, shape).astype(self.pick([np.int64, np.int32])))
        self.add("Gather", [x, indices], x.dtype, x.shape[:at] + indices.shape + x.shape[at + 1:], axis=at)

    def resize(self):
        x = self.image()
        if x.rank != 4 or self.opset < 11:
            return
        mode = self.pick(["nearest", "linear"])
        coordinates = self.pick(["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"])
        scale = self.pick([2.0, 1.5, 0.5, 3.0])
        shape = x.shape[:2] + [d.map(lambda n: int(n * scale)) for d in x.shape[2:]]
        if min(d.least for d in shape) < 1:
            return
        nearest = self.pick(["floor", "round_prefer_floor", "ceil"])
        roi = self.constant(np.zeros(0, np.float32)) if self.opset < 13 else None
        scales = self.constant(np.asarray([1, 1, scale, scale], np.float32))
        attributes = {"nearest_mode": nearest} if mode == "nearest" else {}
        self.add("Resize", [x, roi, scales], F32, shape, mode == "nearest" and x.exact, mode=mode,
                 coordinate_transformation_mode=coordinates, **attributes)

    def tile(self):
        x = self.value(lambda v: 1 <= v.rank <= 3)
        if x is not None:
            repeats = [self.pick([1, 1, 2, 3]) for _ in x.shape]
            self.add("Tile", [x, self.constant(np.asarray(repeats, np.int64))], x.dtype,
                     [d.map(lambda n: n * repeats[i]) for i, d in enumerate(x.shape)])

    def chain(self):
        """Elementwise operators on one value, which fuse."""
        x = self.value(lambda v: v.dtype == F32)
        for _ in range(0 if x is None else self.number(2, 6)):
            if self.chance(0.4):
                y = self.partner(x, keep=True)
                if self.joined(x.shape, y.shape) != x.shape:
                    continue
                x = self.add(self.pick(["Add", "Sub", "Mul", "Max", "Min"]), self.pick([[x, y], [y, x]]), F32, x.shape,
                             False)
            else:
                x = self.add(self.pick(["Relu", "Neg", "Abs", "Sigmoid", "Tanh"]), [x], F32, x.shape, False)

    def variadic(self):
        x = self.value(lambda v: v.dtype == F32)
        if x is None:
            return
        op = self.pick(["Sum", "Mean", "Max", "Min"])
        operands, shape = [x], x.shape
        for _ in range(self.number(0, 9 if self.chance(0.2) else 3)):
            other = self.partner(x)
            joined = self.joined(shape, other.shape)
            if joined is not None and len(joined) <= 6:
                operands.append(other)
                shape = joined
        self.add(op, operands, F32, shape, op in ("Max", "Min") and all(o.exact for o in operands))

    def prelu(self):
        x = self.value(lambda v: v.dtype == F32 and v.rank >= 2)
        if x is not None and not x.shape[1].open:
            slope = self.pick([[], [1], [x.shape[1].fixed] + [1] * (x.rank - 2)])
            self.add("PRelu", [x, self.constant(self.data(F32, slope, False))], F32, x.shape, False)

    def blocks(self):
        x = self.image()
        if x.rank != 4:
            return
        mode = {"mode": self.pick(["DCR", "CRD"])} if self.opset >= 11 else {}
        if x.shape[1].fixed % 4 == 0 and self.chance(0.5):
            shape = [x.shape[0], Dim.of(x.shape[1].fixed // 4)] + [d.map(lambda n: 2 * n) for d in x.shape[2:]]
            self.add("DepthToSpace", [x], F32, shape, blocksize=2, **mode)
        elif all(v % 2 == 0 for d in x.shape[2:] for v in d.values):
            shape = [x.shape[0], Dim.of(x.shape[1].fixed * 4)] + [d.map(lambda n: n // 2) for d in x.shape[2:]]
            self.add("SpaceToDepth", [x], F32, shape, blocksize=2)

    def instance(self):
        x = self.image()
        scale, bias = (self.constant(self.data(F32, [x.shape[1].fixed], False)) for _ in range(2))
        if min(int(np.prod([d.values[i] for d in x.shape[2:]])) for i in range(RUNS)) > 3:
            self.add("InstanceNormalization", [x, scale, bias], F32, x.shape, False, epsilon=0.01)

    def lstm(self):
        x = self.value(lambda v: v.dtype == F32 and v.rank == 3 and not v.shape[2].open and v.shape[2].fixed > 0 and
                       v.least_size() > 0)
        if x is None:
            return
        direction = self.pick(["forward", "reverse", "bidirectional"])
        ways, hidden, inputs = 2 if direction == "bidirectional" else 1, self.pick([1, 3, 8]), x.shape[2].fixed
        weights = self.constant(self.data(F32, [ways, 4 * hidden, inputs], False))
        recurrent = self.constant(self.data(F32, [ways, 4 * hidden, hidden], False))
        bias = self.constant(self.data(F32, [ways, 8 * hidden], False)) if self.chance(0.5) else None
        self.add("LSTM", [x, weights, recurrent, bias], F32, [x.shape[0], Dim.of(ways), x.shape[1], Dim.of(hidden)], False,
                 direction=direction, hidden_size=hidden)

    def upsample(self):
        x = self.image()
        if self.opset == 9 and x.rank == 4:
            scales = self.constant(np.asarray([1, 1, 2, 2], np.float32))
            self.add("Upsample", [x, scales], F32, x.shape[:2] + [d.map(lambda n: 2 * n) for d in x.shape[2:]],
                     mode=self.pick(["nearest", "linear"]))

    def squeeze_all(self):
        x = self.value(lambda v: any(d.one for d in v.shape) and not any(d.open for d in v.shape))
        if x is not None:
            self.add("Squeeze", [x], x.dtype, [d for d in x.shape if not d.one])

    def take_turns(self):
        """A residual network's shape: a value that is read twice, changed between."""
        x = self.value(lambda v: v.dtype == F32)
        if x is None:
            return
        y = self.add("Tanh", [x], F32, x.shape, False)
        z = self.add("Relu", [y], F32, x.shape, False)
        z = self.add("Mul", [z, self.constant(np.float32(0.5))], F32, x.shape, False)
        self.add("Add", self.pick([[y, z], [z, y], [z, x]]), F32, x.shape, False)

    def build(self):
        for _ in range(self.number(1, 3)):
            self.input()
        steps = [self.unary, self.unary, self.binary, self.binary, self.compare, self.where, self.logic, self.cast,
                 self.transpose, self.reshape, self.reshape, self.expand, self.slice, self.split, self.concat, self.reduce,
                 self.softmax, self.normalise, self.matmul, self.matmul, self.conv, self.conv, self.conv_transpose,
                 self.pool, self.pad, self.gather, self.resize, self.tile, self.chain, self.chain, self.variadic, self.prelu,
                 self.blocks, self.instance, self.lstm, self.upsample, self.squeeze_all, self.take_turns]
        for _ in range(self.number(2, 10)):
            self.pick(steps)()
            if max(max((max(d.values) for d in v.shape), default=1) for v in self.values) > 400 or \
               max(np.prod([float(max(d.values)) for d in v.shape]) for v in self.values) > 2e5:
                break
        read = {name for node in self.nodes for name in node.input}
        made = [v for v in self.values if v not in self.inputs]
        outputs = [v for v in made if v.name not in read or self.chance(0.15)]
        if not outputs:
            return None
        names = iter(range(1000))
        declared = [helper.make_tensor_value_info(v.name, helper.np_dtype_to_tensor_dtype(v.dtype), [
            f"d{next(names)}" if d.open and d not in self.dims else
            f"s{self.dims.index(d)}" if d.open else d.fixed for d in v.shape]) for v in self.inputs]
        graph = helper.make_graph(self.nodes, "random", declared,
                                  [helper.make_tensor_value_info(v.name, helper.np_dtype_to_tensor_dtype(v.dtype), None)
                                   for v in outputs], self.constants)
        ir = {9: 4, 10: 5, 11: 6, 12: 7, 13: 7, 15: 8, 18: 8, 20: 9, 21: 10}[self.opset]
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=ir)
        feeds = [{v.name: self.data(v.dtype, [d.values[run] for d in v.shape], v.exact) for v in self.inputs}
                 for run in range(RUNS)]
        return Case(str(self.seed), model, feeds, {v.name for v in outputs if v.exact},
                    "sse4" if self.seed % 5 == 0 else "avx2" if self.seed % 5 == 1 else "-",
                    "validating" if self.seed % 4 == 0 else "far" if self.seed % 4 == 1 else "cpu")
