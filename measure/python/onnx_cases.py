"""Models and test cases for `measure onnx`, and for the tests of the crate `onnx`.

    onnx_cases.py cases FILE            every node case of the package `onnx`, in one file
    onnx_cases.py sample FILE           the small cases that CI runs
    onnx_cases.py pytorch FILE          the cases that PyTorch made
    onnx_cases.py models FILE           real models with inputs, and what onnxruntime makes of them
    onnx_cases.py example FILE          the classifier of digits in examples/

The file is a protocol buffer: field 1, a case: 1 name, 2 model, 3 inputs, 4 outputs (TensorProto, empty if not a tensor), 5 tolerances.
"""

import glob
import json
import os
import sys
import warnings

import numpy as np
import onnx
from messages import field
from onnx import numpy_helper

warnings.filterwarnings("ignore")

# Of every family of operators, cases of a few hundred bytes.
SAMPLE = """
test_abs test_acos_example test_add_bcast test_and_bcast3v1d test_argmax_keepdims_example test_argmin_negative_axis_keepdims_example
test_attention_4d test_attention_3d_causal test_attention_4d_gqa_attn_mask test_averagepool_2d_pads_count_include_pad
test_averagepool_2d_ceil test_basic_conv_with_padding test_basic_conv_without_padding test_batchnorm_example test_bitshift_right_uint8
test_bitwise_and_ui8_bcast_4v3d test_cast_FLOAT_to_FLOAT16 test_ceil_example test_celu test_clip_example test_col2im
test_concat_2d_axis_1 test_constant_pad test_constantofshape_float_ones test_conv_with_autopad_same test_convtranspose_pad
test_convtranspose_dilations test_cumsum_2d_axis_1 test_depthtospace_crd_mode_example test_dequantizelinear_axis test_det_2d
test_div_int8 test_edge_pad test_einsum_batch_matmul test_elu_example test_equal_bcast test_erf
test_expand_dim_changed test_eyelike_with_dtype test_flatten_axis1 test_gather_1 test_gather_elements_1 test_gather_negative_indices
test_gathernd_example_int32 test_gelu_default_1 test_gemm_all_attributes test_globalaveragepool_precomputed test_group_normalization_epsilon
test_gru_defaults test_hardmax_example test_hardsigmoid_example test_identity test_if test_instancenorm_example test_isinf
test_layer_normalization_2d_axis1 test_leakyrelu_example test_less_bcast test_logsoftmax_example_1 test_loop11 test_lrn_default
test_lstm_with_initial_bias test_matmul_2d test_matmulinteger test_maxpool_2d_precomputed_pads
test_maxpool_with_argmax_2d_precomputed_strides test_maxunpool_export_with_output_shape test_mean_example test_mod_mixed_sign_int64
test_nllloss_NC test_nonzero_example test_onehot_with_axis test_pow_bcast_array test_prelu_example test_qlinearconv
test_qlinearmatmul_2D_uint8_float32 test_quantizelinear test_range_float_type_positive_delta test_reduce_log_sum_exp_keepdims_example
test_reduce_mean_keepdims_example test_reduce_prod_do_not_keepdims_example test_reflect_pad test_reshape_reordered_all_dims
test_resize_upsample_scales_nearest test_resize_upsample_scales_linear_align_corners test_resize_downsample_sizes_cubic
test_reversesequence_batch test_rms_normalization_2d_axis1 test_rnn_seq_length test_rotary_embedding_interleaved test_round
test_scan9_sum test_scatter_elements_with_axis test_scatternd_add test_sce_mean test_selu_example
test_shape test_shrink_soft test_simple_rnn_with_initial_bias test_slice_neg_steps test_spacetodepth_example test_softmax_large_number
test_split_equal_parts_1d_opset13 test_squeeze test_swish test_tensorscatter_circular test_tile_precomputed test_top_k test_transpose_default
test_tril_neg test_unsqueeze_two_axes test_where_example test_wrap_pad test_dropout_default_mask test_training_dropout_zero_ratio
test_cast_FLOAT_to_FLOAT4E2M1 test_reduce_max_empty_set_bool test_reduce_log_sum_empty_set test_reduce_log_sum_exp_empty_set_expanded
test_mod_float_edge_cases_fmod_0_float32 test_attention_4d_attn_mask test_scatternd_min test_bitshift_right_int8_negative_shift test_cast_INT4_to_FLOAT16 test_ai_onnx_ml_array_feature_extractor test_ai_onnx_ml_binarizer
test_hannwindow test_hammingwindow_symmetric test_blackmanwindow_symmetric
""".split()


