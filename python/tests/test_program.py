"""Programs through Python: values by NumPy, errors with their places, trainings that NumPy repeats."""

import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest

import tabla_gen
from tabla_gen import Program, errors

pytestmark = pytest.mark.filterwarnings("error")

LINE = """\
mu = 0.05;
m = 2;
model_input x[m];
model_output y;
model_output s;
model w[m], b;
iterator i[0:m];
h = sum[i](w[i] * x[i]) + b;
minimize s * squared(h, y);
"""
TRAIN = {
    "prediction": "h",
    "loss": "squared",
    "label": "y",
    "sample_weight": "s",
    "standardise": False,
    "standardise_target": False,
    "epochs": 3,
    "order": "rows",
    "split": 1.0,
    "sizes": {"m": "features"},
}


def rows(count=12, seed=0):
    random = np.random.default_rng(seed)
    X = random.uniform(-1, 1, (count, 3))
    return X, X @ [0.5, -1.0, 0.25] + 0.125


def line(**more):
    return Program.from_text(LINE, train={**TRAIN, **more}, name="line")


def descended(X, y, s, epochs, rate=0.05):
    """Stochastic gradient descent on half the squared error, sample after sample."""
    w, b = np.zeros(X.shape[1]), 0.0
    for _ in range(epochs):
        for row, target, weight in zip(X, y, s, strict=True):
            error = weight * (row @ w + b - target)
            w, b = w - rate * error * row, b - rate * error
    return w, b


def test_training_is_what_numpy_does():
    X, y = rows()
    model = line().train(X, y)
    w, b = descended(X, y, np.ones(12), 3)
    np.testing.assert_allclose(model.weights["w"], w, rtol=1e-12)
    np.testing.assert_allclose(model.weights["b"], b, rtol=1e-12)
    np.testing.assert_allclose(model.predict(X), X @ w + b, rtol=1e-12)
    loss = np.mean((X @ w + b - y) ** 2)
    np.testing.assert_allclose(model.results["train"]["golden"]["loss"], loss, rtol=1e-12)


def test_weights_of_samples_scale_their_gradients():
    X, y = rows()
    s = np.random.default_rng(1).integers(0, 3, 12).astype(float)
    model = line().train(X, y, sample_weight=s)
    w, b = descended(X, y, s, 3)
    np.testing.assert_allclose(model.weights["w"], w, rtol=1e-12)
    np.testing.assert_allclose(model.weights["b"], b, rtol=1e-12)


def test_training_goes_on():
    X, y = rows()
    whole = line().train(X, y, epochs=5)
    program = line()
    part = program.train(X, y, epochs=2)
    rest = program.train(X, y, epochs=3, start=part)
    np.testing.assert_allclose(rest.weights["w"], whole.weights["w"], rtol=1e-12)
    named = program.train(X, y, epochs=3, start=part.weights)
    np.testing.assert_allclose(named.weights["w"], whole.weights["w"], rtol=1e-12)


def test_engines_agree():
    X, y = rows(20)
    machine = {"pus": 1, "pes_per_pu": 2}
    program = Program.from_text(LINE, train=TRAIN, machine=machine)
    fixed, array = (program.train(X, y, engine=engine) for engine in ("fixed", "array"))
    for name in ("w", "b"):
        assert np.array_equal(fixed.weights[name], array.weights[name])
    assert array.results["cycles"] > 0 and array.results["words_compared"] > 0
    golden = array.raw(X)
    assert np.array_equal(array.raw(X, engine="array"), array.raw(X, engine="fixed"))
    np.testing.assert_allclose(array.raw(X, engine="array"), golden, atol=0.01)


def test_values_by_name_and_shape():
    program = Program.from_text(LINE, set={"m": 3})
    x, w = np.arange(3.0), np.array([0.5, 0.25, -1.0])
    given = {"x": x, "w": w, "b": 0.5, "y": 1, "s": 1.0}
    result = program.eval(given)
    h = x @ w + 0.5
    np.testing.assert_allclose(result["h"], h, rtol=1e-15)
    np.testing.assert_allclose(result.next["w"], w - 0.05 * (h - 1) * x, rtol=1e-14)
    assert result.values["h"].shape == () and result.next["w"].shape == (3,)
    below = program.eval(given, engine="array")
    np.testing.assert_allclose(below["h"], h, atol=0.01)
    assert below.distance is not None and 0 <= below.distance[1] < 0.01


def test_sizes_come_with_arrays():
    text = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"
    program = Program.from_text(text, language="tensor_comprehensions")
    random = np.random.default_rng(0)
    A, B = random.normal(size=(3, 4)), random.normal(size=(4, 2))
    np.testing.assert_allclose(program.eval({"A": A, "B": np.asfortranarray(B)})["C"], A @ B, rtol=1e-14)
    assert program.check({"A": A, "B": B}) == []


def test_what_is_undefined_is_masked():
    text = "model_input x[3]; iterator i[0:2]; h[i] = x[i] + x[2]; g[2] = 1; g[0] = 2;"
    values = Program.from_text(text).eval({"x": [1.0, 2.0, 3.0]})
    assert np.array_equal(values["h"], [4.0, 5.0])
    assert isinstance(values["g"], np.ma.MaskedArray) and list(values["g"].mask) == [False, True, False]


