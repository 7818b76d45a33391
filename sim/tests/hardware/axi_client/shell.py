"""Tests of the AXI shell, each from a reset of the bus. Programs stay in the memories, so most of them load nothing, but registers."""

import random

import cocotb
from client import (
    ABORTED, BUSY, BY_WATCHDOG, CASE, CAUSE, CTRL, DONE, GIE, ID, IER, ISR, NO_ACCESS, NOT_LOADED, OUTPUT_LEFT, OUTPUT_WAITS, OUTPUT_WORDS,
    RESET, START, STATUS, STEPS, STOP, STRAY, VERSION, WATCHDOG, WINDOW,
    WRITE_WHILE_BUSY, Client,
)
from cocotbext.axi import AxiResp

HALF = CASE["beats"][: len(CASE["beats"]) // 2]


@cocotb.test()
async def a_start_before_loading_is_refused(dut):
    client = await Client.create(dut)
    assert (await client.read(ID), await client.read(VERSION)) == (0x54410002, 2)
    await client.start()
    assert await client.cause() == (NOT_LOADED, CTRL)
    await client.idle(1)
    # A program that is there in part: its length is written last.
    for address, data in CASE["writes"][:20]:
        await client.write(WINDOW + 4 * address, data)
    await client.write(WINDOW, START)
    assert await client.cause() == (NOT_LOADED, WINDOW)
    await client.idle(1)


@cocotb.test()
async def all_words_are_right(dut):
    client = await Client.create(dut)
    await client.load()
    await client.whole_run()
    for stalls in [30, 70]:
        client.stall(stalls)
        await client.whole_run()
    # Packets of another length; the last one of a run may be left open.
    client.stall(50)
    words = len(CASE["expected"])
    length = next(n for n in range(2 * CASE["outputs"], words + 1, CASE["outputs"]) if words % n == 0)
    await client.start(packet=length)
    client.send(CASE["beats"])
    assert await client.receive(words // length) == CASE["expected"]


@cocotb.test()
async def half_an_input_then_abort(dut):
    client = await Client.create(dut)
    await client.load()
    for stalls in [0, 60]:
        client.stall(stalls)
        await client.start()
        client.send(HALF)
        await client.cycles(300)
        await client.abort()
        cause, place = await client.cause()
        assert cause == ABORTED and place & 1, "it waited for input"
        client.sink.clear()
        await client.whole_run()


@cocotb.test()
async def input_without_a_run_is_thrown_away(dut):
    client = await Client.create(dut)
    await client.load()
    client.send([[-1] * len(CASE["beats"][0])])
    await client.cycles(50)
    assert await client.read(STATUS) == STRAY and await client.read(STATUS) == 0, "it is told once"
    await client.whole_run()
    # A part of a beat, and one that is taken while the registers of the run are written.
    for words in [1, len(CASE["beats"][0])]:
        client.send([[-1] * words])
        await client.whole_run()
        assert client.stray, "it is told"
    # More than a run uses.
    client.send(CASE["beats"])
    await client.start(steps=1, packet=1)
    await client.idle(2000)
    # What is left comes in, a beat per cycle, and is thrown away.
    await client.cycles(len(CASE["beats"]))
    client.sink.clear()
    await client.whole_run()


@cocotb.test()
async def output_that_is_not_taken_then_abort(dut):
    client = await Client.create(dut)
    await client.load()
    for command in ["abort", "reset"]:
        client.block_output(True)
        await client.start()
        client.send(CASE["beats"])
        while dut.m_axis_tvalid.value != 1:
            await client.cycles(10)
        await client.cycles(600)
        # Registers that say how long packets are do not touch what is offered.
        await client.write(OUTPUT_WORDS, 1)
        await client.abort(*([RESET] if command == "reset" else []))
        assert await client.read(STATUS) & OUTPUT_WAITS
        if command == "reset":
            await client.load_registers()
        else:
            cause, place = await client.cause()
            assert cause == ABORTED and place & 2, "its output was not taken"
        await client.write(CTRL, START)
        assert await client.cause() == (OUTPUT_LEFT, CTRL)
        client.block_output(False)
        words, beat = await client.receive(), CASE["outputs"]
        # What was on offer, and one transfer more that ends the packet.
        assert 2 * beat <= len(words) <= 4 * beat and words[:-beat] == CASE["expected"][: len(words) - beat], words
        assert words[-beat:] == [0] * beat, words
        assert not await client.read(STATUS) & OUTPUT_WAITS
        await client.whole_run()


@cocotb.test()
async def a_run_is_not_disturbed(dut):
    client = await Client.create(dut)
    await client.load()
    await client.start()
    client.send(HALF)
    await client.write(CTRL, START)
    assert await client.cause() == (BUSY, CTRL)
    for address, data in [CASE["writes"][0], CASE["writes"][-1], (1, 1)]:
        response, _ = await client.access(WINDOW + 4 * address, data ^ 1)
        assert response == AxiResp.SLVERR
        assert await client.cause() == (WRITE_WHILE_BUSY, WINDOW + 4 * address)
    # Of the next run.
    await client.write(STEPS, 1)
    await client.write(OUTPUT_WORDS, 1)
    client.send(CASE["beats"][len(HALF) :])
    assert await client.receive() == CASE["expected"]
    await client.idle(2000)


@cocotb.test()
async def illegal_accesses(dut):
    client = await Client.create(dut, stalls=40)
    memories = [WINDOW + 4 * (region << 16) for region in range(1, 7)]
    for address in memories:
        await client.write(address, 0)
        response, data = await client.access(address)
        assert (response, data) == (AxiResp.SLVERR, 0), "programs cannot be read"
        assert await client.cause() == (NO_ACCESS, address | 1 << 31)
    places = [0x50, 0x100, 0x3FFFFC, WINDOW + 4 * 0x0F, WINDOW + 4 * 0x1C, *(WINDOW + 4 * (region << 16) for region in range(7, 16))]
    for address in places + [random.randrange(0x20, WINDOW // 4) * 4 for _ in range(20)]:
        assert await client.access(address) == (AxiResp.SLVERR, 0)
        assert (await client.access(address, 1))[0] == AxiResp.SLVERR
        assert await client.cause() == (NO_ACCESS, address | 1 << 31), "the first cause stays"
    # Parts of a word, and registers that are read only.
    assert (await client.master.write(STEPS, b"\x01\x00")).resp == AxiResp.SLVERR
    assert await client.cause() == (NO_ACCESS, STEPS)
    assert (await client.access(ID, 1))[0] == AxiResp.SLVERR
    assert await client.read(STEPS) == 0


@cocotb.test()
async def the_watchdog(dut):
    client = await Client.create(dut)
    await client.load()
    await client.write(GIE, 1)
    await client.write(IER, 7)
    # Longer than a step takes between transfers; a run that moves is left alone.
    await client.write(WATCHDOG, 500)
    await client.whole_run()
    await client.write(ISR, 7)
    assert dut.run_done.value == 0
    await client.start()
    client.send(HALF)
    for _ in range(60):
        if dut.run_done.value == 1:
            break
        await client.cycles(100)
    assert await client.read(ISR) == 4, "an interrupt, and not of a run that is done"
    assert not await client.read(CTRL) & DONE
    assert await client.cause() == (BY_WATCHDOG, 1)
    await client.idle(20)
    client.sink.clear()
    await client.whole_run()


@cocotb.test()
async def resets_at_random_cycles(dut):
    client = await Client.create(dut)
    await client.load()
    for round in range(4):
        client.stall(random.choice([0, 50]))
        await client.start()
        client.send(CASE["beats"])
        await client.cycles(random.randrange(1, 600))
        if round % 2:
            await client.reset()
            client.source.clear()
            client.sink.clear()
        else:
            client.stall(0)
            await client.abort(RESET)
            # Words that were offered leave; a packet that was open is ended.
            while await client.read(STATUS) & OUTPUT_WAITS:
                pass
            client.sink.clear()
        client.stall(0)
        assert await client.read(CAUSE) == 0
        await client.write(CTRL, START)
        assert await client.cause() == (NOT_LOADED, CTRL), "registers are as after a reset"
        await client.load_registers()
        await client.whole_run()
    assert await client.read(STOP) == 0
