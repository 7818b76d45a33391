"""Small TFLite models, and what LiteRT's reference kernels make of them, for the tests of the crate `tflite`.

    tflite_cases.py cases FILE [NAME ...]     compiler/tflite/tests/cases.bin; with names, those cases only
    tflite_cases.py refused FILE              compiler/tflite/tests/refused.bin, models that have no results here

The file has the form of onnx_cases.py; integers that come out are written as real numbers, so that a tolerance of steps can be said.
"""

import sys

import numpy as np
from messages import field, varint
from tflite_file import File, litert

FLOAT, INT8, INT16, INT32 = np.float32, np.int8, np.int16, np.int32
NUMBERS = {np.float32: 1, np.uint8: 2, np.int8: 3, np.int16: 5, np.int32: 6, np.int64: 7, np.bool_: 9}
CASES = {}
# The reference kernel adds up along another axis there.
FAST = ["sum_int8"]


def tensor(value, name):
    value = np.ascontiguousarray(value)
    parts = [varint(1 << 3) + varint(extent) for extent in value.shape]
    parts += [varint(2 << 3) + varint(NUMBERS[value.dtype.type]), field(8, name.encode()), field(9, value.tobytes())]
    return b"".join(parts)


def case(name, steps=0, rtol=1e-5):
    """A case: a function that gives a file, its results and its inputs. Integers may be so many steps away."""

    def add(make):
        CASES[name] = (make, steps, rtol)
        return make

    return add


def written(name):
    make, steps, rtol = CASES[name]
    rng = np.random.default_rng(sum(name.encode()))
    model, outputs, inputs, *twin = make(rng)
    file = model.bytes(outputs)
    # LiteRT rounds the operands of integer weights at run time; its kernels of real numbers are what is meant.
    found = litert(twin[0].bytes(outputs) if twin else file, inputs, name not in FAST)
    names = lambda numbers: [model.graph.tensors[number].name for number in numbers]
    parts = [field(1, name.encode()), field(2, file)]
    parts += [field(3, tensor(value, given)) for value, given in zip(inputs, names(model.graph.inputs))]
    # Without a tolerance of steps integers are compared as what they are.
    widened = [value.astype(FLOAT) if value.dtype.kind in "iu" else value for value in found]
    parts += [field(4, tensor(value, given)) for value, given in zip(widened, names(outputs))]
    integers = any(value.dtype.kind in "iu" for value in found)
    parts.append(field(5, (f"0 {steps}" if integers else f"{rtol} {rtol}").encode()))
    return field(1, b"".join(parts))


def floats(rng, shape, low=-2, high=2):
    return rng.uniform(low, high, shape).astype(FLOAT)


def integers(rng, shape, kind=INT8):
    limits = np.iinfo(kind)
    return rng.integers(limits.min, limits.max + 1, shape).astype(kind)


def one(operator, shapes, out, kind=None, constants=(), low=-2, high=2, dtype=FLOAT, result=FLOAT, **settings):
    """A model of one operator of real numbers: inputs of these shapes, then constants."""

    def make(rng):
        model = File()
        numbers = [model.input(shape, dtype) for shape in shapes]
        numbers += [model.constant(np.asarray(value)) for value in constants]
        y = model.result(out, result)
        model.operator(operator, numbers, [y], kind, **settings)
        if dtype == np.bool_:
            values = [rng.integers(0, 2, shape).astype(dtype) for shape in shapes]
        elif np.dtype(dtype).kind == "i":
            values = [rng.integers(low, high, shape).astype(dtype) for shape in shapes]
        else:
            values = [floats(rng, shape, low, high) for shape in shapes]
        return model, [y], values

    return make


def quantised(operator, inputs, out, kind=None, constants=(), steps=1, **settings):
    """A model of one operator of integers: (shape, type, scale, zero) of each operand and of the result."""

    def make(rng):
        model = File()
        numbers = [model.input(shape, dtype, scale, zero) for shape, dtype, scale, zero in inputs]
        numbers += [model.constant(np.asarray(value)) for value in constants]
        y = model.result(*out)
        model.operator(operator, numbers, [y], kind, **settings)
        given = [
            floats(rng, shape, -30, 30) if dtype == FLOAT else integers(rng, shape, dtype)
            for shape, dtype, *_ in inputs
        ]
        return model, [y], given

    return make


def register(name, make, steps=0, rtol=1e-5):
    case(name, steps, rtol)(make)


def ints(*values):
    return np.array(values, INT32)


