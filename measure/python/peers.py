"""Train the cases of `bench --system` on one core of this computer, and print the second table of docs/system.md.

    peers.py FOLDER PEERS

FOLDER is what `bench --system --samples FOLDER` wrote, PEERS the compiled peers.c. C and NumPy take the same steps: their weights after one
epoch are compared. scikit-learn and PyTorch get the same model, step size, batch and samples.
"""

import os

# Before NumPy is imported.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import json
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np

SECONDS = 2.0


def sigmoid(value):
    return 1 / (1 + np.exp(-value))


# ---- NumPy: each returns the gradients of some samples, summed ------------------------------------------------------------------


def linear(w, x, y):
    return [(x @ w[0] - y[:, 0]) @ x]


def logistic(w, x, y):
    return [(sigmoid(x @ w[0]) - y[:, 0]) @ x]


def backpropagation(w, x, y):
    w12, w23 = w
    a2 = sigmoid(x @ w12.T)
    a2[:, 0] = 1
    d3 = sigmoid(a2 @ w23.T) - y
    d3[:, 0] = 0
    d2 = (d3 @ w23) * a2 * (1 - a2)
    return [d2.T @ x, d3.T @ a2]


def recommender(w, x1, x2, r1, y1, r2, y2):
    d1 = (x2 @ w[0].T) * r1 - y1
    d2 = (x1 @ w[1].T) * r2 - y2
    return [d1.T @ x2, d2.T @ x1]


def numpy_epoch(gradient, weights, fields, mu, batch):
    for n in range(0, len(fields[0]) - batch + 1, batch):
        for w, g in zip(weights, gradient(weights, *(field[n : n + batch] for field in fields))):
            w -= mu / batch * g


def rate(count, epoch):
    """Samples per second of `epoch`, which takes `count` samples; the first one does not count."""
    epoch()
    begin, epochs = time.process_time(), 0
    while epochs == 0 or time.process_time() - begin < SECONDS:
        epoch()
        epochs += 1
    return epochs * count / (time.process_time() - begin)


# ---- C, scikit-learn, PyTorch ------------------------------------------------------------------------------------------------------


def run_c(program, task, data, batch, extents):
    arguments = [program, Path(task["program"]).stem, task["mu"], batch, task["samples"], SECONDS, *extents]
    done = subprocess.run([str(a) for a in arguments], input=data.tobytes(), capture_output=True, check=True)
    return float(done.stderr), np.frombuffer(done.stdout, np.float32)


