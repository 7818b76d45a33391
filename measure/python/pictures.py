"""Draw the pictures of docs/pictures: the machine, a processing engine, the flow, the board, a timeline of two steps, and dies.

    cargo measure pictures                    all but the dies, with target/debug/tabla-gen (or TABLA_GEN) for the timeline
    cargo measure pictures --to FOLDER        the same, elsewhere
    cargo measure pictures dies CONFIG...     docs/pictures/die-CONFIG.svg: place and route of configs/CONFIG.toml, minutes each

The drawings are SVG, in light and dark; what they show comes from docs/machine.md and from `explain`. A die is drawn by `bitstream`: that PUs lie
beside each other, and where the sequencer is, was found by nextpnr.
"""

import json
import os
import shutil
import subprocess
import sys
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "pictures"

STYLE = """
svg { font: 13px sans-serif; }
text { fill: #1c2733; } .small { font-size: 11px; } .quiet { fill: #5a6b7b; } .head { font-weight: 600; }
.box { stroke: #45586b; stroke-width: 1; }
.pe { fill: #d7e9fb; } .pad { fill: #fff3d1; } .tree { fill: #dff3df; } .root { fill: #f9dfe3; } .bus { fill: #eadffb; }
.load { fill: #d9f1f3; } .control { fill: #e8ebee; } .frame { fill: none; stroke-dasharray: 4 3; }
.wire { stroke: #45586b; stroke-width: 1.3; fill: none; } .tip { fill: #45586b; } .grid { stroke: #c8d1da; stroke-width: 1; }
@media (prefers-color-scheme: dark) {
  text { fill: #e7edf3; } .quiet { fill: #9fb0c0; } .box { stroke: #9fb0c0; } .wire { stroke: #9fb0c0; } .tip { fill: #9fb0c0; } .grid { stroke: #3a4857; }
  .pe { fill: #1f3d5c; } .pad { fill: #4f4420; } .tree { fill: #23472c; } .root { fill: #59293a; } .bus { fill: #3f2f5f; } .load { fill: #1d4a50; } .control { fill: #36404a; }
}
"""


