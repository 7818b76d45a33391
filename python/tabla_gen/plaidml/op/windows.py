"""Convolutions, pools, resizing and padding of images of any number of dimensions."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

from tabla_gen.plaidml import edsl
from tabla_gen.plaidml.indices import TensorIndexes
from tabla_gen.plaidml.shapes import wrong
from tabla_gen.plaidml.tensors import Contraction, Tensor, as_tensor

AutoPadMode = enum.IntEnum("AutoPadMode", {"NONE": 0, "NOTSET": 0, "EXPLICIT": 0, "SAME_LOWER": 1, "SAME_UPPER": 2, "VALID": 3})
AutoGroupMode = enum.IntEnum("AutoGroupMode", {"UNGROUPED": 0, "EXPLICIT": 1, "AUTO": 2, "DEPTHWISE": 3})
ConvDerivMode = enum.IntEnum("ConvDerivMode", {"NONE": 0, "DATA": 1, "FILTER": 2})
GroupLayout = enum.IntEnum("GroupLayout", {"NONE": 0, "SEPARATE": 1, "IN_C": 2, "IN_K": 3})
InterpolationMode = enum.IntEnum("InterpolationMode", {"NEAREST": 0, "BILINEAR": 1})
PoolMode = enum.IntEnum("PoolMode", {"AVG": 0, "MAX": 1, "MIN": 2, "SUM": 3})
TensorLayout = enum.IntEnum("TensorLayout", {"NXC": 0, "NCX": 1, "KCX": 2, "XCK": 3, "GKCX": 4, "XGCK": 5})


def _member(kind: Any, value: Any) -> Any:
    """A member of an enumeration, by itself, its number or its name."""
    try:
        return kind[value.upper().replace("-", "_")] if isinstance(value, str) else kind(int(value))
    except (KeyError, ValueError):
        raise wrong(f"{value!r} is none of {', '.join(kind.__members__)}") from None


def _places(layout: str, rank: int) -> dict[str, Any]:
    """The dimension of each letter of a layout; of x several."""
    places: dict[str, Any] = {"x": []}
    for letter in layout.lower():
        if letter == "x":
            start = len(places) - 1
            places["x"] = list(range(start, start + rank))
        else:
            places[letter] = len(places) - 1 + (len(places["x"]) if places["x"] else 0)
    return places


def _arranged(places: dict[str, Any], parts: dict[str, Any]) -> list[Any]:
    """Parts by letter, in the order of a layout."""
    order = {places[letter]: part for letter, part in parts.items() if letter != "x" and letter in places}
    order.update(zip(places["x"], parts["x"], strict=True))
    return [order[place] for place in sorted(order)]


def _padding(mode: Any, manual: Sequence[int], sizes: list[tuple[int, int, int]], up: bool = False) -> list[tuple[int, int]]:
    """Elements before, and places of the window, of each (extent, window, stride)."""
    mode, rank = _member(AutoPadMode, mode), len(sizes)
    manual = list(manual or [0] * rank)
    low, high = manual[:rank], manual[rank:] or manual[:rank]
    result = []
    for n, (extent, window, stride) in enumerate(sizes):
        if mode in (AutoPadMode.SAME_LOWER, AutoPadMode.SAME_UPPER):
            count = -(-extent // stride)
            total = max(0, (count - 1) * stride + window - extent)
            result.append(((total + (mode == AutoPadMode.SAME_LOWER)) // 2, count))
            continue
        before, after = (0, 0) if mode == AutoPadMode.VALID else (low[n], high[n])
        room = extent + before + after - window
        count = (-(-room // stride) if up else room // stride) + 1
        if count < 1:
            raise wrong(f"a window of {window} does not fit {extent} elements")
        result.append((before, count))
    return result


def convolution(
    inputs: Any,
    filters: Any,
    strides: Sequence[int] = (),
    dilations: Sequence[int] = (),
    data_dilations: Sequence[int] = (),
    filter_shape: Sequence[int] = (),
    groups: int = 1,
    autopad_mode: Any = "same_upper",
    manual_padding: Sequence[int] = (),
    input_layout: Any = "nxc",
    filter_layout: Any = "xck",
    group_layout: Any = "none",
    winograd_allowed: bool = False,
    name: str = "",
    autogroup_mode: Any = "ungrouped",
    deriv_mode: Any = "none",
    result_shape: Sequence[int] = (),
    infer_result_shape: bool = False,
) -> Tensor:
    """A convolution, or its derivative by the data (a transposed convolution) or by the filters.

    Of the derivatives, `inputs` is the output's side, or the data, and `filters` the filters, or the output's side; `result_shape` has the extents of
    the spatial dimensions of the result.
    """
    del winograd_allowed
    data, kernel, mode = as_tensor(inputs), as_tensor(filters), _member(ConvDerivMode, deriv_mode)
    rank = data.rank - 2
    layout, of_filter = (_member(TensorLayout, each).name for each in (input_layout, filter_layout))
    at, of = _places(layout, rank), _places(of_filter, rank)
    s, d, dd = (list(each) or [1] * rank for each in (strides, dilations, data_dilations))
    groups_in = _member(GroupLayout, group_layout)
    if mode == ConvDerivMode.FILTER:
        window, ci, co = list(result_shape or filter_shape), data.shape[at["c"]], kernel.shape[at["c"]]
        extents = [data.shape[a] for a in at["x"]]
    else:
        window = [kernel.shape[a] for a in of["x"]]
        ci, co = kernel.shape[of["c"]], kernel.shape[of["k"]]
        extents = [data.shape[a] for a in at["x"]]
    if filter_shape and list(filter_shape) != window:
        raise wrong(f"the filters have the extents {window}, not {list(filter_shape)}")
    kind = _member(AutoGroupMode, autogroup_mode)
    if kind == AutoGroupMode.DEPTHWISE:
        groups = data.shape[at["c"]]
    elif kind == AutoGroupMode.AUTO and groups_in == GroupLayout.SEPARATE:
        groups = kernel.shape[of["g"]]
    elif kind == AutoGroupMode.AUTO and groups_in == GroupLayout.IN_K:
        groups = data.shape[at["c"]] // ci
    # Channels of one group.
    if groups_in in (GroupLayout.IN_C, GroupLayout.NONE) or mode == ConvDerivMode.FILTER:
        ci //= groups
    if groups_in == GroupLayout.IN_K or mode == ConvDerivMode.FILTER:
        co //= groups
    effective = [(k - 1) * each + 1 for k, each in zip(window, d, strict=True)]
    if mode == ConvDerivMode.DATA:
        counts = extents
        if result_shape:
            extents = list(result_shape)
        elif infer_result_shape:
            manual = list(manual_padding or [0] * rank)
            low, high = manual[:rank], manual[rank:] or manual[:rank]
            same = _member(AutoPadMode, autopad_mode) in (AutoPadMode.SAME_LOWER, AutoPadMode.SAME_UPPER)
            extents = [
                n * each if same else (n - 1) * each + w - before - after
                for n, each, w, before, after in zip(counts, s, effective, low, high, strict=True)
            ]
        else:
            raise wrong("a transposed convolution has a result_shape, or infers it")
    spread = [(n - 1) * each + 1 for n, each in zip(extents, dd, strict=True)]
    pads = _padding(autopad_mode, manual_padding, list(zip(spread, effective, s, strict=True)))
    if mode == ConvDerivMode.NONE:
        counts = [count for _, count in pads]
    elif mode == ConvDerivMode.FILTER:
        counts = [kernel.shape[a] for a in at["x"]]
    n, g, i, o = TensorIndexes(4)
    xs, ks = TensorIndexes(rank), TensorIndexes(rank)
    places = [
        (s[a] * xs[a] + d[a] * ks[a] - pads[a][0]) // dd[a] if dd[a] != 1 else s[a] * xs[a] + d[a] * ks[a] - pads[a][0]
        for a in range(rank)
    ]
    channel_in, channel_out = (i, o) if groups == 1 else (g * ci + i, g * co + o)
    side_in = _arranged(at, {"n": n, "x": places, "c": channel_in})
    side_out = _arranged(at, {"n": n, "x": xs, "c": channel_out})
    in_filter = {"g": g, "k": channel_out if groups_in == GroupLayout.IN_K else o, "c": channel_in if groups_in == GroupLayout.IN_C else i}
    side_filter = _arranged(of, {**in_filter, "x": ks})
    batch = data.shape[at["n"]]
    if mode == ConvDerivMode.NONE:
        shape, index = _arranged(at, {"n": batch, "x": counts, "c": co * groups}), side_out
        body = data[tuple(side_in)] * kernel[tuple(side_filter)]
    elif mode == ConvDerivMode.DATA:
        shape, index = _arranged(at, {"n": batch, "x": extents, "c": ci * groups}), side_in
        body = data[tuple(side_out)] * kernel[tuple(side_filter)]
    else:
        channels = {"g": groups, "k": co * groups if groups_in == GroupLayout.IN_K else co, "c": ci * groups if groups_in == GroupLayout.IN_C else ci}
        shape, index = _arranged(of, {**channels, "x": window}), side_filter
        body = data[tuple(side_in)] * kernel[tuple(side_out)]
    contraction = Contraction(name).outShape(*shape).outAccess(*index).sum(body)
    if groups > 1:
        contraction.add_constraints([i < ci, o < co])
    elif groups_in == GroupLayout.SEPARATE:
        contraction.add_constraint(g < 1)
    return contraction.build()


def pool(
    x: Any,
    pool_mode: Any,
    pool_size: Sequence[int],
    strides: Sequence[int] = (),
    autopadding: Any = "none",
    manual_padding: Sequence[int] = (),
    data_layout: Any = "nxc",
    use_ceil: bool = False,
    include_pad_in_avg: bool = False,
    name: str = "",
) -> Tensor:
    """The mean, the extreme or the sum of each window."""
    x, mode = as_tensor(x), _member(PoolMode, pool_mode)
    rank, size = x.rank - 2, list(pool_size)
    at = _places(_member(TensorLayout, data_layout).name, rank)
    s = list(strides) or size
    extents = [x.shape[a] for a in at["x"]]
    pads = _padding(autopadding, manual_padding, list(zip(extents, size, s, strict=True)), use_ceil)
    n, c = TensorIndexes(2)
    xs, ks = TensorIndexes(rank), TensorIndexes(rank)
    places = [s[a] * xs[a] + ks[a] - pads[a][0] for a in range(rank)]
    shape = _arranged(at, {"n": x.shape[at["n"]], "x": [count for _, count in pads], "c": x.shape[at["c"]]})
    limits = [k < window for k, window in zip(ks, size, strict=True)]

    def window(values: Tensor, how: str) -> Tensor:
        index, source = _arranged(at, {"n": n, "x": xs, "c": c}), _arranged(at, {"n": n, "x": places, "c": c})
        contraction = Contraction(name).outShape(*shape).outAccess(*index)
        return getattr(contraction, how)(values[tuple(source)]).add_constraints(limits).build()

    if mode != PoolMode.AVG:
        return window(x, mode.name.lower())
    if include_pad_in_avg:
        return window(x, "sum") / float(np.prod(size))
    ones = edsl.cast(edsl.index(x.shape, 0) * 0 + 1, x.dtype)
    return window(x, "sum") / window(ones, "sum")


def spatial_padding(x: Any, lo_pads: Sequence[int], hi_pads: Sequence[int], data_layout: Any = "nxc") -> Tensor:
    """Zeros around the spatial dimensions."""
    x = as_tensor(x)
    at = _places(_member(TensorLayout, data_layout).name, x.rank - 2)
    low, index, high = [0] * x.rank, TensorIndexes(x.rank), [0] * x.rank
    for a, before, after in zip(at["x"], lo_pads, hi_pads, strict=True):
        low[a], high[a] = int(before), int(after)
    shape = [n + before + after for n, before, after in zip(x.shape, low, high, strict=True)]
    place = [i + before for i, before in zip(index, low, strict=True)]
    return Contraction().outShape(*shape).outAccess(*place).assign(x[tuple(index)]).build()


def image_resize(x: Any, factors: Sequence[int], interp: Any = "nearest", layout: Any = "nxc") -> Tensor:
    """Larger by whole factors: each element several times, or weighted by `1 - distance / factor`, as the original does at the edges, too."""
    x, mode = as_tensor(x), _member(InterpolationMode, interp)
    at = _places(_member(TensorLayout, layout).name, x.rank - 2)
    for a, factor in zip(at["x"], factors, strict=True):
        index, k = TensorIndexes(x.rank), TensorIndexes(1)[0]
        shape = [n * factor if place == a else n for place, n in enumerate(x.shape)]
        if mode == InterpolationMode.NEAREST:
            place = [index[a] * factor + k if n == a else i for n, i in enumerate(index)]
            contraction = Contraction().outShape(*shape).outAccess(*place).assign(x[tuple(index)])
            x = contraction.add_constraint(k < factor).build()
            continue
        reach = 2 * factor - 1
        weight = 1.0 - edsl.abs(edsl.index([reach], 0) - float(factor - 1)) / float(factor)
        place = [index[a] * factor + k - (factor - 1) if n == a else i for n, i in enumerate(index)]
        x = Contraction().outShape(*shape).outAccess(*place).sum(x[tuple(index)] * weight[k]).build()
    return x
