"""Sizes and index variables, with the arithmetic of both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tabla_gen.plaidml.shapes import wrong


class TensorDim:
    """A size, which `bind_dims` gives its value."""

    def __init__(self, value: int | Callable[[], int] | None = None) -> None:
        self._value = value

    @property
    def is_bound(self) -> bool:
        """Whether it has a value."""
        return self._value is not None

    def bind(self, extent: int, what: str) -> None:
        """Take the value, or compare it with the one that is there."""
        if self._value is None:
            self._value = extent
        elif int(self) != extent:
            raise wrong(f"{what} has extent {extent} where {int(self)} is bound")

    def __int__(self) -> int:
        if self._value is None:
            raise wrong("this TensorDim is not bound: call bind_dims first")
        if callable(self._value):
            self._value = self._value()
        return self._value

    __index__ = __int__

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return int(self) == int(other) if isinstance(other, (int, TensorDim)) else NotImplemented

    def __repr__(self) -> str:
        return str(int(self)) if self.is_bound else "?"


class TensorIndex:
    """An index variable, or an affine form of such variables and sizes."""

    def __init__(self, name: str = "", form: tuple[Any, ...] | None = None) -> None:
        self.name = name
        self.form = form

    def __lt__(self, bound: int | TensorDim) -> Constraint:
        if isinstance(bound, TensorIndex):
            raise wrong("the right side of a constraint has no index variables: write `i - j < N`")
        return Constraint(self, bound)

    def variables(self) -> list[TensorIndex]:
        """The variables in it."""
        if self.form is None:
            return [self]
        return [v for part in self.form[1:] if isinstance(part, TensorIndex) for v in part.variables()]

    def text(self, names: dict[TensorIndex, str]) -> str:
        """As Tile writes it."""
        if self.form is None:
            return names[self]
        operator, *parts = self.form
        texts = [written(part, names) for part in parts]
        if operator == "-" and len(parts) == 1:
            return f"-{texts[0]}"
        return f" {operator} ".join(texts)


class Constraint(NamedTuple):
    """`0 <= lhs < rhs`"""

    lhs: TensorIndex
    rhs: int | TensorDim


def written(part: Any, names: dict[TensorIndex, str]) -> str:
    """A part of an index, in parentheses if it has operators."""
    if not isinstance(part, TensorIndex):
        value = int(part)
        return f"({value})" if value < 0 else str(value)
    text = part.text(names)
    return text if part.form is None else f"({text})"


def _operators() -> None:
    functions: dict[str, tuple[str, Callable[[int, int], int]]] = {
        "add": ("+", lambda a, b: a + b),
        "sub": ("-", lambda a, b: a - b),
        "mul": ("*", lambda a, b: a * b),
        "floordiv": ("//", lambda a, b: a // b),
        "mod": ("%", lambda a, b: a % b),
    }

    def combined(a: Any, b: Any, symbol: str, function: Callable[[int, int], int]) -> Any:
        if isinstance(a, TensorIndex) or isinstance(b, TensorIndex):
            if not all(isinstance(part, (int, TensorDim, TensorIndex)) for part in (a, b)):
                return NotImplemented
            return TensorIndex(form=(symbol, a, b))
        if not all(isinstance(part, (int, TensorDim)) for part in (a, b)):
            return NotImplemented
        return TensorDim(lambda: function(int(a), int(b)))

    for name, (symbol, function) in functions.items():
        for kind in (TensorDim, TensorIndex):
            setattr(kind, f"__{name}__", lambda a, b, s=symbol, f=function: combined(a, b, s, f))
            setattr(kind, f"__r{name}__", lambda a, b, s=symbol, f=function: combined(b, a, s, f))
    TensorDim.__neg__ = lambda a: TensorDim(lambda: -int(a))  # type: ignore[attr-defined]
    TensorIndex.__neg__ = lambda a: TensorIndex(form=("-", a))  # type: ignore[attr-defined]


_operators()


def TensorDims(count: int) -> list[TensorDim]:
    """So many sizes."""
    return [TensorDim() for _ in range(count)]


def TensorIndexes(count: int) -> list[TensorIndex]:
    """So many index variables."""
    return [TensorIndex() for _ in range(count)]
