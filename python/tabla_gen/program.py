"""Programs: checked, evaluated, trained, explained, built."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tabla_gen import _native, errors, settings
from tabla_gen.explanation import Explanation
from tabla_gen.hardware import Hardware
from tabla_gen.model import Engine, Evaluation, Made, Model, array, matrix, written
from tabla_gen.progress import Progress, callback

_LANGUAGES = {"tabla": "t", "tensor_comprehensions": "tc", "tile": "tile", "rink": "rink"}


class Program:
    """A program with its settings and the machine that it is meant for.

    `from_text`, `from_file`, `from_onnx` and `from_tflite` make one. All of them take

    config : str or path, optional
        The machine: the name of a configuration that is built in (`"ulx3s"`), the path of a TOML file, or its text.
    machine : dict, optional
        Keys of the `[machine]` table, stronger than the configuration's: `{"pus": 4, "word": 12}`.
    set : dict, optional
        Constants of the program, in place of those in its text.
    function : str, optional
        Which function of the text is meant, in languages that have several.
    resident : list of str, optional
        Inputs of a function that are loaded once and stay in the grid.
    state : dict of str to str, optional
        The state of a stream: inputs of a function that take a result's value after each record, as in `{"h": "h_next"}`.
    train : dict or str, optional
        The `[train]` table, or the text of the TOML beside the program: prediction, loss, epochs and so on.

    Nothing is read twice: a program that is wrong raises `ProgramError` when it is used, with code, place and the lines that are
    meant; `check` uses it for nothing else.
    """

    def __init__(self, how: str, arguments: dict[str, Any]) -> None:
        self._how = how
        self._arguments = arguments
        if how == "text":
            self._native = _native.Project.of_texts(**arguments)
        elif how == "model":
            self._native = _native.Project.of_model(**arguments)
        else:
            text = arguments.get("settings")
            project = _native.Project.open(arguments["path"], arguments["reading"])
            self._native = project if text is None else project.with_settings(text)

    @classmethod
    def from_text(
        cls,
        text: str,
        *,
        language: str = "tabla",
        name: str = "program",
        train: Mapping[str, Any] | str | None = None,
        config: str | os.PathLike[str] | None = None,
        machine: Mapping[str, Any] | None = None,
        set: Mapping[str, float] | None = None,
        function: str | None = None,
        resident: Iterable[str] | None = None,
        state: Mapping[str, str] | None = None,
    ) -> Program:
        """A program in memory; `language` is `"tabla"`, `"tensor_comprehensions"`, `"tile"` or `"rink"`."""
        if language not in _LANGUAGES:
            known = ", ".join(map(repr, _LANGUAGES))
            raise errors.UsageError(f"the language {language!r} is not known: it is one of {known}", "E-USAGE")
        reading = _reading(config, machine, set, function, resident=resident, state=state)
        file = f"{name}.{_LANGUAGES[language]}"
        return cls("text", {"name": file, "text": text, "settings": _settings(train), "reading": reading})

    @classmethod
    def from_file(
        cls,
        path: str | os.PathLike[str],
        *,
        train: Mapping[str, Any] | str | None = None,
        config: str | os.PathLike[str] | None = None,
        machine: Mapping[str, Any] | None = None,
        set: Mapping[str, float] | None = None,
        function: str | None = None,
        resident: Iterable[str] | None = None,
        state: Mapping[str, str] | None = None,
    ) -> Program:
        """A program in a file, or one that is built in (`"programs/logistic.t"`); its settings are in the TOML beside it."""
        reading = _reading(config, machine, set, function, resident=resident, state=state)
        return cls("file", {"path": os.fspath(path), "settings": _settings(train), "reading": reading})

    @classmethod
    def from_onnx(
        cls,
        path: str | os.PathLike[str],
        *,
        shape: Mapping[str, int] | None = None,
        train: Mapping[str, Any] | str | None = None,
        config: str | os.PathLike[str] | None = None,
        machine: Mapping[str, Any] | None = None,
        resident: Iterable[str] | None = None,
        state: Mapping[str, str] | None = None,
    ) -> Program:
        """A model of scikit-learn, PyTorch or Keras; `shape` gives the sizes that it leaves open: `{"N": 1}`."""
        reading = _reading(config, machine, shape, None, "onnx", resident, state)
        return cls("file", {"path": os.fspath(path), "settings": _settings(train), "reading": reading})

    @classmethod
    def from_onnx_bytes(
        cls,
        model: bytes,
        *,
        name: str = "model",
        shape: Mapping[str, int] | None = None,
        train: Mapping[str, Any] | str | None = None,
        config: str | os.PathLike[str] | None = None,
        machine: Mapping[str, Any] | None = None,
    ) -> Program:
        """The same in memory: the bytes of an ONNX file."""
        reading = _reading(config, machine, shape, None, "onnx")
        return cls("model", {"name": f"{name}.onnx", "model": bytes(model), "settings": _settings(train), "reading": reading})

    @classmethod
    def from_tflite(
        cls,
        path: str | os.PathLike[str],
        *,
        config: str | os.PathLike[str] | None = None,
        machine: Mapping[str, Any] | None = None,
    ) -> Program:
        """A model of TensorFlow Lite. Integers are given and come as they are in the file."""
        reading = _reading(config, machine, None, None, "tflite")
        return cls("file", {"path": os.fspath(path), "settings": _settings(None), "reading": reading})

    @property
    def name(self) -> str:
        """Name of its file, without the extension."""
        return self._native.name

    @property
    def source(self) -> str:
        """Its text; of an ONNX or TFLite model, the graph as text."""
        return self._native.source

    def check(self, inputs: Mapping[str, ArrayLike] | None = None) -> list[errors.Diagnostic]:
        """Warnings about the program.

        Parameters
        ----------
        inputs : dict of str to array, optional
            Sizes of inputs, for languages whose programs leave them open.

        Raises
        ------
        ProgramError
            It is wrong; `diagnostics` has all that is.
        """
        return self._native.check(_inputs(inputs or {}))

    def eval(self, inputs: Mapping[str, ArrayLike] | None = None, *, engine: Engine = "golden") -> Evaluation:
        """Evaluate the program once.

        Parameters
        ----------
        inputs : dict of str to array
            A value for each input, label and state that the program needs, in the shape that it has there.
        engine : {"golden", "fixed", "array", "rtl"}
            What computes: float64; fixed-point words; the grid cycle by cycle; its Verilog (needs `scripts/setup`).
        """
        values, following, distance, warnings = self._native.evaluate(_inputs(inputs or {}), engine)
        arrays = {name: _output(value) for name, value in values.items()}
        return Evaluation(arrays, {n: _output(v) for n, v in (following or {}).items()}, distance, warnings)

    def train(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        engine: Engine = "golden",
        epochs: int | None = None,
        batch: int | None = None,
        reduction: str | None = None,
        order: str | None = None,
        seed: int | None = None,
        split: float | None = None,
        sample_weight: ArrayLike | None = None,
        missing: str = "refuse",
        feature_names: Iterable[str] | None = None,
        start: Model | Mapping[str, ArrayLike] | None = None,
        curves: bool = False,
        progress: Progress = "auto",
    ) -> Model:
        """Train on rows in memory. What is left out is decided by the settings of the program, then by its configuration.

        Parameters
        ----------
        X : array of shape (rows, features), float64
            Features; they are scaled to mean 0 and deviation 1 unless the settings say `standardise = false`.
        y : array of shape (rows,) or (rows, targets)
            Names of classes for programs with labels, otherwise numbers.
        engine : {"golden", "fixed", "array", "rtl"}
            The lowest engine; the golden model is trained first, since its values decide the binary points of the others.
        epochs : int
            Passes over the training part.
        batch : int
            Samples per update.
        reduction : {"mean", "sum"}
            What a batch does with the gradients of its samples.
        order : {"rows", "shuffled", "store", "permuted"}
            The order of the samples: as they are; drawn anew for each epoch; drawn once; drawn once, in
            batches that have another order in every epoch.
        seed : int
            Of split, order and initial weights.
        split : float
            Part of the rows that trains; the others test. Default: 0.8.
        sample_weight : array of shape (rows,), optional
            For programs whose settings name the scalar that takes it: `sample_weight = "s"`.
        missing : {"refuse", "mean", "median", "zero"}
            What a feature that is NaN becomes.
        start : Model or dict of str to array, optional
            Weights to begin with. A model also gives the scales of features and targets: the training goes on.
        curves : bool
            Judge the weights after each epoch: `results["curves"]`.
        progress : {"auto", True, False} or callable
            A bar of tqdm, or who is called with `(what, engine, epochs done, epochs in all, loss)`.

        Raises
        ------
        KeyboardInterrupt
            At Ctrl-C, at once.
        """
        features = matrix(X)
        _check_counts(epochs=epochs, batch=batch)
        classes = None
        if y is not None and self._native.has_labels():
            classes = list(dict.fromkeys(np.asarray(y).ravel().tolist()))
        asked = {
            "epochs": epochs,
            "batch": batch,
            "reduction": reduction,
            "order": order,
            "seed": seed,
            "split": split,
            "missing": missing,
        }
        names = feature_names or _columns(X, features.shape[1])
        rows = self._labelled(features, names, y, sample_weight)
        return self._trained(rows, asked, engine, start, curves, progress, classes)

    def _labelled(
        self, features: NDArray[np.float64], names: Iterable[str], y: ArrayLike | None, sample_weight: ArrayLike | None = None
    ) -> dict[str, Any]:
        """Rows with targets: cells for programs whose settings say what they mean, otherwise numbers."""
        cells, codes = None, None
        if y is not None and self._native.has_labels():
            targets = np.asarray(y)
            cells = [[str(cell) for cell in row] for row in targets.reshape(len(targets), -1).tolist()]
        elif y is not None:
            codes = np.asarray(y, dtype=np.float64)
            codes = codes.reshape(len(codes), -1)
        return _rows(features, names, cells=cells, codes=codes, sample_weight=sample_weight)

    def _trained(
        self,
        rows: dict[str, Any],
        asked: dict[str, Any],
        engine: Engine,
        start: Model | Mapping[str, ArrayLike] | None = None,
        curves: bool = False,
        progress: Progress = False,
        classes: Sequence[Any] | None = None,
    ) -> Model:
        before, weights = None, None
        if isinstance(start, Model):
            before = start._native
        elif start is not None:
            weights = {name: np.asarray(values, float).ravel().tolist() for name, values in start.items()}
        done = self._native.train(rows, asked, engine, before, weights, curves, callback(progress))
        said = ", ".join(f"{name}={value!r}" for name, value in {"engine": engine, **asked}.items() if value is not None)
        call = f"from_file({self._arguments['path']!r})" if self._how == "file" else f"from_{self._how}(...)"
        made = Made(rows, asked, f"Program.{call}.train(X, y, {said})")
        return Model(self, done.model(), json.loads(done.results()), classes, done, made)

    def explain(self, inputs: Mapping[str, ArrayLike] | None = None) -> Explanation:
        """How many cycles a function takes, and why; `Model.explain` says it of a training.

        Parameters
        ----------
        inputs : dict of str to array, optional
            A record, whose values decide sizes and binary points; default: one that is made up.
        """
        record = None if inputs is None else _inputs(inputs)
        return Explanation(json.loads(self._native.explain(record)), self.source)

    def build(
        self,
        board: str | os.PathLike[str] | None = None,
        out: str | os.PathLike[str] | None = None,
        *,
        data: str | os.PathLike[str] | None = None,
        inputs: Mapping[str, ArrayLike] | Sequence[Mapping[str, ArrayLike]] | str | os.PathLike[str] | None = None,
        force: bool = False,
    ) -> Hardware:
        """Make the hardware for a board and write it: what `tabla-gen --config BOARD --out OUT` writes, byte for byte.

        The folder holds Verilog, microcode, stream layout, a testbench, cores, drivers and a report (docs/command-line.md). What an
        earlier build has written there is replaced, all at once; files of others stay. At Ctrl-C nothing is written.

        Parameters
        ----------
        board : str or path, optional
            A configuration: the name of one that is built in (`"ulx3s"`), the path of a TOML file, or its text. Default: the program's.
        out : path, optional
            The folder; default: the configuration's, or `out/NAME`.
        data : path, optional
            A file of rows, for a program that trains: its values decide the binary points. Default: the configuration's own data, or
            made-up samples. `Model.build` takes the rows of its training.
        inputs : dict, list of dict, or path, optional
            Records of a function, as arrays or as a file (JSON, npz); default: made-up ones.
        force : bool
            Replace files that no build wrote, or that were changed since.

        Raises
        ------
        DoesNotFitError
            The board does not hold it; `diagnostics` has what would fit.
        KeyboardInterrupt
            At Ctrl-C, at once.
        """
        given, records = None, None
        if isinstance(inputs, (str, os.PathLike)):
            records = os.fspath(inputs)
        elif inputs is not None:
            given = [_inputs(record) for record in ([inputs] if isinstance(inputs, Mapping) else inputs)]
        built = self._on(board).build(None if data is None else os.fspath(data), records, given)

        def verify(folder: str, X: ArrayLike, y: ArrayLike) -> str:
            from tabla_gen.function import Function

            return built.verify_function(folder, Function(self)._rows(X, y))

        return written(built, out, force, verify)

    def _on(self, board: str | os.PathLike[str] | None) -> _native.Project:
        """The same with another configuration."""
        if board is None:
            return self._native
        return self._native.on({**self._arguments["reading"], **_configuration(board)})

    def load(self, path: str | os.PathLike[str]) -> Model:
        """A model of this program that was saved, by Python or by `tabla-gen train --save`."""
        name = os.fspath(path)
        try:
            with open(name, encoding="utf-8") as file:
                text = file.read()
        except OSError as error:
            raise errors.FileError(f"cannot read {name}: {error.strerror}", "E-FILE") from error
        return Model(self, _native.Model.of_text(self._native, name, text))

    def __reduce__(self) -> tuple:
        return Program, (self._how, self._arguments)

    def __repr__(self) -> str:
        return f"<tabla_gen.Program {self.name} in {self._native.language}>"


def _settings(train: Mapping[str, Any] | str | None) -> str | None:
    return settings.to_toml(train) if isinstance(train, Mapping) else train


def _reading(
    config: str | os.PathLike[str] | None,
    machine: Mapping[str, Any] | None,
    constants: Mapping[str, float] | None,
    function: str | None,
    language: str | None = None,
    resident: Iterable[str] | None = None,
    state: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    return {
        "language": language,
        **_configuration(config),
        "machine": [(key, _toml(value)) for key, value in (machine or {}).items()],
        "set": [(key, float(value)) for key, value in (constants or {}).items()],
        "function": function,
        "resident": None if resident is None else list(resident),
        "state": None if state is None else dict(state),
    }


def _configuration(config: str | os.PathLike[str] | None) -> dict[str, str | None]:
    """A configuration by its name or path, or its text."""
    name = None if config is None else os.fspath(config)
    is_text = name is not None and ("\n" in name or name.lstrip().startswith("["))
    return {"config": None if is_text else name, "config_text": name if is_text else None}


def _toml(value: Any) -> str:
    return value if isinstance(value, str) else settings.value(value)


def _check_counts(**counts: Any) -> None:
    for name, count in counts.items():
        if count is not None and (not isinstance(count, Integral) or isinstance(count, bool) or count < 1):
            raise errors.UsageError(f"{name} is an integer, at least 1, not {count!r}", "E-USAGE")


def _columns(X: Any, count: int) -> list[str]:
    names = getattr(X, "columns", None)
    return list(map(str, names)) if names is not None else [f"x{n}" for n in range(count)]


def _rows(
    features: NDArray[np.float64],
    names: Iterable[str],
    *,
    cells: list[list[str]] | None = None,
    codes: NDArray[np.float64] | None = None,
    classes: Iterable[str] = (),
    sample_weight: ArrayLike | None = None,
) -> dict[str, Any]:
    """Rows of a training as the native half takes them."""
    count = len(cells[0]) if cells else 0 if codes is None else codes.shape[1]
    return {
        "columns": [str(name) for name in names],
        "features": features,
        "target_columns": _targets(count),
        "cells": cells,
        "codes": codes,
        "classes": list(classes),
        "weights": None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64),
    }


def _targets(count: int) -> list[str]:
    return ["y"] if count == 1 else [f"y{n}" for n in range(count)]


def _inputs(inputs: Mapping[str, ArrayLike]) -> dict[str, Any]:
    def given(value: ArrayLike) -> Any:
        values = np.asarray(value)
        # Integers may be sizes.
        values = np.asarray(values, dtype=np.int64 if values.dtype.kind in "iu" else np.float64)
        return values if values.ndim else values.item()

    return {name: given(value) for name, value in inputs.items()}


def _output(value: tuple[tuple[bytearray, list[int]], list[int], bool]) -> NDArray[Any]:
    shaped, undefined, truth = value
    values = array(shaped)
    values = values.astype(bool) if truth else values
    if not undefined:
        return values
    mask = np.zeros(values.size, dtype=bool)
    mask[undefined] = True
    return np.ma.masked_array(values, mask=mask.reshape(values.shape))