# Element by element.
for operator, low, high in [
    ("ABS", -2, 2), ("CEIL", -2, 2), ("COS", -2, 2), ("ELU", -2, 2), ("EXP", -2, 2), ("FLOOR", -2, 2), ("HARD_SWISH", -4, 4),
    ("LOG", 0.1, 4), ("LOGISTIC", -4, 4), ("NEG", -2, 2), ("RELU", -2, 2), ("RELU6", -2, 9), ("RELU_N1_TO_1", -2, 2), ("ROUND", -2, 2),
    ("RSQRT", 0.1, 4), ("SIN", -2, 2), ("SQRT", 0, 4), ("SQUARE", -2, 2), ("TANH", -4, 4), ("RELU_0_TO_1", -2, 2), ("SIGN", -2, 2),
]:  # fmt: skip
    register(operator.lower(), one(operator, [[2, 5]], [2, 5], low=low, high=high))
register("leaky_relu", one("LEAKY_RELU", [[2, 5]], [2, 5], "LeakyRelu", alpha=0.1))
register("gelu_tanh", one("GELU", [[2, 5]], [2, 5], "Gelu", approximate=True), rtol=1e-4)
register("gelu", one("GELU", [[2, 5]], [2, 5], "Gelu", approximate=False), rtol=1e-4)
register("prelu", one("PRELU", [[1, 2, 3, 4]], [1, 2, 3, 4], constants=[FLOAT([[[0.1, 0.2, -0.3, 0.5]]])]))
for operator in ["ADD", "SUB", "MUL", "DIV"]:
    for number, activation in enumerate(["none", "relu", "relu_n1_to_1", "relu6"]):
        kind = operator.title()
        register(
            f"{operator.lower()}_{activation}",
            one(operator, [[2, 3, 4], [3, 1]], [2, 3, 4], kind, low=0.5 if operator == "DIV" else -4, high=4,
                fusedActivationFunction=number),
        )  # fmt: skip
for operator in ["MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE", "FLOOR_DIV", "FLOOR_MOD"]:
    register(operator.lower(), one(operator, [[2, 5], [2, 5]], [2, 5]))
register("floor_mod_int", one("FLOOR_MOD", [[20], [20]], [20], dtype=INT32, result=INT32, low=1, high=9))
register("pow", one("POW", [[2, 5], [2, 5]], [2, 5], low=0.5))
for operator in ["EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL"]:
    register(operator.lower(), one(operator, [[20], [20]], [20], dtype=INT32, result=np.bool_, low=0, high=3))
for operator in ["LOGICAL_AND", "LOGICAL_OR"]:
    register(operator.lower(), one(operator, [[9], [9]], [9], dtype=np.bool_, result=np.bool_))
register("logical_not", one("LOGICAL_NOT", [[9]], [9], dtype=np.bool_, result=np.bool_))
register("add_n", one("ADD_N", [[2, 3], [2, 3], [2, 3]], [2, 3]))


@case("select_v2")
def _(rng):
    model = File()
    condition, a, b = model.input([2, 1], np.bool_), model.input([2, 3]), model.input([3])
    y = model.result([2, 3])
    model.operator("SELECT_V2", [condition, a, b], [y], "SelectV2")
    return model, [y], [np.array([[True], [False]]), floats(rng, [2, 3]), floats(rng, [3])]


# Layout.
register("reshape", one("RESHAPE", [[2, 6]], [3, 4], "Reshape", [ints(3, -1)], newShape=[3, -1]))
register("squeeze", one("SQUEEZE", [[1, 3, 1]], [3], "Squeeze", squeezeDims=[0, 2]))
register("expand_dims", one("EXPAND_DIMS", [[2, 3]], [2, 1, 3], "ExpandDims", [INT32(1)]))
register("transpose", one("TRANSPOSE", [[2, 3, 4]], [4, 2, 3], "Transpose", [ints(2, 0, 1)]))
register("concatenation", one("CONCATENATION", [[2, 3], [2, 1]], [2, 4], "Concatenation", axis=-1))
register("pack", one("PACK", [[2, 3], [2, 3]], [2, 2, 3], "Pack", valuesCount=2, axis=1))
register("pad", one("PAD", [[1, 2, 3, 1]], [1, 5, 3, 2], "Pad", [np.array([[0, 0], [1, 2], [0, 0], [0, 1]], INT32)]))
register("padv2", one("PADV2", [[2, 3]], [4, 4], "PadV2", [np.array([[1, 1], [0, 1]], INT32), FLOAT(-7)]))
register("mirror_pad_reflect", one("MIRROR_PAD", [[2, 4]], [3, 9], "MirrorPad", [np.array([[1, 0], [2, 3]], INT32)], mode=0))
register("mirror_pad_symmetric", one("MIRROR_PAD", [[2, 4]], [4, 9], "MirrorPad", [np.array([[1, 1], [2, 3]], INT32)], mode=1))
register("tile", one("TILE", [[2, 3]], [4, 3], "Tile", [ints(2, 1)]))
register("broadcast_to", one("BROADCAST_TO", [[1, 3]], [2, 3], "BroadcastTo", [ints(2, 3)]))
register("slice", one("SLICE", [[4, 5]], [2, 4], "Slice", [ints(1, 1), ints(2, -1)]))
register("strided_slice", one("STRIDED_SLICE", [[5, 6]], [2, 3], "StridedSlice", [ints(1, 0), ints(5, 6), ints(2, 2)]))
register("strided_slice_masks", one("STRIDED_SLICE", [[5, 6, 4]], [6, 3], "StridedSlice", [ints(2, 4, 1), ints(0, -9, 9), ints(1, -1, 1)],
                                    shrinkAxisMask=1, beginMask=2, endMask=2))  # fmt: skip
