"""Programs of Tensor Comprehensions' Python tests, restated with small extents, beside NumPy."""

import fnmatch
import importlib
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
import test_tc

from tabla_gen import errors, tc

rng = np.random.default_rng(60)
PAGE = Path(__file__).parents[2] / "docs/languages/originals.md"
SUITE = {}


def layer(name, text, expected, *inputs, entry="f", **options):
    SUITE[name] = text, expected, inputs, entry, options


def reals(*shape):
    return rng.normal(size=shape)


A, B, X, W = reals(3, 4), reals(4, 2), reals(2, 3, 5, 6), reals(4, 3, 2, 3)
G, GW, WIDE = reals(2, 2, 3, 5, 5), reals(2, 4, 3, 2, 2), reals(2, 3, 6, 7)
pointwise = "def f(float(M, N) A) -> (O) {{ O(m, n) = {}(A(m, n)) }}".format
product = "def f(float(M, N) A, float(N, K) B) -> (C) { C(m, k) +=! A(m, r) * B(r, k) }"


def windows(X, height, width, step=1):
    return np.lib.stride_tricks.sliding_window_view(X, (height, width), (-2, -1))[..., ::step, ::step, :, :]


def convolved(X, W, step=1):
    return np.einsum("nchwuv,mcuv->nmhw", windows(X, *W.shape[2:], step), W)


def grouped(X, W, step=1):
    return np.einsum("ngchwuv,gmcuv->ngmhw", windows(X, *W.shape[3:], step), W)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


layer("absolute", pointwise("fabs"), np.abs, A)
layer("cos", pointwise("cos"), np.cos, A)
layer("tanh", pointwise("tanh"), np.tanh, A)
layer("copy", "def f(float(M, N) A) -> (O) { O(m, n) = A(m, n) }", lambda a: a, A)
layer("relu", "def f(float(B, M) A) -> (O) { O(b, m) = fmax(A(b, m), 0.0) }", lambda a: np.maximum(a, 0), A)
layer("sigmoid", "def f(float(M, N) A) -> (O) { O(m, n) = 1.0 / (1.0 + exp(-A(m, n))) }", lambda a: 1 / (1 + np.exp(-a)), A)
layer("scale", "def f(float(M, N) A) -> (O) {{ O(m, n) = A(m, n) * {s} }}", lambda a: a * 10, A, constants={"s": 10})
layer("cast", "def f(float(M, N) A) -> (int32(M, N) O) {{ O(m, n) = int32(A(m, n) + {one}) }}", lambda a: np.trunc(a + 4), A, constants={"one": "float(4)"})
layer("transpose", "def f(float(N, C, H, W) I) -> (O) { O(c, n, w, h) = I(n, c, h, w) }", lambda x: x.transpose(1, 0, 3, 2), X)
layer("matmul", product, np.matmul, A, B)
layer("autotuner", product, np.matmul, A, B)
layer("batchmatmul", "def f(float(B, N, M) X, float(B, M, K) Y) -> (Z) { Z(b, n, k) +=! X(b, n, r) * Y(b, r, k) }", np.matmul, reals(2, 3, 4), reals(2, 4, 2))
layer(
    "tensordot",
    "def f(float(N, C1, C2, H, W) I, float(N, C2, C3, H, W) J) -> (O) { O(n, c1, c3, h, w) +=! I(n, c1, r, h, w) * J(n, r, c3, h, w) }",
    lambda i, j: np.einsum("nabhw,nbchw->nachw", i, j),
    reals(2, 3, 2, 2, 3),
    reals(2, 2, 4, 2, 3),
)
pool = "def f(float(B, C, H, W) I) -> (O) {{ O(b, c, h, w) {} I(b, c, h * {{s}} + kh, w * {{s}} + kw){} where kh in 0:{{k}}, kw in 0:{{k}} }}".format
for name in ("avgpool", "avgpool_autotune"):
    layer(name, pool("+=!", " / ({k} * {k})"), lambda x: windows(x, 2, 2).mean((-1, -2)), X, constants={"s": 1, "k": 2})
layer("maxpool", pool("max=!", ""), lambda x: windows(x, 3, 3, 2).max((-1, -2)), X, constants={"s": 2, "k": 3})
convolution = "O(n, m, h, w) +=! I(n, r_c, {s} * h + r_kh, {s} * w + r_kw) * W1(m, r_c, r_kh, r_kw)"
head = "def f(float(N, C, H, W) I, float(M, C, KH, KW) W1) -> (O) {{ "
layer("convolution", head + convolution + " }}", convolved, X, W, constants={"s": 1})
for name in ("convolution_strided", "convolution_strided_autotune"):
    layer(name, head + convolution + " }}", lambda x, w: convolved(x, w, 2), X, W, constants={"s": 2})
