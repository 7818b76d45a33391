"""Write docs/tables/boards.txt from the results that cargo measure boards left in out/boards; rows of other boards stay."""

import json
import re
from pathlib import Path

PAGE = Path("docs/tables/boards.txt")
# The table is between these lines; all other text is written by hand.
BEGIN = "<!-- measure boards -->\n"
END = "<!-- end of what `measure boards` writes -->\n"
COLUMNS = [
    "configuration",
    "program",
    "part",
    "grid",
    "sample store",
    "clock asked for",
    "reached",
    "LUT",
    "FF",
    "DSP",
    "block RAM",
    "longest way",
]


def percent(cell):
    if not cell['available']:
        return str(cell['used'])
    return f"{cell['used']} ({100 * cell['used'] / cell['available']:.0f} %)"


def longest_way(report):
    """From register to register: the blocks they are in, delay and how much of it is wires."""
    ways = report["critical_paths"]
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


def slowest(report):
    """MHz reached and asked for, of the clock that is the furthest behind."""
    clock = min(report["fmax"].values(), key=lambda clock: clock["achieved"] / clock["constraint"])
    return clock["achieved"], clock["constraint"]


def clocks(folder):
    """Clock asked for, the median that the seeds reached, its longest way; nothing where none has a place."""
    files = [json.loads(file.read_text()) for file in folder.glob("synth/fpga/seed-*/report.json")]
    if not files:
        return None
    ranked = sorted(files, key=slowest)
    reached, asked = slowest(ranked[(len(ranked) - 1) // 2])
    seeds = f", median of {len(files)} seeds" if len(files) > 1 else ""
    return [f"{asked:g} MHz", f"{reached:.2f} MHz{seeds}"], longest_way(ranked[(len(ranked) - 1) // 2])


def store(folder):
    """Rows of the store, as the log of the synthesis has them."""
    said = re.search(r"sample store: (\d+) rows of (\d+) words?( in the SDRAM)?", (folder / "synth.log").read_text())
    return f"{said[1]} rows of {said[2]} words{said[3] or ''}" if said else "none"


def row(key, result, folder):
    placed = clocks(folder)
    if placed is None:
        return None
    synthesis = result["synthesis"]
    machine = synthesis["machine"]
    cells = {cell["name"]: cell for cell in synthesis["cells"]}
    grid = f"{machine['pus']} x {machine['pes_per_pu']}, {machine['word']} bit, accumulators of {machine['accumulator']}"
    taken = (percent(cells[cell]) for cell in ("LUT", "FF", "DSP", "BRAM"))
    return [*key, synthesis["part"], grid, store(folder), *placed[0], *taken, placed[1]]


def table(columns, rows):
    lines = [f"| {' | '.join(columns)} |", re.sub(r"[^|]+", "---", f"|{'|'.join(columns)}|")]
    return "\n".join(lines + [f"| {' | '.join(fields)} |" for fields in rows]) + "\n"


def main():
    above, begin, rest = PAGE.read_text().partition(BEGIN)
    places, end, below = rest.partition(END)
    rows = {}
    for line in places.splitlines():
        fields = [field.strip() for field in line.strip("|").split("|")]
        if line.startswith("| ") and len(fields) == len(COLUMNS) and fields != COLUMNS:
            rows[tuple(fields[:2])] = fields
    for file in sorted(Path("out/boards").glob("*/*/results/*/synth.json")):
        result = json.loads(file.read_text())
        key = (file.parents[3].name, file.parents[2].name)
        # What has no place has no row.
        found = row(key, result, file.parent) if "synthesis" in result else None
        if found:
            rows[key] = found
        else:
            rows.pop(key, None)
    placed = table(COLUMNS, (fields for _, fields in sorted(rows.items())))
    PAGE.write_text(above + begin + placed + end + below)


main()
