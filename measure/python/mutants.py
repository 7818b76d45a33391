"""Mutation testing: changes one function or operator at a time, and asks which tests notice.

    cargo measure mutants                     what is not known yet, or survived, of all parts
    cargo measure mutants fpga data           of these parts: train data link grid fpga report verifiers
    cargo measure mutants --again fpga        also what is known to be caught
    cargo measure mutants --quick             by tests of libraries only: what they catch of it, after some were written
    cargo measure mutants --list              how many mutants each part has
    cargo measure mutants --page              none: write docs/quality/mutants.md of what is known

Deliberate faults (scripts/mutate) are few, and each was thought of; these are all that a rule makes: a body replaced by a constant, an operator by
another one, a match arm or a condition left out. cargo-mutants lists them. To compile once per mutant would take days: measure/mutants writes all of them
into one copy of the sources (target/mutants/copy), which is compiled once, and `TABLA_MUTANT` says which one is on. Those that the compiler refuses are
taken out first. A first run of each test records which mutants it reaches; a mutant is tried by the tests that reach it, quickest first, until one fails.

What comes out is kept in tests/mutants.json by the text of the mutant and a hash of its file without tests; docs/quality/mutants.md is written of it, with a score
per part and every survivor. tests/mutants.toml says of survivors why they are none: of what another test than those below watches, and of changes
that no input can tell from the original. cargo-mutants is pinned in this script, compiled once into target/mutants/tools.

Exit code 1 if a mutant survives that tests/mutants.toml does not name.
"""

import argparse
import concurrent.futures
import hashlib
import itertools
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VERSION = "27.1.0"
WORK = ROOT / "target" / "mutants"
COPY, TOOLS = WORK / "copy", WORK / "tools"
SCHEMATA, REACHED = ROOT / "measure/mutants", WORK / "reached.json"
RESULTS, ARGUED, PAGE = ROOT / "tests/mutants.json", ROOT / "tests/mutants.toml", ROOT / "docs/quality/mutants.md"

# Part, its files, and its package.
PARTS = {
    "train": (["sim/src/train/*.rs"], "sim"),
    "data": (["sim/src/data/*.rs"], "sim"),
    "link": (["sim/src/link/*.rs"], "sim"),
    "grid": (["sim/src/grid/*.rs", "sim/src/grid.rs"], "sim"),
    "fpga": (["fpga/src/*.rs", "fpga/src/**/*.rs"], "fpga"),
    "report": (["workbench/src/report/*.rs"], "workbench"),
    "verifiers": (["compiler/src/*/verify.rs"], "compiler"),
}
# The tests that are asked, by package: those of its library, and of these programs those that have one of the words in their names.
TESTS = {
    "sim": {"hardware": ["link::", "store::"]},
    "fpga": {"flow": [], "yosys": []},
    "compiler": {"verifier": [], "stages": []},
    "workbench": {},
    "tabla-gen": {
        "board": [], "commands": [], "described": [], "functions": [], "fuzz_corpus": [], "inputs": [], "learning": [], "odd_files": [], "performance": [],
        "saturation": [], "settings": [], "talk": [],
    },
}
CARGO = ["--locked", *(argument for package in TESTS for argument in ("-p", package))]
# Seconds: a test that takes longer is not asked; all mutants are tried by the quickest tests, those that survive by more, until these have taken so long.
LONGEST, QUICK, BUDGET = 120, 1, 150
# A mutant that allocates without end is caught by this.
MEMORY = 8 << 30
WORKERS = 2
# Verdicts on mutants that no test has noticed.
LIVING = ("survived", "unreached", "quick")
# As much as pays: each mutant is compiled once, and simulates little.
OPTIMISED = {"arch": 1, "compiler": 1, "hdl": 0, "sim": 1}


def environment(**more):
    """That of cargo and of tests in the copy."""
    return {**os.environ, "CARGO_TARGET_DIR": str(WORK / "build"), "CARGO_INCREMENTAL": "1", **more}