layer(
    "convolution_reorder",
    "def f(float(N, C, H, W) I, float(C, M, KH, KW) W1) -> (O) { O(n, m, h, w) +=! I(n, r_c, h + r_kh, w + r_kw) * W1(r_c, m, r_kh, r_kw) }",
    lambda x, w: convolved(x, w.transpose(1, 0, 2, 3)),
    X,
    W.transpose(1, 0, 2, 3),
)
group = "def f(float(N, G, C, H, W) I, float(G, F, C, KH, KW) W1) -> (O) {{ O(n, g, o, h, w) +=! I(n, g, r_i, {s} * h + r_kh, {s} * w + r_kw) * W1(g, o, r_i, r_kh, r_kw) }}"
layer("group_convolution", group, grouped, G, GW, constants={"s": 1})
layer("group_convolution_strided", group, lambda x, w: grouped(x, w, 2), G, GW, constants={"s": 2})
dense = "def f(float(B, M) I, float(N, M) W1, float(N) B1) -> (O) {{ O(b, n) +=! I(b, m) * W1(n, m) where b in 0:B\n O(b, n) = O(b, n) + B1(n){} }}".format
V, W1, B1, W2, B2, W3, B3 = reals(2, 5), reals(4, 5), reals(4), reals(3, 4), reals(3), reals(2, 3), reals(2)
layer("fc", dense("").replace(" where b in 0:B", ""), lambda x, w, b: x @ w.T + b, V, W1, B1)
fused = dense("\n O(b, n) = fmax(O(b, n), 0)").replace(" where b in 0:B", "")
layer("fusion_fcrelu", fused, lambda x, w, b: np.maximum(x @ w.T + b, 0), V, W1, B1)
three = "def f(float(B, M) I, float(N, M) W1, float(N) B1, float(K, N) W2, float(K) B2, float(P, K) W3, float(P) B3) -> (O1, O2, O3) {"
for n, (source, read, out) in enumerate([("I", "m", "n"), ("O1", "n", "k"), ("O2", "k", "p")], 1):
    three += f"\n O{n}(b, {out}) +=! {source}(b, {read}) * W{n}({out}, {read})\n O{n}(b, {out}) = O{n}(b, {out}) + B{n}({out})\n O{n}(b, {out}) = fmax(O{n}(b, {out}), 0)"


def dense_layers(x, *weights):
    results = []
    for w, b in zip(weights[::2], weights[1::2]):
        results.append(x := np.maximum(x @ w.T + b, 0))
    return tuple(results)


