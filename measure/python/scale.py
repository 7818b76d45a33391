"""Time per batch for many boards, on paper: the tables of docs/quality/scale.txt.

    cargo measure scale            simulate 1 to 8 ranks, compare the model with them, and write the tables
    cargo measure scale --check    the same, and fail if the page has other numbers

`explain` says how long a step of T samples takes, and its load; the model is made of these and nothing else. The array says how many cycles a batch takes for the
slowest of N ranks (`train --engine array --ranks=N`): that is the check.
"""

import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "target/debug/tabla-gen"
PAGE = ROOT / "docs/quality/scale.txt"
BATCH = 256
CLOCK = 100e6
ACCUMULATOR = 48
# Name, program, data, weights (each has a sum).
CASES = [
    ("logistic, 31 weights", "programs/logistic.t", "examples/breast_cancer.csv", 31),
    ("digits, 1,875 weights", "programs/backpropagation.t", "examples/digits.csv", 25 * 65 + 10 * 25),
]
# What the programs call their weights.
WEIGHTS = ("w", "w12", "w23")
# Batches of an epoch that is simulated.
BATCHES = 4
# Name, bytes per second of a board, seconds of a message, whether all boards share it.
LINKS = [
    ("UART 3 Mbaud", 3e6 / 10, 1e-3, False),
    ("USB 2.0", 40e6, 125e-6, True),
    ("1 Gbit/s", 118e6, 30e-6, False),
    ("100 Gbit/s", 11.8e9, 2e-6, False),
]


def tool(*arguments):
    """The JSON that a command writes."""
    ran = subprocess.run([TOOL, *arguments, "--format", "json"], cwd=ROOT, check=True, capture_output=True)
    return json.loads(ran.stdout)


def repeated(data, folder):
    """The same rows often enough for an epoch of several batches."""
    head, *rows = (ROOT / data).read_text().splitlines()
    path = Path(folder) / Path(data).name
    path.write_text("\n".join([head, *rows * 4]) + "\n")
    return str(path)


def simulated(program, data, ranks):
    """Cycles of a batch for the slowest rank. The weights are loaded once, and sent out after every epoch: neither counts."""
    def cycles(epochs, batches):
        rows = ["--limit", str(batches * BATCH), "--batch", str(BATCH), "--epochs", str(epochs)]
        return tool("train", program, "--data", data, *rows, "--engine", "array", f"--ranks={ranks}")["cycles"]

    def epoch(batches):
        return (cycles(3, batches) - cycles(1, batches)) / 2

    return (epoch(BATCHES) - epoch(1)) / (BATCHES - 1)


def tiles(program, data):
    """Of tiles of so many samples, of which there are two or more: cycles of the last one, of the others, of a load, and of the conclusion. The others leave the update out, a beat for each weight that lies in an engine; the conclusion is the update, and as many beats that end the sums."""
    def cycles(size):
        made = tool("explain", program, "--data", data, "--batch", str(size))
        step, load = made["alternatives"][0]["step"], made["alternatives"][0]["load"]
        update = sum(instruction["beats"] for instruction in made["instructions"] if instruction["what"].split()[0] in WEIGHTS)
        return step, step - update, load, 2 * update

    return {1 << power: cycles(1 << power) for power in range(BATCH.bit_length() - 1)}


def run(count, tile, load):
    """A run begins with a load that nothing hides; the other loads go on beside a step."""
    return load + (count - 1) * max(tile, load) + tile if count else 0


def takes(batch, size, ranks, tiles):
    """Cycles with tiles of a size: the share of the rank that has most, and what ends the batch: the last tile, or the conclusion where that is shorter."""
    step, tile, load, conclusion = tiles[size]
    count = batch // size
    concluded = run(math.ceil(count / ranks), tile, load) + conclusion
    return min(concluded, run(math.ceil((count - 1) / ranks), tile, load) + run(1, step, load))


