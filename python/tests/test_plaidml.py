"""PlaidML's language in Python: the programs of its tests, restated, beside NumPy; and the same tensor IR as the text."""

import fnmatch
import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from plaidml_suite import SAME, SUITE, program, reals, rng, whole

from tabla_gen import errors, plaidml
from tabla_gen.plaidml import edsl, op
from tabla_gen.plaidml.edsl import (
    Contraction,
    DType,
    Placeholder,
    Program,
    Tensor,
    TensorDim,
    TensorDims,
    TensorIndex,
    TensorIndexes,
    TensorOutput,
    cast,
    select,
)

PAGE = Path(__file__).parents[2] / "docs/languages/originals.md"


def dot(x, y):
    i, j, k = TensorIndexes(3)
    m, n, common = TensorDims(3)
    x.bind_dims(m, common)
    y.bind_dims(common, n)
    out = TensorOutput(m, n)
    out[i, j] += x[i, k] * y[k, j]
    return out


def softmax(x):
    rows, columns = TensorDims(2)
    i, j = TensorIndexes(2)
    x.bind_dims(rows, columns)
    high = Contraction().outShape(rows, 1).outAccess(i, 0).max(x[i, j]).build()
    e = edsl.exp(x - high)
    return e / Contraction().outShape(rows, 1).outAccess(i, 0).sum(e[i, j]).build()


def numpy_softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


@program
def Dot():
    (a, A), (b, B) = reals(8, 16), reals(16, 32)
    return [dot(a, b)], {a: A, b: B}, [A @ B]


@program
def DoubleDot():
    (a, A), (b, B), (c, C) = reals(3, 4), reals(4, 5), reals(5, 2)
    return [dot(dot(a, b), c)], {a: A, b: B, c: C}, [A @ B @ C]


@program
def DupOut():
    (a, A), (b, B) = reals(3, 4), reals(4, 5)
    r = dot(a, b)
    return [r, r, r], {a: A, b: B}, [A @ B] * 3


@program
def BindDims():
    (a, A), k = reals(4, 4), TensorDim()
    a.bind_dims(k, k)
    return [a * k], {a: A}, [4 * A]


@program
def HigherPrecisionConstants():
    a, A = reals(3, 3)
    return [a + 1 + 2.0], {a: A}, [A + 3]


@program
def Cast():
    a, A = whole([1, 5, 6 + (1 << 12), 8 + (1 << 31), (1 << 32) - 1, (1 << 40) + 7])
    b, B = whole([-1.5, 0.5, 300.0, -128.9], DType.FLOAT32)
    return (
        [cast(a, DType.UINT32), cast(a, DType.UINT8), cast(a, DType.INT16), cast(b, DType.INT8)],
        {a: A, b: B},
        [A % (1 << 32), A % 256, A.astype(np.int16), [-1, 0, 127, -128]],
    )


def bits(name, function, first, second):
    def case():
        (a, A), (b, B) = whole(first), whole(second)
        return [function(a, b)], {a: A, b: B}, [function(A, B)]

    SUITE[name] = case


NUMBERS, OTHERS = np.arange(1, 10).reshape(3, 3), np.arange(10, 19).reshape(3, 3)
bits("Add", lambda a, b: a + b, NUMBERS + (1 << 40), OTHERS + (1 << 24))
bits("BitAnd", lambda a, b: a & b, NUMBERS, OTHERS)
bits("BitOr", lambda a, b: a | b, NUMBERS, OTHERS)
bits("BitXor", lambda a, b: a ^ b, NUMBERS, OTHERS)
bits("BitLeft", lambda a, b: a << b, NUMBERS, OTHERS)
bits("BitRightTensor", lambda a, b: a >> b, NUMBERS << OTHERS, OTHERS)
bits("BitRightScalar", lambda a, b: a >> 9, NUMBERS << OTHERS, OTHERS)
bits("BitAndScalar", lambda a, b: a & 0xFFFFFFFF, (1 << (NUMBERS + 31)) + NUMBERS, OTHERS)
bits("BroadcastCmp", lambda a, b: (a >= b) * 1, np.arange(12).reshape(3, 4), [[0], [6], [12]])


