#!/usr/bin/env python3
"""Values of the programs about layouts, conditions and computed indices, by NumPy.

    python3 tests/conformance/numpy_indices.py            compare the expectations with NumPy (needs numpy; not part of CI)
    python3 tests/conformance/numpy_indices.py --write    write inputs and values of these programs beside them

Each function takes the inputs and gives the results; none of them follows the program's own spelling.
"""

import json
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
RANDOM = np.random.default_rng(2026)
PROGRAMS = {}


def numbers(*shape, low=-2, high=2):
    """Multiples of a quarter."""
    return RANDOM.integers(4 * low, 4 * high + 1, size=shape) / 4.0


def whole(*values):
    """Integers."""
    return np.array(values, dtype=np.int64)


def program(file, exact=True, **inputs):
    """Register the values of a program."""

    def register(function):
        PROGRAMS[file] = (inputs, function, exact)
        return function

    return register


# Layouts


@program("tile/flatten.tile", X=numbers(3, 4))
def _(X):
    return {"out0": X.ravel()}


@program("tile/reshape_through_flat.tile", X=numbers(4, 6))
def _(X):
    return {"out0": X.reshape(8, 3)}


@program("tile/repeat_elements.tile", X=numbers(5))
def _(X):
    return {"out0": np.repeat(X, 3)}


@program("tile/repeat_whole.tile", X=numbers(5))
def _(X):
    return {"out0": np.tile(X, 3)}


@program("tile/upsample_nearest.tile", X=numbers(3, 4))
def _(X):
    return {"out0": np.kron(X, np.ones((2, 2)))}


@program("tile/depth_to_space.tile", X=numbers(2, 2, 8))
def _(X):
    return {"out0": X.reshape(2, 2, 2, 2, 2).transpose(0, 2, 1, 3, 4).reshape(4, 4, 2)}


@program("tile/space_to_depth.tile", X=numbers(4, 4, 2))
def _(X):
    return {"out0": X.reshape(2, 2, 2, 2, 2).transpose(0, 2, 1, 3, 4).reshape(2, 2, 8)}


@program("tc/reshape_by_division.tc", A=numbers(3, 4))
def _(A):
    return {"O": A.ravel()}


@program("tc/half_index.tc", A=numbers(6))
def _(A):
    return {"O": np.repeat(A, 2)}


@program("tc/modulo_index.tc", A=numbers(6))
def _(A):
    return {"O": np.resize(A, 17)}


@program("tc/bit_reversal.tc", A=numbers(8))
def _(A):
    return {"O": A.reshape(2, 2, 2).transpose(2, 1, 0).ravel()}


# Convolutions and sums with conditions


def transposed(X, W, stride, length, before=0):
    """The transposed convolution, by stuffing with zeros and full convolution."""
    stuffed = np.zeros(stride * (len(X) - 1) + 1)
    stuffed[::stride] = X
    whole = np.convolve(stuffed, W)[before:]
    return np.pad(whole, (0, max(0, length - len(whole))))[:length]


@program("tile/transposed_convolution.tile", X=numbers(5), W=numbers(3))
def _(X, W):
    return {"out0": transposed(X, W, 2, 11)}


@program("tile/transposed_convolution_gathering.tile", X=numbers(5), W=numbers(3))
def _(X, W):
    return {"out0": transposed(X, W, 2, 11)}


@program("tile/transposed_convolution_padded.tile", X=numbers(20), W=numbers(4))
def _(X, W):
    return {"out0": transposed(X, W, 2, 40, before=1)}


@program("tile/transposed_convolution_2d.tile", X=numbers(3, 3, 2), W=numbers(3, 3, 2, 2))
def _(X, W):
    result = np.zeros((7, 7, 2))
    for row in range(3):
        for column in range(3):
            result[2 * row : 2 * row + 3, 2 * column : 2 * column + 3] += np.einsum("c,klco->klo", X[row, column], W)
    return {"out0": result}