register("strided_slice_ellipsis", one("STRIDED_SLICE", [[3, 4, 5]], [3, 4, 1, 2], "StridedSlice", [ints(0, 0, 1), ints(0, 0, 3), ints(1, 1, 1)],
                                       ellipsisMask=1, newAxisMask=2))  # fmt: skip
register("reverse", one("REVERSE_V2", [[3, 4]], [3, 4], "ReverseV2", [ints(1)]))
register("gather", one("GATHER", [[3, 4]], [3, 2], "Gather", [ints(3, 1)], axis=1))
register("gather_nd", one("GATHER_ND", [[3, 4]], [2], "GatherNd", [np.array([[0, 1], [2, 3]], INT32)]))
register("space_to_depth", one("SPACE_TO_DEPTH", [[1, 4, 4, 3]], [1, 2, 2, 12], "SpaceToDepth", blockSize=2))
register("depth_to_space", one("DEPTH_TO_SPACE", [[1, 2, 2, 12]], [1, 4, 4, 3], "DepthToSpace", blockSize=2))
register("space_to_batch", one("SPACE_TO_BATCH_ND", [[1, 3, 4, 2]], [4, 2, 2, 2], "SpaceToBatchND", [ints(2, 2), np.array([[0, 1], [0, 0]], INT32)]))
register("batch_to_space", one("BATCH_TO_SPACE_ND", [[4, 2, 2, 2]], [1, 3, 4, 2], "BatchToSpaceND", [ints(2, 2), np.array([[0, 1], [0, 0]], INT32)]))
register("arg_max", one("ARG_MAX", [[3, 5]], [3], "ArgMax", [INT32(-1)], result=np.int64, outputType=4))
register("arg_min", one("ARG_MIN", [[3, 5]], [5], "ArgMin", [INT32(0)], result=np.int64, outputType=4))
register("cumsum", one("CUMSUM", [[3, 5]], [3, 5], "Cumsum", [INT32(1)], exclusive=True, reverse=True))
register("cast", one("CAST", [[3, 5]], [3, 5], "Cast", dtype=INT32, low=-9, high=9, inDataType=2, outDataType=0))
register("cast_down", one("CAST", [[3, 5]], [3, 5], "Cast", result=INT32, inDataType=0, outDataType=2))


@case("one_hot")
def _(rng):
    model = File()
    places, y = model.input([3], INT32), model.result([3, 4])
    numbers = [places] + [model.constant(np.array(value, dtype)) for value, dtype in ((4, INT32), (2.5, FLOAT), (-1, FLOAT))]
    model.operator("ONE_HOT", numbers, [y], "OneHot", axis=-1)
    return model, [y], [ints(2, 0, 3)]


@case("topk")
def _(rng):
    model = File()
    x, values, places = model.input([2, 6]), model.result([2, 3]), model.result([2, 3], INT32)
    model.operator("TOPK_V2", [x, model.constant(np.array(3, INT32))], [values, places], "TopKV2")
    return model, [values], [floats(rng, [2, 6])]


def parts(operator, kind, operands, sizes, axis):
    def make(rng):
        model = File()
        x = model.input([4, 6])
        shapes = [[4, size] if axis == 1 else [size, 6] for size in sizes]
        outputs = [model.result(shape if operator != "UNPACK" else [shape[0]]) for shape in shapes]
        settings = {"num": len(sizes), "axis": axis} if operator == "UNPACK" else {"numSplits": len(sizes)}
        numbers = [x if value is None else model.constant(value) for value in operands]
        model.operator(operator, numbers, outputs, kind, **settings)
        return model, outputs, [floats(rng, [4, 6])]

    return make