def test_errors_have_code_place_and_drawing():
    with pytest.raises(errors.ProgramError) as caught:
        Program.from_text("model_input x[3];\niterator i[0:4];\nh = sum[i](x[i]);\n").check()
    error = caught.value
    assert error.code == "E-BOUNDS" and isinstance(error, ValueError)
    (first, *_) = error.diagnostics
    assert (first.code, first.line, first.file) == ("E-BOUNDS", 3, "program.t")
    assert "h = sum[i](x[i]);" in error.rendered and "E-BOUNDS" in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert (again.code, again.diagnostics, str(again)) == (error.code, error.diagnostics, str(error))


@pytest.mark.parametrize(
    ("kind", "code", "do"),
    [
        (errors.UsageError, "E-USAGE", lambda: Program.from_text(LINE).eval({}, engine="slow")),
        (errors.UsageError, "E-USAGE", lambda: Program.from_text(LINE, language="c")),
        (errors.UsageError, "E-USAGE", lambda: line().train(np.zeros(3), np.zeros(3))),
        (errors.UsageError, "E-USAGE", lambda: line().train(*rows(), batch=0)),
        (errors.UsageError, "E-USAGE", lambda: line().train(*rows(), start={"v": [1.0]})),
        (errors.ProgramError, "E-DATA", lambda: line().train(rows()[0], rows()[1][:5])),
        (errors.ProgramError, "E-DATA", lambda: line().train(np.full((3, 2), np.nan), np.zeros(3))),
        (errors.ProgramError, "E-DATA", lambda: line().train(*rows(), sample_weight=-np.ones(12))),
        (errors.ProgramError, "E-DATA", lambda: line().train(*rows(), sample_weight=np.ones(3))),
        (errors.ProgramError, "E-CONFIG", lambda: Program.from_text(LINE, config="[machine]\npus = 0\n")),
        (errors.FileError, "E-FILE", lambda: Program.from_file("not/there.t")),
        (errors.ProgramError, "E-BACKEND", lambda: Program.from_text(LINE.replace("0.05", "9.0"), train=TRAIN).train(*rows(), epochs=300)),
    ],
)
def test_failures_by_kind(kind, code, do):
    with pytest.raises(kind) as caught:
        do()
    assert caught.value.code == code, str(caught.value)


def test_labels_are_what_they_are():
    random = np.random.default_rng(2)
    X = random.normal(size=(40, 2))
    program = Program.from_file("programs/softmax.t")
    words = np.array(["one", "two", "three"])[random.integers(0, 3, 40)]
    X[words == "two"] += 4
    X[words == "three"] -= 4
    model = program.train(X, words, epochs=30)
    assert np.mean(model.predict(X) == words) > 0.9
    numbers = program.train(X, np.searchsorted(np.unique(words), words), epochs=30)
    assert numbers.predict(X).dtype.kind == "i"


def test_models_are_kept(tmp_path):
    X, y = rows()
    model = line().train(X, y, engine="fixed")
    model.save(tmp_path / "model.json")
    loaded = line().load(tmp_path / "model.json")
    again = pickle.loads(pickle.dumps(model))
    for other in (loaded, again):
        assert np.array_equal(other.predict(X, engine="fixed"), model.predict(X, engine="fixed"))
    assert again.results == model.results
    with pytest.raises(errors.ProgramError, match="another program"):
        Program.from_text(LINE.replace("+ b", "- b"), train=TRAIN, name="line").load(tmp_path / "model.json")


def test_who_watches_hears_every_epoch_and_can_stop():
    X, y = rows()
    heard = []
    line().train(X, y, engine="fixed", progress=lambda *event: heard.append(event[:3]))
    expected = [("begin", 0), ("epoch", 1), ("epoch", 2), ("epoch", 3), ("end", 0)]
    assert heard == [(what, engine, done) for engine in ("golden", "fixed") for what, done in expected]

    class Enough(Exception):
        pass

    def stop(what, engine, done, epochs, loss):
        if done == 2:
            raise Enough

    with pytest.raises(Enough):
        line().train(X, y, epochs=10**9, progress=stop)


def test_ctrl_c_ends_a_training():
    X, y = rows()
    # What a shell starts in the background ignores the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            line().train(X, y, epochs=10**9)
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_go_on():
    X, y = rows(50)
    counted = []
    stop = threading.Event()

    def count():
        while not stop.is_set():
            counted.append(None)
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    line().train(X, y, epochs=3000)
    stop.set()
    thread.join()
    assert len(counted) > 5


def test_what_a_notebook_shows():
    X, y = rows()
    model = line().train(X, y, engine="array", curves=True)
    shown = model._repr_html_()
    assert "<polyline" in shown and "minimize s * squared(h, y);" in shown
    assert "h = sum[i](w[i] * x[i]) + b;" in model.explain()._repr_html_()


def test_version_and_names():
    assert tabla_gen.__version__.count(".") == 2
    assert repr(line()) == "<tabla_gen.Program line in TABLA>"
