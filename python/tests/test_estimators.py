"""Estimators: scikit-learn's own checks, and results beside those of scikit-learn and NumPy."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from tabla_gen import Program, TablaClassifier, TablaRegressor, errors

# What does not hold, and why; scikit-learn lists the same check for its own SGDClassifier and SGDRegressor.
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": "a weight scales the gradient of one update; a repeated sample is several updates",
}


@parametrize_with_checks(
    [
        TablaClassifier(),
        TablaClassifier(loss="hinge"),
        TablaClassifier(hidden_layer_sizes=(8,)),
        TablaRegressor(),
        TablaRegressor(hidden_layer_sizes=(8,)),
    ],
    expected_failed_checks=lambda estimator: EXPECTED,
)
def test_conventions(estimator, check):
    check(estimator)


def test_linear_regression_is_ridge():
    X, y = load_diabetes(return_X_y=True)
    ours = TablaRegressor(alpha=1e-3, max_iter=200, random_state=0).fit(X, y)
    ridge = Ridge(alpha=1e-3 * len(X)).fit(StandardScaler().fit_transform(X), y)
    other = ridge.predict(StandardScaler().fit_transform(X))
    assert np.sqrt(np.mean((ours.predict(X) - other) ** 2)) < 0.05 * np.std(y)
    np.testing.assert_allclose(X @ ours.coef_ + ours.intercept_, ours.predict(X), rtol=1e-9)


def test_classifier_agrees_with_logistic_regression():
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    ours = TablaClassifier(alpha=1e-2, max_iter=100, random_state=0).fit(X, y)
    # The same objective: C weighs the sum of losses against half the squared length.
    theirs = LogisticRegression(C=1 / (1e-2 * len(X)), max_iter=1000).fit(X, y)
    assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.98
    assert np.abs(ours.predict_proba(X) - theirs.predict_proba(X)).mean() < 0.02
    np.testing.assert_allclose(X @ ours.coef_[0] + ours.intercept_[0], ours.decision_function(X), rtol=1e-8, atol=1e-8)


def test_words_predict_almost_as_reals():
    X, y = load_iris(return_X_y=True)
    machine = "[machine]\npus = 2\npes_per_pu = 2\n"
    arrays = TablaClassifier(engine="array", config=machine, max_iter=20, random_state=0).fit(X, y)
    words = TablaClassifier(engine="fixed", config=machine, max_iter=20, random_state=0).fit(X, y)
    reals = TablaClassifier(max_iter=20, random_state=0).fit(X, y)
    assert np.array_equal(arrays.predict(X), words.predict(X))
    assert np.mean(arrays.predict(X) == reals.predict(X)) > 0.95
    assert arrays.model_.results["cycles"] > 0


def test_pipelines_searches_and_pickles():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    pipeline = make_pipeline(StandardScaler(), TablaClassifier(max_iter=20, random_state=0))
    search = GridSearchCV(pipeline, {"tablaclassifier__alpha": [1e-4, 1.0]}, cv=3, n_jobs=2).fit(X, names)
    assert search.best_params_ == {"tablaclassifier__alpha": 1e-4} and search.best_score_ > 0.85
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    assert np.array_equal(again.predict(X), search.predict(X))


def test_a_notebook_shows_the_report():
    X, y = load_iris(return_X_y=True)
    estimator = TablaClassifier(max_iter=3, random_state=0)
    before = estimator._repr_html_()
    estimator.fit(X, y)
    for shown in (estimator._repr_html_(), estimator._repr_mimebundle_()["text/html"]):
        assert "TablaClassifier" in shown and shown.endswith(estimator.model_._repr_html_())
    assert "minimize" not in before and "minimize" in estimator._repr_html_()


def test_partial_fit_goes_on():
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    part = TablaClassifier(random_state=0)
    for chunk in np.array_split(order, 5) * 4:
        part.partial_fit(X[chunk], y[chunk], classes=[0, 1, 2])
    assert part.score(X, y) > 0.85
    with pytest.raises(ValueError, match="first call"):
        part.partial_fit(X, y, classes=[0, 1])


def test_weights_of_classes_are_weights_of_their_samples():
    X, y = load_breast_cancer(return_X_y=True)
    by_class = TablaClassifier(class_weight={0: 3.0, 1: 0.5}, max_iter=5, random_state=0).fit(X, y)
    by_sample = TablaClassifier(max_iter=5, random_state=0).fit(X, y, sample_weight=np.where(y == 0, 3.0, 0.5))
    assert np.array_equal(by_class.coef_, by_sample.coef_)
    plain = TablaClassifier(max_iter=5, random_state=0).fit(X, y)
    assert np.sum(by_class.predict(X) == 0) > np.sum(plain.predict(X) == 0)
    balanced = TablaClassifier(class_weight="balanced", max_iter=10, random_state=0).fit(X, y)
    assert 0.9 < np.mean(balanced.predict(X) == y)


def test_any_program():
    X, y = load_iris(return_X_y=True)
    score = cross_val_score(TablaClassifier(Program.from_file("programs/softmax.t"), random_state=0, max_iter=30), X, y, cv=3)
    assert score.mean() > 0.85
    X, y = load_diabetes(return_X_y=True)
    ours = TablaRegressor(Program.from_file("programs/linear.t"), random_state=0, max_iter=30).fit(X, y)
    assert ours.score(X, y) > 0.45


@pytest.mark.parametrize(
    "wrong", [{"loss": "cubic"}, {"max_iter": 0}, {"hidden_layer_sizes": (0,)}, {"alpha": -1}, {"schedule": "never"}]
)
def test_parameters_are_checked(wrong):
    with pytest.raises(errors.UsageError):
        TablaRegressor(**wrong).fit([[0.0], [1.0]], [0.0, 1.0])
