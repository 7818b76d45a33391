"""Small models of `ai.onnx.ml`, `com.microsoft`, QONNX and of uneven channels, and what onnxruntime and qonnx make of them, for the tests of the crate `onnx`.

    onnx_learned.py FILE [NAME ...]     compiler/onnx/tests/learned.bin; with names, those cases only

The file has the form of onnx_cases.py. Inputs are multiples of 1/8, so that single and double precision compare alike.
"""

import sys
import warnings

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from onnx_cases import case

warnings.filterwarnings("ignore")
ort.set_default_logger_severity(4)
LEARNED = "ai.onnx.ml"
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]


def eighths(rng, shape, low=-4, high=4):
    return (rng.integers(low * 8, high * 8 + 1, shape) / 8).astype(np.float32)


def model(nodes, inputs, outputs, initialisers=(), opsets=(("", 17), (LEARNED, 3))):
    info = [helper.make_tensor_value_info(*one) for one in inputs]
    graph = helper.make_graph(list(nodes), "g", info, [helper.make_tensor_value_info(*one) for one in outputs], list(initialisers))
    opsets = [helper.make_opsetid(*opset) for opset in opsets]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def learned(operator, x, outputs, version=3, **settings):
    """A model of one node of `ai.onnx.ml`, and its operand."""
    node = helper.make_node(operator, ["x"], [name for name, *_ in outputs], domain=LEARNED, **settings)
    kind = INT64 if x.dtype == np.int64 else FLOAT
    return model([node], [("x", kind, x.shape)], outputs, opsets=(("", 17), (LEARNED, version))), [x]


class Lists:
    """Nodes of random trees, as versions 1 to 3 write them."""

    def __init__(self, rng, features, modes, missing=False):
        self.rng, self.features, self.modes, self.missing = rng, features, modes, missing
        self.nodes = {k: [] for k in ["treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids"]}
        self.flags, self.leaves = [], []

    def node(self, tree, **settings):
        number = self.nodes["treeids"].count(tree)
        defaults = {"featureids": 0, "modes": "LEAF", "values": 0.0, "truenodeids": 0, "falsenodeids": 0}
        for key, value in {**defaults, **settings, "treeids": tree, "nodeids": number}.items():
            self.nodes[key].append(value)
        self.flags.append(int(self.rng.integers(2)) if self.missing else 0)
        return len(self.flags) - 1, number

    def tree(self, tree, depth, chance=1.0):
        """Grow a tree; with `chance` a node above the depth goes on."""
        if depth == 0 or self.rng.random() > chance:
            _, number = self.node(tree)
            self.leaves.append((tree, number))
            return number
        feature, threshold = int(self.rng.integers(self.features)), float(eighths(self.rng, ()))
        place, number = self.node(tree, featureids=feature, values=threshold, modes=self.modes[self.rng.integers(len(self.modes))])
        self.nodes["truenodeids"][place] = self.tree(tree, depth - 1, chance)
        self.nodes["falsenodeids"][place] = self.tree(tree, depth - 1, chance)
        return number

    def chain(self, tree, length):
        """A tree whose every split has a leaf on one side."""
        if length == 0:
            return self.tree(tree, 0)
        feature, threshold = int(self.rng.integers(self.features)), float(eighths(self.rng, ()))
        place, number = self.node(tree, featureids=feature, values=threshold, modes=self.modes[0])
        ways = ["truenodeids", "falsenodeids"]
        self.rng.shuffle(ways)
        self.nodes[ways[0]][place] = self.tree(tree, 0)
        self.nodes[ways[1]][place] = self.chain(tree, length - 1)
        return number

    def settings(self, prefix, target, positive=False):
        """Attributes; `target` gives the targets of a tree's leaf."""
        said = [(tree, leaf, t) for tree, leaf in self.leaves for t in target(tree)]
        weights = [float(abs(w) if positive else w) for w in eighths(self.rng, len(said), -2, 2)]
        found = {f"nodes_{key}": value for key, value in self.nodes.items()}
        if self.missing:
            found["nodes_missing_value_tracks_true"] = self.flags
        if positive:
            weights = [w / 8 for w in weights]
        return {
            **found,
            f"{prefix}_treeids": [tree for tree, *_ in said],
            f"{prefix}_nodeids": [leaf for _, leaf, _ in said],
            f"{prefix}_ids": [t for *_, t in said],
            f"{prefix}_weights": weights,
        }


