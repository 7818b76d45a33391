"""The generated driver on an accelerator that the test plays: each access is a line on stdout, each answer one on stdin; of ranks on a socket."""

import json
import os
import socket
import sys
import warnings

import numpy as np

folder, values = sys.argv[1], json.loads(sys.argv[2])
sys.path.insert(0, folder + "/driver")
import tabla


to, back = sys.stdout, sys.stdin


def ask(*words):
    print(*words, file=to, flush=True)
    answer = back.readline()
    if not answer:
        sys.exit("the accelerator is gone")
    return answer.split()


class Registers:
    stale = False

    def read(self, offset):
        waits = tabla.STATUS_OUTPUT_WAITS if self.stale and offset == tabla.STATUS else 0
        return int(ask("read", offset)[0]) | waits

    def write(self, offset, value):
        ask("write", offset, value)


class Channel:
    idle = True
    running = True

    def start(self):
        assert not self.running, "started after a reset"
        self.running = self.idle = True


class Send(Channel):
    """Of all memory ports: a transfer of the stream is there when each has its part of it."""

    hangs = leaves_words = False
    parts = {}
    # Which transfer hangs, and how many there were.
    hanging, transfers = 0, 0

    def __init__(self, port):
        self.port = port

    def transfer(self, buffer):
        self.transfers += 1
        self.hangs |= self.transfers == self.hanging
        assert self.running and self.idle and buffer.dtype == tabla.LANE
        assert self.port not in Send.parts, "sent twice"
        Send.parts[self.port] = buffer.copy()
        if len(Send.parts) < len(dmas):
            return
        # Of a transfer of 128 bits from each port the first has the lowest lanes.
        columns = [Send.parts[port].reshape(-1, 16 // buffer.itemsize) for port in sorted(Send.parts)] if len(dmas) > 1 else [buffer]
        beats = np.concatenate(columns, axis=-1).reshape(-1, tabla.STREAM_WORDS)
        Send.parts.clear()
        if any(dma.sendchannel.hangs for dma in dmas):
            beats = beats[: len(beats) // 2]
            for dma in dmas:
                dma.sendchannel.idle = False
            Registers.stale = any(dma.sendchannel.leaves_words for dma in dmas)
        ask("send", *beats.reshape(-1).tolist())

    def wait(self):
        assert self.idle, "it would block"


class Receive(Channel):
    def transfer(self, buffer):
        assert self.running
        self.buffer = buffer
        Registers.stale = False

    def wait(self):
        dma.bytes = self.buffer.nbytes
        self.buffer[:] = [int(word) for word in ask("receive", len(self.buffer))]


class Dma:
    """The first one receives, too. `wrong` has registers that say something else than a transfer that is done."""

    wrong, bytes = {}, 0

    def __init__(self, port):
        self.resets, self.sendchannel = 0, Send(port)
        if port == 0:
            self.recvchannel = Receive()

    def write(self, offset, value):
        assert (offset, value) == (0, 4), "the reset of both channels"
        self.resets += 1
        self.sendchannel.running = False
        if hasattr(self, "recvchannel"):
            self.recvchannel.running = False

    def read(self, offset):
        return self.wrong.get(offset, self.bytes if offset == 0x58 else 0)


def allocate(shape, dtype):
    return np.zeros(shape, dtype=dtype)


def expect(error, call):
    try:
        call()
    except error as told:
        return str(told)
    raise AssertionError("no error")


# Memory ports of 16 bytes that bring a beat in a cycle.
dmas = [Dma(port) for port in range(max(1, tabla.STREAM_WORDS * np.dtype(tabla.LANE).itemsize // 16))]
dma = dmas[0]


def run_function():
    """A function: what is resident is given once."""
    driver = tabla.Accelerator(Registers(), dmas, allocate, folder + "/function")
    first, more = values["records"]
    assert "needs a model: W, b" in expect(tabla.DriverError, lambda: driver.predict(first))
    outputs = driver.predict(first, values["model"])[0] + driver.predict(more)[0]
    # What an abort has lost is given again.
    driver.abort()
    assert "needs a model" in expect(tabla.DriverError, lambda: driver.predict(more))
    outputs += driver.predict(more, values["model"])[0]
    print("result", json.dumps([output["y"].tolist() for output in outputs]), flush=True)


def run_segments():
    """A function in segments: the driver keeps the model."""
    driver = tabla.Accelerator(Registers(), dmas, allocate, folder + "/function")
    first, more = values["segments"]
    assert "needs a model: V, W" in expect(tabla.DriverError, lambda: driver.predict(first))
    assert "no input z" in expect(KeyError, lambda: driver.predict({**first, "z": [0]}, values["model"]))
    outputs = driver.predict(first)[0]
    dma.sendchannel.hanging, driver.timeout = dma.sendchannel.transfers + 3, 0.05
    assert "it waits for" in expect(tabla.DriverError, lambda: driver.predict(more))
    dma.sendchannel.hanging, dma.sendchannel.hangs, driver.timeout = 0, False, 10.0
    results, model, cycles = driver.predict(more)
    assert model is None and cycles > 0
    print("result", json.dumps([output["y"].tolist() for output in outputs + results]), flush=True)


class World:
    """What the driver uses of mpi4py's communicator, played by the test."""

    def Get_rank(self):
        return values["rank"]

    def Get_size(self):
        return len(values["sockets"])

    def Iallreduce(self, send, receive):
        assert send.dtype == receive.dtype == np.uint64 and send.shape == receive.shape
        ask("add", *send.tolist())
        self.receive = receive
        return self

    def Test(self):
        sums = ask("sums")
        if sums != ["wait"]:
            self.receive[:] = [int(word) for word in sums]
        return sums != ["wait"]

    def Abort(self, code):
        print("result", json.dumps({"aborted": code}), file=to, flush=True)
        os._exit(code)


def run_rank():
    """One of several boards that share the batches: a process of MPI, or of a world that the test plays."""
    global to, back
    if "rank" in values:
        world = World()
    else:
        from mpi4py import MPI

        world = MPI.COMM_WORLD
    rank = world.Get_rank()
    line = socket.socket(socket.AF_UNIX)
    line.connect(values["sockets"][rank])
    to, back = line.makefile("w"), line.makefile("r")
    driver = tabla.Accelerator(Registers(), dmas, allocate, folder + "/train")
    steps = {name: np.array(rows) for name, rows in values["steps"].items()}
    if values["strange"] == rank:
        steps["y"] = steps["y"] + 1
    if values["hanging"] and rank == 1:
        dma.sendchannel.hanging, driver.timeout = values["hanging"], 0.5
    give = lambda trained: {name: tensor.reshape(-1).tolist() for name, tensor in trained.items()}
    try:
        trained = driver.train(values["model"], steps, values["epochs"], ranks=world, patience=values["patience"])
        # The same board alone, after that.
        alone = driver.train(values["model"], steps, values["epochs"])
        said = {"model": give(trained), "alone": give(alone)}
    except tabla.DriverError as why:
        said = {"error": str(why)}
    print("result", json.dumps(said), file=to, flush=True)


if "sockets" in values:
    run_rank()
    sys.exit()

if "segments" in values:
    run_segments()
    sys.exit()

if "records" in values:
    run_function()
    sys.exit()

assert "memory ports feed" in expect(tabla.DriverError, lambda: tabla.Accelerator(Registers(), [*dmas, dma], allocate, folder + "/train"))
driver = tabla.Accelerator(Registers(), dmas, allocate, folder + "/train")
steps = {name: np.array(rows) for name, rows in values["steps"].items()}
expect(tabla.DriverError, lambda: driver.run(steps))
expect(KeyError, lambda: driver.run({"x": steps["x"]}, values["model"]))
expect(ValueError, lambda: driver.run({**steps, "y": [1.0, 2.0]}, values["model"]))
# As many values in another order of axes.
told = expect(ValueError, lambda: driver.run({**steps, "x": steps["x"].T}, values["model"]))
assert "x: values of shape" in told, told
expect(ValueError, lambda: driver.run({**steps, "y": steps["y"] * np.nan}, values["model"]))
expect(ValueError, lambda: driver.run(steps, {"w": np.zeros((2, len(values["model"]["w"])))}))

# Half of the input: the grid hangs, and the time limit ends it. Then words of that run are on offer, too.
for stale in [False, True]:
    dma.sendchannel.hangs, dma.sendchannel.leaves_words, driver.timeout, before = True, stale, 0.05, dma.resets
    told = expect(tabla.DriverError, lambda: driver.run(steps, values["model"]))
    assert "it waits for its input to be taken" in told, told
    assert dma.resets - before == (2 if stale else 1), dma.resets
    assert all(other.resets == dma.resets for other in dmas)
    dma.sendchannel.hangs, driver.timeout = False, 10.0
    assert "needs a model" in expect(tabla.DriverError, lambda: driver.run(steps))
# Transfers that end without their words (PG021: status 0x04 and 0x34, length 0x58).
for wrong, say in [({0x04: 0x1040}, "send: address error"), ({0x34: 0x1020}, "receive: slave error"), ({0x58: 2}, "moved 2 bytes")]:
    dma.wrong = wrong
    told = expect(tabla.DriverError, lambda: driver.run(steps, values["model"]))
    assert say in told, told
    dma.wrong = {}
    assert "needs a model" in expect(tabla.DriverError, lambda: driver.run(steps))
for given, shape, good in [
    ((5, 3), [3], True), ((3,), [3], True), ((6, 2), [3, 2], True), ((4, 6), [3, 2], True), ((2, 3, 2), [3, 2], True),
    ((9,), [3], True), ((4,), [], True), ((), [], True), ((3, 5), [3], False), ((2, 6), [3, 2], True), ((5, 2), [3, 2], False),
    ((2, 3), [3, 2], False), ((4, 2, 3), [3, 2], False), ((8,), [3], False), ((), [3], False), ((4, 1), [], True),
]:
    assert tabla.fits(given, shape) == good, (given, shape)
trained = driver.train(values["model"], steps, epochs=values["epochs"])
model = {name: tensor.reshape(-1).tolist() for name, tensor in trained.items()}

driver.load(folder + "/predict")
outputs, _, cycles = driver.predict({"x": steps["x"]}, trained)
expect(KeyError, lambda: driver.predict({"z": steps["x"]}))
expect(KeyError, lambda: driver.predict({**steps, "z": steps["x"]}))
assert cycles > 0 and driver.saturated is False
# A program of another build is refused.
sums = folder + "/SHA256SUMS"
with open(sums) as file:
    text = file.read()
with open(sums, "w") as file:
    file.write(text.replace("predict/layout.json", "predict/other.json"))
assert "predict/layout.json is damaged" in expect(tabla.DriverError, lambda: driver.load(folder + "/predict"))
with open(sums, "w") as file:
    file.write(text)
driver.load(folder + "/predict")
# What does not fit is clipped, and that is said with the first row.
size = int(np.prod(driver.layout.tensors["x"]["shape"]))
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    driver.layout.words("x", np.zeros((2, size)))
    assert not said
    clipped = driver.layout.words("x", np.stack([np.zeros(size), np.full(size, -1e9)]))
assert (clipped[1] == -(2 ** (tabla.WORD_BITS - 1))).all() and said[0].category is tabla.SaturationWarning
assert f"x: {size} values are clipped" in str(said[0].message) and "the first is row 2" in str(said[0].message)
predictions = [output["h"].reshape(-1).tolist() for output in outputs]
print("result", json.dumps({"model": model, "predictions": predictions}), flush=True)
