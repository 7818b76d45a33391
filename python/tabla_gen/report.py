"""What a notebook shows of a trained model: one table, the curve of its loss, its program."""

from __future__ import annotations

import os
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tabla_gen.model import Model

_WIDTH, _HEIGHT = 320, 120


class Report:
    """The report page of a training, as `tabla-gen report` writes it; `Model.report` makes one.

    Attributes
    ----------
    html : str
        The page, which needs nothing else.
    """

    def __init__(self, html: str) -> None:
        self.html = html

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page."""
        Path(path).write_text(self.html, encoding="utf-8")

    def _repr_html_(self) -> str:
        # A page of its own: its style does not reach the notebook.
        return f'<iframe srcdoc="{escape(self.html)}" width="100%" height="800" style="border: 0"></iframe>'


def html(model: Model) -> str:
    """The report as HTML that needs nothing else."""
    results = model.results
    parts = [f"<h4>{escape(model.program.name)}</h4>"]
    if results:
        parts += [_results(results), _figures(results), _curves(results["curves"])]
    shapes = "".join(
        f"<tr><th>{escape(name)}</th><td>{' × '.join(map(str, array.shape)) or 'scalar'}</td>"
        f"<td>{array.min():.4g} .. {array.max():.4g}</td></tr>"
        for name, array in model.weights.items()
        if array.size
    )
    parts.append(f"<table><tr><th>weights</th><th>shape</th><th>values</th></tr>{shapes}</table>")
    parts.append(f"<details><summary>program</summary><pre>{escape(model.program.source)}</pre></details>")
    return "<div>" + "".join(parts) + "</div>"


def _results(results: dict[str, Any]) -> str:
    def score(metrics: dict[str, Any] | None) -> str:
        if metrics is None:
            return "<td>-</td><td>-</td>"
        accuracy, r2 = metrics.get("accuracy"), metrics.get("r2")
        shown = f"{100 * accuracy:.2f} %" if accuracy is not None else "-" if r2 is None else f"R² {r2:.4f}"
        loss = metrics["loss"]
        return f"<td>{'-' if loss is None else f'{loss:.5f}'}</td><td>{shown}</td>"

    heads = "".join(f"<th>{name}</th>" for name in ("engine", "train loss", "train score", "test loss", "test score"))
    rows = "".join(
        f"<tr><th>{escape(engine)}</th>{score(results['train'][engine])}{score(results['test'][engine])}</tr>"
        for engine in results["train"]
    )
    return f"<table><tr>{heads}</tr>{rows}</table>"


def _figures(results: dict[str, Any]) -> str:
    figures = [
        ("samples", f"{results['train_samples']} trained on, {results['test_samples']} tested"),
        ("epochs, batch", f"{results['epochs']}, {results['batch']}"),
    ]
    if results["cycles"] is not None:
        per_sample = results["cycles"] / max(1, results["samples"])
        clock = f"{results['clock_mhz']:g} MHz"
        figures.append(("cycles", f"{results['cycles']}, {per_sample:.2f} per sample, {results['seconds']:.4g} s at {clock}"))
    figures += [("clipped", text) for text in results["saturations"]]
    rows = "".join(f"<tr><th>{name}</th><td>{escape(value)}</td></tr>" for name, value in figures)
    return f"<table>{rows}</table>"


def _curves(curves: dict[str, list[dict[str, Any]]]) -> str:
    """The loss by epoch, a line for each engine; nothing where it was not asked for."""
    lines = {
        engine: [(point["epoch"], point["train"]["loss"]) for point in points if point["train"]["loss"] is not None]
        for engine, points in curves.items()
    }
    lines = {engine: points for engine, points in lines.items() if len(points) > 1}
    if not lines:
        return ""
    epochs = max(epoch for points in lines.values() for epoch, _ in points)
    losses = [loss for points in lines.values() for _, loss in points]
    low, high = min(losses), max(losses)

    def place(epoch: int, loss: float) -> str:
        x = 4 + (_WIDTH - 8) * (epoch - 1) / max(1, epochs - 1)
        y = 4 + (_HEIGHT - 8) * (high - loss) / ((high - low) or 1)
        return f"{x:.1f},{y:.1f}"

    colours = ("#3366aa", "#cc6633")
    drawn = "".join(
        f'<polyline fill="none" stroke="{colour}" points="{" ".join(place(*point) for point in points)}">'
        f"<title>{escape(engine)}</title></polyline>"
        for (engine, points), colour in zip(lines.items(), colours, strict=False)
    )
    caption = f"loss by epoch: {escape(', '.join(lines))}; {low:.4g} .. {high:.4g}"
    return f'<figure><svg width="{_WIDTH}" height="{_HEIGHT}">{drawn}</svg><figcaption>{caption}</figcaption></figure>'
