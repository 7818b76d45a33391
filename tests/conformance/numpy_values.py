#!/usr/bin/env python3
"""Expectations that NumPy makes: inputs and results of the programs below, in the file beside each program.

    tests/conformance/numpy_values.py           compares them with the files; exit code 1 if they differ
    tests/conformance/numpy_values.py --write   writes the files

Run by hand when a program is added (`python3 -m pip install numpy`); the tests read the files only. What a program means is
written here once more, in whole-array operations, without a look at what our evaluators do.
"""

import json
import sys
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).resolve().parent
NOTE = "values from NumPy (numpy_values.py)"


def quarters(*shape, first=0):
    """Multiples of 1/4 between -2 and 2, no two neighbours alike."""
    count = int(np.prod(shape))
    return (((np.arange(count) * 7 + first * 5) % 17 - 8) / 4.0).reshape(shape)


def integers(*shape, below, first=0):
    """Integers from 0 up to `below`."""
    count = int(np.prod(shape))
    return ((np.arange(count) * 5 + count // 3 + first) % below).reshape(shape)


def causal_softmax(s):
    weights = np.tril(np.exp(s))
    return {"P": weights / weights.sum(axis=1, keepdims=True)}


def spelled(x):
    sigmoid = 1.0 / (1.0 + np.exp(-x))
    square = np.exp(2.0 * x)
    ratio = (square + 3.0) / (2.0 + 0.5 * square)
    return {"S": sigmoid, "T": np.tanh(x), "P": np.logaddexp(0.0, x), "G": x / (square + 1.0), "H": ratio}


def encode(x, f):
    angle = np.outer(np.arange(x.shape[0]), f)
    return {"O": x + np.where(np.arange(x.shape[1]) % 2 == 0, np.sin(angle), np.cos(angle))}


def group_convolution(i, w, b):
    windows = np.lib.stride_tricks.sliding_window_view(i, w.shape[3:], axis=(3, 4))
    return {"O": np.einsum("ngchwyx,gfcyx->ngfhw", windows, w) + b[None, :, :, None, None]}


def layers(x, *weights):
    results = {}
    for number, (w, b) in enumerate(zip(weights[::2], weights[1::2]), start=2):
        x = np.maximum(x @ w.T + b, 0.0)
        results[f"O{number}"] = x
    return results


def kronecker(w0, w1, w2, x):
    last = np.einsum("mabc,fc->mabf", x, w2)
    middle = np.einsum("mabf,eb->maef", last, w1)
    whole = np.kron(np.kron(w0, w1), w2) @ x.reshape(x.shape[0], -1).T
    return {"Y": whole.T.reshape(x.shape[0], len(w0), len(w1), len(w2)), "XW1": middle, "XW2": last}


def unordered(*shape):
    """All different, in no order."""
    count = int(np.prod(shape))
    return ((np.arange(count) * 7) % (count + 1) / 4.0 - 1.0).reshape(shape)


# File, inputs by name, results by name of the inputs in order.
PROGRAMS = [
    ("tc/tril.tc", {"A": quarters(4, 4)}, lambda a: {"L": np.tril(a)}),
    ("tc/causal_softmax.tc", {"S": quarters(4, 4, first=1)}, causal_softmax),
    ("tc/spelled_out_functions.tc", {"X": 4.0 * quarters(8)}, spelled),
    ("tc/positional_encoding.tc", {"X": quarters(5, 4), "F": np.array([0.75, 0.75, 0.125, 0.125])}, encode),
    ("tc/argmax_axis0.tc", {"A": unordered(5, 3)}, lambda a: {"largest": a.max(axis=0), "row": a.argmax(axis=0)}),
    ("tc/histogram.tc", {"X": integers(9, below=5)}, lambda x: {"H": np.bincount(x, minlength=5)}),
    ("tc/one_hot.tc", {"label": integers(6, below=4)}, lambda label: {"O": np.eye(4)[label]}),
    (
        "tc/index_weighted_sum.tc",
        {"A": quarters(3, 5)},
        lambda a: {"R": ((2 * np.arange(3)[:, None] - np.arange(5)[None, :]) * a).sum(axis=1)},
    ),
    (
        "tc/gather_columns.tc",
        {"T": quarters(3, 2), "I": np.array([2, 0])},
        lambda t, i: {"O": t[i].sum(axis=0)},
    ),
    (
        "tc/paper_1lut.tc",
        {"LUT1": quarters(6, 3), "I1": integers(4, 5, below=6)},
        lambda t, i: {"O1": t[i].sum(axis=1)},
    ),
    (
        "tc/paper_2lut.tc",
        {
            "LUT1": quarters(6, 3),
            "I1": integers(2, 5, below=6),
            "LUT2": quarters(4, 3, first=2),
            "I2": integers(2, 3, below=4, first=1),
        },
        lambda t, i, u, k: {"O1": t[i].sum(axis=1), "O2": u[k].sum(axis=1)},
    ),
    ("tc/paper_tmm.tc", {"A": quarters(3, 5), "B": quarters(4, 5, first=1)}, lambda a, b: {"C": a @ b.T}),
    (
        "tc/paper_tbmm.tc",
        {"X": quarters(2, 3, 4), "Y": quarters(2, 5, 4, first=3)},
        lambda x, y: {"Z": x @ y.transpose(0, 2, 1)},
    ),
    (
        "tc/paper_kru.tc",
        {
            "W0": quarters(2, 3),
            "W1": quarters(3, 2, first=1),
            "W2": quarters(2, 2, first=2),
            "X": quarters(2, 3, 2, 2, first=3),
        },
        kronecker,
    ),
    (
        "tc/paper_gconv.tc",
        {"I": quarters(2, 2, 2, 4, 5), "W1": quarters(2, 3, 2, 2, 3, first=1), "B": quarters(2, 3, first=2)},
        group_convolution,
    ),
    (
        "tc/paper_mlp1.tc",
        {"I": quarters(2, 5), "W1": quarters(5, 4, first=1), "B1": quarters(4, first=2)},
        lambda i, w, b: {"O1": np.maximum(i @ w + b, 0.0)},
    ),
    (
        "tc/paper_mlp3.tc",
        {
            "I": quarters(2, 4),
            "W2": quarters(5, 4, first=1),
            "B2": quarters(5, first=2),
            "W3": quarters(4, 5, first=3) / 4,
            "B3": quarters(4, first=4),
            "W4": quarters(3, 4, first=5) / 4,
            "B4": quarters(3, first=6),
        },
        layers,
    ),
    ("tc/paper_c3.tc", {"I": quarters(3, 4), "W": quarters(5, 4, first=1)}, lambda i, w: {"C3": i @ w.T}),
    (
        "tile/index_rows.tile",
        {"A": quarters(3, 5)},
        lambda a: {"out0": a + 2 * np.arange(3)[:, None], "out1": a - np.arange(5)},
    ),
    ("tile/argmax_axis0.tile", {"I": unordered(4, 3)}, lambda a: {"out0": a.argmax(axis=0)}),
    (
        "tile/select_broadcast.tile",
        {"A": quarters(3, 4), "row": quarters(4, first=1), "column": quarters(3, 1, first=2)},
        lambda a, row, column: {"out0": np.where(a < 0, row, column)},
    ),
    ("tile/causal_mask.tile", {"A": quarters(5, 5)}, lambda a: {"out0": np.tril(a)}),
]


def case(inputs, meaning):
    """The expectation of one program."""
    results = {name: np.asarray(value, dtype=float) for name, value in meaning(*inputs.values()).items()}
    return {
        "inputs": {name: value.tolist() for name, value in inputs.items()},
        "expect": {
            "values": {name: value.tolist() for name, value in results.items()},
            "shapes": {name: list(value.shape) for name, value in results.items()},
        },
        "notes": NOTE,
    }


def written(value, depth=0):
    """JSON with a line per key; lists stay on one line."""
    if not isinstance(value, dict) or not value:
        return json.dumps(value, ensure_ascii=False)
    inside = "  " * (depth + 1)
    lines = [f"{inside}{json.dumps(name)}: {written(part, depth + 1)}" for name, part in value.items()]
    return "{\n" + ",\n".join(lines) + "\n" + "  " * depth + "}"


def main():
    stale = []
    for file, inputs, meaning in PROGRAMS:
        path = (FOLDER / file).with_suffix(".json")
        new = case(inputs, meaning)
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
