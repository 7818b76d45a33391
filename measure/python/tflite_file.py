"""Writes small TFLite files, and runs them with LiteRT.

    model = File()
    x = model.input([1, 4], np.int8, scale=0.5, zero=3)
    y = model.result([1, 4], np.int8, scale=0.25)
    model.operator("RELU", [x], [y])
    model.run([y], [values])
"""

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType

CODES = {name: code for name, code in vars(schema.BuiltinOperator).items() if isinstance(code, int)}
OPTIONS = {name: code for name, code in vars(schema.BuiltinOptions).items() if isinstance(code, int)}
TYPES = {
    np.float32: 0, np.float16: 1, np.int32: 2, np.uint8: 3, np.int64: 4, np.bool_: 6, np.int16: 7, np.int8: 9,
}  # fmt: skip


class File:
    """A file under construction; tensors are known by their numbers."""

    def __init__(self):
        self.model, self.graph = schema.ModelT(), schema.SubGraphT()
        self.model.version, self.model.description = 3, "tabla-gen"
        self.model.operatorCodes, self.model.subgraphs = [], [self.graph]
        self.model.buffers = [schema.BufferT()]
        self.graph.tensors, self.graph.operators, self.graph.inputs, self.graph.outputs = [], [], [], []

    def tensor(self, shape, kind, scale=None, zero=0, axis=0, data=None, variable=False, name=None):
        """A tensor; `scale` and `zero` are numbers, or lists along `axis`."""
        tensor = schema.TensorT()
        tensor.shape, tensor.type = [int(extent) for extent in shape], TYPES[np.dtype(kind).type]
        tensor.name, tensor.isVariable, tensor.buffer = name or f"t{len(self.graph.tensors)}", variable, 0
        if data is not None:
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(np.ascontiguousarray(data, kind).tobytes(), np.uint8)
            tensor.buffer = len(self.model.buffers)
            self.model.buffers.append(buffer)
        if scale is not None:
            tensor.quantization = schema.QuantizationParametersT()
            scales = np.atleast_1d(np.asarray(scale, np.float32))
            tensor.quantization.scale = scales
            tensor.quantization.zeroPoint = np.broadcast_to(np.asarray(zero, np.int64), scales.shape)
            tensor.quantization.quantizedDimension = axis
        self.graph.tensors.append(tensor)
        return len(self.graph.tensors) - 1

    def input(self, shape, kind=np.float32, scale=None, zero=0, name=None):
        number = self.tensor(shape, kind, scale, zero, name=name or f"x{len(self.graph.inputs)}")
        self.graph.inputs.append(number)
        return number

    def constant(self, data, scale=None, zero=0, axis=0):
        return self.tensor(data.shape, data.dtype, scale, zero, axis, data)

    def result(self, shape, kind=np.float32, scale=None, zero=0):
        return self.tensor(shape, kind, scale, zero)

    def operator(self, name, inputs, outputs, kind=None, custom=None, **settings):
        """An operator; `kind` is the type of its settings, without `Options`."""
        code = schema.OperatorCodeT()
        code.builtinCode, code.deprecatedBuiltinCode = CODES[name], min(CODES[name], 127)
        code.version = 2 if name == "BROADCAST_TO" else 1
        code.customCode = custom
        operator = schema.OperatorT()
        operator.opcodeIndex = len(self.model.operatorCodes)
        operator.inputs, operator.outputs = inputs, outputs
        if kind:
            operator.builtinOptionsType = OPTIONS[f"{kind}Options"]
            operator.builtinOptions = getattr(schema, f"{kind}OptionsT")()
            for key, value in settings.items():
                assert hasattr(operator.builtinOptions, key), key
                setattr(operator.builtinOptions, key, value)
        self.model.operatorCodes.append(code)
        self.graph.operators.append(operator)

    def bytes(self, outputs):
        """The file with these results."""
        self.graph.outputs = outputs
        builder = flatbuffers.Builder(1024)
        builder.Finish(self.model.Pack(builder), b"TFL3")
        return bytes(builder.Output())


def litert(file, values, reference=True):
    """What LiteRT makes of a file: its reference kernels, or its fast ones without a delegate."""
    kernels = OpResolverType.BUILTIN_REF if reference else OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    try:
        model = Interpreter(model_content=file, experimental_op_resolver_type=kernels)
    except ValueError:
        # A few operators have no reference kernel there.
        return litert(file, values, False) if reference else None
    model.allocate_tensors()
    for info, value in zip(model.get_input_details(), values):
        model.set_tensor(info["index"], value)
    model.invoke()
    return [model.get_tensor(info["index"]) for info in model.get_output_details()]
