"""Element types and shapes."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tabla_gen import errors


def wrong(message: str) -> errors.UsageError:
    """A mistake in calls of the library."""
    return errors.UsageError(message, "E-USAGE")


class DType(enum.IntEnum):
    """Element types."""

    INVALID = 0
    BOOLEAN = 1
    INT8 = 2
    UINT8 = 3
    INT16 = 4
    UINT16 = 5
    INT32 = 6
    UINT32 = 7
    INT64 = 8
    UINT64 = 9
    BFLOAT16 = 10
    FLOAT16 = 11
    FLOAT32 = 12
    FLOAT64 = 13

    @property
    def bits(self) -> int:
        """Bits of an element."""
        return 1 if self is DType.BOOLEAN else 16 if self is DType.BFLOAT16 else self.into_numpy().itemsize * 8

    @property
    def is_float(self) -> bool:
        """Whether elements are real numbers."""
        return self >= DType.BFLOAT16

    @property
    def is_signed(self) -> bool:
        """Whether elements are integers with a sign."""
        return self in (DType.INT8, DType.INT16, DType.INT32, DType.INT64)

    @property
    def word(self) -> str:
        """As Tile spells it."""
        return "bool" if self is DType.BOOLEAN else self.name.lower().removeprefix("b")

    def into_numpy(self) -> np.dtype:
        """The type of an array."""
        return np.dtype({"BOOLEAN": "bool", "BFLOAT16": "float32"}.get(self.name, self.name.lower()))

    @classmethod
    def from_numpy(cls, dtype: Any) -> DType:
        """The type that an array has."""
        return cls[{"bool": "BOOLEAN"}.get(np.dtype(dtype).name, np.dtype(dtype).name.upper())]


def promoted(types: Iterable[DType]) -> DType:
    """The common type: the widest float; of integers the widest, with a sign if one has it."""
    known = list(types)
    floats = [t for t in known if t.is_float]
    if floats:
        return max(floats, key=lambda t: (t.bits, t))
    integers = [t for t in known if t is not DType.BOOLEAN]
    if not integers:
        return DType.BOOLEAN
    bits = max(t.bits for t in integers)
    return DType[("INT" if any(t.is_signed for t in integers) else "UINT") + str(bits)]


class TensorShape:
    """An element type and extents."""

    def __init__(self, dtype: DType = DType.FLOAT32, sizes: Sequence[Any] = ()) -> None:
        self.dtype = DType(dtype)
        self.sizes = tuple(int(size) for size in sizes)
        if any(size < 1 for size in self.sizes):
            raise wrong(f"extents are known and at least 1, not {list(self.sizes)}: shapes are static")

    @property
    def rank(self) -> int:
        """How many dimensions there are."""
        return len(self.sizes)

    ndims = rank

    @property
    def int_dims(self) -> tuple[int, ...]:
        """The extents."""
        return self.sizes

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorShape) and (self.dtype, self.sizes) == (other.dtype, other.sizes)

    def __hash__(self) -> int:
        return hash((self.dtype, self.sizes))

    def __repr__(self) -> str:
        return "x".join([*map(str, self.sizes), self.dtype.name.lower()])


def broadcast(shapes: Iterable[Sequence[int]]) -> tuple[int, ...]:
    """The common shape of an element-wise operation."""
    known = [tuple(shape) for shape in shapes]
    try:
        return np.broadcast_shapes(*known)
    except ValueError:
        raise wrong(f"shapes {' and '.join(map(str, map(list, known)))} do not fit together") from None
