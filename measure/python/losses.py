"""Losses with their gradients by JAX: losses.py FILE

Each case is a program, values for all that it reads, and the same loss as a function of JAX. The file has the program, the values, and what
`jax.value_and_grad` says in double precision. No value lies at a kink: there JAX has its own rules (it shares a gradient among equal elements).
"""

import json
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erf, logsumexp

jax.config.update("jax_enable_x64", True)
CASES = []


def case(name, text, loss, language="tc", value="L", **tensors):
    """Tensors are shapes or values; those with a capital first letter in TC, and `w` in TABLA, that are floats are weights."""
    CASES.append((name, language, text.strip() + "\n", loss, value, tensors))


class Given:
    """What is not trained."""

    def __init__(self, values):
        self.values = values


def values(rng, tensor):
    """Four decimals, so that the file is small."""
    if isinstance(tensor, Given):
        return values(rng, tensor.values)
    if isinstance(tensor, np.ndarray):
        return tensor
    return np.round(rng.uniform(-1, 1, tensor), 4)


def given(*shape):
    return Given(tuple(shape))


def squared(o, y):
    return ((o - y) ** 2).sum()


# Networks of one hidden layer, with every activation that a program can write.
ACTIVATIONS = {
    "tanh": ("tanh({a})", jnp.tanh),
    "relu": ("fmax({a}, 0.0)", jax.nn.relu),
    "gelu": ("gelu({a})", lambda a: jax.nn.gelu(a, approximate=False)),
    "gelu by tanh": (
        "0.5 * {a} * (1.0 + tanh(0.7978845608028654 * ({a} + 0.044715 * {a} * {a} * {a})))",
        lambda a: jax.nn.gelu(a, approximate=True),
    ),
    "silu": ("silu({a})", jax.nn.silu),
    "softplus": ("log1p(exp({a}))", jax.nn.softplus),
    "mish": ("{a} * tanh(log1p(exp({a})))", lambda a: a * jnp.tanh(jax.nn.softplus(a))),
    "leaky relu": ("({a} > 0.0 ? {a} : 0.1 * {a})", lambda a: jax.nn.leaky_relu(a, 0.1)),
    "elu": ("({a} > 0.0 ? {a} : exp({a}) - 1.0)", jax.nn.elu),
    "selu": ("(1.0507009873554805 * ({a} > 0.0 ? {a} : 1.6732632423543772 * (exp({a}) - 1.0)))", jax.nn.selu),
    "hard tanh": ("fmin(fmax({a}, 0.0 - 1.0), 1.0)", jax.nn.hard_tanh),
    "hard sigmoid": ("fmin(fmax({a} / 6.0 + 0.5, 0.0), 1.0)", jax.nn.hard_sigmoid),
    "softsign": ("{a} / (1.0 + fabs({a}))", jax.nn.soft_sign),
    "error function": ("erf({a})", erf),
    "arc tangent": ("atan({a})", jnp.arctan),
    "sine": ("sin({a}) + cos({a})", lambda a: jnp.sin(a) + jnp.cos(a)),
    "hyperbolic": ("asinh({a}) + 0.1 * sinh({a}) * cosh({a})", lambda a: jnp.arcsinh(a) + 0.1 * jnp.sinh(a) * jnp.cosh(a)),
    "root": ("sqrt(1.0 + {a} * {a}) + cbrt({a} + 4.0)", lambda a: jnp.sqrt(1 + a * a) + jnp.cbrt(a + 4)),
}
for name, (text, activation) in ACTIVATIONS.items():
    case(
        f"perceptron, {name}",
        f"""
def f(float(4) X, float(5,4) V, float(5) B, float(2,5) W, float(2) Y) -> (L) {{
  H(i) +=! V(i,j) * X(j)
  S(i) = 2.0 * H(i) + B(i)
  A(i) = {text.format(a="S(i)")}
  O(k) +=! W(k,i) * A(i)
  L +=! (O(k) - Y(k)) * (O(k) - Y(k))
}}""",
        lambda v, activation=activation: squared(v["W"] @ activation(2 * v["V"] @ v["X"] + v["B"]), v["Y"]),
        X=given(4), V=(5, 4), B=(5,), W=(2, 5), Y=given(2),
    )  # fmt: skip
