"""ONNX' node cases with other shapes and settings: `cargo measure onnx shapes`.

    onnx_shapes.py PROGRAM FOLDER SECONDS SEED

Of each case one operand gets another shape, or one setting another number. `tabla-gen check` has to take such a file or refuse it: exit code 0, 1,
2 or 4, within ten seconds. What ends in another way is kept in FOLDER; exit code 1 if there is one.
"""

import copy
import os
import random
import re
import subprocess
import sys
import time
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from onnx import AttributeProto

SHAPES = [[], [0], [1], [2], [1, 1], [2, 3], [0, 2], [2, 3, 4], [1, 2, 3, 4], [3, 1, 2, 2, 2]]
NUMBERS = [-1, 0, -7, 5, 100, 1 << 40, -(1 << 62)]
# Shapes that each operand is given, of those above.
TRIED = 4


def lists(given):
    """Other lists in the place of one."""
    return [[], [0], given[:-1], given + [1], [-1] * len(given), [0] * len(given), [1 << 40] * len(given)]


def variants(model, chosen):
    for number, operand in enumerate(model.graph.input):
        if not operand.type.HasField("tensor_type"):
            continue
        for shape in chosen.sample(SHAPES, TRIED):
            other = copy.deepcopy(model)
            dimensions = other.graph.input[number].type.tensor_type.shape.dim
            del dimensions[:]
            for extent in shape:
                dimensions.add().dim_value = extent
            yield other
    for number, node in enumerate(model.graph.node):
        for place, attribute in enumerate(node.attribute):
            other = copy.deepcopy(model)
            changed = other.graph.node[number].attribute[place]
            if attribute.type == AttributeProto.INT:
                changed.i = chosen.choice(NUMBERS)
            elif attribute.type == AttributeProto.INTS:
                changed.ints[:] = chosen.choice(lists(list(attribute.ints)))
            else:
                continue
            yield other


def judged(program, path):
    """Why a file is not judged as it should be; nothing if it is."""
    try:
        ran = subprocess.run([program, "check", path], capture_output=True, text=True, errors="replace", timeout=10)
    except subprocess.TimeoutExpired:
        return "takes more than 10 s"
    if ran.returncode in (0, 1, 2, 4):
        return None
    place = re.search(r"\((\S+\.rs:\d+)\)", ran.stderr)
    return f"exit code {ran.returncode}: {place[1] if place else ran.stderr.strip().splitlines()[-1:]}"


def main():
    program, folder, seconds, seed = sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
    warnings.simplefilter("ignore")
    from onnx.backend.test.case.node import collect_testcases

    chosen, begin = random.Random(seed), time.monotonic()
    cases = collect_testcases(None)
    chosen.shuffle(cases)
    folder.mkdir(parents=True, exist_ok=True)
    found, files, tried = Counter(), 0, 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for case in cases:
            if time.monotonic() - begin > seconds:
                break
            paths = []
            for number, model in enumerate(variants(case.model, chosen)):
                paths.append(folder / f"{number}.onnx")
                paths[-1].write_bytes(model.SerializeToString())
            for path, wrong in zip(paths, pool.map(lambda path: judged(program, path), paths)):
                if wrong and not found[wrong]:
                    path.rename(folder / f"found_{len(found)}_{case.name}.onnx")
                    print(f"{case.name}: {wrong}", flush=True)
                if wrong:
                    found[wrong] += 1
            files, tried = files + len(paths), tried + 1
    print(f"{files} files of {tried} of {len(cases)} cases (seed {seed}): {sum(found.values())} are not judged, in {len(found)} ways")
    sys.exit(1 if found else 0)


main()