def proto(value, name):
    """A value as a TensorProto; empty if it is none."""
    if isinstance(value, onnx.TensorProto):
        value = onnx.TensorProto.FromString(value.SerializeToString())
        value.name = name
        return value.SerializeToString()
    if value is None or isinstance(value, (list, dict, tuple)):
        return b""
    try:
        return numpy_helper.from_array(np.asarray(value), name).SerializeToString()
    except Exception:
        return b""


def case(name, model, inputs, outputs, rtol, atol):
    parts = [field(1, name.encode()), field(2, model.SerializeToString())]
    parts += [field(3, proto(value, info.name)) for value, info in zip(inputs, model.graph.input)]
    parts += [field(4, proto(value, info.name)) for value, info in zip(outputs, model.graph.output)]
    parts.append(field(5, f"{rtol} {atol}".encode()))
    return field(1, b"".join(parts))


def node_cases():
    from onnx.backend.test.case.node import collect_testcases

    return collect_testcases(None)


def write_cases(path, wanted=None):
    count = 0
    with open(path, "wb") as file:
        for one in sorted(node_cases(), key=lambda one: one.name):
            if wanted is None or one.name in wanted:
                inputs, outputs = one.data_sets[0]
                file.write(case(one.name, one.model, inputs, outputs, one.rtol, one.atol))
                count += 1
    print(f"{count} cases")


def write_pytorch(path):
    root = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data")
    with open(path, "wb") as file:
        folders = [folder for kind in ("converted", "operator") for folder in sorted(glob.glob(f"{root}/pytorch-{kind}/*"))]
        for folder in folders:
            load = lambda what: [
                onnx.TensorProto.FromString(open(f"{folder}/test_data_set_0/{what}_{n}.pb", "rb").read())
                for n in range(len(glob.glob(f"{folder}/test_data_set_0/{what}_*.pb")))
            ]
            model = onnx.load(f"{folder}/model.onnx")
            named = {data.name for data in model.graph.initializer}
            given = [info for info in model.graph.input if info.name not in named]
            shown = onnx.ModelProto()
            shown.CopyFrom(model)
            del shown.graph.input[:]
            shown.graph.input.extend(given)
            file.write(case(os.path.basename(folder), shown, load("input"), load("output"), 1e-3, 1e-5))
    print(f"{len(folders)} cases")


def digits():
    from sklearn.datasets import load_digits
    from sklearn.neural_network import MLPClassifier

    images, labels = load_digits(return_X_y=True)
    images = images.astype(np.float32)
    model = MLPClassifier((16,), max_iter=60, random_state=1).fit(images[:1400], labels[:1400])
    return model, images, labels


def export(model, row):
    from skl2onnx import to_onnx

    classifier = hasattr(model, "classes_")
    return to_onnx(model, row, options={"zipmap": False} if classifier else None)


def of_size(model, size):
    """The same network for a smaller image, for rungs that simulate every cycle."""
    small = onnx.ModelProto()
    small.CopyFrom(model)
    for dimension in small.graph.input[0].type.tensor_type.shape.dim[2:]:
        dimension.dim_value = size
    for output in small.graph.output:
        output.type.tensor_type.ClearField("shape")
    del small.graph.value_info[:]
    return small


