"""What users of scikit-learn expect, and what went another way once."""

import pathlib
import pickle
import re

import numpy as np
import pandas
import pytest
from onnx import TensorProto, helper
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

from tabla_gen import Program, TablaClassifier, TablaRegressor, errors
from tabla_gen.words import of_python

PROJECT = pathlib.Path(__file__).resolve().parents[2]

NAMES = np.array(["setosa", "versicolor", "virginica"])


def flowers():
    X, y = load_iris(return_X_y=True, as_frame=True)
    return X, NAMES[y]


def test_columns_are_taken_by_name():
    X, y = flowers()
    model = TablaClassifier(max_iter=5, random_state=0).fit(X, y).model_
    turned = X[X.columns[::-1]]
    assert np.array_equal(model.predict(X), model.predict(turned))
    assert np.array_equal(model.raw(X), model.raw(turned))
    with pytest.raises(errors.UsageError, match="no column 'petal width"):
        model.predict(X.rename(columns={"petal width (cm)": "other"}))
    with pytest.raises(errors.UsageError, match="a column 'more'"):
        model.predict(X.assign(more=0.0))
    # Without names in the training, places count.
    plain = TablaClassifier(max_iter=5, random_state=0).fit(X.to_numpy(), y).model_
    assert np.array_equal(plain.predict(X), plain.predict(X.to_numpy()))


def test_parameters_may_change_between_partial_fits():
    X, y = load_diabetes(return_X_y=True)
    slow, fast = (TablaRegressor(learning_rate=1e-4, random_state=0).partial_fit(X, y) for _ in range(2))
    before = slow.coef_
    fast.set_params(learning_rate=1e-2)
    for estimator in (slow, fast):
        estimator.partial_fit(X, y)
    assert np.abs(fast.coef_ - before).max() > 10 * np.abs(slow.coef_ - before).max()
    with pytest.raises(errors.UsageError, match="hidden_layer_sizes were"):
        slow.set_params(hidden_layer_sizes=(4,)).partial_fit(X, y)


@pytest.mark.parametrize("hidden", [(), (8,)])
def test_rows_one_by_one_are_learned(hidden):
    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    one = TablaClassifier(hidden_layer_sizes=hidden, random_state=0)
    for n in order[:300]:
        one.partial_fit(X[n : n + 1], y[n : n + 1], classes=[0, 1])
    assert one.score(X, y) > 0.9
    X, y = load_diabetes(return_X_y=True)
    line = TablaRegressor(hidden_layer_sizes=hidden, random_state=0)
    for n in range(len(X)):
        line.partial_fit(X[n : n + 1], y[n : n + 1])
    assert line.score(X, y) > 0.2


def test_scales_follow_and_the_function_stays():
    from tabla_gen.scales import Moments, rescaled

    X, y = load_diabetes(return_X_y=True)
    X = 50.0 * X + np.arange(10.0)
    for hidden in ((), (5, 3)):
        first = TablaRegressor(hidden_layer_sizes=hidden, max_iter=3, random_state=0).fit(X[:200], y[:200])
        before = first.predict(X)
        moments = Moments(X[:200], y[:200, None])
        moments.add(X[200:], y[200:, None])
        np.testing.assert_allclose(moments.features.deviation, X.std(axis=0))
        first.model_ = rescaled(first.model_, moments)
        np.testing.assert_allclose(first.predict(X), before, rtol=1e-9)


@pytest.mark.parametrize("wrong", [-1, 0.0, np.nan, np.inf, "fast"])
def test_learning_rates_are_positive(wrong):
    with pytest.raises(errors.UsageError, match="learning_rate"):
        TablaRegressor(learning_rate=wrong).fit([[0.0], [1.0]], [0.0, 1.0])


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("count", [2, 3])
def test_models_know_their_classes(loss, count):
    X, y = flowers()
    X, y = X[: 50 * count], y[: 50 * count]
    for classes in (y, np.searchsorted(NAMES, y) + 5):
        ours = TablaClassifier(loss=loss, max_iter=5, random_state=0).fit(X, classes)
        again = pickle.loads(pickle.dumps(ours))
        assert np.array_equal(ours.model_.predict(X), ours.predict(X))
        assert np.array_equal(again.model_.predict(X), ours.predict(X))
        assert ours.model_.predict(X).dtype.kind == classes.dtype.kind


