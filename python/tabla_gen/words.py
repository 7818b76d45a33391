"""Messages name options of the command line; here they name arguments.

>>> of_python("a smaller learning rate helps: --set mu=0.001")
'a smaller learning rate helps: set={"mu": 0.001}'
>>> of_python("evaluate with the golden engine (`--engine golden`)")
'evaluate with the golden engine (`engine="golden"`)'
"""

from __future__ import annotations

import re
from collections.abc import Callable


def _pair(name: str) -> Callable[[str], str]:
    """An argument that is a dict: `KEY=VALUE`, or a key alone."""

    def said(value: str) -> str:
        key, _, given = value.partition("=")
        return f'{name}={{"{key}": {given or "..."}}}' if key else name

    return said


def _text(name: str) -> Callable[[str], str]:
    return lambda value: f'{name}="{value}"' if value else name


def _bare(name: str) -> Callable[[str], str]:
    return lambda value: f"{name}={value}" if value else name


_LOWER, _UPPER, _PAIR = r"[a-z][\w,]*", r"[A-Z]\w*|\d+", r"[\w.]+=[\w.-]*\w"

ARGUMENTS: dict[str, tuple[str, Callable[[str], str]]] = {
    "arrays": (r"[\w,]+", lambda value: f"a file with the arrays {value}" if value else "a file with these arrays"),
    "batch": (_UPPER, _bare("batch")),
    "calibrate": (_UPPER, lambda _: "calibrate(X)"),
    "data": (_UPPER, lambda _: "data=path"),
    "deny-inaccuracy": ("(?!)", lambda _: "a check of the verdict"),
    "deny-saturation": ("(?!)", lambda _: "a check of the warnings"),
    "drop": (r"[\w,]+", lambda value: "X.drop(columns=" + repr(value.split(",")) + ")" if value else "X without the column"),
    "engine": ("golden|fixed|array|rtl", _text("engine")),
    "entry": (r"\w+(?=:)|NAME", _text("function")),
    "epochs": (_UPPER, _bare("epochs")),
    "features": ("(?!)", lambda _: "the columns of X"),
    "force": ("(?!)", lambda _: "force=True"),
    "header": ("yes|no", lambda value: "no header line" if value == "no" else "a header line"),
    "inputs": (_UPPER, lambda _: "inputs"),
    "limit": (_PAIR, lambda value: f"the command line's limit {value}" if value else "the command line's limits"),
    "load": ("(?!)", lambda _: "start"),
    "machine": (_PAIR, _pair("machine")),
    "missing": ("mean|median|zero", _text("missing")),
    "order": ("rows|shuffled|store|permuted", _text("order")),
    "place-seed": ("(?!)", lambda _: "`make SEED=N` in the folder fpga"),
    "ranks": (_UPPER, lambda _: "the command line's ranks"),
    "records": (_UPPER, lambda _: "`records` in [build] of the configuration"),
    "resident": (r"[\w,]+", lambda value: "resident=" + repr(value.split(",")) if value else "resident"),
    "save": ("(?!)", lambda _: "Model.save"),
    "set": (_PAIR, _pair("set")),
    "shape": (r"[^\s=`]+=\d+", _pair("shape")),
    "split": (r"0\.\d+", _bare("split")),
    "state": (r"\w+=\w+", _pair("state")),
    "std": (r"\w+", lambda value: f"the dialect {value}" if value else "a dialect"),
    "target": (r"\w+,[\w,]+", lambda _: "y"),
    "within": (r"[\d.]+", _bare("within")),
}
"""By option: the operand that may follow it, and the argument."""

_OPTION = re.compile(
    "|".join(rf"(?<![\w-])--(?P<n{n}>{name})(?:[ =](?P<v{n}>{value}))?(?![\w-])" for n, (name, (value, _)) in enumerate(ARGUMENTS.items()))
)
_CALLS = {"`train --save` makes a model of it, which `predict` scores": "`Program.train` makes a `Model` of it, which has a `score`"}
_SAYS = list(ARGUMENTS.values())
# Lines of the user's text in a drawing.
_SOURCE = re.compile(r"\s*\d+ │")


def of_python(text: str) -> str:
    """A message in words of Python."""

    def said(found: re.Match[str]) -> str:
        number = int(next(key[1:] for key, value in found.groupdict().items() if key[0] == "n" and value is not None))
        return _SAYS[number][1](found[f"v{number}"] or "")

    for command, call in _CALLS.items():
        text = text.replace(command, call)
    return _OPTION.sub(said, text)


def drawing(text: str) -> str:
    """The same of a drawing, whose lines of the user's stay as they are."""
    return "".join(line if _SOURCE.match(line) else of_python(line) for line in text.splitlines(keepends=True))