for name, activation in {
    "sigmoid": jax.nn.sigmoid,
    "sigmoid_symmetric": lambda a: jnp.tanh(a / 2),
    "gaussian": lambda a: jnp.exp(-a * a / 2) / jnp.sqrt(2 * jnp.pi),
}.items():
    case(
        f"perceptron, {name}",
        f"""
mu = 0.07;
model_input x[4]; model_output y[2]; model v[5][4]; model w[2][5];
iterator i[0:5]; iterator j[0:4]; iterator k[0:2];
a[i] = {name}(sum[j](v[i][j] * x[j]));
o[k] = sum[i](w[k][i] * a[i]);
minimize sum[k]((o[k] - y[k]) * (o[k] - y[k]));""",
        lambda v, activation=activation: squared(v["w"] @ activation(v["v"] @ v["x"]), v["y"]),
        "t", "minimize", x=given(4), y=given(2), v=(5, 4), w=(2, 5),
    )  # fmt: skip


# Convolutions and pools.
def convolved(x, k):
    return jax.lax.conv(x[None], k, (1, 1), "VALID")[0]


def pooled(x, size, stride, padding="VALID"):
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, *size), (1, *stride), padding)


case(
    "convolution, bias, largest of windows",
    """
def f(float(2,6,6) X, float(3,2,3,3) K, float(3) B, float(3,2,2) W) -> (L) {
  H(m,h,w) +=! X(c,h+kh,w+kw) * K(m,c,kh,kw)
  P(m,h,w) max=! H(m,2*h+i,2*w+j) + B(m) where i in 0:2, j in 0:2, h in 0:2, w in 0:2
  L +=! tanh(P(m,h,w)) * W(m,h,w)
}""",
    lambda v: (jnp.tanh(pooled(convolved(v["X"], v["K"]) + v["B"][:, None, None], (2, 2), (2, 2))) * v["W"]).sum(),
    X=given(2, 6, 6), K=(3, 2, 3, 3), B=(3,), W=(3, 2, 2),
)  # fmt: skip
case(
    "convolution, bias, rectifier, windows that overlap",
    """
def f(float(1,7,6) X, float(2,1,2,2) K, float(2) B) -> (L) {
  H(m,h,w) +=! X(c,h+kh,w+kw) * K(m,c,kh,kw)
  A(m,h,w) = fmax(H(m,h,w) + B(m), 0.0)
  P(m,h,w) max=! A(m,h+i,w+j) + 0.5 * H(m,h+i,w+j) where i in 0:3, j in 0:2
  L +=! P(m,h,w) * P(m,h,w)
}""",
    lambda v: (lambda h: (pooled(jax.nn.relu(h + v["B"][:, None, None]) + 0.5 * h, (3, 2), (1, 1)) ** 2).sum())(
        convolved(v["X"], v["K"])
    ),
    X=given(1, 7, 6), K=(2, 1, 2, 2), B=(2,),
)  # fmt: skip
case(
    "largest of whole channels, 81 places",
    """
def f(float(1,10,10) X, float(2,1,2,2) K, float(2) B, float(2) Y) -> (L) {
  H(m,h,w) +=! X(c,h+kh,w+kw) * K(m,c,kh,kw)
  G(m) max=! H(m,h,w) * H(m,h,w) + B(m)
  L +=! (G(m) - Y(m)) * (G(m) - Y(m))
}""",
    lambda v: squared((convolved(v["X"], v["K"]) ** 2).max((1, 2)) + v["B"], v["Y"]),
    X=given(1, 10, 10), K=(2, 1, 2, 2), B=(2,), Y=given(2),
)  # fmt: skip
case(
    "Tile: pool of a sum, with windows at the edge",
    """
def f(X, W, B):
  N = TensorDim()
  i, j, k = TensorIndexes(3)
  X.bind_dims(N)
  P = TensorOutput((N + 1) // 2)
  S = X * W + B
  P[i] >= S[2 * i + j]
  P.add_constraint(j < 2)
  Q = P * P
  L = TensorOutput()
  L[()] += Q[k]
  return L
""",
    lambda v: (jnp.pad(v["X"] * v["W"] + v["B"], (0, 1), constant_values=-jnp.inf).reshape(4, 2).max(1) ** 2).sum(),
    "tile", "out0", X=given(7), W=(7,), B=(7,),
)  # fmt: skip

