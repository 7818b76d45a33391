"""What was made of a program for a board."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any


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

    def __init__(self, folder: Path, files: list[str], report: dict[str, Any], text: str) -> None:
        self.folder = folder
        self.files = files
        self.report = report
        self._text = text

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
