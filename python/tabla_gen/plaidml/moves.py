"""Elements by their indices: gathers, between elements too, and scatters that add or replace."""

from __future__ import annotations

import enum
import itertools
from typing import Any

import numpy as np

from tabla_gen.plaidml.indices import TensorIndexes
from tabla_gen.plaidml.shapes import DType, TensorShape, wrong
from tabla_gen.plaidml.sorting import moved
from tabla_gen.plaidml.tensors import Contraction, Tensor, as_tensor, elementwise


class GatherMode(enum.IntEnum):
    """Whether an index is that of an axis, or the last dimension of the indices holds those of several."""

    NORMAL = 0
    ND = 1


class InterpolationMode(enum.IntEnum):
    """The value between two elements."""

    NEAREST = 0
    LINEAR = 1
    CUBIC = 2
    NONE = 3


class NearestMode(enum.IntEnum):
    """The element that is the nearest one."""

    ROUND_PREFER_FLOOR = 0
    ROUND_PREFER_CEIL = 1
    FLOOR = 2
    CEIL = 3
    SIMPLE = 4


class OutOfBoundsMode(enum.IntEnum):
    """The value beyond the ends of an axis: that of the end, or 0."""

    GATHER_EDGE_PADDED = 0
    RETURN_ZERO = 1


class ScatterMode(enum.IntEnum):
    """Sums, or other values for slices, single elements or elements by the coordinates in the last dimension of the indices."""

    NORMAL = 0
    UPDATE_SLICE = 1
    UPDATE_ELT = 2
    UPDATE_ND = 3


def reshape(x: Any, dims: Any) -> Tensor:
    """The same elements, row by row, in another shape; one extent may be -1."""
    x, sizes = as_tensor(x), [int(size) for size in (dims if isinstance(dims, (list, tuple)) else [dims])]
    if sizes.count(-1) == 1:
        rest = int(np.prod([size for size in sizes if size != -1], dtype=np.int64))
        sizes[sizes.index(-1)] = int(np.prod(x.shape, dtype=np.int64)) // rest
    if np.prod(sizes, dtype=np.int64) != np.prod(x.shape, dtype=np.int64):
        raise wrong(f"{list(x.shape)} cannot become {sizes}")
    return x if tuple(sizes) == x.shape else Tensor(TensorShape(x.dtype, sizes), "reshape", [x], sizes=sizes)


def gather(
    x: Any,
    y: Any,
    axis: int = 0,
    mode: GatherMode = GatherMode.NORMAL,
    batch_dims: int = 0,
    interpolation_mode: InterpolationMode = InterpolationMode.NONE,
    nearest_mode: NearestMode = NearestMode.ROUND_PREFER_FLOOR,
    cube_coeff: float = -0.75,
    out_of_bounds_mode: OutOfBoundsMode = OutOfBoundsMode.GATHER_EDGE_PADDED,
) -> Tensor:
    """Slices of `x` along an axis, by the indices in `y`.

    With a mode of interpolation, the indices are real numbers. With `GatherMode.ND`, the last dimension of `y` holds indices into the dimensions of `x`
    behind the first `batch_dims`, which both have.
    """
    x, y = as_tensor(x), as_tensor(y)
    if mode == GatherMode.NORMAL:
        axis = _axis(x, axis)
    if interpolation_mode == InterpolationMode.NONE:
        return _gathered(x, y, axis) if mode == GatherMode.NORMAL else _gathered_nd(x, y, batch_dims)
    options = interpolation_mode, nearest_mode, cube_coeff, out_of_bounds_mode
    if mode == GatherMode.NORMAL:
        shape = [*y.shape, *[1] * (x.rank - axis - 1)]
        values = [(_gathered(x, place, axis), weight) for place, weight in _parts(y, x.shape[axis], *options)]
    else:
        count = y.shape[-1] if y.rank else 0
        if not 1 <= count <= x.rank - batch_dims:
            raise wrong(f"indices of shape {list(y.shape)} do not fit a tensor of shape {list(x.shape)}")
        shape = [*y.shape[:-1], *[1] * (x.rank - batch_dims - count)]
        at = TensorIndexes(y.rank - 1)
        ones = [Contraction().outShape(*y.shape[:-1]).outAccess(*at).assign(y[(*at, n)]).build() for n in range(count)]
        parts = [_parts(one, x.shape[batch_dims + n], *options) for n, one in enumerate(ones)]
        values = [
            (_gathered_nd(x, _stacked([place for place, _ in chosen], y.shape), batch_dims), _product([weight for _, weight in chosen]))
            for chosen in itertools.product(*parts)
        ]
    result: Tensor | None = None
    for value, weight in values:
        part = value if weight is None else elementwise("*", value, reshape(weight, shape), dtype=x.dtype)
        result = part if result is None else elementwise("+", result, part, dtype=x.dtype)
    assert result is not None
    return result


