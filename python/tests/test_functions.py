"""Imported models on rows: scikit-learn's own predictions and figures, NumPy's quantiles, and the folder that was built."""

import json
import pickle
import re
import sys
import types
import warnings

import numpy as np
import onnx
import pandas
import pytest
from onnx import TensorProto, helper
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import confusion_matrix, mean_absolute_error, r2_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import tabla_gen
from tabla_gen import Function, Program, TablaClassifier, TablaRegressor, errors

pytestmark = pytest.mark.filterwarnings("ignore::tabla_gen.TablaWarning")
GRID = {"pus": 2, "pes_per_pu": 4}


def wine(names=False):
    X, y = load_wine(return_X_y=True)
    y = np.array(["red", "rosé", "white"])[y] if names else y
    return X, y, make_pipeline(StandardScaler(), LogisticRegression()).fit(X[::2], y[::2])


@pytest.mark.parametrize("names", [False, True])
def test_pipelines_predict_and_score_as_scikit_learn(names):
    X, y, pipeline = wine(names)
    model = tabla_gen.from_sklearn(pipeline, machine=GRID)
    expected = pipeline.predict(X)
    assert np.array_equal(model.predict(X), expected) and model.predict(X).dtype.kind == expected.dtype.kind
    np.testing.assert_allclose(model.raw(X), pipeline.predict_proba(X), atol=1e-5)
    score = model.score(X, y)
    assert (float(score), score.rows, score.engine) == (pytest.approx(pipeline.score(X, y)), len(X), "golden")
    assert score.auc == pytest.approx(roc_auc_score(y, pipeline.predict_proba(X), multi_class="ovr"), abs=1e-5)
    assert score.confusion == confusion_matrix(y, expected).tolist()
    for engine in ("fixed", "array"):
        words = model.calibrate(X[::2]).score(X, y, engine=engine)
        assert words.golden == score and abs(float(words) - float(score)) < 0.005 and words.engine == engine


def test_regressions_trees_and_columns_by_name():
    X, y = load_diabetes(return_X_y=True)
    ridge = make_pipeline(StandardScaler(), Ridge()).fit(X, y)
    model = tabla_gen.from_sklearn(ridge)
    np.testing.assert_allclose(model.predict(X), ridge.predict(X), rtol=1e-5)
    score = model.score(X, y)
    assert score.r2 == pytest.approx(r2_score(y, ridge.predict(X)), abs=1e-6)
    assert score.mae == pytest.approx(mean_absolute_error(y, ridge.predict(X)), rel=1e-5) and score.accuracy is None
    X, y = load_iris(return_X_y=True, as_frame=True)
    trees = GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=0).fit(X, y)
    assert np.array_equal(tabla_gen.from_sklearn(trees).predict(X), trees.predict(X))
    # Columns that steps take by name are inputs of their own.
    columns = list(X.columns)
    parts = ColumnTransformer([("scale", StandardScaler(), columns[:2]), ("range", MinMaxScaler(), columns[2:])])
    named = make_pipeline(parts, LogisticRegression()).fit(X, y)
    for pipeline in (trees, named):
        model = tabla_gen.from_sklearn(pipeline)
        assert np.array_equal(model.predict(X[columns[::-1]]), pipeline.predict(X))
        with pytest.raises(errors.UsageError, match="no column 'petal width"):
            model.predict(X[columns[:3]])


def test_scores_of_a_training_warn_where_words_do_not_suffice():
    X, y = load_breast_cancer(return_X_y=True)
    for word, warned in [(8, True), (24, False)]:
        program = Program.from_file("programs/logistic.t", machine={**GRID, "word": word})
        model = program.train(X, y, epochs=2, engine="golden")
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            model.score(X, y, engine="fixed")
        assert any("W-ACCURACY" in str(one.message) for one in said) == warned


def test_calibration_decides_the_words():
    X, y, pipeline = wine()
    model = tabla_gen.from_sklearn(pipeline, machine={**GRID, "word": 12})
    wide = np.concatenate([X, 30 * X])
    fine = model.calibrate(X).raw(X[:5], engine="fixed", output="probabilities")
    coarse = model.calibrate(wide).raw(X[:5], engine="fixed", output="probabilities")
    reals = pipeline.predict_proba(X[:5])
    assert np.abs(fine - reals).max() < np.abs(coarse - reals).max()
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.raw(X[:5], engine="fixed"), coarse)


