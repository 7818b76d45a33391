"""What a person sees of a training: a bar of tqdm for each engine, if tqdm is there."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Literal

Callback = Callable[[str, str, int, int, "float | None"], Any]
"""Called with `("begin" | "epoch" | "end", engine, epochs done, epochs in all, loss)`; what it raises ends the training."""

Progress = bool | Literal["auto"] | Callback


def callback(progress: Progress) -> Callback | None:
    """The callback of an argument `progress`.

    `"auto"` shows a bar where somebody can see it: a terminal or a notebook, and tqdm is installed.
    """
    if callable(progress):
        return progress
    if progress is False or progress is None:
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        if progress is True:
            raise
        return None
    if progress == "auto" and not (sys.stderr.isatty() or "ipykernel" in sys.modules):
        return None
    return _Bars(tqdm)


class Losses:
    """Gathers the loss of each epoch of the lowest engine, and shows what another callback shows."""

    def __init__(self, shown: Callback | None) -> None:
        self.curve: list[float] = []
        self._shown = shown

    def __call__(self, what: str, engine: str, done: int, epochs: int, loss: float | None) -> None:
        if what == "begin":
            self.curve = []
        elif what == "epoch" and loss is not None:
            self.curve.append(loss)
        if self._shown is not None:
            self._shown(what, engine, done, epochs, loss)


class _Bars:
    def __init__(self, tqdm: Any) -> None:
        self.tqdm = tqdm
        self.bar: Any = None

    def __call__(self, what: str, engine: str, done: int, epochs: int, loss: float | None) -> None:
        if what == "begin":
            self.bar = self.tqdm(total=epochs, initial=done, desc=engine, unit="epoch", leave=False)
        elif what == "epoch":
            self.bar.update(done - self.bar.n)
            if loss is not None:
                self.bar.set_postfix(loss=f"{loss:.5g}", refresh=False)
        else:
            self.bar.close()
