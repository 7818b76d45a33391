"""A function of tensors as a `tabla_gen.Program`: evaluated on every engine, explained, built."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tabla_gen
from tabla_gen.hardware import Hardware
from tabla_gen.model import Engine, Evaluation
from tabla_gen.plaidml.shapes import DType, TensorShape, wrong
from tabla_gen.plaidml.tensors import Tensor
from tabla_gen.plaidml.text import Text


class Buffer:
    """Values of a tensor."""

    def __init__(self, shape: Any = None, data: Any = None, _device: str | None = None) -> None:
        if isinstance(shape, TensorShape):
            self._values = np.zeros(shape.sizes, shape.dtype.into_numpy())
        else:
            self._values = np.asarray(shape)
        if data is not None:
            self.copy_from_ndarray(data)

    def copy_from_ndarray(self, values: Any) -> None:
        """Take other values."""
        self._values = np.asarray(values, dtype=self._values.dtype).reshape(self._values.shape)

    def as_ndarray(self) -> NDArray[Any]:
        """The values."""
        return self._values


class Program:
    """The function that computes outputs of inputs.

    `Program(name, outputs)` finds its inputs, in the order in which they were made; `Program(name, inputs, outputs)` lists them. `source` is its Tile text,
    and `program` the `tabla_gen.Program`: with `train=`, it is trained with derived gradients. Options of the original (`target`, `floatx` and the like) are accepted; numbers are those of the engine.
    """

    def __init__(self, name: str, first: Sequence[Tensor], second: Sequence[Tensor] | None = None, **options: Any) -> None:
        config = {key: options.pop(key) for key in ("config", "machine", "resident", "train") if key in options}
        outputs = list(first if second is None else second)
        if not outputs or not all(isinstance(t, Tensor) for t in [*first, *outputs]):
            raise wrong("a program has outputs, which are tensors")
        outputs = [t.own for t in outputs]
        text = Text(name, [] if second is None else [t.own for t in first], outputs)
        if (unsigned := options.get("intx")) is not None and not DType(unsigned).is_signed and text.has_negative():
            raise wrong(f"a number of this program is negative, and integers are {DType(unsigned).name}")
        self.name, self.source = name, text.text
        self.inputs, self.input_names, self.outputs = text.inputs, text.names, outputs
        constants = [n for n, t in zip(self.input_names, self.inputs, strict=True) if t.constant is not None]
        self.program = tabla_gen.Program.from_text(
            self.source, language="tile", name=name or "program", **{"resident": constants or None, **config}
        )

    def compile(self, **_options: Any) -> Program:
        """The program itself: it is compiled where it is used."""
        return self

    def record(self, values: Any = ()) -> dict[str, Any]:
        """Values of all inputs by name: from arrays in order, from (tensor, array) pairs or from a dict by tensor or name."""
        pairs = list(values.items() if isinstance(values, Mapping) else values)
        named: dict[Any, Any] = {}
        free = [t for t in self.inputs if t.constant is None]
        for place, pair in enumerate(pairs):
            is_pair = isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], (Tensor, str))
            if not is_pair and place >= len(free):
                raise wrong(f"{len(pairs)} values for {len(free)} inputs")
            key, value = pair if is_pair else (free[place], pair)
            named[key] = value.as_ndarray() if isinstance(value, Buffer) else value
        record = {}
        for tensor, name in zip(self.inputs, self.input_names, strict=True):
            value = named.get(tensor, named.get(name, tensor.constant))
            if value is None:
                raise wrong(f"there is no value for the input {name!r}")
            array = np.asarray(value)
            if array.size != int(np.prod(tensor.shape, dtype=np.int64)):
                raise wrong(f"the input {name!r} has the shape {list(tensor.shape)}, not {list(array.shape)}")
            # Integers of the host would be sizes.
            record[name] = array.reshape(tensor.shape).astype(float)
        return record

    def eval(self, values: Any = (), *, engine: Engine = "golden") -> Evaluation:
        """As `tabla_gen.Program.eval`, on any engine."""
        return self.program.eval(self.record(values), engine=engine)

    def run(self, values: Any = (), *, engine: Engine = "golden") -> list[NDArray[Any]]:
        """The outputs, in order and with their types."""
        results = self.eval(values, engine=engine)
        return [_typed(results[f"out{n}"], t.dtype) for n, t in enumerate(self.outputs)]

    __call__ = run

    def example(self) -> dict[str, Any]:
        """Made-up values, of the shapes of the inputs."""
        random = np.random.default_rng(0)
        free = [t for t in self.inputs if t.constant is None]
        return self.record([random.uniform(-1, 1, t.shape) if t.dtype.is_float else random.integers(0, 2, t.shape) for t in free])

    def explain(self, values: Any = None) -> Any:
        """As `tabla_gen.Program.explain`."""
        return self.program.explain(self.example() if values is None else self.record(values))

    def build(self, board: Any = None, out: str | os.PathLike[str] | None = None, *, inputs: Any = None, force: bool = False) -> Hardware:
        """As `tabla_gen.Program.build`; the binary points follow `inputs`, by default made-up values."""
        record = self.example() if inputs is None else self.record(inputs)
        return self.program.build(board, out, inputs=record, force=force)

    def __repr__(self) -> str:
        return self.source


def _typed(values: Any, dtype: DType) -> NDArray[Any]:
    array = np.asarray(values)
    return (np.rint(array) if not dtype.is_float and dtype is not DType.BOOLEAN else array).astype(dtype.into_numpy())