def test_hardware_that_scores_as_golden_is_kept_and_verified(tmp_path):
    X, y, pipeline = wine()
    model = tabla_gen.from_sklearn(pipeline)
    deployed = model.deploy(X, y, "tiny", tmp_path / "wine", seed=1)
    # Half of each class: 59, 71 and 48 rows, of which 30, 36 and 24 calibrate.
    assert (deployed.calibrated, deployed.score.rows) == (90, 88) and deployed.points <= 0.5
    assert deployed.words_compared == 88 * 4 and (tmp_path / "wine" / "SHA256SUMS").is_file()
    score = deployed.hardware.verify(X, y)
    assert score.engine == "hardware" and abs(float(score) - pipeline.score(X, y)) <= 0.005
    # The folder is what runs: other microcode is told, and so is other Verilog.
    microcode = tmp_path / "wine" / "function" / "microcode.hex"
    kept = microcode.read_text()
    microcode.write_text(kept.rstrip()[:-1] + ("0" if kept.rstrip()[-1] != "0" else "1") + "\n")
    with pytest.raises(errors.MismatchError, match="microcode"):
        deployed.hardware.verify(X, y)


def test_hardware_that_scores_otherwise_is_refused_with_the_bits_it_takes(tmp_path):
    X, y = load_diabetes(return_X_y=True)
    ridge = make_pipeline(StandardScaler(), Ridge()).fit(X, y)
    narrow = tabla_gen.from_sklearn(ridge, config="tiny", machine={"word": 8})
    with pytest.raises(errors.InaccurateError, match=r"bits would do") as caught:
        narrow.deploy(X, y, out=tmp_path / "out", within=0.1, seed=1)
    assert "--" not in str(caught.value) and not (tmp_path / "out").exists()
    bits = int(re.search(r"(\d+) bits would do", str(caught.value))[1])
    wide = tabla_gen.from_sklearn(ridge, config="tiny", machine={"word": bits})
    assert wide.deploy(X, y, out=tmp_path / "out", within=0.1, seed=1).points <= 0.1
    with pytest.raises(errors.UsageError, match="within"):
        narrow.deploy(X, y, out=tmp_path / "out", within=-1)


def test_trained_models_are_scored_deployed_and_verified(tmp_path):
    X, y = load_breast_cancer(return_X_y=True)
    names = np.array(["malignant", "benign"])[y]
    ours = TablaClassifier(max_iter=5, machine=GRID, random_state=0).fit(X[::2], names[::2])
    model = ours.model_
    score = model.score(X, names)
    assert float(score) == pytest.approx(ours.score(X, names))
    right = confusion_matrix(names, ours.predict(X), labels=score.classes)
    assert score.confusion == right.tolist()
    deployed = model.deploy(X[1::2], names[1::2], out=tmp_path / "hardware")
    assert deployed.points <= 0.5 and deployed.words_compared == len(X[1::2]) + 31
    # Words: a prediction for each row, 30 weights and a bias.
    assert deployed.hardware.verify(X[1::2], names[1::2]) == deployed.score and deployed.score.confusion is not None
    with pytest.raises(errors.UsageError, match="no weights"):
        Program.from_file("programs/logistic.t").build("tiny", tmp_path / "untrained").verify(X, y)
    X, y = load_diabetes(return_X_y=True)
    line = TablaRegressor(max_iter=5, random_state=0).fit(X, y)
    assert line.model_.score(X, y).r2 == pytest.approx(line.score(X, y))
    # Rows that the training has not seen the like of clip, until formats are widened to them.
    far, reals = 20 * X, line.model_.raw(20 * X)
    clipped = np.abs(line.model_.raw(far, engine="fixed") - reals).max()
    assert np.abs(line.model_.calibrate(far).raw(far, engine="fixed") - reals).max() < clipped / 10
    line.model_.build("tiny", tmp_path / "line")
    X, y = load_iris(return_X_y=True)
    machines = TablaClassifier(loss="hinge", max_iter=5, random_state=0).fit(X, y)
    assert machines.model_.score(X, y).rows == 150