# Extremes of computed values.
case(
    "largest product",
    "def f(float(6) X, float(6) A) -> (L) {\n  M max=! A(i) * X(i)\n  L = M * M\n}",
    lambda v: (v["A"] * v["X"]).max() ** 2,
    X=given(6), A=(6,),
)  # fmt: skip
case(
    "largest of two indices, smallest of the largest",
    """
def f(float(4) A, float(5) B, float(4,5) C) -> (L) {
  M max=! A(i) * B(j) + C(i,j)
  R(i) max=! C(i,j) - B(j)
  S min=! R(i) * A(i)
  L = M * S + M
}""",
    lambda v: (lambda m, s: m * s + m)(
        (v["A"][:, None] * v["B"] + v["C"]).max(), ((v["C"] - v["B"]).max(1) * v["A"]).min()
    ),
    A=(4,), B=(5,), C=(4, 5),
)  # fmt: skip
case(
    "max-plus matrix product",
    """
def f(float(3,4) A, float(4,2) B, float(3,2) Y) -> (L) {
  M(i,j) max=! A(i,k) + B(k,j)
  L +=! (M(i,j) - Y(i,j)) * (M(i,j) - Y(i,j))
}""",
    lambda v: squared((v["A"][:, :, None] + v["B"]).max(1), v["Y"]),
    A=(3, 4), B=(4, 2), Y=given(3, 2),
)  # fmt: skip

# Attention, matrices, sequences.
case(
    "attention",
    """
def f(float(3,4) X, float(4,4) WQ, float(4,4) WK, float(4,2) WV, float(3,2) Y) -> (L) {
  Q(i,d) +=! X(i,c) * WQ(c,d)
  K(i,d) +=! X(i,c) * WK(c,d)
  V(i,d) +=! X(i,c) * WV(c,d)
  S(i,j) +=! 0.5 * Q(i,d) * K(j,d)
  M(i) max=! S(i,j)
  E(i,j) = exp(S(i,j) - M(i))
  T(i) +=! E(i,j)
  O(i,d) +=! E(i,j) / T(i) * V(j,d)
  L +=! (O(i,d) - Y(i,d)) * (O(i,d) - Y(i,d))
}""",
    lambda v: squared(
        jax.nn.softmax(0.5 * (v["X"] @ v["WQ"]) @ (v["X"] @ v["WK"]).T, -1) @ (v["X"] @ v["WV"]), v["Y"]
    ),
    X=given(3, 4), WQ=(4, 4), WK=(4, 4), WV=(4, 2), Y=given(3, 2),
)  # fmt: skip
case(
    "matrix factorisation, masked",
    """
def f(float(4,3) R, float(4,3) K, float(4,2) U, float(3,2) V) -> (L) {
  P(i,j) +=! U(i,l) * V(j,l)
  E(i,j) = K(i,j) * (P(i,j) - R(i,j))
  D +=! E(i,j) * E(i,j)
  N +=! U(i,l) * U(i,l)
  L = 0.5 * D + 0.05 * N
}""",
    lambda v: 0.5 * ((v["K"] * (v["U"] @ v["V"].T - v["R"])) ** 2).sum() + 0.05 * (v["U"] ** 2).sum(),
    R=given(4, 3), K=Given(np.array([[1.0, 0, 1], [0, 1, 1], [1, 1, 0], [0, 0, 1]])), U=(4, 2), V=(3, 2),
)  # fmt: skip
case(
    "gated recurrent unit, two steps",
    """
def f(float(3) X, float(4,3) WZ, float(4,4) UZ, float(4,3) WR, float(4,4) UR, float(4,3) WN, float(4,4) UN, float(4) H, float(4) Y) -> (L) {
  AZ(i) +=! WZ(i,j) * X(j)
  BZ(i) +=! UZ(i,j) * H(j)
  AR(i) +=! WR(i,j) * X(j)
  BR(i) +=! UR(i,j) * H(j)
  Z(i) = 0.5 + 0.5 * tanh(0.5 * (AZ(i) + BZ(i)))
  R(i) = 1.0 / (1.0 + exp(0.0 - AR(i) - BR(i)))
  AN(i) +=! WN(i,j) * X(j)
  BN(i) +=! UN(i,j) * (R(j) * H(j))
  G(i) = (1.0 - Z(i)) * tanh(AN(i) + BN(i)) + Z(i) * H(i)
  CZ(i) +=! UZ(i,j) * G(j)
  CR(i) +=! UR(i,j) * G(j)
  Z2(i) = 0.5 + 0.5 * tanh(0.5 * (AZ(i) + CZ(i)))
  R2(i) = 1.0 / (1.0 + exp(0.0 - AR(i) - CR(i)))
  CN(i) +=! UN(i,j) * (R2(j) * G(j))
  O(i) = (1.0 - Z2(i)) * tanh(AN(i) + CN(i)) + Z2(i) * G(i)
  L +=! (O(i) - Y(i)) * (O(i) - Y(i))
}""",
    lambda v: squared(gru(v, gru(v, v["H"])), v["Y"]),
    X=given(3), WZ=(4, 3), UZ=(4, 4), WR=(4, 3), UR=(4, 4), WN=(4, 3), UN=(4, 4), H=given(4), Y=given(4),
)  # fmt: skip