def tool():
    """cargo-mutants, compiled when it is not there."""
    program = TOOLS / "bin" / "cargo-mutants"
    if not program.exists():
        say(f"compiling cargo-mutants {VERSION}")
        quick = {"CARGO_PROFILE_RELEASE_OPT_LEVEL": "0", "CARGO_PROFILE_RELEASE_LTO": "off", "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16"}
        command = ["cargo", "install", "--quiet", "--locked", "--root", str(TOOLS), "--version", VERSION, "cargo-mutants"]
        subprocess.run(command, check=True, env={**os.environ, **quick})
    return program


def say(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


class Mutant:
    """One change. `name` is what cargo-mutants calls it but for the line, which moves when something above it does."""

    def __init__(self, number, part, listed, seen):
        self.number, self.part, self.file = number, part, listed["file"]
        self.name = re.sub(r"^\S+?:\d+:\d+: ", "", listed["name"])
        seen[self.file, self.name] += 1
        if seen[self.file, self.name] > 1:
            self.name += f" ({seen[self.file, self.name]})"
        self.key = f"{self.file}: {self.name}"
        start = listed["span"]["start"]
        self.place = (self.file, listed["genre"], start["line"], start["column"])

    def listed(self, replacement):
        file, genre, line, column = self.place
        return {"number": self.number, "file": file, "genre": genre, "line": line, "column": column, "replacement": replacement}


def mutants():
    """Every mutant of every part, and what the rewriter is told of it."""
    parts = {str(path.relative_to(ROOT)): part for part, (globs, _) in PARTS.items() for glob in globs for path in sorted(ROOT.glob(glob))}
    command = [tool(), "mutants", "--list", "--json"]
    for package in sorted({package for _, package in PARTS.values()}):
        command += ["--package", package]
    for file in parts:
        command += ["--file", file]
    answer = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    found, told, seen = [], {}, Counter()
    for listed in json.loads(answer):
        mutant = Mutant(len(found) + 1, parts[listed["file"]], listed, seen)
        found.append(mutant)
        told[mutant] = mutant.listed(listed["replacement"])
    return found, told


def identity(file):
    """Of what a file does: its text without the tests at its end."""
    text = (ROOT / file).read_text().split("\n#[cfg(test)]\nmod tests {")[0]
    return hashlib.sha256(text.encode()).hexdigest()[:12]


class Results:
    """Verdicts on mutants of files that are as they were: caught, survived, unreached, unviable, or why it cannot be tried.

    "quick" are those that survived the quickest tests and have not been tried by others.
    """

    def __init__(self, found):
        known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        self.files = {file: identity(file) for file in {mutant.file for mutant in found}}
        self.verdicts = {}
        for mutant in found:
            entry = known.get(mutant.file, {})
            if entry.get("hash") == self.files[mutant.file] and mutant.name in entry["mutants"]:
                self.verdicts[mutant.key] = entry["mutants"][mutant.name]
        self.found = found

    def __getitem__(self, mutant):
        return self.verdicts.get(mutant.key)

    def __setitem__(self, mutant, verdict):
        self.verdicts[mutant.key] = verdict

    def write(self):
        files = {}
        for mutant in self.found:
            if mutant.key in self.verdicts:
                entry = files.setdefault(mutant.file, {"hash": self.files[mutant.file], "mutants": {}})
                entry["mutants"][mutant.name] = self.verdicts[mutant.key]
        RESULTS.write_text(json.dumps(dict(sorted(files.items())), indent=1) + "\n")


def write_copy(found, told, results):
    """What git tracks, with all mutants in it that may compile; what has not changed keeps its time, so that it is not compiled again."""
    mutated = {mutant.file for mutant in found}
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    for name in filter(None, names):
        if name in mutated or not (ROOT / name).is_file():
            continue
        content = (ROOT / name).read_bytes()
        if name == "arch/src/lib.rs":
            content += b"\npub mod mutant;\n"
        put(COPY / name, content)
        shutil.copymode(ROOT / name, COPY / name)
    put(COPY / "arch/src/mutant.rs", (SCHEMATA / "src/mutant.rs").read_bytes())
    # What a mutant computes may be known when it is compiled, and wrong.
    for package in {package for _, package in PARTS.values()}:
        text = (ROOT / package / "src/lib.rs").read_bytes()
        put(COPY / package / "src/lib.rs", b"#![allow(warnings, arithmetic_overflow, overflowing_literals, unconditional_panic)]\n" + text)
    rewriter = ["cargo", "run", "--quiet", "--locked", "--manifest-path", SCHEMATA / "Cargo.toml", "--target-dir", WORK / "schemata", "--", ROOT, COPY]
    chosen = [told[mutant] for mutant in found if results[mutant] in (None, "caught", *LIVING)]
    refused = json.loads(subprocess.run(rewriter, check=True, input=json.dumps(chosen), stdout=subprocess.PIPE, text=True).stdout)
    for number, why in refused.items():
        results[found[int(number) - 1]] = f"not tried: {why}"


def put(place, content):
    if not place.is_file() or place.read_bytes() != content:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)


