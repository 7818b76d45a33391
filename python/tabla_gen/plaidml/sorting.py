"""Sorting without comparisons in order: each element's rank is how many come before it."""

from __future__ import annotations

from tabla_gen.plaidml.indices import TensorIndexes
from tabla_gen.plaidml.shapes import DType, wrong
from tabla_gen.plaidml.tensors import Contraction, Tensor, elementwise


def moved(x: Tensor, axes: list[int]) -> Tensor:
    """The tensor with its dimensions in this order."""
    if axes == list(range(x.rank)):
        return x
    at = TensorIndexes(x.rank)
    return (
        Contraction().outShape(*(x.shape[a] for a in axes)).outAccess(*(at[a] for a in axes)).assign(x[tuple(at)]).build()
    )


def order(x: Tensor, axis: int, descending: bool) -> tuple[Tensor, Tensor]:
    """The sorted elements along an axis, and their former indices; equal elements keep their order."""
    from tabla_gen.plaidml.edsl import index, reshape

    axis = axis + x.rank if axis < 0 else axis
    if not 0 <= axis < x.rank:
        raise wrong(f"there is no axis {axis} in {list(x.shape)}")
    last = [a for a in range(x.rank) if a != axis] + [axis]
    back = [last.index(a) for a in range(x.rank)]
    x = moved(x, last)
    *rest, n = x.shape
    own, other = reshape(x, [*rest, n, 1]), reshape(x, [*rest, 1, n])
    first = elementwise(">" if descending else "<", other, own)
    tie = elementwise("*", elementwise("==", other, own), elementwise("<", index([n, n], 1), index([n, n], 0)))
    before = elementwise("+", first, tie, dtype=DType.INT32)
    *at, i, r = TensorIndexes(len(rest) + 2)
    rank = Contraction().outShape(*rest, n).outAccess(*at, i).sum(before[(*at, i, r)]).build()
    # One where the element of rank r is.
    place = elementwise("==", reshape(rank, [*rest, n, 1]), index([n, n], 1), dtype=x.dtype)
    values = Contraction().outShape(*rest, n).outAccess(*at, r).sum(place[(*at, i, r)] * x[(*at, i)]).build()
    places = elementwise("ident", place, dtype=DType.INT32)
    indices = Contraction().outShape(*rest, n).outAccess(*at, r).sum(places[(*at, i, r)] * index([n], 0)[i]).build()
    return moved(values, back), moved(indices, back)
