"""Processor time of the simulators as a user gets it: whole commands, beside NumPy in the same run. A table of docs/tables/performance.txt.

    cargo measure simulators            a minute
    cargo measure simulators --rtl      with the Verilog and a simulated board, too: ten minutes

The time of 20 epochs is that of 21 without that of one, so that reading, compiling and judging do not count.
"""

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

from peers import backpropagation, numpy_epoch  # before NumPy: it sets the threads

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/tables/performance.txt"
BEGIN, END = "<!-- simulators -->\n", "<!-- simulators end -->\n"
TOOL = os.environ.get("TABLA_GEN", str(ROOT / "target/release/tabla-gen"))
EPOCHS = 20
DIGITS = ["programs/backpropagation.t", "--data", "examples/digits.csv", "--set", "l2=129"]
EIGHT = ["--machine", "pus=8", "--machine", "pes_per_pu=8"]


def used(*arguments):
    """Processor seconds of a command, seconds until it ended, and what it said."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    ran = subprocess.run([TOOL, *map(str, arguments)], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if ran.returncode:
        sys.exit(ran.stdout)
    waited, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, waited, ran.stdout


def training(engine, batch, epochs, machine=EIGHT):
    return used("train", *DIGITS, *machine, "--batch", batch, "--engine", engine, "--epochs", epochs, "--quiet")


def epochs(engine, batch):
    """Processor seconds of 20 epochs, and seconds on the clock: the least of two runs each."""
    more, one = ([training(engine, batch, count) for _ in range(2)] for count in (EPOCHS + 1, 1))
    return [min(run[kind] for run in more) - min(run[kind] for run in one) for kind in (0, 1)]


def numpy_epochs(batch):
    """The same steps in NumPy, in single precision."""
    random = np.random.default_rng(1)
    x = random.random((1437, 65), np.float32)
    y = np.eye(11, dtype=np.float32)[random.integers(1, 11, 1437)]
    weights = [random.uniform(-0.2, 0.2, shape).astype(np.float32) for shape in ((129, 65), (11, 129))]
    numpy_epoch(backpropagation, weights, (x, y), 0.1, batch)
    begin = time.process_time()
    for _ in range(EPOCHS):
        numpy_epoch(backpropagation, weights, (x, y), 0.1, batch)
    return time.process_time() - begin


def cycles(text):
    return int(text.partition(" cycles in all")[0].split()[-1])


def rtl(name, machine, epochs):
    """A row: cycles of a training per second of the processor, its comparison and golden included, once the simulators are built."""
    # More epochs have other words, so another simulator.
    for count in (1, epochs):
        training("rtl", 1, count, machine)
    (one, _, first), (more, _, all_of) = training("rtl", 1, 1, machine), training("rtl", 1, epochs, machine)
    return f"| `train --engine rtl`, {name} | {(cycles(all_of) - cycles(first)) / (more - one) / 1000:,.0f} thousand cycles per second | |\n"


def table(verilog):
    lines = ["| 20 epochs of the digits network 64-128-10, 8 x 8 PEs | seconds | times NumPy |\n", "|---|---|---|\n"]
    for batch in (1, 64):
        beside = numpy_epochs(batch)
        lines.append(f"| NumPy, single precision, batch {batch} | {beside:.2f} | 1 |\n")
        for engine, also in (("golden", ""), ("fixed", " with golden"), ("array", " with fixed and golden")):
            own, waited = epochs(engine, batch)
            lines.append(f"| `train --engine {engine}`{also}, batch {batch} | {own:.2f} | {own / beside:.1f} |\n")
        lines.append(f"| the same on {os.cpu_count()} cores, by the clock | {waited:.2f} | {waited / beside:.1f} |\n")
    lenet, *_ = used("train", "programs/lenet.tc", "--data", "examples/digits.csv", "--epochs", 10, "--engine", "array", "--quiet")
    lines.append(f"| LeNet, 10 epochs on `array`, the whole command | {lenet:.1f} | |\n")
    if verilog:
        lines.append(rtl("64 PEs", EIGHT, 11))
        lines.append(rtl("512 PEs", ["--config", "zcu102"], 3))
        board = ["--config", "ulx3s", "--port", "simulated", "--order", "store", "--quiet"]
        used("run", *DIGITS, *board, "--epochs", EPOCHS)
        lines.append(f"| `run --port simulated` on the ULX3S, 20 epochs from its store | {used('run', *DIGITS, *board, '--epochs', EPOCHS)[0]:.0f} | |\n")
    return "".join(lines)


def main():
    verilog = sys.argv[1:] == ["--rtl"]
    if sys.argv[1:] and not verilog:
        sys.exit(f"unknown arguments: {sys.argv[1:]}")
    subprocess.run(["cargo", "build", "--release", "--quiet", "--locked"], cwd=ROOT, check=True)
    text = PAGE.read_text()
    before, _, rest = text.partition(BEGIN)
    PAGE.write_text(before + BEGIN + "\n" + table(verilog) + "\n" + END + rest.partition(END)[2])


main()
