"""Values beside the formats of their words, layer by layer."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any


@dataclass(frozen=True)
class Layer:
    """Values of a name beside their format. Magnitudes are those of values other than 0.

    Attributes
    ----------
    name : str
        As the program has it.
    kind : str
        `"input"`, `"weight"` or `"value"`.
    line : int
        Line of `Program.source` on which it is computed; 0 of what is not.
    values, zeros : int
        Values of all rows, and how many are 0.
    magnitudes : list of float
        The smallest, the quartiles, the largest.
    word, fraction : int
        Bits of a word, and of these after the binary point.
    step, largest : float
        Smallest and largest magnitude of the format.
    clipped, lost : int
        Values above the largest; values other than 0 that become 0.
    """

    name: str
    kind: str
    line: int
    values: int
    zeros: int
    magnitudes: list[float]
    word: int
    fraction: int
    step: float
    largest: float
    clipped: int
    lost: int


class Profile:
    """Values beside formats; `Function.profile` makes one.

    Attributes
    ----------
    layers : list of Layer
        Inputs, weights and values, in the order of the program.
    """

    def __init__(self, layers: list[Layer]) -> None:
        self.layers = layers

    def __getitem__(self, name: str) -> Layer:
        return next(layer for layer in reversed(self.layers) if layer.name == name)

    def plot(self, ax: Any = None) -> Any:
        """Draw a box of magnitudes for each layer over the range of its format, as hls4ml does; matplotlib's axes.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where; default: a new figure.
        """
        from tabla_gen.importing import needed

        if ax is None:
            pyplot = needed("matplotlib.pyplot", "matplotlib", "Profile.plot")
            _, ax = pyplot.subplots(figsize=(7, 1 + 0.35 * len(self.layers)), layout="constrained")
        shown = [layer for layer in reversed(self.layers) if layer.magnitudes[-1] > 0]
        for place, layer in enumerate(shown):
            ax.barh(place, layer.largest - layer.step, left=layer.step, height=0.9, color="0.85", zorder=0)
        names = ("whislo", "q1", "med", "q3", "whishi")
        boxes = [dict(zip(names, layer.magnitudes, strict=True), fliers=[]) for layer in shown]
        ax.bxp(boxes, positions=range(len(shown)), orientation="horizontal", showfliers=False, widths=0.5)
        ax.set_xscale("log", base=2)
        ax.set_yticks(range(len(shown)), [f"{layer.name} ({layer.kind})" for layer in shown])
        ax.set_xlabel("magnitude; grey: range of the format")
        return ax

    def _rows(self) -> list[list[str]]:
        heads = ["name", "kind", "line", "smallest", "median", "largest", "format", "clipped", "lost"]
        rows = [heads]
        for layer in self.layers:
            sizes = [f"{layer.magnitudes[n]:.3g}" for n in (0, 2, 4)]
            format = f"{layer.word} bits, {layer.fraction} behind the point"
            rows.append([layer.name, layer.kind, str(layer.line or "-"), *sizes, format, str(layer.clipped), str(layer.lost)])
        return rows

    def __str__(self) -> str:
        rows = self._rows()
        widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
        return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, *rows = self._rows()
        cells = "".join(f"<th>{escape(cell)}</th>" for cell in head)
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        return f"<table><tr>{cells}</tr>{body}</table>"
