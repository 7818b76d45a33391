"""Programs of PlaidML's tests of its language, restated: outputs, arrays by tensor, and the values that NumPy gives."""

import itertools
import math

import numpy as np

from tabla_gen.plaidml import edsl
from tabla_gen.plaidml.edsl import (
    Contraction,
    DType,
    GatherMode,
    InterpolationMode,
    NearestMode,
    OutOfBoundsMode,
    Placeholder,
    ScatterMode,
    Tensor,
    TensorDims,
    TensorIndexes,
    TensorLens,
    TensorOutput,
    cast,
    gather,
    scatter,
)

SUITE = {}
rng = np.random.default_rng(56)


def program(function):
    """Outputs, arrays by tensor, and the values that NumPy gives."""
    SUITE[function.__name__] = function
    return function


def reals(*shape):
    values = rng.normal(size=shape)
    return Placeholder(DType.FLOAT32, shape), values


def whole(values, dtype=DType.UINT64):
    values = np.array(values)
    return Placeholder(dtype, values.shape), values


def case(name, function, *inputs, expected=None):
    """One output; without an expectation, the same function of the arrays."""

    def made():
        tensors = [Placeholder(DType.from_numpy(x.dtype), x.shape) for x in inputs]
        value = (expected or function)(*inputs)
        return [function(*tensors)], dict(zip(tensors, inputs)), [value]

    SUITE[name] = made


N9, M9 = np.array([[1, 2, 3], [4, 0, 6], [7, 0, 9]]), np.array([[10, 11, 12], [0, 0, 0], [16, 17, 18]])
U9, V9, F9 = N9.astype(np.uint64), M9.astype(np.uint64), N9.astype(np.float32)
for name, a, b in [("uint64", U9, V9), ("mixed", U9, M9.astype(np.float32))]:
    case(f"LogicalAnd_{name}", edsl.logical_and, a, b, expected=np.logical_and)
for name, a, b in [("uint64", U9, V9), ("float", F9, M9.astype(np.float32)), ("int32", N9.astype(np.int32), M9.astype(np.int32))]:
    case(f"LogicalOr_{name}", edsl.logical_or, a, b, expected=np.logical_or)
case("LogicalNot_int32", edsl.logical_not, N9.astype(np.int32), expected=np.logical_not)
case("LogicalNot_float", edsl.logical_not, F9, expected=np.logical_not)
UNIT = np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6], [1.0, 0.0, -0.6]])
REALS = np.array([[1.1, 9.21, 3.0], [-0.4, -7.0, 0.6], [1.0, 0.0, -6.6]])
for name, function in {"Asin": np.arcsin, "Acos": np.arccos, "Atan": np.arctan, "CosH": np.cosh, "Tan": np.tan, "AtanH": lambda x: np.arctanh(x * 0.9)}.items():
    own = getattr(edsl, name.lower())
    case(name, (lambda x, f=own: f(x * 0.9)) if name == "AtanH" else own, UNIT, expected=function)
case("AcosH", lambda x: edsl.acosh(x + 1.0), abs(UNIT), expected=lambda x: np.arccosh(x + 1))
for name, function in {"AsinH": np.arcsinh, "Cos": np.cos, "Sin": np.sin, "SinH": np.sinh, "Floor": np.floor}.items():
    case(name, getattr(edsl, name.lower()), REALS, expected=function)
