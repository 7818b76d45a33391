"""One program in three forms: as text, by Python calls and by Rust calls, it is the same tensor IR, word for word.

The programs are made up (`tile_programs.py`); their text is a Python function, too, which is run here as it stands. Those of the first seeds are in a
file, whose texts `compiler/src/language/tile/edsl/replay.rs` compares with calls in Rust. `TILE_SEEDS=1000` compares more of them.
"""

import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
import tile_programs

from tabla_gen.plaidml import edsl

SEEDS = int(os.environ.get("TILE_SEEDS", tile_programs.COUNT))
SUITE = Path(__file__).parents[2] / "tests/conformance/tile"


def names():
    """What a text may use, by its names in Python."""
    known = {name: getattr(edsl, name) for name in edsl.__all__}
    known |= {kind.word: kind for kind in edsl.DType if kind.value and kind is not edsl.DType.BFLOAT16}
    known["gather_nd"] = lambda x, y, common=0: edsl.gather(x, y, mode=edsl.GatherMode.ND, batch_dims=common)
    return known


def built(text, shapes, **integers):
    """The program that the text builds when Python runs it."""
    known = names()
    # In Python, index variables have names if they are given any.
    known["TensorIndexes"] = lambda count: [edsl.TensorIndex(name) for name in "ijklpqrstuvw"[:count]]
    exec(text, known)
    function = known[re.findall(r"^def (\w+)", text, re.M)[-1]]
    inputs = {name: edsl.Placeholder(edsl.DType.FLOAT64, shape, name) for name, shape in shapes.items()}
    order = function.__code__.co_varnames[: function.__code__.co_argcount]
    results = function(*({**inputs, **integers}[name] for name in order))
    results = list(results) if isinstance(results, tuple) else [results]
    return edsl.Program(function.__name__, list(inputs.values()), [edsl.as_tensor(r) for r in results])


def ir(text, shapes, folder):
    """Tensor IR without places in the text; tensors by number."""
    (folder / "in.json").write_text(json.dumps({name: np.zeros(shape).tolist() for name, shape in shapes.items()}))
    (folder / "p.tile").write_text(text)
    command = [os.environ["TABLA_GEN"], "ir", "--after", "tensor", "--evaluate", "in.json", "p.tile"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, text + done.stderr
    listing = re.sub(r" *@ \d+\.\.\d+", "", done.stdout)
    known = re.findall(r"^(?:input|output|temporary) ([\w.]+)", listing, re.M)
    number = {name: f"%{n}" for n, name in enumerate(known)}
    return re.sub(r"(?<![\w.])[A-Za-z][\w.]*(?![\w.(])", lambda found: number.get(found[0], found[0]), listing)


def test_the_file_has_the_programs_of_the_first_seeds():
    assert tile_programs.CORPUS.read_text() == tile_programs.corpus(), "python3 python/tests/tile_programs.py writes it"


@pytest.mark.parametrize("seed", range(SEEDS))
def test_python_calls_are_the_same_tensor_ir_as_the_text(seed, tmp_path):
    made = tile_programs.Programs(seed)
    assert ir(built(made.text, made.shapes).source, made.shapes, tmp_path) == ir(made.text, made.shapes, tmp_path)


def test_another_program_is_another_tensor_ir(tmp_path):
    made = tile_programs.Programs(0)
    for old, new in [("K, N)", "N, K)"), ("* 0.5", "* 0.25"), ("j + 1, i]", "j, i]"), ("return R0", "return R1")]:
        assert old in made.text
        assert ir(made.text.replace(old, new), made.shapes | ({"B": [3, 3, 4]} if "K" in old else {}), tmp_path) != ir(made.text, made.shapes, tmp_path)


PYTHON_HAS_NOT = r"[^=<>!]%|&|\||\^|~|<<|>>|\bu?int\d|gelu|silu|mish|scatter_nd|\$|bit_|shift"
"""Where the same letters say something else in Python or in PlaidML."""


def runs_as_python(path):
    """Whether a program of the suite has values, and is one of Python, too."""
    case = json.loads(path.with_suffix(".json").read_text())
    return "values" in case.get("expect", {}) and not re.search(PYTHON_HAS_NOT, path.read_text())


PROGRAMS = [path for path in sorted(SUITE.glob("*.tile")) if runs_as_python(path)]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_the_suite_runs_as_python(path):
    assert len(PROGRAMS) > 60
    text, case = path.read_text(), json.loads(path.with_suffix(".json").read_text())
    integers = {name: value for name, value in case["inputs"].items() if isinstance(value, int)}
    arrays = {name: np.array(value, float) for name, value in case["inputs"].items() if name not in integers}
    program = built(text, {name: value.shape for name, value in arrays.items()}, **integers)
    results = program.program.eval(program.record(arrays))
    for name, value in case["expect"]["values"].items():
        np.testing.assert_allclose(np.asarray(results[name], float), np.array(value, float), rtol=1e-9, atol=1e-9)
