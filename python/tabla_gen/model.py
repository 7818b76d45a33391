"""Trained models, and what evaluations give."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tabla_gen import _native, errors, report
from tabla_gen.explanation import Explanation
from tabla_gen.hardware import Hardware
from tabla_gen.report import Report
from tabla_gen.score import Deployed, Score, scored

Engine = Literal["golden", "fixed", "array", "rtl"]
"""What computes: float64, words, the grid cycle by cycle, its Verilog."""

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tabla_gen.hardware import Verify
    from tabla_gen.program import Program


@dataclass(frozen=True)
class Evaluation:
    """What one evaluation of a program gave.

    Attributes
    ----------
    values : dict of str to ndarray
        Everything that the program computes, by name, in the shape that it has in the program. Where elements are undefined, it
        is a masked array.
    next : dict of str to ndarray
        States after the step, if the program updates any.
    distance : tuple of float, or None
        How far the values are from those of the golden model, below golden: absolute, and relative to the largest value.
    warnings : list of Diagnostic
        What is doubtful about program and values.
    """

    values: dict[str, NDArray[Any]]
    next: dict[str, NDArray[Any]] = field(default_factory=dict)
    distance: tuple[float, float] | None = None
    warnings: list[errors.Diagnostic] = field(default_factory=list)

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.values[name]


@dataclass(frozen=True)
class Made:
    """How a model was trained: what `build` and `report` need of it."""

    rows: dict[str, Any]
    asked: dict[str, Any]
    call: str


class Model:
    """A trained model: weights, and all that is needed to predict. `Program.train` and `Program.load` make one.

    Attributes
    ----------
    program : Program
        The program that was trained.
    results : dict
        What the training reached: `train` and `test` with `loss` and `accuracy` or `r2` by engine, `cycles` and `seconds` of the
        engine if it has a clock, `saturations` (values that did not fit their words), `curves` if they were asked for. Empty for
        a model that was loaded.
    """

    program: Program
    results: dict[str, Any]

    def __init__(
        self,
        program: Program,
        native: _native.Model,
        results: dict[str, Any] | None = None,
        classes: Sequence[Any] | None = None,
        training: _native.Training | None = None,
        made: Made | None = None,
    ) -> None:
        self.program = program
        self.results = results or {}
        self._native = native
        # The classes as they were given; the native half has their text.
        self._classes = classes
        # Whether each class has an output of its own, and the largest one decides.
        self._one_against_rest = False
        # Whether these have the targets -1 and 1.
        self._signs = False
        self._training = training
        # Whether `calibrate` has changed what the training decided.
        self._calibrated = False
        self._made = made

    @property
    def weights(self) -> dict[str, NDArray[np.float64]]:
        """The weights by name, float64, in the shape that they have in the program."""
        return {name: array(shaped) for name, shaped in self._native.weights().items()}

    @property
    def feature_names(self) -> list[str]:
        """Names of the features, in the order of the columns of `X`."""
        return self._native.features

    def raw(self, X: ArrayLike, *, engine: Engine = "golden", output: str | None = None) -> NDArray[np.float64]:
        """What the program computes for each row.

        Parameters
        ----------
        X : array of shape (rows, features)
            Features in the units of the training data; the columns of a DataFrame are taken by their names.
        engine : {"golden", "fixed", "array", "rtl"}
            What computes: float64, or words as the hardware has them.
        output : str, optional
            A name of the program; default: the prediction.

        Returns
        -------
        ndarray of shape (rows, elements), float64
            In the program's units.
        """
        values, _, warnings = self._native.raw(self._features(X), engine, output)
        errors.warn(warnings)
        return array(values)

    def _features(self, X: ArrayLike) -> NDArray[np.float64]:
        """Rows of features, in the order of the training."""
        return in_order(X, self.feature_names)

    def _labelled(self, X: ArrayLike, y: ArrayLike) -> dict[str, Any]:
        """Rows with targets, as the training has had them."""
        features, targets = self._features(X), np.asarray(y)
        if self._signs:
            targets = np.where(targets[:, None] == np.asarray(self._classes), "1", "-1")
        return self.program._labelled(features, self.feature_names, targets)

    def _quietly(self, X: NDArray[np.float64], engine: Engine, output: str | None = None) -> NDArray[np.float64]:
        """As `raw`; on real numbers there is nothing to warn of but values that the training has not seen, as in every test part."""
        if engine != "golden":
            return self.raw(X, engine=engine, output=output)
        return array(self._native.raw(X, engine, output)[0])

    def predict(self, X: ArrayLike, *, engine: Engine = "golden") -> NDArray[Any]:
        """The prediction for each row: a class, or numbers in the units of the target.

        Parameters
        ----------
        X : array of shape (rows, features)
        engine : {"golden", "fixed", "array", "rtl"}

        Returns
        -------
        ndarray of shape (rows,), or (rows, targets) if there are several
        """
        return self._read(self.raw(X, engine=engine))

    def _read(self, raw: NDArray[np.float64]) -> NDArray[Any]:
        """What raw predictions mean."""
        classes = self._classes
        if classes is not None and self._one_against_rest:
            return np.asarray(classes)[raw.argmax(axis=1)]
        read = np.array(json.loads(self._native.read(raw)))
        if classes is None or read.dtype.kind != "U":
            return read
        by_name = {str(value): value for value in classes}
        return np.array([by_name.get(name, name) for name in read.ravel().tolist()]).reshape(read.shape)

    def calibrate(self, X: ArrayLike) -> Model:
        """Widen the formats of words to what the program computes for rows as the hardware will see them; the training has decided them.

        Parameters
        ----------
        X : array of shape (rows, features)

        Returns
        -------
        Model
            This one.
        """
        self._native = self._native.calibrated(self._features(X))
        self._calibrated = True
        return self

    def score(self, X: ArrayLike, y: ArrayLike, *, engine: Engine = "golden") -> Score:
        """How good predictions are: accuracy, confusion, F1, AUC of classes, R2 and mean absolute error of numbers; beside golden's.

        Parameters
        ----------
        X : array of shape (rows, features)
        y : array of shape (rows,) or (rows, targets)
            As the training takes them.
        engine : {"golden", "fixed", "array", "rtl"}
        """
        text, warnings = self._native.score(self._labelled(X, y), engine)
        errors.warn(warnings)
        return scored(json.loads(text))

    def deploy(
        self,
        X: ArrayLike,
        y: ArrayLike,
        board: str | os.PathLike[str] | None = None,
        out: str | os.PathLike[str] | None = None,
        *,
        within: float = 0.5,
        force: bool = False,
    ) -> Deployed:
        """Build, run the predictions of the written Verilog on rows beside golden, and keep it if it scores as golden does.

        Parameters
        ----------
        X : array of shape (rows, features)
            Other rows than those of the training, which decided the binary points.
        y : array of shape (rows,) or (rows, targets)
        board, out, force
            As `build` has them.
        within : float
            How far the score may be from golden's, in hundredths of accuracy or of R2.

        Raises
        ------
        InaccurateError
            It scores otherwise. Nothing was written.
        MismatchError
            The written Verilog differs from fixed point.
        DoesNotFitError
            The board does not hold it.
        """
        built = self._built(board)
        with tempfile.TemporaryDirectory() as folder:
            built.publish(folder, False)
            text = built.verify_training(folder, self._labelled(X, y), self._native)
        found = json.loads(text)
        score = scored(found, "hardware", "hardware")
        assert score.golden is not None
        points = 100 * abs(float(score) - float(score.golden))
        if not points <= within:
            said = f"the hardware scores {float(score):.4f}, golden {float(score.golden):.4f}: {points:.2f} points apart"
            raise errors.InaccurateError(f"{said}, more than within={within}; wider words would do: machine={{'word': N}}", "E-INACCURATE")
        hardware = written(built, out, force, self._verified(built))
        return Deployed(hardware, score, points, len(self._made.rows["features"]) if self._made else 0, found["words_compared"])

    def explain(self) -> Explanation:
        """How many cycles an update takes on the grid, and why. A model that was loaded has no data that would say it."""
        return Explanation(json.loads(self._trained("explain").explain()), self.program.source)

    def build(
        self, board: str | os.PathLike[str] | None = None, out: str | os.PathLike[str] | None = None, *, force: bool = False
    ) -> Hardware:
        """Make the hardware for a board and write it, as `Program.build`; the rows of the training decide the binary points.

        Parameters
        ----------
        board : str or path, optional
            A configuration: the name of one that is built in (`"ulx3s"`), the path of a TOML file, or its text. Default: the program's.
        out : path, optional
            The folder; default: the configuration's, or `out/NAME`.
        force : bool
            Replace files that no build wrote, or that were changed since.

        Raises
        ------
        DoesNotFitError
            The board does not hold it; `diagnostics` has what would fit.
        KeyboardInterrupt
            At Ctrl-C, at once.
        """
        built = self._built(board)
        return written(built, out, force, self._verified(built))

    def _built(self, board: str | os.PathLike[str] | None) -> _native.Built:
        on = None if board is None else self.program._on(board)
        if (self._training is None or self._calibrated) and self._made is not None:
            rows, asked = self._made.rows, self._made.asked
            return self.program._native.rebuild(rows, asked, self._native, on)
        return self._trained("build").build(on)

    def _verified(self, built: _native.Built) -> Verify:
        return lambda folder, X, y: built.verify_training(folder, self._labelled(X, y), self._native)

    def report(self, widths: Sequence[int] = ()) -> Report:
        """The report page: figures, curves, cycles by source line, timeline, waves, placement. Measures an update on the simulated grid, and
        repeats the training in words of each of `widths` bits."""
        return Report(self._trained("report").page(self._made.call if self._made else "", list(widths)))

    def _trained(self, what: str) -> _native.Training:
        if self._training is None:
            raise errors.UsageError(f"a model that was loaded has no training: `{what}` needs its data", "E-USAGE")
        return self._training

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as JSON, whole or not at all; `tabla-gen predict --load` reads it, too."""
        self._native.save(os.fspath(path))

    def __getstate__(self) -> dict[str, Any]:
        text = self._native.to_text("the pickled model")
        kept = {"program": self.program, "results": self.results, "classes": self._classes, "made": self._made}
        return {**kept, "one_against_rest": self._one_against_rest, "signs": self._signs, "text": text}

    def __setstate__(self, state: dict[str, Any]) -> None:
        native = _native.Model.of_text(state["program"]._native, "the pickled model", state["text"])
        self.__init__(state["program"], native, state["results"], state["classes"], made=state["made"])  # type: ignore[misc]
        self._one_against_rest, self._signs = state["one_against_rest"], state["signs"]

    def _repr_html_(self) -> str:
        return report.html(self)

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name}{list(array.shape)}" for name, array in self.weights.items())
        return f"<tabla_gen.Model of {self.program.name}: {shapes}>"