def test_functions_of_any_program_are_verified(tmp_path):
    text = "def f(float(2) x) -> (s) { s(c) = x(c) * 1 where c in 0:2 }"
    program = Program.from_text(text, language="tensor_comprehensions", machine={"pus": 1, "pes_per_pu": 2})
    X, y = [[0.5, 0.25], [0.25, 0.75], [0.75, 0.5], [-1, 0.5]], ["left", "right", "right", "right"]
    score = Function(program).score(X, y, engine="array")
    assert score.accuracy == 0.75 and score.confusion == [[1, 0], [1, 2]]
    hardware = program.build(out=tmp_path, inputs=[{"x": row} for row in X])
    assert hardware.verify(X, y).accuracy == 0.75


def test_a_function_larger_than_its_machine_is_built_in_segments(tmp_path):
    text = "def f(float(8) x, float(16,8) W) -> (y) {\n  y(i) +=! W(i,j) * x(j)\n}\n"
    machine = {"pus": 1, "pes_per_pu": 2, "model_depth": 16, "data_depth": 16}
    config = '[build]\nsegments = "auto"\n'
    program = Program.from_text(text, language="tensor_comprehensions", config=config, machine=machine, resident=["W"])
    record = {"x": np.arange(8) / 8, "W": np.ones((16, 8))}
    hardware = program.build(out=tmp_path, inputs=[record])
    plan = json.loads((tmp_path / "function" / "segments.json").read_text())
    # 128 weights in pads of 2 x 16 words.
    assert len(plan["segments"]) >= 4 and len({part["image"] for part in plan["segments"]}) == 1
    with pytest.raises(errors.UsageError, match="segments are compared"):
        hardware.verify([np.zeros(8)], [0])
    with pytest.raises(errors.UsageError, match="only functions run in segments"):
        Program.from_file("programs/linear.t", config=config).build(out=tmp_path / "linear")


def test_profiles_are_quantiles_beside_formats():
    text = "def f(float(2) x) -> (s) {\n  s(c) = x(c) * 3 where c in 0:2\n}\n"
    program = Program.from_text(text, language="tensor_comprehensions", machine={"word": 8})
    X = np.random.default_rng(0).normal(size=(200, 2))
    X[:20, 0] = 0.0
    # Half of the values are smaller than those that binary points are chosen from.
    profile = Function(program).calibrate(X[np.abs(X).max(axis=1) < 1]).profile(X)
    for name, values, line in (("x", X, 0), ("s", 3 * X, 2)):
        layer, sizes = profile[name], np.sort(np.abs(values[values != 0]))
        assert (layer.values, layer.zeros, layer.word, layer.line) == (400, 20, 8, line)
        places = [(len(sizes) - 1) * quarter // 4 for quarter in range(5)]
        np.testing.assert_allclose(layer.magnitudes, sizes[places], rtol=1e-6)
        assert (layer.step, layer.largest) == (2.0**-layer.fraction, 127 * 2.0**-layer.fraction)
        if name == "s":
            assert layer.clipped == np.sum(sizes > 127.5 * layer.step) > 0 and layer.lost == np.sum(sizes < layer.step / 2)
    assert "clipped" in str(profile) and "<td>s</td>" in profile._repr_html_()


def profile_of_two(word):
    """Ten values of x, and their products with 4, which are 0 for one of them."""
    text = "def f(float(2) x) -> (s) {\n  s(c) = x(c) * 4 where c in 0:2\n}\n"
    program = Program.from_text(text, language="tensor_comprehensions", machine={"word": word})
    x = np.array([0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.25]).reshape(5, 2)
    return Function(program).calibrate(x).profile(x)


def test_a_profile_is_drawn_as_boxes_over_the_ranges_of_formats(monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    profile = profile_of_two(8)
    axes = profile.plot()
    # From below: the last layer comes first. Magnitudes of x are 0.25 to 2.25.
    assert [label.get_text() for label in axes.get_yticklabels()] == ["s (value)", "x (input)"]
    assert axes.get_xscale() == "log"
    bars = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in axes.patches]
    assert bars == [(profile[name].step, profile[name].largest) for name in ("s", "x")]
    # Of each box its outline, two whiskers, two caps and the median.
    lines = [sorted(line.get_xdata()) for line in axes.lines]
    for place, factor in enumerate([4, 1]):
        own = lines[6 * place : 6 * place + 6]
        spans = {tuple(sorted({value / factor for value in line})) for line in own}
        assert spans == {(0.25, 0.75), (0.75, 1.75), (1.75, 2.25), (0.25,), (1.25,), (2.25,)}
    # On axes of the user.
    _, given = pyplot.subplots()
    assert profile.plot(given) is given and len(given.patches) == 2
    pyplot.close("all")
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(errors.ToolError, match="Profile.plot needs the package matplotlib"):
        profile.plot()


def test_profiles_know_the_layers_of_an_imported_model():
    X, y, pipeline = wine()
    profile = tabla_gen.from_sklearn(pipeline).profile(X)
    weights = [layer for layer in profile.layers if layer.kind == "weight"]
    largest = max(layer.magnitudes[-1] for layer in weights)
    assert largest >= np.abs(pipeline[-1].coef_).max() * 0.999 and profile["probabilities"].magnitudes[-1] <= 1
    assert profile["X"].magnitudes[-1] == pytest.approx(np.abs(X).max(), rel=1e-6)


@pytest.mark.parametrize(
    ("call", "package"),
    [
        (lambda: tabla_gen.from_sklearn(LogisticRegression()), "skl2onnx"),
        (lambda: tabla_gen.from_torch(None, [[0.0]]), "torch"),
        (lambda: tabla_gen.from_keras(types.SimpleNamespace(export=None)), "keras"),
        (lambda: tabla_gen.from_keras(object()), "tf2onnx"),
    ],
)
def test_packages_that_are_missing_are_named(call, package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(errors.ToolError, match=f"needs the package {package}, which is not installed: pip install {package}"):
        call()


def test_what_cannot_be_imported_is_said():
    with pytest.raises(errors.UsageError, match="is not fitted"):
        tabla_gen.from_sklearn(LogisticRegression())


def dense(path, W):
    """A file as an export of PyTorch or Keras writes it."""
    nodes = [helper.make_node("MatMul", ["x", "W"], ["z"]), helper.make_node("Softmax", ["z"], ["h"])]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, W.shape[0]])]
    outputs = [helper.make_tensor_value_info("h", TensorProto.FLOAT, [1, W.shape[1]])]
    weights = helper.make_tensor("W", TensorProto.FLOAT, W.shape, W.ravel().tolist())
    graph = helper.make_graph(nodes, "net", inputs, outputs, [weights])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