layer("broadcast_fcrelu", three + "\n}", dense_layers, V, W1, B1, W2, B2, W3, B3)
layer("concat", "def f(float(M, N) A, float(M, N) B) -> (O) { O(n, i, m) = i == 0 ? A(m, n) : B(m, n) where i in 0:2 }", lambda a, b: np.stack([a.T, b.T], 1), A, 2 * A)
layer("indexing", "def f(float(H, W) I, int32(L) index) -> (O) { O(l, w) = I(index(l), w) }", lambda a, i: a[i], A, np.array([1, 1]))
layer(
    "lookup_table",
    "def f(float(E, D) table, int32(N, L) I) -> (O) { O(n, d) +=! table(I(n, r), d) }",
    lambda t, i: t[i].sum(1),
    A,
    np.array([[0, 2], [1, 1]]),
)
layer(
    "cosine_similarity",
    """def f(float(M, N) A, float(M, N) B) -> (O, sumA, sumB) {
  sumA(m) +=! A(m, n) * A(m, n)
  sumB(m) +=! B(m, n) * B(m, n)
  O(m) +=! A(m, n) * B(m, n)
  O(m) = O(m) / (sqrt(sumA(m)) * sqrt(sumB(m)))
}""",
    lambda a, b: ((a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1), (a * a).sum(1), (b * b).sum(1)),
    A,
    A + 1,
)
layer(
    "softmax",
    """def f(float(N, D) I) -> (O, top, sum) {
  top(n) max=! I(n, d)
  O(n, d) = exp(I(n, d) - top(n))
  sum(n) +=! O(n, d)
  O(n, d) = O(n, d) / sum(n)
}""",
    lambda x: (softmax(x), x.max(1), np.exp(x - x.max(1, keepdims=True)).sum(1)),
    A,
)
layer(
    "layernorm",
    """def f(float(T, B, C) I) -> (O, mean, centered, var) {
  mean(t, b) +=! I(t, b, c) / C
  centered(t, b, c) = I(t, b, c) - mean(t, b)
  var(t, b) +=! centered(t, b, c) * centered(t, b, c)
  var(t, b) = (var(t, b) + 1e-5) / C
  O(t, b, c) = centered(t, b, c) / rsqrt(var(t, b))
}""",
    lambda x: (c := x - x.mean(-1, keepdims=True), v := ((c * c).sum(-1) + 1e-5) / x.shape[-1]) and (c * np.sqrt(v)[..., None], x.mean(-1), c, v),
    reals(2, 3, 4),
)
layer(
    "batchnorm",
    """def f(float(N, C, H, W) I, float(C) rMeanIn, float(C) rVarIn) -> (O, rMeanOut, rVarOut, mean, var) {{
  mean(c) +=! I(nn, c, hh, ww)
  mean(c) = mean(c) / (N * H * W)
  rMeanOut(c) = (1 - {momentum}) * rMeanIn(c) + {momentum} * mean(c)
  var(c) +=! (I(nn, c, hh, ww) - mean(c)) * (I(nn, c, hh, ww) - mean(c))
  var(c) = var(c) / (N * H * W)
  rVarOut(c) = (1 - {momentum}) * rVarIn(c) + {momentum} * var(c)
  O(n, c, h, w) = (I(n, c, h, w) - rMeanOut(c)) * rsqrt(rVarOut(c) + {eps})
}}""",
    lambda x, m, v: (
        (x - (r := 0.9 * m + 0.1 * x.mean((0, 2, 3)))[:, None, None]) / np.sqrt((s := 0.9 * v + 0.1 * x.var((0, 2, 3))) + 1e-5)[:, None, None],
        r,
        s,
        x.mean((0, 2, 3)),
        x.var((0, 2, 3)),
    ),
    X,
    reals(3),
    abs(reals(3)),
    constants={"momentum": 0.1, "eps": 1e-5},
)
layer("multiply_reduction", "def f(float(M, N) A) -> (O) { O(m) *=! A(m, n) }", lambda a: a.prod(1), A)
layer(
    "small_mobilenet",
    """def f(float(C1, H, W) I, float(C1, KH, KW) W1, float(C1) B1, float(C2, C1) W2, float(C2) B2) -> (O1, O2) {
  O1(c, h, w) +=! I(c, h + kh, w + kw) * W1(c, kh, kw)
  O1(c, h, w) = fmax(O1(c, h, w) + B1(c), 0)
  O2(c, h, w) +=! O1(d, h, w) * W2(c, d)
  O2(c, h, w) = fmax(O2(c, h, w) + B2(c), 0)
}""",
    lambda x, w, b, v, c: (
        y := np.maximum(np.einsum("chwuv,cuv->chw", windows(x, 3, 3), w) + b[:, None, None], 0),
        np.maximum(np.einsum("dhw,cd->chw", y, v) + c[:, None, None], 0),
    ),
    reals(2, 5, 6),
    reals(2, 3, 3),
    reals(2),
    reals(3, 2),
    reals(3),
)
scale = """
def f(float(N, G, D, H, W) I, float(G, D) gamma, float(G, D) beta) -> (Sum, SumSq, O) {
  Sum(n, g) +=! I(n, g, r_d, r_h, r_w)
  SumSq(n, g) +=! I(n, g, r_d, r_h, r_w) * I(n, g, r_d, r_h, r_w)
  O(n, g, d, h, w) = gamma(g, d) * (I(n, g, d, h, w) - Sum(n, g) / (D * H * W))
    * rsqrt((SumSq(n, g) - Sum(n, g) * Sum(n, g) / (D * H * W)) / (D * H * W) + 1e-5) + beta(g, d)
}"""


def group_norm(x, gamma, beta):
    mean, var = x.mean((2, 3, 4), keepdims=True), x.var((2, 3, 4), keepdims=True)
    scaled = gamma[:, :, None, None] * (x - mean) / np.sqrt(var + 1e-5) + beta[:, :, None, None]
    return x.sum((2, 3, 4)), (x * x).sum((2, 3, 4)), scaled


