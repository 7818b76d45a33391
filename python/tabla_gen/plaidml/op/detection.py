"""Boxes: those that do not overlap better ones."""

from __future__ import annotations

from typing import Any

from tabla_gen.plaidml import edsl
from tabla_gen.plaidml.op import reductions, shaping
from tabla_gen.plaidml.shapes import DType, wrong
from tabla_gen.plaidml.tensors import Tensor, as_tensor


def nms(
    boxes: Any,
    scores: Any,
    max_output_boxes_per_class: int,
    iou_threshold: float = 0.5,
    score_threshold: float = 0.0,
    center_point_box: bool = False,
) -> Tensor:
    """Indices of the boxes that are kept, best first, of shape [batches, classes, max_output_boxes_per_class]; -1 where there is none.

    `boxes` is [batches, boxes, 4] of corners (or centre, width, height), `scores` [batches, classes, boxes]. The steps are written out: one for
    each box that may be kept.
    """
    boxes, scores = as_tensor(boxes), as_tensor(scores)
    if boxes.rank != 3 or boxes.shape[2] != 4 or scores.rank != 3:
        raise wrong("nms takes boxes of [batches, boxes, 4] and scores of [batches, classes, boxes]")
    a, b, c, d = (shaping.slice_of(boxes, [slice(None), slice(None), n]) for n in range(4))
    if center_point_box:
        (y0, x0), (y1, x1) = (b - d / 2.0, a - c / 2.0), (b + d / 2.0, a + c / 2.0)
    else:
        y0, x0, y1, x1 = edsl.min(a, c), edsl.min(b, d), edsl.max(a, c), edsl.max(b, d)
    count = scores.shape[2]
    places, lowest = edsl.index([1, 1, count], 2), -1e6
    alive = edsl.select(scores > score_threshold, scores, lowest)
    kept = []
    sides = [shaping.unsqueeze(side, 1) for side in (y0, x0, y1, x1)]
    area = (sides[2] - sides[0]) * (sides[3] - sides[1])
    for _ in range(max_output_boxes_per_class):
        best = reductions.max(alive, 2, True)
        first = reductions.min(edsl.select(alive == best, places, count), 2, True)
        found = best > lowest / 2
        chosen = places == first
        ly, lx, hy, hx, own = (reductions.sum(edsl.select(chosen, side, 0.0), 2, True) for side in (*sides, area))
        height = edsl.max(edsl.min(hy, sides[2]) - edsl.max(ly, sides[0]), 0.0)
        width = edsl.max(edsl.min(hx, sides[3]) - edsl.max(lx, sides[1]), 0.0)
        shared = height * width
        # Without a division: areas may be 0.
        covered = shared > (own + area - shared) * iou_threshold
        alive = edsl.select(edsl.logical_or(covered, chosen), lowest, alive)
        kept.append(edsl.cast(edsl.select(found, first, -1), DType.INT32))
    return shaping.concatenate(kept, 2)
