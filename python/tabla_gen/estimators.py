"""Estimators of scikit-learn: linear models, support vector machines and networks, trained as the accelerator trains them."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from tabla_gen.errors import UsageError
from tabla_gen.model import Engine, Model
from tabla_gen.networks import ACTIVATIONS, Network, network
from tabla_gen.program import Program, _columns, _rows
from tabla_gen.progress import Losses, callback
from tabla_gen.scales import Moments, rescaled

_SHARED = """
    Parameters
    ----------
    program : Program, optional
        Any program, in place of the network that is written otherwise; the other parameters of networks have no meaning then.
    hidden_layer_sizes : tuple of int
        Units of each hidden layer; without one the model is linear.
    activation : {"relu", "identity", "logistic", "silu", "tanh"}
        Of the hidden units.
    loss : str
        %(losses)s
    alpha : float
        Weight of half the squared length of the weights, biases not counted, beside the loss of a sample.
    learning_rate : float or "auto"
        Length of the first steps. `"auto"` follows from the number of features, the loss and the largest weight of a sample.
    schedule : {"cosine", "constant"}
        How steps get shorter over the epochs. `partial_fit` keeps them as they are.
    optimiser : {"sgd", "momentum", "nesterov", "adagrad", "rmsprop", "adam", "lion"}
        How gradients change weights.
    rounding : {"nearest", "stochastic"}
        How updates are rounded to words.
    master : int
        Bits of the weights that updates add to; words multiply with their upper bits. 0: those of a word.
    batch_size : int
        Samples per update.
    max_iter : int
        Epochs.
    standardise : bool
        Scale features%(scaled)s to mean 0 and deviation 1; words of fixed point need that.
    engine : {"golden", "fixed", "array", "rtl"}
        What trains and predicts: float64, words, the grid cycle by cycle, its Verilog.
    config : str or path, optional
        The machine: the name of a configuration, a TOML file, or its text.
    machine : dict, optional
        Keys of the `[machine]` table, stronger than the configuration's: `{"pus": 4, "word": 12}`.
    early_stopping : bool
        Keep a part of the rows apart, end where it does not improve for `n_iter_no_change` epochs, and keep the best weights.
    validation_fraction : float
        That part.
    n_iter_no_change : int
        Epochs without a better loss.
    warm_start : bool
        `fit` begins with the weights and scales of the last one.
    random_state : int, RandomState or None
        Seed of initial weights and of the order of the samples.
%(own)s    verbose : bool
        Show a bar of tqdm.

    Attributes
    ----------
    program_ : Program
        What was trained; its `source` is the program in TABLA.
    model_ : Model
        The trained model: weights, results, `save`.
    n_iter_ : int
        Epochs of the last `fit` or `partial_fit`.
    loss_curve_ : list of float
        Mean loss on up to 256 rows of the training after each epoch, in real numbers.
%(attributes)s    n_features_in_ : int
        Features seen by `fit`.