def test_pickles_build(tmp_path):
    X, y = flowers()
    ours = TablaClassifier(max_iter=3, machine={"pus": 2, "pes_per_pu": 2}, random_state=0).fit(X, y)
    again = pickle.loads(pickle.dumps(ours))
    fresh, old = ours.model_.build(out=tmp_path / "fresh"), again.model_.build(out=tmp_path / "old")
    assert (tmp_path / "fresh" / "SHA256SUMS").read_text() == (tmp_path / "old" / "SHA256SUMS").read_text()
    assert fresh.files == old.files


def test_machines_are_given_by_key():
    X, y = flowers()
    cycles = {}
    for pus in (1, 4):
        ours = TablaClassifier(engine="array", max_iter=1, machine={"pus": pus, "pes_per_pu": 1}, random_state=0)
        cycles[pus] = ours.fit(X, y).model_.results["cycles"]
    assert cycles[4] < cycles[1]


@pytest.mark.parametrize("wrong", [{"epochs": -1}, {"batch": 0}, {"epochs": 1.5}, {"epochs": True}])
def test_counts_are_checked(wrong):
    with pytest.raises(errors.UsageError, match="is an integer, at least 1"):
        Program.from_file("programs/linear.t").train([[0.0], [1.0]], [0.0, 1.0], **wrong)
    with pytest.raises(errors.UsageError, match="nonsense"):
        Program.from_file("programs/linear.t").train([[0.0], [1.0]], [0.0, 1.0], engine="nonsense")


def test_training_ends_early_and_starts_warm():
    X, y = load_breast_cancer(return_X_y=True)
    ours = TablaClassifier(early_stopping=True, n_iter_no_change=2, max_iter=200, random_state=0).fit(X, y)
    assert ours.n_iter_ < 200 and ours.score(X, y) > 0.95
    ours = TablaClassifier(warm_start=True, max_iter=3, random_state=0).fit(X, y)
    assert len(ours.loss_curve_) == 3
    last = ours.loss_curve_[-1]
    assert ours.fit(X, y).loss_curve_[0] < 1.5 * last
    cold = TablaClassifier(max_iter=3, random_state=0).fit(X, y)
    assert cold.loss_curve_[0] > cold.loss_curve_[-1]


def test_predictions_of_a_frame_keep_their_rows():
    X, y = flowers()
    frame = pandas.concat([X.iloc[::-1], X])
    model = TablaClassifier(max_iter=5, random_state=0).fit(X, y).model_
    assert np.array_equal(model.predict(frame)[:150][::-1], model.predict(X))


LINKS = {
    "cross_entropy": "m max=! z(c)\n  e(c) = exp(z(c) - m)\n  s +=! e(c)\n  h(c) = e(c) / s",
    "one_hot": "h(c) = 1.0 / (1.0 + exp(-z(c)))",
    "poisson": "h(c) = exp(z(c))",
}


@pytest.mark.parametrize("loss", LINKS)
def test_logits_are_predictions(loss):
    """A program that ends with logits is trained as one that ends with what the loss is for."""
    X, y = load_iris(return_X_y=True)
    y = y if loss != "poisson" else np.stack([y, 2 - y, y * 0 + 1], axis=1)
    linear = "def net(float(4) X, float(3,4) W) -> (%s) {\n  z(c) +=! W(c,i) * X(i)\n%s}\n"
    start = {"W": np.linspace(-0.3, 0.3, 12)}
    trained = {}
    for name, more in (("z", ""), ("h", f"  {LINKS[loss]}\n")):
        outputs = name if name == "z" else "z, m, e, s, h" if loss == "cross_entropy" else "z, h"
        train = {"prediction": name, "loss": loss, "weights": ["W"], "mu": 0.01}
        program = Program.from_text(linear % (outputs, more), language="tensor_comprehensions", train=train)
        model = program.train(X, y, epochs=2, seed=1, start=start)
        trained[name] = model.weights["W"], model.raw(X), model.results["train"]["golden"]["loss"]
    np.testing.assert_allclose(trained["z"][0], trained["h"][0], rtol=1e-12)
    np.testing.assert_allclose(trained["z"][1], trained["h"][1], rtol=1e-12)
    np.testing.assert_allclose(trained["z"][2], trained["h"][2], rtol=1e-12)