case("Erf", edsl.erf, UNIT, expected=np.vectorize(math.erf))
# Halves go away from zero in C, and to the even neighbour in NumPy; there are none here.
case("Round", edsl.round, REALS, expected=np.round)
case("Pow", edsl.pow, np.tile([0.5, 1.5, 2.5], (3, 1)), np.repeat([0.5, 1.5, 2.5], 3).reshape(3, 3), expected=np.power)
case("EltwiseAdd", lambda a, b: a + b, rng.normal(size=(3, 4)), rng.normal(size=(3, 4)))
case("SimpleAdd", lambda a, b: a + b, np.arange(9).reshape(3, 3), np.arange(9, 18).reshape(3, 3))
case("MixedAdd", lambda a, b: a + b, np.arange(9.0).reshape(3, 3), np.arange(9).reshape(3, 3).astype(np.int32))
case("ConstCast", lambda a: a * cast(Tensor(value=3), DType.FLOAT32), np.ones(2), expected=lambda a: 3 * a)
case("Trace", lambda a: edsl.trace(a, "msg"), REALS, expected=lambda a: a)
case("ReshapeFold", lambda a: edsl.reshape(a, [3, 3]), N9.astype(np.int32), expected=lambda a: a)
case("ReshapeScalar", lambda a: edsl.reshape(a, []), np.array(2, np.int32), expected=lambda a: a)
case("ReshapeIntoScalar", lambda a: edsl.reshape(a, []), np.full((1, 1, 1), 2, np.int32), expected=lambda a: a.reshape(()))
case("ReshapeFromScalar", lambda a: edsl.reshape(a, [1, 1, 1]), np.array(2, np.int32), expected=lambda a: a.reshape(1, 1, 1))


def matrix_product(x, y):
    m, n, k = TensorDims(3)
    i, j, r = TensorIndexes(3)
    x.bind_dims(m, k)
    y.bind_dims(k, n)
    return Contraction().outShape(m, n).outAccess(i, j).sum(x[i, r] * y[r, j]).build()


A16, B16 = (rng.normal(size=shape).astype(np.float16) for shape in ((8, 16), (16, 4)))
case("DotF16", matrix_product, A16, B16, expected=lambda a, b: (a.astype(float) @ b.astype(float)).astype(np.float16))
case(
    "DotF16_AccF32",
    lambda a, b: cast(matrix_product(cast(a, DType.FLOAT32), cast(b, DType.FLOAT32)), DType.FLOAT16),
    A16,
    B16,
    expected=lambda a, b: (a.astype(float) @ b.astype(float)).astype(np.float16),
)
case("BigDot", matrix_product, rng.normal(size=(64, 48)), rng.normal(size=(48, 32)), expected=np.matmul)
CONSTANTS = np.array([4, 3, 2, 1], np.int32), np.array([1, 2, 3, 4], np.int32)


@program
def ConstAdd():
    a, b = (edsl.Constant(values, name=name) for values, name in zip(CONSTANTS, "AB"))
    return [a + b], {}, [sum(CONSTANTS)]


@program
def FunkySum():
    """Sums over all elements, as scalars of contractions without a shape."""
    a, A = reals(3, 4)
    i, j = TensorIndexes(2)
    return [Contraction().sum(a[i, j]).build(), Contraction().outShape(1).outAccess(0).sum(a[i, j]).build()], {a: A}, [A.sum(), [A.sum()]]


@program
def Counts():
    """Sums of truth values are numbers."""
    a, A = whole([1, 2, 2, 3, 2], DType.INT32)
    i, j = TensorIndexes(2)
    return [Contraction().outShape(5).outAccess(i).sum(a[i] == a[j]).build()], {a: A}, [(A[:, None] == A).sum(1)]


def convolution(x, k, x_layout="NHWC", k_layout="HWCK"):
    lens = TensorLens(x_layout, "NHWC")
    x, k = x.use(lens), k.use(TensorLens(k_layout, "HWCK"))
    ci, co, k0, k1, n, x0, x1 = TensorDims(7)
    b, y, z, o, i, u, v = TensorIndexes(7)
    x.bind_dims(n, x0, x1, ci)
    k.bind_dims(k0, k1, ci, co)
    body = x[b, y + u - k0 // 2, z + v - k1 // 2, i] * k[u, v, i, o]
    return Contraction(lens).outShape(n, x0, x1, co).outAccess(b, y, z, o).sum(body).build()


def windows(X, K):
    padded = np.pad(X, [(0, 0), (1, 1), (1, 1), (0, 0)])
    return np.einsum("nyxiuv,uvio->nyxo", np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2)), K)