def trees():
    """Ensembles: every mode, every aggregate and transform, every way to leaves."""
    rng = np.random.default_rng(51)
    x = eighths(rng, (6, 4))
    missing = x.copy()
    missing[rng.random(x.shape) < 0.3] = np.nan
    regression = [("y", FLOAT, None)]
    labels = [("label", INT64, None), ("scores", FLOAT, None)]

    def regressor(name, lists, targets=1, target=None, operand=x, **settings):
        target = target or (lambda tree: range(targets))
        return name, *learned("TreeEnsembleRegressor", operand, regression, n_targets=targets, **lists.settings("target", target), **settings)

    def grown(count, depth, modes=("BRANCH_LEQ",), chance=1.0, is_missing=False):
        lists = Lists(rng, 4, list(modes), is_missing)
        for tree in range(count):
            lists.tree(tree, depth, chance)
        return lists

    for mode in MODES:
        yield regressor(f"tree_{mode.lower()}", grown(2, 3, [mode]))
        yield regressor(f"tree_{mode.lower()}_missing", grown(2, 3, [mode], is_missing=True), operand=missing)
    yield regressor("tree_modes", grown(4, 4, MODES, 0.8, True), operand=missing)
    for aggregate in ["SUM", "AVERAGE", "MIN", "MAX"]:
        yield regressor(f"tree_{aggregate.lower()}", grown(3, 3, chance=0.8), 2, aggregate_function=aggregate, base_values=[0.5, -0.25])
    yield regressor("tree_of_one_leaf", grown(2, 0))
    yield regressor("tree_targets_apart", grown(5, 3), 3, lambda tree: [tree % 3])
    chains = Lists(rng, 4, ["BRANCH_LT"])
    for tree in range(3):
        chains.chain(tree, 9)
    yield regressor("tree_by_paths", chains)
    walk = Lists(rng, 4, ["BRANCH_LEQ"])
    walk.tree(0, 10, 0.93)
    walk.chain(1, 14)
    yield regressor("tree_by_walk", walk)
    for post in ["LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"]:
        yield regressor(f"tree_{post.lower()}", grown(3, 2), 3, post_transform=post)

    def classifier(name, lists, classes, target, positive=False, **settings):
        known = list(range(5, 5 + classes)) if "label" in name else list(range(classes))
        known = settings.pop("known", known)
        return name, *learned("TreeEnsembleClassifier", x, labels, classlabels_int64s=known, **lists.settings("class", target, positive), **settings)

    for post in ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"]:
        lower = post.lower()
        yield classifier(f"forest_{lower}", grown(3, 3), 3, lambda _: range(3), True, post_transform=post)
        yield classifier(f"boosted_{lower}", grown(6, 2, chance=0.8), 3, lambda tree: [tree % 3], post_transform=post, base_values=[0.125, 0.5, -0.25])
        yield classifier(f"forest_two_{lower}", grown(3, 3), 2, lambda _: range(2), True, post_transform=post)
        yield classifier(f"boosted_two_{lower}", grown(3, 3), 2, lambda _: [0], post_transform=post)
        yield classifier(f"boosted_two_base_{lower}", grown(3, 3), 2, lambda _: [0], post_transform=post, base_values=[0.25])
        yield classifier(f"boosted_two_positive_{lower}", grown(3, 3), 2, lambda _: [1], True, post_transform=post)
        yield classifier(f"boosted_two_plain_{lower}", grown(3, 3), 2, lambda _: [0], True, post_transform=post)
    yield classifier("boosted_two_bases_second", grown(3, 3), 2, lambda _: [1], base_values=[0.25, 0.5])
    yield classifier("forest_two_base", grown(3, 3), 2, lambda _: range(2), base_values=[0.25])
    yield classifier("forest_two_bases", grown(3, 3), 2, lambda _: range(2), base_values=[0.25, 0.5])
    yield classifier("boosted_two_bases", grown(3, 3), 2, lambda _: [0], base_values=[0.25, 0.5])
    yield classifier("forest_two_signs", grown(3, 3), 2, lambda _: range(2))
    yield classifier("forest_labels", grown(3, 3), 3, lambda _: range(3), True)
    yield classifier("boosted_two_labels", grown(3, 3), 2, lambda _: [0])
    yield classifier("forest_labels_unsorted", grown(3, 3), 3, lambda _: range(3), True, known=[7, -2, 4])
    yield from parts(rng, x)


