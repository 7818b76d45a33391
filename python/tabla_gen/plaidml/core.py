"""Types and buffers by the module that PlaidML's files take them from."""

from tabla_gen.plaidml.program import Buffer, Program
from tabla_gen.plaidml.shapes import DType, TensorShape

__all__ = ["Buffer", "DType", "Program", "TensorShape"]
