"""Tensors that were built, as the text of a Tile function.

Element-wise operations that one other such operation uses are written into its line; everything else is a line of its own, in the order in
which it was built.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from tabla_gen.plaidml.indices import TensorIndex, written
from tabla_gen.plaidml.shapes import DType, wrong
from tabla_gen.plaidml.tensors import Tensor

SYMBOLS = {"+", "-", "*", "/", "//", "%", "&", "|", "^", "<<", ">>", "<", "<=", ">", ">=", "==", "!="}
"""Operations that stand between their operands."""
MOVES = {"argsort", "reshape", "gather", "gather_nd", "scatter"}
"""Operations whose operands are whole tensors."""
_RESERVED = {"def", "return"}
# Deeper expressions become lines.
_DEPTH = 12


class Text:
    """The text of a function that returns these tensors, and the inputs that it has."""

    def __init__(self, name: str, inputs: list[Tensor], outputs: list[Tensor]) -> None:
        self._outputs = outputs
        self._all = _reachable(outputs)
        found = [t for t in self._all if t.operation == "input" and not any(t is known for known in inputs)]
        self.inputs = [*inputs, *found]
        self._uses = Counter(operand for t in self._all for operand in needs(t))
        self._taken: set[str] = set(_RESERVED)
        self._names: dict[Tensor, str] = {}
        for n, tensor in enumerate(self.inputs):
            self._names[tensor] = self._fresh(tensor.name or f"arg{n}")
        self._indices = {t: self._index_names(t) for t in self._all if t.operation == "contract"}
        declared = list(dict.fromkeys(n for names in self._indices.values() for n in names.values()))
        self._taken.update(declared)
        # What is not given, such as weights, has its shape from here.
        self._lines = [f"{name}.bind_dims({', '.join(map(str, t.shape))})" for name, t in zip(self.names, self.inputs, strict=True)]
        if declared:
            kind = "TensorIndex()" if len(declared) == 1 else f"TensorIndexes({len(declared)})"
            self._lines.append(f"{', '.join(declared)} = {kind}")
        for tensor in self._all:
            if tensor not in self._names and not self._is_inline(tensor):
                self._line(tensor)
        self._lines.append("return " + ", ".join(self._names[t] for t in outputs))
        head = f"def {_identifier(name or 'program')}({', '.join(self.names)}):"
        self.text = "\n  ".join([head, *self._lines]) + "\n"

    @property
    def names(self) -> list[str]:
        """Names of the inputs."""
        return [self._names[t] for t in self.inputs]

    def has_negative(self) -> bool:
        """Whether there is a negative integer among the numbers."""
        numbers = [t.operands[0] for t in self._all if t.operation == "number"]
        return any(isinstance(number, int) and number < 0 for number in numbers)

    def _fresh(self, wanted: str) -> str:
        base = _identifier(wanted)
        name, number = base, 0
        while name in self._taken:
            name, number = f"{base}_{number}", number + 1
        self._taken.add(name)
        return name

    def _index_names(self, tensor: Tensor) -> dict[TensorIndex, str]:
        """Names of the index variables of a contraction, which other contractions may use for others."""
        forms = [*tensor.rest["index"], *(c.lhs for c in tensor.rest["constraints"])]
        forms += [part for _, index in tensor.rest["access"].accesses for part in index]
        names: dict[TensorIndex, str] = {}
        for variable in dict.fromkeys(v for form in forms if isinstance(form, TensorIndex) for v in form.variables()):
            base, number = _identifier(variable.name or f"x{len(names)}"), 0
            name = base
            while name in self._taken or name in names.values():
                name, number = f"{base}_{number}", number + 1
            names[variable] = name
        return names

    def _is_inline(self, tensor: Tensor) -> bool:
        """Whether it is written where it is used."""
        if tensor.operation == "number":
            return not any(tensor is t for t in self._outputs) and not self._is_read(tensor)
        simple = tensor.operation not in {"input", "contract", *MOVES}
        alone = self._uses[tensor] == 1 and not any(tensor is t for t in self._outputs)
        return simple and alone and not self._is_read(tensor) and self._depth(tensor) < _DEPTH

    def _is_read(self, tensor: Tensor) -> bool:
        """Whether a contraction or a move reads it."""
        if not hasattr(self, "_read"):
            whole = [t for t in self._all if t.operation == "contract" or t.operation in MOVES]
            self._read = {operand for t in whole for operand in needs(t)}
        return tensor in self._read

    def _depth(self, tensor: Tensor) -> int:
        """How deep the expression of a tensor is, in its line."""
        if not hasattr(self, "_depths"):
            self._depths: dict[Tensor, int] = {}
            for each in self._all:
                inner = [self._depths[o] for o in needs(each) if o.operation not in {"input", "contract", *MOVES}]
                depth = 1 + max(inner, default=0)
                self._depths[each] = 0 if self._uses[each] > 1 or depth > _DEPTH else depth
                if depth > _DEPTH:
                    self._uses[each] += 1
        return self._depths[tensor]

    def _line(self, tensor: Tensor) -> None:
        if tensor.operation == "contract":
            self._contraction(tensor)
            return
        text = self._expression(tensor, outer=True)
        self._names[tensor] = self._fresh(tensor.name or f"t{len(self._names)}")
        self._lines.append(f"{self._names[tensor]} = {text}")

    def _contraction(self, tensor: Tensor) -> None:
        names, rest = self._indices[tensor], tensor.rest
        kind, operator, access = tensor.dtype, rest["operator"], rest["access"]
        wraps = wrap_of(kind) if operator in ("+=", "*=") or access.combination in ("+", "*") else None
        result = self._fresh(tensor.name or f"t{len(self._names)}")
        target = self._fresh(f"{result}_exact") if wraps else result

        def element(name: str, index: list[Any]) -> str:
            return f"{name}[{', '.join(_bare(part, names) for part in index) or '()'}]"

        accesses = [element(self._names[t], index) for t, index in access.accesses]
        body = f"cond({', '.join(accesses)})" if access.combination == "cond" else f" {access.combination} ".join(accesses)
        shape = ", ".join(map(str, tensor.shape))
        self._lines += [f"{target} = TensorOutput({shape})", f"{element(target, rest['index'])} {operator} {body}"]
        for constraint in rest["constraints"]:
            bound = int(constraint.rhs)
            self._lines.append(f"{target}.add_constraint({_bare(constraint.lhs, names)} < {bound})")
        if rest["default"] is not None:
            self._lines.append(f"{target}.use_default({self._names[rest['default']]})")
        if wraps:
            self._lines.append(f"{result} = {wraps.format(target)}")
        self._names[tensor] = result

    def _expression(self, tensor: Tensor, outer: bool = False) -> str:
        """A tensor where it is used: its name, or its expression."""
        if tensor in self._names:
            return self._names[tensor]
        operation, rest = tensor.operation, tensor.rest
        if operation == "number":
            return _number(tensor.operands[0])
        if operation == "index":
            return f"index([{', '.join(map(str, rest['sizes']))}], {rest['axis']})"
        operands = [self._expression(operand) for operand in tensor.operands]
        if operation in SYMBOLS:
            text = f" {operation} ".join(operands)
        elif operation in ("neg", "~"):
            text = ("-" if operation == "neg" else "~") + operands[0]
        else:
            more = {"argsort": "{axis}", "cast": "{kind}", "reshape": "[{sizes}]", "gather": "{axis}", "gather_nd": "{batch}", "scatter": "{size}"}.get(operation)
            sizes = ", ".join(map(str, rest.get("sizes", ())))
            operands += [more.format(**{**rest, "sizes": sizes})] if more else []
            return f"{operation}({', '.join(operands)})"
        return text if outer else f"({text})"


def needs(tensor: Tensor) -> list[Tensor]:
    """The tensors that one is made of."""
    default = tensor.rest.get("default")
    operands = [operand for operand in tensor.operands if isinstance(operand, Tensor)]
    return operands if default is None else [*operands, default]


def wrap_of(kind: DType) -> str | None:
    """How a number of 8 or 16 bits goes round; wider ones are exact to 53 bits."""
    if kind.is_float or kind is DType.BOOLEAN or kind.bits > 16:
        return None
    size = 1 << kind.bits
    return f"({{}} + {size // 2}.0) % {size}.0 - {size // 2}.0" if kind.is_signed else f"{{}} % {size}.0"


def _reachable(outputs: list[Tensor]) -> list[Tensor]:
    """All tensors, each after those that it is made of; otherwise as they were built."""
    found: dict[Tensor, None] = {}
    stack = list(outputs)
    while stack:
        tensor = stack.pop()
        if tensor not in found:
            if tensor.operation == "declared":
                raise wrong("an output is read that has no contraction yet")
            found[tensor] = None
            stack += needs(tensor)
    done: dict[Tensor, None] = {}
    for root in sorted(found, key=lambda t: t.order):
        stack = [root]
        while stack:
            missing = [t for t in needs(stack[-1]) if t not in done]
            if missing:
                stack += missing[:1]
            else:
                done[stack.pop()] = None
    return list(done)


def _bare(part: Any, names: dict[TensorIndex, str]) -> str:
    return part.text(names) if isinstance(part, TensorIndex) else written(part, names)


def _number(value: Any) -> str:
    number = float(value)
    if number != number or number in (float("inf"), float("-inf")):
        raise wrong(f"{value} is no number of a program")
    return f"(-{-number!r})" if number < 0 else repr(number)


def _identifier(name: str) -> str:
    text = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return f"_{text}" if text[0].isdigit() else text