def parts(rng, x):
    """The operator of version 5: interior nodes and leaves apart, and sets of values."""
    sets = np.array([1, 3, np.nan, 2, 4, np.nan], np.float32)
    whole = np.round(x).astype(np.float32)
    whole[0, 0], whole[1, 0], whole[2, 1] = 1, 3, 4
    for aggregate in range(4):
        settings = {
            "nodes_splits": numpy_helper.from_array(np.array([0.5, 0, -1.0, 0], np.float32)),
            "nodes_featureids": [2, 0, 3, 1],
            "nodes_modes": numpy_helper.from_array(np.array([0, 6, 3, 6], np.uint8)),
            "nodes_truenodeids": [1, 0, 2, 4],
            "nodes_falsenodeids": [2, 1, 3, 5],
            "nodes_trueleafs": [0, 1, 1, 1],
            "nodes_falseleafs": [0, 1, 1, 1],
            "leaf_targetids": [0, 1, 1, 0, 0, 1],
            "leaf_weights": numpy_helper.from_array(np.array([1.5, -2.0, 0.75, 3.0, 0.5, -1.25], np.float32)),
            "tree_roots": [0, 3],
            "membership_values": numpy_helper.from_array(sets),
        }
        node = helper.make_node("TreeEnsemble", ["x"], ["y"], domain=LEARNED, n_targets=2, aggregate_function=aggregate, **settings)
        info = [("x", FLOAT, whole.shape)], [("y", FLOAT, None)]
        yield f"parts_{aggregate}", model([node], *info, opsets=(("", 17), (LEARNED, 5))), [whole]