"""


class _Estimator(BaseEstimator):
    def __init__(
        self,
        program: Program | None = None,
        *,
        hidden_layer_sizes: tuple[int, ...] = (),
        activation: str = "relu",
        loss: str = "auto",
        alpha: float = 1e-4,
        learning_rate: float | str = "auto",
        schedule: str = "cosine",
        optimiser: str = "sgd",
        rounding: str = "nearest",
        master: int = 0,
        batch_size: int = 1,
        max_iter: int = 100,
        standardise: bool = True,
        engine: Engine = "golden",
        config: Any = None,
        machine: Mapping[str, Any] | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.program = program
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.loss = loss
        self.alpha = alpha
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.optimiser = optimiser
        self.rounding = rounding
        self.master = master
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.standardise = standardise
        self.engine = engine
        self.config = config
        self.machine = machine
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    # Whether there is one target, whose predictions have one dimension.
    _flat = False
    _losses: tuple[str, ...] = ()
    # Sizes of the hidden layers of `model_`.
    _shape: tuple[int, ...]

    def _check_parameters(self) -> None:
        known = {"schedule": ("cosine", "constant"), "loss": self._losses, "activation": tuple(ACTIVATIONS)}
        for name, values in known.items():
            if getattr(self, name) not in values:
                raise UsageError(f"{name} is one of {', '.join(values)}, not {getattr(self, name)!r}", "E-USAGE")
        for name, least in (("max_iter", 1), ("batch_size", 1), ("n_iter_no_change", 1)):
            value = getattr(self, name)
            if not isinstance(value, Integral) or value < least:
                raise UsageError(f"{name} is an integer, at least {least}, not {value!r}", "E-USAGE")
        if any(not isinstance(size, Integral) or size < 1 for size in self._hidden):
            raise UsageError(f"hidden_layer_sizes are integers above 0, not {self.hidden_layer_sizes!r}", "E-USAGE")
        if not (np.isfinite(self.alpha) and self.alpha >= 0):
            raise UsageError(f"alpha is at least 0, not {self.alpha!r}", "E-USAGE")
        rate = self.learning_rate
        if rate != "auto" and not (isinstance(rate, Real) and np.isfinite(rate) and rate > 0):
            raise UsageError(f'learning_rate is "auto" or above 0, not {rate!r}', "E-USAGE")
        if not 0 < self.validation_fraction < 1:
            raise UsageError(f"validation_fraction is between 0 and 1, not {self.validation_fraction!r}", "E-USAGE")

    @property
    def _hidden(self) -> tuple[int, ...]:
        sizes = self.hidden_layer_sizes
        return (sizes,) if isinstance(sizes, Integral) else tuple(sizes)

    def _rate(self, features: int, loss: str, heaviest: float) -> float:
        if self.learning_rate != "auto":
            return float(self.learning_rate)
        # Standardised features have the squared length `features`; the squared error of a linear model bends by that much, the
        # cross entropy by a quarter of it. The bend of a network is not known: its widest layer stands for it, with a reserve.
        length = max(features, *self._hidden, 0) + 1.0
        if self._hidden:
            rate = min(0.1, 2.0 / length) if loss in ("logistic", "one_hot", "hinge") else 0.2 / length
        elif loss in ("squared", "huber"):
            rate = 0.5 / length
        else:
            rate = min(0.5, 2.0 / length)
        return rate / max(1.0, heaviest)

    def _written(self, net: Network, rate: float, going_on: bool, extra: dict[str, Any]) -> Program:
        layers = range(1, len(self._hidden) + 2)
        train = {
            "prediction": net.prediction,
            "loss": net.loss,
            "label": "y",
            "sample_weight": "s",
            "mu": rate,
            "optimiser": self.optimiser,
            "rounding": self.rounding,
            "master": self.master or None,
            "schedule": "constant" if going_on else self.schedule,
            "standardise": bool(self.standardise),
            "standardise_target": bool(self.standardise) and extra.pop("scales_target", False),
            "validation": float(self.validation_fraction) if self.early_stopping and not going_on else None,
            "patience": int(self.n_iter_no_change) if self.early_stopping and not going_on else None,
            "initial": {f"w{n}": "he" if n < layers[-1] else "xavier" for n in layers} if self._hidden else {},
            **extra,
        }
        name = type(self).__name__.lower()
        return Program.from_text(network(net), name=name, train=train, config=self.config, machine=self.machine)

    def _train(
        self,
        X: NDArray[np.float64],
        targets: dict[str, Any],
        weight: NDArray[np.float64],
        program: Program,
        going_on: bool,
        before: Model | None,
    ) -> None:
        names = getattr(self, "feature_names_in_", None)
        mean = weight.mean()
        weights = weight / mean if mean > 0 else weight
        if self.program is not None and np.all(weights == weights[0]):
            weights = None
        rows = _rows(X, _columns(X, X.shape[1]) if names is None else names, sample_weight=weights, **targets)
        asked = {
            "epochs": 1 if going_on else int(self.max_iter),
            "batch": min(int(self.batch_size), len(X)),
            "reduction": None,
            "order": "shuffled",
            "seed": int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max)),
            "split": 1.0,
            "missing": "refuse",
        }
        start = before
        if self.program is None and self.standardise:
            scaled = targets["codes"] if self._scales_target else None
            if before is None:
                self._moments = Moments(X, scaled)
            elif going_on:
                self._moments.add(X, scaled)
                start = rescaled(before, self._moments)
        losses = Losses(callback(bool(self.verbose)))
        self.model_ = program._trained(rows, asked, self.engine, start, progress=losses)
        self.loss_curve_ = losses.curve
        self.program_ = program
        self.n_iter_ = len(losses.curve)

    def _before(self, going_on: bool) -> Model | None:
        """The model that a training goes on from."""
        before = getattr(self, "model_", None) if going_on or self.warm_start else None
        if before is not None and self.program is None and self._shape != self._hidden:
            message = f"hidden_layer_sizes were {self._shape} in the first call and are {self._hidden} now"
            raise UsageError(f"{message}: weights of other sizes cannot go on", "E-USAGE")
        self._shape = self._hidden
        return before

    # Whether targets are scaled, too.
    _scales_target = False

    def _scores(self, X: ArrayLike) -> NDArray[np.float64]:
        """What the network says, before a link: of shape (rows, outputs)."""
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=np.float64, reset=False)
        return self.model_._quietly(rows, self.engine, "h")

    def _linear(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Weights and biases of a linear model for features and targets as they are, a row for each output."""
        check_is_fitted(self)
        if self.program is not None or self._hidden:
            raise AttributeError("only linear models have coefficients")
        mean, deviation = map(np.array, self.model_._native.scales)
        weights = self.model_.weights
        # What does not vary is 0 after scaling, whatever its weight is.
        scale = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 0)
        coefficients = np.atleast_2d(weights["w1"]) * scale
        intercepts = np.atleast_1d(weights["b1"]) - coefficients @ mean
        target_mean, target_deviation = map(np.array, self.model_._native.target_scales)
        return coefficients * target_deviation[:, None], intercepts * target_deviation + target_mean

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Weights of a linear model: of shape (features,) for one target, otherwise (outputs, features)."""
        coefficients, _ = self._linear()
        return coefficients[0] if self._flat else coefficients

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """Biases of a linear model: a number for one target, otherwise of shape (outputs,)."""
        _, intercepts = self._linear()
        return intercepts[0] if self._flat else intercepts

    def _reported(self) -> str:
        return self.model_._repr_html_() if hasattr(self, "model_") else ""

    # What a notebook shows: scikit-learn's drawing, and the report of what was trained. Notebooks ask for the bundle, others for HTML alone.
    def _repr_html_inner(self) -> str:
        return super()._repr_html_inner() + self._reported()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += self._reported()
        return bundle

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.non_deterministic = False
        return tags


def _writes(estimator: _Estimator) -> bool:
    return estimator.program is None


class TablaRegressor(RegressorMixin, _Estimator):
    __doc__ = """Regression: linear, or by a network.