def chosen(batch, ranks, tiles):
    """The size that the compiler takes: it compares cycles, from large sizes on until one is not better, and leaves out what takes 1.3 times the fewest samples."""
    samples = lambda size: math.ceil(batch // size / ranks) * size
    fewest = min(map(samples, tiles))
    best = None
    for size in sorted(tiles, reverse=True):
        if size > 1 and samples(size) > 1.3 * fewest:
            continue
        cycles = takes(batch, size, ranks, tiles)
        if best and best[0] <= cycles:
            break
        best = (cycles, size)
    return best[1]


def best(batch, ranks, tiles):
    """Cycles with the size that takes fewest."""
    return min(takes(batch, size, ranks, tiles) for size in tiles)


def exchange(weights, ranks, link):
    """Seconds in which sums are added over all ranks and totals are back."""
    _, rate, latency, shared = link
    size = weights * ACCUMULATOR / 8
    if ranks == 1:
        return 0.0
    if link[0].startswith("UART"):
        # Each board has a line of its own to one host, out and back.
        return 2 * (size / rate + latency)
    if shared:
        return ranks * 2 * size / rate + 2 * latency
    return 2 * math.ceil(math.log2(ranks)) * latency + 2 * (ranks - 1) / ranks * size / rate


def time(seconds):
    """With the unit that fits."""
    for unit, scale in [("s", 1), ("ms", 1e-3), ("us", 1e-6)]:
        if seconds >= scale or unit == "us":
            return f"{seconds / scale:.3g} {unit}"


def tables():
    """The text between the marks."""
    head = ["| case | " + " | ".join(f"{1 << power}" for power in range(BATCH.bit_length() - 1)) + " |", "|---|" + "---|" * (BATCH.bit_length() - 1)]
    lines = ["| case | ranks | samples of a tile | cycles of a batch, simulated | model | difference | against one rank | model, with the best tiles |", "|---|---|---|---|---|---|---|---|"]
    numbers = []
    for name, program, data, weights in CASES:
        of_size = tiles(program, data)
        head.append(f"| {name} | " + " | ".join(f"{step:,} / {tile:,} / {load:,}" for step, tile, load, _ in of_size.values()) + " |")
        numbers.append((name, weights, of_size))
        with tempfile.TemporaryDirectory() as folder:
            rows = repeated(data, folder)
            measured = {ranks: simulated(program, rows, ranks) for ranks in range(1, 9)}
        for ranks, cycles in measured.items():
            size = chosen(BATCH, ranks, of_size)
            model = takes(BATCH, size, ranks, of_size)
            compared = f"{100 * (model / cycles - 1):+.1f} % | {measured[1] / cycles:.2f}"
            lines.append(f"| {name} | {ranks} | {size} | {cycles:,.0f} | {model:,.0f} | {compared} | {best(BATCH, ranks, of_size):,.0f} |")
    lines = ["Cycles of a last tile, of another one, and of its load, by samples in it:", "", *head, "", *lines]
    lines += ["", "| case | batch | boards | a batch computes | " + " | ".join(link[0] for link in LINKS) + " |", "|---|---|---|---|" + "---|" * len(LINKS)]
    for name, weights, of_size in numbers:
        for batch in [256, 4096, 65536]:
            for ranks in [1, 8, 64, 1000]:
                compute = batch_seconds(batch, ranks, of_size)
                alone = batch_seconds(batch, 1, of_size)
                cells = []
                for link in LINKS:
                    seconds = exchange(weights, ranks, link)
                    cells.append(f"{time(seconds)}, {alone / (compute + seconds):.3g} times" if ranks > 1 else "-")
                lines.append(f"| {name} | {batch:,} | {ranks:,} | {time(compute)} | " + " | ".join(cells) + " |")
    lines += ["", "| case | link | 8 boards | 64 boards | 1,000 boards |", "|---|---|---|---|---|"]
    for name, weights, of_size in numbers:
        for link in LINKS:
            cells = []
            for ranks in [8, 64, 1000]:
                sizes = [1 << power for power in range(BATCH.bit_length() - 1, 31)]
                hides = [batch for batch in sizes if batch_seconds(batch, ranks, of_size) >= 4 * exchange(weights, ranks, link)]
                cells.append(f"{hides[0]:,}" if hides else "more than 2^30")
            lines.append(f"| {name} | {link[0]} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def batch_seconds(batch, ranks, tiles):
    """Seconds in which a rank computes its share."""
    return best(batch, ranks, tiles) / CLOCK


def main():
    page = PAGE.read_text()
    before, rest = page.split("<!-- scale -->\n")
    _, behind = rest.split("<!-- end scale -->")
    text = f"{before}<!-- scale -->\n{tables()}\n<!-- end scale -->{behind}"
    if "--check" in sys.argv:
        if text != page:
            sys.exit("docs/quality/scale.txt has other numbers: cargo measure scale writes it")
    else:
        PAGE.write_text(text)


if __name__ == "__main__":
    main()