IMAGE, KERNEL = rng.integers(-9, 9, (1, 4, 5, 2)), rng.integers(-9, 9, (3, 3, 2, 3))
case("ConvI8", lambda x, k: cast(convolution(x, k), DType.INT32), IMAGE.astype(np.int8), KERNEL.astype(np.int8),
     expected=lambda x, k: windows(x.astype(int), k.astype(int)).astype(np.int8))  # fmt: skip


@program
def Lens():
    (x, X), (k, K), (m, M) = reals(1, 4, 5, 2), reals(3, 3, 2, 3), reals(2, 3)
    y, w = Placeholder(DType.FLOAT32, (1, 2, 4, 5)), Placeholder(DType.FLOAT32, (2, 3, 3, 3))

    def transposed(t, layout):
        lens = TensorLens(layout, "MN")
        seen, (rows, columns), (i, j) = t.use(lens), TensorDims(2), TensorIndexes(2)
        seen.bind_dims(rows, columns)
        return Contraction(lens).outShape(columns, rows).outAccess(j, i).assign(seen[i, j]).build()

    outputs = [convolution(x, k), convolution(y, w, "NCHW", "CKHW"), transposed(m, "MN"), transposed(m, "NM")]
    feeds = {x: X, k: K, y: X.transpose(0, 3, 1, 2), w: K.transpose(2, 3, 0, 1), m: M}
    return outputs, feeds, [windows(X, K), windows(X, K).transpose(0, 3, 1, 2), M.T, M.T]


SORTED = {
    "ArgSort1d": (np.array([83.0, 99, 5, -2, 7, 44, 12, 0.5]), 0, False),
    "ArgSort1dInt": (np.array([83, 99, 5, -2, 7, 44, 12, 0], np.int32), 0, False),
    "ArgSort1dDup": (np.array([3.0, 1, 2, 1, 3, 2, 1]), 0, False),
    "ArgSort2dAxis0": (rng.normal(size=(5, 4)), 0, False),
    "ArgSort2dAxis1": (rng.normal(size=(4, 5)), 1, False),
    "ArgSort3dAxis0Asc": (rng.normal(size=(4, 3, 2)), 0, False),
    "ArgSort3dAxis2Desc": (rng.normal(size=(2, 3, 4)), 2, True),
    "ArgSort3dAxisNeg2Asc": (rng.normal(size=(2, 4, 3)), -2, False),
}
for name, (values, axis, down) in SORTED.items():
    way = edsl.SortDirection.DESC if down else edsl.SortDirection.ASC
    case(name, lambda x, a=axis, w=way: edsl.argsort(x, a, w), values, expected=lambda x, a=axis, d=down: np.argsort(-x if d else x, a, kind="stable"))

TABLE, CUBE = rng.normal(size=(3, 2)), rng.normal(size=(2, 3, 2))
PAIRS, ROWS = np.array([[0, 1], [1, 2]], np.int32), np.array([[1], [0]], np.int32)
case("GatherND", lambda x, i: gather(x, i, mode=GatherMode.ND), CUBE, PAIRS, expected=lambda x, i: x[i[:, 0], i[:, 1]])
case(
    "GatherNDWithBatchDims",
    lambda x, i: gather(x, i, mode=GatherMode.ND, batch_dims=1),
    CUBE,
    ROWS,
    expected=lambda x, i: np.stack([row[n[0]] for row, n in zip(x, i)]),
)


def interpolated(x, y, weights, zero=False):
    """Along the first axis: `weights(t)` of the elements from one before the one below on, or of two, or of the one nearest."""
    result = np.zeros(y.shape + x.shape[1:])
    for at in np.ndindex(y.shape):
        for place, weight in weights(y[at]):
            inside = min(max(place, 0), len(x) - 1)
            result[at] += (0 if zero and inside != place else weight) * x[inside]
    return result


def linear(y):
    low = math.floor(y)
    return [(low, 1 - y + low), (low + 1, y - low)]


def cubic(y, a=-0.75):
    low = math.floor(y)

    def weight(d):
        d = abs(d)
        return (a + 2) * d**3 - (a + 3) * d**2 + 1 if d <= 1 else a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a

    return [(low + n, weight(y - low - n)) for n in (-1, 0, 1, 2)]


