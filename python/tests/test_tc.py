"""Tensor Comprehensions by the original's Python calls, beside NumPy."""

import math
import warnings

import numpy as np
import pytest

from tabla_gen import errors, tc

rng = np.random.default_rng(58)
A, B = rng.normal(size=(3, 4)), rng.normal(size=(4, 2))
SOURCE = """
def add(float(N) A, float(N) B) -> (C) { C(i) = A(i) + B(i) }
def moments(float(N, K) I) -> (mean, var) {
  # var = E(x^2) - mean^2
  mean(n) +=! I(n, r_k)
  var(n) +=! I(n, r_k) * I(n, r_k)
  mean(n) = mean(n) / (K)
  var(n) = var(n) / (K) - mean(n) * mean(n)
}
def accumulate(float(N, M) A) -> (O) { O(i) += A(i, j) }
def pick(float(N) A, int32(M) I) -> (O) { O(i) = A(I(i)) }
"""


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def test_a_text_gives_its_functions():
    T = tc.define(SOURCE, tc.make_naive_options_factory())
    assert set(dir(T)) == {"add", "moments", "accumulate", "pick"}
    np.testing.assert_allclose(T.add(A[0], A[1]), A[0] + A[1])
    mean, var = T.moments(A)
    np.testing.assert_allclose(mean, A.mean(1))
    np.testing.assert_allclose(var, A.var(1))
    np.testing.assert_allclose(T.pick(A[0], np.array([2, 0])), A[0][[2, 0]])


def test_outputs_are_filled_and_continued():
    T, out = tc.define(SOURCE), np.array([1.0, 2.0, 3.0])
    T.accumulate(A, outputs=(out,))
    np.testing.assert_allclose(out, [1, 2, 3] + A.sum(1))
    sums = np.zeros(4)
    T.add(A[0], A[1], outputs=(sums,))
    np.testing.assert_allclose(sums, A[0] + A[1])


def test_the_older_calls():
    text = "def pool(float(N) A) -> (O) { O(i) max=! A({s} * i + k) where k in 0:{s} }"
    pool = tc.define(text, name="pool", constants={"s": 2})
    np.testing.assert_allclose(pool(A[0]), A[0].reshape(2, 2).max(1))
    pool.autotune(A[0], cache="somewhere", **{"threads": 4})
    product = tc.compile("def mm(float(M,K) A, float(K,N) B) -> (C) { C(m, n) +=! A(m, k) * B(k, n) }", "mm", "naive", A, B)
    tc.assert_almost_equal(product(A, B), A @ B, A, B, operations=4)
    np.testing.assert_allclose(product(A, B, engine="array"), A @ B, atol=0.05)
    with pytest.raises(AssertionError):
        tc.assert_almost_equal(product(A, B), A @ B + 1, A, B)


def test_options_are_accepted_with_a_word():
    tc._SAID.clear()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        options = tc.MappingOptions("naive").useSharedMemory(True).tile([2, 8]).mapToBlocks([256, 8])
        tuned = tc.autotune_and_compile(SOURCE, "add", A[0], A[1], starting_options=options, tuner_config=tc.TunerConfig().threads(5).generations(3))
    assert len(said) == 1 and "change nothing" in str(said[0].message)
    np.testing.assert_allclose(tuned(A[0], A[1]), A[0] + A[1])


def test_forward_and_backward():
    T = tc.define("""
def scale(float(N) A) -> (O) { O(i) = 3.0 * A(i) }
def scale_grad(float(N) A, float(N) d_O) -> (d_A) { d_A(i) = 3.0 * d_O(i) }""")
    scale = tc.make_autograd(T.scale, T.scale_grad)
    np.testing.assert_allclose(scale(A[0]), 3 * A[0])
    np.testing.assert_allclose(scale.backward(A[0], A[1]), 3 * A[1])


def test_functions_and_bits():
    run = tc.define(
        """def f(float(N) A, int32(N) I) -> (O, P, Q) {
  O(i) = norm3d(A(i), 2.0, 1.0) + rhypot(A(i), 1.0) + norm4d(A(i), 1.0, 1.0, 1.0) + rnorm4d(A(i), 1.0, 1.0, 1.0) + rnorm3d(A(i), 2.0, 1.0)
  P(i) = (I(i) & 6 | 1 << 4) ^ ~I(i) >> 1 <=> library.bits(P, I)
  Q(i) = lgamma(A(i)) + erfcx(A(i)) + sinpi(A(i)) + nearbyint(A(i)) }""",
        name="f",
    )
    a, i = np.array([0.5, 1.5, 2.25]), np.array([1, 7, 12])
    o, p, q = run(a, i)
    np.testing.assert_allclose(o, np.sqrt(a * a + 5) + 1 / np.hypot(a, 1) + np.sqrt(a * a + 3) + 1 / np.sqrt(a * a + 3) + 1 / np.sqrt(a * a + 5))
    assert p.tolist() == [int((n & 6 | 1 << 4) ^ ~n >> 1) for n in i]
    np.testing.assert_allclose(q, [math.lgamma(x) + math.exp(x * x) * math.erfc(x) + math.sin(math.pi * x) + np.rint(x) for x in a])


def test_mistakes_are_said():
    T = tc.define(SOURCE)
    with pytest.raises(errors.UsageError, match="takes 2 arrays"):
        T.add(A[0])
    with pytest.raises(AttributeError, match="there are: add"):
        T.sub  # noqa: B018
    with pytest.raises(errors.UsageError, match="no function 'sub'"):
        tc.compile(SOURCE, "sub")
    with pytest.raises(errors.ProgramError, match="E-TYPE"):
        tc.define("def f(float(N) A) -> (O) { O(i) = A(i) & 1 }", name="f")(A[0])
