"""The generated driver on an accelerator that the test plays: each access is a line on stdout, each answer one on stdin."""

import json
import sys

import numpy as np

folder, values = sys.argv[1], json.loads(sys.argv[2])
sys.path.insert(0, folder + "/driver")
import tabla


def ask(*words):
    print(*words, flush=True)
    answer = sys.stdin.readline()
    if not answer:
        sys.exit("the accelerator is gone")
    return answer.split()


class Registers:
    def read(self, offset):
        return int(ask("read", offset)[0])

    def write(self, offset, value):
        ask("write", offset, value)


class Send:
    def transfer(self, buffer):
        assert buffer.dtype == tabla.LANE
        ask("send", *buffer.tolist())

    def wait(self):
        pass


class Receive:
    def transfer(self, buffer):
        self.buffer = buffer

    def wait(self):
        self.buffer[:] = [int(word) for word in ask("receive", len(self.buffer))]


class Dma:
    sendchannel, recvchannel = Send(), Receive()


def allocate(shape, dtype):
    return np.zeros(shape, dtype=dtype)


def expect(error, call):
    try:
        call()
    except error as told:
        return str(told)
    raise AssertionError("no error")


driver = tabla.Accelerator(Registers(), Dma(), allocate, folder + "/train")
steps = {name: np.array(rows) for name, rows in values["steps"].items()}
expect(tabla.DriverError, lambda: driver.run(steps))
expect(KeyError, lambda: driver.run({"x": steps["x"]}, values["model"]))
expect(ValueError, lambda: driver.run({**steps, "y": [1.0, 2.0]}, values["model"]))
expect(ValueError, lambda: driver.run({**steps, "y": steps["y"] * np.nan}, values["model"]))
expect(ValueError, lambda: driver.run(steps, {"w": np.zeros((2, len(values["model"]["w"])))}))
trained = driver.train(values["model"], steps, epochs=values["epochs"])
model = {name: tensor.reshape(-1).tolist() for name, tensor in trained.items()}

driver.load(folder + "/predict")
outputs, _, cycles = driver.predict({"x": steps["x"]}, trained)
expect(KeyError, lambda: driver.predict({"z": steps["x"]}))
expect(KeyError, lambda: driver.predict({**steps, "z": steps["x"]}))
assert cycles > 0 and driver.saturated is False
predictions = [output["h"].reshape(-1).tolist() for output in outputs]
print("result", json.dumps({"model": model, "predictions": predictions}), flush=True)
