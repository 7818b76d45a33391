"""Tensor Comprehensions with NumPy arrays, by the calls of the original's Python package.

>>> import numpy as np
>>> from tabla_gen import tc
>>> T = tc.define("def mv(float(M,N) A, float(N) x) -> (y) { y(i) +=! A(i, j) * x(j) }")
>>> T.mv(np.eye(2), np.array([3.0, 4.0])).tolist()
[3.0, 4.0]

Options of mapping and tuning are accepted and change nothing: the compiler searches by itself. Each kind is said once, as a warning.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tabla_gen import errors
from tabla_gen.model import Engine
from tabla_gen.program import Program

_HEAD = re.compile(r"def\s+(\w+)\s*\(([^{]*?)\)\s*->\s*\(([^{]*?)\)\s*\{")
_PARAMETER = re.compile(r"(\w+)\s*(?:\([^)]*\))?\s*(\w+)")
_SAID: set[str] = set()

Result: TypeAlias = "NDArray[Any] | tuple[NDArray[Any], ...]"


def _ignored(what: str) -> None:
    if what not in _SAID:
        _SAID.add(what)
        warnings.warn(f"{what} change nothing here: the compiler searches by itself", UserWarning, stacklevel=3)


class _Options:
    """Settings that are accepted and change nothing; every method returns the object."""

    def __init__(self, *_values: Any, **_named: Any) -> None:
        _ignored("options of mapping and tuning")

    def __getattr__(self, name: str) -> Callable[..., _Options]:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *_values, **_named: self

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class MappingOptions(_Options):
    """How loops were mapped to a GPU."""


class TunerConfig(_Options):
    """How mappings were searched."""


class Tuner(_Options):
    """What searched them."""

    def tune(self, _entry: str, _inputs: Any, *_options: Any) -> MappingOptions:
        """Options that change nothing."""
        return MappingOptions()


class MappingOptionsCache(_Options):
    """What kept them."""

    def load(self, _source: str, _entry: str, _inputs: Any, _count: int = 1) -> list[MappingOptions]:
        """Options that change nothing."""
        return [MappingOptions()]


class CompilationCache(_Options):
    """What kept kernels."""


Options = MappingOptions
autotuner_settings: dict[str, Any] = {}
"""Settings that older files pass on."""
SILENT = True


def cuda_compiler(_name: str) -> None:
    """Accepted: there is one compiler."""


def SetDebugFlags(*_values: bool, **_flags: bool) -> None:
    """Accepted: nothing is dumped."""


logtostderr = debug_lang = debug_halide = debug_tc_mapper = debug_tuner = dump_cuda = SetDebugFlags


def install() -> None:
    """Let `import tensor_comprehensions` and its `tclib` find this module.

    Raises
    ------
    RuntimeError
        Another package of this name is loaded already.
    """
    own = sys.modules[__name__]
    if sys.modules.get("tensor_comprehensions", own) is not own:
        raise RuntimeError("another package named tensor_comprehensions is loaded already")
    sys.modules["tensor_comprehensions"] = sys.modules["tensor_comprehensions.tclib"] = own


class Function:
    """A function of a source text: called with arrays in the order of its parameters."""

    def __init__(self, source: str, name: str, **config: Any) -> None:
        source = _without_comments(source)
        found = {match[1]: match for match in _HEAD.finditer(source)}
        if name not in found:
            known = ", ".join(found) or "none"
            raise errors.UsageError(f"there is no function {name!r} in this text; there are: {known}", "E-USAGE")
        head = found[name]
        self.name = name
        self._types = {match[2]: match[1] for match in _PARAMETER.finditer(head[2])}
        self.results = [part.split()[-1] for part in re.sub(r"\([^)]*\)", " ", head[3]).split(",") if part.strip()]
        body = source[head.end() :].split("def ", 1)[0]
        self._updated = [r for r in self.results if _is_updated(r, body)]
        self.program = Program.from_text(source, language="tensor_comprehensions", name=name, function=name, **config)
        self.backward: Callable[..., Any] | None = None

    @property
    def parameters(self) -> list[str]:
        """Names of the parameters."""
        return list(self._types)

    def record(self, *inputs: ArrayLike, outputs: Any = None) -> dict[str, NDArray[Any]]:
        """The arguments by name; of outputs, those that the function continues from."""
        if len(inputs) != len(self._types):
            known = ", ".join(self._types)
            raise errors.UsageError(f"{self.name} takes {len(self._types)} arrays ({known}), not {len(inputs)}", "E-USAGE")
        record = {}
        for (name, kind), value in zip(self._types.items(), inputs, strict=True):
            given, whole = _array(value), kind.startswith(("int", "uint", "byte", "bool"))
            # A fraction is not cut off: the program refuses it.
            record[name] = given.astype(np.int64 if whole and given.dtype.kind != "f" else np.float64)
        filled = dict(zip(self.results, _several(outputs), strict=False))
        record.update({name: _array(filled[name]).astype(float) for name in self._updated if filled.get(name) is not None})
        return record

    def __call__(self, *inputs: ArrayLike, outputs: Any = None, engine: Engine = "golden", **unused: Any) -> Result:
        """The results, in order; `outputs` are filled and are where updates (`+=`) begin."""
        for what in unused:
            _ignored(f"the arguments named {what!r}")
        values = self.program.eval(self.record(*inputs, outputs=outputs), engine=engine)
        results = tuple(np.asarray(values[name]) for name in self.results)
        for target, result in zip(_several(outputs), results, strict=False):
            if target is not None:
                target[...] = result
        return results[0] if len(results) == 1 else results

    def run(self, inputs: Sequence[ArrayLike], outputs: Any = ()) -> Result:
        """The same with all arrays in two sequences."""
        return self(*inputs, outputs=tuple(outputs) or None)

    def autotune(self, *_inputs: Any, **_options: Any) -> MappingOptions:
        """Nothing to tune."""
        return MappingOptions()


class Source:
    """The functions of a text, as attributes."""

    def __init__(self, source: str, **config: Any) -> None:
        self._functions = {m[1]: Function(source, m[1], **config) for m in _HEAD.finditer(_without_comments(source))}

    def __getattr__(self, name: str) -> Function:
        functions = self.__dict__.get("_functions", {})
        if name in functions:
            return functions[name]
        raise AttributeError(f"there is no function {name!r}; there are: {', '.join(functions) or 'none'}")

    def __dir__(self) -> list[str]:
        return list(self._functions)


def define(
    source: str,
    options: Any = None,
    *,
    name: str | None = None,
    backward: str | None = None,
    constants: Mapping[str, Any] | None = None,
    **config: Any,
) -> Any:
    """The functions of a text; with `name`, that function, whose `backward` is the one of that name.

    `constants` takes the place of `{key}` in the text, where `{{` is a brace. `config`, `machine`, `set` and `resident` are those of `Program.from_text`; other options are those
    of the original and change nothing.
    """
    for key, value in (constants or {}).items():
        source = source.replace("{" + key + "}", str(value))
    source = source.replace("{{", "{").replace("}}", "}") if constants else source
    own = {key: config.pop(key) for key in ("config", "machine", "set", "resident") if key in config}
    if options is not None or config:
        _ignored("options of mapping and tuning")
    if name is None:
        return Source(source, **own)
    function = Function(source, name, **own)
    if backward is not None:
        function.backward = Function(source, backward, **own)
    return function


def compile(source: str, entry: str, *_options_and_inputs: Any, **_named: Any) -> Function:  # noqa: A001
    """One function; it is compiled where it is called."""
    return Function(source, entry)


def autotune_and_compile(source: str, entry: str, *_inputs: Any, **_options: Any) -> Function:
    """The same: there is nothing to tune."""
    _ignored("options of mapping and tuning")
    return Function(source, entry)


def autotune(_source: str, _entry: str, *_inputs: Any, **_options: Any) -> MappingOptions:
    """Options that change nothing."""
    return MappingOptions()


def make_naive_options_factory(**_options: Any) -> MappingOptions:
    """Options that change nothing."""
    return MappingOptions()


make_autotuned_options_factory = make_load_from_cache_options_factory = make_naive_options_factory


def make_autograd(forward: Callable[..., Any], backward: Callable[..., Any]) -> Callable[..., Any]:
    """The forward function, whose `backward` is the other one: gradients are asked for by calling it."""

    def function(*inputs: Any) -> Any:
        return forward(*inputs)

    function.backward = backward  # type: ignore[attr-defined]
    return function


def assert_almost_equal(diff: Any, expected: Any, *_inputs: Any, operations: int = 1, precision: float = 1e-7) -> None:
    """Two arrays agree, within a distance that grows with the operations."""
    np.testing.assert_allclose(_array(diff), _array(expected), rtol=operations * precision + 1e-6, atol=operations * precision)


def _is_updated(name: str, body: str) -> bool:
    """Whether the first statement of a result continues from the caller's values."""
    first = re.search(rf"(?<![\w.]){name}\s*(?:\((?:[^()]|\([^()]*\))*\))?\s*(\+=!?|\*=!?|min=!?|max=!?|=(?!=))", body)
    return first is not None and first[1] != "=" and not first[1].endswith("!")


def _array(value: Any) -> NDArray[Any]:
    return np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)


def _several(values: Any) -> Sequence[Any]:
    return [] if values is None else values if isinstance(values, (list, tuple)) else [values]


def _without_comments(source: str) -> str:
    return re.sub(r"#[^\n]*", "", source)
