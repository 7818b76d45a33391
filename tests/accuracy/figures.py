"""The golden figures of docs/tables/accuracy.txt, computed with NumPy: read, scale, train, judge.

Stdin: {"data": path, "program": name, "train": rows, "test": rows, "orders": one per epoch, "mu": rate, "weights": name to a matrix}
Stdout: [train loss, test loss, train score, test score]

Orders and initial weights come from the seed, so that they are given; everything else is done here, as its definition says.
"""

import json
import sys

import numpy as np

task = json.load(sys.stdin)
table = np.loadtxt(task["data"], delimiter=",", skiprows=1)
x, target = table[:, :-1], table[:, -1]
train, test = np.array(task["train"]), np.array(task["test"])


def scaled(values):
    """Mean 0 and deviation 1 on the training part; what is constant there becomes 0. And the deviation."""
    mean, deviation = values[train].mean(axis=0), values[train].std(axis=0)
    return np.divide(values - mean, deviation, out=np.zeros_like(values), where=deviation > 0), deviation


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


x = np.column_stack([np.ones(len(x)), scaled(x)[0]])


def linear_model(label, slope):
    """Weights after single steps: w -= mu * slope(w x, label) * x."""
    weights = np.zeros(x.shape[1])
    for order in task["orders"]:
        for row in train[np.array(order)]:
            weights -= task["mu"] * slope(weights @ x[row], label[row]) * x[row]
    return x @ weights


def network():
    """Predictions of layers of sigmoids, a bias before each; a cross entropy per class against one-hot labels."""
    layers = [np.array(task["weights"][name]) for name in sorted(task["weights"])]

    def forward(sample):
        values = [sample]
        for number, layer in enumerate(layers):
            z = sigmoid(layer[1:] @ values[-1])
            values.append(z if number == len(layers) - 1 else np.concatenate([[1.0], z]))
        return values

    labels = np.eye(10)[target.astype(int)]
    for order in task["orders"]:
        for row in train[np.array(order)]:
            values = forward(x[row])
            delta = values[-1] - labels[row]
            for number in reversed(range(len(layers))):
                before = values[number]
                step = np.outer(delta, before)
                if number > 0:
                    delta = (layers[number][1:].T @ delta * before * (1 - before))[1:]
                layers[number][1:] -= task["mu"] * step
    return np.array([forward(sample)[-1] for sample in x]), labels


def figures(loss, score):
    return [float(of(rows)) for of in (loss, score) for rows in (train, test)]


if task["program"] == "logistic":
    h = sigmoid(linear_model(target, lambda z, y: sigmoid(z) - y))
    result = figures(
        lambda rows: -np.mean(np.where(target[rows] == 1, np.log(h[rows]), np.log(1 - h[rows]))),
        lambda rows: np.mean((h[rows] > 0.5) == (target[rows] == 1)),
    )
elif task["program"] == "svm":
    label = np.where(target == 1, 1.0, -1.0)
    h = linear_model(label, lambda z, y: -y if y * z < 1 else 0.0)
    result = figures(lambda rows: np.mean(np.maximum(0, 1 - label[rows] * h[rows])), lambda rows: np.mean((h[rows] > 0) == (label[rows] > 0)))
elif task["program"] == "linear":
    label, unit = scaled(target)
    h = linear_model(label, lambda z, y: z - y) * unit
    residual = lambda rows: np.mean((h[rows] - label[rows] * unit) ** 2)
    result = figures(residual, lambda rows: 1 - residual(rows) / target[rows].var())
else:
    h, labels = network()
    result = figures(
        lambda rows: -np.mean(np.sum(np.log(np.where(labels[rows] == 1, h[rows], 1 - h[rows])), axis=1)),
        lambda rows: np.mean(h[rows].argmax(axis=1) == target[rows]),
    )
print(json.dumps(result))
