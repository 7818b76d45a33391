"""The kernels of cfdlang's tests, restated with small extents, beside NumPy."""

import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

PAGE = Path(__file__).parents[2] / "docs/languages/originals.md"
rng = np.random.default_rng(59)
KERNELS = {}


def kernel(name, version, text, function):
    KERNELS[name] = version, text, function


def product(*tensors, pairs=()):
    """The sum over pairs of dimensions of an outer product; its dimensions count from 0."""
    count = sum(np.ndim(t) for t in tensors)
    labels = list(range(count))
    for a, b in pairs:
        labels[b] = labels[a]
    gone = {n for pair in pairs for n in pair}
    parts, at = [], 0
    for tensor in tensors:
        parts += [tensor, labels[at : at + np.ndim(tensor)]]
        at += np.ndim(tensor)
    return np.einsum(*parts, [label for n, label in enumerate(labels) if n not in gone])


SMALL = "type t3 : [2 3 4]\ntype t4 : [3 4 5 2]\n"
SQUARE = "var a : [3 3]\nvar b : [3 3]\n"
THREE = "var input a : [2 3]\nvar input b : [2 3]\nvar input c : [2 3]\nvar input u : [3 3 3]\n"
STACKED = "var input a : [3 3]\nvar input b : [3 3]\nvar input c : [3 3]\nvar input u : [3 2]\nvar output v : [3 3 2]\n"


def chain(name, shape, pairs):
    factors = "a * b * u" if name != "big.4" else "a * u"
    lists = f" . [{' '.join(f'[{m} {n}]' for m, n in pairs)}]" if pairs else ""
    text = SMALL + f"var a : t3\nvar b : t3\nvar u : t4\nvar v : [{shape}]\nv = {factors}{lists}\n"
    used = (lambda a, u, **_: (a, u)) if name == "big.4" else (lambda a, b, u, **_: (a, b, u))
    kernel(name, 1, text, lambda **x: {"v": product(*used(**x), pairs=pairs)})