def machines():
    """Support vector machines with every kernel."""
    rng = np.random.default_rng(52)
    x = eighths(rng, (6, 3), -2, 2)
    labels = [("label", INT64, None), ("scores", FLOAT, None)]
    kernels = {"LINEAR": [1, 0, 0], "POLY": [0.25, 0.5, 3], "RBF": [0.5, 0, 0], "SIGMOID": [0.25, 0.125, 0]}
    for kernel, parameters in kernels.items():
        lower = kernel.lower()
        settings = {"kernel_type": kernel, "kernel_params": [float(p) for p in parameters]}
        vectors = eighths(rng, (5, 3), -2, 2).ravel().tolist()
        weights = eighths(rng, 5, -2, 2).tolist()
        for one_class in range(2):
            regressor = {"support_vectors": vectors, "coefficients": weights, "rho": [0.375], "n_supports": 5, "one_class": one_class}
            yield f"svm_regressor_{lower}_{one_class}", *learned("SVMRegressor", x, [("y", FLOAT, None)], **regressor, **settings)
        for counts in [[2, 3], [2, 1, 2], [1, 2, 1, 1]]:
            classes, pairs = len(counts), len(counts) * (len(counts) - 1) // 2
            classifier = {
                "classlabels_ints": list(range(3, 3 + classes)),
                "vectors_per_class": counts,
                "support_vectors": vectors,
                "coefficients": eighths(rng, 5 * (classes - 1), -2, 2).tolist(),
                "rho": eighths(rng, pairs, -1, 1).tolist(),
            }
            proba = {"prob_a": (-1 - rng.random(pairs)).tolist(), "prob_b": eighths(rng, pairs, -1, 1).tolist()}
            for post in ["NONE", "LOGISTIC", "SOFTMAX"] if kernel == "RBF" else ["NONE"]:
                name = f"{lower}_{classes}_{post.lower()}"
                yield f"svm_{name}", *learned("SVMClassifier", x, labels, post_transform=post, **classifier, **settings)
                yield f"svm_proba_{name}", *learned("SVMClassifier", x, labels, post_transform=post, **classifier, **proba, **settings)
    for classes in [2, 3]:
        linear = {"kernel_params": [1.0, 0.0, 0.0], "classlabels_ints": list(range(classes)), "coefficients": eighths(rng, 3 * classes).tolist(), "rho": [0.5] * classes}
        yield f"svm_of_lines_{classes}", *learned("SVMClassifier", x, labels, kernel_type="LINEAR", **linear)
    line = {"kernel_params": [1.0, 0.0, 0.0], "coefficients": eighths(rng, 3).tolist(), "rho": [0.5]}
    yield "svm_line", *learned("SVMRegressor", x, [("y", FLOAT, None)], kernel_type="LINEAR", **line)


def encoders():
    """Numbers for numbers, and values for missing ones."""
    rng = np.random.default_rng(53)
    whole = rng.integers(-3, 6, (4, 3))
    real = whole.astype(np.float32)
    missing = real.copy()
    missing[rng.random(real.shape) < 0.4] = np.nan
    y = [("y", FLOAT, None)]
    yield "one_hot_float", *learned("OneHotEncoder", real[:, :1], y, cats_int64s=[4, -2, 0, 3], zeros=1)
    yield "one_hot_int", *learned("OneHotEncoder", whole, y, cats_int64s=[4, -2, 0, 3], zeros=1)
    yield "imputer_nan", *learned("Imputer", missing, y, imputed_value_floats=[0.5, -1.0, 7.0], replaced_value_float=float("nan"))
    yield "imputer_one", *learned("Imputer", missing, y, imputed_value_floats=[0.5], replaced_value_float=float("nan"))
    yield "imputer_value", *learned("Imputer", real, y, imputed_value_floats=[0.5, 1.5, 2.5], replaced_value_float=2.0)
    yield "imputer_int", *learned("Imputer", whole, [("y", INT64, None)], imputed_value_int64s=[9], replaced_value_int64=2)
    keys = list(range(-2, 5))
    codes = {"keys_int64s": keys, "values_int64s": [7 - 3 * k for k in keys]}
    yield "label_few", *learned("LabelEncoder", whole, [("y", INT64, None)], 2, default_int64=-9, **codes)
    many = list(range(-20, 5))
    codes = {"keys_int64s": many, "values_floats": [k / 8 for k in many]}
    yield "label_many", *learned("LabelEncoder", whole, y, 2, default_float=2.5, **codes)
    codes = {"keys_floats": [float(k) for k in many] + [float("nan")], "values_floats": [k / 4 for k in many] + [99.0]}
    for version in [2, 4]:
        yield f"label_nan_{version}", *learned("LabelEncoder", missing, y, version, default_float=0.0, **codes)
    for norm in ["MAX", "L1", "L2"]:
        yield f"normalizer_{norm.lower()}", *learned("Normalizer", real, y, norm=norm)
    yield "binarizer", *learned("Binarizer", real, y, threshold=2.0)


