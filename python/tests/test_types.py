"""The package is typed, and calls that are wrong are told before they run."""

import inspect
import pathlib
import re

import pytest
from mypy import api

import tabla_gen
from tabla_gen import _native

PACKAGE = pathlib.Path(tabla_gen.__file__).parent
SETTINGS = pathlib.Path(__file__).resolve().parents[1] / "pyproject.toml"

# Each line that ends with a comment is refused with these words.
CALLS = """
import numpy as np
from tabla_gen import Function, Hardware, Model, Program, Score, TablaClassifier, TablaRegressor, from_sklearn

X, y = np.zeros((2, 1)), np.zeros(2)
program = Program.from_file("programs/linear.t")
program.eval({"x": X}, engine="nonsense")  # "engine" to "eval" of "Program" has incompatible type
model: Model = program.train(X, y, engine="array")
program.train(X, y, engine="nonsense")  # "engine" to "train" of "Program" has incompatible type
model.predict(X, engine="nonsense")  # "engine" to "predict" of "Model" has incompatible type
TablaClassifier(engine="nonsense")  # "engine" to "TablaClassifier" has incompatible type
score: float = TablaRegressor(engine="fixed").fit(X, y).score(X, y)
wrong: str = TablaClassifier().fit(X, y).score(X, y)  # expression has type "float"
function: Function = from_sklearn(object(), config="tiny").calibrate(X)
text: str = function.score(X, y)  # expression has type "Score"
figure: float | None = function.score(X, y, engine="rtl").accuracy
hardware: Hardware = function.deploy(X, y, "tiny", within=0.5).hardware
hardware.verify(X)  # Missing positional argument "y"
lut: int = hardware.synth().cells["LUT"]  # expression has type "tuple[int, int]"
"""


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("types")
    (folder / "calls.py").write_text(CALLS)
    arguments = ["--config-file", str(SETTINGS), "--cache-dir", str(folder / "cache"), str(PACKAGE), str(folder / "calls.py")]
    return api.run(arguments)[0]


def test_the_package_is_typed(checked):
    assert [line for line in checked.splitlines() if "error:" in line and "calls.py" not in line] == []


def test_wrong_calls_are_told(checked):
    found = {int(number): text for number, text in re.findall(r"calls\.py:(\d+): error: (.*)", checked)}
    expected = {number: line.split("  # ")[1] for number, line in enumerate(CALLS.splitlines(), 1) if "  # " in line}
    assert found.keys() == expected.keys(), checked
    for number, words in expected.items():
        assert words in found[number]


def test_the_stub_has_what_the_native_half_has():
    stub = (PACKAGE / "_native.pyi").read_text()
    described = {}
    for name, body in re.findall(r"^class (\w+):\n((?:    .*\n|\n)*)", stub, re.M):
        described[name] = set(re.findall(r"^    def (\w+)", body, re.M)) - {"__init__"}
    for name, of in inspect.getmembers(_native, inspect.isclass):
        assert {member for member in vars(of) if not member.startswith("__")} == described.pop(name), name
    assert described == {} and isinstance(_native.VERSION, str)


def test_everything_public_is_documented():
    for name in tabla_gen.__all__:
        of = getattr(tabla_gen, name)
        assert name == "__version__" or of.__doc__, name
        for member, function in inspect.getmembers(of, inspect.isfunction):
            assert member.startswith("_") or inspect.getdoc(function), f"{name}.{member}"
