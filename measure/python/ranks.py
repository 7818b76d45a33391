"""Ranks as threads and as processes of MPI: the same bits, also on boards and by the Python driver of a ZCU102; what happens to a rank that is killed, hangs or
differs; and how much faster two are than one.

    cargo measure ranks                 everything; the tables of docs/quality/ranks.txt
    cargo measure ranks PART...         only these, without writing: bits cycles rtl boards drivers kills faults scaling

Needs what scripts/setup --mpi installs; takes half an hour. Whatever is not as docs/ranks.md says ends it with an error.
"""

import hashlib
import json
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/quality/ranks.txt"
TOOL = ROOT / "target/ranks/tabla-gen"
CASES = {
    "logistic": ["programs/logistic.t", "--data", "examples/breast_cancer.csv"],
    "digits": ["programs/backpropagation.t", "--data", "examples/digits.csv"],
}
BATCH = ["--batch", "256"]
RANKS = [1, 2, 3, 4, 8]
KILLS, SEED = 20, 22
# What is trained on one rank and on two: arguments, copies of the data, batch, epochs. Of 1,437 samples that train the largest batch has nearly all, 22 tiles of 64.
SCALING = [
    *[("digits", [], 1, batch, 40) for batch in [256, 512, 1024, 1408]],
    ("digits, 128 hidden units", ["--set", "l2=129"], 1, 1408, 100),
    ("digits, each sample four times", [], 4, 5632, 100),
]
TURNS = 3
# No rank that is lost may be waited for longer.
MOST_SECONDS = 30


def build():
    """The program with MPI, beside the one without."""
    subprocess.run(["cargo", "build", "--quiet", "--locked", "--features", "mpi"], cwd=ROOT, check=True)
    TOOL.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "target/debug/tabla-gen", TOOL)


def mpirun(ranks):
    """More ranks than cores, also in a container."""
    return ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks)]


def command(how, ranks, arguments):
    """Train with ranks of a kind."""
    if how == "MPI":
        return [*mpirun(ranks), str(TOOL), "train", *arguments, "--ranks"]
    return [str(TOOL), "train", *arguments, *([f"--ranks={ranks}"] if ranks else [])]


def run(line):
    """What a command has said."""
    return subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=3600)


def done(line):
    ran = run(line)
    if ran.returncode:
        sys.exit(f"measure ranks: {' '.join(line)}: exit code {ran.returncode}\n{ran.stdout}{ran.stderr}")
    return ran


def weights(model):
    """The hash of the weights of a model file, and the whole file."""
    text = model.read_text()
    kept = json.dumps(json.loads(text)["model"], sort_keys=True)
    return hashlib.sha256(kept.encode()).hexdigest()[:16], text


def expect(holds, says):
    if not holds:
        sys.exit(f"measure ranks: {says}")


def bits(folder):
    """The same weights on every number of ranks."""
    lines = ["| program | engine | ranks | threads | MPI |", "|---|---|---|---|---|"]
    for case, program in CASES.items():
        for engine in ["fixed", "array"]:
            model = folder / "model.json"
            training = [*program, *BATCH, "--epochs", "3", "--engine", engine, "--save", str(model), "--quiet"]
            done(command("threads", None, training))
            alone, whole = weights(model)
            lines.append(f"| {case} | {engine} | none | `{alone}` | |")
            for ranks in RANKS:
                row = []
                for how in ["threads", "MPI"]:
                    model.unlink()
                    done(command(how, ranks, training))
                    kept, text = weights(model)
                    expect(text == whole, f"{case} on {engine}: another model on {ranks} ranks ({how}) than on none")
                    row.append(f"`{kept}`")
                lines.append(f"| {case} | {engine} | {ranks} | {row[0]} | {row[1]} |")
                print(lines[-1], flush=True)
    return lines


def boards(folder):
    """Simulated boards behind their links, a process for each: the weights of one process in fixed point."""
    model = folder / "model.json"
    # A network with 5 hidden units, so that little goes over the lines.
    cases = {"logistic": CASES["logistic"], "digits, 5 hidden units": [*CASES["digits"], "--set", "l2=6"]}
    training = ["--limit", "330", *BATCH, "--epochs", "2", "--machine", "pus=4", "--machine", "pes_per_pu=4", "--save", str(model), "--quiet"]
    shared = ["--machine", "partial_sums=true", "--ranks", "--port", "simulated,simulated"]
    lines = ["| program | one process, fixed | 2 simulated boards (MPI) |", "|---|---|---|"]
    for case, program in cases.items():
        done([str(TOOL), "train", *program, *training, "--engine", "fixed"])
        expected, _ = weights(model)
        model.unlink()
        done([*mpirun(2), str(TOOL), "run", *program, *training, *shared])
        kept, _ = weights(model)
        expect(kept == expected, f"{case}: other weights on two boards than on none")
        lines.append(f"| {case} | `{expected}` | `{kept}` |")
        print(lines[-1], flush=True)
    rom = folder / "rom.toml"
    rom.write_text('[machine]\npartial_sums = true\n[build]\nmicrocode = "rom"\n')
    for what, arguments, expected in [
        ("a program that is part of the boards", [*shared, "--config", str(rom)], 'microcode = "ram"'),
        ("two ports for three ranks", shared, "3 ranks need a port each"),
        ("a grid that keeps its sums", shared[2:], "partial_sums = true"),
    ]:
        ran = run([*mpirun(3 if "three" in what else 2), str(TOOL), "run", *CASES["logistic"], *training, *arguments])
        told = [line for line in ran.stderr.splitlines() if expected in line]
        expect(ran.returncode == 2 and len(told) == 1, f"{what}: exit code {ran.returncode}\n{ran.stderr}")
    return lines