@program
def BitNot():
    (a, A), (b, B) = whole([0, 1, 250], DType.UINT8), whole([0, -1, 127], DType.INT8)
    return [~a, ~b], {a: A, b: B}, [255 - A, ~B]


@program
def Integers():
    a, A = whole([100, -100, 3, -3, 127, -128, 90], DType.INT8)
    A8 = A.astype(np.int8)
    total = Contraction().outShape().outAccess().sum(a[TensorIndex()]).build()
    return (
        # As real numbers, so that the array's type does not go round in their place.
        [cast(t, DType.FLOAT32) for t in (a + a, a * a, -a, a / 3, a % 3, a << 1, total)],
        {a: A},
        [A8 + A8, A8 * A8, -A8, np.trunc(A / 3), np.fmod(A, 3), A8 << 1, np.int8(A.sum())],
    )


@program
def Unsigned():
    a, A = whole([250, 3, 128], DType.UINT8)
    total = Contraction().outShape().outAccess().sum(a[TensorIndex()]).build()
    return [cast(t, DType.FLOAT32) for t in (a + a, -a, ~a, total)], {a: A}, [2 * A % 256, -A % 256, 255 - A, A.sum() % 256]


@program
def Max():
    a, A = reals(3, 3)
    i, j = TensorIndexes(2)
    r = TensorOutput(3)
    r[i] >= a[i, j]
    return [r], {a: A}, [A.max(1)]


@program
def EltwiseMod():
    a, A = whole([7, -7, 12, 0], DType.INT32)
    return [a % 5], {a: A}, [np.fmod(A, 5)]


@program
def Relu():
    a, A = reals(10, 20)
    return [select(a < 0.0, 0.0, a)], {a: A}, [np.maximum(A, 0)]


@program
def MnistMlp():
    (x, X), (k, K), (b, B), (l, L) = reals(1, 12), reals(12, 8), reals(8), reals(8, 4)
    hidden = edsl.relu(dot(x, k) + b)
    return [softmax(dot(hidden, l))], {x: X, k: K, b: B, l: L}, [numpy_softmax(np.maximum(X @ K + B, 0) @ L)]


