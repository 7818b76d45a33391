"""Functions of each element."""

from __future__ import annotations

from typing import Any

from tabla_gen.plaidml import edsl
from tabla_gen.plaidml.tensors import Tensor, as_tensor

abs, ceil, cos, exp, floor, log, pow, round, sigmoid, sin, sqrt, tan, tanh = (
    edsl.abs, edsl.ceil, edsl.cos, edsl.exp, edsl.floor, edsl.log, edsl.pow, edsl.round, edsl.sigmoid, edsl.sin, edsl.sqrt,
    edsl.tan, edsl.tanh,
)  # fmt: skip
maximum, minimum = edsl.max, edsl.min


def square(x: Any) -> Tensor:
    """`x * x`"""
    x = as_tensor(x)
    return x * x


def clip(x: Any, min: Any = None, max: Any = None) -> Tensor:
    """Within two bounds."""
    x = as_tensor(x)
    x = x if min is None else edsl.max(x, min)
    return x if max is None else edsl.min(x, max)


def relu(x: Any, alpha: Any = None, max_value: Any = None, threshold: Any = None, _name: str = "") -> Tensor:
    """`x` from a threshold on, `alpha` times the distance below it, at most `max_value`."""
    x, threshold = as_tensor(x), 0.0 if threshold is None else threshold
    below: Any = 0.0 if alpha is None else (x - threshold) * alpha
    result = edsl.select(x < threshold, below, x)
    return result if max_value is None else edsl.min(result, max_value)


def elu(x: Any, alpha: Any = 1.0) -> Tensor:
    """`x`, or below 0 `alpha * (exp(x) - 1)`."""
    x = as_tensor(x)
    return edsl.select(x < 0.0, (edsl.exp(x) - 1.0) * alpha, x)


def hard_sigmoid(x: Any, slope: float) -> Tensor:
    """A line through 0.5, within 0 and 1."""
    return clip(as_tensor(x) * slope + 0.5, 0.0, 1.0)


def softplus(x: Any) -> Tensor:
    """`log(1 + exp(x))`, without overflow."""
    x = as_tensor(x)
    return edsl.max(x, 0.0) + edsl.log(edsl.exp(-edsl.abs(x)) + 1.0)


def binary_crossentropy(targets: Any, preds: Any, epsilon: float) -> Tensor:
    """The loss of probabilities that are kept `epsilon` from 0 and 1."""
    t, p = as_tensor(targets), clip(preds, epsilon, 1.0 - epsilon)
    return -(t * edsl.log(p)) - (1.0 - t) * edsl.log(1.0 - p)


def scale_gradient(x: Any, _scale: float = -1.0) -> Tensor:
    """The same value."""
    return as_tensor(x)