class Picture:
    """An SVG that grows to what is drawn on it."""

    def __init__(self, title):
        self.title, self.parts, self.width, self.height = title, [], 0, 0

    def reach(self, x, y):
        self.width, self.height = max(self.width, x), max(self.height, y)

    def box(self, x, y, width, height, kind, lines=(), title=None):
        """A box with centred lines of text; the first is its head."""
        self.reach(x + width, y + height)
        hover = f"<title>{escape(title)}</title>" if title else ""
        self.parts.append(f'<rect class="box {kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="3">{hover}</rect>')
        top = y + height / 2 - 7.5 * (len(lines) - 1) + 4.5
        for number, line in enumerate(lines):
            self.text(x + width / 2, top + 15 * number, line, "middle", "head" if number == 0 and len(lines) > 1 else "small")

    def text(self, x, y, text, anchor="start", kind=""):
        self.parts.append(f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" class="{kind}">{escape(text)}</text>')
        self.reach(x + (7 * len(text) if anchor == "start" else 0), y + 4)

    def wire(self, *points, tip=True):
        """A line through points, with an arrow at its end."""
        for x, y in points:
            self.reach(x, y)
        self.parts.append('<path class="wire" d="M' + " L".join(f"{x:g} {y:g}" for x, y in points) + '"/>')
        if tip:
            (ax, ay), (bx, by) = points[-2:]
            length = ((bx - ax) ** 2 + (by - ay) ** 2) ** 0.5
            dx, dy = (bx - ax) / length, (by - ay) / length
            back = [(bx - 7 * dx - 3.5 * dy, by - 7 * dy + 3.5 * dx), (bx - 7 * dx + 3.5 * dy, by - 7 * dy - 3.5 * dx)]
            self.parts.append(f'<path class="tip" d="M{bx:g} {by:g} ' + " ".join(f"L{x:g} {y:g}" for x, y in back) + ' Z"/>')

    def write(self, name):
        width, height = self.width + 12, self.height + 12
        text = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-6 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" role="img">'
        text += f"<title>{escape(self.title)}</title><style>{STYLE}</style>\n" + "\n".join(self.parts) + "\n</svg>\n"
        (FOLDER / name).write_text(text)


def machine():
    """The grid as docs/machine.md has it, with 3 PUs of 4 PEs."""
    p = Picture("The machine: a grid of processing engines, trees, roots, buses, loader, sequencer")
    rows, columns, left, top = 3, 4, 150, 60
    p.box(left, 12, 4 * 92 - 12, 30, "control", ["sequencer: alu, root, move and load streams; run control"])
    tree, root = left + columns * 92 + 10, left + columns * 92 + 100
    for r in range(rows):
        y = top + r * 92
        p.box(left - 10, y, columns * 92 + 8, 78, "frame")
        p.text(left - 2, y + 13, f"PU {r}", kind="small quiet")
        for c in range(columns):
            p.box(left + c * 92, y + 18, 80, 50, "pe", [f"PE {r}, {c}", "pads,", "multiply, sum"])
        p.box(tree, y + 18, 70, 50, "tree", ["row tree", "log2 C levels"])
        p.box(root, y + 18, 96, 50, "root", ["row root", "round, table,", "divide"])
        p.wire((left + columns * 92 - 12, y + 35), (tree, y + 35))
        p.wire((tree + 70, y + 35), (root, y + 35))
        # The row bus goes back to all PEs of the row.
        p.wire((root + 48, y + 68), (root + 48, y + 83), (left + 40, y + 83), (left + 40, y + 68))
        p.text(tree + 14, y + 80, "row bus", kind="small quiet")
    bottom = top + rows * 92
    middle = top + 92 + 43
    right = root + 150
    p.box(right, middle - 40, 84, 80, "tree", ["global tree", "log2 R levels"])
    for r in range(rows):
        y = top + r * 92 + 27
        p.wire((tree + 35, y - 9), (tree + 35, y - 13), (root + 118, y - 13), (root + 118, middle - 20 + 20 * r), (right, middle - 20 + 20 * r))
    p.box(right + 110, middle - 25, 100, 50, "root", ["global root", "round, table,", "divide"])
    p.wire((right + 84, middle), (right + 110, middle))
    p.box(right + 110, bottom - 30, 100, 34, "load", ["output FIFO"])
    p.wire((right + 42, middle + 40), (right + 42, bottom - 13), (right + 110, bottom - 13))
    p.wire((right + 160, middle + 25), (right + 160, middle + 55), (right + 20, middle + 55), (right + 20, bottom + 22), (left + 60, bottom + 22), (left + 60, bottom - 14))
    p.text(left + 130, bottom + 17, "global bus: results into the pads of any PEs", kind="small quiet")
    p.wire((right + 210, bottom - 13), (right + 250, bottom - 13))
    p.text(right + 216, bottom - 20, "stream out", kind="small")
    p.box(22, middle - 30, 96, 60, "load", ["loader", "lanes to PEs,", "2 banks"])
    p.text(0, middle - 38, "stream in: S words", kind="small")
    p.wire((0, middle), (22, middle))
    for r in range(rows):
        p.wire((118, middle), (128, middle), (128, top + r * 92 + 43), (left - 10, top + r * 92 + 43))
    p.write("machine.svg")


def engine():
    """A processing engine by cycles."""
    p = Picture("A processing engine, cycle by cycle")
    columns = {0: 20, 1: 130, 2: 258, 3: 382, 4: 512, 5: 652, 7: 790}
    for cycle, x in columns.items():
        p.text(x + 45, 14, f"t+{cycle}" if cycle else "t", "middle", "head")
    for x in (124, 250, 374, 504, 644, 782):
        p.wire((x, 24), (x, 262), tip=False)
    for number, name in enumerate(["model", "data (2 banks)", "t0", "t1"]):
        p.box(20, 34 + 46 * number, 92, 34, "control", ["address"])
        p.box(132, 34 + 46 * number, 100, 34, "pad", [name])
        p.wire((112, 51 + 46 * number), (132, 51 + 46 * number))
        p.wire((232, 51 + 46 * number), (262, 51 + 46 * number))
    p.box(262, 34, 92, 172, "pe", ["select", "a, b: products", "c: start", "mask: else 0"])
    p.wire((354, 75), (390, 75))
    p.wire((354, 165), (390, 165))
    p.box(390, 50, 96, 50, "pe", ["a * b", "2 W bits"])
    p.box(390, 140, 96, 50, "pe", ["c << align", "A bits"])
    p.wire((486, 75), (520, 95))
    p.wire((486, 165), (520, 145))
    p.box(520, 80, 104, 80, "pe", ["accumulator", "add, subtract,", "larger, smaller"])
    p.wire((624, 145), (634, 145), (634, 176), (572, 176), (572, 160))
    p.wire((624, 120), (658, 120))
    p.box(658, 90, 108, 60, "pe", ["shift, round,", "saturate", "t+5, t+6"])
    p.wire((766, 120), (796, 120))
    p.box(796, 95, 100, 50, "pad", ["result", "written; t+8 read"])
    p.wire((846, 145), (846, 246), (182, 246), (182, 206))
    p.text(420, 240, "to a pad of the same engine", kind="small quiet")
    p.box(658, 170, 108, 36, "tree", ["row tree, from t+5"])
    p.wire((634, 176), (658, 188))
    p.write("engine.svg")


def flow():
    """From a program to a board."""
    p = Picture("From a program to a verified accelerator")
    for number, name in enumerate(["TABLA", "Tensor Comprehensions", "Tile", "Rink's model language", "ONNX"]):
        p.box(0, 8 + 40 * number, 150, 30, "control", [name])
        p.wire((150, 23 + 40 * number), (190, 103))
    stages = [("tensor", "index expressions"), ("canonical", "rewritten"), ("fixed", "formats, shifts"), ("placed", "axes of the grid"), ("jobs", "vector operations"), ("scheduled", "cycles, addresses"), ("image", "microcode")]
    for number, (name, what) in enumerate(stages):
        x = 190 + 124 * number
        p.box(x, 80, 106, 46, "pe", [name, what])
        if number:
            p.wire((x - 18, 103), (x, 103))
    checks = [(0, "golden", "real numbers"), (2, "fixed", "words"), (6, "array", "every cycle")]
    for number, name, what in checks:
        x = 190 + 124 * number
        p.box(x, 172, 106, 46, "tree", [name, what])
        p.wire((x + 53, 126), (x + 53, 172))
    for from_, to in ((0, 2), (2, 6)):
        p.wire((190 + 124 * from_ + 106, 195), (190 + 124 * to, 195))
        p.text(190 + 62 * (from_ + to) + 53, 188, "near" if from_ == 0 else "equal, word for word", "middle", "small quiet")
    x = 190 + 124 * 7
    p.box(x, 30, 116, 46, "load", ["Verilog", "grid, shell, ROMs"])
    p.box(x, 172, 116, 46, "tree", ["rtl", "Verilator, Icarus"])
    p.box(x, 104, 116, 46, "root", ["bitstream", "yosys, nextpnr"])
    p.wire((x - 18, 95), (x, 60))
    p.wire((x + 100, 76), (x + 100, 104))
    p.wire((x + 116, 53), (x + 132, 53), (x + 132, 195), (x + 116, 195))
    p.wire((x - 18, 195), (x, 195))
    p.text(x - 9, 230, "equal in every cycle", "middle", "small quiet")
    p.write("flow.svg")


def board():
    """What stands around the grid on a board."""
    p = Picture("A board: link, sample store, player, grid")
    p.box(0, 40, 110, 70, "control", ["host", "driver, or", "tabla-gen run"])
    p.box(170, 40, 110, 70, "load", ["link", "frames, CRC,", "replies"])
    p.wire((110, 62), (170, 62))
    p.wire((170, 90), (110, 90))
    p.text(140, 34, "UART, 10 bits a byte", "middle", "small quiet")
    p.box(340, 8, 120, 52, "pad", ["sample store", "block RAM"])
    p.box(340, 90, 120, 52, "control", ["control port", "registers, programs"])
    p.wire((280, 62), (310, 62), (310, 34), (340, 34))
    p.wire((280, 90), (310, 90), (310, 116), (340, 116))
    p.box(500, 8, 110, 52, "load", ["player", "batches, epochs"])
    p.wire((460, 34), (500, 34))
    p.box(660, 30, 130, 90, "pe", ["grid", "R x C engines"])
    p.wire((610, 34), (635, 34), (635, 60), (660, 60))
    p.wire((460, 116), (560, 116), (560, 100), (660, 100))
    p.wire((725, 120), (725, 166), (225, 166), (225, 110))
    p.text(470, 161, "results, weights after the training", "middle", "small quiet")
    p.write("board.svg")


def timeline():
    """Two steps of logistic regression on the grid of configs/tiny.toml, as `explain` has them."""
    tool = os.environ.get("TABLA_GEN", str(ROOT / "target" / "debug" / "tabla-gen"))
    command = [tool, "--config", str(ROOT / "configs" / "tiny.toml"), "--format", "json", "explain", str(ROOT / "programs" / "logistic.t")]
    told = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
    cycles, lanes = told["timeline"]["cycles"], told["timeline"]["lanes"]
    p = Picture(f"Two steps of logistic regression, {told['step_length']} cycles each")
    left, scale = 100, 820 / cycles
    for cycle in range(0, cycles + 1, 5):
        x = left + cycle * scale
        p.parts.append(f'<path class="grid" d="M{x:g} 20 V{30 + 34 * len(lanes):g}"/>')
        p.text(x, 14, str(cycle), "middle", "small quiet")
    kinds = {"loader": "load", "ALU": "pe", "trees": "tree", "row roots": "root", "global root": "root", "buses": "bus"}
    for number, lane in enumerate(lanes):
        y = 26 + 34 * number
        p.text(left - 10, y + 17, lane["unit"], "end", "small")
        for bar in lane["bars"]:
            x, width = left + bar["start"] * scale, max(2, (bar["end"] - bar["start"]) * scale - 1)
            p.box(round(x, 1), y, round(width, 1), 26, kinds.get(lane["unit"], "control"), title=f"cycles {bar['start']} to {bar['end']}: {bar['what']}")
    end = 30 + 34 * len(lanes)
    for step in told["timeline"]["steps"]:
        x = left + step * scale
        p.wire((x, 20), (x, end + 8), tip=False)
        p.text(x + 4, end + 12, f"step {told['timeline']['steps'].index(step)} begins", kind="small")
    p.write("timeline.svg")


def die(config):
    """What `bitstream` draws of logistic regression on a board."""
    tool = os.environ.get("TABLA_GEN", str(ROOT / "target" / "debug" / "tabla-gen"))
    out = ROOT / "out" / "dies" / config
    command = [tool, "--config", str(ROOT / "configs" / f"{config}.toml"), "bitstream", str(ROOT / "programs" / "logistic.t")]
    subprocess.run([*command, "--data", str(ROOT / "examples" / "breast_cancer.csv"), "--out", str(out)], cwd=ROOT, check=True)
    shutil.copy(out / "fpga" / "die.svg", FOLDER / f"die-{config}.svg")


def main():
    global FOLDER
    match sys.argv[1:]:
        case []:
            pass
        case ["--to", folder]:
            FOLDER = Path(folder)
        case ["dies", *configs] if configs:
            for config in configs:
                die(config)
            return None
        case _:
            sys.exit(__doc__)
    FOLDER.mkdir(exist_ok=True)
    for draw in (machine, engine, flow, board, timeline):
        draw()


if __name__ == "__main__":
    main()
