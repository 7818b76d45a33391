"""Programs in the Python form of PlaidML: its files run with NumPy arrays, and become grids.

`install()` makes `import plaidml.edsl` mean this package, for files that cannot be changed.
"""

from __future__ import annotations

import importlib
import sys

from tabla_gen.errors import TablaError as Error
from tabla_gen.plaidml.program import Buffer, Program
from tabla_gen.plaidml.shapes import DType, TensorShape

_MODULES = ("core", "edsl", "exec", "op")


def install() -> None:
    """Let `import plaidml` and `import plaidml.edsl` find this package.

    Raises
    ------
    RuntimeError
        Another package of this name is loaded already.
    """
    own = sys.modules[__name__]
    if sys.modules.get("plaidml", own) is not own:
        raise RuntimeError("another package named plaidml is loaded already")
    sys.modules["plaidml"] = own
    for name in _MODULES:
        sys.modules[f"plaidml.{name}"] = importlib.import_module(f"{__name__}.{name}")


__all__ = ["Buffer", "DType", "Error", "Program", "TensorShape", "install"]