register("split", parts("SPLIT", "Split", [np.array(1, INT32), None], [2, 2, 2], 1))
register("split_v", parts("SPLIT_V", "SplitV", [None, ints(1, -1, 2), np.array(-1, INT32)], [1, 3, 2], 1))
register("unpack", parts("UNPACK", "Unpack", [None], [1] * 6, 1))

# Windows and rows.
for name, padding in [("same", 0), ("valid", 1)]:
    out = [1, 3, 4, 2] if padding == 0 else [1, 2, 3, 2]
    settings = dict(padding=padding, strideW=2, strideH=2, filterWidth=3, filterHeight=2)
    register(f"average_pool_{name}", one("AVERAGE_POOL_2D", [[1, 5, 7, 2]], out, "Pool2D", **settings))
    register(f"max_pool_{name}", one("MAX_POOL_2D", [[1, 5, 7, 2]], out, "Pool2D", **settings, fusedActivationFunction=1))
    register(f"l2_pool_{name}", one("L2_POOL_2D", [[1, 5, 7, 2]], out, "Pool2D", **settings))
for operator, kind in [("RESIZE_BILINEAR", "ResizeBilinear"), ("RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighbor")]:
    for align, half in [(False, False), (True, False), (False, True)]:
        name = f"{operator.lower()}{'_align' if align else ''}{'_half' if half else ''}"
        make = one(operator, [[1, 3, 4, 2]], [1, 5, 3, 2], kind, [ints(5, 3)], alignCorners=align, halfPixelCenters=half)
        register(name, make)
register("softmax", one("SOFTMAX", [[2, 5]], [2, 5], "Softmax", beta=1.0))
register("softmax_beta", one("SOFTMAX", [[2, 5]], [2, 5], "Softmax", beta=0.5))
register("log_softmax", one("LOG_SOFTMAX", [[2, 5]], [2, 5], "LogSoftmax"))
register("l2_normalization", one("L2_NORMALIZATION", [[2, 5]], [2, 5], "L2Norm"))
register("lrn", one("LOCAL_RESPONSE_NORMALIZATION", [[1, 2, 2, 6]], [1, 2, 2, 6], "LocalResponseNormalization", radius=2, bias=1.5, alpha=0.3, beta=0.6), rtol=1e-4)
for operator in ["MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD"]:
    register(operator.lower(), one(operator, [[2, 3, 4]], [2, 4], "Reducer", [ints(1)], keepDims=False))
    register(f"{operator.lower()}_keep", one(operator, [[2, 3, 4]], [1, 3, 1], "Reducer", [ints(0, -1)], keepDims=True))


# Products, of real numbers, of integers, and of integer weights alone.
def product(operator, kind, x, weights, out, order=None, settings=(), form="float", bias=True, channels=None, before=(), activation=0):
    """`channels`: the dimension of the weights with a scale for each element."""

    def make(rng):
        model = File()
        wide = form == "int16"
        dtype = FLOAT if form in ("float", "hybrid") else INT16 if wide else np.uint8 if form == "uint8" else INT8
        quantise = dtype != FLOAT
        # Scales whose ratio is a power of two make halves; others do not.
        own = (0.5, 0 if wide else 3) if quantise else (None, 0)
        number = model.input(x, dtype, *own)
        count = weights[channels] if channels is not None else 1
        scale = rng.uniform(0.005, 0.02, count) if quantise or form == "hybrid" else None
        twin = File() if form == "hybrid" else None
        if form == "hybrid":
            stored = rng.integers(-127, 128, weights).astype(INT8)
            w = model.constant(stored, scale, 0, channels or 0)
            shape = [-1 if n == channels else 1 for n in range(len(weights))]
            twin.input(x)
            assert twin.constant(stored * (scale.astype(FLOAT).reshape(shape) if channels is not None else FLOAT(scale[0]))) == w
        elif form == "float":
            w = model.constant(floats(rng, weights, -1, 1))
        elif form == "uint8":
            w = model.constant(integers(rng, weights, np.uint8), scale, 120)
        else:
            w = model.constant(rng.integers(-127, 128, weights).astype(INT8), scale, 0, channels or 0)
        features = out[-1]
        if not bias:
            b = -1
        elif quantise:
            b_type = np.int64 if wide else INT32
            b = model.constant(rng.integers(-3000, 3000, features).astype(b_type), np.asarray(scale) * 0.5, 0, 0)
        else:
            b = model.constant(floats(rng, [features]))
        y = model.result(out, dtype, *((0.37 if not wide else 0.02, 0 if wide else 5 if dtype == INT8 else 130) if quantise else (None, 0)))
        numbers = [model.constant(value) for value in before] + ([w, number] if before else [number, w])
        model.operator(operator, numbers + [b], [y], kind, fusedActivationFunction=activation, **dict(settings))
        if twin:
            twin.graph.tensors += model.graph.tensors[len(twin.graph.tensors):]
            twin.model.buffers += model.model.buffers[len(twin.model.buffers):]
            twin.model.operatorCodes, twin.graph.operators = model.model.operatorCodes, model.graph.operators
        if quantise:
            given = integers(rng, x, dtype) if not wide else rng.integers(-3000, 3000, x).astype(dtype)
        else:
            given = floats(rng, x)
        return (model, [y], [given], twin) if twin else (model, [y], [given])

    return make


