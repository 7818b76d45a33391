"""Tensors as they are built: inputs, element-wise operations, moves and contractions, with shapes and types."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tabla_gen.plaidml.indices import Constraint, TensorDim, TensorIndex
from tabla_gen.plaidml.shapes import DType, TensorShape, broadcast, promoted, wrong

_COUNT = itertools.count()


class TensorLens:
    """The order in which a tensor is stored (`source`), for code that is written for another one (`target`): `TensorLens("NCHW", "NHWC")`."""

    def __init__(self, source: str = "", target: str = "") -> None:
        if sorted(source) != sorted(target) or len(set(source)) != len(source):
            raise wrong(f"{source!r} and {target!r} are not two orders of the same dimensions")
        self._places = [target.index(letter) for letter in source]

    def apply(self, dims: Sequence[Any]) -> list[Any]:
        """What is in the target's order, in the order of the source."""
        if self._places and len(self._places) != len(dims):
            raise wrong(f"a lens of {len(self._places)} dimensions is given {len(dims)}")
        return [dims[place] for place in self._places] if self._places else list(dims)


class Tensor:
    """A value of the program. `operation` is "input", "contract", an operator or a function; `operands` are tensors and numbers."""

    __array_priority__ = 1000

    def __init__(
        self,
        shape: TensorShape | None = None,
        operation: str = "input",
        operands: Sequence[Any] = (),
        name: str = "",
        value: Any = None,
        dtype: DType | None = None,
        dims: Sequence[Any] = (),
        **rest: Any,
    ) -> None:
        if value is not None and not isinstance(value, np.ndarray):
            kind = DType.INT32 if isinstance(value, (int, np.integer)) else DType.FLOAT32
            shape, operation, operands = TensorShape(kind), "number", [value]
        elif isinstance(value, np.ndarray):
            shape = TensorShape(DType.from_numpy(value.dtype), value.shape)
        self.known = shape if shape is not None or dtype is None else TensorShape(dtype, dims)
        self.operation, self.operands, self.name, self.rest = operation, list(operands), name, rest
        self.constant = value if isinstance(value, np.ndarray) else None
        self.order = next(_COUNT)
        self.lens = TensorLens()
        self._own: Tensor | None = None

    @property
    def type(self) -> TensorShape:
        """Type and extents."""
        if self.known is None:
            raise wrong("Cannot compute shape: this output has no contraction yet")
        return self.known

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self.type.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        return self.type.sizes

    @property
    def rank(self) -> int:
        """How many dimensions it has."""
        return len(self.shape)

    def compute_shape(self) -> TensorShape:
        """Type and extents."""
        return self.type

    def bind_dims(self, *dims: Any) -> None:
        """Give sizes the extents of this tensor, or compare them."""
        if len(dims) == 1 and isinstance(dims[0], (list, tuple)):
            dims = tuple(dims[0])
        if len(dims) != self.rank:
            raise wrong(f"bind_dims() got {len(dims)} sizes for a tensor of {self.rank} dimensions")
        for size, extent in zip(self.lens.apply(dims), self.shape, strict=True):
            (size if isinstance(size, TensorDim) else TensorDim(int(size))).bind(extent, "the tensor")

    def use(self, lens: TensorLens) -> Tensor:
        """The same tensor, whose dimensions are named in another order."""
        seen = copy.copy(self.own)
        seen.lens, seen._own = lens, self.own
        return seen

    @property
    def own(self) -> Tensor:
        """The tensor itself, without a lens."""
        return self if self._own is None else self._own

    def element(self, ordinal: int) -> Tensor:
        """A value that has one element only: itself."""
        if ordinal:
            raise wrong(f"there is no element {ordinal}")
        return self

    def __getitem__(self, key: Any) -> IndexedTensor:
        return IndexedTensor("", [(self.own, self.lens.apply(as_list(key)))], self.own)

    def __hash__(self) -> int:
        return id(self)

    def __bool__(self) -> bool:
        raise wrong("a tensor has no truth value while the program is built: use select(condition, yes, no)")

    def __repr__(self) -> str:
        return f"<Tensor {self.known!r} {self.name}>"

    # The older syntax: what follows the contraction of an output.
    def add_constraint(self, constraint: Constraint) -> None:
        """Only indices with `0 <= lhs < rhs` are valid."""
        self.rest["constraints"].append(constraint)

    def add_constraints(self, constraints: Sequence[Constraint]) -> None:
        """The same for several."""
        self.rest["constraints"].extend(constraints)

    def use_default(self, tensor: Tensor) -> Tensor:
        """Elements without a valid index are those of this tensor."""
        self.rest["default"] = tensor
        self.order = next(_COUNT)
        return self

    def no_reduce(self) -> Tensor:
        """Accepted: how a program is optimised is decided elsewhere."""
        return self

    no_defract = no_reduce
    useDefault = use_default

    def __setitem__(self, key: Any, value: Any) -> None:
        operator, body = value if isinstance(value, tuple) else ("=", value)
        if operator is not None:
            contract(self, as_list(key), operator, body)