@program("tile/full_convolution.tile", X=numbers(20), W=numbers(3))
def _(X, W):
    return {"out0": np.convolve(X, W)}


@program("tile/cumulative_sum_100.tile", X=numbers(100) / 4)
def _(X):
    return {"out0": np.cumsum(X)}


@program("tile/cumulative_maximum_70.tile", X=numbers(70))
def _(X):
    return {"out0": np.maximum.accumulate(X)}


@program("tile/moving_minimum.tile", X=numbers(80))
def _(X):
    return {"out0": np.lib.stride_tricks.sliding_window_view(np.pad(X, (4, 0), constant_values=9), 5).min(1)}


@program("tile/triangle_maximum.tile", X=numbers(8, 8) - 3)
def _(X):
    return {"out0": X[np.tril_indices(8)].max()}


@program("tile/prefix_maximum_default.tile", X=numbers(70), D=numbers(70))
def _(X, D):
    return {"out0": np.concatenate([D[:2], np.maximum.accumulate(X)[:-2]])}


@program("tile/strided_default.tile", X=numbers(20), D=numbers(41))
def _(X, D):
    result = D.copy()
    result[:40:2] = X
    return {"out0": result}


@program("tile/dilated_maximum_padded.tile", X=numbers(12, 12) - 3)
def _(X):
    padded = np.pad(X, 6, constant_values=-99)
    views = [padded[3 * k : 3 * k + 12, 3 * l : 3 * l + 12] for k in range(5) for l in range(5)]
    return {"out0": np.max(views, axis=0)}


POOLED = np.array([1, 2, 3, 0, -1, -2, 5, 4, 0.5, 0.25, -3, 7, 1.5])


def pool_gradient(X, G, window):
    """Each gradient goes to the elements that are the maximum of their window; stride 2."""
    result = np.zeros_like(X)
    for number, gradient in enumerate(G):
        part = X[2 * number : 2 * number + window]
        result[2 * number : 2 * number + window] += gradient * (part == part.max())
    return result


@program("tile/pool_gradient.tile", X=POOLED[:12], G=numbers(6))
def _(X, G):
    return {"out0": pool_gradient(X, G, 2)}


@program("tile/pool_gradient_overlapping.tile", X=POOLED, G=numbers(6))
def _(X, G):
    return {"out0": pool_gradient(X, G, 3)}


@program("tc/lower_triangle.tc", A=numbers(7, 7))
def _(A):
    return {"L": np.tril(A)}


@program("tc/checkerboard.tc", A=numbers(9, 9))
def _(A):
    return {"O": A * np.resize([1, -1], 81).reshape(9, 9)}


# Indices that are computed


@program("tc/clamped_index.tc", A=numbers(6), W=numbers(3))
def _(A, W):
    return {"O": np.correlate(np.pad(A, 1, mode="edge"), W, mode="valid")}


@program("tc/upsample_bilinear.tc", A=numbers(6))
def _(A):
    padded = np.pad(A, 1, mode="edge")
    left, right = 0.25 * padded[:-2] + 0.75 * A, 0.25 * padded[2:] + 0.75 * A
    return {"O": np.stack([left, right], axis=1).ravel()}


@program("tc/gather_rows.tc", A=numbers(5, 4), C=whole(3, 0, 2))
def _(A, C):
    return {"O": A[C]}


@program("tc/embedding_bag.tc", T=numbers(5, 4), I=np.array([[0, 1, 4], [2, 2, 3]]))
def _(T, I):
    return {"O": T[I].sum(axis=1)}


@program("tc/nested_gather.tc", A=numbers(6), B=whole(5, 4, 3), C=whole(2, 0))
def _(A, B, C):
    return {"O": A[B[C]]}


@program("tc/scatter_sum.tc", V=numbers(6), C=whole(0, 2, 2, 3, 0, 0))
def _(V, C):
    return {"O": np.bincount(C, weights=V, minlength=4)}


@program("tc/product_from_start.tc", A=1 + numbers(3, 3, low=-1, high=1) / 4, B=numbers(3))
def _(A, B):
    return {"O": (B + 1) * A.prod(axis=1)}

