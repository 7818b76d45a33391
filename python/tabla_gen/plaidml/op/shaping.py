"""Other shapes and orders of the same elements."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

from tabla_gen.plaidml import edsl, sorting
from tabla_gen.plaidml.indices import TensorIndexes
from tabla_gen.plaidml.op.reductions import axes_of
from tabla_gen.plaidml.shapes import TensorShape, wrong
from tabla_gen.plaidml.tensors import Contraction, Tensor, as_list, as_tensor


class AutoDimMode(enum.IntEnum):
    """Extents that follow from the others."""

    MATCH = 0
    FILL = -1


def reshape(x: Any, shape: Sequence[Any]) -> Tensor:
    """Another shape; 0 keeps an extent, -1 is what is left."""
    x = as_tensor(x)
    return edsl.reshape(x, [x.shape[n] if int(size) == 0 else int(size) for n, size in enumerate(as_list(shape))])


def squeeze(x: Any, axis: Any = None) -> Tensor:
    """Without these axes of one element."""
    x = as_tensor(x)
    gone = [a for a, size in enumerate(x.shape) if size == 1] if axis is None else axes_of(x, axis)
    if any(x.shape[a] != 1 for a in gone):
        raise wrong(f"an axis of {list(x.shape)} has more than one element")
    return edsl.reshape(x, [size for a, size in enumerate(x.shape) if a not in gone])


def unsqueeze(x: Any, axes: Any) -> Tensor:
    """With axes of one element at these places."""
    x, places = as_tensor(x), as_list(axes)
    rank = x.rank + len(places)
    places = [a + rank if a < 0 else a for a in places]
    rest = iter(x.shape)
    return edsl.reshape(x, [1 if a in places else next(rest) for a in range(rank)])


expand_dims = unsqueeze


def transpose(x: Any, pattern: Sequence[int] | None = None) -> Tensor:
    """Dimensions in another order, by default the opposite one."""
    x = as_tensor(x)
    axes = list(range(x.rank))[::-1] if pattern is None else [int(a) + x.rank if a < 0 else int(a) for a in pattern]
    if sorted(axes) != list(range(x.rank)):
        raise wrong(f"{pattern} is no order of {x.rank} dimensions")
    return sorting.moved(x, axes)


def flip(x: Any, axis: Any = None) -> Tensor:
    """Backwards along axes."""
    x = as_tensor(x)
    turned, at = axes_of(x, axis), TensorIndexes(x.rank)
    source = [x.shape[a] - 1 - at[a] if a in turned else at[a] for a in range(x.rank)]
    return Contraction().outShape(*x.shape).outAccess(*at).assign(x[tuple(source)]).build()


def concatenate(tensors: Sequence[Any], axis: int = -1) -> Tensor:
    """One after the other along an axis."""
    parts = [as_tensor(t) for t in tensors]
    (axis,) = axes_of(parts[0], axis)
    shape = list(parts[0].shape)
    if any(t.rank != len(shape) or [n for a, n in enumerate(t.shape) if a != axis] != shape[:axis] + shape[axis + 1 :] for t in parts):
        raise wrong(f"shapes {', '.join(str(list(t.shape)) for t in parts)} differ beside axis {axis}")
    shape[axis] = int(np.sum([t.shape[axis] for t in parts]))
    result, begin = None, 0
    for part in parts:
        at = TensorIndexes(len(shape))
        place = [at[a] + begin if a == axis else at[a] for a in range(len(shape))]
        contraction = Contraction().outShape(*shape).outAccess(*place).assign(part[tuple(at)])
        result = (contraction if result is None else contraction.init(result)).build()
        begin += part.shape[axis]
    if result is None:
        raise wrong("there is nothing to concatenate")
    return result


def repeat(x: Any, repeats: int, axis: int) -> Tensor:
    """Each element several times along an axis."""
    x = as_tensor(x)
    (axis,) = axes_of(x, axis)
    at, k = TensorIndexes(x.rank), TensorIndexes(1)[0]
    shape = [n * repeats if a == axis else n for a, n in enumerate(x.shape)]
    place = [at[a] * repeats + k if a == axis else at[a] for a in range(x.rank)]
    return Contraction().outShape(*shape).outAccess(*place).assign(x[tuple(at)]).add_constraint(k < repeats).build()


def tile(x: Any, n: Sequence[int]) -> Tensor:
    """The whole several times along each axis."""
    x, counts = as_tensor(x), [int(count) for count in as_list(n)]
    at, copies = TensorIndexes(x.rank), TensorIndexes(x.rank)
    place = [at[a] + copies[a] * x.shape[a] for a in range(x.rank)]
    shape = [size * count for size, count in zip(x.shape, counts, strict=True)]
    contraction = Contraction().outShape(*shape).outAccess(*place).assign(x[tuple(at)])
    return contraction.add_constraints([k < count for k, count in zip(copies, counts, strict=True)]).build()


def broadcast(x: Any, shape: Sequence[int], axes: Sequence[int] | None = None) -> Tensor:
    """The same elements along new or widened axes; `axes` says which of the result's axes are those of `x`."""
    x, sizes = as_tensor(x), [int(size) for size in shape]
    own = list(range(len(sizes) - x.rank, len(sizes))) if axes is None else list(axes)
    at = TensorIndexes(len(sizes))
    source = [0 if n == 1 else at[a] for a, n in zip(own, x.shape, strict=True)]
    if any(n not in (1, sizes[a]) for a, n in zip(own, x.shape, strict=True)):
        raise wrong(f"{list(x.shape)} does not widen to {sizes}")
    # Every index has a bound.
    ones = Contraction().outShape(*sizes).outAccess(*at).assign(x[tuple(source)])
    return ones.build()


