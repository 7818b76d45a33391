"""The tables of docs/tables/python.txt: cross-validation and fitting beside scikit-learn's own models, and what Python adds to a training's time.

scripts/python --table runs it; --write puts the tables into the page.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time
import warnings

import numpy as np
from sklearn import datasets
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier, SGDRegressor
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from tabla_gen import Program, TablaClassifier, TablaRegressor

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "tables" / "python.txt"
CLASSES = {
    "wine": datasets.load_wine,
    "iris": datasets.load_iris,
    "digits": datasets.load_digits,
    "breast cancer": datasets.load_breast_cancer,
}
NUMBERS = {"diabetes": datasets.load_diabetes}


def models(numbers):
    """Name, our model, scikit-learn's model of the same kind."""
    if numbers:
        return [
            ("linear", TablaRegressor(random_state=0), Ridge(alpha=0.04)),
            ("linear, SGD", TablaRegressor(random_state=0), SGDRegressor(random_state=0)),
            (
                "network, 16 hidden units",
                TablaRegressor(hidden_layer_sizes=(16,), alpha=1e-2, max_iter=50, random_state=0),
                MLPRegressor(hidden_layer_sizes=(16,), alpha=1e-2, max_iter=2000, random_state=0),
            ),
        ]
    return [
        ("logistic", TablaClassifier(random_state=0), LogisticRegression(C=10, max_iter=5000)),
        ("logistic, SGD", TablaClassifier(random_state=0), SGDClassifier("log_loss", random_state=0)),
        ("support vectors", TablaClassifier(loss="hinge", random_state=0), LinearSVC(random_state=0)),
        (
            "network, 32 hidden units",
            TablaClassifier(hidden_layer_sizes=(32,), max_iter=30, random_state=0),
            MLPClassifier((32,), max_iter=2000, random_state=0),
        ),
    ]


def validated(model, data, folds):
    X, y = data
    return cross_val_score(model, X, y, cv=folds)


def accuracy():
    """Lines of the table: mean and deviation over five folds."""
    lines = ["| data | model | tabla-gen | scikit-learn |", "|---|---|---|---|"]
    for numbers, sets in ((False, CLASSES), (True, NUMBERS)):
        for name, load in sets.items():
            data = load(return_X_y=True)
            kind = KFold if numbers else StratifiedKFold
            folds = kind(5, shuffle=True, random_state=0)
            for title, ours, theirs in models(numbers):
                cells = []
                for model in (ours, make_pipeline(StandardScaler(), theirs)):
                    score = validated(model, data, folds)
                    scale, unit = (1, "") if numbers else (100, " %")
                    digits = 3 if numbers else 1
                    cells.append(f"{scale * score.mean():.{digits}f} ± {scale * score.std():.{digits}f}{unit}")
                measure = "R², " if numbers else ""
                lines.append(f"| {name} | {measure}{title} | {cells[0]} | {cells[1]} |")
                print(lines[-1], file=sys.stderr, flush=True)
    return lines


class Measured:
    """Seconds of some work, in wall-clock and in processor time of this process and of those that it ran."""

    def __enter__(self):
        self.begin = os.times(), time.perf_counter()
        return self

    def __exit__(self, *_):
        (before, begin), now = self.begin, os.times()
        self.wall = time.perf_counter() - begin
        # User, system, and the same of children.
        self.processor = sum(now[:4]) - sum(before[:4])