BETWEEN = np.array([0.0, 0.3, 0.5, 1.0, 1.75, 2.0])
OUTSIDE, MANY = np.array([-1.0, -0.25, 0.5, 2.25, 3.5]), BETWEEN.reshape(2, 3)
LINEAR, CUBIC, ZERO = InterpolationMode.LINEAR, InterpolationMode.CUBIC, OutOfBoundsMode.RETURN_ZERO
for name, places, mode, weights, more in [
    ("Linear", BETWEEN, LINEAR, linear, {}),
    ("LinearOutOfBoundsReturnZero", OUTSIDE, LINEAR, linear, {"out_of_bounds_mode": ZERO}),
    ("LinearOutOfBounds", OUTSIDE, LINEAR, linear, {}),
    ("Cubic", BETWEEN, CUBIC, cubic, {}),
    ("CubicHalf", OUTSIDE, CUBIC, lambda y: cubic(y, -0.5), {"cube_coeff": -0.5}),
    ("CubicOutOfBoundsReturnZero", OUTSIDE, CUBIC, cubic, {"out_of_bounds_mode": ZERO}),
    ("MultiDIndices", MANY, LINEAR, linear, {}),
]:
    case(f"InterpolatedGather{name}", lambda x, y, m=mode, k=more: gather(x, y, interpolation_mode=m, **k), TABLE, places,
         expected=lambda x, y, w=weights, k=more: interpolated(x, y, w, "out_of_bounds_mode" in k))  # fmt: skip
NEAREST = {
    NearestMode.ROUND_PREFER_FLOOR: lambda y: math.ceil(y - 0.5),
    NearestMode.ROUND_PREFER_CEIL: lambda y: math.floor(y + 0.5),
    NearestMode.FLOOR: math.floor,
    NearestMode.CEIL: math.ceil,
    NearestMode.SIMPLE: int,
}


@program
def InterpolatedGatherNearest():
    (x, X), (y, _) = reals(2, 3), reals(6)
    outputs = [gather(x, y, 1, interpolation_mode=InterpolationMode.NEAREST, nearest_mode=mode) for mode in NEAREST]
    return outputs, {x: X, y: BETWEEN}, [interpolated(X.T, BETWEEN, lambda v, f=f: [(f(v), 1)]).T for f in NEAREST.values()]


def updated(shape, updates, places):
    result = np.zeros(shape)
    for place, value in zip(places, updates):
        result[place] = value
    return result


def added(size, updates, places):
    result = np.zeros((size, *updates.shape[1:]))
    np.add.at(result, places, updates)
    return result


UPDATES, SLICES = np.array([9.0, 10, 11, 12]), rng.normal(size=(2, 4, 3))
FOUR, REPEATED, TWO, SAME = (np.array(p, np.int32) for p in ([4, 3, 1, 7], [4, 3, 4, 7], [0, 2], [2, 2]))
sized = lambda n: Tensor(value=n)  # noqa: E731
for name, values, places, size in [("Scatter1D", UPDATES, FOUR, 8), ("ScatterDup1D", UPDATES, REPEATED, 8), ("Scatter3D", SLICES, TWO, 4), ("ScatterDup3D", SLICES, SAME, 4)]:
    case(name, lambda x, i, n=size: scatter(x, i, sized(n)), values, places, expected=lambda x, i, n=size: added(n, x, i))
SLICE, ELT, ND = ScatterMode.UPDATE_SLICE, ScatterMode.UPDATE_ELT, ScatterMode.UPDATE_ND
case("Scatter1DUpdateSlice", lambda x, i, z: scatter(x, i, z, mode=SLICE), UPDATES, FOUR, np.arange(8.0), expected=lambda x, i, z: np.where(np.isin(np.arange(8), i), updated(8, x, i), z))
CUBE4, COLUMNS = rng.normal(size=(4, 3, 4)), rng.normal(size=(4, 2, 2, 4))


def with_columns(x, i, z):
    result = z.copy()
    for at in np.ndindex(i.shape):
        result[:, i[at]] = x[:, *at]
    return result


