"""What was made of a program for a board."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from tabla_gen import _native
from tabla_gen.score import Score, scored

if TYPE_CHECKING:
    Verify = Callable[[str, ArrayLike, ArrayLike], str]
    """Runs what is in a folder on rows with targets; a document of the native half."""


@dataclass(frozen=True)
class Synthesis:
    """What hardware takes of its device by yosys.

    Attributes
    ----------
    cells : dict of str to tuple of int
        Cells used and available: LUT, FF, DSP, BRAM.
    types : dict of str to int
        Cells by type, as the family calls them.
    text : str
        The same as a table, with estimates.
    """

    cells: dict[str, tuple[int, int]]
    types: dict[str, int]
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Bitstream:
    """A bitstream that meets its clock.

    Attributes
    ----------
    path : Path
        What the programmer takes.
    summary : dict, or None
        `fpga/summary.json`: clocks, cells, seed; None where the vendor's tool made it.
    text : str
        The same for people, with the command that loads it.
    """

    path: Path
    summary: dict[str, Any] | None
    text: str

    def __str__(self) -> str:
        return self.text


class Hardware:
    """A folder with everything for a board, and what it costs. `Program.build` and `Model.build` make one.

    Attributes
    ----------
    folder : Path
        Where it was written.
    files : list of str
        Names of the files in it, but for `SHA256SUMS`, which has their hashes.
    report : dict
        `report.json`: cycles by source line, memories, resources, binary points, clipped values.
    """

    def __init__(self, folder: Path, built: _native.Built, verify: Verify) -> None:
        self.folder = folder
        self.files: list[str] = built.files()
        self.report: dict[str, Any] = json.loads(built.report())
        self._text = built.text()
        self._built = built
        self._verify = verify

    def verify(self, X: ArrayLike, y: ArrayLike) -> Score:
        """Run the Verilog in the folder, as it is there, on rows, compare every word with fixed point, and score it beside golden.

        Parameters
        ----------
        X : array of shape (rows, features)
        y : array of shape (rows,) or (rows, targets)
            As the model was trained with, or as its score takes them.

        Raises
        ------
        MismatchError
            A word differs, or the folder has another program.
        UsageError
            There are no weights: a training that was built without a trained model.
        """
        return scored(json.loads(self._verify(os.fspath(self.folder), X, y)), "hardware", "hardware")

    def synth(self) -> Synthesis:
        """Synthesise it with yosys, in the folder `fpga`.

        Raises
        ------
        ToolError
            yosys is missing.
        UsageError
            It was built without a board.
        """
        text, table = self._built.made(os.fspath(self.folder), False)
        found = json.loads(text)
        cells = {row["name"]: (row["used"], row["available"]) for row in found["cells"]}
        return Synthesis(cells, found["types"], table)

    def bitstream(self) -> Bitstream:
        """Synthesise, place, route and pack it, in the folder `fpga`: minutes to hours.

        Raises
        ------
        ToolError
            A tool is missing.
        DoesNotFitError
            It does not fit the device, or misses its clock.
        """
        text, shown = self._built.made(os.fspath(self.folder), True)
        found = json.loads(text)
        return Bitstream(Path(found["bitstream"]), found.get("summary"), shown)

    @property
    def board(self) -> str:
        """Name of the board; `"none"` without one."""
        return self.report["board"]["name"]

    @property
    def clock_mhz(self) -> float:
        """Clock of the grid in MHz."""
        return self.report["board"]["clock_mhz"]

    @property
    def cycles_per_sample(self) -> float:
        """Cycles of a sample, or of a record of a function, measured on the simulated grid."""
        return self.report["cycles"]["cycles_per_sample"]

    @property
    def bound(self) -> float:
        """Cycles of a sample that no grid of this size can beat."""
        return self.report["cycles"]["bound"]

    @property
    def bound_by(self) -> str:
        """What sets the bound: `"multiply-adds"`, `"input words"` and so on."""
        return self.report["cycles"]["bound_by"]

    @property
    def samples_per_second(self) -> float:
        """Samples per second at the clock of the grid, if input arrives as fast as the grid takes it."""
        return self.report["cycles"]["samples_per_second"]

    @property
    def resources(self) -> dict[str, tuple[int, int | None]]:
        """Cells that the grid takes by estimate, and those that the device has (None without a board): LUT, FF, DSP, BRAM."""
        return {row["name"]: (row["estimated"], row["available"]) for row in self.report["resources"]}

    @property
    def fits(self) -> bool | None:
        """Whether the device has the cells of the grid, by estimate; None without a board. A build for a board that has not raises
        `DoesNotFitError`, so this is never False.
        """
        pairs = list(self.resources.values())
        if any(available is None for _, available in pairs):
            return None
        return all(estimated <= available for estimated, available in pairs if available is not None)

    def _figures(self) -> list[tuple[str, str]]:
        figures = [
            ("board", f"{self.board}, {self.clock_mhz:g} MHz"),
            ("cycles per sample", f"{self.cycles_per_sample:.2f}"),
            ("bound", f"{self.bound:.2f}, by {self.bound_by}"),
            ("samples per second", f"{self.samples_per_second:.0f}"),
        ]
        for name, (estimated, available) in self.resources.items():
            share = "" if not available else f" of {available} ({100 * estimated / available:.1f} %)"
            figures.append((name, f"{estimated}{share}"))
        return [*figures, ("files", f"{len(self.files)} in {self.folder}")]

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        name, cycles = self.report["program"], self.cycles_per_sample
        return f"<tabla_gen.Hardware of {name} on {self.board}: {cycles:.2f} cycles per sample, in {self.folder}>"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in self._figures())
        files = "".join(f"<li><code>{escape(name)}</code></li>" for name in self.files)
        return f"<table>{rows}</table><details><summary>files</summary><ul>{files}</ul></details>"
