"""Settings as TOML, which is what programs read."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any


def to_toml(table: Mapping[str, Any], name: str = "train") -> str:
    """The text of a table: strings, numbers, truth values, lists and tables of them; None is left out.

    >>> print(to_toml({"loss": "squared", "mu": 0.5, "sizes": {"m": "inputs"}}))
    [train]
    loss = "squared"
    mu = 0.5
    sizes = { m = "inputs" }
    <BLANKLINE>
    """
    lines = [f"{_key(key)} = {value(item)}\n" for key, item in table.items() if item is not None]
    return f"[{name}]\n" + "".join(lines)


def _key(key: str) -> str:
    plain = key.replace("_", "a").replace("-", "a")
    return key if plain.isascii() and plain.isalnum() else json.dumps(key)


def value(item: Any) -> str:
    """One value as TOML has it."""
    if isinstance(item, str):
        return json.dumps(item, ensure_ascii=True)
    if isinstance(item, bool) or type(item).__name__ == "bool_":
        return "true" if item else "false"
    if isinstance(item, Mapping):
        return "{ " + ", ".join(f"{_key(str(k))} = {value(v)}" for k, v in item.items()) + " }"
    if isinstance(item, Sequence):
        return "[" + ", ".join(map(value, item)) + "]"
    if isinstance(item, int) or hasattr(item, "__index__"):
        return str(int(item))
    number = float(item)
    return str(number) if math.isnan(number) or math.isinf(number) else repr(number)