def _parts(
    y: Tensor, extent: int, mode: InterpolationMode, nearest: NearestMode, coefficient: float, outside: OutOfBoundsMode
) -> list[tuple[Tensor, Tensor | None]]:
    """Elements of an axis, and how much of each there is at the places `y`."""
    floor = elementwise("floor", y)
    parts: list[tuple[Tensor, Tensor | None]]
    if mode == InterpolationMode.NEAREST:
        parts = [(_nearest(y, nearest), None)]
    else:
        t = elementwise("-", y, floor)
        weights = [elementwise("-", 1.0, t), t] if mode == InterpolationMode.LINEAR else _cubic(t, coefficient)
        first = 1 - len(weights) // 2
        parts = [(elementwise("+", floor, float(first + n)), weight) for n, weight in enumerate(weights)]
    result = []
    for place, weight in parts:
        inside = elementwise("min", elementwise("max", place, 0.0), float(extent - 1))
        if outside == OutOfBoundsMode.RETURN_ZERO:
            weight = _product([weight, elementwise("==", place, inside, dtype=y.dtype)])
        result.append((elementwise("ident", inside, dtype=DType.INT32), weight))
    return result


def _product(weights: list[Tensor | None]) -> Tensor | None:
    result: Tensor | None = None
    for weight in weights:
        if weight is not None:
            result = weight if result is None else elementwise("*", result, weight)
    return result


def _stacked(places: list[Tensor], shape: tuple[int, ...]) -> Tensor:
    """Indices of several dimensions, in the last one."""
    number = Tensor(TensorShape(DType.INT32, [len(places)]), "index", sizes=[len(places)], axis=0)
    result: Tensor | None = None
    for n, place in enumerate(places):
        one = elementwise("*", reshape(place, [*shape[:-1], 1]), elementwise("==", number, n), dtype=DType.INT32)
        result = one if result is None else elementwise("+", result, one)
    assert result is not None
    return result


def _axis(x: Tensor, axis: int) -> int:
    counted = axis + x.rank if axis < 0 else axis
    if not 0 <= counted < x.rank:
        raise wrong(f"there is no axis {axis} in {list(x.shape)}")
    return counted


def _gathered(x: Tensor, y: Tensor, axis: int) -> Tensor:
    shape = x.shape[:axis] + y.shape + x.shape[axis + 1 :]
    return Tensor(TensorShape(x.dtype, shape), "gather", [x, y], axis=axis)


def _gathered_nd(x: Tensor, y: Tensor, batch: int) -> Tensor:
    count = y.shape[-1] if y.rank else 0
    if not 0 <= batch < y.rank or not 1 <= count <= x.rank - batch or x.shape[:batch] != y.shape[:batch]:
        raise wrong(f"indices of shape {list(y.shape)} do not fit a tensor of shape {list(x.shape)}, {batch} dimensions of both being the same")
    shape = y.shape[:-1] + x.shape[batch + count :]
    return Tensor(TensorShape(x.dtype, shape), "gather_nd", [x, y], batch=batch)


def _nearest(y: Tensor, mode: NearestMode) -> Tensor:
    if mode == NearestMode.ROUND_PREFER_FLOOR:
        return elementwise("ceil", elementwise("-", y, 0.5))
    if mode == NearestMode.ROUND_PREFER_CEIL:
        return elementwise("floor", elementwise("+", y, 0.5))
    if mode == NearestMode.SIMPLE:
        return elementwise("select", elementwise("<", y, 0.0), elementwise("ceil", y), elementwise("floor", y), dtype=y.dtype)
    return elementwise("floor" if mode == NearestMode.FLOOR else "ceil", y)


def _cubic(t: Tensor, a: float) -> list[Tensor]:
    """Weights of the four elements around a place, `t` behind the second one."""

    def polynomial(x: Any, *coefficients: float) -> Tensor:
        result = as_tensor(coefficients[0])
        for coefficient in coefficients[1:]:
            result = elementwise("+", elementwise("*", result, x), coefficient)
        return result

    back = elementwise("-", 1.0, t)
    far, near = (a, -5 * a, 8 * a, -4 * a), (a + 2, -a - 3, 0.0, 1.0)
    return [polynomial(elementwise("+", t, 1.0), *far), polynomial(t, *near), polynomial(back, *near), polynomial(elementwise("+", back, 1.0), *far)]