layer("test_group_norm_fused", scale, group_norm, reals(2, 3, 2, 3, 4), reals(3, 2), reals(3, 2))


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


@pytest.mark.parametrize("name", SUITE)
def test_the_layers_give_the_values_of_numpy(name):
    text, expected, inputs, entry, options = SUITE[name]
    function = tc.define(text, name=entry, **options)
    function.autotune(*inputs, **tc.autotuner_settings)
    found, values = function(*inputs, options=tc.Options("naive")), expected(*inputs)
    for result, value in zip(found if isinstance(found, tuple) else (found,), values if isinstance(values, tuple) else (values,), strict=True):
        np.testing.assert_allclose(result, value, rtol=1e-6, atol=1e-9)


def test_matmul_reuse_outputs():
    matmul, out = tc.define(product, name="f"), np.zeros((3, 2))
    matmul(A, B, outputs=out)
    np.testing.assert_allclose(out, A @ B)


GRADIENTS = """
def mm(float(M, N) A, float(N, K) B) -> (C) {{ C(m, k) +=! A(m, r) * B(r, k) }}
def mm_grad(float(M, N) A, float(N, K) B, float(M, K) d_C) -> (d_A, d_B) {{
  d_A(m, n) +=! d_C(m, r) * B(n, r)
  d_B(n, k) +=! d_C(r, k) * A(r, n)
}}
def convolution(float(N, C, H, W) I, float(M, C, KH, KW) W1) -> (O) {{ O(n, m, h, w) +=! I(n, r_c, {s} * h + r_kh, {s} * w + r_kw) * W1(m, r_c, r_kh, r_kw) }}
def convolution_grad(float(N, C, H, W) I, float(M, C, KH, KW) W1, float(N, M, H, W) d_O) -> (d_I, d_W1) {{
  d_I(n, c, h, w) +=! d_O(n, r_m, {s} * h - r_kh, {s} * w - r_kw) * W1(r_m, c, r_kh, r_kw)
  d_W1(m, c, kh, kw) +=! d_O(r_n, m, r_h - {s} * kh, r_w - {s} * kw) * I(r_n, c, r_h, r_w) where kh in 0:KH, kw in 0:KW
}}
"""


def test_matmul_train():
    matmul = tc.define(GRADIENTS, name="mm", training=True, backward="mm_grad", constants={"s": 1})
    np.testing.assert_allclose(matmul(A, B), A @ B)
    D = reals(3, 2)
    d_A, d_B = matmul.backward(A, B, D)
    np.testing.assert_allclose(d_A, D @ B.T)
    np.testing.assert_allclose(d_B, A.T @ D)


def test_convolution_train():
    """Kernels of one element, as in the original's tests, so that all images have one size."""
    train = tc.define(GRADIENTS, name="convolution", training=True, backward="convolution_grad", constants={"s": 1})
    K, D = reals(4, 3, 1, 1), reals(2, 4, 5, 6)
    np.testing.assert_allclose(train(X, K), convolved(X, K))
    d_I, d_W = train.backward(X, K, D)
    np.testing.assert_allclose(d_I, np.einsum("nmhw,mc->nchw", D, K[:, :, 0, 0]))
    np.testing.assert_allclose(d_W[:, :, 0, 0], np.einsum("nmhw,nchw->mc", D, X))


def test_group_norm_2kernels():
    text = """
def moments(float(N, K) I) -> (mean, var) {
  mean(n) +=! I(n, r_k)
  var(n) +=! I(n, r_k) * I(n, r_k)
  mean(n) = mean(n) / (K)
  var(n) = var(n) / (K) - mean(n) * mean(n)
}
def norm(float(N, G, D, H, W) I, float(G, D) gamma, float(G, D) beta, float(N, G) mean, float(N, G) var) -> (O) {
  O(n, g, d, h, w) = gamma(g, d) * (I(n, g, d, h, w) - mean(n, g)) * rsqrt(var(n, g) + 1e-5) + beta(g, d)
}"""
    for options in ({}, {"cache_filename": "somewhere", "load_from_cache": True, "store_to_cache": True}):
        T = tc.define(text, tc.make_autotuned_options_factory(starting_options="naive", tuner_config=tc.TunerConfig().threads(5), **options))
        I, gamma, beta = reals(2, 3, 2, 3, 4), reals(3, 2), reals(3, 2)
        mean, var = T.moments(I.reshape(6, -1))
        np.testing.assert_allclose(T.norm(I, gamma, beta, mean.reshape(2, 3), var.reshape(2, 3)), group_norm(I, gamma, beta)[2])


