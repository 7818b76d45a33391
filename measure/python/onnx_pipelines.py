"""Pipelines of scikit-learn in words of 16 bits beside onnxruntime, docs/tables/pipelines.txt: onnx_pipelines.py TABLA-GEN FOLDER PAGE [WORD...]

Of each: rows with another class, the largest error of a probability, and the width that suffices where 16 bits do not. With words of names, prints the
pipelines whose names have one, and leaves the page as it is.
"""

import os
import sys
import warnings

import numpy as np
from onnx_cases import reference
from onnx_models import command, values
from skl2onnx import to_onnx
from sklearn import datasets
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

warnings.filterwarnings("ignore")

MARK = "<!-- tables -->\n"
DATA = ["breast_cancer", "wine", "digits", "iris"]
PIPELINES = {
    "StandardScaler, LogisticRegression": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    "StandardScaler, MLPClassifier": lambda: make_pipeline(StandardScaler(), MLPClassifier((32,), max_iter=500, random_state=0)),
    "LinearDiscriminantAnalysis": LinearDiscriminantAnalysis,
    "StandardScaler, SGDClassifier": lambda: make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss", random_state=0)),
    "GaussianNB": GaussianNB,
}  # fmt: skip


def cell(program, folder, name, data):
    """What the table says of a pipeline."""
    rows, labels = getattr(datasets, f"load_{data}")(return_X_y=True)
    rows = rows.astype(np.float32)
    fitted = PIPELINES[name]().fit(rows, labels)
    model = to_onnx(fitted, rows[:1], options={"zipmap": False})
    path = f"{folder}/{name.split()[-1]}_{data}"
    with open(f"{path}.onnx", "wb") as file:
        file.write(model.SerializeToString())
    np.savez(f"{path}.npz", **{model.graph.input[0].name: rows})
    found = command(program, "eval", f"{path}.onnx", "--inputs", f"{path}.npz", "--engine", "fixed", "--machine", "word=16")
    label, probabilities = [(info.name, np.asarray(one, np.float64)) for info, one in zip(model.graph.output, reference(model, rows))]
    other = (values(found, label[0]).ravel() != label[1].ravel()).mean()
    error = np.abs(values(found, probabilities[0]) - probabilities[1]).max()
    verdict = found["verdict"]
    text = f"{100 * other:.2g} %" if other else "0"
    text += f", {error:.1g}" if error >= 0.1 else f", {error:.2g}"
    if not verdict["suffices"]:
        bits = verdict.get("bits_needed")
        text += f" ({bits} bits)" if bits else " (no width)"
    return text


def main():
    program, folder, page, *words = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    text = f"\n| | {' | '.join(data.replace('_', ' ') for data in DATA)} |\n|{'---|' * (len(DATA) + 1)}\n"
    for name in PIPELINES:
        if all(word not in name for word in words) and words:
            continue
        line = f"| {name} | {' | '.join(cell(program, folder, name, data) for data in DATA)} |\n"
        print(line, end="", flush=True)
        text += line
    if words:
        return
    with open(page) as file:
        before, _ = file.read().split(MARK)
    with open(page, "w") as file:
        file.write(before + MARK + text)


if __name__ == "__main__":
    main()
