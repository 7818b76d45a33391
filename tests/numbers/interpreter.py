"""`fixed` a second time: an interpreter of `ir --after fixed`, as docs/numbers.md describes it (Words of a program, Functions).

    interpreter.py < TASK      {"program": text, "inputs": {name: nested lists}}; prints {"values": ..., "next": ...} as `eval` does

Plain integers. Each statement becomes nested loops of Python, since networks have millions of products.
"""

import json
import math
import re
import sys

NAME = r'(?:"(?:[^"\\]|\\.)*"|%\d+|[A-Za-z_][\w.]*)'
ELEMENT = rf"{NAME}(?:\[[^\]]*\])*"


def nearest(value, shift):
    """`value / 2^shift`, to nearest, ties to even."""
    if shift <= 0:
        return value << -shift
    floor, rest, half = value >> shift, value & ((1 << shift) - 1), 1 << (shift - 1)
    return floor + (rest > half or (rest == half and floor & 1))


class Table:
    """A function table: its entries, from the formats and the number of segments alone."""

    LN2 = math.log(2)
    # Value, and the end of the arguments for `flat` and `limit`; no end: segments per octave, and the word for arguments that are not positive.
    FUNCTIONS = {
        "sigmoid": (lambda x: 1 / (1 + exp(-x)), lambda flat, limit: flat),
        "sigmoid_symmetric": (lambda x: math.tanh(x / 2), lambda flat, limit: flat + Table.LN2),
        "tanh": (math.tanh, lambda flat, limit: (flat + Table.LN2) / 2),
        "gaussian": (lambda x: exp(-x * x / 2) / math.sqrt(2 * math.pi), lambda flat, limit: math.sqrt(2 * max(flat, 0))),
        "exp": (lambda x: exp(x), lambda flat, limit: max(flat, math.log(limit))),
        "erf": (math.erf, lambda flat, limit: math.sqrt(max(flat, 0))),
        "sinh": (lambda x: grown(math.sinh, x), lambda flat, limit: max(math.log(limit), 0) + 1),
        "cosh": (lambda x: grown(math.cosh, x), lambda flat, limit: max(math.log(limit), 0) + 1),
        "sin": (math.sin, lambda flat, limit: math.inf),
        "cos": (math.cos, lambda flat, limit: math.inf),
        "atan": (math.atan, lambda flat, limit: math.inf),
        "log": (math.log, "lowest"),
        "sqrt": (math.sqrt, "zero"),
        "rsqrt": (lambda x: 1 / math.sqrt(x), "highest"),
    }

    def __init__(self, function, word, q_in, q_out, log2):
        self.value, shape = self.FUNCTIONS[function]
        self.word, self.q_out, self.log2 = word, q_out, log2
        low, high = -(1 << (word - 1)), (1 << (word - 1)) - 1
        self.octave = isinstance(shape, str)
        if self.octave:
            self.below, self.shift = {"lowest": low, "zero": 0, "highest": high}[shape], word - 2 - log2
            point = lambda k, lead: math.ldexp(1 + k / 2**log2, lead - q_in)
            octaves = ((lead, k) for lead in range(word - 1) for k in range(1 << log2))
            self.entries = [self.entry(point(k, lead), point(k + 1, lead), lead > log2) for lead, k in octaves]
            return
        unit = math.ldexp(1, -q_out)
        end = shape(-math.log(unit / 8), max(high * unit, unit))
        half = next((bits for bits in range(word - 1) if math.ldexp(1, bits - q_in) >= end), word - 1)
        half = max(half, log2 - 1)
        self.shift = half + 1 - log2
        width = math.ldexp(1, self.shift - q_in)
        edges = [q * width for q in range(-(1 << (log2 - 1)), 1 << (log2 - 1))]
        self.entries = [self.entry(edge, edge + width, self.shift > 0) for edge in edges]

    def entry(self, start, end, curved):
        """The chord of a segment in quarters of the last place, moved by half of its error in the middle."""
        bound = 2.0 ** (self.word + 1)
        clamp = lambda value: min(max(value, -bound), bound - 1)
        far = lambda value: min(max(value, -2 * bound), 2 * bound)
        quarters = lambda x: self.value(x) * 2.0 ** (self.q_out + 2)
        a, b = clamp(quarters(start)), far(quarters(end))
        bend = (far(quarters((start + end) / 2)) - (a + b) / 2) / 2 if curved else 0.0
        base = round(clamp(a + bend))
        return base, int(clamp(float(round(b + bend - base))))

    def __call__(self, x):
        half = (1 << self.log2) >> 1
        if self.octave:
            if x <= 0:
                return self.below
            lead = x.bit_length() - 1
            normal = x << (self.word - 2 - lead)
            number = (lead << self.log2) + ((normal >> self.shift) & ((1 << self.log2) - 1))
            fraction = normal & ((1 << self.shift) - 1)
        else:
            q, fraction = x >> self.shift, x & ((1 << self.shift) - 1)
            if q >= half:
                q, fraction = half - 1, (1 << self.shift) - 1
            elif q < -half:
                q, fraction = -half, 0
            number = q + half
        base, delta = self.entries[number]
        return saturate(nearest((base << self.shift) + delta * fraction, self.shift + 2), self.word)