def run_sklearn(kind, fields, mu, batch, epochs=3):
    from sklearn.linear_model import SGDClassifier, SGDRegressor
    from sklearn.neural_network import MLPClassifier

    common = dict(shuffle=False, tol=None, max_iter=epochs)
    simple = dict(penalty=None, learning_rate="constant", eta0=mu, fit_intercept=False, **common)
    if kind == "linear" and batch == 1:
        model, x, y = SGDRegressor(**simple), fields[0], fields[1][:, 0]
    elif kind == "logistic" and batch == 1:
        model, x, y = SGDClassifier(loss="log_loss", **simple), fields[0], fields[1][:, 0]
    elif kind == "backpropagation":
        # The bias is its own.
        x, y = fields[0][:, 1:], fields[1].argmax(axis=1)
        common.update(tol=0.0, n_iter_no_change=epochs + 1)
        model = MLPClassifier((128,), activation="logistic", solver="sgd", alpha=0, batch_size=batch, learning_rate_init=mu, momentum=0, **common)
    else:
        return None
    return rate(epochs * (len(x) // batch * batch), lambda: model.fit(x, y))


def run_torch(kind, fields, weights, mu, batch):
    import torch

    torch.set_num_threads(1)
    fields = [torch.from_numpy(field.copy()) for field in fields]
    weights = [torch.nn.Parameter(torch.from_numpy(w.copy())) for w in weights]
    optimiser = torch.optim.SGD(weights, lr=mu)

    def loss(x, y, *more):
        if kind == "linear":
            return ((x @ weights[0] - y[:, 0]) ** 2).sum() / 2
        if kind == "logistic":
            return torch.nn.functional.binary_cross_entropy_with_logits(x @ weights[0], y[:, 0], reduction="sum")
        if kind == "backpropagation":
            return ((torch.sigmoid(torch.sigmoid(x @ weights[0].T) @ weights[1].T) - y) ** 2).sum() / 2
        r1, y1, r2, y2 = more
        return ((y @ weights[0].T * r1 - y1) ** 2).sum() / 2 + ((x @ weights[1].T * r2 - y2) ** 2).sum() / 2

    def epoch():
        for n in range(0, len(fields[0]) - batch + 1, batch):
            optimiser.zero_grad()
            (loss(*(field[n : n + batch] for field in fields)) / batch).backward()
            optimiser.step()

    return rate(len(fields[0]) // batch * batch, epoch)


# ---- the table ---------------------------------------------------------------------------------------------------------------------


def seconds(value):
    return f"{value:.2f} s" if value >= 1 else f"{1e3 * value:.2f} ms"


def measure(task, batch, data, program):
    """Name and samples per second of each."""
    kind = Path(task["program"]).stem
    shapes = [shape for _, shape in task["weights"]]
    sizes = [int(np.prod(shape)) for shape in shapes]
    cuts = np.cumsum(sizes)
    parts = np.split(data[: cuts[-1]], cuts[:-1])
    weights = [part.reshape(shape).copy() for part, shape in zip(parts, shapes)]
    rows = data[cuts[-1] :].reshape(task["samples"], -1)
    fields = np.split(rows, np.cumsum([elements for _, elements in task["fields"]])[:-1], axis=1)
    fields = [np.ascontiguousarray(field) for field in fields]
    extents = {
        "backpropagation": lambda: [shapes[0][1], shapes[0][0], shapes[1][0]],
        "recommender": lambda: [shapes[0][0], shapes[1][0], shapes[0][1]],
    }.get(kind, lambda: shapes[0])()
    count = task["samples"] // batch * batch

    in_c, after = run_c(program, task, data, batch, extents)
    gradient, trained = globals()[kind], [w.copy() for w in weights]
    numpy_epoch(gradient, trained, fields, task["mu"], batch)
    apart = np.abs(np.concatenate([w.ravel() for w in trained]) - after).max()
    assert apart < 1e-3, f"{task['name']}: C and NumPy are {apart} apart"
    return [
        ("C", in_c),
        ("NumPy", rate(count, lambda: numpy_epoch(gradient, trained, fields, task["mu"], batch))),
        ("scikit-learn", run_sklearn(kind, fields, task["mu"], batch)),
        ("PyTorch", run_torch(kind, fields, weights, task["mu"], batch)),
    ]


def main():
    folder, program = Path(sys.argv[1]), Path(sys.argv[2]).resolve()
    warnings.simplefilter("ignore")
    measured = {}
    for row in json.loads((folder / "rows.json").read_text())["systems"]:
        key = (row["case"], row["batch"])
        if row["epochs"] == 20 and (key not in measured or row["golden_epochs_to_target"]):
            measured[key] = row["golden_epochs_to_target"]
    print("| case | batch | on one core | samples per second | 20 epochs | to the target |")
    print("|---|---|---|---|---|---|")
    for (case, batch), epochs in measured.items():
        task = json.loads((folder / f"{case}.json").read_text())
        data = np.fromfile(folder / f"{case}.f32", np.float32)
        for name, per_second in measure(task, batch, data, program):
            if per_second is None:
                print(f"| {case} | {batch} | {name} | does not have it | | |")
                continue
            one = task["samples"] // batch * batch / per_second
            target = f"{seconds(epochs * one)} (epoch {epochs})" if epochs else "no board holds it"
            print(f"| {case} | {batch} | {name} | {per_second:,.0f} | {seconds(20 * one)} | {target} |", flush=True)


if __name__ == "__main__":
    main()