# Two batches of the digits network are what Verilog trains in a minute.
SHORT = {"logistic": [*CASES["logistic"], "--epochs", "3"], "digits": [*CASES["digits"], "--epochs", "1", "--limit", "640"]}


def cycles(_):
    """What it costs that sums leave and come back through the streams of a grid."""
    lines = ["| ranks | " + " | ".join(f"{case}, sums for nothing | with `partial_sums`" for case in SHORT) + " |", "|---" * 5 + "|"]
    for ranks in [1, 2, 3, 4]:
        row = []
        for program in SHORT.values():
            for more in [[], ["--machine", "partial_sums=true"]]:
                said = done(command("threads", ranks, [*program, *BATCH, "--engine", "array", *more, "--format", "json", "--quiet"])).stdout
                row.append(f"{json.loads(said)['cycles']:,}")
        lines.append(f"| {ranks} | " + " | ".join(row) + " |")
        print(lines[-1], flush=True)
    return lines


def rtl(folder):
    """Verilog that hands out the sums of a batch: the weights of one process in fixed point."""
    model = folder / "model.json"
    lines = ["| program | one process, fixed | rtl, 1 rank | 2 ranks | 4 ranks |", "|---" * 5 + "|"]
    for case, program in SHORT.items():
        training = [*program, *BATCH, "--save", str(model), "--quiet"]
        done(command("threads", None, [*training, "--engine", "fixed"]))
        row = [expected := weights(model)[0]]
        for ranks in [1, 2, 4]:
            model.unlink()
            done(command("threads", ranks, [*training, "--engine", "rtl", "--machine", "partial_sums=true"]))
            row.append(weights(model)[0])
            expect(row[-1] == expected, f"{case} on rtl: other weights on {ranks} ranks than on none")
        lines.append(f"| {case} | " + " | ".join(f"`{kept}`" for kept in row) + " |")
        print(lines[-1], flush=True)
    return lines


def drivers(_):
    """The Python drivers of two and three ZCU102, with arrays in the place of the boards: tests/zynq/ranks.rs, where mpi4py connects them."""
    done(["scripts/setup", "--mpi"])
    python = done(["scripts/setup", "--print", "--mpi"]).stdout.strip() + "/bin/python3"
    line = ["cargo", "test", "--quiet", "--locked", "--workspace", "--exclude", "tabla-gen-python", "--test", "zynq", "ranks::"]
    ran = subprocess.run(line, cwd=ROOT, env={**os.environ, "TABLA_MPI_PYTHON": python}, capture_output=True, text=True)
    expect(ran.returncode == 0 and "2 passed" in ran.stdout, f"the drivers differ, or do not end:\n{ran.stdout}{ran.stderr}")


def ranks_of(job):
    """Process ids of the ranks that mpirun has started, by rank."""
    found = {}
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1]) == job.pid:
                said = dict(word.split("=", 1) for word in (entry / "environ").read_text().split("\0") if "=" in word)
                found[int(said["OMPI_COMM_WORLD_RANK"])] = int(entry.name)
        except (OSError, KeyError, ValueError, IndexError):
            continue
    return found


