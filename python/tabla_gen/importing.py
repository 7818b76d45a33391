"""Models of other packages, each in one call; these export it as ONNX."""

from __future__ import annotations

import importlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tabla_gen import errors
from tabla_gen.function import Function
from tabla_gen.program import Program

Config = str | os.PathLike[str] | None


def needed(module: str, package: str, who: str) -> Any:
    """A module of an optional package.

    Raises
    ------
    ToolError
        It is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        message = f"{who} needs the package {package}, which is not installed: pip install {package}"
        raise errors.ToolError(message, "E-TOOL") from error


def from_onnx(
    path: str | os.PathLike[str],
    *,
    shape: Mapping[str, int] | None = None,
    config: Config = None,
    machine: Mapping[str, Any] | None = None,
) -> Function:
    """A model in an ONNX file; `Program.from_onnx` has the arguments."""
    return Function(Program.from_onnx(path, shape=shape, config=config, machine=machine))


def from_tflite(
    path: str | os.PathLike[str], *, config: Config = None, machine: Mapping[str, Any] | None = None
) -> Function:
    """A model in a file of TensorFlow Lite. Rows are real numbers: scales of the file are applied."""
    return Function(Program.from_tflite(path, config=config, machine=machine))


def from_sklearn(
    estimator: Any, *, name: str | None = None, config: Config = None, machine: Mapping[str, Any] | None = None
) -> Function:
    """A fitted estimator or pipeline of scikit-learn, by skl2onnx.

    Parameters
    ----------
    estimator : estimator
        Fitted, on columns of numbers.
    name : str, optional
        Of the program; default: that of the class of its last step.
    config : str or path, optional
        The machine, as `Program` has it.
    machine : dict, optional
        Keys of the machine.

    Raises
    ------
    ToolError
        skl2onnx is not installed.
    UsageError
        The estimator is not fitted, or skl2onnx cannot convert it.
    """
    skl2onnx = needed("skl2onnx", "skl2onnx", "from_sklearn")
    types = needed("skl2onnx.common.data_types", "skl2onnx", "from_sklearn")
    features = getattr(estimator, "n_features_in_", None)
    if features is None:
        raise errors.UsageError(f"{type(estimator).__name__} is not fitted, or says no number of features", "E-USAGE")
    steps = getattr(estimator, "steps", None)
    last = steps[-1][1] if steps else estimator
    names = getattr(estimator, "feature_names_in_", None)
    classes = getattr(estimator, "classes_", None)
    whole = [("X", types.FloatTensorType([1, features]))]
    # Steps that take columns by their names need an input for each.
    single = [] if names is None else [(str(column), types.FloatTensorType([1, 1])) for column in names]
    failure: Exception | None = None
    for inputs in (whole, single):
        for options in ({id(last): {"zipmap": False}}, None) if classes is not None else (None,):
            try:
                model = skl2onnx.convert_sklearn(estimator, initial_types=inputs, options=options) if inputs else None
            except Exception as error:  # noqa: BLE001  skl2onnx raises whatever it meets
                failure = failure or error
                continue
            if model is not None:
                program = _of_bytes(model.SerializeToString(), name or type(last).__name__.lower(), config, machine)
                return Function(program, feature_names=names, classes=None if classes is None else classes.tolist())
    raise errors.UsageError(f"skl2onnx cannot convert {type(last).__name__}: {failure}", "E-USAGE") from failure


def from_torch(
    module: Any,
    example: Any,
    *,
    name: str | None = None,
    config: Config = None,
    machine: Mapping[str, Any] | None = None,
) -> Function:
    """A module of PyTorch, by torch.onnx.

    Parameters
    ----------
    module : torch.nn.Module
        It is exported as it evaluates, not as it trains.
    example : tensor or array of shape (rows, ...)
        Features; its first row decides shapes and types.
    name, config, machine
        As `from_sklearn` has them.

    Raises
    ------
    ToolError
        torch or onnxscript is not installed.
    """
    torch = needed("torch", "torch", "from_torch")
    needed("onnxscript", "onnxscript", "from_torch")
    row = torch.as_tensor(np.asarray(example, np.float32) if not torch.is_tensor(example) else example)[:1]
    trains = bool(module.training)
    module.eval()
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model.onnx")
            torch.onnx.export(module, (row,), str(path), dynamo=True, external_data=False, verbose=False)
            return Function(_of_bytes(path.read_bytes(), name or type(module).__name__.lower(), config, machine))
    finally:
        module.train(trains)


def from_keras(
    model: Any, *, name: str | None = None, config: Config = None, machine: Mapping[str, Any] | None = None
) -> Function:
    """A model of Keras, by its own export, or by tf2onnx where it has none.

    Parameters
    ----------
    model : keras.Model
        Built: its input has a shape.
    name, config, machine
        As `from_sklearn` has them.

    Raises
    ------
    ToolError
        A package that the export needs is not installed: tf2onnx with TensorFlow or JAX, onnxscript with PyTorch.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        if hasattr(model, "export"):
            keras = needed("keras", "keras", "from_keras")
            backend = keras.backend.backend()
            package = "onnxscript" if backend == "torch" else "tf2onnx"
            needed(package, package, f"from_keras with {backend}")
            # The export asks for a model that was called.
            rows = [keras.ops.zeros([extent or 1 for extent in given.shape], given.dtype) for given in model.inputs]
            model(rows[0] if len(rows) == 1 else rows)
            model.export(str(path), format="onnx", verbose=False)
        else:
            needed("tf2onnx", "tf2onnx", "from_keras").convert.from_keras(model, output_path=str(path))
        return Function(_of_bytes(path.read_bytes(), name or str(model.name), config, machine))


def _of_bytes(model: bytes, name: str, config: Config, machine: Mapping[str, Any] | None) -> Program:
    return Program.from_onnx_bytes(model, name=name, config=config, machine=machine)