SAME, VALID = {"padding": 0}, {"padding": 1}
strides = {"strideW": 2, "strideH": 1}
PRODUCTS = {
    "fully_connected": ("FULLY_CONNECTED", "FullyConnected", [3, 6], [4, 6], [3, 4], (), 0),
    "fully_connected_keep": ("FULLY_CONNECTED", "FullyConnected", [2, 3, 6], [4, 6], [2, 3, 4], {"keepNumDims": True}, 0),
    "conv_same": ("CONV_2D", "Conv2D", [1, 5, 6, 3], [4, 3, 2, 3], [1, 5, 3, 4], {**SAME, **strides}, 0),
    "conv_valid": ("CONV_2D", "Conv2D", [2, 5, 6, 3], [4, 3, 2, 3], [2, 3, 3, 4], {**VALID, **strides}, 0),
    "conv_dilated": ("CONV_2D", "Conv2D", [1, 7, 7, 2], [3, 3, 3, 2], [1, 7, 7, 3], {**SAME, "strideW": 1, "strideH": 1, "dilationWFactor": 2, "dilationHFactor": 3}, 0),
    "conv_grouped": ("CONV_2D", "Conv2D", [1, 4, 4, 4], [6, 1, 1, 2], [1, 4, 4, 6], {**VALID, "strideW": 1, "strideH": 1}, 0),
    "depthwise": ("DEPTHWISE_CONV_2D", "DepthwiseConv2D", [1, 5, 6, 3], [1, 3, 3, 3], [1, 5, 6, 3], {**SAME, "strideW": 1, "strideH": 1, "depthMultiplier": 1}, 3),
    "depthwise_multiplied": ("DEPTHWISE_CONV_2D", "DepthwiseConv2D", [1, 5, 6, 3], [1, 3, 3, 6], [1, 3, 2, 6], {**VALID, "strideW": 2, "strideH": 1, "depthMultiplier": 2}, 3),
}
for name, (operator, kind, x, weights, out, settings, channels) in PRODUCTS.items():
    arguments = (operator, kind, x, weights, out)
    register(f"{name}_float", product(*arguments, settings=settings, activation=1))
    register(f"{name}_hybrid", product(*arguments, settings=settings, form="hybrid", channels=channels))
    register(f"{name}_int8", product(*arguments, settings=settings, form="int8", channels=channels), steps=1)
    register(f"{name}_int8_relu6", product(*arguments, settings=settings, form="int8", channels=channels, activation=3), steps=1)
register("fully_connected_int8_one_scale", product(*PRODUCTS["fully_connected"][:5], form="int8"), steps=1)
register("fully_connected_no_bias", product(*PRODUCTS["fully_connected"][:5], form="int8", bias=False), steps=1)
register("fully_connected_uint8", product(*PRODUCTS["fully_connected"][:5], form="uint8", activation=1), steps=1)
register("fully_connected_int16", product(*PRODUCTS["fully_connected"][:5], form="int16", channels=0), steps=1)
register("conv_int16", product(*PRODUCTS["conv_same"][:5], settings=PRODUCTS["conv_same"][5], form="int16", channels=0), steps=1)
for form in ["float", "int8"]:
    for padding, out in [(0, [1, 6, 4, 3]), (1, [1, 7, 5, 3])]:
        make = product("TRANSPOSE_CONV", "TransposeConv", [1, 3, 2, 2], [3, 3, 3, 2], out, settings={"padding": padding, "strideW": 2, "strideH": 2},
                       form=form, channels=0 if form == "int8" else None, before=[ints(*out)])  # fmt: skip
        register(f"transpose_conv_{'valid' if padding else 'same'}_{form}", make, steps=1)
