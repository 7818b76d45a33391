"""A client of the AXI shell: bus masters of cocotbext-axi with random stalls, and the steps of a run. Offsets and bits are those of
docs/registers.md, written here by hand.

case.json, from sim/tests/hardware/axi_client.rs:

    writes      address and data of each write of the control port that loads the program
    steps       of the run;  flags  of its start
    beats       of the input, as words;  expected  all words of the output
    lane        bits of a word on the streams;  outputs  words of a transfer of the output
"""

import itertools
import json
import logging
import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp, AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource

CTRL, GIE, IER, ISR, ID, VERSION = 0x00, 0x04, 0x08, 0x0C, 0x10, 0x14
STEPS, RUN_FLAGS, STATUS, OUTPUT_WORDS = 0x24, 0x28, 0x2C, 0x30
STOP, WATCHDOG, CAUSE, CAUSE_PLACE = 0x40, 0x44, 0x48, 0x4C
WINDOW = 0x400000
START, DONE, IDLE = 1, 2, 4
ABORT, RESET = 1, 2
STRAY, OUTPUT_WAITS = 8, 16
NOT_LOADED, BUSY, OUTPUT_LEFT, WRITE_WHILE_BUSY, NO_ACCESS, ABORTED, BY_WATCHDOG = range(1, 8)
# Whatever runs, inputs and outputs do.
MOST_CYCLES_OF_AN_ABORT = 1000

# Every access and every frame would be told.
logging.getLogger("cocotb.tabla_axi").setLevel(logging.WARNING)

CASE = json.loads(open(os.environ["CASE"]).read())


def pauses(percent):
    return (random.randrange(100) < percent for _ in itertools.count())


class Client:
    """The masters, and the tests' view of the shell."""

    @classmethod
    async def create(cls, dut, stalls=0):
        client = cls()
        client.dut = dut
        cocotb.start_soon(Clock(dut.s_axi_aclk, 10, unit="ns").start())
        dut.s_axi_aresetn.value = 0
        for name in ["s_axi_awprot", "s_axi_arprot"]:
            getattr(dut, name).value = 0
        reset = {"reset": dut.s_axi_aresetn, "reset_active_level": False}
        client.master = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axi"), dut.s_axi_aclk, **reset)
        client.source = AxiStreamSource(AxiStreamBus.from_prefix(dut, "s_axis"), dut.s_axi_aclk, **reset)
        client.sink = AxiStreamSink(AxiStreamBus.from_prefix(dut, "m_axis"), dut.s_axi_aclk, **reset)
        client.stall(stalls)
        cocotb.start_soon(client.watch())
        await client.reset()
        return client

    def stall(self, percent):
        """Random stalls on all channels."""
        writes, reads = self.master.write_if, self.master.read_if
        channels = [writes.aw_channel, writes.w_channel, writes.b_channel, reads.ar_channel, reads.r_channel, self.source, self.sink]
        for channel in channels:
            if percent:
                channel.set_pause_generator(pauses(percent))
            else:
                channel.clear_pause_generator()
                channel.pause = False

    def block_output(self, blocked):
        self.sink.clear_pause_generator()
        self.sink.pause = blocked

    async def watch(self):
        """What is offered stays as it is until it is taken; only a reset of the bus takes it back."""
        dut, held = self.dut, None
        while True:
            # In the middle of a cycle everything has settled.
            await FallingEdge(dut.s_axi_aclk)
            if dut.s_axi_aresetn.value != 1:
                held = None
                continue
            if dut.m_axis_tvalid.value != 1:
                assert held is None, f"TVALID fell: {held}"
                continue
            now = (str(dut.m_axis_tdata.value), str(dut.m_axis_tlast.value))
            assert held is None or now == held, f"TDATA or TLAST changed: {held} {now}"
            assert set("".join(now)) <= set("01"), f"unknown bits are offered: {now}"
            held = now if dut.m_axis_tready.value != 1 else None

    async def cycles(self, count):
        for _ in range(count):
            await RisingEdge(self.dut.s_axi_aclk)

    async def reset(self):
        self.dut.s_axi_aresetn.value = 0
        await self.cycles(4)
        self.dut.s_axi_aresetn.value = 1
        await self.cycles(1)

    # Registers.

    async def access(self, address, data=None):
        """A write or a read: the response, and what was read."""
        if data is None:
            answer = await self.master.read(address, 4)
            return answer.resp, int.from_bytes(answer.data, "little")
        return (await self.master.write(address, data.to_bytes(4, "little"))).resp, None

    async def write(self, address, data):
        response, _ = await self.access(address, data)
        assert response == AxiResp.OKAY, f"write {address:#x}: {response}"

    async def read(self, address):
        response, data = await self.access(address)
        assert response == AxiResp.OKAY, f"read {address:#x}: {response}"
        return data

    async def cause(self):
        """What was refused first since the last call."""
        cause, place = await self.read(CAUSE), await self.read(CAUSE_PLACE)
        await self.write(CAUSE, 0)
        return cause, place

    # Runs.

    async def load(self):
        for address, data in CASE["writes"]:
            await self.write(WINDOW + 4 * address, data)

    async def load_registers(self):
        """What a reset takes away; memories keep their contents."""
        for address, data in CASE["writes"]:
            if address < 1 << 16:
                await self.write(WINDOW + 4 * address, data)

    async def start(self, steps=None, packet=None):
        await self.write(STEPS, CASE["steps"] if steps is None else steps)
        await self.write(RUN_FLAGS, CASE["flags"] >> 1)
        await self.write(OUTPUT_WORDS, len(CASE["expected"]) if packet is None else packet)
        await self.write(CTRL, START)

    def send(self, beats):
        """The input, or a part of it, as one packet."""
        size = CASE["lane"] // 8
        words = [word for beat in beats for word in beat]
        data = b"".join((word & ((1 << CASE["lane"]) - 1)).to_bytes(size, "little") for word in words)
        if data:
            self.source.send_nowait(AxiStreamFrame(data))

    async def receive(self, packets=1):
        """The words of the output."""
        size, words = CASE["lane"] // 8, []
        for _ in range(packets):
            data = bytes((await self.sink.recv()).tdata)
            words += [int.from_bytes(data[at : at + size], "little", signed=True) for at in range(0, len(data), size)]
        return words

    async def idle(self, limit):
        """Poll until the run is over; cycles at most."""
        for _ in range(limit):
            if await self.read(CTRL) & IDLE:
                return
        raise AssertionError(f"busy after {limit} polls")

    async def whole_run(self):
        """A run of the case with all its input: all words are right, and it is done."""
        await self.start()
        self.send(CASE["beats"])
        words = await self.receive()
        assert words == CASE["expected"], "the words of the run"
        await self.idle(2000)
        assert await self.cause() == (0, 0)
        status = await self.read(STATUS)
        self.stray = status & STRAY != 0
        assert status & ~(1 | STRAY) == 0

    async def abort(self, command=ABORT):
        """End the run; its input is forgotten here, too. The shell is idle in time."""
        await self.write(STOP, command)
        written = cocotb.utils.get_sim_time("ns")
        while await self.read(STOP) or not await self.read(CTRL) & IDLE:
            assert cocotb.utils.get_sim_time("ns") - written < 10 * MOST_CYCLES_OF_AN_ABORT, "it does not stop"
        self.source.clear()
        while not self.source.idle():
            await self.cycles(1)
