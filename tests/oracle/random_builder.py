# SPDX-License-Identifier: Apache-2.0
"""What random models are built with: values whose shapes are known in every run, and the choice among them."""
import numpy as np
from onnx import helper, numpy_helper

from graph_runner import RUNS

F32, F64, I32, I64, BOOL = (np.dtype(name) for name in ("float32", "float64", "int32", "int64", "bool"))


class Dim:
    """An extent in each of the runs; `open` where the model does not say it."""

    def __init__(self, values, is_open=False):
        self.values = tuple(values)
        self.open = is_open

    @staticmethod
    def of(value):
        return Dim((value,) * RUNS)

    def __eq__(self, other):
        return self.values == other.values

    def __hash__(self):
        return hash(self.values)

    @property
    def one(self):
        return not self.open and self.values[0] == 1

    @property
    def fixed(self):
        return None if self.open else self.values[0]

    @property
    def least(self):
        return min(self.values)

    def map(self, function, *others):
        return Dim((function(*v) for v in zip(self.values, *(o.values for o in others))),
                   self.open or any(o.open for o in others))


class Value:
    """`exact`: small whole numbers, which no order of operations changes; then steps may follow."""

    def __init__(self, name, dtype, shape, exact, constant=None):
        self.name, self.dtype, self.shape, self.exact, self.constant = name, np.dtype(dtype), list(shape), exact, constant

    @property
    def rank(self):
        return len(self.shape)

    @property
    def real(self):
        return self.dtype.kind == "f"

    def least_size(self):
        return min(int(np.prod([d.values[i] for d in self.shape])) for i in range(RUNS))


class Builder:
    def __init__(self, seed):
        self.seed = seed
        self.random = np.random.default_rng(seed)
        self.opset = int(self.random.choice([9, 10, 11, 12, 13, 15, 18, 20, 21]))
        self.nodes, self.constants, self.values, self.inputs = [], [], [], []
        self.dims = [Dim(self.random.permutation([int(n) for n in self.random.choice(range(1, 12), RUNS)]), True)
                     for _ in range(3)]
        if self.random.random() < 0.2:  # an open dimension that always is what another is by itself
            self.dims[0] = Dim((5,) * RUNS, True)

    # --- choices
    def chance(self, share):
        return self.random.random() < share

    def pick(self, options):
        options = list(options)
        return options[int(self.random.integers(len(options)))] if options else None

    def number(self, low, high):
        return int(self.random.integers(low, high + 1))

    def value(self, accept):
        """One that is accepted, later ones rather."""
        fitting = [v for v in self.values if accept(v)]
        if not fitting:
            return None
        return self.pick(fitting[-3:]) if self.chance(0.7) else self.pick(fitting)

    # --- building
    def name(self):
        return f"v{len(self.values)}_{len(self.nodes)}_{len(self.constants)}"

    def constant(self, array, listed=False):
        array = np.asarray(array)
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return Value(name, array.dtype, [Dim.of(n) for n in array.shape], True, array)

    def data(self, dtype, shape, exact):
        dtype = np.dtype(dtype)
        if dtype == BOOL:
            return self.random.integers(0, 2, shape).astype(bool)
        if dtype.kind in "iu":
            return self.random.integers(-4 if dtype.kind == "i" else 0, 5, shape).astype(dtype)
        if exact:
            return self.random.integers(-4, 5, shape).astype(dtype)
        return self.random.standard_normal(shape).astype(dtype)

    def add(self, op, operands, dtype, shape, exact=None, domain="", **attributes):
        names = [o.name if o is not None else "" for o in operands]
        while names and not names[-1]:
            names.pop()
        output = Value(self.name(), dtype, shape, all(o.exact for o in operands if o) if exact is None else exact)
        self.nodes.append(helper.make_node(op, names, [output.name], **attributes))
        self.values.append(output)
        return output

    def input(self):
        rank = self.pick([0, 1, 2, 2, 3, 3, 4, 4, 4, 5])
        shape = []
        for _ in range(rank):
            if self.chance(0.35):
                shape.append(self.pick(self.dims))
            elif self.chance(0.03):
                shape.append(Dim.of(0))
            else:
                shape.append(Dim.of(self.pick([1, 1, 2, 3, 4, 5, 7, 8, 16, 17])))
        dtype = self.pick([F32] * 12 + [F64, I64, I64, I32, BOOL])
        value = Value(f"x{len(self.inputs)}", dtype, shape, dtype.kind != "f" or self.chance(0.4))
        self.inputs.append(value)
        self.values.append(value)

    def partner(self, x, keep=False):
        """A value or constant of x's type that broadcasts with it; `keep`: without enlarging it."""
        same = self.value(lambda v: v.dtype == x.dtype and self.joined(v.shape, x.shape, keep) is not None)
        if same is not None and self.chance(0.5):
            return same
        rank = self.number(0, x.rank)
        shape = [1 if self.chance(0.4) or d.open else d.fixed for d in x.shape[x.rank - rank:]]
        if not keep and self.chance(0.05) and x.rank < 5:
            shape = [1] * (x.rank + 1 - rank) + shape
        constant = self.constant(self.data(x.dtype, shape, x.exact))
        constant.exact = x.exact
        return constant

    @staticmethod
    def joined(a, b, keep=False):
        """The shape that two broadcast to; None where they don't in some run, or where it is left to chance."""
        if keep and len(a) > len(b):
            return None
        rank = max(len(a), len(b))
        a, b = [Dim.of(1)] * (rank - len(a)) + a, [Dim.of(1)] * (rank - len(b)) + b
        shape = []
        for m, n in zip(a, b):
            if m.one:
                shape.append(n)
            elif n.one:
                if keep is False or m.one:
                    shape.append(m)
                else:
                    return None
            elif m == n:
                shape.append(m if not m.open else n)
            else:
                return None
        return shape