register("conv_3d", product("CONV_3D", "Conv3D", [1, 3, 4, 5, 2], [2, 3, 2, 2, 3], [1, 3, 2, 5, 3], settings={"padding": 0, "strideD": 1, "strideH": 2, "strideW": 1}))
register("batch_matmul", one("BATCH_MATMUL", [[2, 3, 4], [2, 5, 4]], [2, 3, 5], "BatchMatMul", adjY=True))

# Integers.
A, B = ([2, 12], INT8, 0.1, -5), ([2, 12], INT8, 0.07, 9)
for operator in ["ADD", "SUB", "MUL"]:
    for activation, name in [(0, ""), (1, "_relu")]:
        make = quantised(operator, [A, B], ([2, 12], INT8, 0.2, 11), operator.title(), fusedActivationFunction=activation)
        register(f"{operator.lower()}_int8{name}", make, steps=1)
register("add_int16", quantised("ADD", [([2, 12], INT16, 0.01, 0), ([2, 12], INT16, 0.013, 0)], ([2, 12], INT16, 0.02, 0), "Add"), steps=1)
register("mul_uint8", quantised("MUL", [([2, 12], np.uint8, 0.1, 100), ([2, 12], np.uint8, 0.07, 140)], ([2, 12], np.uint8, 0.9, 128), "Mul"), steps=1)
for operator, scale, zero in [("LOGISTIC", 1 / 256, -128), ("TANH", 1 / 128, 0), ("HARD_SWISH", 0.08, -10), ("RELU", 0.1, -5), ("RELU6", 6 / 255, -128)]:
    register(f"{operator.lower()}_int8", quantised(operator, [([4, 32], INT8, 0.1, -5)], ([4, 32], INT8, scale, zero)), steps=1)
register("relu_int8_rescaled", quantised("RELU", [([4, 32], INT8, 0.1, -5)], ([4, 32], INT8, 0.06, -100)), steps=1)
register("leaky_relu_int8", quantised("LEAKY_RELU", [([4, 32], INT8, 0.1, -5)], ([4, 32], INT8, 0.06, -10), "LeakyRelu", alpha=0.2), steps=1)
register("softmax_int8", quantised("SOFTMAX", [([4, 6], INT8, 0.05, 7)], ([4, 6], INT8, 1 / 256, -128), "Softmax", beta=1.0), steps=1)
register("quantize", quantised("QUANTIZE", [([4, 32], FLOAT, None, 0)], ([4, 32], INT8, 0.25, 3), "Quantize"))
register("requantize", quantised("QUANTIZE", [([4, 32], INT8, 0.1, -5)], ([4, 32], INT8, 0.25, 3), "Quantize"), steps=1)
register("requantize_half", quantised("QUANTIZE", [([4, 64], INT8, 0.25, 3)], ([4, 64], INT8, 0.5, -1), "Quantize"))
register("dequantize", quantised("DEQUANTIZE", [([4, 32], INT8, 0.1, -5)], ([4, 32], FLOAT), "Dequantize"))
pool = dict(padding=0, strideW=2, strideH=2, filterWidth=2, filterHeight=2)
for zero in [-128, 0, 7]:
    register(f"average_pool_int8_{zero}", quantised("AVERAGE_POOL_2D", [([1, 8, 8, 3], INT8, 0.1, zero)], ([1, 4, 4, 3], INT8, 0.1, zero), "Pool2D", **pool))