# Several indices at once, and order


@program("tile/gather_nd.tile", T=numbers(2, 3, 4), I=np.array([[0.0, 2.0], [1.0, 0.0], [1.0, 1.0]]), J=np.array([[[2.0], [0.0]], [[1.0], [1.0]]]))
def _(T, I, J):
    i, j = I.astype(int), J.astype(int)
    return {"out0": T[i[:, 0], i[:, 1]], "out1": np.stack([T[b, j[b, :, 0]] for b in range(2)]), "out2": T[i[:2, 0], i[:2, 1], i[:2, 1] + 1]}


@program("tile/scatter_nd.tile", D=numbers(4, 3), I=np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 1.0], [2.0, 1.0]]), E=numbers(4))
def _(D, I, E):
    slices, elements, i = np.zeros((3, 2, 3)), np.zeros((3, 2)), I.astype(int)
    np.add.at(slices, (i[:, 0], i[:, 1]), D)
    np.add.at(elements, (i[:, 0], i[:, 1]), E)
    return {"out0": slices, "out1": elements}


@program("tile/argsort.tile", X=np.array([[1.5, -2.0, 1.5, 0.25], [0.0, 0.0, -1.0, 0.0], [2.0, 1.0, 0.5, -0.5]]))
def _(X):
    last, first = X.argsort(1, kind="stable"), X.argsort(0, kind="stable")
    return {"out0": last, "out1": first, "out2": (-X).argsort(1, kind="stable")}


# cfdlang's elements


@program("rink/elements_first.tml", M=numbers(2, 3), u=numbers(5, 3), w=numbers(5, 2))
def _(M, u, w):
    return {"v": np.stack([(M @ x - y) * y for x, y in zip(u, w)])}


@program("rink/elements_last.tml", A=numbers(3, 4), B=numbers(3, 4))
def _(A, B):
    return {"C": np.stack([A[:, e] + B[:, e] for e in range(4)], 1), "D": np.stack([np.outer(A[:, e], [1, 1]) for e in range(4)], 2)}


@program("rink/product_before_list.tml", A=numbers(2, 3), B=numbers(2, 3), u=numbers(3, 3))
def _(A, B, u):
    return {"v": A @ u @ B.T}


def case(file):
    """The expectation beside the program, as text."""
    inputs, function, exact = PROGRAMS[file]
    values = {name: np.asarray(value, dtype=float) for name, value in function(**inputs).items()}
    entry = {
        "inputs": {name: value.tolist() for name, value in inputs.items()},
        "expect": {
            "values": {name: value.tolist() for name, value in values.items()},
            "shapes": {name: list(value.shape) for name, value in values.items()},
        },
    }
    if exact:
        entry["tags"] = ["exact"]
    entry["notes"] = "values from NumPy (numpy_indices.py)"
    return text(entry) + "\n"


def text(value, indent=""):
    """JSON: an object's entries on lines of their own, lists of numbers on one."""
    if not isinstance(value, dict):
        return json.dumps(value)
    inner = indent + "  "
    entries = [f"{inner}{json.dumps(name)}: {text(entry, inner)}" for name, entry in value.items()]
    return "{\n" + ",\n".join(entries) + "\n" + indent + "}"


def main():
    """Compare, or write."""
    for file, (_, function, _) in PROGRAMS.items():
        beside = (HERE / file).with_suffix(".json")
        if "--write" in sys.argv:
            beside.write_text(case(file))
        entry = json.loads(beside.read_text())
        inputs = {name: np.array(value) for name, value in entry["inputs"].items()}
        for name, value in function(**inputs).items():
            expected = np.array(entry["expect"]["values"][name])
            if not np.allclose(value, expected, rtol=1e-12, atol=1e-12):
                sys.exit(f"{file}: `{name}` differs from NumPy")
    print(f"{len(PROGRAMS)} programs agree with NumPy")


if __name__ == "__main__":
    main()