class TensorOutput(Tensor):
    """The result of a contraction that follows: `O = TensorOutput(M, N)`, `O[i, j] += A[i, k] * B[k, j]`."""

    def __init__(self, *dims: Any, name: str = "") -> None:
        super().__init__(name=name)
        self.operation = "declared"
        self.dims = as_list(dims[0]) if len(dims) == 1 and isinstance(dims[0], (list, tuple)) else list(dims)
        self.rest = {"constraints": [], "default": None}


class IndexedTensor:
    """Elements of tensors in a contraction: one, or up to three combined."""

    def __init__(self, combination: str, accesses: list[tuple[Tensor, list[Any]]], target: Tensor | None = None) -> None:
        self.combination, self.accesses, self.target = combination, accesses, target

    def _with(self, operator: str, other: Any) -> IndexedTensor:
        return IndexedTensor(operator, self.accesses + as_access(other).accesses)

    def __mul__(self, other: Any) -> IndexedTensor:
        return self._with("*", other)

    def __add__(self, other: Any) -> IndexedTensor:
        return self._with("+", other)

    __rmul__, __radd__ = __mul__, __add__

    def __eq__(self, other: object) -> IndexedTensor:  # type: ignore[override]
        return self._with("==", other)

    def __hash__(self) -> int:
        return id(self)

    def __iadd__(self, other: Any) -> Any:
        return ("+=", other)

    def __imul__(self, other: Any) -> Any:
        return ("*=", other)

    def __ge__(self, other: Any) -> None:
        self._contract(">=", other)

    def __le__(self, other: Any) -> None:
        self._contract("<=", other)

    def _contract(self, operator: str, body: Any) -> None:
        if self.target is None:
            raise wrong(f"the left side of `{operator}` is an element of an output")
        contract(self.target, self.accesses[0][1], operator, body)


def cond(lhs: IndexedTensor, rhs: IndexedTensor, true_case: Any) -> IndexedTensor:
    """`true_case` where the elements are equal, else 0."""
    return IndexedTensor("cond", lhs.accesses + rhs.accesses + as_access(true_case).accesses)


def as_list(value: Any) -> list[Any]:
    """A list of one or more."""
    return list(value) if isinstance(value, (list, tuple)) else [value]


def as_tensor(value: Any) -> Tensor:
    """A tensor, of a number if need be."""
    if isinstance(value, Tensor):
        return value.own
    if isinstance(value, TensorDim):
        return Tensor(value=int(value))
    if isinstance(value, np.ndarray) and value.ndim:
        return Tensor(value=value, name="constant")
    if isinstance(value, (bool, int, float, np.generic, np.ndarray)):
        return Tensor(value=value.item() if isinstance(value, (np.generic, np.ndarray)) else value)
    raise wrong(f"{value!r} is neither a tensor nor a number")


def as_access(value: Any) -> IndexedTensor:
    """An element; of a scalar, its only one."""
    return value if isinstance(value, IndexedTensor) else IndexedTensor("", [(as_tensor(value), [])])