register("max_pool_int8", quantised("MAX_POOL_2D", [([1, 8, 7, 3], INT8, 0.1, 4)], ([1, 4, 4, 3], INT8, 0.1, 4), "Pool2D", **pool))
register("pad_int8", quantised("PAD", [([2, 3], INT8, 0.1, 4)], ([4, 4], INT8, 0.1, 4), "Pad", [np.array([[1, 1], [0, 1]], INT32)]))
register("concatenation_int8", quantised("CONCATENATION", [([2, 3], INT8, 0.1, 4), ([2, 4], INT8, 0.1, 4)], ([2, 7], INT8, 0.1, 4), "Concatenation", axis=1))
register("maximum_int8", quantised("MAXIMUM", [([2, 12], INT8, 0.1, 4), ([2, 12], INT8, 0.1, 4)], ([2, 12], INT8, 0.1, 4), "MaximumMinimum"))
register("mean_int8", quantised("MEAN", [([1, 4, 5, 6], INT8, 0.1, 4)], ([1, 6], INT8, 0.05, -3), "Reducer", [ints(1, 2)]), steps=1)
register("sum_int8", quantised("SUM", [([2, 5, 6], INT8, 0.1, 4)], ([2, 6], INT8, 0.3, -3), "Reducer", [ints(1)]), steps=1)
register("resize_bilinear_int8", quantised("RESIZE_BILINEAR", [([1, 3, 4, 2], INT8, 0.1, 4)], ([1, 6, 8, 2], INT8, 0.1, 4), "ResizeBilinear", [ints(6, 8)], halfPixelCenters=True), steps=1)
register("resize_nearest_int8", quantised("RESIZE_NEAREST_NEIGHBOR", [([1, 3, 4, 2], INT8, 0.1, 4)], ([1, 6, 8, 2], INT8, 0.1, 4), "ResizeNearestNeighbor", [ints(6, 8)]))
register("batch_matmul_int8", quantised("BATCH_MATMUL", [([2, 3, 4], INT8, 0.1, 4), ([2, 4, 5], INT8, 0.05, -7)], ([2, 3, 5], INT8, 0.4, 1), "BatchMatMul"), steps=1)
register("reshape_int8", quantised("RESHAPE", [([2, 6], INT8, 0.1, 4)], ([12], INT8, 0.1, 4), "Reshape", [ints(12)], newShape=[12]))


@case("prelu_int8", steps=1)
def _(rng):
    model = File()
    x, y = model.input([1, 2, 3, 4], INT8, 0.1, -5), model.result([1, 2, 3, 4], INT8, 0.07, 3)
    model.operator("PRELU", [x, model.constant(integers(rng, [1, 1, 4]), 0.01, 2)], [y])
    return model, [y], [integers(rng, [1, 2, 3, 4])]


@case("conv_int8_channel_without_weights", steps=1)
def _(rng):
    """Converters give a channel whose weights are 0 a scale so small that its bias fills 32 bits."""
    model = File()
    x, y = model.input([1, 6, 6, 4], INT8, 0.02, -7), model.result([1, 6, 6, 4], INT8, 0.021, -20)
    scales = np.array([0.009, 2e-11, 0.004, 0.02], FLOAT)
    weights = rng.integers(-127, 128, [4, 1, 1, 4]).astype(INT8)
    bias = np.array([300, 2**30, -200, 500], INT32)
    numbers = [x, model.constant(weights, scales), model.constant(bias, scales * 0.02)]
    model.operator("CONV_2D", numbers, [y], "Conv2D", padding=1, strideW=1, strideH=1)
    return model, [y], [integers(rng, [1, 6, 6, 4])]


@case("half_weights")
def _(rng):
    model = File()
    x, w, y = model.input([2, 3]), model.result([4, 3]), model.result([2, 4])
    model.operator("DEQUANTIZE", [model.constant(floats(rng, [4, 3]).astype(np.float16))], [w], "Dequantize")
    model.operator("FULLY_CONNECTED", [x, w, -1], [y], "FullyConnected")
    return model, [y], [floats(rng, [2, 3])]


# Recurrent layers.
def lstm(form, coupled=False, peepholes=False, steps_first=False):
    def make(rng):
        model = File()
        steps, batch, inputs, hidden = 3, 2, 4, 5
        x = model.input([steps, batch, inputs] if steps_first else [batch, steps, inputs])
        weights = lambda *shape: model.constant(floats(rng, shape, -0.7, 0.7))
        absent = lambda gate, number: -1 if gate == 0 and coupled else number
        numbers = [x] + [absent(gate, weights(hidden, inputs)) for gate in range(4)]
        numbers += [absent(gate, weights(hidden, hidden)) for gate in range(4)]
        numbers += [absent(gate, weights(hidden)) if peepholes else -1 for gate in range(3)]
        numbers += [absent(gate, weights(hidden)) for gate in range(4)] + [-1, -1]
        numbers += [model.tensor([batch, hidden], FLOAT, variable=True), model.tensor([batch, hidden], FLOAT, variable=True)]
        numbers += [-1] * 4
        y = model.result([steps, batch, hidden] if steps_first else [batch, steps, hidden])
        model.operator("UNIDIRECTIONAL_SEQUENCE_LSTM", numbers, [y], "UnidirectionalSequenceLSTM", fusedActivationFunction=4, timeMajor=steps_first)
        return model, [y], [floats(rng, model.graph.tensors[x].shape)]

    return make


