"""How good predictions are, on any engine, and what built hardware has shown."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tabla_gen.hardware import Hardware


@dataclass(frozen=True)
class Score:
    """How good predictions are; `float(score)` is the accuracy, or R2 where results are numbers.

    Attributes
    ----------
    rows : int
        Rows that were scored.
    engine : str
        What computed them; `"hardware"` is the written Verilog.
    classes : list of str
        Names of the classes, in the order of `confusion`; empty where results are numbers.
    accuracy, f1, auc, r2, mae : float, or None
        Share of the right classes; F1, area under the curve: of the second of two classes, of more the mean over them; coefficient of
        determination; mean absolute error.
    confusion : list of list of int, or None
        How often rows of a class (by row) were taken for each class.
    golden : Score, or None
        The same in float64; None where that is what it is.
    """

    rows: int
    engine: str
    classes: list[str]
    accuracy: float | None = None
    f1: float | None = None
    auc: float | None = None
    r2: float | None = None
    mae: float | None = None
    confusion: list[list[int]] | None = None
    golden: Score | None = None

    def __float__(self) -> float:
        figure = self.r2 if self.accuracy is None else self.accuracy
        return float("nan") if figure is None else figure


def scored(found: dict[str, Any], own: str = "score", engine: str | None = None) -> Score:
    """Of a document of the native half."""

    def of(name: str, figures: dict[str, Any], golden: Score | None) -> Score:
        known = {field.name for field in fields(Score)} - {"golden"}
        figures = {key: value for key, value in figures.items() if key in known}
        return Score(found["rows"], name, found.get("classes", []), golden=golden, **figures)

    name = engine or found["engine"]
    golden = of("golden", found["golden"], None)
    return golden if name == "golden" else of(name, found[own], golden)


@dataclass(frozen=True)
class Deployed:
    """Hardware whose written Verilog scores as golden does.

    Attributes
    ----------
    hardware : Hardware
        The folder.
    score : Score
        Of the written Verilog, with golden's beside it.
    points : float
        How far the two are apart, in hundredths of accuracy or of R2.
    calibrated : int
        Rows that binary points were chosen from; others are scored.
    words_compared : int
        Words of the Verilog, all compared with fixed point.
    """

    hardware: Hardware
    score: Score
    points: float
    calibrated: int
    words_compared: int
