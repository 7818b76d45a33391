#!/usr/bin/env python3
"""The interpreter beside this file against `tabla-gen eval --engine fixed`, bit for bit.

    tests/numbers/compare.py           a selection
    tests/numbers/compare.py --all     all of tests/conformance, programs and examples, in words of 8 to 32 bits
    tests/numbers/compare.py FILE...   these

The command is $TABLA_GEN, or that of target/debug. Inputs of conformance programs are their own; others have made-up ones, whose columns differ in size.
"""

import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

from interpreter import Program, flat

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LANGUAGES = (".t", ".tc", ".tile", ".tml", ".pp", ".onnx")
TABLA_GEN = os.environ.get("TABLA_GEN", ROOT / "target/debug/tabla-gen")
WORDS = (8, 12, 16, 20, 24, 32)


def tabla_gen(*arguments):
    return subprocess.run([TABLA_GEN, *map(str, arguments)], cwd=ROOT, capture_output=True, text=True)


def made_up(program):
    """Inputs of a program that has none: shapes from its fixed stage, columns of sizes from 1/4 to 64, a tenth of all numbers 0."""
    text = tabla_gen("ir", program, "--after", "fixed", "--quiet").stdout
    draw = random.Random(program.name)
    inputs = {}
    for name, tensor in Program(text, statements=False).tensors.items():
        if tensor["kind"] in ("input", "label", "state"):
            columns = tensor["extents"][-1] if tensor["extents"] else 1
            sizes = [2.0 ** draw.choice((-2, 0, 1)) * 32.0 ** (n % 3 == 1 and tensor["kind"] == "input") for n in range(columns)]
            numbers = [draw.choice((0, *[1] * 9)) * draw.uniform(-1, 1) for _ in tensor["words"]]
            tensor["values"] = [number * sizes[n % columns] for n, number in enumerate(numbers)]
            inputs[name] = nested(tensor["values"], tensor["extents"])
    return inputs


def nested(values, extents):
    for extent in reversed(extents[1:]):
        values = [values[at : at + extent] for at in range(0, len(values), extent)]
    return values if extents else values[0]


def cases():
    """Programs with their inputs and arguments."""
    for file in sorted((ROOT / "tests/conformance").rglob("*.json")):
        case = json.loads(file.read_text())
        programs = [file.with_suffix(suffix) for suffix in LANGUAGES if file.with_suffix(suffix).exists()]
        if "values" in case.get("expect", {}) or "next" in case.get("expect", {}):
            yield programs[0], {**case.get("inputs", {}), **case.get("init", {})}, ["--entry", case["entry"]] if "entry" in case else []
    for file in sorted([*ROOT.glob("programs/**/*"), *ROOT.glob("examples/*")]):
        # The large networks take minutes in Python.
        if file.suffix in LANGUAGES and file.stem not in ("mlp_1536", "mobilenet", "resnet20"):
            yield file, None, []


def compare(program, inputs, arguments, word, folder):
    """Number of words compared, or how they differ; none where `eval` refuses the program."""
    given = pathlib.Path(folder) / "in.json"
    given.write_text(json.dumps(inputs))
    arguments = [*arguments, "--machine", f"word={word}", "--quiet"]
    ran = tabla_gen("eval", program, "--inputs", given, "--engine", "fixed", "--format", "json", *arguments)
    if ran.returncode not in (0, 7, 8):
        return 0
    printed = tabla_gen("ir", program, "--evaluate", given, "--after", "fixed", *arguments)
    assert printed.returncode == 0, printed.stderr
    ours, theirs = Program(printed.stdout).run(inputs), json.loads(ran.stdout)
    count = 0
    for part, name in ((part, name) for part in ("values", "next") for name in theirs.get(part, {})):
        # Names of what is given are not computed.
        if name not in ours[part]:
            assert name in inputs, name
            continue
        found, expected = flat(ours[part][name]), flat(theirs[part][name])
        # Undefined elements have no word.
        wrong = [(n, x, y) for n, (x, y) in enumerate(zip(found, expected, strict=True)) if y is not None and x != y]
        assert not wrong, f"{name}: (element, interpreter, eval) {wrong[:3]}"
        count += len(expected)
    return count


def main():
    chosen = [argument for argument in sys.argv[1:] if argument != "--all"]
    every = "--all" in sys.argv
    programs, words, complaints = 0, 0, []
    with tempfile.TemporaryDirectory() as folder:
        for number, (program, inputs, arguments) in enumerate(cases()):
            name = program.relative_to(ROOT)
            if chosen and not any(str(name).endswith(one) for one in chosen):
                continue
            if not every and not chosen and (number % 4 or program.stat().st_size > 20_000):
                continue
            # The networks take minutes: one width.
            small = program.parent.name != "networks"
            inputs = made_up(program) if inputs is None else inputs
            for word in WORDS if (every or chosen) and small else (WORDS[number // 4 % len(WORDS)],):
                try:
                    count = compare(program, inputs, arguments, word, folder)
                except (AssertionError, AttributeError, KeyError, ValueError) as wrong:  # The text has what the page does not say.
                    complaints.append(f"{name}, {word} bits: {type(wrong).__name__} {wrong}"[:300])
                    continue
                programs, words = programs + (count > 0), words + count
    print("\n".join(complaints + [f"{programs} programs, {words} words, {len(complaints)} differ"]))
    sys.exit(bool(complaints) or not programs)


if __name__ == "__main__":
    main()
