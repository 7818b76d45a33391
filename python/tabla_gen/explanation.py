"""Why an update or a function takes the cycles that it takes."""

from __future__ import annotations

from html import escape
from typing import Any

_PACE = ("cycles_per_sample", "bound", "bound_by", "bounds", "work", "distance")


class Explanation:
    """How fast an image is, where everything lies and what runs when.

    Attributes
    ----------
    pace : dict
        `cycles_per_sample`; `bound`, what no grid of this size can beat, `bound_by` what, and `bounds` of everything; `work` of a
        sample; `distance`, the cycles over the bound.
    placement : dict of str to list of str
        The axis of the grid on which each dimension lies, by tensor.
    instructions : list of dict
        Vector instructions in the order in which they start: `what`, `line` of the source, `start` (cycle), `beats`, cycles that it
        `waited` and the `cause`, `readable` (cycle of its last result), `unit`.
    alternatives : list of dict
        Other placements that were scheduled, best first.
    timeline : dict
        Two steps, cycle by cycle: the `bars` of each unit in `lanes`.
    lines : dict of str to str
        What became of source lines that have no instructions of their own.
    """

    def __init__(self, document: dict[str, Any], source: str) -> None:
        self.pace: dict[str, Any] = {name: document[name] for name in _PACE}
        self.machine: str = document["machine"]
        self.placement: dict[str, list[str]] = document["placement"]
        self.instructions: list[dict[str, Any]] = document["instructions"]
        self.alternatives: list[dict[str, Any]] = document["alternatives"]
        self.step_length: int = document["step_length"]
        self.tiles: int = document["tiles"]
        self.timeline: dict[str, Any] = document["timeline"]
        self.lines: dict[str, str] = document["lines"]
        self.source = source

    def _figures(self) -> list[tuple[str, str]]:
        figures = [("machine", self.machine), ("cycles per sample", f"{self.pace['cycles_per_sample']:.2f}")]
        bound, by = self.pace.get("bound"), self.pace.get("bound_by")
        if bound is not None:
            figures.append(("bound", f"{bound:.2f}, by {by}"))
        return [*figures, ("cycles of a step", str(self.step_length))]

    def __str__(self) -> str:
        lines = [f"{name:18} {value}" for name, value in self._figures()]
        lines += ["", " line  start  beats waited  unit       instruction"]
        for row in self.instructions:
            lines.append(
                f"{row['line']:5} {row['start']:6} {row['beats']:6} {row['waited']:6}  {row['unit']:10} {row['what']}"
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<tabla_gen.Explanation: {self.pace['cycles_per_sample']:.2f} cycles per sample on {self.machine}>"

    def _repr_html_(self) -> str:
        figures = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in self._figures())
        lines = self.source.splitlines()

        def text(line: int) -> str:
            return lines[line - 1].strip() if 0 < line <= len(lines) else ""

        heads = ("line", "start", "beats", "waited", "unit", "what")
        head = "".join(f"<th>{name}</th>" for name in heads) + "<th>source</th>"
        rows = "".join(
            "<tr>"
            + "".join(f"<td>{escape(str(row[name]))}</td>" for name in heads)
            + f"<td><code>{escape(text(row['line']))}</code></td></tr>"
            for row in self.instructions
        )
        return f"<table>{figures}</table><table><tr>{head}</tr>{rows}</table>"
