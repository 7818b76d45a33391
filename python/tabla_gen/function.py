"""Functions: programs that train nothing, such as imported models, on rows of features."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tabla_gen import _native, errors
from tabla_gen.explanation import Explanation
from tabla_gen.hardware import Hardware
from tabla_gen.model import Engine, array, in_order, matrix, written
from tabla_gen.profile import Layer, Profile
from tabla_gen.program import Program, _columns
from tabla_gen.score import Deployed, Score, scored

if TYPE_CHECKING:
    from tabla_gen.hardware import Verify


class Function:
    """A program that trains nothing, on rows of features: predicted, scored, profiled and deployed.

    `tabla_gen.from_sklearn`, `from_torch`, `from_keras`, `from_onnx` and `from_tflite` make one, and so does `Function(program)`.

    Parameters
    ----------
    program : Program
        What computes. A record of it is a row, or so many rows as its input has.
    feature_names : list of str, optional
        Names of the columns of `X`, by which those of a DataFrame are taken.
    classes : sequence, optional
        The classes in the order of their scores; default: those that the model names, as text.
    """

    program: Program
    feature_names: list[str] | None

    def __init__(
        self, program: Program, *, feature_names: Iterable[str] | None = None, classes: Sequence[Any] | None = None
    ) -> None:
        self.program = program
        self.feature_names = None if feature_names is None else list(map(str, feature_names))
        self._classes = None if classes is None else list(classes)
        self._calibration: dict[str, Any] | None = None
        self._native = _native.Function(program._native, None)

    def calibrate(self, X: ArrayLike) -> Function:
        """Choose binary points from rows as the hardware will see them; without it `score` and `predict` choose them from their own rows, and
        `build` from made-up ones.

        Parameters
        ----------
        X : array of shape (rows, features)

        Returns
        -------
        Function
            This one.
        """
        self._calibration = self._rows(X)
        self._native = _native.Function(self.program._native, self._calibration)
        return self

    def raw(self, X: ArrayLike, *, engine: Engine = "golden", output: str | None = None) -> NDArray[np.float64]:
        """A result for each row.

        Parameters
        ----------
        X : array of shape (rows, features)
        engine : {"golden", "fixed", "array", "rtl"}
        output : str, optional
            A name of a result; default: the first that is no label.

        Returns
        -------
        ndarray of shape (rows, elements), float64
        """
        return self._raw(X, engine, output)[0]

    def predict(self, X: ArrayLike, *, engine: Engine = "golden") -> NDArray[Any]:
        """The class of each row where the model has classes, otherwise numbers of shape (rows,) or (rows, elements).

        Parameters
        ----------
        X : array of shape (rows, features)
        engine : {"golden", "fixed", "array", "rtl"}
        """
        values, is_label, named = self._raw(X, engine, None)
        width = values.shape[1]
        classes = np.asarray(self._classes if self._classes is not None else named)
        if is_label:
            labels = values[:, 0].astype(np.int64)
            return classes[labels] if classes.dtype.kind in "UO" and len(classes) else labels
        if width > 1 and len(classes) == width:
            return classes[values.argmax(axis=1)]
        if width == 1 and len(classes) == 2:
            return classes[(values[:, 0] > 0.5).astype(np.intp)]
        return values[:, 0] if width == 1 else values

    def score(self, X: ArrayLike, y: ArrayLike, *, engine: Engine = "golden") -> Score:
        """How good predictions are: accuracy, confusion, F1, AUC of classes, R2 and mean absolute error of numbers; beside golden's.

        Parameters
        ----------
        X : array of shape (rows, features)
        y : array of shape (rows,) or (rows, targets)
            Classes by their names, or numbers.
        engine : {"golden", "fixed", "array", "rtl"}
        """
        text, warnings = self._native.score(self._rows(X, y), engine)
        errors.warn(warnings)
        return scored(json.loads(text))

    def profile(self, X: ArrayLike) -> Profile:
        """Values beside the formats of their words, layer by layer; the first 1000 records count.

        Parameters
        ----------
        X : array of shape (rows, features)
        """
        return Profile([Layer(**layer) for layer in json.loads(self._native.profile(self._rows(X)))])

    def explain(self) -> Explanation:
        """How many cycles a record takes on the grid, and why."""
        return Explanation(json.loads(self._native.explain()), self.program.source)

    def build(
        self, board: str | os.PathLike[str] | None = None, out: str | os.PathLike[str] | None = None, *, force: bool = False
    ) -> Hardware:
        """Make the hardware for a board and write it, as `Program.build`; the rows of `calibrate` decide the binary points."""
        on = None if board is None else self.program._on(board)
        built = self._native.build(on)
        return written(built, out, force, self._verified(built))

    def deploy(
        self,
        X: ArrayLike,
        y: ArrayLike,
        board: str | os.PathLike[str] | None = None,
        out: str | os.PathLike[str] | None = None,
        *,
        within: float = 0.5,
        split: float = 0.5,
        seed: int = 0,
        force: bool = False,
    ) -> Deployed:
        """Calibrate on a part of the rows, build, run the written Verilog on the others beside golden, and keep it if it scores as golden does.

        Parameters
        ----------
        X : array of shape (rows, features)
        y : array of shape (rows,) or (rows, targets)
        board, out, force
            As `Program.build` has them.
        within : float
            How far the score may be from golden's, in hundredths of accuracy or of R2.
        split : float
            Part of the rows, of each class, that binary points are chosen from.
        seed : int
            Which rows these are.

        Raises
        ------
        InaccurateError
            It scores otherwise; the message names the bits that would do. Nothing was written.
        MismatchError
            The written Verilog differs from fixed point.
        DoesNotFitError
            The board does not hold it.
        """
        if not (within >= 0 and 0 < split < 1):
            raise errors.UsageError(f"within is at least 0, split between 0 and 1, not {within!r} and {split!r}", "E-USAGE")
        on = None if board is None else self.program._on(board)
        terms = (float(within), float(split), int(seed))
        folder = None if out is None else os.fspath(out)
        built, text = self._native.deploy(on, self._rows(X, y), terms, folder, force)
        found = json.loads(text)
        hardware = Hardware(Path(built.folder), built, self._verified(built))
        score = scored(found, "hardware", "hardware")
        return Deployed(hardware, score, found["points"], found["calibrated"], found["words_compared"])

    def _verified(self, built: _native.Built) -> Verify:
        return lambda folder, X, y: built.verify_function(folder, self._rows(X, y))

    def _raw(self, X: ArrayLike, engine: Engine, output: str | None) -> tuple[NDArray[np.float64], bool, list[str]]:
        values, is_label, classes, warnings = self._native.predict(self._rows(X), engine, output)
        errors.warn(warnings)
        return array(values), is_label, classes

    def _rows(self, X: ArrayLike, y: ArrayLike | None = None) -> dict[str, Any]:
        """Rows as the native half takes them."""
        features = matrix(X) if self.feature_names is None else in_order(X, self.feature_names)
        names = self.feature_names or _columns(X, features.shape[1])
        targets = [] if y is None else cells(y)
        if y is not None and len(targets) != len(features):
            raise errors.UsageError(f"X has {len(features)} rows, y {len(targets)}", "E-USAGE")
        # No column of features is called like this.
        target_columns = [f"target.{n}" for n in range(len(targets[0]))] if targets else []
        return {"columns": names, "features": features, "target_columns": target_columns, "targets": targets}

    def __getstate__(self) -> dict[str, Any]:
        kept = {"program": self.program, "feature_names": self.feature_names}
        return {**kept, "classes": self._classes, "calibration": self._calibration}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__init__(state["program"], feature_names=state["feature_names"], classes=state["classes"])  # type: ignore[misc]
        self._calibration = state["calibration"]
        self._native = _native.Function(self.program._native, self._calibration)

    def __repr__(self) -> str:
        return f"<tabla_gen.Function {self.program.name}>"


def cells(y: ArrayLike) -> list[list[str]]:
    """Targets as text, row by row."""
    targets = np.asarray(y)
    if targets.ndim not in (1, 2) or len(targets) == 0:
        raise errors.UsageError(f"y has rows, perhaps of several targets, not the shape {targets.shape}", "E-USAGE")
    return [[str(cell) for cell in row] for row in targets.reshape(len(targets), -1).tolist()]
