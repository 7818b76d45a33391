"""The language: sizes, indices, contractions and element-wise functions, as PlaidML's files import them.

>>> import numpy as np
>>> from tabla_gen.plaidml.edsl import *
>>> A, B = Placeholder(DType.FLOAT32, [2, 3], name="A"), Placeholder(DType.FLOAT32, [3, 2], name="B")
>>> I, J, K = TensorDims(3)
>>> i, j, k = TensorIndexes(3)
>>> A.bind_dims(I, K); B.bind_dims(K, J)
>>> C = Contraction().outShape(I, J).outAccess(i, j).sum(A[i, k] * B[k, j]).build()
>>> Program("product", [A, B], [relu(C - 1.0)]).run([np.ones((2, 3)), np.eye(3, 2)])[0].tolist()
[[0.0, 0.0], [0.0, 0.0]]
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

from tabla_gen.plaidml.indices import Constraint, TensorDim, TensorDims, TensorIndex, TensorIndexes
from tabla_gen.plaidml.moves import GatherMode, InterpolationMode, NearestMode, OutOfBoundsMode, ScatterMode, gather, reshape, scatter
from tabla_gen.plaidml.program import Buffer, Program
from tabla_gen.plaidml.shapes import DType, TensorShape, wrong
from tabla_gen.plaidml.tensors import (
    Contraction,
    IndexedTensor,
    Tensor,
    TensorLens,
    TensorOutput,
    as_list,
    as_tensor,
    cond,
    elementwise,
)
from tabla_gen.plaidml.text import wrap_of

LogicalShape = TensorShape


class SortDirection(enum.IntEnum):
    """Smallest or largest first."""

    ASC = 0
    DESC = 1


def Placeholder(dtype_or_shape: Any, dims: Sequence[Any] = (), name: str = "") -> Tensor:
    """An input of the program."""
    is_shape = isinstance(dtype_or_shape, TensorShape)
    return Tensor(dtype_or_shape if is_shape else TensorShape(dtype_or_shape, dims), name=name)


def Constant(buffer: Any, dims: Sequence[Any] = (), name: str = "") -> Tensor:
    """An input whose values the program brings."""
    values = np.asarray(buffer.as_ndarray() if isinstance(buffer, Buffer) else buffer)
    return Tensor(value=values.reshape(tuple(dims)) if dims else values, name=name or "constant")


def _wrapped(result: Tensor) -> Tensor:
    """Integers of 8 and 16 bits go round after each operation."""
    kind = result.dtype
    if wrap_of(kind) is None:
        return result
    size = float(1 << kind.bits)
    if not kind.is_signed:
        return elementwise("%", result, size, dtype=kind)
    return elementwise("-", elementwise("%", elementwise("+", result, size / 2, dtype=kind), size, dtype=kind), size / 2, dtype=kind)


def _ring(symbol: str) -> Any:
    return lambda a, b: _wrapped(elementwise(symbol, a, b))


def _bits(symbol: str) -> Any:
    def apply(a: Any, b: Any) -> Tensor:
        result = elementwise(symbol, a, b)
        if result.dtype.is_float:
            raise wrong(f"`{symbol}` is an operation on integers")
        return _wrapped(result) if symbol == "<<" else result

    return apply


def _compare(symbol: str) -> Any:
    return lambda a, b: elementwise(symbol, a, b, dtype=DType.BOOLEAN)


def _divide(a: Any, b: Any) -> Tensor:
    """Of integers the quotient towards zero."""
    result = elementwise("/", a, b)
    if result.dtype.is_float:
        return result
    return trunc(result) if result.dtype.is_signed else elementwise("//", a, b)


def trunc(x: Any) -> Tensor:
    """Towards zero."""
    x = as_tensor(x)
    return elementwise("select", elementwise("<", x, 0.0), elementwise("ceil", x), elementwise("floor", x), dtype=x.dtype)


def _remainder(a: Any, b: Any) -> Tensor:
    """With the sign of the dividend, as in C."""
    result = elementwise("%", a, b)
    unsigned = not result.dtype.is_float and not result.dtype.is_signed
    return result if unsigned else elementwise("-", a, elementwise("*", b, trunc(elementwise("/", a, b))), dtype=result.dtype)


def _invert(x: Any) -> Tensor:
    x = as_tensor(x)
    if x.dtype.is_float:
        raise wrong("`~` is an operation on integers")
    if x.dtype is DType.BOOLEAN:
        return logical_not(x)
    if x.dtype.is_signed:
        return elementwise("~", x)
    if x.dtype.bits > 32:
        raise wrong("`~` of 64 bits without sign leaves the 53 bits of a number")
    return elementwise("-", float((1 << x.dtype.bits) - 1), x, dtype=x.dtype)


INTRINSICS: dict[str, Any] = {
    "add": _ring("+"),
    "sub": _ring("-"),
    "mul": _ring("*"),
    "div": _divide,
    "mod": _remainder,
    "neg": lambda x: _wrapped(elementwise("neg", x)),
    "bit_and": _bits("&"),
    "bit_or": _bits("|"),
    "bit_xor": _bits("^"),
    "bit_shl": _bits("<<"),
    "bit_shr": _bits(">>"),
    "bit_not": _invert,
    "cmp_eq": _compare("=="),
    "cmp_ne": _compare("!="),
    "cmp_lt": _compare("<"),
    "cmp_le": _compare("<="),
    "cmp_gt": _compare(">"),
    "cmp_ge": _compare(">="),
}
"""Operations by the names that PlaidML gives them."""


def intrinsic(name: str, *operands: Any) -> Tensor:
    """An operation by its name."""
    known = INTRINSICS.get(name) or globals().get(name)
    if known is None:
        raise wrong(f"there is no operation {name!r}")
    return known(*operands)


def _methods() -> None:
    pairs = {
        "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "mod": "mod", "and": "bit_and", "or": "bit_or",
        "xor": "bit_xor", "lshift": "bit_shl", "rshift": "bit_shr",
    }  # fmt: skip
    for method, name in pairs.items():
        setattr(Tensor, f"__{method}__", lambda a, b, n=name: INTRINSICS[n](a, b))
        setattr(Tensor, f"__r{method}__", lambda a, b, n=name: INTRINSICS[n](b, a))
    for method in ("eq", "ne", "lt", "le", "gt", "ge"):
        setattr(Tensor, f"__{method}__", lambda a, b, n=f"cmp_{method}": INTRINSICS[n](a, b))
    for method, name in {"neg": "neg", "invert": "bit_not"}.items():
        setattr(Tensor, f"__{method}__", lambda a, n=name: INTRINSICS[n](a))


_methods()


def _real(name: str) -> Any:
    def function(x: Any) -> Tensor:
        kind = as_tensor(x).dtype
        keeps = kind.is_float or name in ("abs", "ceil", "floor", "round")
        return elementwise(name, x, dtype=kind if keeps else DType.FLOAT32)

    function.__name__, function.__doc__ = name, f"`{name}` of each element."
    return function


abs, ceil, floor, round = map(_real, ("abs", "ceil", "floor", "round"))
acos, acosh, asin, asinh, atan, atanh = map(_real, ("acos", "acosh", "asin", "asinh", "atan", "atanh"))
cos, cosh, sin, sinh, tan, tanh = map(_real, ("cos", "cosh", "sin", "sinh", "tan", "tanh"))
erf, exp, log, sigmoid, sqrt = map(_real, ("erf", "exp", "log", "sigmoid", "sqrt"))


def max(x: Any, y: Any) -> Tensor:
    """The larger of two elements."""
    return elementwise("max", x, y)


def min(x: Any, y: Any) -> Tensor:
    """The smaller of two elements."""
    return elementwise("min", x, y)


def pow(x: Any, y: Any) -> Tensor:
    """`x` to the power of `y`."""
    return elementwise("pow", x, y)


def select(condition: Any, true_case: Any, false_case: Any) -> Tensor:
    """One of two elements, by a condition."""
    kind = elementwise("+", true_case, false_case).dtype
    return elementwise("select", condition, true_case, false_case, dtype=kind)


def logical_and(x: Any, y: Any) -> Tensor:
    """Whether neither is 0."""
    return elementwise("logical_and", x, y, dtype=DType.BOOLEAN)


def logical_or(x: Any, y: Any) -> Tensor:
    """Whether one is not 0."""
    return elementwise("logical_or", x, y, dtype=DType.BOOLEAN)


def logical_not(x: Any) -> Tensor:
    """Whether it is 0."""
    return elementwise("logical_not", x, dtype=DType.BOOLEAN)


def relu(x: Any) -> Tensor:
    """0 below 0."""
    return select(as_tensor(x) < 0.0, 0.0, x)


def ident(x: Any) -> Tensor:
    """The same value."""
    return elementwise("ident", x)


def layer(_name: str, _operands: Any, function: Any) -> Any:
    """The value of a function; how operations are grouped changes nothing."""
    return function()


def trace(x: Any, _message: str) -> Tensor:
    """The same value; nothing is printed on a grid."""
    return as_tensor(x)


def pragma(x: Any, _op: str, _attributes: Any = None) -> Tensor:
    """The same value; how a program is optimised is decided elsewhere."""
    return as_tensor(x)


def cast(x: Any, dtype: DType) -> Tensor:
    """Another type: integers go round, real numbers are cut towards zero and end at the limits of the type."""
    x, dtype = as_tensor(x), DType(dtype)
    known = x.dtype
    if dtype is DType.BOOLEAN:
        return x if known is dtype else elementwise("!=", x, 0.0, dtype=dtype)
    fits = dtype.bits > known.bits or (dtype.bits == known.bits and dtype.is_signed == known.is_signed)
    if dtype.is_float or known is DType.BOOLEAN or (not known.is_float and fits and (dtype.is_signed or not known.is_signed)):
        return elementwise("ident", x, dtype=dtype)
    if known.is_float:
        result = elementwise("cast", x, dtype=dtype)
        result.rest["kind"] = dtype.word
        return result
    if dtype.bits > 32:
        raise wrong(f"{known.name} to {dtype.name} leaves the 53 bits of a number")
    size = float(1 << dtype.bits)
    moved = elementwise("+", x, size / 2, dtype=dtype) if dtype.is_signed else x
    wrapped = elementwise("%", moved, size, dtype=dtype)
    return elementwise("-", wrapped, size / 2, dtype=dtype) if dtype.is_signed else wrapped


def index(dims: Any, axis: int) -> Tensor:
    """The index of each element along an axis."""
    sizes = list(dims.shape) if isinstance(dims, Tensor) else [int(size) for size in as_list(dims)]
    number = axis + len(sizes) if axis < 0 else axis
    return Tensor(TensorShape(DType.INT32, sizes), "index", sizes=sizes, axis=number)


def shape(x: Any) -> Tensor:
    """The extents of a tensor, as a tensor."""
    x = as_tensor(x)
    places = index([x.rank], 0)
    result: Any = places * 0
    for place, extent in enumerate(x.shape):
        result = select(places == place, extent, result)
    return result


def argsort(x: Any, axis: int = -1, direction: SortDirection = SortDirection.ASC) -> Tensor:
    """The indices that sort along an axis; equal elements keep their order."""
    x = as_tensor(x)
    counted = axis + x.rank if axis < 0 else axis
    if not 0 <= counted < x.rank:
        raise wrong(f"there is no axis {axis} in {list(x.shape)}")
    keys = elementwise("neg", x) if direction == SortDirection.DESC else x
    return Tensor(TensorShape(DType.INT32, x.shape), "argsort", [keys], axis=counted)


def prng(state: Any, dims: Sequence[Any]) -> tuple[Tensor, Tensor]:
    """Numbers from 0 to below 1, and the next state, of a state of integers: the same for the same state, on every engine that holds 48 bits.

    Element `n` is `f(f(f(s + 40503 * n))) / 16777213` with `f(x) = (x * x + 12345 * x + 67891) % 16777213`, where `s` is the sum of the first
    elements of the state's rows, weighted by 1, 257 and 65537; `16777213` is the largest prime below 2^24.
    """
    state, sizes = as_tensor(state), [int(size) for size in as_list(dims)]
    prime, count = 16777213.0, int(np.prod(sizes, dtype=np.int64))

    def mixed(x: Tensor) -> Tensor:
        for _ in range(3):
            x = elementwise("%", elementwise("+", elementwise("*", x, elementwise("+", x, 12345.0)), 67891.0), prime)
        return x

    flat = reshape(state, [int(np.prod(state.shape, dtype=np.int64))])
    row = state.shape[-1] if state.rank else 1
    seed: Any = 0.0
    for number, weight in enumerate((1.0, 257.0, 65537.0)[: flat.shape[0] // row]):
        element = Contraction().outShape().outAccess().assign(flat[number * row]).build()
        seed = elementwise("%", elementwise("+", seed, elementwise("*", elementwise("%", element, prime), weight)), prime)
    places = elementwise("%", elementwise("+", seed, elementwise("*", index([count], 0), 40503.0)), prime)
    numbers = elementwise("/", mixed(places), prime, dtype=DType.FLOAT32)
    following = elementwise("%", elementwise("+", mixed(elementwise("%", elementwise("+", flat, 1.0), prime)), seed), prime, dtype=state.dtype)
    return reshape(numbers, sizes), reshape(following, state.shape)


__all__ = [name for name in dir() if not name.startswith("_") and name not in ("annotations", "enum", "Any", "Sequence", "np", "wrong", "wrap_of", "elementwise", "as_list", "as_tensor")]
