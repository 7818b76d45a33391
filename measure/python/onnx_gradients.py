"""Derived gradients of ONNX graphs beside those of onnx-ad: onnx_gradients.py TABLA-GEN PAGE

onnx-ad turns a graph into one that computes gradients, by rules of its own, and the evaluator of the package `onnx` runs it in double precision.
`tabla-gen train` does one step with the rate 1 on the golden engine: what the step takes from a weight is its gradient. Both have to agree to 1e-9
of the largest element, to 1e-7 where that evaluator rounds to single precision.
"""

import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnx_ad
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

MOST = 1e-9
# What the evaluator computes in single precision, whatever it is given, and what is allowed then.
SINGLE, MOST_SINGLE = {"Erf", "Gelu", "LayerNormalization"}, 1e-7
BEGIN, END = "<!-- onnx-ad -->\n", "<!-- onnx-ad end -->\n"


def node(operator, inputs, output, **attributes):
    return helper.make_node(operator, inputs.split(), [output], **attributes)


# Each: the shape of x, weights by name with their shapes, constants, and nodes from `x` to `y`. What is minimised is the sum of y * y.
GRAPHS = {
    "dense layers, sigmoid, softmax": (
        [1, 5],
        {"V": [4, 5], "b": [4], "W": [4, 3]},
        {},
        [
            node("Gemm", "x V b", "a", transB=1),
            node("Sigmoid", "a", "h"),
            node("MatMul", "h W", "z"),
            node("Softmax", "z", "y"),
        ],
    ),
    "tanh, relu, softplus": (
        [6],
        {"V": [4, 6], "W": [3, 4]},
        {},
        [
            node("MatMul", "V x", "a"),
            node("Tanh", "a", "h"),
            node("MatMul", "W h", "c"),
            node("Relu", "c", "r"),
            node("Softplus", "c", "s"),
            node("Add", "r s", "y"),
        ],
    ),
    "convolutions, largest and mean of windows": (
        [1, 1, 8, 8],
        {"K": [3, 1, 3, 3], "B": [3], "L": [2, 3, 2, 2], "D": [2, 4]},
        {"shape": np.array([1, 2])},
        [
            node("Conv", "x K B", "a", pads=[1, 1, 1, 1]),
            node("MaxPool", "a", "p", kernel_shape=[2, 2], strides=[2, 2]),
            node("Relu", "p", "r"),
            node("Conv", "r L", "c", strides=[2, 2]),
            node("AveragePool", "c", "q", kernel_shape=[2, 2]),
            node("Reshape", "q shape", "f"),
            node("MatMul", "f D", "y"),
        ],
    ),
    "transposed convolution": (
        [1, 2, 3, 3],
        {"W": [1, 2, 3, 3]},
        # By its own weights onnx-ad differentiates it not.
        {"K": np.linspace(-1, 1, 54).reshape(2, 3, 3, 3)},
        [node("Mul", "x W", "m"), node("ConvTranspose", "m K", "a", strides=[2, 2]), node("Tanh", "a", "y")],
    ),
    "layer normalisation, GELU": (
        [2, 6],
        {"W": [6, 4], "s": [4], "b": [4]},
        {},
        [node("MatMul", "x W", "a"), node("LayerNormalization", "a s b", "n", axis=-1), node("Gelu", "n", "y")],
    ),
    "attention": (
        [3, 4],
        {"Q": [4, 4], "K": [4, 4], "V": [4, 4]},
        {"half": np.array(0.5)},
        [
            node("MatMul", "x Q", "q"),
            node("MatMul", "x K", "k"),
            node("MatMul", "x V", "v"),
            node("Transpose", "k", "t", perm=[1, 0]),
            node("MatMul", "q t", "e"),
            node("Mul", "e half", "g"),
            node("Softmax", "g", "p", axis=-1),
            node("MatMul", "p v", "y"),
        ],
    ),
    "quotients, roots, logarithms": (
        [5],
        {"W": [4, 5]},
        {"one": np.array(1.0)},
        [
            node("MatMul", "W x", "a"),
            node("Mul", "a a", "b"),
            node("Add", "b one", "c"),
            node("Sqrt", "c", "d"),
            node("Log", "c", "e"),
            node("Div", "a d", "f"),
            node("Sub", "f e", "y"),
        ],
    ),
    "parts put together, reductions": (
        [4, 3],
        {"W": [3, 5], "V": [2, 5]},
        {"from": np.array([1]), "to": np.array([4]), "axis": np.array([1])},
        [
            node("MatMul", "x W", "a"),
            node("Concat", "a V", "c", axis=0),
            node("Slice", "c from to axis", "s"),
            node("ReduceMean", "s axis", "m", keepdims=1),
            node("ReduceMax", "s axis", "l", keepdims=1),
            node("Sub", "l m", "y"),
        ],
    ),
    "Exp, Erf, Elu, LeakyRelu, Abs, Where": (
        [6],
        {"W": [6, 6]},
        {"zero": np.array(0.0)},
        [
            node("MatMul", "W x", "a"),
            node("Greater", "a zero", "g"),
            node("Exp", "a", "b"),
            node("Erf", "a", "c"),
            node("Where", "g b c", "d"),
            node("Elu", "a", "e"),
            node("LeakyRelu", "a", "f", alpha=0.1),
            node("Abs", "a", "h"),
            node("Sum", "d e f h", "y"),
        ],
    ),
}


