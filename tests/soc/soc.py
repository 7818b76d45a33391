"""A LiteX SoC with a VexRiscv, memory, a console and the generated accelerator, for LiteX's simulator.

    soc.py OUT FOLDER              what `build` wrote; where the SoC goes: the headers that software needs
    soc.py OUT FOLDER FIRMWARE     with this in its memory: its simulator, FOLDER/gateware/obj_dir/Vsim
"""

import sys

from litex.build.generic_platform import Pins, Subsignal
from litex.build.io import CRG
from litex.build.sim import SimPlatform
from litex.build.sim.config import SimConfig
from litex.gen import LiteXModule
from litex.soc.integration.builder import Builder
from litex.soc.integration.common import get_mem_data
from litex.soc.integration.soc_core import SoCCore
from litex.soc.interconnect.csr import CSR
from migen import Finish, If

OUT, FOLDER = sys.argv[1:3]
sys.path.insert(0, f"{OUT}/litex")
from tabla_litex import add_tabla

MEMORY, MEMORY_BYTES = 0x4000_0000, 0x4_0000
# lui t0, MEMORY; jr t0
JUMP = [0x400002B7, 0x00028067]
CONSOLE = [
    Subsignal(f"{direction}_{name}", Pins(bits))
    for direction in ["source", "sink"]
    for name, bits in [("valid", 1), ("ready", 1), ("data", 8)]
]
IO = [("sys_clk", 0, Pins(1)), ("sys_rst", 0, Pins(1)), ("serial", 0, *CONSOLE)]


class End(LiteXModule):
    """A write ends the simulation."""

    def __init__(self):
        self.now = CSR()
        self.sync += If(self.now.re, Finish())


def system(firmware):
    platform = SimPlatform("SIM", IO)
    memory = get_mem_data(firmware, data_width=32, endianness="little") if firmware else []
    soc = SoCCore(
        platform,
        clk_freq=1_000_000,
        cpu_type="vexriscv",
        uart_name="sim",
        integrated_rom_size=0x1000,
        integrated_rom_init=JUMP,
        integrated_main_ram_size=MEMORY_BYTES,
        integrated_main_ram_init=memory,
    )
    # With a reset when the power comes, without which the CPU's caches hold nonsense.
    soc.crg = CRG(platform.request("sys_clk"))
    soc.end = End()
    add_tabla(soc)
    assert soc.mem_regions["main_ram"].origin == MEMORY
    return soc


def main():
    firmware = sys.argv[3] if len(sys.argv) > 3 else None
    config = SimConfig(default_clk="sys_clk")
    config.add_module("serial2console", "serial")
    builder = Builder(system(firmware), output_dir=FOLDER, compile_software=False)
    # `cargo measure soc` runs the build script and the simulation, where their output can be seen.
    builder.build(sim_config=config, run=False, interactive=False, opt_level="O1")


main()