def gru(v, h):
    z = jax.nn.sigmoid(v["WZ"] @ v["X"] + v["UZ"] @ h)
    r = jax.nn.sigmoid(v["WR"] @ v["X"] + v["UR"] @ h)
    return (1 - z) * jnp.tanh(v["WN"] @ v["X"] + v["UN"] @ (r * h)) + z * h


case(
    "long short-term memory",
    """
def f(float(3) X, float(4) H, float(4) C, float(4,4,3) W, float(4,4,4) U, float(4) Y) -> (L) {
  A(g,i) +=! W(g,i,j) * X(j)
  B(g,i) +=! U(g,i,j) * H(j)
  I(i) = 0.5 + 0.5 * tanh(0.5 * (A(0,i) + B(0,i)))
  F(i) = 0.5 + 0.5 * tanh(0.5 * (A(1,i) + B(1,i)))
  O(i) = 0.5 + 0.5 * tanh(0.5 * (A(2,i) + B(2,i)))
  N(i) = F(i) * C(i) + I(i) * tanh(A(3,i) + B(3,i))
  L +=! (O(i) * tanh(N(i)) - Y(i)) * (O(i) * tanh(N(i)) - Y(i))
}""",
    lambda v: (lambda a: squared(
        jax.nn.sigmoid(a[2]) * jnp.tanh(jax.nn.sigmoid(a[1]) * v["C"] + jax.nn.sigmoid(a[0]) * jnp.tanh(a[3])), v["Y"]
    ))(v["W"] @ v["X"] + v["U"] @ v["H"]),
    X=given(3), H=given(4), C=given(4), W=(4, 4, 3), U=(4, 4, 4), Y=given(4),
)  # fmt: skip
case(
    "embedding",
    """
def f(float(5,3) T, int32(4) I, float(3,2) W, float(4,2) Y) -> (L) {
  O(b,k) +=! T(I(b),d) * W(d,k)
  L +=! (O(b,k) - Y(b,k)) * (O(b,k) - Y(b,k))
}""",
    lambda v: squared(v["T"][v["I"]] @ v["W"], v["Y"]),
    T=(5, 3), I=Given(np.array([3, 0, 3, 1])), W=(3, 2), Y=given(4, 2),
)  # fmt: skip

