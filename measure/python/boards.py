"""Write docs/tables/boards.txt from the results that cargo measure boards left in out/boards; rows without one stay."""

import json
import re
import statistics
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
    "goal",
    "clock asked for",
    "median",
    "best",
    "worst",
    "LUT",
    "FF",
    "DSP",
    "block RAM",
    "longest way of the median",
]
# Seeds of a median.
SEEDS = 5
# MHz, of the median.
GOALS = {
    ("ulx3s", "logistic"): 115,
    ("ulx3s", "digits"): 105,
    ("ulx3s-25f", "logistic"): 115,
    ("icebreaker", "logistic"): 24,
    ("tangnano9k", "logistic"): 60,
}


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


def goal(key, median):
    if key not in GOALS:
        return "-"
    return f"{GOALS[key]} MHz" + ("" if median is not None and median >= GOALS[key] else ", MISSED")


def clocks(key, folder):
    """Goal, clock asked for, median, best and worst of the seeds, longest way; seeds that have no place count as missing."""
    tried = sorted(folder.glob("place-*.json"))
    files = {file: json.loads(file.read_text()) for file in sorted(folder.glob("synth/fpga/seed-*/report.json"))}
    if not tried:
        return [goal(key, None) if key in GOALS else "-", "-", "yosys only", "-", "-"], "-"
    if not files:
        return [goal(key, None), "-", f"no place with {len(tried)} seeds", "-", "-"], "-"
    ranked = sorted(files.values(), key=slowest)
    reached = [slowest(report)[0] for report in ranked]
    median = statistics.median_low(reached)
    lost = len(tried) - len(files)
    worst = f"{reached[0]:.2f} MHz" + (f", {lost} of {len(tried)} seeds without a place" if lost else "")
    asked = f"{slowest(ranked[0])[1]:g} MHz"
    few = "" if len(tried) >= SEEDS else f" of {len(tried)} seed" + "s" * (len(tried) > 1)
    way = longest_way(ranked[reached.index(median)])
    return [goal(key, None if lost else median), asked, f"{median:.2f} MHz{few}", f"{reached[-1]:.2f} MHz", worst], way


def row(key, result, folder):
    synthesis = result["synthesis"]
    machine = synthesis["machine"]
    cells = {cell["name"]: cell for cell in synthesis["cells"]}
    grid = f"{machine['pus']} x {machine['pes_per_pu']}, {machine['word']} bit, accumulators of {machine['accumulator']}"
    reached, way = clocks(key, folder)
    taken = (percent(cells[cell]) for cell in ("LUT", "FF", "DSP", "BRAM"))
    return [*key, synthesis["part"], grid, *reached, *taken, way]


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
        if "synthesis" in result:
            rows[key] = row(key, result, file.parent)
        elif result.get("diagnostics"):
            # What failed takes the place of what was there.
            wrong = result["diagnostics"][0]
            message = wrong["message"].replace("\n", " ").replace("|", "/")
            what = "does not fit" if wrong["code"] == "E-BACKEND" else "failed"
            failed = [*key, "-", f"{what}: {message}", goal(key, None)]
            rows[key] = failed + ["-"] * (len(COLUMNS) - len(failed))
    placed = table(COLUMNS, (fields for _, fields in sorted(rows.items())))
    PAGE.write_text(above + begin + placed + end + below)


main()
