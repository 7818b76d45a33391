"""Running programs, as PlaidML's files call it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tabla_gen.plaidml.program import Buffer, Program


def run(program: Program, inputs: Sequence[Any] = (), device: Any = None, target: Any = None) -> list[Any]:
    """The outputs for these inputs: arrays in order, or (tensor, array) pairs."""
    del device, target
    return program.run(inputs)


class Executable:
    """A program that is ready to run."""

    def __init__(self, program: Program, inputs: Sequence[Any] = (), outputs: Sequence[Any] = (), **_options: Any) -> None:
        self.program, self.inputs, self.outputs = program, list(inputs), list(outputs)

    def run(self, inputs: Sequence[Buffer] = (), outputs: Sequence[Buffer] = ()) -> list[Any]:
        """Run, and fill the output buffers, if there are any."""
        results = self.program.run(inputs or self.inputs)
        for buffer, values in zip(outputs or self.outputs, results, strict=False):
            buffer.copy_from_ndarray(values)
        return results

    __call__ = run


def list_devices() -> list[str]:
    """What computes."""
    return ["tabla_gen.golden"]


list_targets = list_devices