def overhead(binary, repeats):
    """Lines of the table: the same training by the command line and by Python, in turns; medians."""
    lines = [
        "| training | command line | Python | Python / command line | in processor time |",
        "|---|---|---|---|---|",
    ]
    cases = [
        ("logistic regression, breast cancer, array", "logistic", "breast_cancer", "array", 400),
        ("network, digits, golden", "backpropagation", "digits", "golden", 80),
    ]
    for title, program, data, engine, epochs in cases:
        path = ROOT / "examples" / f"{data}.csv"
        table = np.genfromtxt(path, delimiter=",", skip_header=1)
        X, y = table[:, :-1], table[:, -1].astype(int)
        text = ROOT / "programs" / f"{program}.t"
        ours = Program.from_file(text)
        command = [binary, "train", text, "--data", path, "--quiet", "--engine", engine, "--epochs", str(epochs), "--format", "json"]
        by_command, by_python = [], []
        # In turns, so that both see the same load.
        for _ in range(repeats):
            with Measured() as one:
                said = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
            with Measured() as other:
                model = ours.train(X, y, engine=engine, epochs=epochs, progress=False)
            by_command.append(one)
            by_python.append(other)
            # It is the same work.
            assert json.loads(said)["train"] == model.results["train"], title
        middle = lambda runs, kind: statistics.median(getattr(run, kind) for run in runs)
        one, other = middle(by_command, "wall"), middle(by_python, "wall")
        processor = middle(by_python, "processor") / middle(by_command, "processor")
        lines.append(f"| {title}, {epochs} epochs | {one:.2f} s | {other:.2f} s | {other / one:.3f} | {processor:.3f} |")
        print(lines[-1], file=sys.stderr, flush=True)
    return lines


def fit(repeats):
    """Lines of the table: processor time of fitting linear models by gradient descent, of as many epochs; the least of several."""
    lines = ["| data | epochs | scikit-learn | tabla-gen, golden | times |", "|---|---|---|---|---|"]

    def least(make, X, y):
        costs = []
        for _ in range(4 * repeats):
            begin = time.process_time()
            make().fit(X, y)
            costs.append(time.process_time() - begin)
        return 1e3 * min(costs)

    for name in ["breast cancer", "wine", "diabetes"]:
        X, y = (CLASSES | NUMBERS)[name](return_X_y=True)
        X = StandardScaler().fit_transform(X)
        ours, theirs = (TablaRegressor, SGDRegressor) if name in NUMBERS else (TablaClassifier, SGDClassifier)
        settings = {} if name in NUMBERS else {"loss": "log_loss"}
        for epochs in [1, 20, 400]:
            one = least(lambda: theirs(max_iter=epochs, tol=None, random_state=0, **settings), X, y)
            other = least(lambda: ours(max_iter=epochs, random_state=0), X, y)
            lines.append(f"| {name} | {epochs} | {one:.2f} ms | {other:.1f} ms | {other / one:.0f} |")
            print(lines[-1], file=sys.stderr, flush=True)
    return lines


def put(page, name, lines):
    """The page with these lines between the marks of a table."""
    marks = f"<!-- table {name} -->", f"<!-- end {name} -->"
    pattern = re.compile(f"{re.escape(marks[0])}.*?{re.escape(marks[1])}", re.DOTALL)
    assert pattern.search(page), f"{PAGE} has no {marks[0]}"
    return pattern.sub("\n".join([marks[0], "", *lines, "", marks[1]]), page)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the page")
    parser.add_argument("--binary", help="the command line, compiled as the module: also measure what Python adds")
    parser.add_argument("--repeats", type=int, default=5, help="runs of each, of which the median counts")
    parser.add_argument("--only", choices=["accuracy", "overhead", "fit"])
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    tables = {}
    wanted = lambda name: arguments.only in (None, name)
    if wanted("accuracy"):
        tables["accuracy"] = accuracy()
    if arguments.binary and wanted("overhead"):
        tables["overhead"] = overhead(arguments.binary, arguments.repeats)
    if wanted("fit"):
        tables["fit"] = fit(arguments.repeats)
    if arguments.write:
        page = PAGE.read_text()
        for name, lines in tables.items():
            page = put(page, name, lines)
        PAGE.write_text(page)
    for lines in tables.values():
        print("\n".join(lines), end="\n\n")


if __name__ == "__main__":
    main()