def test_log_softmax_is_trained_as_softmax():
    """An ONNX file that ends with LogSoftmax, as modules of PyTorch do, and one with Softmax."""
    X, y = load_iris(return_X_y=True)
    start, trained = {"W": np.linspace(-0.3, 0.3, 12)}, []
    for last in ("LogSoftmax", "Softmax"):
        nodes = [helper.make_node("MatMul", ["x", "W"], ["z"]), helper.make_node(last, ["z"], ["h"])]
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])]
        outputs = [helper.make_tensor_value_info("h", TensorProto.FLOAT, [1, 3])]
        weights = helper.make_tensor("W", TensorProto.FLOAT, [4, 3], np.zeros(12))
        graph = helper.make_graph(nodes, "net", inputs, outputs, [weights])
        file = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()
        train = {"prediction": "h", "loss": "cross_entropy", "weights": "all", "mu": 0.01}
        model = Program.from_onnx_bytes(file, train=train).train(X, y, epochs=2, seed=1, start=start)
        trained.append(model)
    np.testing.assert_allclose(trained[0].weights["W"], trained[1].weights["W"], rtol=1e-6)
    assert np.array_equal(trained[0].predict(X), trained[1].predict(X))


SOURCES = [*(PROJECT / "workbench" / "src").rglob("*.rs"), *(PROJECT / "sim" / "src" / "data").rglob("*.rs")]
SOURCES += [path for part in ("compiler", "arch") for path in (PROJECT / part).rglob("src/**/*.rs")]


def messages():
    """Texts of the Rust sources that name options of the command line."""
    for path in SOURCES:
        # Remedies of codes are the command line's: `tabla-gen explain`.
        if path.name == "diagnostic.rs":
            continue
        code = re.sub(r"(?m)^\s*//.*$", "", path.read_text().split("#[cfg(test)]")[0])
        for text in re.findall(r'"((?:[^"\\]|\\.)*)"', code):
            # Arguments of tools are a word alone; sentences of the command line's own pages are not shown here.
            if re.search(r"(?<![\w-])--[a-z]", text) and " " in text and not re.search("tabla-gen|scripts/|sha256sum|verilator_options", text):
                yield path, text


def test_messages_name_arguments():
    """No message that Python shows has an option of the command line."""
    found = list(messages())
    assert len(found) > 30
    wrong = {text for _, text in found if re.search(r"(?<![\w-])--[a-z]", of_python(text))}
    assert wrong == set()


@pytest.mark.parametrize(
    ("said", "here"),
    [
        ("`--calibrate FILE` with at least 32 records", "`calibrate(X)` with at least 32 records"),
        ("use --engine fixed or array", 'use engine="fixed" or array'),
        ("use a larger batch: --batch N", "use a larger batch: batch=N"),
        ("a smaller rate: --set mu=0.001, or `mu`", 'a smaller rate: set={"mu": 0.001}, or `mu`'),
        ("name the targets with --target a,b,c", "name the targets with y"),
        ("more than the 0.5 of --within; 12 bits", "more than the 0.5 of within; 12 bits"),
        ("`--shape N=4` gives it another size", '`shape={"N": 4}` gives it another size'),
        ("--order store or permuted", 'order="store" or permuted'),
        ("a --b; x--y; --settle", "a --b; x--y; --settle"),
    ],
)
def test_options_become_arguments(said, here):
    assert of_python(said) == here


def test_help_is_of_python_and_sources_stay():
    text = "model_input x[2]; model_output y; model w[2]; iterator i[0:2]; h = sum[i](w[i] * x[i]); minimize squared(h, y);"
    program = Program.from_text(text, train={"prediction": "h", "loss": "squared"})
    with pytest.raises(errors.ProgramError) as caught:
        program.train([[0.0, 1.0], [1.0, 2.0]] * 5, [0.0, 1.0] * 5, epochs=1)
    diagnostic = caught.value.diagnostics[0]
    assert 'set={"mu": 0.01}' in diagnostic.help and 'set={"mu": 0.01}' in str(caught.value) and "--" not in diagnostic.help
    drawn = errors.Diagnostic("E-X", "error", "no --force", "a.t", rendered="Error: no --force\n 2 │ x = --force\n")
    assert drawn.rendered == "Error: no force=True\n 2 │ x = --force\n" and drawn.message == "no force=True"
