"""Coverage of the generated Verilog in simulations: lines by Verilator, functions by the points of tests/coverage/points.sv.

    cargo measure coverage                all cases
    cargo measure coverage NAME...        only these

Each case is a program on a grid of 2 x 4 PEs behind AXI, simulated by the testbench that `build` writes: as it is, with stalls, and
aborted at several cycles and run again. All words must be right. A line or point counts as covered if one case covers it; lines of different
grids are the same if module and text are.

Prints what is covered, by module, and what is not; exit code 1 if a word is wrong. Works in target/coverage, and takes some minutes; CI does not
run it.
"""

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "target" / "coverage"
HERE = ROOT / "tests" / "coverage"
POINTS = HERE / "points.sv"
GRID = "pus = 2\npes_per_pu = 4\n"
EXTREMES = "extremes = true\ndivider = true\n"
# What the source says, the machine, and the arguments of `build`.
CASES = {
    "logistic": ("programs/logistic.t", GRID, ["--data", ROOT / "examples/breast_cancer.csv"]),
    "scalar": ("programs/logistic.t", GRID + "scalar = true\n", ["--data", ROOT / "examples/breast_cancer.csv"]),
    "tiles": ("programs/logistic.t", GRID + "data_depth = 16\n", ["--data", ROOT / "examples/breast_cancer.csv", "--batch", "24"]),
    "svm": ("programs/svm.t", GRID + "scalar = true\n", ["--data", ROOT / "examples/breast_cancer.csv"]),
    "softmax": ("programs/softmax.t", GRID + EXTREMES, ["--data", ROOT / "examples/iris.csv"]),
    "backpropagation": ("programs/backpropagation.t", GRID, ["--data", ROOT / "examples/iris.csv"]),
    "products": ("programs/backpropagation.t", GRID + "scalar = true\n", ["--data", ROOT / "examples/iris.csv"]),
    "layers": ("programs/backpropagation4.t", GRID + "scalar = true\n", []),
    "tables": ("tests/coverage/tables.tc", GRID + EXTREMES, ["--inputs", HERE / "tables.json", "--entry", "tables"]),
    "curves": ("tests/coverage/curves.t", GRID, ["--inputs", HERE / "curves.json"]),
    "loops": ("tests/coverage/loops.tc", GRID + EXTREMES, ["--inputs", HERE / "loops.json", "--entry", "loops"]),
    "sums": ("tests/coverage/sums.tc", GRID + EXTREMES, ["--inputs", HERE / "sums.json", "--entry", "sums"]),
}
# Cycles after the start at which a run is aborted.
ABORTS = [1, 2, 3, 4, 5, 7, 9, 12, 16, 20, 26, 35, 50, 70, 100, 150, 220, 320, 460, 700, 1000]
RUNS = [[], ["+stalls=7"], ["+stalls=3", "+abort=90"], *([f"+abort={cycle}"] for cycle in ABORTS)]
VERILATOR = ["--binary", "--timing", "--coverage-line", "--coverage-user", "-Wno-fatal", "-Wno-lint", "-Wno-style", "-Wno-TIMESCALEMOD"]


def run(command, **options):
    result = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    if result.returncode != 0:
        sys.exit(f"measure coverage: {' '.join(map(str, command))}\n{result.stdout}")
    return result.stdout


def build(name):
    program, machine, arguments = CASES[name]
    config = WORK / f"{name}.toml"
    config.write_text(f"[machine]\n{machine}")
    out = WORK / name
    run(["cargo", "run", "--locked", "--quiet", "--", "--config", config, "build", ROOT / program, "--module", "tabla", *arguments, "--out", out], cwd=ROOT)
    return out


def simulate(name):
    """Counts of a case, by what is counted."""
    out = build(name)
    tools = Path(run([ROOT / "scripts/setup", "--print"]).strip())
    sources = [*(out / "rtl/tabla_axi.f").read_text().split(), "testbench/axi.v", POINTS]
    folder = ["--top-module", "axi_testbench", "-Itestbench", "--Mdir", "coverage", "-CFLAGS", "-std=c++20 -O0"]
    # Points of what only some grids have.
    has = [f"-D{word}" for word, module in [("SCALAR", "scalar_stream"), ("TILES", "park_pipeline")] if (out / f"rtl/{module}.v").exists()]
    run([tools / "bin/verilator", *VERILATOR, *has, *folder, *sources], cwd=out)
    counts = defaultdict(int)
    for arguments in RUNS:
        said = run(["coverage/Vaxi_testbench", *arguments], cwd=out)
        if "PASS: " not in said:
            sys.exit(f"measure coverage: {name} {' '.join(arguments)}: {said}")
        collect(out, counts)
    return counts


def collect(out, counts):
    """Add the counts of `coverage.dat`: a line each, of keys and values."""
    texts = {}
    for line in (out / "coverage.dat").read_text(errors="replace").splitlines():
        if not line.startswith("C '"):
            continue
        body, count = line[3:].rsplit("' ", 1)
        keys = dict(part.split("\x02", 1) for part in body.split("\x01") if part)
        item = item_of(out, keys, texts)
        if item:
            counts[item] += int(count)


def item_of(out, keys, texts):
    """A point: (its kind, module, name). A line: ("line", module, text)."""
    module = keys["page"].split("/")[-1]
    if keys["page"].startswith("v_user"):
        # ...stream.alu_points_of.combine_add; both streams with masks have their own points.
        stream, points, name = keys["h"].split(".")[-3:]
        kind = points.removesuffix("_points_of")
        return "point", f"{kind} of {stream}" if kind == "mask" else kind, name
    if not keys["f"].startswith("rtl/"):
        return None
    if keys["f"] not in texts:
        texts[keys["f"]] = (out / keys["f"]).read_text().splitlines()
    # Modules that differ a little have numbers behind their names, and the widths of words differ from grid to grid.
    module = re.sub(r"_\d+$", "", re.sub(r"__.*", "", module))
    text = " ".join(texts[keys["f"]][int(keys["l"]) - 1].split())
    text = re.sub(r"\{\d+\{", "{n{", re.sub(r"\[\d+(:\d+)?\]", "[]", text))
    return "line", module, f"{text} ({keys['o']})"


def show(counts):
    for kind in ["line", "point"]:
        modules = defaultdict(list)
        for (of, module, _), count in counts.items():
            if of == kind:
                modules[module].append(count > 0)
        for module, covered in sorted(modules.items()):
            print(f"{kind:6} {module:28} {sum(covered):4} of {len(covered):4}")
        every = [covered for module in modules.values() for covered in module]
        print(f"{kind:6} {'all':28} {sum(every):4} of {len(every):4}, {100 * sum(every) / len(every):.1f} %")


def main():
    names = sys.argv[1:] or list(CASES)
    WORK.mkdir(parents=True, exist_ok=True)
    counts = defaultdict(int)
    for name in names:
        for item, count in simulate(name).items():
            counts[item] += count
        print(f"{name:16} {len(RUNS)} runs, all words right", flush=True)
    show(counts)
    for kind, module, name in sorted(item for item, count in counts.items() if count == 0):
        print(f"not covered: {kind} {module}: {name}")


if __name__ == "__main__":
    main()