def test_conv_with_backward():
    T, K, D = tc.define(GRADIENTS.replace("{{", "{").replace("}}", "}").replace("{s}", "1")), reals(4, 3, 1, 1), reals(2, 4, 5, 6)
    fused = tc.make_autograd(T.convolution, T.convolution_grad)
    apart = tc.make_autograd(T.convolution, lambda I, W1, d_O: (fused.backward(I, W1, d_O)[0], fused.backward(I, W1, d_O)[1]))
    for convolution in (fused, apart):
        np.testing.assert_allclose(convolution(X, K), convolved(X, K))
        np.testing.assert_allclose(convolution.backward(X, K, D)[0], np.einsum("nmhw,mc->nchw", D, K[:, :, 0, 0]))


def test_the_original_name_and_its_inner_module():
    tc.install()
    assert importlib.import_module("tensor_comprehensions") is tc
    tclib = importlib.import_module("tensor_comprehensions.tclib")
    flags = [tclib.logtostderr, tclib.debug_lang, tclib.debug_halide, tclib.debug_tc_mapper, tclib.debug_tuner, tclib.dump_cuda]
    assert all(flag(True) is None for flag in flags) and tclib.CompilationCache is not None
    options = tc.Tuner(product, "cache").tune("f", (A, B), tc.MappingOptions("naive"), tc.TunerConfig())
    assert [str(found) for found in tc.MappingOptionsCache("cache").load(product, "f", (A, B), 10)] == [str(options)]
    tc.cuda_compiler("llvm")
    executor = tclib.compile(product, "f", (A, B), options)
    np.testing.assert_allclose(executor.run((A, B), ()), A @ B)
    out = np.zeros((3, 2))
    executor.run((A, B), (out,))
    np.testing.assert_allclose(out, A @ B)


LAYERS = {name for name in SUITE if not name.startswith("test_")} | {"matmul_reuse_outputs", "matmul_train", "convolution_train"}
CALLS = {
    "define": "test_a_text_gives_its_functions", "tc_autotune": "test_outputs_are_filled_and_continued", "mapping_options": "test_options_are_accepted_with_a_word",
    "tc": "test_the_older_calls", "scalar": "test_the_older_calls", "group_norm_fused": "test_the_layers_give_the_values_of_numpy",
    "group_norm_2kernels": "test_group_norm_2kernels", "tc_autotune_reinforce": "test_group_norm_2kernels", "conv_with_backward_fused": "test_conv_with_backward",
    "conv_with_backward_2kernels": "test_conv_with_backward", "imports": "test_the_original_name_and_its_inner_module",
    "tc_llvm": "test_the_original_name_and_its_inner_module", "matmul_pybind": "test_the_original_name_and_its_inner_module",
    "tensordot_autotune_pybind": "test_the_original_name_and_its_inner_module",
}  # fmt: skip
"""Tests of calls, and where they are here."""


