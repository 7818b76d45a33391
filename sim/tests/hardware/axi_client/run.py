"""The AXI shell in Icarus Verilog with an independent client, cocotbext-axi.

    run.py FOLDER [TEST...]      FOLDER has design.v and case.json (see client.py); without names all tests of shell.py

Prints what cocotb says; exit code 1 if a test fails. `SEED` in the environment chooses the stalls.
"""

import os
import sys
from pathlib import Path

from cocotb_tools.runner import get_results, get_runner

HERE = Path(__file__).resolve().parent


def main():
    folder, tests = Path(sys.argv[1]).resolve(), sys.argv[2:]
    # The tests are found on Python's path, which the runner hands on.
    sys.path.insert(0, str(HERE))
    runner = get_runner("icarus")
    # The rules of grid and shell are live, too.
    arguments = ["-g2005", "-DTABLA_RULES"]
    runner.build(sources=[folder / "design.v"], hdl_toplevel="tabla_axi", build_args=arguments, build_dir=folder, timescale=("1ns", "1ns"))
    results = runner.test(
        test_module="shell",
        hdl_toplevel="tabla_axi",
        build_dir=folder,
        test_dir=folder,
        results_xml=str(folder / "results.xml"),
        seed=os.environ.get("SEED", "1"),
        test_filter="|".join(f"{name}$" for name in tests) or None,
        extra_env={"CASE": str(folder / "case.json"), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    tried, failed = get_results(results)
    sys.exit(failed or tried == 0)


if __name__ == "__main__":
    main()