def graph(nodes, x, weights, constants, as_inputs):
    """The graph of a case, with its weights as inputs or as initialisers."""
    info = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.DOUBLE, shape)
    last = [helper.make_node("Mul", ["y", "y"], ["square"]), helper.make_node("ReduceSum", ["square"], ["total"], keepdims=0)]
    inputs = [info("x", list(x.shape))]
    initialisers = dict(constants)
    if as_inputs:
        inputs += [info(name, list(value.shape)) for name, value in weights.items()]
    else:
        initialisers.update(weights)
    tensors = [numpy_helper.from_array(value, name) for name, value in initialisers.items()]
    whole = helper.make_graph([*nodes, *last], "case", inputs, [info("total", [])], tensors)
    return helper.make_model(whole, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def foreign(model, x, weights):
    """onnx-ad's gradients of `total` by the weights."""
    adjoint = onnx_ad.reverse(model, layout="onnx")
    names = [output.name for output in adjoint.graph.output]
    given = {"x": x, **weights, "adj_total": np.ones(1)}
    values = dict(zip(names, ReferenceEvaluator(adjoint).run(None, given)))
    return {name: values[f"adj_{name}"][..., 0] for name in weights}


def own(program, folder, model, x, weights):
    """What one step with the rate 1 takes from each weight: two samples that are the same, since a table of one has no test part."""
    onnx.save(model, f"{folder}/case.onnx")
    table = f'prediction = "total"\nloss = "total"\nweights = {json.dumps(list(weights))}\nmu = 1.0\nbatch = 2\nstandardise = false\n'
    with open(f"{folder}/case.toml", "w") as file:
        file.write(f"[train]\n{table}")
    with open(f"{folder}/case.csv", "w") as file:
        file.write(",".join(f"x{n}" for n in range(x.size)) + "\n")
        file.write((",".join(repr(float(value)) for value in x.ravel()) + "\n") * 2)
    saved = f"{folder}/case.json"
    command = [program, "train", f"{folder}/case.onnx", "--data", f"{folder}/case.csv", "--engine", "golden", "--epochs", "1", "--save", saved]
    run = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    if run.returncode:
        sys.exit(f"onnx_gradients: {run.stdout}{run.stderr}")
    with open(saved) as file:
        after = json.load(file)["model"]
    return {name: value - np.array(after[name]).reshape(value.shape) for name, value in weights.items()}


def main():
    program, page = sys.argv[1:]
    lines = ["| graph | numbers | largest error |", "|---|---|---|"]
    wrong = []
    random = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        for name, (shape, shapes, constants, nodes) in GRAPHS.items():
            x = random.uniform(-1, 1, shape)
            weights = {weight: random.uniform(-1, 1, extents) for weight, extents in shapes.items()}
            wanted = foreign(graph(nodes, x, weights, constants, True), x, weights)
            found = own(program, folder, graph(nodes, x, weights, constants, False), x, weights)
            error = max(
                np.abs(found[weight] - gradient).max() / max(1, np.abs(gradient).max()) for weight, gradient in wanted.items()
            )
            most = MOST_SINGLE if SINGLE & {one.op_type for one in nodes} else MOST
            if error > most or not any(np.abs(gradient).max() > 1e-3 for gradient in wanted.values()):
                wrong.append(name)
            lines.append(f"| {name} | {sum(value.size for value in weights.values())} | {error:.1e} |")
            print(lines[-1], flush=True)
    if wrong:
        sys.exit(f"onnx_gradients: {', '.join(wrong)}")
    with open(page) as file:
        text = file.read()
    before, rest = text.split(BEGIN)
    with open(page, "w") as file:
        file.write(before + BEGIN + "\n".join(lines) + "\n" + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