# Normalisations.
case(
    "layer normalisation",
    """
def f(float(2,4) X, float(4,5) W, float(5) G, float(5) B, float(2,5) Y) -> (L) {
  Z(i,j) +=! X(i,c) * W(c,j)
  M(i) +=! Z(i,j) / 5.0
  D(i,j) = Z(i,j) - M(i)
  V(i) +=! D(i,j) * D(i,j) / 5.0
  N(i,j) = D(i,j) * rsqrt(V(i) + 0.001) * G(j) + B(j)
  L +=! (N(i,j) - Y(i,j)) * (N(i,j) - Y(i,j))
}""",
    lambda v: (lambda z: squared(
        (z - z.mean(1, keepdims=True)) / jnp.sqrt(z.var(1, keepdims=True) + 0.001) * v["G"] + v["B"], v["Y"]
    ))(v["X"] @ v["W"]),
    X=given(2, 4), W=(4, 5), G=(5,), B=(5,), Y=given(2, 5),
)  # fmt: skip
case(
    "root mean square normalisation",
    """
def f(float(4) X, float(5,4) W, float(5) G, float(5) Y) -> (L) {
  Z(i) +=! W(i,j) * X(j)
  Q +=! Z(i) * Z(i) / 5.0
  R = 1.0 / sqrt(Q + 0.01)
  L +=! pow(Z(i) * R * G(i) - Y(i), 2.0)
}""",
    lambda v: (lambda z: squared(z / jnp.sqrt((z**2).mean() + 0.01) * v["G"], v["Y"]))(v["W"] @ v["X"]),
    X=given(4), W=(5, 4), G=(5,), Y=given(5),
)  # fmt: skip

# Losses on scores z = W x.
LINEAR = "  Z(k) +=! W(k,i) * X(i)\n"


def scores(name, lines, loss, label=None, **more):
    """A loss of the scores, with a label of three numbers."""
    extra = "".join(f", float({len(value.values)}) {key}" for key, value in more.items())
    case(
        name,
        f"def f(float(4) X, float(3,4) W, float(3) Y{extra}) -> (L) {{\n{LINEAR}{lines}\n}}",
        lambda v: loss(v["W"] @ v["X"], v["Y"]),
        X=given(4), W=(3, 4), Y=Given(np.array(label)) if label else given(3), **more,
    )  # fmt: skip


