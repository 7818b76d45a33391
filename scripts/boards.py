"""Write docs/boards.md from the results that scripts/boards left in out/boards; rows without one stay."""

import json
import re
from pathlib import Path

PAGE = Path("docs/boards.md")
HEAD = """# Boards

What `tabla-gen bitstream` makes of the configurations in `configs/`, by nextpnr's own figures; `tabla-gen synth` (yosys alone)
where no open place and route exists. `scripts/boards` writes this page; the tools are pinned in `scripts/tools.txt`, the seeds
are fixed, so the figures repeat.

"""
COLUMNS = ["configuration", "part", "grid", "clock asked for", "clock reached", "seed", "LUT", "FF", "DSP", "block RAM"]


def percent(cell):
    return f"{cell['used']} ({100 * cell['used'] / cell['available']:.0f} %)"


def row(name, result):
    summary = result.get("summary", {})
    synthesis = result.get("synthesis") or summary["synthesis"]
    machine = synthesis["machine"]
    cells = {cell["name"]: cell for cell in synthesis["cells"]}
    grid = f"{machine['pus']} x {machine['pes_per_pu']}, {machine['word']} bit, accumulators of {machine['accumulator']}"
    if summary:
        slowest = min(summary["clocks"], key=lambda clock: clock["achieved_mhz"] / clock["constraint_mhz"])
        clock = [f"{summary['clock_mhz']:g} MHz", f"{slowest['achieved_mhz']:.2f} MHz", str(summary["seed"])]
    else:
        clock = ["-", "yosys only", "-"]
    return [name, synthesis["part"], grid, *clock, *(percent(cells[cell]) for cell in ("LUT", "FF", "DSP", "BRAM"))]


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
            rows[name] = [name, "-", f"no bitstream: {message}"] + ["-"] * (len(COLUMNS) - 3)
    lines = [f"| {' | '.join(COLUMNS)} |", re.sub(r"[^|]+", "---", f"|{'|'.join(COLUMNS)}|")]
    lines += [f"| {' | '.join(fields)} |" for _, fields in sorted(rows.items())]
    PAGE.write_text(HEAD + "\n".join(lines) + "\n")


main()