def lives(pid):
    """Whether a process does anything; one that nobody has asked how it ended does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def strikes(line, rank, seconds, what):
    """Start ranks, send one of them a signal after so many seconds. What was said, and how long it took until all ranks had ended; nothing if they had before."""
    with tempfile.TemporaryFile("w+") as said:
        job = subprocess.Popen(line, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=said)
        begin = time.monotonic()
        pids = {}
        while job.poll() is None and (time.monotonic() - begin < seconds or rank not in pids):
            time.sleep(0.005)
            if rank not in pids:
                pids = ranks_of(job)
        try:
            os.kill(pids[rank], what)
        except (KeyError, ProcessLookupError):
            job.wait()
            return None
        struck = time.monotonic()
        try:
            job.wait(timeout=2 * MOST_SECONDS)
        except subprocess.TimeoutExpired:
            for pid in pids.values():
                os.kill(pid, signal.SIGKILL)
            job.kill()
            job.wait()
        expect(job.returncode != 0, "mpirun says that all is well although a rank was struck")
        while any(map(lives, pids.values())) and time.monotonic() - struck < 2 * MOST_SECONDS:
            time.sleep(0.01)
        took = time.monotonic() - struck
        said.seek(0)
        return said.read(), took


def kills(folder):
    """A rank is killed at random moments; one that is stopped hangs."""
    chosen = random.Random(SEED)
    model, checkpoint = folder / "model.json", folder / "c.json"
    training = [*CASES["digits"], *BATCH, "--epochs", "40", "--engine", "fixed", "--quiet"]
    begin = time.monotonic()
    done([*command("MPI", 3, training), "--save", str(model), "--checkpoint", str(checkpoint)])
    whole, (_, expected) = time.monotonic() - begin, weights(model)
    print(f"whole training: {whole:.1f} s", flush=True)
    lines = ["| rank of 3 | struck by | after s | ended after s | epochs kept, real numbers and words | goes on with | same bits |", "|---|---|---|---|---|---|---|"]
    blows = [signal.SIGKILL] * KILLS + [signal.SIGSTOP] * 2
    while blows:
        rank, moment = chosen.randrange(3), chosen.uniform(0, whole)
        checkpoint.unlink(missing_ok=True)
        model.unlink(missing_ok=True)
        struck = strikes([*command("MPI", 3, training), "--save", str(model), "--checkpoint", str(checkpoint)], rank, moment, blows[0])
        if struck is None:
            print(f"rank {rank} had ended before {moment:.1f} s: another moment", flush=True)
            continue
        blow = blows.pop(0)
        said, took = struck
        expect(took <= MOST_SECONDS, f"rank {rank} was struck by {blow.name}, and {took:.1f} s later the others still waited")
        kept = "none"
        go_on = ["--checkpoint", str(checkpoint)]
        if checkpoint.exists():
            reached = json.loads(checkpoint.read_text())
            kept = f"{reached['golden']['epochs']}, {(reached['lower'] or {'epochs': 0})['epochs']}"
            go_on = ["--resume", str(checkpoint)]
        how, ranks = chosen.choice([("MPI", 1), ("MPI", 2), ("MPI", 4), ("threads", 2), ("threads", None)])
        model.unlink(missing_ok=True)
        done([*command(how, ranks, training), "--save", str(model), *go_on])
        expect(weights(model)[1] == expected, f"other weights after {kept} epochs and {ranks} ranks ({how})")
        with_whom = f"{ranks} ({how})" if ranks else "no ranks"
        lines.append(f"| {rank} | {blow.name} | {moment:.1f} | {took:.1f} | {kept} | {with_whom} | yes |")
        print(lines[-1], flush=True)
        if blow == signal.SIGSTOP:
            # One that hangs before it has begun is missed where MPI begins.
            told = [f"waits for rank {rank}, which has ended or hangs", "the ranks of MPI's world have not all begun within"]
            expect(any(text in said for text in told), f"it was not said that rank {rank} hangs: {said}")
    return lines


def faults(folder):
    """A rank that differs or cannot begin: one error, soon."""
    other = folder / "other.csv"
    rows = (ROOT / "examples/breast_cancer.csv").read_text().splitlines()
    other.write_text("\n".join(rows[:-1]) + "\n")
    version = re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)[1]
    newer = folder / "newer"
    # The same program, which believes that it is another version.
    newer.write_bytes(TOOL.read_bytes().replace(version.encode(), (version[:-1] + "9").encode()))
    newer.chmod(0o755)
    kept = []
    for seed in [1, 2]:
        kept.append(folder / f"kept{seed}.json")
        done([*command("threads", 2, [*CASES["logistic"], *BATCH, "--epochs", str(seed), "--engine", "fixed", "--quiet"]), "--checkpoint", str(kept[-1])])
    logistic = [*CASES["logistic"], *BATCH, "--epochs", "3", "--engine", "fixed", "--ranks"]
    data = [CASES["logistic"][0], "--data", str(other), *logistic[3:]]
    missing = [CASES["logistic"][0], "--data", str(folder / "none.csv"), *logistic[3:]]
    cases = [
        ("another setting", TOOL, [*logistic, "--reduction", "sum"], "rank 1 is about another training: reduction is sum, mean on rank 0"),
        ("another seed", TOOL, [*logistic, "--seed", "2"], "rank 1 is about another training: data is "),
        ("other data", TOOL, data, "rank 1 is about another training: data is "),
        ("another program", TOOL, ["programs/svm.t", *logistic[1:]], "rank 1 "),
        ("another version", newer, logistic, f"rank 1 is about another training: tabla-gen is {version[:-1]}9, {version} on rank 0"),
        ("data that are not there", TOOL, missing, "rank 1 has failed: cannot read "),
        ("another checkpoint", TOOL, [*logistic, "--resume", str(kept[1])], "rank 1 is about another training: checkpoint is "),
    ]
    lines = ["| rank 1 of 3 has | said | exit code | s |", "|---|---|---|---|"]
    for what, tool, arguments, expected in cases:
        first = [*logistic, "--resume", str(kept[0])] if what == "another checkpoint" else logistic
        line = [*mpirun(1), str(TOOL), "train", *first, ":", "-n", "1", str(tool), "train", *arguments, ":", "-n", "1", str(TOOL), "train", *first]
        begin = time.monotonic()
        ran = run(line)
        took = time.monotonic() - begin
        expect(ran.returncode not in (0, 101) and took < MOST_SECONDS, f"{what}: exit code {ran.returncode} after {took:.1f} s\n{ran.stderr}")
        told = [line for line in ran.stderr.splitlines() if "rror: " in line or re.search(r"^\W*(\[.*\] )?Error", line) or expected in line]
        expect(sum(expected in line for line in told) == 1, f"{what}: not said once: {expected}\n{ran.stderr}")
        text = re.sub(r"[0-9a-f]{16}", "HASH", next(line for line in told if expected in line)).replace(str(folder), "").strip()
        lines.append(f"| {what} | {text} | {ran.returncode} | {took:.1f} |")
        print(lines[-1], flush=True)
    return lines


def measured(line):
    """What a command has said, its seconds, and the processor's seconds of it and of all that it has started."""
    with tempfile.TemporaryFile("w+") as said:
        begin = time.monotonic()
        job = subprocess.Popen(line, cwd=ROOT, stdout=said, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(job.pid, 0)
        seconds = time.monotonic() - begin
        expect(status == 0, f"{' '.join(line)} fails")
        said.seek(0)
        return said.read(), seconds, used.ru_utime + used.ru_stime


def scaling(folder):
    """Cycles and seconds on one rank beside those on two, in turns."""
    head = "| network | batch | ranks | cycles in all | against one rank | seconds | against one rank | seconds of a processor for each rank | against one rank |"
    lines = [head, "|---" * 9 + "|"]
    data = ROOT / CASES["digits"][2]
    names, *rows = data.read_text().splitlines()
    for network, more, copies, batch, epochs in SCALING:
        copied = folder / f"{copies}.csv"
        copied.write_text("\n".join([names, *rows * copies]) + "\n")
        cycles, runs = {}, {1: [], 2: []}
        for _ in range(TURNS):
            for ranks, all_runs in runs.items():
                training = [CASES["digits"][0], *more, "--data", str(copied), "--batch", str(batch), "--epochs", str(epochs)]
                said, seconds, processor = measured(command("threads", ranks, [*training, "--engine", "array", "--format", "json", "--quiet"]))
                all_runs.append((seconds, processor / ranks))
                cycles[ranks] = json.loads(said)["cycles"]
        medians = {ranks: [statistics.median(run[kind] for run in all_runs) for kind in (0, 1)] for ranks, all_runs in runs.items()}
        for ranks, (seconds, processor) in medians.items():
            times = [cycles[1] / cycles[ranks], *(one / other for one, other in zip(medians[1], medians[ranks]))]
            cells = [f"{cycles[ranks]:,}", f"{times[0]:.2f}", f"{seconds:.1f}", f"{times[1]:.2f}", f"{processor:.2f}", f"{times[2]:.2f}"]
            lines.append(f"| {network} | {batch} | {ranks} | " + " | ".join(cells) + " |")
            print(lines[-1], flush=True)
    return lines


PARTS = {"bits": bits, "cycles": cycles, "rtl": rtl, "boards": boards, "drivers": drivers, "kills": kills, "faults": faults, "scaling": scaling}


def main():
    unknown = set(sys.argv[1:]) - PARTS.keys()
    if unknown:
        sys.exit(f"measure ranks: no part {', '.join(sorted(unknown))}; {', '.join(PARTS)}")
    if not shutil.which("mpirun"):
        sys.exit("measure ranks: run scripts/setup --mpi first")
    build()
    tables = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in sys.argv[1:] or PARTS:
            lines = PARTS[name](Path(folder))
            if lines:
                tables[name] = "\n".join(lines)
    if sys.argv[1:]:
        return
    page = PAGE.read_text()
    for name, table in tables.items():
        before, rest = page.split(f"<!-- {name} -->\n")
        page = f"{before}<!-- {name} -->\n{table}\n<!-- end {name} -->{rest.split(f'<!-- end {name} -->')[1]}"
    PAGE.write_text(page)


if __name__ == "__main__":
    main()