scores(
    "softmax cross entropy",
    "  M max=! Z(k)\n  S +=! exp(Z(k) - M)\n  P(k) = Z(k) - M - log(S)\n  L +=! 0.0 - Y(k) * P(k)",
    lambda z, y: -(y * jax.nn.log_softmax(z)).sum(),
    [0.0, 1.0, 0.0],
)
scores(
    "smoothed labels",
    "  M max=! Z(k)\n  E(k) = exp(Z(k) - M)\n  S +=! E(k)\n  L +=! 0.0 - (0.9 * Y(k) + 0.1 / 3.0) * log(E(k) / S)",
    lambda z, y: -((0.9 * y + 0.1 / 3) * jax.nn.log_softmax(z)).sum(),
    [0.0, 0.0, 1.0],
)
scores("log-sum-exp", "  S +=! exp(Z(k) + Y(k))\n  L = log(S)", lambda z, y: logsumexp(z + y))
scores(
    "log-sum-exp, shifted by the largest sum",
    "  M max=! Z(k) + Y(k)\n  S +=! exp(Z(k) + Y(k) - M)\n  L = M + log(S)",
    lambda z, y: logsumexp(z + y),
)
scores(
    "hinge", "  L +=! fmax(1.0 - Y(k) * Z(k), 0.0)", lambda z, y: jnp.maximum(1 - y * z, 0).sum(), [1.0, -1.0, -1.0]
)
scores(
    "hinge, squared",
    "  L +=! fmax(1.0 - Y(k) * Z(k), 0.0) * fmax(1.0 - Y(k) * Z(k), 0.0)",
    lambda z, y: (jnp.maximum(1 - y * z, 0) ** 2).sum(),
    [1.0, -1.0, 1.0],
)
scores(
    "hinge of several classes",
    "  T +=! Y(k) * Z(k)\n  L max=! 1.0 - Y(k) + Z(k) - T",
    lambda z, y: (1 - y + z - (y * z).sum()).max(),
    [0.0, 1.0, 0.0],
)
scores(
    "Huber",
    "  D(k) = Z(k) - Y(k)\n  L +=! fabs(D(k)) < 0.5 ? 0.5 * D(k) * D(k) : 0.5 * (fabs(D(k)) - 0.25)",
    lambda z, y: jnp.where(jnp.abs(z - y) < 0.5, (z - y) ** 2 / 2, 0.5 * (jnp.abs(z - y) - 0.25)).sum(),
)
scores("log-cosh", "  L +=! log(cosh(Z(k) - Y(k)))", lambda z, y: jnp.log(jnp.cosh(z - y)).sum())
scores(
    "quantiles",
    "  L +=! fmax(Q(k) * (Y(k) - Z(k)), (Q(k) - 1.0) * (Y(k) - Z(k)))",
    lambda z, y: (lambda q, d: jnp.maximum(q * d, (q - 1) * d).sum())(jnp.array([0.1, 0.5, 0.9]), y - z),
    Q=Given(np.array([0.1, 0.5, 0.9])),
)
scores(
    "focal",
    "  P(k) = 1.0 / (1.0 + exp(0.0 - Z(k)))\n  T(k) = Y(k) * P(k) + (1.0 - Y(k)) * (1.0 - P(k))\n"
    "  L +=! 0.0 - pow(1.0 - T(k), 2.0) * log(T(k))",
    lambda z, y: (lambda t: -((1 - t) ** 2 * jnp.log(t)).sum())(
        y * jax.nn.sigmoid(z) + (1 - y) * (1 - jax.nn.sigmoid(z))
    ),
    [0.0, 1.0, 1.0],
)
scores(
    "Poisson", "  L +=! exp(Z(k)) - Y(k) * Z(k)", lambda z, y: (jnp.exp(z) - y * z).sum(), [2.0, 0.0, 1.0]
)  # fmt: skip
scores(
    "normal likelihood of mean and spread",
    "  V(k) = log1p(exp(Z(k))) + 0.01\n  L +=! 0.5 * (log(V(k)) + (Z(k) - Y(k)) * (Z(k) - Y(k)) / V(k))",
    lambda z, y: (lambda s: 0.5 * (jnp.log(s) + (z - y) ** 2 / s).sum())(jax.nn.softplus(z) + 0.01),
)
scores(
    "divergence of two distributions",
    "  S +=! exp(Z(k))\n  P(k) = exp(Z(k)) / S\n  T +=! exp(Y(k))\n  L +=! P(k) * (log(P(k)) - Y(k) + log(T))",
    lambda z, y: (jax.nn.softmax(z) * (jax.nn.log_softmax(z) - jax.nn.log_softmax(y))).sum(),
)
scores(
    "cosine",
    "  A +=! Z(k) * Z(k)\n  B +=! Y(k) * Y(k)\n  C +=! Z(k) * Y(k)\n  L = 1.0 - C / (sqrt(A) * sqrt(B))",
    lambda z, y: 1 - (z @ y) / (jnp.linalg.norm(z) * jnp.linalg.norm(y)),
)
scores("product of factors", "  L *=! 1.0 + Z(k) * Y(k)", lambda z, y: (1 + z * y).prod())

# Pairs.
EMBEDDED = """
  A(k) +=! W(k,i) * X(i)
  B(k) +=! W(k,i) * U(i)
  C(k) +=! W(k,i) * V(i)"""


def distances(v):
    a, b, c = (v["W"] @ v[name] for name in "XUV")
    return ((a - b) ** 2).sum(), ((a - c) ** 2).sum()


def pairs(name, lines, loss):
    case(
        name,
        f"def f(float(4) X, float(4) U, float(4) V, float(3,4) W) -> (L) {{{EMBEDDED}\n{lines}\n}}",
        loss,
        X=given(4), U=given(4), V=given(4), W=(3, 4),
    )  # fmt: skip