def scatter(x: Any, y: Any, z: Any, axis: int = 0, mode: ScatterMode = ScatterMode.NORMAL) -> Tensor:
    """Values `x` at the indices in `y`.

    By default, sums of slices; `z` is how many slices there are, or a tensor of the shape of the result, or with its first extent. In the other
    modes, `z` with other values: of several for one element, the last one.
    """
    x, y = as_tensor(x), as_tensor(y)
    if mode != ScatterMode.NORMAL:
        return _updated(x, y, as_tensor(z), axis, mode)
    size = z.shape[0] if isinstance(z, Tensor) and z.rank else int(z.operands[0] if isinstance(z, Tensor) else z)
    if x.shape[: y.rank] != y.shape:
        raise wrong(f"{list(x.shape)} does not begin with the shape {list(y.shape)} of the indices")
    return Tensor(TensorShape(x.dtype, (size, *x.shape[y.rank :])), "scatter", [x, y], size=size)


def _updated(x: Tensor, y: Tensor, z: Tensor, axis: int, mode: ScatterMode) -> Tensor:
    axis = _axis(z, axis)
    if mode == ScatterMode.UPDATE_ND:
        count = y.shape[-1] if y.rank else 0
        if not 1 <= count <= z.rank or x.shape != y.shape[:-1] + z.shape[count:]:
            raise wrong(f"updates of shape {list(x.shape)} do not fit indices of shape {list(y.shape)} into {list(z.shape)}")
        strides = [int(np.prod(z.shape[n + 1 : count], dtype=np.int64)) for n in range(count)]
        at = TensorIndexes(y.rank)
        places: Tensor | None = None
        for n, stride in enumerate(strides):
            one = Contraction().outShape(*y.shape[:-1]).outAccess(*at[:-1]).assign(y[(*at[:-1], n)]).build()
            scaled = elementwise("*", one, stride)
            places = scaled if places is None else elementwise("+", places, scaled)
        assert places is not None
        flat = reshape(z, [-1, *z.shape[count:]])
        return reshape(_updated(x, places, flat, 0, ScatterMode.UPDATE_SLICE), z.shape)
    front = [axis, *(n for n in range(z.rank) if n != axis)]
    back = [front.index(n) for n in range(z.rank)]
    if mode == ScatterMode.UPDATE_ELT:
        fits = y.shape == x.shape and x.rank == z.rank and all(a <= b for n, (a, b) in enumerate(zip(x.shape, z.shape, strict=True)) if n != axis)
        if not fits:
            raise wrong(f"updates of shape {list(x.shape)} by indices of shape {list(y.shape)} do not fit into {list(z.shape)}")
        x, y, target = moved(x, front), moved(y, front), moved(z, front)
        return moved(_last_of(x, y, target), back)
    if x.shape != z.shape[:axis] + y.shape + z.shape[axis + 1 :]:
        raise wrong(f"slices of shape {list(x.shape)} by indices of shape {list(y.shape)} do not fit into {list(z.shape)} at axis {axis}")
    order = [*range(axis, axis + y.rank), *range(axis), *range(axis + y.rank, x.rank)]
    rows = int(np.prod(y.shape, dtype=np.int64))
    target = moved(z, front)
    x = reshape(moved(x, order), [rows, *target.shape[1:]])
    return moved(_last_of(x, reshape(y, [rows]), target), back)


def _last_of(x: Tensor, y: Tensor, z: Tensor) -> Tensor:
    """`z` with the rows or elements of `x` at the rows that `y` says, the last one counting."""
    size, rows, inner = z.shape[0], x.shape[0], y.shape[1:]
    places = Tensor(TensorShape(DType.INT32, [size, *[1] * y.rank]), "index", sizes=[size, *[1] * y.rank], axis=0)
    numbers = Tensor(TensorShape(DType.INT32, [rows, *[1] * (y.rank - 1)]), "index", sizes=[rows, *[1] * (y.rank - 1)], axis=0)
    # 0, or one more than the number of the update.
    which = elementwise("*", elementwise("==", y, places, dtype=DType.INT32), elementwise("+", numbers, 1))
    row, update, *others = TensorIndexes(2 + len(inner))
    extents = z.shape[1 : 1 + len(inner)]
    last = Contraction().outShape(size, *extents).outAccess(row, *others).max(which[(row, update, *others)]).build()
    hit = elementwise("==", reshape(last, [size, 1, *extents]), elementwise("+", numbers, 1), dtype=x.dtype)
    rest = TensorIndexes(x.rank - y.rank)
    value = (
        Contraction()
        .outShape(*z.shape)
        .outAccess(row, *others, *rest)
        .sum(hit[(row, update, *others)] * x[(update, *others, *rest)])
        .build()
    )
    found = reshape(last, [size, *extents, *[1] * len(rest)])
    return elementwise("select", elementwise("!=", found, 0), value, z, dtype=z.dtype)


__all__ = ["GatherMode", "InterpolationMode", "NearestMode", "OutOfBoundsMode", "ScatterMode", "gather", "reshape", "scatter"]