register("lstm", lstm("float"))
register("lstm_steps_first", lstm("float", steps_first=True))
register("lstm_coupled", lstm("float", coupled=True))
register("lstm_peepholes", lstm("float", peepholes=True))
register("lstm_coupled_peepholes", lstm("float", coupled=True, peepholes=True))


@case("rnn")
def _(rng):
    model = File()
    x, y = model.input([2, 3, 4]), model.result([2, 3, 5])
    numbers = [x] + [model.constant(floats(rng, shape, -0.7, 0.7)) for shape in ([5, 4], [5, 5], [5])]
    numbers.append(model.tensor([2, 5], FLOAT, variable=True))
    model.operator("UNIDIRECTIONAL_SEQUENCE_RNN", numbers, [y], "SequenceRNN", fusedActivationFunction=4)
    return model, [y], [floats(rng, [2, 3, 4])]


def svdf(rank, activation):
    def make(rng):
        model = File()
        x, y = model.input([2, 4]), model.result([2, 3])
        numbers = [x] + [model.constant(floats(rng, shape)) for shape in ([3 * rank, 4], [3 * rank, 6], [3])]
        numbers.append(model.tensor([2, 6 * 3 * rank], FLOAT, variable=True))
        model.operator("SVDF", numbers, [y], "SVDF", rank=rank, fusedActivationFunction=activation)
        return model, [y], [floats(rng, [2, 4])]

    return make


register("svdf", svdf(1, 0))
register("svdf_rank_2", svdf(2, 1))


# A network, whose values go through several layers.
@case("network_int8", steps=2)
def _(rng):
    model = File()
    x = model.input([1, 8, 8, 3], INT8, 0.02, -7)
    shapes, layer = [[1, 8, 8, 4], [1, 4, 4, 4], [1, 64], [1, 10], [1, 10]], x
    y = [model.result(shapes[0], INT8, 0.05, -128), model.result(shapes[1], INT8, 0.05, -128), model.result(shapes[2], INT8, 0.05, -128)]
    scales = rng.uniform(0.005, 0.02, 4)
    w = model.constant(rng.integers(-127, 128, [4, 3, 3, 3]).astype(INT8), scales)
    b = model.constant(rng.integers(-900, 900, 4).astype(INT32), scales * 0.02)
    model.operator("CONV_2D", [layer, w, b], [y[0]], "Conv2D", padding=0, strideW=1, strideH=1, fusedActivationFunction=1)
    model.operator("MAX_POOL_2D", [y[0]], [y[1]], "Pool2D", padding=1, strideW=2, strideH=2, filterWidth=2, filterHeight=2)
    model.operator("RESHAPE", [y[1], model.constant(ints(1, 64))], [y[2]], "Reshape", newShape=[1, 64])
    w = model.constant(rng.integers(-127, 128, [10, 64]).astype(INT8), 0.004)
    b = model.constant(rng.integers(-900, 900, 10).astype(INT32), 0.0002)
    y += [model.result(shapes[3], INT8, 0.05, 4), model.result(shapes[4], INT8, 1 / 256, -128)]
    model.operator("FULLY_CONNECTED", [y[2], w, b], [y[3]], "FullyConnected")
    model.operator("SOFTMAX", [y[3]], [y[4]], "Softmax", beta=1.0)
    return model, [y[4], y[3]], [integers(rng, [1, 8, 8, 3])]


# Models that are refused.
REFUSED = {}


def refused(name, operator, constants=(), shape=(2, 3), operands=1, kind=None, custom=None):
    """A ReLU and the operator behind it."""
    model = File()
    x, y, z = model.input(shape), model.result(shape), model.result(shape)
    model.operator("RELU", [x], [y])
    numbers = [y] * operands + [model.constant(np.asarray(value)) for value in constants]
    model.operator(operator, numbers, [z], kind, custom=custom)
    REFUSED[name] = model.bytes([z])


refused("reverse_sequence", "REVERSE_SEQUENCE", [ints(1, 2)], kind="ReverseSequence")
refused("custom", "CUSTOM", custom="MyOperator")
refused("lstm_of_one_matrix", "LSTM", operands=5, kind="LSTM")


if __name__ == "__main__":
    what, path, *names = sys.argv[1:]
    with open(path, "wb") as file:
        if what == "refused":
            for name, model in REFUSED.items():
                file.write(field(1, field(1, name.encode()) + field(2, model)))
        else:
            for name in names or sorted(CASES):
                file.write(written(name))
