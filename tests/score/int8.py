"""digits_int8.tflite, a network of two layers in integers of 8 bits with real numbers outside, and the score of it that tests/score.rs expects.

    cargo measure tflite        # with LiteRT; other files, too

It is trained by NumPy on the even rows of examples/digits.csv, and quantised by the largest values there. The score is LiteRT's on all rows.
"""

import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "measure/python"))
from tflite_file import File, litert  # noqa: E402

HIDDEN, CLASSES = 12, 10


def trained(x, y):
    """Weights and biases of two layers, by gradient descent with momentum on the cross-entropy."""
    rng = np.random.default_rng(0)
    layers = [rng.normal(0, 0.2, (x.shape[1], HIDDEN)), np.zeros(HIDDEN), rng.normal(0, 0.2, (HIDDEN, CLASSES)), np.zeros(CLASSES)]
    speeds = [np.zeros_like(layer) for layer in layers]
    wanted = np.eye(CLASSES)[y]
    for _ in range(1500):
        w, b, v, c = layers
        h = np.maximum(x @ w + b, 0)
        scores = np.exp(h @ v + c - (h @ v + c).max(axis=1, keepdims=True))
        d = (scores / scores.sum(axis=1, keepdims=True) - wanted) / len(x)
        back = (d @ v.T) * (h > 0)
        for layer, speed, slope in zip(layers, speeds, [x.T @ back, back.sum(axis=0), h.T @ d, d.sum(axis=0)]):
            speed += -0.1 * speed - 0.1 * slope
            layer += speed
    return layers


def scale_of(values):
    """Scale and zero of integers from -128 to 127 for these values, 0 among them."""
    low, high = min(values.min(), 0), max(values.max(), 0)
    scale = float(np.float32((high - low) / 255))
    return scale, int(round(-128 - low / scale))


def layer(model, x, x_scale, weights, bias, out, activation):
    """A layer in integers; each of its results has a scale of its own for its weights."""
    scales = np.abs(weights).max(axis=0) / 127
    w = model.constant(np.round(weights / scales).T.astype(np.int8), scales)
    b = model.constant(np.round(bias / (scales * x_scale)).astype(np.int32), scales * x_scale)
    y = model.result([1, len(bias)], np.int8, *out)
    model.operator("FULLY_CONNECTED", [x, w, b], [y], "FullyConnected", fusedActivationFunction=activation)
    return y


def main():
    table = np.loadtxt(ROOT / "examples/digits.csv", delimiter=",", skiprows=1)
    pixels, y = table[:, :-1], table[:, -1].astype(int)
    w, b, v, c = trained(pixels[::2] / 16, y[::2])
    w = w / 16
    hidden = np.maximum(pixels[::2] @ w + b, 0)
    scales = [scale_of(pixels[::2]), scale_of(hidden), scale_of(hidden @ v + c)]
    model = File()
    x = model.input([1, 64], np.float32, name="pixels")
    q = model.result([1, 64], np.int8, *scales[0])
    model.operator("QUANTIZE", [x], [q], "Quantize")
    h = layer(model, q, scales[0][0], w, b, scales[1], 1)
    s = layer(model, h, scales[1][0], v, c, scales[2], 0)
    scores = model.result([1, CLASSES], np.float32)
    model.operator("DEQUANTIZE", [s], [scores], "Dequantize")
    file = model.bytes([scores])
    (HERE / "digits_int8.tflite").write_bytes(file)
    found = [litert(file, [row.reshape(1, -1).astype(np.float32)])[0].argmax() for row in pixels]
    print(len(file), "bytes;", int((np.array(found) == y).sum()), "of", len(y), "rows")


main()
