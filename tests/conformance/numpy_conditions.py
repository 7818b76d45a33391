#!/usr/bin/env python3
"""Values of the programs about conditional reads, sizes that round down, and names of functions that are defined anew, by NumPy.

    python3 tests/conformance/numpy_conditions.py            compare the expectations with NumPy (needs numpy; not part of CI)
    python3 tests/conformance/numpy_conditions.py --write    write inputs and values of these programs beside them

Reads at places that are not there are written as padding, masks or Python's own `//`; none follows the program's spelling.
"""

import json
import math
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
RANDOM = np.random.default_rng(45)
PROGRAMS = {}


def numbers(*shape, low=-2, high=2):
    """Multiples of a quarter."""
    return RANDOM.integers(4 * low, 4 * high + 1, size=shape) / 4.0


def whole(*values):
    """Integers."""
    return np.array(values, dtype=np.int64)


def program(file, exact=True, warnings=(), **inputs):
    """Register the values of a program."""

    def register(function):
        PROGRAMS[file] = (inputs, function, exact, warnings)
        return function

    return register


def shifted(A, by):
    """Elements `by` places later, 0 where there is none."""
    out = np.zeros_like(A)
    if by >= 0:
        out[by:] = A[: len(A) - by]
    else:
        out[:by] = A[-by:]
    return out


# Conditions on indices


@program("tc/guard_shift.tc", A=numbers(5))
def _(A):
    return {"O": shifted(A, 2)}


@program("tc/guard_or.tc", A=numbers(6))
def _(A):
    return {"O": np.concatenate([[0.0], A[1:], [0.0]])}


@program("tc/guard_not.tc", A=numbers(6))
def _(A):
    return {"O": np.concatenate([[1.0], A[:-1] * A[1:], [1.0]])}


@program("tc/guard_nested.tc", A=numbers(7))
def _(A):
    return {"O": np.concatenate([A[1:2], (A[:-2] + A[2:]) / 2, A[-2:-1]])}


@program("tc/guard_convolution_same.tc", A=numbers(9), W=numbers(3))
def _(A, W):
    return {"O": np.correlate(A, W, mode="same")}


