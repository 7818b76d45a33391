"""The table of real models, docs/tables/models.txt: onnx_models.py TABLA-GEN FOLDER PAGE [MODEL...]

Each model is run by onnxruntime (by qonnx, where it has operators of that), on golden, and on the array of 8 x 8 PEs; those of RTL in the Verilog
as well. Fails where golden is further than 1e-4 from the reference, the array further than 1 % of the largest value, a class is another one, or the rungs
differ in a word. With names of models, prints their rows and leaves the page as it is.
"""

import json
import os
import subprocess
import sys

import numpy as np
from onnx_cases import digits, real_models, reference

GRID = ["--machine", "pus=8", "--machine", "pes_per_pu=8"]
GOLDEN, ARRAY = 1e-4, 0.01
# What the Verilog runs, too, and how many steps.
RTL = ["mnist_cnn"]
# Networks whose large pictures would take hours on the array: the same for a smaller one.
SMALLER = "_8x8"
WHERE = {"mnist_cnn": "qonnx", "espcn": "qonnx", "logreg": "onnxruntime", "digits": "skl2onnx", "iris": "skl2onnx"}
BEGIN, END = "<!-- models -->\n", "<!-- models end -->\n"


class Failure(Exception):
    pass


def command(program, *arguments):
    run = subprocess.run([program, *arguments, "--format", "json"], capture_output=True, text=True)
    if run.returncode:
        raise Failure(f"{' '.join(arguments)}: {run.stdout}{run.stderr}")
    return json.loads(run.stdout)


def values(document, name):
    return np.array(document["values"][name], np.float64)


def share(found, wanted):
    """The largest difference, of the largest value."""
    return np.abs(found - wanted).max() / max(np.abs(wanted).max(), 1e-30)


def row(program, folder, name, model, value):
    """A line of the table. What has classes are outputs of up to ten numbers per row."""
    path, inputs = f"{folder}/{name}.onnx", f"{folder}/{name}.npz"
    with open(path, "wb") as file:
        file.write(model.SerializeToString())
    np.savez(inputs, **{model.graph.input[0].name: value})
    given = [path, "--inputs", inputs]
    infos = model.graph.output
    wanted = [np.asarray(one, np.float64) for one in reference(model, value)]
    golden = command(program, "eval", *given)
    farthest = max(
        np.abs(values(golden, info.name) - one).max() / max(1, np.abs(one).max()) for info, one in zip(infos, wanted)
    )
    if farthest > GOLDEN:
        raise Failure(f"{name}: golden is {farthest:.1e} from the reference")
    for word in (16, 32):
        machine = [*GRID, "--machine", f"word={word}"]
        array = command(program, "eval", *given, "--engine", "array", *machine)
        # A class that the model itself names is one number; those are compared as classes.
        reals = [(info.name, one) for info, one in zip(infos, wanted) if one.ndim > 1]
        error = max(share(values(array, output), one) for output, one in reals)
        if error <= ARRAY:
            break
    else:
        raise Failure(f"{name}: the array is {100 * error:.2f} % of the largest value from the reference")
    output, scores = reals[-1]
    classes = "-"
    if scores.ndim == 2 and 1 < scores.shape[1] <= 10:
        same = (values(array, output).argmax(1) == scores.argmax(1)).sum()
        classes = f"{same} of {len(scores)}"
        if same != len(scores):
            raise Failure(f"{name}: {classes} classes are the same")
    measured = command(program, "sim", *given, "--engine", "array", *machine)
    if measured["words_differing"]:
        raise Failure(f"{name}: array and fixed point differ")
    rungs = "array"
    if name in RTL:
        verilog = command(program, "sim", *given, "--engine", "rtl", *machine)
        if verilog["words_differing"] or verilog["cycle_counts_differing"]:
            raise Failure(f"{name}: Verilog and array differ")
        rungs = f"array, Verilog ({verilog['words_compared']} words)"
    source = next(source for start, source in WHERE.items() if name.startswith(start))
    shape = " x ".join(map(str, value.shape))
    cycles, bound = measured["cycles_per_sample"], measured["bound"]
    cells = [name, source, shape, f"{farthest:.0e}", f"{word}", f"{100 * error:.3f} %", classes, f"{cycles:,.0f}", f"{cycles / bound:.2f}", rungs]
    return "| " + " | ".join(cells) + " |\n"


def tuned(program, folder):
    """The classifier of digits before and after three epochs on the array, by onnxruntime: what docs/models.md shows."""
    import onnx

    _, images, labels = digits()
    right = []
    for path in ("examples/digits_mlp.onnx", f"{folder}/tuned.onnx"):
        if path != "examples/digits_mlp.onnx":
            settings = 'prediction = "probabilities"\nloss = "cross_entropy"\nweights = "all"\nmu = 0.001\nstandardise = false\n'
            with open(f"{folder}/digits.toml", "w") as file:
                file.write(f"[train]\n{settings}")
            with open(f"{folder}/digits.onnx", "wb") as file, open("examples/digits_mlp.onnx", "rb") as old:
                file.write(old.read())
            saved = f"{folder}/tuned.json"
            command(program, "train", f"{folder}/digits.onnx", "--data", "examples/digits.csv", "--epochs", "3", "--save", saved)
            command(program, "weights", saved, "--onnx", f"{folder}/digits.onnx", "--to", path)
        outputs = reference(onnx.load(path), images)
        right.append(100 * (np.asarray(outputs[1]).argmax(1) == labels).mean())
    if right[1] <= right[0]:
        raise Failure(f"digits_mlp: {right[0]:.1f} % before, {right[1]:.1f} % after the training")
    return f"\nonnxruntime has {right[0]:.1f} % of the {len(labels)} digits of scikit-learn right with `digits_mlp`, {right[1]:.1f} % after three epochs on the array.\n"


def main():
    program, folder, page, *names = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    models = real_models()
    small = {name for name in models if name.endswith(SMALLER)}
    shown = [name for name in sorted(models) if f"{name}{SMALLER}" not in small]
    text = (
        "| model | from | input | golden - reference | word | array - reference | same class | cycles per step | of the bound | word for word |\n"
        "|---|---|---|---|---|---|---|---|---|---|\n"
    )
    failures = []
    for name in names or shown:
        try:
            line = row(program, folder, name, *models[name])
            print(line, end="", flush=True)
            text += line
        except Failure as failure:
            failures.append(str(failure))
            print(failure, flush=True)
    if names:
        return sys.exit(1 if failures else 0)
    text += tuned(program, folder)
    if failures:
        sys.exit("\n".join(failures))
    with open(page) as file:
        before, rest = file.read().split(BEGIN)
    with open(page, "w") as file:
        file.write(before + BEGIN + text + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
