"""Derived gradients beside PyTorch's: gradients.py TABLA-GEN RANDOM-PROGRAMS PAGE

Each case is a program, values for all that it reads, and the same computation in PyTorch. `tabla-gen eval` gives what is minimised and its
gradients on the golden engine; both have to be autograd's to 1e-9 of the largest element.
"""

import json
import math
import os
import subprocess
import sys
import tempfile

import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
MOST = 1e-9

# What the programs minimise, and with what the lines begin that have their gradients.
OBJECTIVES = {
    "linear": ("squared(h, y)", ["gradient", "d =", "g["]),
    "logistic": ("logistic(h, y)", ["gradient", "d =", "g["]),
    "svm": ("hinge(h, y)", ["gradient", "c =", "g["]),
    "svm_published": ("(c > 1) * (1 - c)", ["gradient", "g["]),
    "softmax": ("cross_entropy(p, y)", ["gradient", "d[", "g["]),
    "recommender": ("squared(h1, y1) + squared(h2, y2)", ["gradient", "d1[", "d2[", "g1[", "g2["]),
    "backpropagation": ("one_hot(h, y)", ["gradient", "d3[", "d2[", "g12[", "g23["]),
    "backpropagation4": ("one_hot(h, y)", ["gradient", "d4[", "d3[", "d2[", "g12[", "g23[", "g34["]),
}
# The gradient that a program writes for a weight.
WRITTEN = {"w": "g", "w1": "g1", "w2": "g2", "w12": "g12", "w23": "g23", "w34": "g34"}


def squared(h, y):
    return ((h - y) ** 2).sum() / 2


def layer(w, x):
    """Units from number 1 on; number 0 is the bias."""
    return torch.cat([torch.ones(1), torch.sigmoid(w[1:] @ x)])


def network(v, weights):
    *hidden, last = [v[name] for name in weights]
    x = v["x"]
    for w in hidden:
        x = layer(w, x)
    return F.binary_cross_entropy_with_logits(last[1:] @ x, v["y"][1:], reduction="sum")


def published(v):
    c = v["y"] * (v["w"] @ v["x"])
    return (c > 1) * (1 - c)


# What each program minimises, as PyTorch has it.
MODELS = {
    "linear": lambda v: squared(v["w"] @ v["x"], v["y"]),
    "logistic": lambda v: F.binary_cross_entropy_with_logits(v["w"] @ v["x"], v["y"]),
    "svm": lambda v: F.relu(1 - v["y"] * (v["w"] @ v["x"])),
    "svm_published": published,
    "softmax": lambda v: -(v["y"] * F.log_softmax(v["w"] @ v["x"], 0)).sum(),
    "recommender": lambda v: squared((v["w1"] @ v["x2"]) * v["r1"], v["y1"]) + squared((v["w2"] @ v["x1"]) * v["r2"], v["y2"]),
    "backpropagation": lambda v: network(v, ["w12", "w23"]),
    "backpropagation4": lambda v: network(v, ["w12", "w23", "w34"]),
}