def quantised():
    """`com.microsoft`, as onnxruntime's quantiser writes it."""
    rng = np.random.default_rng(54)
    kinds = {np.int8: TensorProto.INT8, np.uint8: TensorProto.UINT8}

    def whole(kind, shape):
        limits = np.iinfo(kind)
        return rng.integers(limits.min, limits.max + 1, shape).astype(kind)

    def one(name, operator, operands, result, kind, domain="com.microsoft", **settings):
        """`operands`: arrays; those of rank 0 and the weights `w` are constants, the others inputs."""
        names = [f"i{n}" if value is not None else "" for n, value in enumerate(operands)]
        constant = [n for n, value in enumerate(operands) if value is not None and (value.ndim == 0 or n in settings.get("fixed", ()))]
        settings.pop("fixed", None)
        node = helper.make_node(operator, names, ["y"], domain=domain, **settings)
        inputs = [n for n, value in enumerate(operands) if value is not None and n not in constant]
        info = [(names[n], helper.np_dtype_to_tensor_dtype(operands[n].dtype), operands[n].shape) for n in inputs]
        made = model([node], info, [("y", kind, result)], [numpy_helper.from_array(operands[n], names[n]) for n in constant], (("", 17), ("com.microsoft", 1)))
        return name, made, [operands[n] for n in inputs]

    scale = lambda value: np.array(value, np.float32)
    for kind, number in kinds.items():
        name = kind.__name__
        x, y = whole(kind, (2, 3, 6, 6)), whole(kind, (2, 3, 6, 6))
        zero = lambda: np.array(whole(kind, ())) // 4
        of_x, of_y = [x, scale(0.031), zero()], [y, scale(0.047), zero()]
        result = [scale(0.083), zero()]
        yield one(f"qlinear_add_{name}", "QLinearAdd", of_x + of_y + result, None, number)
        yield one(f"qlinear_mul_{name}", "QLinearMul", of_x + of_y + result, None, number)
        yield one(f"qlinear_sigmoid_{name}", "QLinearSigmoid", of_x + [scale(0.0041), zero()], None, number)
        yield one(f"qlinear_leaky_{name}", "QLinearLeakyRelu", of_x + result, None, number, alpha=0.07)
        yield one(f"qlinear_concat_{name}", "QLinearConcat", result + of_x + of_y, None, number, axis=1)
        for last in range(2):
            pool = dict(kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1], channels_last=last)
            own = [np.moveaxis(x, 1, -1).copy() if last else x, *of_x[1:]]
            yield one(f"qlinear_pool_{name}_{last}", "QLinearAveragePool", own + result, None, number, **pool)
            yield one(f"qlinear_global_{name}_{last}", "QLinearGlobalAveragePool", own + result, None, number, channels_last=last)
        a, b = whole(kind, (3, 4)), whole(np.int8, (4, 5))
        bias = rng.integers(-900, 900, 5).astype(np.int32)
        gemm = [a, scale(0.021), zero(), b, scale(0.017), np.array(3, np.int8), bias, scale(0.061), zero()]
        yield one(f"qgemm_{name}", "QGemm", gemm, None, number, fixed=[3, 6])
        real = eighths(rng, (3, 4))
        floats = eighths(rng, 5)
        if kind is np.uint8:
            to_float = [a, b, scale(0.021), scale(0.017), zero(), np.array(3, np.int8), floats]
            yield one("integer_to_float", "MatMulIntegerToFloat", to_float, None, FLOAT, fixed=[1, 6])
            yield one("dynamic_matmul", "DynamicQuantizeMatMul", [real, b, scale(0.017), np.array(3, np.int8), floats], None, FLOAT, fixed=[1, 4])
    for metric in ["euclidean", "sqeuclidean"]:
        yield one(f"distances_{metric}", "CDist", [eighths(rng, (4, 3)), eighths(rng, (5, 3))], None, FLOAT, metric=metric)


