"""Scales of features that are learned row by row: running moments, and a network whose weights follow them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabla_gen import _native
from tabla_gen.model import Model


class _Running:
    """Mean and squared deviation of all rows so far, by Chan, Golub and LeVeque (1979)."""

    def __init__(self, rows: NDArray[np.float64]) -> None:
        self.count, self.mean, self._squares = len(rows), rows.mean(axis=0), rows.var(axis=0) * len(rows)

    def add(self, rows: NDArray[np.float64]) -> None:
        other = _Running(rows)
        count, away = self.count + other.count, other.mean - self.mean
        self._squares = self._squares + other._squares + away**2 * (self.count * other.count / count)
        self.mean, self.count = self.mean + away * (other.count / count), count

    @property
    def deviation(self) -> NDArray[np.float64]:
        return np.sqrt(self._squares / self.count)


class Moments:
    """Moments of features, and of targets where these are scaled, too."""

    def __init__(self, X: NDArray[np.float64], y: NDArray[np.float64] | None) -> None:
        self.features, self.targets = _Running(X), None if y is None else _Running(y)

    def add(self, X: NDArray[np.float64], y: NDArray[np.float64] | None) -> None:
        self.features.add(X)
        if self.targets is not None and y is not None:
            self.targets.add(y)


def rescaled(model: Model, moments: Moments) -> Model:
    """The same function of features and targets as they are, with other scales.

    With `x = m + d u` for features, the first layer `W u + b` becomes `W' u' + b'`, where `W' = W d' / d` and `b' = b + W' (m' - m) / d'`.
    The last layer follows the scales of the targets. A feature without deviation is left out (u = 0): it begins with its initial weight.
    """
    state: dict[str, Any] = json.loads(model._native.to_text("the model"))
    encoding, weights = state["encoding"], model.weights
    layers = sum(name.startswith("w") for name in weights)
    first, last = "1", str(layers)
    old, new = _scale(encoding["standardise"]), (moments.features.mean, moments.features.deviation)
    ratio = np.divide(new[1], old[1], out=np.ones_like(new[1]), where=old[1] > 0)
    shift = np.divide(new[0] - old[0], new[1], out=np.zeros_like(new[0]), where=new[1] > 0)
    weights["w" + first] = weights["w" + first] * ratio
    weights["b" + first] = weights["b" + first] + weights["w" + first] @ shift
    encoding["standardise"] = _table(new)
    if moments.targets is not None:
        (mean, deviation), to = _scale(encoding["standardise_targets"]), (moments.targets.mean, moments.targets.deviation)
        wide = np.where(to[1] > 0, to[1], 1.0)
        turn = deviation / wide
        weights["w" + last] = (weights["w" + last].T * turn).T if weights["w" + last].ndim > 1 else weights["w" + last] * turn
        weights["b" + last] = (weights["b" + last] * deviation + mean - to[0]) / wide
        encoding["standardise_targets"] = _table(to)
    state["model"].update({name: np.asarray(value).ravel().tolist() for name, value in weights.items()})
    for hash_of_old in ("sha256", "valid"):
        state.pop(hash_of_old, None)
    native = _native.Model.of_text(model.program._native, "the model", json.dumps(state))
    return Model(model.program, native)


def _scale(table: dict[str, list[float]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return np.array(table["mean"], dtype=float), np.array(table["deviation"], dtype=float)


def _table(scale: tuple[NDArray[np.float64], NDArray[np.float64]]) -> dict[str, list[float]]:
    return {"mean": scale[0].tolist(), "deviation": scale[1].tolist()}