def real_models():
    """Networks that others trained or wrote, by name, each with an input."""
    import onnxruntime
    import qonnx
    from sklearn.datasets import load_iris
    from sklearn.linear_model import LinearRegression, LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, Normalizer, StandardScaler

    data = os.path.join(os.path.dirname(qonnx.__file__), "data", "onnx")
    random = np.random.default_rng(1)
    model, images, _ = digits()
    flowers, kinds = load_iris(return_X_y=True)
    flowers = flowers.astype(np.float32)
    fits = {
        "iris_scaled": (make_pipeline(StandardScaler(), LogisticRegression()), kinds),
        "iris_normalised": (make_pipeline(Normalizer(), LogisticRegression()), kinds),
        "iris_two": (LogisticRegression(), (kinds > 0).astype(int)),
        "iris_regression": (make_pipeline(MinMaxScaler(), LinearRegression()), kinds),
    }
    models = {"digits_mlp": (export(model, images[:1]), images[1400:1410])}
    for name, (fit, target) in fits.items():
        models[name] = (export(fit.fit(flowers, target), flowers[:1]), flowers[::10])
    iris = onnx.load(os.path.join(os.path.dirname(onnxruntime.__file__), "datasets", "logreg_iris.onnx"))
    # Its probabilities as a tensor, not as dictionaries.
    zip_map = next(node for node in iris.graph.node if node.op_type == "ZipMap")
    iris.graph.output[1].CopyFrom(onnx.helper.make_tensor_value_info(zip_map.input[0], onnx.TensorProto.FLOAT, [None, 3]))
    iris.graph.node.remove(zip_map)
    models["logreg_iris"] = (iris, flowers[::60, :2])
    mnist = onnx.load(f"{data}/mnist-conv/model.onnx")
    digit = numpy_helper.to_array(onnx.TensorProto.FromString(open(f"{data}/mnist-conv/test_data_set_0/input_0.pb", "rb").read()))
    models["mnist_cnn"] = (mnist, digit)
    for kind in ("nn_resize", "subpixel"):
        for file in sorted(glob.glob(f"{data}/bsd300x3-espcn/{kind}/*.onnx")):
            super_resolution, name = onnx.load(file), f"espcn_{kind}_{os.path.basename(file)[:-5]}"
            models[name] = (super_resolution, random.random((1, 3, 8, 8), np.float32))
            models[f"{name}_8x8"] = (of_size(super_resolution, 8), random.random((1, 3, 8, 8), np.float32))
    for name, (one, value) in models.items():
        given = {data.name for data in one.graph.initializer}
        inputs = [info for info in one.graph.input if info.name not in given]
        del one.graph.input[:]
        one.graph.input.extend(inputs)
        shape = [dimension.dim_value for dimension in inputs[0].type.tensor_type.shape.dim]
        value = np.asarray(value, np.float32)
        if all(shape) and shape != list(value.shape):
            value = random.random(shape, np.float32) if len(shape) == 4 else np.resize(value, shape)
        models[name] = (one, value)
    return models


def reference(model, value):
    """The outputs of a network with one input: onnxruntime's, or qonnx' where it has operators of that."""
    import onnxruntime

    onnxruntime.set_default_logger_severity(3)
    given = {model.graph.input[0].name: value}
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        return session.run(None, given)
    except Exception:
        from qonnx.core.modelwrapper import ModelWrapper
        from qonnx.core.onnx_exec import execute_onnx
        from qonnx.transformation.infer_shapes import InferShapes

        result = execute_onnx(ModelWrapper(model).transform(InferShapes()), given)
        return [result[info.name] for info in model.graph.output]


def write_models(path):
    """One file of cases, judged to 1e-4."""
    models = real_models()
    with open(path, "wb") as file:
        for name, (one, value) in sorted(models.items()):
            file.write(case(name, one, [value], reference(one, value), 1e-4, 1e-4))
    print(f"{len(models)} models: {' '.join(sorted(models))}")


if __name__ == "__main__":
    what, path = sys.argv[1:3]
    if what == "cases":
        write_cases(path)
    elif what == "sample":
        write_cases(path, set(SAMPLE))
    elif what == "pytorch":
        write_pytorch(path)
    elif what == "models":
        write_models(path)
    elif what == "example":
        model, images, labels = digits()
        with open(path, "wb") as file:
            file.write(export(model, images[:1]).SerializeToString())
        print(json.dumps({"accuracy": model.score(images[1400:], labels[1400:])}))
