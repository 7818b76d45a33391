"""Write docs/boards.md from the results that scripts/boards left in out/boards; rows without one stay."""

import json
import re
from pathlib import Path

PAGE = Path("docs/boards.md")
HEAD = """# Boards

What `tabla-gen bitstream` makes of the configurations in `configs/`, by nextpnr's own figures; `tabla-gen synth` (yosys alone)
where no open place and route exists. `scripts/boards` writes this page; the tools are pinned in `scripts/tools.txt`, the seeds
are fixed, so the figures repeat. A goal is what the project wants of a board, the clock asked for what its configuration says.

"""
COLUMNS = [
    "configuration",
    "part",
    "grid",
    "goal",
    "clock asked for",
    "clock reached",
    "seed",
    "LUT",
    "FF",
    "DSP",
    "block RAM",
    "longest way",
]
# MHz.
GOALS = {"ulx3s": 100, "ulx3s-25f": 110, "icebreaker": 24, "tangnano9k": 60}


def percent(cell):
    return f"{cell['used']} ({100 * cell['used'] / cell['available']:.0f} %)"


def longest_way(name):
    """From register to register: the blocks they are in, delay and how much of it is wires."""
    report = Path("out/boards", name, "fpga/report.json")
    ways = json.loads(report.read_text())["critical_paths"] if report.exists() else []
    inside = [way for way in ways if way["from"] == way["to"] and way["from"].startswith("posedge")]
    if not inside:
        return "-"
    way = max(inside, key=lambda way: sum(step["delay"] for step in way["path"]))["path"]
    total = sum(step["delay"] for step in way)
    wires = sum(step["delay"] for step in way if step["type"] == "routing")

    def block(end):
        # What yosys adds to a register's name says nothing, and PEs are all alike.
        cell = re.sub(r"_(TRELLIS|LUT|SB_|DFF|CCU2C|PFUMX|MULT|DP16).*", "", end["cell"])
        return re.sub(r"^(grid\.)+", "", re.sub(r"\.\d+\.\d+$", "", cell))

    return f"`{block(way[0]['to'])}` to `{block(way[-1]['to'])}`, {total:.2f} ns, {wires:.2f} of it wires"


def goal(name, reached):
    if name not in GOALS:
        return "-"
    return f"{GOALS[name]} MHz" + ("" if reached is not None and reached >= GOALS[name] else ", MISSED")


def row(name, result):
    summary = result.get("summary", {})
    synthesis = result.get("synthesis") or summary["synthesis"]
    machine = synthesis["machine"]
    cells = {cell["name"]: cell for cell in synthesis["cells"]}
    grid = f"{machine['pus']} x {machine['pes_per_pu']}, {machine['word']} bit, accumulators of {machine['accumulator']}"
    if summary:
        slowest = min(summary["clocks"], key=lambda clock: clock["achieved_mhz"] / clock["constraint_mhz"])
        reached = slowest["achieved_mhz"]
        clock = [goal(name, reached), f"{summary['clock_mhz']:g} MHz", f"{reached:.2f} MHz", str(summary["seed"])]
        way = longest_way(name)
    else:
        clock, way = ["-", "-", "yosys only", "-"], "-"
    taken = (percent(cells[cell]) for cell in ("LUT", "FF", "DSP", "BRAM"))
    return [name, synthesis["part"], grid, *clock, *taken, way]


def main():
    rows = {}
    if PAGE.exists():
        for line in PAGE.read_text().splitlines():
            fields = [field.strip() for field in line.strip("|").split("|")]
            if line.startswith("| ") and len(fields) == len(COLUMNS) and fields != COLUMNS:
                rows[fields[0]] = fields
    for file in sorted(Path("out/boards").glob("*/result.json")):
        text = file.read_text()
        result = json.loads(text) if text.strip() else {}
        name = file.parent.name
        if "summary" in result or "synthesis" in result:
            rows[name] = row(name, result)
        elif result.get("diagnostics"):
            # What failed takes the place of what was there.
            message = result["diagnostics"][0]["message"].replace("\n", " ").replace("|", "/")
            failed = [name, "-", f"no bitstream: {message}", goal(name, None)]
            rows[name] = failed + ["-"] * (len(COLUMNS) - len(failed) - 1) + [longest_way(name)]
    lines = [f"| {' | '.join(COLUMNS)} |", re.sub(r"[^|]+", "---", f"|{'|'.join(COLUMNS)}|")]
    lines += [f"| {' | '.join(fields)} |" for _, fields in sorted(rows.items())]
    PAGE.write_text(HEAD + "\n".join(lines) + "\n")


main()