def exp(x):
    return math.exp(x) if x < 709.7 else math.inf


def grown(function, x):
    return function(x) if abs(x) < 709.7 else math.copysign(math.inf, x) if function is math.sinh else math.inf


def saturate(value, word):
    return min(max(value, -(1 << (word - 1))), (1 << (word - 1)) - 1)


class Program:
    """Tensors as flat lists of words, and statements as functions of Python."""

    def __init__(self, text, statements=True):
        self.tensors, self.names, self.tables, self.statements = {}, [], {}, []
        for line in text.splitlines():
            line = re.sub(r"\s+//.*$", "", line).strip()
            line = re.sub(r"  @ .*$", "", line).strip()
            if line and (statements or re.match(r"(word|input|label|state) ", line)):
                self.read(line)

    def read(self, line):
        kind, _, rest = line.partition(" ")
        if kind in ("word", "accumulator") and rest.isdigit():
            setattr(self, kind, int(rest))
        elif kind == "table":
            form = r"(\S+): q(-?\d+) -> q(-?\d+), 2\^(\d+) segments(?: of 2\^(\d+))? at \d+(?: = (.*))?"
            name, *formats, shift, entries = re.fullmatch(form, rest).groups()
            pairs = entries and [tuple(map(int, pair)) for pair in re.findall(r"\((-?\d+), (-?\d+)\)", entries)]
            self.tables[name] = Table(name.split("#")[0], self.word, *map(int, formats))
            if pairs:
                self.tables[name].entries, self.tables[name].shift = pairs, int(shift)
        elif kind == "name" and " = " in rest:
            self.names.append(re.fullmatch(rf"({NAME}) = ({NAME})", rest).groups())
        elif declared := re.fullmatch(rf"(\w+) ({NAME})((?:\[\d+\])*): q(-?\d+)(?: columns (\d+) \+ (\[[^\]]*\]))?(?: = (.*))?", line):
            kind, name, extents, q, column, more, given = declared.groups()
            extents = [int(extent) for extent in re.findall(r"\d+", extents)]
            size = math.prod(extents)
            words = flat([json.loads(given)]) if given else [0] * size
            # The binary point of each element.
            points = [int(q)] * size
            if column:
                stride = math.prod(extents[int(column) + 1 :])
                points = [int(q) + json.loads(more)[n // stride % extents[int(column)]] for n in range(size)]
            self.tensors[name] = {"kind": kind, "extents": extents, "q": int(q), "points": points, "words": words}
        else:
            self.statement(line)

    # Text of Python for the parts of a statement.

    def place(self, element):
        """The tensor of an element and its flat index."""
        name = re.match(NAME, element).group()
        places = re.findall(r"\[([^\]]*)\]", element[len(name) :])
        index = "0"
        for extent, place in zip(self.tensors[name]["extents"], places, strict=True):
            index = f"({index})*{extent}+({self.iterators(place)})" if index != "0" else self.iterators(place)
        return name, index

    @staticmethod
    def iterators(text):
        """Iterators as names of Python: `k#2` is one, too."""
        return re.sub(r"[A-Za-z_][\w.]*(?:#\d+)?", lambda name: "i_" + re.sub(r"[^\w]", "_", name.group()), text)

    def factor(self, text):
        """Python for a word, and its binary point."""
        if constant := re.fullmatch(r"(-?\d+):q(-?\d+)", text):
            return constant.group(1), int(constant.group(2))
        name, index = self.place(text)
        return f"{self.local(name)}[{index}]", self.tensors[name]["q"]

    def local(self, name):
        self.used[name] = self.used.get(name, f"t{len(self.used)}")
        return self.used[name]

    def statement(self, line):
        self.used = {}
        line = re.sub(r"\[[^\]]*\]", lambda index: index.group().replace(" ", ""), line)
        target, value = re.fullmatch(rf"({ELEMENT}) = (.*)", line).groups()
        loops = re.search(r"  (?:for|over) .*", value)
        value, loops = (value[: loops.start()], loops.group()) if loops else (value, "")
        value = value.replace(" within ranges", "")
        free, _, reduced = loops.partition(" over ")
        free, reduced = map(self.loops, (free.replace(" for ", ""), reduced))
        name, index = self.place(target)
        head, inner, last = self.value(value)
        lines = list(free)
        at = "  " * len(free)
        lines += [at + line for line in head]
        lines += [at + line for line in reduced]
        lines += [at + "  " * len(reduced) + line for line in inner]
        lines += [f"{at}{self.local(name)}[{index}] = {last}"]
        arguments = ", ".join(self.used.values())
        code = f"def run({arguments}):\n" + "\n".join("  " + line for line in lines)
        scope = {"nearest": nearest, "finish": self.finish, "wrap": self.wrap, "divide": self.divide, **{self.table(n): t for n, t in self.tables.items()}}
        exec(code, scope)  # noqa: S102
        self.statements.append((scope["run"], list(self.used)))

    def loops(self, text):
        found = re.findall(r"([A-Za-z_][\w.]*(?:#\d+)?) in (-?\d+)\.\.(-?\d+)", text)
        return ["  " * depth + f"for {self.iterators(name)} in range({low}, {high}):" for depth, (name, low, high) in enumerate(found)]

    @staticmethod
    def table(name):
        return "table_" + re.sub(r"\W", "_", name)

    def value(self, text):
        """Lines before the reduction, lines inside, and the result."""
        if table := re.fullmatch(rf"([a-z_]+#\d+)\((.*)\)", text):
            return [], [], f"{self.table(table.group(1))}({self.factor(table.group(2))[0]})"
        text, _, limit = text.partition(" limit ")
        kind, body, shift = re.fullmatch(r"([a-z_]+)\((.*?)\)(?: >> (\d+.*))?", text).groups()
        if kind.startswith("quotient"):
            dividend, places, divisor = re.fullmatch(r"(.*?)(?: << (\d+))? / (.*)", body).groups()
            parts = f"{self.factor(dividend)[0]}, {self.factor(divisor)[0]}, {places or 0}"
            return [], [], f"divide({parts}, {kind == 'quotient_down'})"
        if kind == "product":
            shift, start = re.fullmatch(r"(?:(\d+) )?from (-?\d+)", shift or text.rpartition(") ")[2]).groups()
            return [f"sum = {start}"], [f"sum = finish(sum * {self.factor(body)[0]}, {shift or 0})"], "sum"
        head, inner = self.accumulate(body)
        last = f"finish(wrap(sum), {shift or 0})" if kind != "negative" else "int(wrap(sum) < 0)"
        assert kind in ("round", "floor", "negative", "positive"), kind
        if kind == "positive":
            last = f"max({last}, 0)"
        if limit:
            last = f"min({last}, {limit})"
        return head, inner, last

    def accumulate(self, body):
        start, align, combine, term = re.fullmatch(r"(?:([^ +-]\S*|-\d\S*)(?: << (\d+))?(?: |$))?(?:(\+|-|max|min) (.*))?", body).groups()
        head = [f"sum = {self.factor(start)[0]} << {align or 0}" if start else "sum = None" if combine in ("max", "min") else "sum = 0"]
        if not combine:
            return head, []
        if square := re.fullmatch(r"\((.*) - (.*)\)\^2(?: \* 2\^-?\d+)?", term):
            difference = " - ".join(self.factor(part)[0] for part in square.groups())
            value = f"({difference}) ** 2"
        else:
            a, b = re.fullmatch(r"(.*?) \* (.*?)(?: \* 2\^-?\d+)?", term).groups()
            value = f"{self.factor(a)[0]} * {self.factor(b)[0]}"
        if combine in "+-":
            return head, [f"sum {combine}= {value}"]
        return head, [f"sum = {value} if sum is None else {combine}(sum, {value})"]

    # Meaning.

    def finish(self, value, shift):
        return saturate(nearest(value, shift), self.word)

    def wrap(self, value):
        half = 1 << (self.accumulator - 1)
        return (value + half) % (2 * half) - half

    def divide(self, a, b, places, down):
        if b == 0:
            return saturate((a > 0) - (a < 0) << self.word, self.word)
        a, b = (a << places, b) if b > 0 else (-a << places, -b)
        floor, rest = divmod(a, b)
        up = not down and (2 * rest > b or (2 * rest == b and floor & 1))
        return saturate(floor + up, self.word)

    def run(self, inputs):
        for name, tensor in self.tensors.items():
            given = inputs.get(json.loads(name) if name.startswith('"') else name)
            if given is not None and tensor["kind"] in ("input", "label", "state"):
                tensor["words"] = [self.quantise(value, q) for value, q in zip(flat(given), tensor["points"], strict=True)]
        for run, names in self.statements:
            run(*(self.tensors[name]["words"] for name in names))
        plain = lambda name: json.loads(name) if name.startswith('"') else name
        values = {plain(name): self.real(self.tensors[tensor]) for name, tensor in self.names}
        return {"values": values, "next": {plain(n): self.real(t) for n, t in self.tensors.items() if t["kind"] == "state"}}

    def quantise(self, value, q):
        value = math.nan if value is None else float(value)
        if math.isnan(value):
            return 0
        if math.isinf(value):
            return saturate((1 if value > 0 else -1) << self.word, self.word)
        return saturate(round(math.ldexp(value, q)), self.word)

    def real(self, tensor):
        values = [math.ldexp(word, -q) for word, q in zip(tensor["words"], tensor["points"])]
        for extent in reversed(tensor["extents"][1:]):
            values = [values[at : at + extent] for at in range(0, len(values), extent)]
        return values if tensor["extents"] else values[0]


def flat(value):
    return [leaf for part in value for leaf in flat(part)] if isinstance(value, list) else [value]


if __name__ == "__main__":
    task = json.load(sys.stdin)
    json.dump(Program(task["program"]).run(task["inputs"]), sys.stdout)