@program("tc/guard_convolution_2d_same.tc", A=numbers(2, 4, 5), K=numbers(3, 2, 3, 3))
def _(A, K):
    padded = np.pad(A, ((0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))
    return {"O": np.einsum("cyxba,fcba->fyx", windows, K)}


@program("tc/guard_pool_halo.tc", A=numbers(4, 5))
def _(A):
    padded = np.pad(A, 1, constant_values=-8.0)
    return {"O": np.lib.stride_tricks.sliding_window_view(padded, (3, 3)).max(axis=(2, 3))}


@program("tc/guard_upsample.tc", A=numbers(4))
def _(A):
    out = np.zeros(13)
    out[3::3] = A
    return {"O": out}


@program("tc/guard_toeplitz.tc", A=numbers(5))
def _(A):
    out = np.zeros((5, 5))
    for i, value in enumerate(A):
        out += value * np.eye(5, k=-i)
    return {"O": out}


@program("tc/guard_concatenation.tc", A=numbers(3), B=numbers(4))
def _(A, B):
    return {"O": np.concatenate([A, B])}


@program("tc/guard_constant.tc", A=numbers(4))
def _(A):
    return {"O": A, "P": 2.0 * A, "Q": np.full(4, 4)}


@program("tc/guard_let.tc", A=numbers(5))
def _(A):
    return {"O": shifted(A, 2)}


@program("tc/guard_reduction_max.tc", A=numbers(3, 6))
def _(A):
    steps = np.abs(np.diff(A, axis=1, prepend=0.0))
    return {"O": steps.max(axis=1)}


# Conditions on values


@program("tc/guard_gather.tc", A=numbers(4), I=whole(3, 4, 0, 17, 2))
def _(A, I):
    return {"O": np.where(I < 4, np.append(A, np.zeros(14))[I], 0.0)}


@program("tc/guard_gather_both_sides.tc", A=numbers(4), I=whole(3, -1, 0, 4, 2, -9))
def _(A, I):
    return {"O": np.array([A[i] if i in range(4) else -1.0 for i in I])}


@program("tc/guard_gather_rows.tc", A=numbers(4, 3), I=whole(2, 7, 0))
def _(A, I):
    return {"O": np.array([A[i] if i < 4 else np.zeros(3) for i in I])}


@program("tc/guard_gather_sum.tc", A=numbers(5), I=whole(4, 5, 1, 9, 0, 2))
def _(A, I):
    return {"S": A[I[I < 5]].sum()}


@program("tc/guard_short_circuit.tc", A=numbers(6))
def _(A):
    before = np.concatenate([[np.inf], A[:-1]])
    return {"O": (before > 0).astype(float), "P": np.where(np.isfinite(before) & (before > 0), A, 0.0)}


@program("tc/guard_value_and_index.tc", A=numbers(6), B=numbers(6))
def _(A, B):
    mask = (B > 0) & (np.arange(6) >= 1)
    return {"O": np.where(mask, shifted(A, 1), B)}


@program("tc/guard_value.tc", A=numbers(5), B=np.array([1.0, -0.5, 0.25, 2.0, -1.0]))
def _(A, B):
    return {"O": np.where(B > 0, np.append(A[1:], 0.0), B)}


@program("tc/guard_division.tc", I=whole(3, 0, -5, 12, 0))
def _(I):
    return {"O": np.array([12 // i if i else 0 for i in I]), "P": np.array([7 % i if i else i for i in range(4)])}


# Sizes that round down


@program("tile/same_convolution.tile", I=numbers(7), K=numbers(3))
def _(I, K):
    return {"out0": np.correlate(I, K, mode="same")}


@program("tile/same_convolution_2d.tile", I=numbers(5, 6), K=numbers(3, 5))
def _(I, K):
    padded = np.pad(I, ((1, 1), (2, 2)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 5))
    return {"out0": np.einsum("yxba,ba->yx", windows, K)}


@program("tile/index_rounds_sizes.tile", I=numbers(5))
def _(I):
    n = len(I)
    read = lambda offset: np.array([I[x + offset] if 0 <= x + offset < n else 0.0 for x in range(n)])
    offsets = [n // 2, -n // 2 + 3, -(n // 2), n * 3 // 4 - 1, n // 2 + n // 2 - 2, 5 // 2, 7 // -2 + 4, (1 - n) // 3 * 2 + 2]
    return {f"out{number}": read(offset) for number, offset in enumerate(offsets)}


@program("tile/index_exact_after_sizes.tile", I=numbers(5))
def _(I):
    # x * N // 2 and (x + N) // 2 divide an index: exact. N // 2 * x is 2 * x.
    read = lambda at, whole: I[at] if whole and at < 5 else 0.0
    spread = np.array([read(x * 5 // 2, x * 5 % 2 == 0) for x in range(5)])
    halves = np.array([read((x + 5) // 2, (x + 5) % 2 == 0) for x in range(5)])
    double = np.array([read(2 * x, True) for x in range(5)])
    return {"out0": spread, "out1": halves, "out2": double}


@program("tile/constraint_rounds_sizes.tile", I=numbers(7))
def _(I):
    window = lambda x, low, high: I[max(x + low, 0) : max(min(x + high, 7), 0)].sum()
    return {
        "out0": np.array([window(x, 0, 7 // 2) for x in range(7)]),
        "out1": np.array([sum(I[k] for k in range(7) if 0 <= x - k + 7 // 2 < 4) for x in range(7)]),
    }


@program("tile/size_scalar.tile", I=numbers(5))
def _(I):
    return {"out0": 5 // 2 * I, "out1": I + (1 - 5) // 3, "out2": I * (5 // 2 + 1)}


@program("tile/functions_of_the_file.tile", A=numbers(3, 4), B=numbers(4, 2))
def _(A, B):
    product = np.maximum(A @ B, 0.0)
    return {"out0": product, "out1": product + 2.0 * product, "out2": A * 2}


# Names of functions, defined anew


@program("tile/own_gelu.tile", exact=False, warnings=["W-SHADOW"], A=numbers(6))
def _(A):
    return {"out0": (A + 1) / (1 + np.exp(-1.702 * (A + 1)))}


@program("tc/own_gelu.tc", exact=False, warnings=["W-SHADOW"], A=numbers(6))
def _(A):
    return {"O": A / (1 + np.exp(-1.702 * A)), "tail": np.array([math.erf(a) for a in A])}


@program("tc/own_tanh.tc", exact=False, warnings=["W-SHADOW"], A=numbers(6))
def _(A):
    return {"O": np.tanh(A)}


@program("tc/tensor_gelu.tc", warnings=["W-SHADOW"], A=numbers(6))
def _(A):
    return {"gelu": np.maximum(A, 0.0), "O": 2.0 * np.maximum(A, 0.0)}


@program("tabla/own_gelu.t", warnings=["W-SHADOW"], x=numbers(3), exp=numbers(3))
def _(x, exp):
    return {"gelu": x * exp, "silu": np.sum(x * exp)}


def case(inputs, meaning, exact, warnings):
    """The expectation of one program."""
    results = {name: np.asarray(value, dtype=float) for name, value in meaning(**inputs).items()}
    found = {
        "inputs": {name: value.tolist() for name, value in inputs.items()},
        "expect": {
            "values": {name: value.tolist() for name, value in results.items()},
            "shapes": {name: list(value.shape) for name, value in results.items()},
        },
    }
    if exact:
        found["tags"] = ["exact"]
    if warnings:
        found["warnings"] = list(warnings)
    return {**found, "notes": "values from NumPy (numpy_conditions.py)"}


def written(value, depth=0):
    """JSON with a line per key; lists stay on one line."""
    if not isinstance(value, dict) or not value:
        return json.dumps(value, ensure_ascii=False)
    inside = "  " * (depth + 1)
    lines = [f"{inside}{json.dumps(name)}: {written(part, depth + 1)}" for name, part in value.items()]
    return "{\n" + ",\n".join(lines) + "\n" + "  " * depth + "}"


def main():
    stale = []
    for file, entry in PROGRAMS.items():
        path = (HERE / file).with_suffix(".json")
        new = case(*entry)
        if path.exists() and json.loads(path.read_text()) == new:
            continue
        stale.append(file)
        if "--write" in sys.argv[1:]:
            path.write_text(written(new) + "\n")
    if stale and "--write" not in sys.argv[1:]:
        sys.exit(f"not as NumPy has it: {', '.join(stale)}")
    print(f"{len(PROGRAMS)} programs, {len(stale)} changed")


if __name__ == "__main__":
    main()
