"""Programs of the estimators: linear models and networks of any depth, in TABLA, with derived gradients.

>>> print(network(Network(features=3, outputs=1, loss="squared", alpha=0.1)))
mu = 0.01;
n0 = 3;
model_input x[n0];
model_output y;
model_output s;             // weight of the sample
model w1[n0], b1;
iterator i0[0:n0];
<BLANKLINE>
h = sum[i0](w1[i0] * x[i0]) + b1;
minimize s * squared(h, y) + 0.05 * norm[i0](w1[i0]);
<BLANKLINE>
"""

from __future__ import annotations

from dataclasses import dataclass

ACTIVATIONS = {
    "identity": "{0}",
    "logistic": "sigmoid({0})",
    "relu": "({0} > 0) * {0}",
    "silu": "silu({0})",
    "tanh": "sigmoid_symmetric({0} + {0})",
}
"""What a hidden unit makes of its sum."""

_LINKED = {"logistic": "logistic", "one_hot": "one_hot"}


@dataclass(frozen=True)
class Network:
    """A network: `features` inputs, hidden layers, `outputs` scores `h`."""

    features: int
    outputs: int
    loss: str
    hidden: tuple[int, ...] = ()
    activation: str = "relu"
    alpha: float = 0.0

    @property
    def prediction(self) -> str:
        """What the loss judges: the scores, or probabilities made of them."""
        return "p" if self.loss in _LINKED else "h"


def network(net: Network) -> str:
    """The text of a network."""
    # A single output is a scalar: it needs no index.
    scalar = net.outputs == 1
    sizes = [net.features, *net.hidden] + ([] if scalar else [net.outputs])
    last = len(net.hidden) + 1
    index = [f"i{layer}" for layer in range(len(sizes))]

    def extents(*layers: int) -> str:
        return "".join(f"[n{layer}]" for layer in layers if layer < len(sizes))

    def at(*layers: int) -> str:
        return "".join(f"[{index[layer]}]" for layer in layers if layer < len(sizes))

    weights = [f"w{n}{extents(n, n - 1)}, b{n}{extents(n)}" for n in range(1, last + 1)]
    lines = ["mu = 0.01;", *(f"n{layer} = {size};" for layer, size in enumerate(sizes))]
    lines += [f"model_input x{extents(0)};", f"model_output y{extents(last)};"]
    lines += ["model_output s;             // weight of the sample", f"model {', '.join(weights)};"]
    lines += [f"iterator i{layer}[0:n{layer}];" for layer in range(len(sizes))] + [""]
    values = f"x{at(0)}"
    for n in range(1, last):
        below = index[n - 1]
        lines.append(f"z{n}{at(n)} = sum[{below}](w{n}{at(n, n - 1)} * {values}) + b{n}{at(n)};")
        lines.append(f"a{n}{at(n)} = {ACTIVATIONS[net.activation].format(f'z{n}{at(n)}')};")
        values = f"a{n}{at(n)}"
    lines.append(f"h{at(last)} = sum[{index[last - 1]}](w{last}{at(last, last - 1)} * {values}) + b{last}{at(last)};")
    if net.prediction == "p":
        lines.append(f"p{at(last)} = sigmoid(h{at(last)});")
    penalties = []
    for n in range(1, last + 1):
        norm = f"norm[{index[n - 1]}](w{n}{at(n, n - 1)})"
        penalties.append(f"sum[{index[n]}]({norm})" if n < len(sizes) else norm)
    penalty = f" + {net.alpha / 2!r} * {_summed(penalties)}" if net.alpha > 0 else ""
    lines.append(f"minimize s * {net.loss}({net.prediction}, y){penalty};")
    return "\n".join(lines) + "\n"


def _summed(terms: list[str]) -> str:
    return terms[0] if len(terms) == 1 else f"({' + '.join(terms)})"