@program
def Convolution():
    (a, A), (k, K) = reals(1, 6, 6, 3), reals(3, 3, 3, 2)
    n, y, x, u, v, i, o = TensorIndexes(7)
    r = TensorOutput(1, 6, 6, 2)
    r[n, y, x, o] += a[n, y + u - 3 // 2, x + v - 3 // 2, i] * k[u, v, i, o]
    P = np.pad(A, [(0, 0), (1, 1), (1, 1), (0, 0)])
    windows = np.lib.stride_tricks.sliding_window_view(P, (3, 3), (1, 2))
    return [r], {a: A, k: K}, [np.einsum("nyxiuv,uvio->nyxo", windows, K)]


@program
def MnistCnn():
    (a, A), (k, K) = reals(1, 5, 5, 1), reals(3, 3, 1, 2)
    hidden = edsl.relu(op.convolution(a, k, [1, 1], autopad_mode="valid"))
    flat = edsl.reshape(op.pool(hidden, "max", [2, 2], [1, 1]), [1, 8])
    windows = np.lib.stride_tricks.sliding_window_view(A, (3, 3), (1, 2))
    H = np.maximum(np.einsum("nyxiuv,uvio->nyxo", windows, K), 0)
    pooled = np.lib.stride_tricks.sliding_window_view(H, (2, 2), (1, 2)).max((-1, -2))
    return [softmax(flat)], {a: A, k: K}, [numpy_softmax(pooled.reshape(1, 8))]


@program
def LarsMomentum4d():
    (x, X), (g, G), (v, V), (r, R) = reals(4, 7, 3, 2), reals(4, 7, 3, 2), reals(4, 7, 3, 2), reals()
    coefficient, decay, momentum = 1 / 1024, 1 / 2048, 1 / 8

    def norm(t):
        total = TensorOutput()
        square = t * t
        total[()] += square[TensorIndexes(t.rank)]
        return edsl.sqrt(total)

    rate = r * coefficient * norm(x) / (norm(g) + decay * norm(x))
    new = momentum * v + rate * (g + decay * x)
    nx, ng = np.sqrt((X * X).sum()), np.sqrt((G * G).sum())
    NEW = momentum * V + R * coefficient * nx / (ng + decay * nx) * (G + decay * X)
    return [x - new, new], {x: X, g: G, v: V, r: R}, [X - NEW, NEW]


@program
def RepeatElements():
    a, A = reals(2, 3, 2)
    i, j, l, k = TensorIndexes(4)
    r = TensorOutput(2, 9, 2)
    r[i, 3 * j + k, l] = a[i, j, l]
    r.add_constraint(k < 3)
    r.no_reduce()
    return [r], {a: A}, [A.repeat(3, 1)]


@program
def UseDefault():
    (p, P), (a, A) = reals(1, 7, 3, 3), reals(1, 3, 3)
    b, i, j = TensorIndexes(3)
    r = TensorOutput(1, 7, 3, 3)
    r[b, 3, i, j] = a[b, i, j]
    r.use_default(p)
    WANT = P.copy()
    WANT[:, 3] = A
    return [r], {p: P, a: A}, [WANT]


@program
def ArgMax():
    a, A = reals(1, 10, 10)
    i, j, k = TensorIndexes(3)
    high = Contraction().outShape(1, 10).outAccess(i, k).max(a[i, j, k]).build()
    place = edsl.index([10], 0)
    r = Contraction().outShape(1, 10).outAccess(i, k).max(edsl.cond(a[i, j, k], high[i, k], place[j])).build()
    return [cast(r, DType.UINT32), edsl.argsort(a, 1)], {a: A}, [A.argmax(1), A.argsort(1)]


@program
def Winograd():
    (a, A), (b, B), (g, G) = reals(4, 2), reals(4, 4), reals(4, 3)
    i, j, k = TensorIndexes(3)
    u = Contraction().outShape(4, 4).outAccess(i, j).sum(g[i, k] * g[j, k]).build()
    v = Contraction().outShape(4, 4).outAccess(i, j).sum(b[k, i] * u[k, j]).build()
    out = Contraction().outShape(2, 4).outAccess(i, j).sum(a[k, i] * v[k, j]).build()
    return [out], {a: A, b: B, g: G}, [A.T @ (B.T @ (G @ G.T))]


@program
def UniqueNames():
    tensors = [Placeholder(DType.FLOAT32, [], name=name) for name in "ABCC"]
    return [tensors[0] + tensors[1] + tensors[2] + tensors[3]], dict(zip(tensors, [1.0, 2.0, 3.0, 4.0])), [10.0]


@program
def GlobalMin():
    a, A = reals(3, 4, 2)
    negative, out = -a, TensorOutput()
    out[()] >= negative[TensorIndexes(3)]
    return [-out], {a: A}, [A.min()]


@program
def CumSum():
    a, A = reals(10)
    i, k = TensorIndexes(2)
    out = TensorOutput(10)
    out[i] += a[k]
    out.add_constraint(i - k < 10)
    return [out], {a: A}, [A.cumsum()]


@program
def ComplexConv2d():
    (a, A), (k, K) = reals(1, 7, 7, 2, 3), reals(3, 3, 2, 3, 2)
    n, y, x, g, i, o, u, v = TensorIndexes(8)
    size = TensorDims(5)
    a.bind_dims(*size)
    rows = (size[1] + 2 - 1) // 2
    pad = ((rows - 1) * 2 + 3 * (3 - 1) + 1 - size[1]) // 2
    r = TensorOutput(1, rows, rows, 2, 2)
    r[n, y, x, g, o] += a[n, 2 * y + 3 * u - pad, 2 * x + 3 * v - pad, g, i] * k[u, v, g, i, o]
    P = np.pad(A, [(0, 0), (3, 3), (3, 3), (0, 0), (0, 0)])
    WANT = sum(
        np.einsum("nyxgi,gio->nyxgo", P[:, 3 * u : 3 * u + 7 : 2, 3 * v : 3 * v + 7 : 2], K[u, v]) for u in range(3) for v in range(3)
    )
    return [r], {a: A, k: K}, [WANT]


@program
def Reciprocal():
    a, A = reals(6)
    return [1.0 / a], {a: A}, [1 / A]


@program
def DefractLong():
    (a, A), (k, K) = reals(1, 3, 3, 1), reals(1, 3, 3, 1)
    n, x0, x1, k0, k1, co, ci = TensorIndexes(7)
    out = TensorOutput(1, 5, 5, 1)
    out[n, x0, x1, co] += a[n, (x0 + k0 - 1) // 2, (x1 + k1 - 1) // 2, ci] * k[2 - k0, 2 - k1, co, ci]
    WANT = np.zeros((1, 5, 5, 1))
    for p in np.ndindex(5, 5, 3, 3):
        (y, ry), (x, rx) = divmod(p[0] + p[2] - 1, 2), divmod(p[1] + p[3] - 1, 2)
        # Of the kernel, only the first element of its first dimension is in range.
        if not ry and not rx and 0 <= y < 3 and 0 <= x < 3 and p[2] == 2:
            WANT[0, p[0], p[1], 0] += A[0, y, x, 0] * K[0, 2 - p[3], 0, 0]
    return [out], {a: A, k: K}, [WANT]


@program
def DefractShort():
    a, A = reals(3)
    i = TensorIndex()
    out = TensorOutput(6)
    out[i] += a[(i - 1) // 2]
    return [out], {a: A}, [[0, A[0], 0, A[1], 0, A[2]]]


@program
def Defract():
    (a, A), (k, K) = reals(3), reals(3)
    i, j = TensorIndexes(2)
    out = TensorOutput(5)
    out[i] += a[(i - j + 1) // 2] * k[j]
    WANT = [sum(A[(i - j + 1) // 2] * K[j] for j in range(3) if (i - j + 1) % 2 == 0 and 0 <= (i - j + 1) // 2 < 3) for i in range(5)]
    return [out], {a: A, k: K}, [WANT]


@program
def Select():
    a, A = whole([0, 3, 0, -2], DType.INT32)
    return [select(a == 0, Tensor(value=0), Tensor(value=1))], {a: A}, [A != 0]


@program
def Shape():
    a, A = reals(10, 20)
    return [edsl.shape(a)], {a: A}, [[10, 20]]


@program
def Reshape():
    a, A = reals(2, 3, 4)
    return [edsl.reshape(a, [4, 6]), edsl.reshape(a, [24]), edsl.reshape(a, [3, -1, 2])], {a: A}, [A.reshape(4, 6), A.ravel(), A.reshape(3, 4, 2)]


@program
def Gather():
    (a, A), (b, B) = reals(3, 4), whole([[0, 2], [1, 1]], DType.INT32)
    return [edsl.gather(a, b), edsl.gather(a, b, 1)], {a: A, b: B}, [A[B], A[:, B]]


@program
def Scatter():
    (a, A), (b, B) = reals(3, 4), whole([1, 1, 3], DType.INT32)
    WANT = np.zeros((5, 4))
    np.add.at(WANT, B, A)
    return [edsl.scatter(a, b, 5)], {a: A, b: B}, [WANT]


@program
def ArgSort():
    a = Placeholder(DType.FLOAT32, [2, 6])
    A = np.array([[3.0, 1, 2, 1, 3, 0], [0, 0, 0, 0, 0, 0]])
    return [edsl.argsort(a), edsl.argsort(a, -1, edsl.SortDirection.DESC)], {a: A}, [A.argsort(1, kind="stable"), (-A).argsort(1, kind="stable")]


@program
def Constants():
    a, A = reals(2, 3)
    return [a * edsl.Constant(np.array([1.0, 2.0, 3.0]), name="c")], {a: A}, [A * [1, 2, 3]]


def prng_of(state, count):
    """As `prng` documents it, in integers."""
    prime, seed = 16777213, 0
    for row, weight in zip(state.tolist(), (1, 257, 65537)):
        seed = (seed + row[0] % prime * weight) % prime

    def mixed(x):
        for _ in range(3):
            x = (x * (x + 12345) + 67891) % prime
        return x

    return [mixed((seed + 40503 * n) % prime) / prime for n in range(count)]


@program
def Prng():
    state, S = whole([[5, 6, 7], [4, 5, 6], [7, 8, 9]], DType.UINT32)
    return [edsl.prng(state, [2, 3, 4, 5])[0]], {state: S}, [np.reshape(prng_of(S, 120), (2, 3, 4, 5))]


@pytest.mark.parametrize("name", SUITE)
def test_the_suite_gives_the_values_of_numpy(name):
    outputs, feeds, expected = SUITE[name]()
    built = Program(name, list(feeds), outputs)
    for found, value, output in zip(built.run(feeds), expected, outputs, strict=True):
        assert found.shape == output.shape == np.shape(value)
        assert found.dtype == output.dtype.into_numpy()
        np.testing.assert_allclose(found.astype(float), np.asarray(value, float), rtol=1e-5, atol=1e-6)


def test_names_need_not_be_identifiers():
    """`test_funky_names` of the original."""
    outputs, feeds, expected = SUITE["Defract"]()
    built = Program("this-is-not an identifier", list(feeds), outputs)
    np.testing.assert_allclose(built.run(feeds)[0], expected[0], rtol=1e-5)


def test_programs_that_are_wrong_are_refused():
    """`HigherPrecisionInvalidNegative`, `LayerException`, `test_invalid_shape_error` and the second half of `test_assignment_exceptions`."""
    a, b = Placeholder(DType.FLOAT32, [1, 5]), Placeholder(DType.FLOAT32, [5, 1])
    with pytest.raises(plaidml.Error, match="negative"):
        Program("constants", [a * (-2)], floatx=DType.FLOAT64, intx=DType.UINT64)
    with pytest.raises(ZeroDivisionError):
        edsl.layer("none", [a], lambda: 1 // 0)
    with pytest.raises(plaidml.Error, match="Cannot compute shape"):
        TensorOutput(TensorDims(3)).compute_shape()
    i, j, k = TensorIndexes(3)
    out = TensorOutput(1, 1)
    out[i, j] = a[i, k] * b[k, j]
    with pytest.raises(plaidml.Error, match="E-MULTIASSIGN"):
        Program("assigned", [a, b], [out]).run([np.ones((1, 5)), np.ones((5, 1))])


REFUSED = {"HigherPrecisionInvalidNegative", "LayerException", "test_invalid_shape_error", "test_funky_names"}
"""Tested above: programs that are wrong."""
OURS = {"Constants", "Counts", "Integers", "Unsigned", "Winograd", "InterpolatedGatherLinearOutOfBounds", "Reshape", "Scatter", "ArgSort", "ArgMax", "Defract", "DefractShort"}
"""Not by these names in the suite in C++."""


def test_the_page_says_how_many_programs_run():
    known = {*SUITE, *REFUSED} - OURS
    python = {name for name in known if name.startswith("test_")}
    rows = {"cc": known - python, "py": python | {f"test_{name}" for name, same in SAME.items() if same in {*SUITE, *REFUSED}}}
    run, missing = 0, 0
    for kind, names in rows.items():
        row = re.search(rf"^\| `edsl/tests/edsl_test\.{kind}`[^|]*\| (\d+) of (\d+): ([^|]*)\| ([^|]*)\|", PAGE.read_text(), re.M)
        assert row is not None, kind
        patterns, absent = re.findall(r"`([\w*]+)`", row[3]), len(re.findall(r"`\w+`", row[4]))
        listed = {name for name in names if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)}
        assert all(fnmatch.filter(names, pattern) for pattern in patterns)
        assert listed == names, names - listed
        assert (int(row[1]), int(row[2])) == (len(names), len(names) + absent), f"{kind}: {len(names)} programs run"
        run, missing = run + len(names), missing + absent
    assert run >= 0.95 * (run + missing)


def test_the_example_of_the_page_runs():
    names = {}
    exec(re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[1], names)
    assert names["net"].run([np.ones((2, 3)), np.ones((3, 2))])[0].tolist() == [[3, 3], [3, 3]]


def test_random_numbers_are_spread_evenly():
    state = Placeholder(DType.UINT32, [3, 4])
    numbers, following = Program("draw", [state], list(edsl.prng(state, [4000]))).run([np.arange(12)])
    assert 0 <= numbers.min() and numbers.max() < 1
    assert abs(numbers.mean() - 0.5) < 0.02 and abs(numbers.var() - 1 / 12) < 0.005
    assert abs(np.corrcoef(numbers[:-1], numbers[1:])[0, 1]) < 0.05
    assert len(set(following.ravel().tolist())) == 12


TEXT = """\
def product(A, B, P):
  i, j, k = TensorIndexes(3)
  O = TensorOutput(3, 4)
  O[i, j] += A[2 * i, k] * B[k, j]
  O.add_constraint(k < 2)
  O.use_default(P)
  M = Contraction().outShape(3, 1).outAccess(i, 0).max(O[i, j]).build()
  G = gather(O, cast(A, int32), 1)
  R = reshape(O - M, [2, 6])
  return R, select(M < 0.0, asinh(M), M % 3.0), G
"""


def test_the_text_and_the_calls_are_the_same_tensor_ir(tmp_path):
    a, b, p = Placeholder(DType.FLOAT32, [5, 3], "A"), Placeholder(DType.FLOAT32, [3, 4], "B"), Placeholder(DType.FLOAT32, [3, 4], "P")
    i, j, k = (TensorIndex(name) for name in "ijk")
    o = Contraction("O").outShape(3, 4).outAccess(i, j).sum(a[2 * i, k] * b[k, j]).add_constraint(k < 2).init(p).build()
    m = Contraction("M").outShape(3, 1).outAccess(i, 0).max(o[i, j]).build()
    g = edsl.gather(o, cast(a, DType.INT32), 1)
    r = edsl.reshape(o - m, [2, 6])
    # The dividend's sign is PlaidML's: `%` of the text is asked for by its name.
    s = select(m < 0.0, edsl.asinh(m), edsl.elementwise("%", m, 3.0))
    calls = Program("product", [a, b, p], [r, s, g])
    record = {"A": np.ones((5, 3)), "B": np.ones((3, 4)), "P": np.ones((3, 4))}
    (tmp_path / "in.json").write_text(json.dumps({name: value.tolist() for name, value in record.items()}))

    def ir(text):
        (tmp_path / "p.tile").write_text(text)
        command = [os.environ["TABLA_GEN"], "ir", "--after", "tensor", "--evaluate", "in.json", "p.tile"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        # Places in the text differ, and so do the names that the text gives to lines.
        text = re.sub(r" *@ \d+\.\.\d+", "", done.stdout)
        return re.sub(r"\b(cast|reshape|gather|out1|G|R|t\d+)(\.\d+)?\b", "_", text)

    assert ir(calls.source) == ir(TEXT)
    assert ir(calls.source) != ir(TEXT.replace("k < 2", "k < 3"))


@pytest.mark.parametrize("engine", ["golden", "fixed", "array"])
def test_every_engine_evaluates_it(engine):
    (a, A), (b, B) = reals(2, 4), reals(4, 3)
    built = Program("net", [a, b], [edsl.relu(dot(a, b))], machine={"pus": 2})
    np.testing.assert_allclose(built.run([A, B], engine=engine)[0], np.maximum(A @ B, 0), atol=0.02)
    assert str(built.explain())


def test_gradients_are_derived():
    """A line, trained by descent."""
    x, w, b = (Placeholder(DType.FLOAT32, dims, name) for dims, name in (([3], "x"), ([3], "w"), ([], "b")))
    i = TensorIndex("i")
    h = Contraction("h").outShape().outAccess().sum(x[i] * w[i]).build()
    train = {"prediction": "out0", "loss": "squared", "weights": ["w", "b"], "mu": 0.05, "epochs": 40, "split": 1.0, "standardise": False, "standardise_target": False}
    X = rng.normal(size=(60, 3))
    model = Program("line", [x, w, b], [h + b], train=train).program.train(X, X @ [1.0, -2.0, 0.5] + 0.25, progress=False)
    np.testing.assert_allclose(model.weights["w"], [1, -2, 0.5], atol=1e-3)
    np.testing.assert_allclose(model.weights["b"], 0.25, atol=1e-3)


def test_hardware_is_built(tmp_path):
    (a, _), (b, _) = reals(2, 4), reals(4, 3)
    hardware = Program("net", [a, b], [edsl.relu(dot(a, b))]).build("ulx3s-25f", tmp_path / "net")
    assert hardware.cycles_per_sample > 0 and (tmp_path / "net").is_dir()


def test_the_alias_is_this_package():
    plaidml.install()
    import plaidml.edsl as original
    import plaidml.exec as runs

    assert original is edsl
    a = original.Placeholder(original.DType.FLOAT32, [2])
    assert runs.run(original.Program("p", [a + a]), [(a, np.array([1.0, 2.0]))])[0].tolist() == [2.0, 4.0]


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (lambda: TensorOutput(3).compute_shape(), "no contraction"),
        (lambda: Placeholder(DType.FLOAT32, [3]).bind_dims(4), "extent 3 where 4"),
        (lambda: Placeholder(DType.FLOAT32, [3]).bind_dims(TensorDim(), TensorDim()), "2 sizes"),
        (lambda: Placeholder(DType.FLOAT32, [0]), "shapes are static"),
        (lambda: int(TensorDim() + 1), "not bound"),
        (lambda: bool(Placeholder(DType.FLOAT32, [3]) > 1.0), "truth value"),
        (lambda: Placeholder(DType.FLOAT32, [3]) + Placeholder(DType.FLOAT32, [2]), "do not fit together"),
        (lambda: Placeholder(DType.FLOAT32, [3]) & 1, "operation on integers"),
        (lambda: Contraction().outShape(3).outAccess(0).build(), "no value"),
        (lambda: ~Placeholder(DType.UINT64, [3]), "53 bits"),
        (lambda: Program("p", []), "has outputs"),
        (lambda: Program("p", [Placeholder(DType.FLOAT32, [3]) + 1.0]).run([np.ones(4)]), "has the shape"),
        (lambda: op.reshape(Placeholder(DType.FLOAT32, [3]), [2]), "cannot become"),
        (lambda: edsl.gather(Placeholder(DType.FLOAT32, [3]), Placeholder(DType.INT32, [2, 2]), mode=edsl.GatherMode.ND), "do not fit a tensor"),
        (lambda: edsl.gather(Placeholder(DType.FLOAT32, [3]), Placeholder(DType.INT32, [2]), 1), "no axis 1"),
        (lambda: edsl.argsort(Placeholder(DType.FLOAT32, [3]), 1), "no axis 1"),
        (lambda: edsl.scatter(Placeholder(DType.FLOAT32, [3]), Placeholder(DType.INT32, [2]), Placeholder(DType.FLOAT32, [4]), mode=edsl.ScatterMode.UPDATE_SLICE), "do not fit into"),
        (lambda: edsl.TensorLens("NHW", "NHC"), "two orders"),
        (lambda: Placeholder(DType.FLOAT32, [3]).use(edsl.TensorLens("NC", "CN")).bind_dims(3), "a lens of 2"),
    ],
)
def test_mistakes_are_said(what, message):
    with pytest.raises(errors.UsageError, match=message):
        what()