SQUARES = "  P +=! (A(k) - B(k)) * (A(k) - B(k))\n  N +=! (A(k) - C(k)) * (A(k) - C(k))\n"
pairs(
    "contrastive",
    SQUARES + "  R = fmax(3.0 - sqrt(N), 0.0)\n  L = P + R * R",
    lambda v: (lambda p, n: p + jnp.maximum(3 - jnp.sqrt(n), 0) ** 2)(*distances(v)),
)
pairs(
    "triplets",
    SQUARES + "  L = fmax(P - N + 9.0, 0.0)",
    lambda v: (lambda p, n: jnp.maximum(p - n + 9, 0))(*distances(v)),
)
pairs(
    "contrastive by a softmax",
    "  P +=! A(k) * B(k)\n  N +=! A(k) * C(k)\n  M = fmax(P, N)\n  L = M + log(exp(P - M) + exp(N - M)) - P",
    lambda v: (lambda p, n: jnp.logaddexp(p, n) - p)(
        *((v["W"] @ v["X"]) @ (v["W"] @ v[other]) for other in "UV")
    ),
)  # fmt: skip
case(
    "radial basis functions",
    """
def f(float(3) X, float(4,3) C, float(4) S, float(4) W, float Y) -> (L) {
  D(i) +=! (X(j) - C(i,j)) * (X(j) - C(i,j))
  O +=! W(i) * exp(0.0 - D(i) * exp(S(i)))
  L = fabs(O - Y)
}""",
    lambda v: jnp.abs((v["W"] * jnp.exp(-((v["X"] - v["C"]) ** 2).sum(1) * jnp.exp(v["S"]))).sum() - v["Y"]),
    X=given(3), C=(4, 3), S=(4,), W=(4,), Y=given(),
)  # fmt: skip
# Losses of the library.
for name, link, loss, label in [
    ("logistic", "sigmoid(z[k])", lambda z, y: (jax.nn.softplus(z) - y * z).sum(), [0.25, 1.0]),
    ("hinge", "z[k] * 1", lambda z, y: jnp.maximum(1 - y * z, 0).sum(), [1.0, -1.0]),
    ("huber", "z[k] * 1", lambda z, y: jnp.where(jnp.abs(z - y) < 1, (z - y) ** 2 / 2, jnp.abs(z - y) - 0.5).sum(), [0.3, 4.0]),
    ("poisson", "exp(z[k])", lambda z, y: (jnp.exp(z) - y * z).sum(), [3.0, 0.0]),
    ("cross_entropy", "exp(z[k] - log(sum[l](exp(z[l]))))", lambda z, y: -(y * jax.nn.log_softmax(z)).sum(), [0.0, 1.0]),
]:  # fmt: skip
    case(
        f"library: {name}",
        f"""
mu = 0.07;
model_input x[4]; model_output y[2]; model w[2][4];
iterator i[0:4]; iterator k[0:2]; iterator l[0:2];
z[k] = sum[i](w[k][i] * x[i]);
h[k] = {link};
minimize {name}(h, y);""",
        lambda v, loss=loss: loss(v["w"] @ v["x"], v["y"]),
        "t", "minimize", x=given(4), y=Given(np.array(label)), w=(2, 4),
    )  # fmt: skip


def rounded(array):
    """Twelve digits: a thousand times finer than what is compared."""
    return jax.tree.map(lambda value: float(f"{value:.12g}"), np.asarray(array).tolist())


def main():
    written = []
    for number, (name, language, text, loss, value, tensors) in enumerate(CASES):
        rng = np.random.default_rng(1000 + number)
        inputs = {key: values(rng, tensor) for key, tensor in tensors.items()}
        weights = {key: jnp.asarray(inputs[key]) for key, tensor in tensors.items() if not isinstance(tensor, Given)}
        function = lambda weights: loss({**{key: jnp.asarray(v) for key, v in inputs.items()}, **weights})
        total, gradients = jax.value_and_grad(function)(weights)
        written.append({
            "name": name, "language": language, "text": text, "loss": value, "value": rounded(total),
            "inputs": {key: array.tolist() for key, array in inputs.items()},
            "gradients": {key: rounded(gradients[key]) for key in weights},
        })  # fmt: skip
    with open(sys.argv[1], "w") as file:
        lines = ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in written)
        file.write(f'{{"jax": "{jax.__version__}", "losses": [\n{lines}\n]}}\n')
    print(f"{len(written)} losses by JAX {jax.__version__}")


main()