case("Scatter3DUpdateSlice", lambda x, i, z: scatter(x, i, z, axis=1, mode=SLICE), COLUMNS, np.array([[0, 2], [1, 0]], np.int32), CUBE4, expected=with_columns)


def with_elements(x, i, z):
    result = z.copy()
    for at in np.ndindex(i.shape):
        result[at[0], i[at]] = x[at]
    return result


ELEMENTS, OF_ROW = rng.normal(size=(2, 3)), np.array([[1, 0, 4], [2, 2, 3]], np.int32)
case("ScatterElt", lambda x, i, z: scatter(x, i, z, axis=1, mode=ELT), ELEMENTS, OF_ROW, np.zeros((3, 5)), expected=with_elements)


def with_places(x, i, z):
    result = z.copy()
    for at in np.ndindex(i.shape[:-1]):
        result[tuple(i[at])] = x[at]
    return result


for name, values, places, target in [
    ("ScatterNDUpdateSlice", UPDATES, np.array([[4], [3], [1], [7]], np.int32), np.arange(8.0)),
    ("ScatterNDUpdateSlice2", SLICES, np.array([[0], [2]], np.int32), rng.normal(size=(4, 4, 3))),
    ("ScatterNDUpdateSlice3", rng.normal(size=(3, 2)), np.array([[0, 1], [2, 0], [0, 1]], np.int32), rng.normal(size=(3, 2, 2))),
]:
    case(name, lambda x, i, z: scatter(x, i, z, mode=ND), values, places, target, expected=with_places)


def layered(name, count=1):
    def made():
        (a, A), (b, B) = reals(3, 4), reals(3, 4)
        results = [edsl.layer("two", [a, b], lambda: a * b + 1.0) for _ in range(count)]
        return results, {a: A, b: B}, [A * B + 1] * count

    SUITE[name] = made


for name, count in {"Layer": 1, "LayerMulti": 2, "LayerMultipleReturnValues": 3, "LayerOperandOrder": 1}.items():
    layered(name, count)
for name in ("LayerEmbeddedConst", "LayerUnusedOperand"):
    case(name, lambda a: edsl.layer("one", [a], lambda: a * 2.0), REALS, expected=lambda a: 2 * a)


def multilinear(x, y, weights):
    """Of the first dimensions of `x`, at the places in the last dimension of `y`."""
    result = np.zeros(y.shape[:-1] + x.shape[y.shape[-1] :])
    for at in np.ndindex(y.shape[:-1]):
        for parts in itertools.product(*(weights(v) for v in y[at])):
            place = tuple(min(max(p, 0), n - 1) for (p, _), n in zip(parts, x.shape))
            result[at] += math.prod(w for _, w in parts) * x[place]
    return result


POINTS = np.array([[0.5, 1.25], [1.0, 2.0], [0.25, -0.5]])
for name, places, mode, weights in [
    ("InterpolatedGatherND1", POINTS, LINEAR, linear),
    ("InterpolatedGatherND2", POINTS[None], CUBIC, cubic),
    ("InterpolatedGatherND3", np.concatenate([POINTS, POINTS[:, :1]], 1), LINEAR, linear),
]:
    case(name, lambda x, y, m=mode: gather(x, y, mode=GatherMode.ND, interpolation_mode=m), CUBE, places, expected=lambda x, y, w=weights: multilinear(x, y, w))


# Those of the Python tests that the others do not have.


def summed(x, shape, access, axes=2, method="sum"):
    at = TensorIndexes(axes)
    contraction = Contraction().outShape(*shape).outAccess(*(at[n] for n in access))
    return getattr(contraction, method)(x[at]).build()


case("test_sum_over_axis", lambda x: summed(x, [4], [1]), TABLE.repeat(2, 1), expected=lambda x: x.sum(0))
case("test_max_over_axis", lambda x: summed(x, [4], [1], method="max"), TABLE.repeat(2, 1), expected=lambda x: x.max(0))
case("test_matmul", matrix_product, rng.normal(size=(1, 8)), rng.normal(size=(8, 3)), expected=np.matmul)
case("test_avg_stages", lambda x: summed(x, [], []) / 3 / 2, TABLE, expected=np.mean)
case("test_avg_merge", lambda x: summed(x, [], []) / (3 * 2), TABLE, expected=np.mean)
case("test_identity", lambda x: x, BETWEEN)