def scans():
    """Scans whose steps are independent, as skl2onnx writes distances, and one whose steps are not."""
    rng = np.random.default_rng(55)
    a, b = eighths(rng, (4, 3)), eighths(rng, (5, 3))
    for name, state, backwards, axis in [("distances", "next_in", 0, 0), ("backwards", "next_in", 1, 1), ("dependent", "d", 0, 0)]:
        nodes = [
            helper.make_node("Sub", ["next_in", "next"], ["d"]),
            helper.make_node("Identity", [state], ["next_out"]),
            helper.make_node("ReduceSumSquare", ["d"], ["scan_out"], axes=[1], keepdims=0),
        ]
        info = lambda name, shape: helper.make_tensor_value_info(name, FLOAT, shape)
        body = helper.make_graph(nodes, "body", [info("next_in", [4, 3]), info("next", [3])], [info("next_out", [4, 3]), info("scan_out", [4])])
        settings = {"scan_input_directions": [backwards], "scan_output_directions": [backwards], "scan_output_axes": [axis]}
        node = helper.make_node("Scan", ["a", "b"], ["last", "list"], body=body, num_scan_inputs=1, **settings)
        inputs, outputs = [("a", FLOAT, a.shape), ("b", FLOAT, b.shape)], [("last", FLOAT, None), ("list", FLOAT, None)]
        yield f"scan_{name}", model([node], inputs, outputs, opsets=(("", 17),)), [a, b]


def qonnx():
    """QONNX, whose results its own package computes."""
    from qonnx.custom_op.general.bipolar_quant import binary_quant
    from qonnx.custom_op.general.intquant import int_quant
    from qonnx.custom_op.general.trunc import trunc_v1, trunc_v2

    x = np.array([5.5, 2.5, 1.6, 1.1, 1.0, -1.0, -1.1, -1.6, -2.5, -5.5, 0.5, -0.5, 0.0, 40.0, -40.0], np.float32)

    def one(name, operator, values, result, **settings):
        constants = [numpy_helper.from_array(np.array(value, np.float32), f"c{n}") for n, value in enumerate(values)]
        node = helper.make_node(operator, ["x", *[c.name for c in constants]], ["y"], domain="qonnx.custom_op.general", **settings)
        made = model([node], [("x", FLOAT, x.shape)], [("y", FLOAT, None)], constants, (("", 17), ("qonnx.custom_op.general", 1)))
        return name, made, [x], [np.asarray(result, np.float32)]

    array = lambda value: np.array(value, np.float32)
    for mode in ["ROUND", "HALF_EVEN", "CEIL", "FLOOR", "UP", "DOWN", "HALF_UP", "HALF_DOWN"]:
        for signed, narrow in [(1, 0), (1, 1), (0, 0), (0, 1)]:
            values = [1.0, 1.0, 5.0]
            said = int_quant(x, *map(array, values), signed, narrow, mode)
            settings = dict(signed=signed, narrow=narrow, rounding_mode=mode)
            yield one(f"quant_{mode.lower()}_{signed}{narrow}", "Quant", values, said, **settings)
        values = [0.25, 2.0, 8.0, 5.0]
        yield one(f"trunc_{mode.lower()}", "Trunc", values, trunc_v1(x, *map(array, values), mode), rounding_mode=mode)
        values = [0.25, 2.0, 8.0, 1.0, 5.0]
        in_two = [array(v) for v in values]
        said = trunc_v2(x, *in_two[:3], 0, 1, *in_two[3:], mode)
        yield one(f"trunc_to_scale_{mode.lower()}", "Trunc", values, said, rounding_mode=mode, signed=1, narrow=0)
    yield one("quant_one_bit", "Quant", [0.5, 0.0, 1.0], int_quant(x, array(0.5), array(0.0), array(1.0), 1, 0, "ROUND"), signed=1, narrow=0)
    yield one("bipolar", "BipolarQuant", [0.75], binary_quant(x, array(0.75)))