chain("big.1", "2 4 2 3 5 2", [(1, 6), (5, 7)])
chain("big.2", "2 2 3 4 5 2", [(1, 6), (2, 7)])
chain("big.3", "2 3 4 2 3 4 3 4 5 2", [])
chain("small.3", "2 3 4 2 3 4 3 4 5 2", [])
chain("big.4", "2 5 2", [(2, 4), (1, 3)])
chain("big.5", "4 3 5 2", [(1, 6), (5, 7), (0, 3)])
io = KERNELS["big.1"][1].replace("var a", "var input a").replace("var b", "var input b").replace("var u", "var input output u").replace("var v", "var output v")
kernel("big.1.io", 1, io, lambda a, b, u: {"v": product(a, b, u, pairs=[(1, 6), (5, 7)]), "u": u})
kernel("big.6", 1, SQUARE + "b = a * b . [[2 0]]\n", lambda a, b: {"b": a.T @ b})
kernel("big.7", 1, SQUARE + "b = a * b . [[0 2]]\n", lambda a, b: {"b": a.T @ b})
kernel("big.8", 1, SQUARE + "var c : [2 3 3]\nc = [a  b]\n", lambda a, b, **_: {"c": np.stack([a, b])})
kernel("big.9", 1, "var a : [4 3]\nvar b : [3 3]\nvar c : [2 3 3]\nc = [a b]\n", "E-SHAPE")
kernel("big.10", 1, "var a : [3 3]\nvar b : [3 4]\nvar c : [2 3 3]\nc = [a b]\n", "E-SHAPE")
two = "c = [ a * b . [[0 2]] a * b . [[1 3]] ]\n"
kernel("big.11", 1, SQUARE + "var c : [2 3 3]\n" + two, lambda a, b, **_: {"c": np.stack([a.T @ b, a @ b.T])})
io = "var input a : [3 3]\nvar input b : [3 3]\nvar output c : [2 3 3]\n"
kernel("big.11.io", 1, io + two, lambda a, b: {"c": np.stack([a.T @ b, a @ b.T])})
three = "c = [ (a*b*a . [[0 2] [1 4]]) (a*b . [[1 3]]) ]\n"
kernel("big.12", 1, SQUARE + "var c : [2 3 3]\n" + three, lambda a, b, **_: {"c": np.stack([product(a, b, a, pairs=[(0, 2), (1, 4)]), a @ b.T])})
kernel("big.13", 1, "var a : [3 3]\nvar c : [1 3 3]\nc = [a]\n", lambda a, **_: {"c": a[None]})
stack = lambda a, b, c, u: {"v": product(np.stack([a, b, c]), u, pairs=[(1, 3)])}  # noqa: E731
kernel("big.14.io", 1, STACKED + "v = [a b c] * u . [[1 3]]\n", stack)
kernel("big.15.io", 2, STACKED + "v = ([a b c] # u) . [[1 3]]\n", stack)
kernel("big.16.io", 1, STACKED.replace("input u", "input output u") + "v = ([a b c] * u) . [[1 3]]\n", stack)
power = lambda a, u, **_: {"v": np.einsum("ia,jb,kc,abc->ijk", a, a, a, u)}  # noqa: E731
turned = lambda a, b, c, u: {"v": np.einsum("ia,jb,kc,abc->ijk", a, b, c, u)}  # noqa: E731
ONE = "var input a : [2 3]\nvar input u : [3 3 3]\nvar output v : [2 2 2]\n"
nested = lambda a, b, c: f"v = {a} * (({b} * (({c} * u).[[1 4]])).[[1 4]]).[[1 4]]\n"  # noqa: E731
kernel("big.17.io", 1, ONE + nested("a", "a", "a"), power)
kernel("big.18.io", 1, ONE + "v = a * a * a * u . [[1 6] [3 7] [5 8]]\n", power)
kernel("big.19.io", 1, THREE + "var output v : [2 2 2]\n" + nested("a", "b", "c"), turned)
kernel("big.20.io", 1, THREE + "var output v : [2 2 2]\nv = a * b * c * u . [[1 6] [3 7] [5 8]]\n", turned)
last = "var output v : [2 2 3]\nv = a * ((b * u).[[1 4]]) . [[1 4]]\n"
kernel("big.21.io", 1, THREE + last, lambda a, b, c, u: {"v": product(a, product(b, u, pairs=[(1, 4)]), pairs=[(1, 4)])})
grads = "type T : [3, 3]\nvar {0}Dx : T\nvar {0}Dy : T\nvar {0}Dz : T\nvar {0}u : [3 3 3 2]\nvar {1}v : [3 3 3 3 2]\n"
gradient = lambda Dx, Dy, Dz, u, **_: {"v": np.stack([product(D, u, pairs=[(1, 2 + n)]) for n, D in enumerate((Dx, Dy, Dz))])}  # noqa: E731
kernel("grad.io", 1, grads.format("", "") + "v = [ Dx*u.[[1 2]] Dy*u.[[1 3]] Dz*u.[[1 4]] ]\n", gradient)
kernel("test.grad", 2, grads.format("input ", "output ") + "v = [ Dx#u.[[1 2]] Dy#u.[[1 3]] Dz#u.[[1 4]] ]\n", gradient)
kernel("scalar", 1, SQUARE + "var c : []\nb = a * b * c. [[0 2]]\n", lambda a, b, c: {"b": a.T @ b * c})
first = "type matrix : [3 3]\ntype vector : [3]\nvar input A : matrix\nvar input s : vector\nvar input t : vector\nvar input U : matrix\nvar output v : matrix\n"
kernel("test.1", 2, first + "v = (A + s # t) / U\n", lambda A, s, t, U: {"v": (A + np.outer(s, t)) / U})
interpolation = "var input A : [2 3]\nvar input u : [3 3 3]\nvar output v : [2 2 2]\n"
for name, text in [("direct/AxAxA", "(A # A # A # u) . [[1 6] [3 7] [5 8]]"), ("test.AxAxA", "A # A # A # u . [[1 6] [3 7] [5 8]]")]:
    kernel(name, 2, interpolation + f"v = {text}\n", lambda A, u: {"v": np.einsum("ia,jb,kc,abc->ijk", A, A, A, u)})