def slice_of(x: Any, slices: Sequence[Any]) -> Tensor:
    """Elements by an index, a slice or (start, stop, step) per axis."""
    x = as_tensor(x)
    shape, source, at = [], [], iter(TensorIndexes(x.rank))
    for part, extent in zip([*slices, *[slice(None)] * (x.rank - len(slices))], x.shape, strict=True):
        if isinstance(part, int):
            source.append(part + extent if part < 0 else part)
            continue
        start, _, step = (part if isinstance(part, slice) else slice(*part)).indices(extent)
        count = len(range(extent)[part if isinstance(part, slice) else slice(*part)])
        shape.append((index := next(at), count))
        source.append(index * step + start)
    if any(count < 1 for _, count in shape):
        raise wrong("a slice has no elements")
    return Contraction().outShape(*(n for _, n in shape)).outAccess(*(i for i, _ in shape)).assign(x[tuple(source)]).build()


def explicit_padding(x: Any, lo_pads: Sequence[int], hi_pads: Sequence[int], mode: str = "constant", padval: Any = 0.0) -> Tensor:
    """With more elements around: a constant, the edge, or mirrored with (symmetric) or without it (reflect)."""
    x, lo, hi = as_tensor(x), [int(n) for n in lo_pads], [int(n) for n in hi_pads]
    mode = str(mode).rsplit(".", maxsplit=1)[-1].lower()
    if mode != "constant":
        for axis, (before, after) in enumerate(zip(lo, hi, strict=True)):
            if before or after:
                places = np.pad(np.arange(x.shape[axis]), (before, after), mode=mode)  # type: ignore[call-overload]
                rows = [slice_of(x, [*[slice(None)] * axis, slice(int(p), int(p) + 1)]) for p in places]
                x = concatenate(rows, axis)
        return x
    at = TensorIndexes(x.rank)
    shape = [before + n + after for before, n, after in zip(lo, x.shape, hi, strict=True)]
    contraction = Contraction().outShape(*shape).outAccess(*(i + n for i, n in zip(at, lo, strict=True)))
    contraction.assign(x[tuple(at)])
    if isinstance(padval, Tensor) or padval != 0:
        zeros = edsl.cast(edsl.index(shape, 0), x.dtype) * 0.0 if shape else as_tensor(0.0)
        contraction.init(zeros + padval)
    return contraction.build()


def sort(x: Any, axis: int | None = -1, direction: edsl.SortDirection = edsl.SortDirection.ASC) -> Tensor:
    """In order along an axis, by default the last."""
    return sorting.order(as_tensor(x), -1 if axis is None else axis, direction == edsl.SortDirection.DESC)[0]


def topk(x: Any, k: int, axis: int = -1, direction: edsl.SortDirection = edsl.SortDirection.DESC) -> tuple[Tensor, Tensor]:
    """The first `k` in order along an axis, and their indices."""
    x = as_tensor(x)
    (axis,) = axes_of(x, axis)
    if not 1 <= k <= x.shape[axis]:
        raise wrong(f"an axis of {x.shape[axis]} elements has no first {k}")
    part = [*[slice(None)] * axis, slice(0, k)]
    values, places = sorting.order(x, axis, direction == edsl.SortDirection.DESC)
    return slice_of(values, part), slice_of(places, part)


def reorg_yolo(x: Any, stride: int, decrease: bool, layout: str = "NCHW") -> Tensor:
    """Blocks of pixels as channels (`decrease`), or channels as blocks."""
    x = as_tensor(x)
    if str(layout).upper() == "NHWC":
        return transpose(reorg_yolo(transpose(x, [0, 3, 1, 2]), stride, decrease), [0, 2, 3, 1])
    n, c, h, w = x.shape
    if decrease:
        inner = reshape(x, [n, c, h // stride, stride, w // stride, stride])
        return reshape(transpose(inner, [0, 3, 5, 1, 2, 4]), [n, c * stride * stride, h // stride, w // stride])
    inner = reshape(x, [n, stride, stride, c // (stride * stride), h, w])
    return reshape(transpose(inner, [0, 3, 4, 1, 5, 2]), [n, c // (stride * stride), h * stride, w * stride])


def one_hot(x: Any, depth: int) -> Tensor:
    """1 at the index that an element says, along a new last axis."""
    x = as_tensor(x)
    return edsl.cast(unsqueeze(x, -1) == edsl.index([*([1] * x.rank), depth], x.rank), edsl.DType.FLOAT32)


def zeros(dtype: edsl.DType, shape: Sequence[int]) -> Tensor:
    """All elements 0."""
    result = edsl.index(list(shape), 0) * 0 if shape else as_tensor(0)
    result.known = TensorShape(dtype, shape)
    return result
