"""Operations of `plaidml.op` beside NumPy."""

import itertools
import pathlib
import re

import numpy as np
import pytest

from tabla_gen import errors
from tabla_gen.plaidml import edsl, op
from tabla_gen.plaidml.edsl import DType, Placeholder, Program

rng = np.random.default_rng(57)
A, B, X = rng.normal(size=(3, 4)), rng.normal(size=(4, 5)), rng.normal(size=(2, 7, 6, 4))
W, WG, G = rng.normal(size=(3, 2, 4, 6)), rng.normal(size=(3, 2, 2, 6)), rng.normal(size=(2, 5, 5, 6))


def tensor(values):
    return Placeholder(DType.FLOAT32, values.shape)


a, b, x, w, wg, g = map(tensor, (A, B, X, W, WG, G))
VALUES = {a: A, b: B, x: X, w: W, wg: WG, g: G}


def convolved(values, weights, stride=1, dilation=1, pads=((0, 0), (0, 0)), groups=1, spread=1):
    """A convolution, window by window."""
    if spread > 1:
        wide = np.zeros((values.shape[0], *((n - 1) * spread + 1 for n in values.shape[1:3]), values.shape[3]))
        wide[:, ::spread, ::spread] = values
        values = wide
    values = np.pad(values, [(0, 0), *pads, (0, 0)])
    kh, kw, ci, co = weights.shape
    reach = [(k - 1) * dilation + 1 for k in (kh, kw)]
    rows, columns = ((values.shape[n + 1] - reach[n]) // stride + 1 for n in range(2))
    result = np.zeros((values.shape[0], rows, columns, co))
    for n, y, z in itertools.product(range(groups), range(rows), range(columns)):
        part = values[:, y * stride : y * stride + reach[0] : dilation, z * stride : z * stride + reach[1] : dilation, n * ci : (n + 1) * ci]
        own = slice(n * co // groups, (n + 1) * co // groups)
        result[:, y, z, own] = np.tensordot(part, weights[..., own], 3)
    return result


def derivatives():
    data, weights = np.zeros_like(X), np.zeros_like(W)
    for y, z, u, v in itertools.product(range(5), range(5), range(3), range(2)):
        data[:, y + u, z + v] += G[:, y, z] @ W[u, v].T
        weights[u, v] += X[:, y + u, z + v].T @ G[:, y, z]
    return data, weights


def pooled(values, function, size=2, stride=2):
    rows, columns = ((n - size) // stride + 1 for n in values.shape[1:3])
    parts = [[function(values[:, y * stride :, z * stride :][:, :size, :size], axis=(1, 2)) for z in range(columns)] for y in range(rows)]
    return np.array(parts).transpose(2, 0, 1, 3)


CEIL = np.pad(X, [(0, 0), (0, 1), (0, 0), (0, 0)], constant_values=np.nan)
CASES = {
    "valid": (lambda: op.convolution(x, w, [1, 1], autopad_mode="valid"), convolved(X, W)),
    "padding": (lambda: op.convolution(x, w, [2, 2], autopad_mode="none", manual_padding=[1, 0, 2, 1]), convolved(X, W, 2, 1, ((1, 2), (0, 1)))),
    "dilation": (lambda: op.convolution(x, w, [1, 1], [2, 2], autopad_mode=op.AutoPadMode.VALID), convolved(X, W, 1, 2)),
    "same_upper": (lambda: op.convolution(x, w, [2, 2]), convolved(X, W, 2, 1, ((1, 1), (0, 0)))),
    "same_lower": (lambda: op.convolution(x, w, [1, 1], autopad_mode="same_lower"), convolved(X, W, 1, 1, ((1, 1), (1, 0)))),
    "spread": (lambda: op.convolution(x, w, [1, 1], [1, 1], [2, 2], autopad_mode="valid"), convolved(X, W, spread=2)),
    "groups": (lambda: op.convolution(x, wg, [1, 1], autopad_mode="valid", groups=2, group_layout="in_K"), convolved(X, WG, groups=2)),
    "groups_auto": (
        lambda: op.convolution(x, wg, [1, 1], autopad_mode="valid", group_layout="in_K", autogroup_mode="auto"),
        convolved(X, WG, groups=2),
    ),
    "ncx": (
        lambda: op.convolution(
            op.transpose(x, [0, 3, 1, 2]), op.transpose(w, [3, 2, 0, 1]), [1, 1], autopad_mode="valid", input_layout="ncx", filter_layout="kcx"
        ),
        convolved(X, W).transpose(0, 3, 1, 2),
    ),
    "by_data": (lambda: op.convolution(g, w, [1, 1], autopad_mode="valid", deriv_mode="data", result_shape=[7, 6]), derivatives()[0]),
    "by_data_inferred": (lambda: op.convolution(g, w, [1, 1], autopad_mode="valid", deriv_mode="data", infer_result_shape=True), derivatives()[0]),
    "by_filter": (lambda: op.convolution(x, g, [1, 1], autopad_mode="valid", deriv_mode="filter", result_shape=[3, 2]), derivatives()[1]),
    "max_pool": (lambda: op.pool(x, "max", [2, 2]), pooled(X, np.max)),
    "min_pool": (lambda: op.pool(x, op.PoolMode.MIN, [2, 2]), pooled(X, np.min)),
    "avg_pool": (lambda: op.pool(x, "avg", [2, 2], [1, 1]), pooled(X, np.mean, 2, 1)),
    "sum_pool": (lambda: op.pool(x, "sum", [2, 2]), pooled(X, np.sum)),
    "ceil_max_pool": (lambda: op.pool(x, "max", [2, 2], use_ceil=True), pooled(CEIL, np.nanmax)),
    "ceil_avg_pool": (lambda: op.pool(x, "avg", [2, 2], use_ceil=True), pooled(CEIL, np.nanmean)),
    "ceil_avg_pool_of_all": (lambda: op.pool(x, "avg", [2, 2], use_ceil=True, include_pad_in_avg=True), pooled(np.nan_to_num(CEIL), np.mean)),
    "nearest": (lambda: op.image_resize(x, [2, 3]), X.repeat(2, 1).repeat(3, 2)),
    "bilinear": (
        lambda: op.image_resize(x, [2, 1], "bilinear"),
        np.einsum("hq,nqwc->nhwc", np.maximum(0, 1 - abs(np.arange(14)[:, None] - 2 * np.arange(7)) / 2), X),
    ),
    "spatial_padding": (lambda: op.spatial_padding(x, [1, 0], [0, 2]), np.pad(X, [(0, 0), (1, 0), (0, 2), (0, 0)])),
    "softmax": (lambda: op.softmax(a), np.exp(A) / np.exp(A).sum(-1, keepdims=True)),
    "mean": (lambda: op.mean(a, 0), A.mean(0)),
    "variance": (lambda: op.variance(a, [0, 1]), A.var()),
    "argmax": (lambda: op.argmax(a, 0), A.argmax(0)),
    "sum": (lambda: op.sum(a, None, True), A.sum(keepdims=True)),
    "prod": (lambda: op.prod(a, -1), A.prod(-1)),
    "mean_of_all": (lambda: op.mean(a), A.mean()),
    "variance_of_all": (lambda: op.variance(a), A.var()),
    "sum_of_all": (lambda: op.sum(a), A.sum()),
    "prod_of_all": (lambda: op.prod(a), A.prod()),
    "max": (lambda: op.max(a), A.max()),
    "min": (lambda: op.min(a), A.min()),
    "all": (lambda: op.all(a > 0.0, 1), (A > 0).all(1)),
    "all_of_all": (lambda: op.all(a), A.all()),
    "any_of_all": (lambda: op.any(a), A.any()),
    "any": (lambda: op.any(a > 1.0, 1), (A > 1).any(1)),
    "cumsum": (lambda: op.cumsum(a, 1), A.cumsum(1)),
    "cumsum_exclusive": (lambda: op.cumsum(a, 1, True), A.cumsum(1) - A),
    "cumprod": (lambda: op.cumprod(a, 0), A.cumprod(0)),
    "dot": (lambda: op.dot(a, b), A @ B),
    "dot_of_more": (lambda: op.dot(x, b), X @ B),
    "mvn": (lambda: op.mvn(x, [1, 2]), (X - X.mean((1, 2), keepdims=True)) / np.sqrt(X.var((1, 2), keepdims=True) + 1e-9)),
    "l2norm": (lambda: op.l2norm(x, [3], 1e-3), np.sqrt((X * X).sum(3, keepdims=True) + 1e-3)),
    "normalize": (lambda: op.normalize(a, 1), A / np.linalg.norm(A, axis=1, keepdims=True)),
    "lrn": (
        lambda: op.lrn(x, [3], [3], 0.1, 0.5, 1.0),
        X / np.sqrt(1 + 0.1 / 3 * np.stack([(X[..., max(0, c - 1) : c + 2] ** 2).sum(-1) for c in range(4)], -1)),
    ),
    "transpose": (lambda: op.transpose(a), A.T),
    "flip": (lambda: op.flip(a, 1), A[:, ::-1]),
    "concatenate": (lambda: op.concatenate([a, a * 2.0, a], 0), np.concatenate([A, 2 * A, A])),
    "repeat": (lambda: op.repeat(a, 2, 1), A.repeat(2, 1)),
    "tile": (lambda: op.tile(a, [2, 3]), np.tile(A, (2, 3))),
    "slice": (lambda: op.slice_of(a, [slice(None), slice(3, None, -2)]), A[:, 3::-2]),
    "slice_element": (lambda: op.slice_of(a, [-1, (1, 3)]), A[-1, 1:3]),
    "unsqueeze": (lambda: op.unsqueeze(a, [0, -1]), A[None, :, :, None]),
    "squeeze": (lambda: op.squeeze(op.unsqueeze(a, [1])), A),
    "reshape": (lambda: op.reshape(x, [0, -1, 4]), X.reshape(2, 42, 4)),
    "broadcast": (lambda: op.broadcast(a, [2, 3, 4]), np.broadcast_to(A, (2, 3, 4))),
    "pad": (lambda: op.explicit_padding(a, [1, 0], [0, 2]), np.pad(A, [(1, 0), (0, 2)])),
    "pad_value": (lambda: op.explicit_padding(a, [1, 0], [1, 2], padval=7.0), np.pad(A, [(1, 1), (0, 2)], constant_values=7)),
    "pad_reflect": (lambda: op.explicit_padding(a, [1, 0], [1, 2], "reflect"), np.pad(A, [(1, 1), (0, 2)], mode="reflect")),
    "pad_edge": (lambda: op.explicit_padding(a, [1, 0], [1, 2], "edge"), np.pad(A, [(1, 1), (0, 2)], mode="edge")),
    "reorg_yolo": (lambda: op.reorg_yolo(op.slice_of(x, [slice(0, 1), slice(0, 6)]), 2, True, "NHWC"),
                   X[:1, :6].reshape(1, 3, 2, 3, 2, 4).transpose(0, 1, 3, 2, 4, 5).reshape(1, 3, 3, 16)),
    "sort": (lambda: op.sort(a, 0), np.sort(A, 0)),
    "sort_down": (lambda: op.sort(a, 1, edsl.SortDirection.DESC), -np.sort(-A)),
    "topk": (lambda: op.topk(a, 2, 1)[0], -np.sort(-A)[:, :2]),
    "topk_indices": (lambda: op.topk(a, 2, 1)[1], np.argsort(-A)[:, :2]),
    "clip": (lambda: op.clip(a, -0.5, 0.5), A.clip(-0.5, 0.5)),
    "elu": (lambda: op.elu(a, 2.0), np.where(A < 0, 2 * (np.exp(A) - 1), A)),
    "hard_sigmoid": (lambda: op.hard_sigmoid(a, 0.2), np.clip(0.2 * A + 0.5, 0, 1)),
    "relu": (lambda: op.relu(a, 0.1, 1.0, 0.2), np.minimum(np.where(A < 0.2, 0.1 * (A - 0.2), A), 1)),
    "softplus": (lambda: op.softplus(a), np.log1p(np.exp(A))),
    "square": (lambda: op.square(a), A * A),
    "maximum": (lambda: op.maximum(a, 0.25), np.maximum(A, 0.25)),
    "minimum": (lambda: op.minimum(a, a * a), np.minimum(A, A * A)),
    "abs": (lambda: op.abs(a), abs(A)),
    "sigmoid": (lambda: op.sigmoid(a), 1 / (1 + np.exp(-A))),
    "clip_by_tensors": (lambda: op.clip(a, a * a - 1.0, a * a), np.minimum(np.maximum(A, A * A - 1), A * A)),
    "relu_no_alpha": (lambda: op.relu(a, max_value=1.0, threshold=0.05), np.minimum(np.where(A < 0.05, 0, A), 1)),
    "relu_no_max_value": (lambda: op.relu(a, alpha=a, threshold=0.05), np.where(A < 0.05, A * (A - 0.05), A)),
    "relu_only_threshold": (lambda: op.relu(a, threshold=0.05), np.where(A < 0.05, 0, A)),
    "relu_no_params": (lambda: op.relu(a), np.maximum(A, 0)),
    "expand_dims": (lambda: op.expand_dims(a, 1), A[:, None]),
    "slice_number": (lambda: op.slice_of(a, [2, 3]), A[2, 3]),
    "one_hot": (lambda: op.one_hot(edsl.index([3], 0), 4), np.eye(4)[:3]),
    "cross_entropy": (lambda: op.binary_crossentropy(a, op.sigmoid(a), 1e-7), np.log1p(np.exp(A)) - A * A),
}  # fmt: skip

SUITE = {
    "Abs": "abs", "All": "all_of_all", "Any": "any_of_all", "Argmax": "argmax", "BinaryCrossentropy": "cross_entropy", "Clip": "clip_by_tensors",
    "Concatenate": "concatenate", "Convolution": "padding", "CumProd": "cumprod", "CumSum": "cumsum", "Dot": "dot", "Elu": "elu",
    "ExpandDims": "expand_dims", "Flip": "flip", "HardSigmoid": "hard_sigmoid", "ImageResize": "bilinear", "Max": "max", "Maximum": "maximum",
    "Mean": "mean_of_all", "Min": "min", "Minimum": "minimum", "Pool": "sum_pool", "Prod": "prod_of_all", "Relu": "relu",
    "ReluNoAlpha": "relu_no_alpha", "ReluNoMaxValue": "relu_no_max_value", "ReluOnlyThreshold": "relu_only_threshold",
    "ReluNoParams": "relu_no_params", "Repeat": "repeat", "Reshape": "reshape", "Sigmoid": "sigmoid", "Slice": "slice_number", "Softmax": "softmax",
    "SpatialPadding": "spatial_padding", "Square": "square", "Sum": "sum_of_all", "Squeeze": "squeeze", "Tile": "tile", "Transpose": "transpose",
    "Variance": "variance_of_all",
}  # fmt: skip
"""The tests of `op/op_test.cc`, and what restates each."""


def test_the_page_says_how_many_operations_run():
    page = pathlib.Path(__file__).parents[2] / "docs/languages/originals.md"
    row = re.search(r"^\| `op/op_test\.cc`[^|]*\| (\d+) of (\d+): `\*`", page.read_text(), re.M)
    assert row is not None and {int(row[1]), int(row[2])} == {len(SUITE)}
    assert set(SUITE.values()) <= set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_operations_give_the_values_of_numpy(name):
    make, expected = CASES[name]
    built = Program(name, [make()])
    found = built.run({t: v for t, v in VALUES.items() if id(t) in map(id, built.inputs)})[0]
    assert found.shape == np.shape(expected)
    np.testing.assert_allclose(found.astype(float), expected, rtol=1e-5, atol=1e-5)


def kept(boxes, scores, most, overlap, least):
    """Greedy suppression, box by box."""
    left = [n for n in np.argsort(-scores, kind="stable") if scores[n] > least]
    result = []
    while left and len(result) < most:
        best = left.pop(0)
        result.append(int(best))

        def shared(other, best=best):
            low, high = np.maximum(boxes[best, :2], boxes[other, :2]), np.minimum(boxes[best, 2:], boxes[other, 2:])
            both = np.prod(np.maximum(high - low, 0))
            areas = [np.prod(boxes[n, 2:] - boxes[n, :2]) for n in (best, other)]
            return both / (sum(areas) - both)

        left = [n for n in left if shared(n) <= overlap]
    return result + [-1] * (most - len(result))


def test_boxes_that_overlap_better_ones_go():
    corners = rng.uniform(0, 4, (1, 12, 2))
    boxes = np.concatenate([corners, corners + rng.uniform(1, 3, (1, 12, 2))], 2)
    scores = rng.uniform(0, 1, (1, 2, 12))
    places, points = tensor(boxes), tensor(scores)
    found = Program("nms", [places, points], [op.nms(places, points, 5, 0.3, 0.2)]).run([boxes, scores])[0]
    assert found.tolist() == [[kept(boxes[0], scores[0, c], 5, 0.3, 0.2) for c in range(2)]]


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (lambda: op.sum(a, 2), "no axis"),
        (lambda: op.topk(a, 5, 1), "no first 5"),
        (lambda: op.pool(x, "most", [2, 2]), "is none of AVG"),
        (lambda: op.pool(x, "max", [9, 9]), "does not fit"),
        (lambda: op.concatenate([a, b], 0), "differ beside axis"),
        (lambda: op.dot(a, a), "have no product"),
        (lambda: op.convolution(g, w, [1, 1], deriv_mode="data"), "result_shape"),
        (lambda: op.slice_of(a, [slice(3, 3)]), "no elements"),
        (lambda: op.broadcast(a, [3, 5]), "does not widen"),
    ],
)
def test_mistakes_are_said(what, message):
    with pytest.raises(errors.UsageError, match=message):
        what()
