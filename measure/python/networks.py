"""Write the networks of programs/networks as ONNX files: networks.py [FOLDER]

Weights are inputs, which stay in the grid (the TOML beside each file names them) and whose values are made up when they are measured: nothing of
what others have trained is shipped. The layers are those of the publications that docs/networks.md names.
"""

import sys

from onnx import TensorProto, checker, helper, save

OPSET, IR = 17, 8


class Network:
    """A graph, layer by layer; `shape` is that of the last value, whose name is `last`."""

    def __init__(self, name, *shape):
        self.name, self.nodes, self.weights, self.shapes = name, [], [], {}
        self.last = "x"
        self.shapes["x"] = list(shape)

    @property
    def shape(self):
        return self.shapes[self.last]

    def weight(self, kind, *shape):
        name = f"{kind}{sum(known[0].startswith(kind) for known in self.weights)}"
        self.weights.append((name, list(shape)))
        return name

    def node(self, operator, inputs, shape, **settings):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], **settings))
        self.shapes[name] = list(shape)
        self.last = name
        return name

    def relu(self):
        self.node("Relu", [self.last], self.shape)

    def dense(self, units, relu=True, alpha=1.0):
        rows, width = self.shape
        weights = [self.weight("w", units, width), self.weight("b", units)]
        self.node("Gemm", [self.last, *weights], [rows, units], transB=1, alpha=alpha)
        if relu:
            self.relu()

    def convolution(self, channels, kernel, stride=1, depthwise=False, relu=True):
        """Padded as TensorFlow's `same` is."""
        _, depth, *extents = self.shape
        out = [-(-extent // stride) for extent in extents]
        total = [max((o - 1) * stride + k - e, 0) for o, k, e in zip(out, kernel, extents)]
        pads = [t // 2 for t in total] + [t - t // 2 for t in total]
        weight = self.weight("w", channels, 1 if depthwise else depth, *kernel)
        settings = {"strides": [stride] * 2, "pads": pads, "group": depth if depthwise else 1}
        self.node("Conv", [self.last, weight, self.weight("b", channels)], [1, channels, *out], **settings)
        if relu:
            self.relu()

    def pooled(self):
        channels = self.shape[1]
        self.node("GlobalAveragePool", [self.last], [1, channels, 1, 1])
        self.node("Flatten", [self.last], [1, channels])

    def block(self, channels, stride):
        """Two convolutions beside a shortcut, which is one of 1 x 1 where extents or channels change (He et al., 2016)."""
        before, depth = self.last, self.shape[1]
        self.convolution(channels, [3, 3], stride)
        self.convolution(channels, [3, 3], relu=False)
        after = self.last
        if stride > 1 or depth != channels:
            self.last = before
            self.convolution(channels, [1, 1], stride, relu=False)
            before = self.last
        self.node("Add", [before, after], self.shapes[after])
        self.relu()

    def write(self, folder):
        def info(name, shape):
            return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

        self.nodes[-1].output[0] = "y"
        inputs = [info("x", self.shapes["x"])] + [info(*weight) for weight in self.weights]
        graph = helper.make_graph(self.nodes, self.name, inputs, [info("y", self.shape)])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR)
        model.producer_name = "measure/networks.py"
        checker.check_model(model, full_check=True)
        save(model, f"{folder}/{self.name}.onnx")
        resident = ", ".join(f'"{name}"' for name, _ in self.weights)
        with open(f"{folder}/{self.name}.toml", "w") as file:
            file.write(f"# Use of {self.name}.onnx as a function; measure/networks.py writes it.\n\n")
            file.write(f"[function]\nresident = [{resident}]\n")


def chain(layers):
    net = Network(f"chain_{layers}", 1, 64)
    for _ in range(layers):
        # A power of two costs nothing, and keeps values from growing from layer to layer.
        net.dense(64, alpha=0.125)
    return net


def autoencoder():
    net = Network("autoencoder", 1, 640)
    for units in [128] * 4 + [8] + [128] * 4:
        net.dense(units)
    net.dense(640, relu=False)
    return net


def mlp():
    net = Network("mlp_1536", 1, 1536)
    net.dense(96)
    net.dense(96)
    net.dense(1, relu=False)
    return net


def ds_cnn():
    net = Network("ds_cnn", 1, 1, 49, 10)
    net.convolution(64, [10, 4], 2)
    for _ in range(4):
        net.convolution(64, [3, 3], depthwise=True)
        net.convolution(64, [1, 1])
    net.pooled()
    net.dense(12, relu=False)
    return net


def mobilenet(name, extent, first, widths):
    """`widths`: channels and stride of each pair of a depthwise and a pointwise convolution."""
    net = Network(name, 1, 3, extent, extent)
    net.convolution(first, [3, 3], 2)
    for channels, stride in widths:
        net.convolution(net.shape[1], [3, 3], stride, depthwise=True)
        net.convolution(channels, [1, 1])
    net.pooled()
    net.dense(2, relu=False)
    return net


def resnet(name, extent, first, stages, blocks, classes=10):
    """Of large images a wide convolution and a pooling halve the rows and columns each."""
    net = Network(name, 1, 3, extent, extent)
    if extent > 64:
        net.convolution(first, [7, 7], 2)
        extents = [extent // 2 for extent in net.shape[2:]]
        net.node("MaxPool", [net.last], [1, first, *extents], kernel_shape=[3, 3], strides=[2, 2], pads=[0, 0, 1, 1])
    else:
        net.convolution(first, [3, 3])
    for stage, channels in enumerate(stages):
        for block in range(blocks):
            net.block(channels, 2 if stage > 0 and block == 0 else 1)
    net.pooled()
    net.dense(classes, relu=False)
    return net


def transformer(tokens=64, width=128, heads=4, inner=512):
    """One layer of an encoder (Vaswani et al., 2017), normalised before each part."""
    net = Network("transformer", tokens, width)
    depth = width // heads

    def projected(source, units):
        return net.node("MatMul", [source, net.weight("w", width, units)], [tokens, units])

    def parted(source, order):
        value = net.node("Reshape", [source, parts], [tokens, heads, depth])
        extents = [[tokens, heads, depth][n] for n in order]
        return net.node("Transpose", [value], extents, perm=order)

    def normalised(source):
        scale, bias = net.weight("g", width), net.weight("b", width)
        return net.node("LayerNormalization", [source, scale, bias], [tokens, width], axis=-1)

    def integers(values):
        value = helper.make_tensor("", TensorProto.INT64, [len(values)], values)
        return net.node("Constant", [], [len(values)], value=value)

    parts, whole = integers([tokens, heads, depth]), integers([tokens, width])
    factor = net.node("Constant", [], [], value=helper.make_tensor("", TensorProto.FLOAT, [], [depth**-0.5]))
    source = normalised("x")
    query, key, value = (parted(projected(source, width), order) for order in ([1, 0, 2], [1, 2, 0], [1, 0, 2]))
    scores = net.node("MatMul", [query, key], [heads, tokens, tokens])
    scaled = net.node("Mul", [scores, factor], [heads, tokens, tokens])
    weights = net.node("Softmax", [scaled], [heads, tokens, tokens], axis=-1)
    mixed = net.node("MatMul", [weights, value], [heads, tokens, depth])
    mixed = net.node("Transpose", [mixed], [tokens, heads, depth], perm=[1, 0, 2])
    mixed = net.node("Reshape", [mixed, whole], [tokens, width])
    first = net.node("Add", ["x", projected(mixed, width)], [tokens, width])
    normalised(first)
    net.dense(inner)
    net.dense(width, relu=False)
    net.node("Add", [first, net.last], [tokens, width])
    return net


MOBILENET_QUARTER = [(16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2)] + [(128, 1)] * 5 + [(256, 2), (256, 1)]

NETWORKS = [
    chain(16),
    chain(64),
    autoencoder(),
    mlp(),
    ds_cnn(),
    mobilenet("mobilenet", 96, 8, MOBILENET_QUARTER),
    # Small ones of the same layers, which tests can afford.
    mobilenet("mobilenet_small", 8, 8, [(8, 1)]),
    resnet("resnet_small", 8, 8, [8], 1),
    resnet("resnet8", 32, 16, [16, 32, 64], 1),
    resnet("resnet20", 32, 16, [16, 32, 64], 3),
    resnet("resnet18", 224, 64, [64, 128, 256, 512], 2, 1000),
    transformer(),
    transformer(8, 16, 2, 32),
]
NETWORKS[-1].name = "transformer_small"

if __name__ == "__main__":
    for network in NETWORKS:
        network.write(sys.argv[1] if len(sys.argv) > 1 else "programs/networks")