""" + _SHARED % {
        "losses": '`"auto"` and `"squared"`, `"absolute"`, `"huber"` (of the scaled target).',
        "scaled": " and targets",
        "own": "",
        "attributes": "    coef_, intercept_ : ndarray\n        Of linear models, for features and targets as they are.\n",
    }

    _losses = ("auto", "squared", "absolute", "huber")
    _scales_target = True

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> TablaRegressor:
        """Train on `X` of shape (rows, features) and `y` of shape (rows,) or (rows, targets)."""
        return self._fit(X, y, sample_weight, going_on=False)

    def partial_fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> TablaRegressor:
        """One epoch more; the scales of features and targets follow all rows so far. With `program`, the first call decides them."""
        return self._fit(X, y, sample_weight, going_on=True)

    def _fit(self, X: Any, y: Any, sample_weight: ArrayLike | None, going_on: bool) -> TablaRegressor:
        self._check_parameters()
        before = self._before(going_on)
        X, y = validate_data(self, X, y, dtype=np.float64, multi_output=True, y_numeric=True, reset=before is None)
        y = np.asarray(y, dtype=np.float64)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        codes = y.reshape(len(y), -1)
        if self.program is not None:
            program = self.program
        else:
            loss = "squared" if self.loss == "auto" else self.loss
            net = Network(X.shape[1], codes.shape[1], loss, self._hidden, self.activation, float(self.alpha))
            heaviest = float(weight.max() / max(weight.mean(), 1e-300))
            program = self._written(net, self._rate(X.shape[1], loss, heaviest), going_on, {"scales_target": True})
        self._train(X, {"codes": codes}, weight, program, going_on, before)
        self._flat = y.ndim == 1
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predicted targets of shape (rows,) or (rows, targets), in their own units."""
        check_is_fitted(self)
        if self.program is None:
            values = self._scores(X)
        else:
            values = self.model_._quietly(validate_data(self, X, dtype=np.float64, reset=False), self.engine)
        mean, deviation = map(np.array, self.model_._native.target_scales)
        values = values * deviation + mean
        return values[:, 0] if self._flat else values

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The coefficient of determination, R2."""
        return float(super().score(X, y, sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class TablaClassifier(ClassifierMixin, _Estimator):
    __doc__ = """Classification: logistic, by support vectors, or by a network; several classes one against the rest.
