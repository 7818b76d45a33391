"""What used to run for minutes or to take all memory: each now ends within 2 s, or in E-LIMIT (or another refusal) within 1 s.

    cargo measure endless                     all of the table below, on a release build
    cargo measure endless NAME...             only these
    TABLA_GEN=path cargo measure endless      on a binary that is there already

Times are those of the processor (user and system), memory is the largest resident size. Prints a table; docs/robustness.md has one of these.
Exit code 1 if one takes longer, takes more than 1 GB, or ends in an exit code that is not documented.
"""

import hashlib
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WHOLE, REFUSED, BYTES = 2.0, 1.0, 1 << 30
HEAD = "mu = 0.01; m = 8; model_input x[m]; model_output y; model w[m]; gradient g[m] -> w; iterator i[0:m];\n"
TAIL = "d = h - y; g[i] = d * x[i];\n"
LOGISTIC, DATA = ROOT / "programs/logistic.t", ROOT / "examples/breast_cancer.csv"


def program(folder, statements, prediction="h"):
    (folder / "p.t").write_text(HEAD + statements + TAIL.replace("h -", f"{prediction} -"))
    (folder / "p.toml").write_text(f"[train]\nprediction = '{prediction}'\nloss = 'squared'\nepochs = 1\n")
    return ["build", "p.t", "--out", "out"]


def doubled(count, sign):
    def make(folder):
        lines = "".join(f"a{n + 1}[i] = a{n}[i] {sign} a{n}[i];\n" for n in range(count))
        return program(folder, f"a0[i] = w[i] * x[i];\n{lines}h = sum[i](a{count}[i]);\n")
    return make


def chain(count):
    def make(folder):
        return program(folder, "a0 = sum[i](w[i] * x[i]);\n" + "".join(f"a{n + 1} = a{n} * y;\n" for n in range(count)), f"a{count}")
    return make


def product(count):
    def make(folder):
        return program(folder, "h = sum[i](w[i] * x[i])" + " * y" * count + ";\n")
    return make


def live(count):
    """So many values that are all computed before the first is used."""
    def make(folder):
        lines = "".join(f"t{n}[i] = w[i] * x[i] * {n + 1}.5;\n" for n in range(count))
        return program(folder, lines + "h = sum[i](" + " + ".join(f"t{n}[i] * t{(n * 7 + 3) % count}[i]" for n in range(count)) + ");\n")
    return make


def inputs(count):
    return lambda folder: ["build", str(LOGISTIC), "--set", f"m={count}", "--out", "out"]


def columns(count):
    def make(folder):
        row = ",".join(["1"] * count)
        (folder / "d.csv").write_text(",".join(f"c{n}" for n in range(count)) + f"\n{row}\n{row}\n{row}\n")
        return ["train", str(LOGISTIC), "--data", "d.csv", "--epochs", "1", "--engine", "fixed"]
    return make


def train(*more):
    return ["train", str(LOGISTIC), "--data", str(DATA), "--epochs", "1", "--engine", "fixed", "--limit", "8", *more]


def device(*arguments):
    return lambda folder: list(arguments)


