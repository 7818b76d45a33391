"""What slang, a strict SystemVerilog-2017 front end, has to say against designs: nothing, or this exits with 1.

    slang.py FOLDER...        each with design.f: the name of the top module, then a file a line
"""

import sys
from pathlib import Path

import pyslang

# All warnings of these groups but those below, each with its reason. What is unused is for Verilator, which knows names of unused signals.
GROUPS = ["extra", "conversion", "pedantic"]
WAIVED = [
    # Words are cut, joined and extended by their bits; a port of a block says whether its word has a sign.
    "sign-conversion",
    # Cells of a device have more pins than anybody needs.
    "unconnected-port",
]


def is_clean(folder):
    top, *files = (folder / "design.f").read_text().split()
    options = ["--std=1800-2017", "--top", top, "-Werror", *(f"-W{name}" for name in GROUPS), *(f"-Wno-{name}" for name in WAIVED)]
    driver = pyslang.driver.Driver()
    driver.addStandardArgs()
    command = " ".join(["slang", *options, *(str(folder / name) for name in files)])
    return driver.parseCommandLine(command) and driver.processOptions() and driver.parseAllSources() and driver.runFullCompilation(True)


if __name__ == "__main__":
    sys.exit(0 if all([is_clean(Path(name)) for name in sys.argv[1:]]) else 1)