helmholtz = "".join(f"var input {m} : [3 3]\n" for m in "ABC") + "var input D : [3 3 3]\nvar input u : [3 3 3]\nvar output v : [3 3 3]\nvar t : [3 3 3]\n"
helmholtz += "t = D * (A # B # C # u . [[0 6] [2 7] [4 8]])\nv = A # B # C # t . [[1 6] [3 7] [5 8]]\n"
kernel(
    "test.Helmholtz", 2, helmholtz,
    lambda A, B, C, D, u: {"v": np.einsum("ia,jb,kc,abc->ijk", A, B, C, D * np.einsum("ai,bj,ck,abc->ijk", A, B, C, u))},
)  # fmt: skip
sums = "var input A : [{0}]\nvar input B : [{0}]\nvar output C : [{0}]\n{1}C = A + B\n"
for name, shape, elements in [("addition", "2 3 4 2", ""), ("addition.elem-naive", "5 2 3 4 2", ""), ("addition.elem", "2 3 4 2", "elem [A B C] 5 first\n")]:
    kernel(f"direct/{name}", 2, sums.format(shape, elements), lambda A, B: {"C": A + B})
contracted = "var input A : [2 3]\nvar input u : [3 4 2]\nvar output v : [2 4 2]\nv = (A # u) . [[1 2]]\n"
kernel("direct/contraction", 2, contracted, lambda A, u: {"v": np.tensordot(A, u, 1)})


def evaluated(folder, version, text, inputs=None):
    (folder / "k.tml").write_text(text)
    command = [os.environ["TABLA_GEN"], "eval" if inputs is not None else "check", "k.tml", f"--cfdlang={version}", "--format=json"]
    if inputs is not None:
        (folder / "in.json").write_text(json.dumps({name: np.asarray(value).tolist() for name, value in inputs.items()}))
        command += ["--inputs=in.json"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", KERNELS)
def test_the_kernels_give_the_values_of_numpy(name, tmp_path):
    version, text, function = KERNELS[name]
    if isinstance(function, str):
        assert function in evaluated(tmp_path, version, text).stdout
        return
    types = dict(re.findall(r"^type (\w+) : \[(.*)\]", text, re.M))
    elements = [int(count) for count in re.findall(r"^elem .* (\d+) first", text, re.M)]
    arrays = {}
    for mark, variable, shape in re.findall(r"^var ([a-z ]*?)(\w+) : (.*)$", text, re.M):
        extents = re.findall(r"\d+", types.get(shape, shape)) if shape[0] == "[" or shape in types else []
        if "input" in mark or ("output" not in mark and "var input" not in text):
            arrays[variable] = rng.normal(size=[*elements, *map(int, extents)])
    done = evaluated(tmp_path, version, text, arrays)
    assert done.returncode == 0, done.stderr
    values = json.loads(done.stdout)["values"]
    for variable, value in function(**arrays).items():
        np.testing.assert_allclose(np.array(values[variable], float), value, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a - b - c", lambda a, b, c: a - (b - c)),
        ("a / b / c", lambda a, b, c: a / (b / c)),
        ("a - b * c / a + b", lambda a, b, c: a - (b * (c / a) + b)),
        ("a - b # c . [[1 2]]", lambda a, b, c: a - b @ c),
        ("a # b . [[1 2]] * c", lambda a, b, c: a @ b * c),
        ("c * a # b . [[1 2]] + a", lambda a, b, c: c * (a @ b) + a),
        ("a ^ [[0 1]] # b . [[1 2]]", lambda a, b, c: a.T @ b),
        ("a # b ^ [[0 1]] . [[1 2]]", lambda a, b, c: a @ b.T),
    ],
)
def test_the_second_version_binds_from_the_right(text, value, tmp_path):
    arrays = {name: rng.normal(size=(3, 3)) for name in "abc"}
    program = "".join(f"var input {name} : [3 3]\n" for name in arrays) + f"var output v : [3 3]\nv = {text}\n"
    done = evaluated(tmp_path, 2, program, arrays)
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(np.array(json.loads(done.stdout)["values"]["v"], float), value(**arrays), rtol=1e-9)


def test_the_page_says_how_many_kernels_run():
    row = re.search(r"^\| `tests` \(cfdlang\) \| (\d+) of (\d+)", PAGE.read_text(), re.M)
    assert row is not None
    assert (int(row[1]), int(row[2])) == (len(KERNELS), len(KERNELS))
