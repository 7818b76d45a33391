"""From a training step in a few lines to a verified accelerator.

>>> import numpy as np, tabla_gen
>>> line = tabla_gen.Program.from_text('''
... mu = 0.1; m = 2;
... model_input x[m]; model_output y; model w[m]; iterator i[0:m];
... h = sum[i](w[i] * x[i]);
... minimize squared(h, y);
... ''', train={"prediction": "h", "loss": "squared", "epochs": 30, "sizes": {"m": "features"}})
>>> X = np.array([[n % 5, n % 7] for n in range(35)], float)
>>> model = line.train(X, X @ [2, -1], engine="array")
>>> bool(np.allclose(model.predict(X), X @ [2, -1], atol=0.2))
True

`Program` checks, evaluates, trains and explains programs, and builds hardware of them. `from_sklearn`, `from_torch`, `from_keras`, `from_onnx` and
`from_tflite` make a `Function` of a trained model, which is scored on tables and deployed. `TablaClassifier` and `TablaRegressor` are
estimators of scikit-learn, which has to be installed for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tabla_gen import errors
from tabla_gen._native import VERSION as __version__
from tabla_gen.errors import Diagnostic, TablaError, TablaWarning
from tabla_gen.explanation import Explanation
from tabla_gen.function import Function
from tabla_gen.hardware import Bitstream, Hardware, Synthesis
from tabla_gen.importing import from_keras, from_onnx, from_sklearn, from_tflite, from_torch
from tabla_gen.model import Evaluation, Model
from tabla_gen.profile import Profile
from tabla_gen.program import Program
from tabla_gen.report import Report
from tabla_gen.score import Deployed, Score

if TYPE_CHECKING:
    from tabla_gen.estimators import TablaClassifier, TablaRegressor

__all__ = [
    "Bitstream",
    "Deployed",
    "Diagnostic",
    "Evaluation",
    "Explanation",
    "Function",
    "Hardware",
    "Model",
    "Profile",
    "Program",
    "Report",
    "Score",
    "Synthesis",
    "TablaClassifier",
    "TablaError",
    "TablaRegressor",
    "TablaWarning",
    "__version__",
    "errors",
    "from_keras",
    "from_onnx",
    "from_sklearn",
    "from_tflite",
    "from_torch",
]


def __getattr__(name: str) -> Any:
    # scikit-learn is loaded by those who want it.
    if name in ("TablaClassifier", "TablaRegressor"):
        from tabla_gen import estimators

        return getattr(estimators, name)
    raise AttributeError(f"module 'tabla_gen' has no attribute '{name}'")