def contract(target: Tensor, index: list[Any], operator: str, body: Any) -> None:
    """Give an output its contraction."""
    if target.operation != "declared":
        raise wrong("the left side of a contraction is an output that has none yet")
    access = as_access(body)
    shape = [int(size) for size in target.dims]  # type: ignore[attr-defined]
    for what, rank, given in [("the output", len(shape), index), *((t, t.rank, i) for t, i in access.accesses)]:
        if rank != len(given):
            raise wrong(f"{what} has {rank} dimensions, {len(given)} indices are given")
        if not all(isinstance(part, (int, TensorDim, TensorIndex)) for part in given):
            raise wrong("indices are made of TensorIndex, TensorDim and integers")
    kinds = [t.dtype for t, _ in access.accesses]
    counted = DType.INT32 if operator in ("+=", "*=") else DType.BOOLEAN
    kind = counted if access.combination == "==" else kinds[-1] if access.combination == "cond" else promoted(kinds)
    target.known = TensorShape(kind, shape)
    target.operation, target.operands = "contract", [tensor for tensor, _ in access.accesses]
    target.rest.update(index=index, operator=operator, access=access)
    # In the text, what it reads stands before it.
    target.order = next(_COUNT)


class Contraction:
    """`Contraction().outShape(M, N).outAccess(i, j).sum(A[i, k] * B[k, j]).build()`"""

    def __init__(self, lens: TensorLens | str | None = None, name: str = "") -> None:
        self._lens = lens if isinstance(lens, TensorLens) else TensorLens()
        self._name, self._shape, self._index = lens if isinstance(lens, str) else name, [], []
        self._operator, self._body = "", None
        self._constraints: list[Constraint] = []
        self._default: Tensor | None = None

    def outShape(self, *dims: Any) -> Contraction:
        """The extents of the result."""
        self._shape = as_list(dims[0]) if len(dims) == 1 else list(dims)
        return self

    def outAccess(self, *indices: Any) -> Contraction:
        """The element that is written."""
        self._index = as_list(indices[0]) if len(indices) == 1 else list(indices)
        return self

    def _aggregate(self, operator: str, body: Any) -> Contraction:
        self._operator, self._body = operator, body
        return self

    def sum(self, body: Any) -> Contraction:
        """Add over all valid indices."""
        return self._aggregate("+=", body)

    def product(self, body: Any) -> Contraction:
        """Multiply over all valid indices."""
        return self._aggregate("*=", body)

    def max(self, body: Any) -> Contraction:
        """The largest over all valid indices."""
        return self._aggregate(">=", body)

    def min(self, body: Any) -> Contraction:
        """The smallest over all valid indices."""
        return self._aggregate("<=", body)

    def assign(self, body: Any) -> Contraction:
        """The only valid one."""
        return self._aggregate("=", body)

    def init(self, tensor: Any) -> Contraction:
        """Elements without a valid index are those of this tensor."""
        self._default = as_tensor(tensor)
        return self

    def add_constraint(self, constraint: Constraint) -> Contraction:
        """Only indices with `0 <= lhs < rhs` are valid."""
        self._constraints.append(constraint)
        return self

    def add_constraints(self, constraints: Sequence[Constraint]) -> Contraction:
        """The same for several."""
        self._constraints.extend(constraints)
        return self

    def simplify(self, _flag: bool) -> Contraction:
        """Accepted: how a program is optimised is decided elsewhere."""
        return self

    def build(self) -> Tensor:
        """The result."""
        if not self._operator:
            raise wrong("this contraction has no value: call sum, product, max, min or assign")
        target = TensorOutput(*self._lens.apply(self._shape), name=self._name)
        target.rest = {"constraints": self._constraints, "default": self._default}
        contract(target, self._lens.apply(self._index), self._operator, self._body)
        return target


def elementwise(operation: str, *operands: Any, dtype: DType | None = None) -> Tensor:
    """One operation on each element."""
    tensors = [as_tensor(operand) for operand in operands]
    # The type of a number gives way to that of a tensor of its kind.
    own = [t.dtype for t in tensors if t.operation != "number"]
    numbers = [t.dtype for t in tensors if t.operation == "number"]
    if any(t.is_float for t in own) or (all(t is DType.INT32 for t in numbers) and any(t is not DType.BOOLEAN for t in own)):
        numbers = []
    kind = promoted([*own, *numbers]) if dtype is None else dtype
    return Tensor(TensorShape(kind, broadcast(t.shape for t in tensors)), operation, tensors)