class Tool:
    def __init__(self, path, folder):
        self.path, self.folder = os.path.abspath(path), folder

    def eval(self, name, text, settings, values, sets=()):
        """Values by name."""
        stem, ending = name.rsplit(".", 1)
        program, inputs = f"{self.folder}/{name}", f"{self.folder}/in.json"
        with open(program, "w") as file:
            file.write(text)
        with open(f"{self.folder}/{stem}.toml", "w") as file:
            file.write(settings)
        with open(inputs, "w") as file:
            json.dump({key: value.tolist() for key, value in values.items()}, file)
        command = [self.path, "eval", program, "--inputs", inputs, "--format", "json", "--quiet"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{name}: {done.stdout}{done.stderr}\n{text}")
        found = json.loads(done.stdout)["values"]
        return {key: torch.tensor(numbers(value)) for key, value in found.items()}


def numbers(value):
    """An element that has no value is a gradient of 0: the weight stays."""
    if isinstance(value, list):
        return [numbers(inner) for inner in value]
    return 0.0 if value is None else float(value)


class Report:
    def __init__(self):
        self.rows, self.wrong = [], []

    def compare(self, name, loss, weights, values, found, names, value=None):
        """`names` has what the tool calls the gradient of each weight, `value` what it calls the loss."""
        given = {key: v.clone().requires_grad_(key in weights) for key, v in values.items()}
        wanted = loss(given)
        gradients = torch.autograd.grad(wanted, [given[weight] for weight in weights], allow_unused=True)
        pairs = [(torch.zeros_like(given[w]) if g is None else g, found[names[w]]) for w, g in zip(weights, gradients)]
        if value:
            pairs.append((wanted.detach(), found[value]))
        # NaN is the largest error of all, which `max` does not know.
        errors = [((a - b).abs().max() / a.abs().max().clamp(min=1)).item() for a, b in pairs]
        error = next((error for error in errors if math.isnan(error)), max(errors))
        count = sum(a.numel() for a, _ in pairs)
        if not error <= MOST:
            self.wrong.append(f"{name}: {error}")
        return count, error


def uniform(shape, low=-0.5, high=0.5):
    return torch.rand(shape) * (high - low) + low


def shapes(text, kinds):
    """Names and extents of what a TABLA program declares."""
    constants, found = {}, {}
    for line in text.splitlines():
        line = line.split("//")[0].strip().rstrip(";")
        first = line.split(" ", 1)[0]
        if first in kinds:
            for variable in line.split(" ", 1)[1].split(","):
                name, *extents = variable.replace("]", "").strip().split("[")
                found[name] = [int(constants.get(extent, extent)) for extent in extents]
        elif "=" in line and "[" not in line:
            name, value = line.split("=")
            constants[name.strip()] = value.strip()
    return found


def values_of(name, text):
    values = {key: uniform(shape) for key, shape in shapes(text, ("model_input", "model_output", "model")).items()}
    if name in ("svm", "svm_published"):
        values["y"] = torch.tensor(1.0 if torch.rand(()) < 0.5 else -1.0)
        values["w"] *= 4  # both sides of the margin
    elif name == "logistic":
        values["y"] = torch.tensor(float(torch.rand(()) < 0.5))
    elif name == "recommender":
        for mask, rating in (("r1", "y1"), ("r2", "y2")):
            values[mask] = (values[mask] > -0.25).double()
            values[rating] *= values[mask]
    elif name in ("softmax", "backpropagation", "backpropagation4"):
        values["y"] = torch.zeros_like(values["y"])
        values["y"][torch.randint(1, len(values["y"]), ())] = 1.0
    return values


def programs(tool, report, times=5):
    for name, (objective, dropped) in OBJECTIVES.items():
        text = open(f"programs/{name}.t").read()
        lines = [line for line in text.splitlines() if not line.startswith(tuple(dropped))]
        derived = "\n".join(lines) + f"\nminimize {objective};\n"
        weights = [weight for weight in WRITTEN if weight in shapes(text, ("model",))]
        for kind, source in (("written", text), ("derived", derived)):
            count = error = 0
            for _ in range(times):
                values = values_of(name, text)
                found = tool.eval(f"{name}.t", source, "", values)
                names = {w: WRITTEN[w] if kind == "written" else f"{w}.gradient" for w in weights}
                value = None if kind == "written" else "minimize"
                more, worse = report.compare(f"{name}, {kind}", MODELS[name], weights, values, found, names, value)
                count, error = count + more, max(error, worse)
            report.rows.append((f"{name}.t, {kind}", times, count, error))


# Functions of TABLA, as PyTorch has them.
UNARY = {
    "sigmoid": torch.sigmoid,
    "sigmoid_symmetric": lambda x: torch.tanh(x / 2),
    "gaussian": lambda x: torch.exp(-x * x / 2) / math.sqrt(2 * math.pi),
    "exp": lambda x: torch.exp(x),
}  # fmt: skip


class Random:
    """A random program in TABLA, and the same as functions of PyTorch."""

    def __init__(self):
        self.lines, self.steps, self.values, self.count = [], [], {}, 0
        self.extents = [3, 4, 6]
        self.size = self.pick(3)
        self.last = self.vector()

    def pick(self, below):
        return int(torch.randint(below, ()))

    def name(self, letter):
        self.count += 1
        return f"{letter}{self.count}"

    def vector(self):
        name = self.name("w")
        self.values[name] = uniform([self.extents[self.size]], -0.8, 0.8)
        return name

    def expression(self, depth):
        """Text of an expression of the iterator, and its value as a function of all values by name."""
        i = f"i{self.size}"
        if depth == 0:
            if self.pick(4) == 0:
                number = round(float(uniform([], 0.1, 1.5)), 3)
                return f"{number}", lambda v: torch.tensor(number)
            other = self.last if self.pick(2) else self.vector()
            return f"{other}[{i}]", lambda v: v[other]
        kind = self.pick(5)
        (a, value_a), (b, value_b) = self.expression(depth - 1), self.expression(depth - 1)
        if kind == 0:
            function = list(UNARY)[self.pick(len(UNARY))]
            # Exponents stay small.
            return f"{function}(sigmoid({a}))", lambda v: UNARY[function](torch.sigmoid(value_a(v)))
        if kind == 1:
            return f"(({a} < {b}) * ({a} * {b}))", lambda v: (value_a(v) < value_b(v)) * (value_a(v) * value_b(v))
        if kind == 2:
            return f"({a} * {b})", lambda v: value_a(v) * value_b(v)
        if kind == 3:
            return f"({a} - {b})", lambda v: value_a(v) - value_b(v)
        return f"({a} * {b} + {a})", lambda v: value_a(v) * value_b(v) + value_a(v)

    def statement(self):
        new, old, size = self.name("t"), self.last, self.size
        kind = self.pick(4)
        if kind == 0:
            self.size, matrix = self.pick(3), self.name("w")
            self.values[matrix] = uniform([self.extents[self.size], self.extents[size]], -0.8, 0.8)
            self.lines.append(f"{new}[i{self.size}] = sum[j{size}]({matrix}[i{self.size}][j{size}] * {old}[j{size}]);")
            self.steps.append((new, lambda v: v[matrix] @ v[old]))
        elif kind == 1:
            self.lines.append(f"{new}[i{size}] = pi[j{size}](1 + 0.3 * ({old}[i{size}] * {old}[j{size}]));")
            self.steps.append((new, lambda v: (1.0 + 0.3 * v[old][:, None] * v[old][None, :]).prod(1)))
        else:
            text, value = self.expression(1 + self.pick(3))
            self.lines.append(f"{new}[i{size}] = {text} + 0.5 * {old}[i{size}];")
            self.steps.append((new, lambda v: value(v) + 0.5 * v[old]))
        self.last = new

    def finish(self):
        """The program, what it minimises, and by which weights."""
        last, size = self.last, self.size

        def loss(given):
            v = dict(given)
            for name, step in self.steps:
                v[name] = step(v)
            return (v[last] ** 2).sum()

        given = {key: value.clone().requires_grad_() for key, value in self.values.items()}
        gradients = torch.autograd.grad(loss(given), list(given.values()), allow_unused=True)
        body = [*self.lines, f"e = sum[i{size}]({last}[i{size}] * {last}[i{size}]);", "minimize e;"]
        # What is drawn and not used is left out; what is compared only cannot be trained, and is an input.
        self.values = {name: value for name, value in self.values.items() if f"{name}[" in "".join(body)}
        weights = [name for name, gradient in zip(given, gradients) if gradient is not None]
        head = ["mu = 0.1;"]
        for name, value in self.values.items():
            kind = "model" if name in weights else "model_input"
            head.append(f"{kind} {name}" + "".join(f"[{extent}]" for extent in value.shape) + ";")
        for number, extent in enumerate(self.extents):
            head += [f"iterator i{number}[0:{extent}];", f"iterator j{number}[0:{extent}];"]
        return "\n".join([*head, *body]) + "\n", loss, weights


def random_programs(tool, report, number):
    count = error = 0
    for seed in range(number):
        torch.manual_seed(1000 + seed)
        program = Random()
        for _ in range(2 + seed % 5):
            program.statement()
        text, loss, weights = program.finish()
        values = program.values
        found = tool.eval("random.t", text, "", values)
        named = {weight: f"{weight}.gradient" for weight in weights}
        more, worse = report.compare(f"random program {seed}\n{text}", loss, weights, values, found, named, "minimize")
        count, error = count + more, max(error, worse)
    report.rows.append(("random programs, derived", number, count, error))


HEAD = """# Gradients beside PyTorch's

Gradients of the golden engine beside those of PyTorch {version}: written ones of `programs/`, derived ones of the same programs (`minimize`), and random
programs. An error is relative to the largest element of its tensor, or absolute where that is below 1; {most:g} would be too much. Written by
`cargo measure gradients`.

| program | samples | numbers | largest error |
|---|---|---|---|
"""

# Where the part of the page begins that `cargo measure onnx gradients` writes.
OTHERS = "\n## Beside onnx-ad\n"


def main():
    tool, number, page = sys.argv[1:]
    torch.manual_seed(1)
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        tool = Tool(tool, folder)
        programs(tool, report)
        random_programs(tool, report, int(number))
    for row in report.rows:
        print("{}: {} samples, {} numbers, largest error {:.1e}".format(*row))
    if report.wrong:
        raise SystemExit("\n".join(["differs from PyTorch:", *report.wrong]))
    with open(page) as file:
        others = file.read().split(OTHERS)[1]
    with open(page, "w") as file:
        file.write(HEAD.format(version=torch.__version__.split("+")[0], most=MOST))
        file.writelines("| {} | {} | {:,} | {:.1e} |\n".format(*row) for row in report.rows)
        file.write(OTHERS + others)


main()