def test_modules_are_exported_in_evaluation_and_stay_in_training(monkeypatch):
    """What PyTorch and Keras are asked for, which are too large for these tests."""
    W, X = np.arange(6.0).reshape(3, 2) / 8 - 0.3, np.eye(3)
    seen = []

    class Module:
        training = True
        name = "net"

        def eval(self):
            self.training = False

        def train(self, mode):
            self.training = mode

        inputs = (types.SimpleNamespace(shape=(None, 3), dtype="float32"),)

        def __call__(self, row):
            seen.append(row.shape)

        def export(self, path, format, verbose):
            seen.append(format)
            dense(path, W)

    def export(module, arguments, path, **options):
        seen.append((module.training, arguments[0].shape))
        dense(path, W)

    torch = types.SimpleNamespace(as_tensor=np.asarray, is_tensor=lambda _: False, onnx=types.SimpleNamespace(export=export))
    keras = types.SimpleNamespace(backend=types.SimpleNamespace(backend=lambda: "torch"))
    keras.ops = types.SimpleNamespace(zeros=lambda shape, _: np.zeros(shape))
    for name, module in {"torch": torch, "onnxscript": types.ModuleType("onnxscript"), "keras": keras}.items():
        monkeypatch.setitem(sys.modules, name, module)
    module, grown = Module(), np.exp(X @ W)
    for model in (tabla_gen.from_torch(module, X), tabla_gen.from_keras(module)):
        np.testing.assert_allclose(model.raw(X), grown / grown.sum(axis=1, keepdims=True), rtol=1e-6)
    assert module.training and seen == [(False, (1, 3)), (1, 3), "onnx"]


def test_hardware_is_synthesised(tmp_path):
    hardware = Program.from_file("programs/linear.t").build("ulx3s-25f", tmp_path / "out")
    synthesis = hardware.synth()
    assert synthesis.cells["LUT"][1] == hardware.resources["LUT"][1] and 0 < synthesis.cells["LUT"][0] < synthesis.cells["LUT"][1]
    assert "per PE" in str(synthesis) and sum(synthesis.types.values()) > 100
    assert (tmp_path / "out" / "fpga" / "Makefile").is_file()
    with pytest.raises(errors.UsageError, match="needs a board"):
        Program.from_file("programs/linear.t").build("tiny", tmp_path / "tiny").bitstream()
