"""Processor time that the user waits for: of the first command of README.md with what it compiles, and of `build` and `explain` of a release build.
A table of docs/tables/performance.txt; six minutes.

    cargo measure build-times
"""

import os
import resource
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/tables/performance.txt"
BEGIN, END = "<!-- times -->\n", "<!-- times end -->\n"
TOOL = os.environ.get("TABLA_GEN", str(ROOT / "target/release/tabla-gen"))


def used():
    """Of the processor by all children so far, their own time and the system's for them."""
    of = resource.getrusage(resource.RUSAGE_CHILDREN)
    return of.ru_utime + of.ru_stime


def seconds(*arguments):
    """Of the processor: the least of three runs."""

    def once():
        before = used()
        ran = subprocess.run([TOOL, *map(str, arguments)], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if ran.returncode:
            sys.exit(ran.stdout)
        return used() - before

    return min(once() for _ in range(3))


def first(folder):
    """A row: the first command of README.md with its crates downloaded and nothing compiled."""
    readme = (ROOT / "README.md").read_text().partition("<!-- test -->\n```sh\n")[2]
    command = readme.splitlines()[0].split()
    subprocess.run(["cargo", "fetch", "--quiet", "--locked"], cwd=ROOT, check=True)
    environment = {**os.environ, "CARGO_TARGET_DIR": f"{folder}/target", "CARGO_INCREMENTAL": "0"}
    before = used()
    subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return f"| `{' '.join(command[:4])} ...` of README.md in a new clone, compiled first | 8 x 8 | {used() - before:.0f} |\n"


def network(folder, command, layers, rows, columns):
    """A row: a training of backpropagation.t with these layers on so many rows and columns."""
    arguments = [command, "programs/backpropagation.t", "--machine", f"pus={rows}", "--machine", f"pes_per_pu={columns}", "--machine", "stream_words=16"]
    for number, extent in enumerate(layers, 1):
        arguments += ["--set", f"l{number}={extent}"]
    if command == "build":
        arguments += ["--out", f"{folder}/built"]
    name = "-".join(map(str, layers))
    return f"| `{command}` of backpropagation.t, {name} | {rows} x {columns} | {seconds(*arguments):.2f} |\n"


def main():
    if "TABLA_GEN" not in os.environ:
        subprocess.run(["cargo", "build", "--quiet", "--release", "--locked"], cwd=ROOT, check=True)
    kernels = tomllib.loads((ROOT / "programs/kernels.toml").read_text())["kernel"]
    table = "| command | grid | seconds |\n|---|---|---|\n"
    with tempfile.TemporaryDirectory() as folder:
        table += first(folder)
        for layers, rows, columns in (((784, 784, 10), 16, 32), ((785, 4096, 11), 64, 64)):
            for command in ("build", "explain"):
                table += network(folder, command, layers, rows, columns)
        functions = [(kernel["name"], kernel["program"]) for kernel in kernels if kernel["program"].startswith("kernels")]
        took = sorted((seconds("build", f"programs/{program}", "--out", f"{folder}/{name}"), name) for name, program in functions)
    mean = sum(time for time, _ in took) / len(took)
    table += f"| `build` of each of the {len(took)} functions of [kernels.md](kernels.md), mean | 8 x 8 | {mean:.2f} |\n"
    table += f"| the slowest of them, {took[-1][1]} | 8 x 8 | {took[-1][0]:.2f} |\n"
    print(table, *(f"{time:.2f} {name}\n" for time, name in reversed(took)), sep="")
    before, rest = PAGE.read_text().split(BEGIN)
    PAGE.write_text(before + BEGIN + table + END + rest.split(END)[1])
    print("wrote docs/tables/performance.txt")


main()