copied = "def f(float(4) x) -> (y) { y(i) = x(i) }"
spread = "def f(int32 n, float(4) x) -> (y) { y(i) = x(i) + n where i in 0:4 }"
V, U, Z = reals(4), reals(4), reals(4)
COMPARED = {">": np.greater, ">=": np.greater_equal, "<": np.less, "<=": np.less_equal, "==": np.equal, "!=": np.not_equal}
CORNERS = {
    "E1": ("def f[] {}", "no function"),
    "E2": (copied, np.copy, V),
    "E3": (copied.replace("f(", "main(", 1), np.copy, V),
    "E4": ("def f(float x) -> (y) { y = x }", np.copy, np.float64(0.5)),
    "E5": ("def f() -> (y) { y(i) = 7 where i in 0:5 }", lambda: np.full(5, 7)),
    "E6": ("def f(float x) -> (y) { y(i) = x where i in 0:5 }", lambda x: np.full(5, x), np.float64(0.5)),
    "E7": (spread, "takes 2 arrays", np.int32(3)),
    "E8": (spread, "E-TYPE", np.float64(0.5), V),
    "E9": (spread, "E-SHAPE", np.ones((1, 2), np.int32), V),
    "E10": (spread, lambda n, x: n + x, np.int32(3), V),
    "E11": ("def f(float(4) x) -> (y) { y(i) = x(i + 0.5) }", "E-TYPE", V),
    "E12": ("def f(int32 n, float(4) x) -> (y) { y(i) += x(i + j) where j in 0:n, i in 0:2 }", "E-KIND", np.int32(1), V),
    "E13": ("def f(int32 n, float(4) x) -> (y) { y(i) += x(i + j) where j in 0:n }", "E-KIND", np.int32(1), V),
    "E14": ("def f(float(N) x) -> (y) { y(i) +=! x(i + j) where j in 0:(N * N - 14), i in 0:2 }", lambda x: x[:2] + x[1:3], V),
    "E15": (
        "def f(float(4) x, float(4) z) -> (" + ", ".join(f"r{n}" for n in range(6)) + ") { " + " ".join(f"r{n}(i) = float(x(i) {o} z(i))" for n, o in enumerate(COMPARED)) + " }",
        lambda x, z: [compared(x, z) for compared in COMPARED.values()],
        V,
        np.where(V > 0, V, U),
    ),
    "E16": (
        "def f(float(4) x, float(4) z) -> (r, s) { r(i) = float(!(x(i) < 0.1) || z(i) > 0.2) s(i) = float(!(x(i) < 0.1) && z(i) > 0.2) }",
        lambda x, z: [(x >= 0.1) | (z > 0.2), (x >= 0.1) & (z > 0.2)],
        V,
        U,
    ),
    "E17": ("def f(float(4) x) -> (y) { y(i) = 3.0 where exists x(i) }", lambda x: np.full(4, 3), V),
    "E18": ("def f(float(4) x) -> (y) { y(i) = 3 * part where part = x(i) }", lambda x: 3 * x, V),
    "E19": ("def f(float(4) x) -> (y) { y(i) = 3 * part where part = x(i), part in 1:2 }", "E-REDEF", V),
    "E20": ("def f(float(4) x) -> (y) { t(i) = x(i) y(i) = t(i) }", np.copy, V),
    "E21": ("def f(float(4) x, float(4) z) -> (y) { y(i) = max(x(i), z(i)) }", np.maximum, V, U),
    "E22": ("def f(float(4) x, float(4) z) -> (y) { y(i) = min(x(i), z(i)) }", np.minimum, V, U),
    "E23": ("def f(float(4) x, float(4) z, float(4) t) -> (y) { y(i) = min(x(i), max(z(i), t(i))) }", lambda x, z, t: np.minimum(x, np.maximum(z, t)), V, U, Z),
}
"""Of `test_corner_cases`: a value, or a refusal."""


@pytest.mark.parametrize("name", CORNERS)
def test_the_corner_cases_have_values_or_are_refused(name):
    text, expected, *inputs = CORNERS[name]
    entry = "main" if " main(" in text else "f"
    if isinstance(expected, str):
        with pytest.raises(errors.TablaError, match=expected):
            tc.define(text, name=entry)(*inputs)
        return
    right, found = expected(*inputs), tc.define(text, name=entry)(*inputs)
    right, found = (list(each) if isinstance(each, (list, tuple)) else [each] for each in (right, found))
    assert len(right) == len(found)
    for one, other in zip(right, found, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-12)


def test_a_place_that_is_a_fraction_is_refused():
    with pytest.raises(errors.TablaError, match="E-TYPE"):
        tc.define("def f(float(4) x) -> (y) { y(i) = x(i) y(x(i)) += 1.0 }", name="f")(V)


def test_the_page_says_how_many_programs_run():
    here = {*globals(), *(name for name in dir(test_tc) if name.startswith("test_"))}
    assert set(CALLS.values()) <= here
    run, missing = 0, 0
    for suite, names in {"test_python/layers": LAYERS, "python/tests/test_tc": set(CALLS), "test/test_corner_cases": set(CORNERS)}.items():
        row = re.search(rf"^\| `{suite}`[^|]*\| (\d+) of (\d+): ([^|]*)\| ([^|]*)\|", PAGE.read_text(), re.M)
        assert row is not None, suite
        patterns, absent = re.findall(r"`([\w*]+)`", row[3]), len(re.findall(r"`\w+`", row[4]))
        assert all(fnmatch.filter(names, pattern) for pattern in patterns)
        assert {name for name in names if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)} == names
        assert (int(row[1]), int(row[2])) == (len(names), len(names) + absent), f"{suite}: {len(names)} programs run"
        run, missing = run + len(names), missing + absent
    assert run >= 0.95 * (run + missing)