def enclosing(file, offset):
    """Number of the innermost mutant or place that is marked around a byte, and whether it is the place."""
    stack = []
    for mark in re.finditer(rb"/\*([<>])(\d+)(@?)\*/", (COPY / file).read_bytes()[:offset]):
        if mark[1] == b"<":
            stack.append((int(mark[2]), bool(mark[3])))
        else:
            stack.pop()
    return stack[-1] if stack else None


def compile_copy(found, told, results):
    """Take out what the compiler refuses, until it refuses nothing."""
    files = {mutant.file for mutant in found}
    at = defaultdict(list)
    for mutant in found:
        at[mutant.place].append(mutant)
    while True:
        write_copy(found, told, results)
        command = ["cargo", "check", *CARGO, "--keep-going", "--message-format", "json"]
        done = subprocess.run(command, cwd=COPY, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode == 0:
            return
        taken = 0
        for message in map(json.loads, done.stdout.splitlines()):
            if message["reason"] != "compiler-message" or message["message"]["level"] != "error":
                continue
            spans = sorted(message["message"]["spans"], key=lambda span: not span["is_primary"])
            where = [enclosing(span["file_name"], span["byte_start"]) for span in spans if span["file_name"] in files]
            where = next(filter(None, where), None)
            if where is None and spans:
                sys.exit(f"measure mutants: the copy does not compile, and by no mutant:\n{message['message']['rendered']}")
            if where:
                number, place = where
                mutant = found[number - 1]
                for other in at[mutant.place] if place else [mutant]:
                    if results[other] != "unviable":
                        results[other] = "not tried: the place does not compile with a choice in it" if place else "unviable"
                        taken += 1
        if not taken:
            sys.exit(f"measure mutants: the copy does not compile:\n{done.stderr}")
        results.write()
        say(f"{taken} mutants do not compile")


class Program:
    """A compiled file of tests."""

    def __init__(self, message):
        self.executable, self.folder = message["executable"], str(Path(message["manifest_path"]).parent)
        kind = message["target"]["kind"][0]
        package, target = Path(self.folder).name.replace(COPY.name, "tabla-gen"), message["target"]["name"]
        self.name = package if kind == "lib" else f"{package} {target}"
        self.words = [] if kind == "lib" else TESTS[package][target]

    def run(self, tests, limit, **more):
        """Whether these pass within so many seconds."""
        command = [self.executable, "--exact", "--quiet", "--test-threads", "1", *tests]
        variables = {**environment(**more), "CARGO_MANIFEST_DIR": self.folder}
        process = subprocess.Popen(command, cwd=self.folder, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   start_new_session=True)
        try:
            return process.wait(limit) == 0
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return False

    def tests(self):
        def listed(*more):
            command = [self.executable, "--list", "--format", "terse", *more]
            lines = subprocess.run(command, cwd=self.folder, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
            return [line.removesuffix(": test") for line in lines]

        ignored = listed("--ignored")
        return [name for name in listed() if name not in ignored and (not self.words or any(word in name for word in self.words))]


def build(quick):
    """The test programs; if it has to be quick those of libraries and of the compiler."""
    asked = TESTS["compiler"] if quick else itertools.chain(*TESTS.values())
    targets = ["--lib", *(argument for name in asked for argument in ("--test", name))]
    command = ["cargo", "test", *CARGO, *targets, "--no-run", "--message-format", "json-render-diagnostics"]
    for package, level in OPTIMISED.items():
        command += ["--config", f"profile.test.package.{package}.opt-level={level}"]
    built = subprocess.run(command, cwd=COPY, env=environment(), check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout
    messages = [json.loads(line) for line in built.splitlines()]
    messages = [message for message in messages if message["reason"] == "compiler-artifact" and message["executable"]]
    # Other programs than the tests are what the tests of the command line run.
    others = sorted(message["executable"] for message in messages if not message["profile"]["test"])
    others = hashlib.sha256(b"".join(hashlib.file_digest(open(path, "rb"), "sha256").digest() for path in others)).hexdigest()
    programs = [Program(message) for message in messages if message["profile"]["test"]]
    for program in programs:
        own = hashlib.file_digest(open(program.executable, "rb"), "sha256").hexdigest()
        program.identity = own if program.name in TESTS else own + others
    return programs


def reach(programs):
    """What each test reaches and how long it takes: program, test, seconds, numbers. A test that fails without a mutant is not asked."""
    kept = json.loads(REACHED.read_text()) if REACHED.exists() else {}
    wanted = [(program, test) for program in programs for test in program.tests()]

    def record(program, test):
        key = f"{program.name}: {test}"
        if kept.get(key, {}).get("of") != program.identity:
            with tempfile.NamedTemporaryFile("r", prefix="mutants-") as file:
                begin = time.monotonic()
                passed = program.run([test], LONGEST, TABLA_MUTANTS_REACHED=file.name)
                seconds = time.monotonic() - begin
                kept[key] = {"of": program.identity, "passed": passed, "seconds": seconds, "numbers": sorted({int(line) for line in file})}
            if not passed:
                say(f"not asked, since it fails or takes more than {LONGEST} s: {key}")
        return program, test, kept[key]

    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        done = list(pool.map(lambda pair: record(*pair), wanted))
    REACHED.write_text(json.dumps(kept))
    return [(program, test, entry["seconds"], set(entry["numbers"])) for program, test, entry in done if entry["passed"]]


def judge(mutant, tests):
    """Whether one of these tests notices it: (seconds, program, test), in batches that grow."""
    batch, seconds, limit = defaultdict(list), 0, 0.5

    def passes():
        return all(program.run(names, 10 * seconds + 10, TABLA_MUTANT=str(mutant.number)) for program, names in batch.items())

    for own, program, name in tests:
        if batch and seconds + own > limit:
            if not passes():
                return True
            batch, seconds, limit = defaultdict(list), 0, 2 * limit
        batch[program].append(name)
        seconds += own
    return not passes()


def run(found, told, results, parts, again, quick):
    COPY.mkdir(parents=True, exist_ok=True)
    compile_copy(found, told, results)
    results.write()
    say("building the tests")
    programs = build(quick)
    os.nice(10)
    # Of what is written to: yosys as WebAssembly reserves more.
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    say("what each test reaches")
    reaching = defaultdict(list)
    for program, test, seconds, numbers in reach(programs):
        for number in numbers:
            reaching[number].append((seconds, program, test))
    undecided = [mutant for mutant in found if mutant.part in parts and results[mutant] in (None, *LIVING) + ("caught",) * again]
    # What is quick first, for all; those of the package before others.
    for begin, end in [(0, QUICK), (QUICK, BUDGET)][: 1 if quick else 2]:
        say(f"{len(undecided)} mutants are tried")

        def tried(mutant):
            own = lambda program: program.name.split()[0] == PARTS[mutant.part][1]
            tests = sorted(reaching[mutant.number], key=lambda test: (not own(test[1]), test[0]))
            spent = itertools.accumulate(test[0] for test in tests)
            return judge(mutant, [test for test, until in zip(tests, spent) if begin < until <= end])

        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            for count, (mutant, caught) in enumerate(zip(undecided, pool.map(tried, undecided)), 1):
                if caught:
                    results[mutant] = "caught"
                elif begin or not results[mutant]:
                    results[mutant] = "quick" if not begin else "survived" if reaching[mutant.number] else "unreached"
                if count % 100 == 0:
                    results.write()
                    say(f"{count} mutants have been tried")
        undecided = [mutant for mutant in undecided if results[mutant] != "caught"]
        results.write()


def counts(found, results):
    """Of these mutants: all, tried, unviable, not tried, caught, surviving, argued."""
    verdicts = [results[mutant] for mutant in found]
    caught, unviable = verdicts.count("caught"), verdicts.count("unviable")
    survivors = [mutant for mutant in found if results[mutant] in LIVING]
    return {
        "mutants": len(found), "unviable": unviable, "untried": len(found) - unviable - caught - len(survivors), "caught": caught,
        "survive": len(survivors), "quick": verdicts.count("quick"), "argued": sum(mutant.key in REASONS for mutant in survivors), "viable": caught + len(survivors),
    }


def page(found, results):
    lines = [
        "# Mutants",
        "",
        f"`cargo measure mutants` (cargo-mutants {VERSION}) changes one function or operator at a time and runs the tests that reach it. Generated from",
        "[tests/mutants.json](../../tests/mutants.json); [tests/mutants.toml](../../tests/mutants.toml) argues each survivor.",
        "",
        "| part | mutants | do not compile | not tried | caught | survive | quick only | argued | score |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for part in [*PARTS, "all"]:
        of = counts([mutant for mutant in found if part in (mutant.part, "all")], results)
        score = f"{100 * of['caught'] / of['viable']:.1f} %" if of["viable"] else "-"
        lines.append(f"| {part} | {of['mutants']} | {of['unviable']} | {of['untried']} | {of['caught']} | {of['survive']} | {of['quick']} | {of['argued']} | {score} |")
    lines += [
        "",
        "*Score*: share of compiling mutants that a test catches. *Not tried*: cannot be selected at run time, or the file changed. *Quick only*: tried by unit tests",
        f"alone. A mutant is tried until a test fails or {BUDGET} s are over; tests that take more than {LONGEST} s are left out.",
    ]
    PAGE.write_text("\n".join(lines) + "\n")


def main():
    global REASONS
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=" ".join(PARTS))
    parser.add_argument("--again", action="store_true", help="also those that are known to be caught")
    parser.add_argument("--quick", action="store_true", help="by unit tests only")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args()
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        parser.error(f"no part is called {', '.join(sorted(unknown))}")
    with open(ARGUED, "rb") as file:
        REASONS = {mutant: entry["why"] for entry in tomllib.load(file).get("survivor", []) for mutant in entry["mutants"]}
    found, told = mutants()
    if options.list:
        for part, count in Counter(mutant.part for mutant in found).items():
            print(f"{part}: {count}")
        return
    results = Results(found)
    if not options.page:
        run(found, told, results, options.parts or list(PARTS), options.again, options.quick)
    page(found, results)
    of = counts(found, results)
    bad = [mutant.key for mutant in found if results[mutant] in LIVING and mutant.key not in REASONS]
    print(f"{of['viable']} mutants, {of['caught']} caught, {of['survive']} survive, {of['argued']} of them argued", *(f"not argued: {key}" for key in bad), sep="\n")
    sys.exit(1 if bad else 0)


main()