def shape(text):
    def make(folder):
        head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {text}, }}".ljust(117) + "\n"
        (folder / "d.npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        return ["train", str(LOGISTIC), "--data", "d.npy", "--epochs", "1", "--engine", "fixed"]
    return make


def packed(folder):
    """A gzip file of 2 MB that becomes 2 GB."""
    import zlib
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    with open(folder / "d.csv.gz", "wb") as file:
        for _ in range(2048):
            file.write(packer.compress(bytes(1 << 20)))
        file.write(packer.flush())
    return ["train", str(LOGISTIC), "--data", "d.csv.gz", "--epochs", "1", "--engine", "fixed"]


def checkpoint(change):
    """A checkpoint whose weights have another size, its hash made right."""
    def make(folder):
        subprocess.run([BINARY, *train("--checkpoint", "c.json")], cwd=folder, check=True, capture_output=True)
        # Numbers stay as they are written.
        number = lambda text: type("Written", (float,), {"__repr__": lambda self: text})(text)
        document = json.loads((folder / "c.json").read_text(), parse_float=number)
        del document["sha256"]
        for part in (document["golden"], document["lower"]):
            model = part["trained"]["model"]
            model["w"] = change(model["w"])
        document["sha256"] = hashlib.sha256(json.dumps(document, separators=(",", ":")).encode()).hexdigest()
        (folder / "c.json").write_text(json.dumps(document, separators=(",", ":")))
        return train("--resume", "c.json")
    return make


# Name, what it is, and what prepares a folder and says the arguments.
TABLE = [
    ("sums", "20 statements `a1[i] = a0[i] + a0[i]; ...` in a training", doubled(20, "+")),
    ("more_sums", "200 of them", doubled(200, "+")),
    ("squares", "20 statements `a1[i] = a0[i] * a0[i]; ...`", doubled(20, "*")),
    ("chain", "400 statements `a1 = a0 * y; ...`", chain(400)),
    ("short_chain", "240 of them, as many as are taken", chain(240)),
    ("product", "400 products in one expression", product(400)),
    ("short_product", "250 of them, as many as are taken", product(250)),
    ("live", "400 live temporaries", live(400)),
    ("some_live", "100 live temporaries", live(100)),
    ("inputs", "logistic regression with m = 1,000,000", inputs(1_000_000)),
    ("many_inputs", "m = 16,777,216", inputs(16_777_216)),
    ("most_inputs", "m = 4,294,967,296", inputs(4_294_967_296)),
    ("columns", "a CSV file of 200,000 columns", columns(200_000)),
    ("shape_zero", "a NPY file of 10^12 x 0", shape("(1000000000000, 0)")),
    ("shape_zero_first", "a NPY file of 0 x 10^12", shape("(0, 1000000000000)")),
    ("shape_overflow", "a NPY file whose extents overflow", shape("(4294967296, 4294967296)")),
    ("shape_wraps", "a NPY file whose extents multiply to 2^64", shape("(4294967296, 4294967296, 2)")),
    ("packed", "a gzip file of 2 MB that becomes 2 GB", packed),
    ("checkpoint_small", "a checkpoint whose weights are fewer", checkpoint(lambda w: w[:1])),
    ("checkpoint_large", "a checkpoint whose weights are more", checkpoint(lambda w: w + w)),
    ("checkpoint_none", "a checkpoint without weights", checkpoint(lambda w: [])),
    ("zero_program", "`/dev/zero` as program", device("check", "/dev/zero", "--lang", "t")),
    ("zero_data", "as data", device("train", str(LOGISTIC), "--data", "/dev/zero")),
    ("zero_model", "as model", device("predict", str(LOGISTIC), "--data", str(DATA), "--load", "/dev/zero")),
    ("zero_checkpoint", "as checkpoint", device(*train("--resume", "/dev/zero"))),
    ("zero_weights", "as weights", device(*train("--weights", "/dev/zero"))),
    ("zero_inputs", "as JSON inputs", device("eval", str(LOGISTIC), "--inputs", "/dev/zero")),
    ("zero_config", "as configuration", device("check", str(LOGISTIC), "--config", "/dev/zero")),
    ("zero_onnx", "as ONNX model", device("check", "/dev/zero", "--lang", "onnx")),
    ("zero_stage", "as text of a stage", device("ir", "--after", "fuse_maps", "--pass-input", "/dev/zero")),
]


def codes():
    text = (ROOT / "docs/command-line.md").read_text()
    return {int(code) for code in re.findall(r"^\| (\d+) \|", text, re.M)} - {101}


def measure(make):
    """Exit code, seconds, bytes and the first line that was said."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = make(Path(folder))
        with open(Path(folder) / "said", "wb") as said:
            child = subprocess.Popen([BINARY, *arguments], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said)
            # Slow machines may take long; what counts is the processor's time.
            ends = time.monotonic() + 600
            while True:
                pid, status, used = os.wait4(child.pid, os.WNOHANG)
                if pid:
                    break
                if time.monotonic() > ends:
                    child.kill()
                time.sleep(0.005)
        child.returncode = os.waitstatus_to_exitcode(status)
        text = re.sub(r"\x1b\[[0-9;]*m", "", (Path(folder) / "said").read_text(errors="replace"))
        lines = [line for line in text.splitlines() if re.match(r"\[?E-|error|tabla-gen", line)] or text.splitlines() or [""]
        return child.returncode, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, lines[0]


def main():
    global BINARY
    wanted = sys.argv[1:]
    unknown = set(wanted) - {name for name, *_ in TABLE}
    if unknown:
        sys.exit(f"measure endless: unknown: {', '.join(sorted(unknown))}")
    if "TABLA_GEN" in os.environ:
        BINARY = str(Path(os.environ["TABLA_GEN"]).resolve())
    else:
        subprocess.run(["cargo", "build", "--release", "--locked", "--quiet"], cwd=ROOT, check=True)
        BINARY = str(ROOT / "target/release/tabla-gen")
    documented, failed = codes(), []
    print("| what | ends with | s | MB | says |\n|---|---|---|---|---|")
    for name, what, make in TABLE:
        if wanted and name not in wanted:
            continue
        code, seconds, size, said = measure(make)
        if code not in documented or seconds > (REFUSED if code else WHOLE) or size > BYTES:
            failed.append(name)
        said = said[:110].replace("|", "\\|")
        print(f"| {what} | {code} | {seconds:.2f} | {size / 1e6:.0f} | {said} |", flush=True)
    print(f"\nfailed: {', '.join(failed) or 'none'}", file=sys.stderr)
    sys.exit(1 if failed else 0)


main()