def written(built: _native.Built, out: str | os.PathLike[str] | None, force: bool, verify: Verify) -> Hardware:
    """Hardware in its folder."""
    return Hardware(Path(built.publish(None if out is None else os.fspath(out), force)), built, verify)


def in_order(X: ArrayLike, names: list[str]) -> NDArray[np.float64]:
    """Rows of features, whose columns have these names; places count where either side has none."""
    given = getattr(X, "columns", None)
    if given is None or names == [f"x{n}" for n in range(len(names))]:
        return matrix(X)
    columns = list(map(str, given))
    wrong = [f"no column {name!r}" for name in names if name not in columns]
    wrong += [f"a column {name!r} that the training has not seen" for name in columns if name not in names]
    if wrong:
        raise errors.UsageError(f"X has {', '.join(wrong[:5])}", "E-USAGE")
    return matrix(X)[:, [columns.index(name) for name in names]]


def array(shaped: tuple[bytearray, list[int]]) -> NDArray[np.float64]:
    """Elements of the native half as an array that owns them."""
    elements, shape = shaped
    return np.frombuffer(elements, dtype=np.float64).reshape(shape)


def matrix(X: ArrayLike) -> NDArray[np.float64]:
    """Rows and columns of float64, without a copy where that is what they are."""
    rows = np.asarray(X, dtype=np.float64)
    if rows.ndim != 2:
        raise errors.UsageError(f"X has rows and columns, not the shape {rows.shape}", "E-USAGE")
    return rows