""" + _SHARED % {
        "losses": '`"auto"` and `"logistic"` (probabilities), `"hinge"` (a support vector machine), `"squared"`.',
        "scaled": "",
        "own": '    class_weight : dict, "balanced" or None\n        Weights of the samples of each class.\n',
        "attributes": "    classes_ : ndarray\n        The classes.\n"
        "    coef_, intercept_ : ndarray\n        Of linear models, for features as they are.\n",
    }

    _losses = ("auto", "logistic", "hinge")
    classes_: NDArray[Any]

    def __init__(
        self,
        program: Program | None = None,
        *,
        hidden_layer_sizes: tuple[int, ...] = (),
        activation: str = "relu",
        loss: str = "auto",
        alpha: float = 1e-4,
        learning_rate: float | str = "auto",
        schedule: str = "cosine",
        optimiser: str = "sgd",
        rounding: str = "nearest",
        master: int = 0,
        batch_size: int = 1,
        max_iter: int = 100,
        standardise: bool = True,
        engine: Engine = "golden",
        config: Any = None,
        machine: Mapping[str, Any] | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        warm_start: bool = False,
        random_state: Any = None,
        class_weight: Any = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            program,
            hidden_layer_sizes=hidden_layer_sizes,
            activation=activation,
            loss=loss,
            alpha=alpha,
            learning_rate=learning_rate,
            schedule=schedule,
            optimiser=optimiser,
            rounding=rounding,
            master=master,
            batch_size=batch_size,
            max_iter=max_iter,
            standardise=standardise,
            engine=engine,
            config=config,
            machine=machine,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
            warm_start=warm_start,
            random_state=random_state,
            verbose=verbose,
        )
        self.class_weight = class_weight

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> TablaClassifier:
        """Train on `X` of shape (rows, features) and classes `y` of shape (rows,)."""
        return self._fit(X, y, sample_weight, None, going_on=False)

    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> TablaClassifier:
        """One epoch more; the first call decides the classes, and needs `classes` unless `y` has them all. Scales follow all rows so far; with `program`,
        the first call decides them."""
        return self._fit(X, y, sample_weight, classes, going_on=True)

    def _fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None, classes: ArrayLike | None, going_on: bool
    ) -> TablaClassifier:
        self._check_parameters()
        before = self._before(going_on)
        X, y = validate_data(self, X, y, dtype=np.float64, reset=before is None)
        check_classification_targets(y)
        present = np.unique(y)
        if before is not None:
            if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
                raise ValueError(f"classes are those of the first call, {self.classes_}, not {classes}")
        else:
            self.classes_ = present if classes is None else np.unique(classes)
        unknown = np.setdiff1d(present, self.classes_)
        if len(unknown):
            raise ValueError(f"y has classes that are not among `classes`: {unknown}")
        if len(self.classes_) < 2:
            raise ValueError(f"a classifier needs samples of two classes; there is only one class, {self.classes_[0]!r}")
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        if going_on and self.class_weight == "balanced":
            raise ValueError('class_weight "balanced" is not known to partial_fit: give sample_weight')
        if self.class_weight is not None:
            weight = weight * compute_sample_weight(self.class_weight, y)
        codes = np.searchsorted(self.classes_, y)
        heaviest = float(weight.max() / max(weight.mean(), 1e-300))
        self._train(X, self._targets(codes), weight, self._chosen(X.shape[1], heaviest, going_on), going_on, before)
        self.model_._classes = self.classes_.tolist()
        self.model_._one_against_rest = self.program is None and len(self.classes_) > 2
        self.model_._signs = self.model_._one_against_rest and self._link == "hinge"
        return self

    @property
    def _link(self) -> str:
        return "logistic" if self.loss == "auto" else self.loss

    def _names(self) -> list[str]:
        """The classes as text."""
        return list(map(str, self.classes_.tolist()))

    def _chosen(self, features: int, heaviest: float, going_on: bool) -> Program:
        if self.program is not None:
            return self.program
        outputs = 1 if len(self.classes_) == 2 else len(self.classes_)
        loss, extra = self._link, {}
        if outputs == 1:
            low = -1.0 if loss == "hinge" else 0.0
            extra["labels"] = dict(zip(self._names(), (low, 1.0), strict=True))
        elif loss == "hinge":
            extra["labels"] = {"-1": -1.0, "1": 1.0}
        else:
            loss = "one_hot"
        net = Network(features, outputs, loss, self._hidden, self.activation, float(self.alpha))
        return self._written(net, self._rate(features, loss, heaviest), going_on, extra)

    def _targets(self, codes: NDArray[np.intp]) -> dict[str, Any]:
        if self.program is not None:
            names = self._names()
            return {"cells": [[names[code]] for code in codes.tolist()]}
        several = len(self.classes_) > 2
        if self._link == "hinge":
            right = codes[:, None] == np.arange(len(self.classes_)) if several else codes[:, None] == 1
            return {"codes": np.where(right, 1.0, -1.0)}
        return {"codes": codes[:, None].astype(np.float64), "classes": self._names() if several else ()}

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The share of rows whose class is predicted."""
        return float(super().score(X, y, sample_weight))

    @available_if(_writes)
    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Scores of shape (rows,) for the second of two classes, or (rows, classes)."""
        scores = self._scores(X)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class of each row."""
        check_is_fitted(self)
        if self.program is not None:
            rows = validate_data(self, X, dtype=np.float64, reset=False)
            return self.model_._read(self.model_._quietly(rows, self.engine))
        scores = self.decision_function(X)
        codes = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[codes]

    def _has_probabilities(self) -> bool:
        return self.program is None and self._link == "logistic"

    @available_if(_has_probabilities)
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Probabilities of shape (rows, classes)."""
        scores = self.decision_function(X)
        # exp of what is not positive: no overflow.
        small = np.exp(-np.abs(scores))
        chances = np.where(scores >= 0, 1.0, small) / (1.0 + small)
        if chances.ndim == 1:
            return np.column_stack([1.0 - chances, chances])
        total = chances.sum(axis=1, keepdims=True)
        return np.divide(chances, total, out=np.full_like(chances, 1.0 / chances.shape[1]), where=total > 0)

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Logarithms of probabilities of shape (rows, classes)."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))
