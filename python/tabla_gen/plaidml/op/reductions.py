"""Sums, extremes, means and the like along axes, and what is made of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tabla_gen.plaidml import edsl
from tabla_gen.plaidml.indices import TensorIndexes
from tabla_gen.plaidml.shapes import DType, wrong
from tabla_gen.plaidml.tensors import Contraction, Tensor, as_tensor

Axes = int | Sequence[int] | None


def axes_of(x: Tensor, axis: Axes) -> list[int]:
    """Axes as numbers from 0, in order; None means all."""
    given = range(x.rank) if axis is None else [axis] if isinstance(axis, int) else axis
    numbers = sorted({int(a) + x.rank if a < 0 else int(a) for a in given})
    if not set(numbers) <= set(range(x.rank)):
        raise wrong(f"there is no axis {axis} in {list(x.shape)}")
    return numbers


def _reduce(how: str, x: Any, axis: Axes, keepdims: bool) -> Tensor:
    x = as_tensor(x)
    gone = axes_of(x, axis)
    if not gone:
        return x
    at = TensorIndexes(x.rank)
    kept = [a for a in range(x.rank) if keepdims or a not in gone]
    shape = [1 if a in gone else x.shape[a] for a in kept]
    place = [0 if a in gone else at[a] for a in kept]
    return getattr(Contraction().outShape(*shape).outAccess(*place), how)(x[tuple(at)]).build()


def sum(x: Any, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The sum along axes."""
    return _reduce("sum", x, axis, keepdims)


def prod(x: Any, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The product along axes."""
    return _reduce("product", x, axis, keepdims)


def max(x: Any, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The largest along axes."""
    return _reduce("max", x, axis, keepdims)


def min(x: Any, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The smallest along axes."""
    return _reduce("min", x, axis, keepdims)


def _count(x: Tensor, axis: Axes) -> float:
    return float(np.prod([x.shape[a] for a in axes_of(x, axis)], dtype=np.int64))


def mean(x: Any, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The mean along axes."""
    x = as_tensor(x)
    return sum(x, axis, keepdims) / _count(x, axis)


def variance(x: Any, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The mean square of the distance from the mean."""
    x = as_tensor(x)
    off = x - mean(x, axis, True)
    return mean(off * off, axis, keepdims)


def all(x: Any, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """1 where no element along the axes is 0."""
    return prod(edsl.cast(edsl.cast(x, DType.BOOLEAN), DType.UINT8), axis, keepdims)


def any(x: Any, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """1 where an element along the axes is not 0."""
    return max(edsl.cast(edsl.cast(x, DType.BOOLEAN), DType.UINT8), axis, keepdims)


def argmax(x: Any, axis: int = -1) -> Tensor:
    """The index of the first largest element along an axis."""
    x = as_tensor(x)
    (axis,) = axes_of(x, axis)
    length = x.shape[axis]
    after = edsl.index(x.shape, axis)
    found = edsl.select(x == max(x, axis, True), after, length)
    return edsl.cast(min(found, axis), DType.UINT32)


def _running(how: str, x: Any, axis: int, exclusive: bool) -> Tensor:
    x = as_tensor(x)
    (axis,) = axes_of(x, axis)
    at, k = TensorIndexes(x.rank), TensorIndexes(1)[0]
    source = [k if a == axis else at[a] for a in range(x.rank)]
    contraction = Contraction().outShape(*x.shape).outAccess(*at)
    distance = at[axis] - k - 1 if exclusive else at[axis] - k
    return getattr(contraction, how)(x[tuple(source)]).add_constraint(distance < x.shape[axis]).build()


def cumsum(x: Any, axis: int, exclusive: bool = False) -> Tensor:
    """Sums of all elements up to each; exclusive: before each."""
    return _running("sum", x, axis, exclusive)


def cumprod(x: Any, axis: int) -> Tensor:
    """Products of all elements up to each."""
    return _running("product", x, axis, False)


def dot(x: Any, y: Any, _name: str = "") -> Tensor:
    """Products of the last axis of `x` and the last but one of `y`."""
    x, y = as_tensor(x), as_tensor(y)
    if x.rank == 0 or y.rank == 0:
        return x * y
    at, k = TensorIndexes(x.rank - 1 + y.rank - 1), TensorIndexes(1)[0]
    left, right = at[: x.rank - 1], at[x.rank - 1 :]
    rows = list(y.shape[:-2]) + list(y.shape[-1:]) if y.rank > 1 else []
    inner = [*right[:-1], k, right[-1]] if y.rank > 1 else [k]
    if x.shape[-1] != y.shape[-2 if y.rank > 1 else 0]:
        raise wrong(f"{list(x.shape)} and {list(y.shape)} have no product")
    shape = [*x.shape[:-1], *rows]
    return Contraction().outShape(*shape).outAccess(*at).sum(x[(*left, k)] * y[tuple(inner)]).build()


def softmax(x: Any, axis: int | None = None, _name: str = "") -> Tensor:
    """Exponentials that add up to 1 along an axis, by default the last."""
    x = as_tensor(x)
    axis = -1 if axis is None else axis
    powers = edsl.exp(x - max(x, axis, True))
    return powers / sum(powers, axis, True)


def l2norm(x: Any, axes: Axes, epsilon: float = 0.0, mode: str = "add") -> Tensor:
    """The root of the sum of squares; `epsilon` is added to it or its least value."""
    x = as_tensor(x)
    squares = sum(x * x, axes, True)
    return edsl.sqrt(edsl.max(squares, epsilon) if str(mode).lower().endswith("max") else squares + epsilon)


def normalize(x: Any, axes: Axes, epsilon: float = 1e-12, mode: str = "add") -> Tensor:
    """Divided by its norm along axes."""
    return as_tensor(x) / l2norm(x, axes, epsilon, mode)


def mvn(x: Any, axes: Axes, normalize_variance: bool = True, epsilon: float = 1e-9) -> Tensor:
    """Mean 0 along axes, and variance 1."""
    x = as_tensor(x)
    off = x - mean(x, axes, True)
    return off / edsl.sqrt(variance(x, axes, True) + epsilon) if normalize_variance else off


def lrn(x: Any, window_size: Sequence[int], axes: Sequence[int], alpha: float = 1e-4, beta: float = 0.75, epsilon: float = 1.0) -> Tensor:
    """Divided by a power of the mean square of its neighbours along axes."""
    x = as_tensor(x)
    at, squares = TensorIndexes(x.rank), x * x
    source, limits = list(at), []
    for axis, size in zip(axes, window_size, strict=True):
        k = TensorIndexes(1)[0]
        source[axis] = at[axis] + k - size // 2
        limits.append(k < size)
    near = Contraction().outShape(*x.shape).outAccess(*at).sum(squares[tuple(source)]).add_constraints(limits).build()
    return x / edsl.pow(near * (alpha / float(np.prod(window_size))) + epsilon, beta)