@program
def test_max_pool_1d():
    x, X = reals(10)
    size, (i, j) = TensorDims(1)[0], TensorIndexes(2)
    x.bind_dims(size)
    out = TensorOutput(size // 2)
    out[i] >= x[2 * i + j]
    out.add_constraint(j < 2)
    return [out], {x: X}, [X.reshape(5, 2).max(1)]


@program
def test_skip():
    x, X = reals(4, 6)
    i, j = TensorIndexes(2)
    out = TensorOutput(6)
    out[2 * i] += x[2 * i, j]
    return [out], {x: X}, [[X[0].sum(), 0, X[2].sum(), 0, 0, 0]]


@program
def test_conv_1d():
    (x, X), (k, K) = reals(1, 9, 3), reals(3, 3, 2)
    n, y, u, i, o = TensorIndexes(5)
    batch, width, size, inner, outer = TensorDims(5)
    x.bind_dims(batch, width, inner)
    k.bind_dims(size, inner, outer)
    out = TensorOutput(batch, width - size + 1, outer)
    out[n, y, o] += x[n, y + u, i] * k[u, i, o]
    return [out], {x: X, k: K}, [np.einsum("nyiu,uio->nyo", np.lib.stride_tricks.sliding_window_view(X, 3, 1), K)]


@program
def test_conv_2d_dilated():
    (x, X), (k, K) = reals(1, 8, 9, 2), reals(3, 3, 2, 2)
    n, y, z, u, v, i, o = TensorIndexes(7)
    out = TensorOutput(1, 8 - 2 * 2, 9 - 3 * 2, 2)
    out[n, y, z, o] += x[n, y + 2 * u, z + 3 * v, i] * k[u, v, i, o]
    return [out], {x: X, k: K}, [np.einsum("nyziuv,uvio->nyzo", np.lib.stride_tricks.sliding_window_view(X, (5, 7), (1, 2))[..., ::2, ::3], K)]


@program
def test_two_outputs():
    x, X = reals(3)
    return [x, x], {x: X}, [X, X]


@program
def test_assignment_exceptions():
    (a, A), (b, B) = reals(5, 1), reals(1, 5)
    i, j, k = TensorIndexes(3)
    out = TensorOutput(5, 5)
    out[i, j] = a[i, k] * b[k, j]
    return [out], {a: A, b: B}, [A @ B]


for name, made in {
    "noshape": lambda shape: Placeholder(shape),
    "noname": lambda shape: Placeholder(shape.dtype, [1, 1]),
    "with_name": lambda shape: Placeholder(shape.dtype, [1, 1], name="I"),
}.items():

    def placeholder(name=name, made=made):
        sizes = [] if name == "noshape" else [1, 1]
        x = made(edsl.TensorShape(DType.INT32, sizes))
        assert x.compute_shape() == edsl.TensorShape(DType.INT32, sizes)
        return [x], {x: np.full(sizes, 7)}, [np.full(sizes, 7)]

    SUITE[f"test_placeholder_{name}"] = placeholder

SAME = {
    "broadcast_cmp": "BroadcastCmp", "higher_precision_constants": "HigherPrecisionConstants", "complex_conv_2d": "ComplexConv2d",
    "mnist_mlp": "MnistMlp", "mnist_cnn": "MnistCnn", "arg_max": "ArgMax", "global_min": "GlobalMin", "cum_sum": "CumSum",
    "unique_names": "UniqueNames", "lars_momentum4d": "LarsMomentum4d", "repeat_elts": "RepeatElements", "use_default": "UseDefault",
    "defract": "Defract", "defract_short": "DefractShort", "defract_long": "DefractLong",
    "higher_precision_constants_invalid_negative": "HigherPrecisionInvalidNegative",
}  # fmt: skip
"""Tests in Python that have the program of another one."""
