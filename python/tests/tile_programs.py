"""Programs of Tile's text form, made up from a seed: each is a Python function as well, which PlaidML's calls run."""

import json
import random
from pathlib import Path

CORPUS = Path(__file__).parents[2] / "tests/tile_programs.json"
COUNT = 40
"""How many programs the corpus has: those of the seeds from 0 on."""
FUNCTIONS = ["abs", "ceil", "cos", "erf", "exp", "floor", "log", "round", "sigmoid", "sin", "sinh", "sqrt", "tanh"]
EXTENTS = {"M": 2, "N": 3, "K": 4}


class Programs:
    """One program: `text`, and the shapes of its inputs."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.tensors = {}  # name -> sizes, which are names and numbers
        self.lines, self.results = [], []
        shapes = [[self.size() for _ in range(rank)] for rank in self.random.choice([(1, 2), (2, 2), (2, 2, 1), (2, 3, 2), (3, 1, 0)])]
        self.tensors.update(zip("ABC", shapes))
        self.inputs = list(self.tensors)
        for number in range(self.random.randint(2, 5)):
            self.random.choice([self.contraction, self.contraction, self.elementwise, self.elementwise, self.move])(f"R{number}")
        sizes = sorted({size for shape in shapes for size in shape})
        head = [f"def generated({', '.join(self.inputs)}):"]
        if sizes:
            head.append(f"{', '.join(sizes)} = TensorDim{'()' if len(sizes) == 1 else f's({len(sizes)})'}")
        head.append("i, j, k, l, p, q = TensorIndexes(6)")
        head += [f"{name}.bind_dims({', '.join(shape)})" for name, shape in zip(self.inputs, shapes) if shape]
        self.text = "\n  ".join([*head, *self.lines, f"return {', '.join(self.results)}"]) + "\n"
        self.shapes = {name: [EXTENTS[size] for size in shape] for name, shape in zip(self.inputs, shapes)}

    def size(self):
        return self.random.choice(list(EXTENTS))

    def extent(self, size):
        return size if isinstance(size, int) else EXTENTS.get(size) or eval(size, {}, dict(EXTENTS))

    def pick(self, rank=None):
        """A tensor, of a rank."""
        known = [name for name, shape in self.tensors.items() if (len(shape) > 0 if rank is None else len(shape) == rank)]
        return self.random.choice(known) if known else None

    def usable(self):
        """Sizes that inputs have bound."""
        return sorted({size for name in self.inputs for size in self.tensors[name]})

    def contraction(self, name):
        first, free, constraints = self.pick(), list("ijklpq"), []
        of = {}  # the variable of each size, so that accesses share some

        def access(tensor):
            parts = []
            for size in self.tensors[tensor]:
                key = (size, self.random.randint(0, 1))
                plain = of.get(key) or (free.pop(0) if free else None)
                if plain is None:
                    plain = self.random.choice(list(of.values()))
                else:
                    of[key] = plain
                parts.append(self.random.choice([plain] * 6 + [f"{plain} + 1", f"{size} - 1 - {plain}", f"({plain} - 1) // 2"]))
            return f"{tensor}[{', '.join(parts) or '()'}]"

        accesses = [access(first)]
        form = self.random.choice(["one", "one", "*", "*", "+", "==", "cond"])
        count = {"one": 0, "cond": 2}.get(form, 1)
        accesses += [access(self.random.choice(list(self.tensors))) for _ in range(count)]
        body = f"cond({', '.join(accesses)})" if form == "cond" else f" {form} ".join(accesses)
        used = list(dict.fromkeys(of.values()))
        sizes = {variable: size for (size, _), variable in of.items()}
        out = self.random.sample(used, self.random.randint(0, min(3, len(used))))
        constraints += [f"{v} < {self.random.choice([sizes[v], 2])}" for v in used if v not in out]
        shape = [self.random.choice([sizes[v], sizes[v], f"{sizes[v]} + 1", f"2 * {sizes[v]}"]) for v in out]
        index = [self.random.choice([v, v, f"{v} + 1"]) for v in out]
        if self.random.random() < 0.2:
            index, shape = [*index, "0"], [*shape, 1]
        operator = self.random.choice(["+=", "+=", "*=", ">=", "<="])
        default = next((t for t, s in self.tensors.items() if [*map(self.extent, s)] == [*map(self.extent, shape)]), None)
        default = default if self.random.random() < 0.5 else None
        text = ", ".join(map(str, shape))
        # `O[i] >= A[i] == B[i]` is a chain of comparisons in Python.
        chained = form == "==" and operator in (">=", "<=")
        if self.random.random() < 0.5 or chained:
            method = {"+=": "sum", "*=": "product", ">=": "max", "<=": "min"}[operator]
            call = f"Contraction().outShape({text}).outAccess({', '.join(index)}).{method}({body})"
            call += f".init({default})" if default else ""
            self.lines.append(f"{name} = {call}{''.join(f'.add_constraint({c})' for c in constraints)}.build()")
        else:
            self.lines += [f"{name} = TensorOutput({text})", f"{name}[{', '.join(index) or '()'}] {operator} {body}"]
            self.lines += [f"{name}.add_constraints([{', '.join(constraints)}])"] if constraints else []
            self.lines += [f"{name}.use_default({default})"] if default else []
        if form != "==":
            # In Python, truth values and counts are integers.
            self.tensors[name] = shape
        self.results.append(name)

    def move(self, name):
        source = self.pick()
        shape = self.tensors[source]
        kind = self.random.choice(["reshape", "gather", "gather_nd", "argsort", "scatter", "index"])
        operand = self.random.choice([source, f"{source} * 2.5", f"tanh({source})"])
        count = self.random.randint(1, 3)
        places = f"index([{count}], 0)"
        if kind == "reshape":
            whole = " * ".join(f"({size})" if isinstance(size, str) and " " in size else str(size) for size in shape)
            new = self.random.choice([[whole], [whole, 1], list(reversed(shape))])
            line = f"reshape({operand}, [{', '.join(map(str, new))}])"
        elif kind == "gather":
            axis = self.random.randrange(len(shape))
            line, new = f"gather({operand}, {places}, {axis})", [*shape[:axis], count, *shape[axis + 1 :]]
        elif kind == "gather_nd":
            line, new = f"gather_nd({operand}, index([{count}, 1], 0))", [count, *shape[1:]]
        elif kind == "argsort":
            # In Python, indices are integers, whose quotients are cut off.
            line, new = f"argsort({operand}, {self.random.randrange(len(shape))}) * 0.5", shape
        elif kind == "scatter":
            line, new = f"scatter({operand}, index([{shape[0]}], 0), 5)", [5, *shape[1:]]
        else:
            line, new = f"index([{', '.join(map(str, shape))}], {self.random.randrange(len(shape))}) + {operand}", shape
        self.lines.append(f"{name} = {line}")
        self.tensors[name] = list(new)
        self.results.append(name)

    def elementwise(self, name):
        shape = self.tensors[self.pick() or self.inputs[0]]
        text, _ = self.expression([*map(self.extent, shape)], self.random.randint(1, 4))
        self.lines.append(f"{name} = {text}")
        self.tensors[name] = shape
        self.results.append(name)

    def expression(self, shape, depth):
        """Text of this shape, and how tightly it binds."""
        if depth == 0:
            fits = [t for t, s in self.tensors.items() if [*map(self.extent, s)] == shape]
            return self.random.choice(fits), 9
        kind = self.random.choice(["two", "two", "two", "number", "one", "minus", "select", "both", "cast", "less"])
        inner = self.expression(shape, depth - 1)

        def within(part, level):
            return part[0] if part[1] >= level else f"({part[0]})"

        if kind in ("two", "number"):
            operator, level = self.random.choice([("+", 5), ("-", 5), ("*", 6), ("/", 6)])
            smaller = [t for t, s in self.tensors.items() if len(s) <= len(shape) and [*map(self.extent, s)] == shape[len(shape) - len(s) :]]
            other = self.expression(shape, depth - 1) if self.random.random() < 0.5 else (self.random.choice(smaller), 9)
            if kind == "number":
                other = (self.random.choice(["0.5", "2.0", "3", "1.25", *self.usable()]), 9)
            return f"{within(inner, level)} {operator} {within(other, level + 1)}", level
        if kind == "one":
            return f"{self.random.choice(FUNCTIONS)}({inner[0]})", 9
        if kind == "minus":
            return (f"-{within(inner, 8)}", 7) if not inner[0].startswith("-") else inner
        if kind == "both":
            return f"{self.random.choice(['max', 'min', 'pow'])}({inner[0]}, {self.expression(shape, depth - 1)[0]})", 9
        if kind == "cast":
            return f"cast({inner[0]}, int32) * 0.5", 6
        comparison = f"{within(inner, 5)} {self.random.choice(['<', '<=', '>', '>=', '==', '!='])} {within(self.expression(shape, depth - 1), 5)}"
        if kind == "less":
            return f"({comparison}) * {within(self.expression(shape, depth - 1), 7)}", 6
        return f"select({comparison}, {self.expression(shape, depth - 1)[0]}, {self.random.choice(['0.0', inner[0]])})", 9


def corpus():
    """What the file of programs has to be."""
    made = [Programs(seed) for seed in range(COUNT)]
    return "[\n" + ",\n".join(json.dumps({"shapes": p.shapes, "text": p.text}) for p in made) + "\n]\n"


if __name__ == "__main__":
    CORPUS.write_text(corpus())