def edges():
    """Decimals that single precision rounds to a threshold, infinite leaves, and classifiers of one class or of one row of coefficients."""
    decimals = np.array([[0.2, 1.0], [0.7, 2.0], [0.3, -1.0], [-3.0, 0.0]])
    nodes = {"nodes_treeids": [0] * 3, "nodes_nodeids": [0, 1, 2], "nodes_featureids": [0] * 3}
    nodes |= {"nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 0, 0]}

    def tree(operator, prefix, weights, outputs, mode="BRANCH_LEQ", threshold=0.5, **settings):
        settings |= {"nodes_modes": [mode, "LEAF", "LEAF"], "nodes_values": [threshold, 0.0, 0.0]}
        settings |= {f"{prefix}_treeids": [0, 0], f"{prefix}_nodeids": [1, 2], f"{prefix}_ids": [0, 0], f"{prefix}_weights": weights}
        return learned(operator, decimals.astype(np.float32), outputs, **nodes, **settings)[0]

    def said(name, made):
        return name, made, [decimals], ort.InferenceSession(made.SerializeToString()).run(None, {"x": decimals.astype(np.float32)})

    value, classes = [("y", FLOAT, None)], [("label", INT64, None), ("scores", FLOAT, None)]
    for mode in MODES:
        for threshold in [0.2, 0.7, 0.3]:
            made = tree("TreeEnsembleRegressor", "target", [1.0, 2.0], value, mode, threshold, n_targets=1)
            yield said(f"decimal_{mode.lower()}_{threshold}", made)
    yield said("tree_infinite_leaf", tree("TreeEnsembleRegressor", "target", [np.inf, 1.0], value, n_targets=1))
    yield said("tree_infinite_least", tree("TreeEnsembleRegressor", "target", [np.inf, 1.0], value, n_targets=1, aggregate_function="MIN"))
    for post in ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"]:
        settings = {"classlabels_int64s": [7], "post_transform": post, "base_values": [0.125]}
        yield said(f"forest_of_one_class_{post.lower()}", tree("TreeEnsembleClassifier", "class", [0.25, -0.75], classes, **settings))
        settings = {"coefficients": [1.0, -2.0], "intercepts": [0.25], "classlabels_ints": [3, 9], "post_transform": post}
        yield said(f"linear_of_one_row_{post.lower()}", learned("LinearClassifier", decimals.astype(np.float32), classes, **settings)[0])


def channels():
    """Two layers whose hidden units differ by 2^14, each as important for the result as the others; by NumPy."""
    rng = np.random.default_rng(11)
    sizes = np.exp2(-2.0 * np.arange(8))
    within = lambda *shape: rng.uniform(0.25, 1, shape) * rng.choice([-1, 1], shape)
    first, bias, second = within(8, 4) * sizes[:, None], within(8) * sizes, within(3, 8) / sizes
    x = eighths(rng, (6, 4), -1, 1)
    weights = [numpy_helper.from_array(array.astype(np.float32), name) for name, array in [("w", first), ("b", bias), ("v", second)]]
    nodes = [
        helper.make_node("Gemm", ["x", "w", "b"], ["h"], transB=1),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("Gemm", ["r", "v"], ["y"], transB=1),
    ]
    first, bias, second = (numpy_helper.to_array(array).astype(np.float64) for array in weights)
    said = np.maximum(x @ first.T + bias, 0) @ second.T
    made = model(nodes, [("x", FLOAT, x.shape)], [("y", FLOAT, said.shape)], weights)
    yield "uneven_channels", made, [x], [said.astype(np.float32)]


FAMILIES = [trees, machines, encoders, quantised, scans, qonnx, edges, channels]


def main():
    wanted, out = sys.argv[2:], b""
    for family in FAMILIES:
        for name, made, inputs, *said in family():
            if wanted and name not in wanted:
                continue
            if said:
                out += case(name, made, inputs, said[0], 1e-6, 1e-6)
                continue
            session = ort.InferenceSession(made.SerializeToString())
            outputs = session.run(None, dict(zip([value.name for value in session.get_inputs()], inputs)))
            out += case(name, made, inputs, outputs, 1e-5, 1e-6)
    open(sys.argv[1], "wb").write(out)


main()
