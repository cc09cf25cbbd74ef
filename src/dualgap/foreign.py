"""What fitted models of other libraries minimize: their parameters, brought to the form of `dualgap.solve`.

Each reader takes a fitted model and the data it was fitted to and states the problems that it solved, with the coefficients it found. An
intercept that the library penalizes is the coefficient of a column of constants, which is added to X. Nothing is imported: models are known
by the names of their classes, so that a library is needed only by who uses it.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dualgap.losses import (
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    Quantile,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from dualgap.multiclass import MaxHinge, Softmax
from dualgap.penalties import L2, ElasticNet, Factors, NonNegative

Array = npt.NDArray[np.float64]


class Claim(NamedTuple):
    """One problem, and the coefficients that are said to solve it; `b` is an intercept that is not penalized."""

    y: npt.NDArray[Any]
    loss: Any
    penalty: Any
    w: Array
    b: Any


class Reading(NamedTuple):
    """The problems that a model stands for, and the data as they are in these.

    `column` is the value of a column that was added for a penalized intercept, None where none was. `classes` are those of a classifier.
    `joint` says that one problem has all classes.
    """

    claims: list[Claim]
    X: Any
    weight: Array | None
    intercept: bool
    column: float | None
    classes: npt.NDArray[Any] | None
    joint: bool


class Data(NamedTuple):
    """What a reader is given: the rows, the targets as the model takes them, and the weights."""

    X: Any
    y: npt.NDArray[Any]
    weight: Array | None

    @property
    def total(self) -> float:
        return float(len(self.y)) if self.weight is None else math.fsum(self.weight)

    @property
    def n(self) -> int:
        return len(self.y)

    @property
    def d(self) -> int:
        return int(self.X.shape[1])


def read(model: Any, data: Data) -> Reading:
    """What a model of a known library stands for."""
    package, name = type(model).__module__.partition(".")[0], type(model).__name__
    reader = READERS.get((package, name))
    if reader is None:
        known = ", ".join(sorted(f"{p}.{n}" for p, n in READERS))
        raise TypeError(f"model must be coefficients, or a fitted model of one of {known}; got {package}.{name}")
    return reader(model, data)


def net(l1: float, l2: float, d: int, *, factors: Any = None, positive: bool = False) -> Any:
    """l1 |w|_1 + l2/2 |w|^2, with factors and a bound at 0."""
    if l1 == 0.0 and l2 == 0.0:
        penalty: Any = Factors(L2(1.0), np.zeros(d))
    else:
        penalty = ElasticNet(l1, l2) if l1 else L2(l2)
        penalty = penalty if factors is None else Factors(penalty, np.asarray(factors, dtype=np.float64))
    return NonNegative(penalty) if positive else penalty


def mixed(strength: float, ratio: float, data: Data, **options: Any) -> Any:
    """strength (ratio |w|_1 + (1 - ratio)/2 |w|^2)."""
    return net(strength * ratio, strength * (1.0 - ratio), data.d, **options)


def regressor(model: Any, data: Data, loss: Any, penalty: Any, *, column: float | None = None) -> Reading:
    """A regressor, each target by itself; `penalty` may be a list with one for each."""
    y = np.asarray(data.y, dtype=np.float64)
    columns = y.reshape(len(y), -1).T
    coef = _dense(model.coef_).reshape(len(columns), -1)
    b = np.broadcast_to(np.ravel(np.asarray(model.intercept_, dtype=np.float64)), (len(columns),))
    penalties = penalty if isinstance(penalty, list) else [penalty] * len(columns)
    claims = [Claim(t, loss, p, w, float(c)) for t, p, w, c in zip(columns, penalties, coef, b, strict=True)]
    return _finished(claims, data, bool(getattr(model, "fit_intercept", True)), column, None, False)


def classifier(model: Any, data: Data, loss: Any, penalty: Any, *, column: float | None = None, joint: Any = None) -> Reading:
    """A classifier: each class against the rest, or with the loss `joint` all at once where there are three or more."""
    classes = np.asarray(model.classes_)
    labels = _labels(data.y, classes)
    k, coef = len(classes), np.atleast_2d(_dense(model.coef_))
    b = np.broadcast_to(np.ravel(np.asarray(model.intercept_, dtype=np.float64)), (len(coef),))
    if joint is not None and k > 2:
        claims = [Claim(labels, joint, penalty, np.ascontiguousarray(coef.T), b.copy())]
    else:
        positive = [1] if len(coef) == 1 else range(k)
        signs = [np.where(labels == c, 1.0, -1.0) for c in positive]
        claims = [Claim(y, loss, penalty, w, float(c)) for y, w, c in zip(signs, coef, b, strict=True)]
    return _finished(claims, data, bool(getattr(model, "fit_intercept", True)), column, classes, claims[0].w.ndim == 2)


def _finished(claims: list[Claim], data: Data, intercept: bool, column: float | None, classes: Any, joint: bool) -> Reading:
    """The reading, with a column of constants if the intercept is penalized."""
    if not intercept:
        return Reading(
            [c._replace(b=np.zeros_like(c.b) if joint else 0.0) for c in claims], data.X, data.weight, False, None, classes, joint
        )
    if column is None:
        return Reading(claims, data.X, data.weight, True, None, classes, joint)
    X, w = with_column(data.X, column), [np.concatenate([c.w, np.asarray(c.b).reshape(1, *c.w.shape[1:]) / column]) for c in claims]
    claims = [c._replace(w=v, b=np.zeros_like(c.b) if joint else 0.0) for c, v in zip(claims, w, strict=True)]
    return Reading(claims, X, data.weight, False, column, classes, joint)


def with_column(X: Any, value: float) -> Any:
    """X and a column of one value."""
    column = np.full((X.shape[0], 1), value)
    if isinstance(X, np.ndarray):
        return np.hstack([X, column.astype(X.dtype if X.dtype.kind == "f" else np.float64)])
    return sp.hstack([X, sp.csr_array(column)], format="csr")


def _labels(y: Any, classes: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """The positions of targets among the classes of a model."""
    if not np.all(np.isin(y, classes)):
        raise ValueError(f"y must hold the classes of the model, {classes.tolist()}, got {np.setdiff1d(y, classes)[:5].tolist()} as well")
    return np.asarray(np.searchsorted(classes, y))


def _dense(coef: Any) -> Array:
    return np.asarray(coef.toarray() if hasattr(coef, "toarray") else coef, dtype=np.float64)


def _class_weighted(model: Any, data: Data, *, by_rows: bool = False) -> Data:
    """The data with the weights of the classes in those of the rows; "balanced" counts rows, or their weights."""
    wanted = getattr(model, "class_weight", None)
    if wanted is None:
        return data
    classes = np.asarray(model.classes_)
    labels = _labels(data.y, classes)
    if isinstance(wanted, str):
        mass = np.bincount(labels, None if by_rows else data.weight, len(classes))
        of_class = mass.sum() / (len(classes) * np.maximum(mass, 1e-300))
    else:
        of_class = np.array([dict(wanted).get(c, 1.0) for c in classes.tolist()], dtype=np.float64)
    return data._replace(weight=of_class[labels] * (1.0 if data.weight is None else data.weight))


# scikit-learn


def _ridge(model: Any, data: Data) -> Reading:
    alpha = np.ravel(np.asarray(model.alpha_ if hasattr(model, "alpha_") else model.alpha, dtype=np.float64))
    positive = bool(getattr(model, "positive", False))
    return regressor(
        model, data, Squared(), [net(0.0, a / data.total, data.d, positive=positive) for a in np.broadcast_to(alpha, _targets(data))]
    )


def _targets(data: Data) -> int:
    return 1 if data.y.ndim == 1 else data.y.shape[1]


def _ridge_classifier(model: Any, data: Data) -> Reading:
    alpha = float(model.alpha_ if hasattr(model, "alpha_") else model.alpha)
    data = _class_weighted(model, data, by_rows=True)
    return classifier(model, data, Squared(), net(0.0, alpha / data.total, data.d, positive=bool(getattr(model, "positive", False))))


def _elastic_net(model: Any, data: Data) -> Reading:
    alpha = float(model.alpha_ if hasattr(model, "alpha_") else model.alpha)
    ratio = float(getattr(model, "l1_ratio_", getattr(model, "l1_ratio", 1.0)))
    return regressor(model, data, Squared(), mixed(alpha, ratio, data, positive=bool(model.positive)))


def _linear_regression(model: Any, data: Data) -> Reading:
    return regressor(model, data, Squared(), net(0.0, 0.0, data.d, positive=bool(model.positive)))


def _quantile(model: Any, data: Data) -> Reading:
    return regressor(model, data, Quantile(float(model.quantile)), net(float(model.alpha), 0.0, data.d))


def _linear_svr(model: Any, data: Data) -> Reading:
    column = float(model.intercept_scaling)
    squared = model.loss == "squared_epsilon_insensitive"
    strength = (0.5 if squared else 1.0) / (model.C * data.total)
    loss: Any = SquaredEpsilonInsensitive(float(model.epsilon)) if squared else EpsilonInsensitive(float(model.epsilon))
    return regressor(model, data, loss, L2(strength), column=column)


def _linear_svc(model: Any, data: Data) -> Reading:
    data = _class_weighted(model, data, by_rows=True)
    joint = model.multi_class == "crammer_singer"
    if joint and len(model.classes_) == 2:
        raise TypeError(
            "LinearSVC(multi_class='crammer_singer') keeps the difference of two classes alone, so that its objective is not known"
        )
    squared = model.loss == "squared_hinge" and not joint
    strength = (0.5 if squared else 1.0) / (model.C * data.total)
    penalty: Any = ElasticNet(strength, 0.0) if model.penalty == "l1" and not joint else L2(strength)
    loss: Any = SquaredHinge() if squared else Hinge()
    return classifier(model, data, loss, penalty, column=float(model.intercept_scaling), joint=MaxHinge() if joint else None)


def _logistic(model: Any, data: Data) -> Reading:
    data = _class_weighted(model, data, by_rows=model.solver == "liblinear")
    C = float(np.ravel(model.C_)[0]) if hasattr(model, "C_") else float(model.C)
    ratio = _logistic_ratio(model)
    unpenalized = model.penalty is None or math.inf == C
    liblinear = model.solver == "liblinear"
    joint = Softmax() if not liblinear and getattr(model, "multi_class", "auto") != "ovr" else None
    penalty = net(0.0, 0.0, data.d) if unpenalized else mixed(1.0 / (C * data.total), ratio, data)
    return classifier(model, data, Logistic(), penalty, column=float(model.intercept_scaling) if liblinear else None, joint=joint)


def _logistic_ratio(model: Any) -> float:
    named: dict[Any, float] = {"l1": 1.0, "l2": 0.0, None: 0.0}
    ratio = np.ravel(getattr(model, "l1_ratio_", getattr(model, "l1_ratio", 0.0)))[0]
    return named.get(model.penalty, 0.0 if ratio is None else float(ratio))


SGD_LOSSES: dict[str, Callable[[Any], Any]] = {
    "hinge": lambda model: Hinge(),
    "log_loss": lambda model: Logistic(),
    "squared_error": lambda model: Squared(),
    "huber": lambda model: Huber(float(model.epsilon)),
    "epsilon_insensitive": lambda model: EpsilonInsensitive(float(model.epsilon)),
    "squared_hinge": lambda model: SquaredHinge(),
    "squared_epsilon_insensitive": lambda model: SquaredEpsilonInsensitive(float(model.epsilon)),
}


def _sgd(model: Any, data: Data, form: Callable[..., Reading]) -> Reading:
    if model.loss not in SGD_LOSSES:
        raise TypeError(f"model must have a loss that is known here, one of {', '.join(SGD_LOSSES)}; got {model.loss!r}")
    # it divides by the number of rows, whatever their weights; its squared losses have no factor 1/2 but for squared_error
    half = 0.5 if model.loss.startswith("squared_") and model.loss != "squared_error" else 1.0
    strength = half * float(model.alpha) * data.n / data.total
    ratio = {"l1": 1.0, "l2": 0.0, "elasticnet": float(model.l1_ratio or 0.0), None: 0.0}[model.penalty]
    penalty = net(0.0, 0.0, data.d) if model.penalty is None else mixed(strength, ratio, data)
    return form(model, data, SGD_LOSSES[model.loss](model), penalty)


def _sgd_classifier(model: Any, data: Data) -> Reading:
    return _sgd(model, _class_weighted(model, data), classifier)


def _sgd_regressor(model: Any, data: Data) -> Reading:
    return _sgd(model, data, regressor)


def _svc(model: Any, data: Data) -> Reading:
    if model.kernel != "linear" or len(model.classes_) != 2:
        raise TypeError(f"SVC must have a linear kernel and two classes, got kernel={model.kernel!r} and {len(model.classes_)} classes")
    data = _class_weighted(model, data, by_rows=True)
    return classifier(model, data, Hinge(), L2(1.0 / (model.C * data.total)))


def _svr(model: Any, data: Data) -> Reading:
    if model.kernel != "linear":
        raise TypeError(f"SVR must have a linear kernel, got {model.kernel!r}")
    return regressor(model, data, EpsilonInsensitive(float(model.epsilon)), L2(1.0 / (model.C * data.total)))


# This library


def _own_regressor(model: Any, data: Data) -> Reading:
    objectives = model._objectives(data.total, data.d, _targets(data))
    return regressor(model, data, objectives[0][0], [penalty for _, penalty in objectives])


def _own_classifier(model: Any, data: Data) -> Reading:
    data = _class_weighted(model, data)
    loss, penalty = model._objective(data.total, data.d, len(model.classes_))
    if getattr(loss, "vector", False) and len(model.classes_) == 2:
        raise TypeError("a model of two classes with a vector-valued loss keeps the difference of their coefficients alone")
    return classifier(model, data, loss, penalty, joint=loss if getattr(loss, "vector", False) else None)


# celer and skglm


def _celer(model: Any, data: Data) -> Reading:
    ratio = float(getattr(model, "l1_ratio", 1.0))
    return regressor(model, data, Squared(), mixed(float(model.alpha), ratio, data, factors=model.weights, positive=bool(model.positive)))


def _celer_logistic(model: Any, data: Data) -> Reading:
    return classifier(model, data, Logistic(), net(1.0 / (float(model.C) * data.n), 0.0, data.d))


def _skglm_net(model: Any, data: Data) -> Reading:
    ratio, weights = float(getattr(model, "l1_ratio", 1.0)), getattr(model, "weights", None)
    return regressor(model, data, Squared(), mixed(float(model.alpha), ratio, data, factors=weights, positive=bool(model.positive)))


def _skglm_logistic(model: Any, data: Data) -> Reading:
    return classifier(model, data, Logistic(), mixed(float(model.alpha), float(getattr(model, "l1_ratio", 1.0)), data))


def _skglm_general(model: Any, data: Data) -> Reading:
    datafit, penalty = type(model.datafit).__name__, model.penalty
    losses = {"Quadratic": Squared(), "Logistic": Logistic(), "Huber": Huber(float(getattr(model.datafit, "delta", 1.0)))}
    kinds: dict[str, Callable[[Any], Any]] = {
        "L1": lambda p: net(float(p.alpha), 0.0, data.d, positive=bool(getattr(p, "positive", False))),
        "L1_plus_L2": lambda p: mixed(float(p.alpha), float(p.l1_ratio), data, positive=bool(getattr(p, "positive", False))),
        "L2": lambda p: L2(float(p.alpha)),
        "WeightedL1": lambda p: net(float(p.alpha), 0.0, data.d, factors=p.weights, positive=bool(getattr(p, "positive", False))),
        "PositiveConstraint": lambda p: net(0.0, 0.0, data.d, positive=True),
    }
    if datafit not in losses or type(penalty).__name__ not in kinds:
        raise TypeError(
            f"model must have a datafit of {', '.join(losses)} and a penalty of {', '.join(kinds)}; got {datafit} and {penalty!r}"
        )
    form = classifier if datafit == "Logistic" else regressor
    # whether an intercept was fitted is known to its solver alone
    model = _Coefficients(
        model.coef_, model.intercept_, getattr(model, "classes_", None), bool(np.any(np.asarray(model.intercept_) != 0.0))
    )
    return form(model, data, losses[datafit], kinds[type(penalty).__name__](penalty))


class _Coefficients(NamedTuple):
    """What a reader asks of a model that is not an estimator of scikit-learn's kind."""

    coef_: Any
    intercept_: Any
    classes_: Any = None
    fit_intercept: bool = True


# cyanure and snapml

CYANURE = {"square": Squared(), "logistic": Logistic(), "sqhinge": SquaredHinge(), "hinge": Hinge(), "multiclass-logistic": Softmax()}


def _cyanure(model: Any, data: Data, form: Callable[..., Reading]) -> Reading:
    loss = getattr(model, "loss", "square")
    if loss not in CYANURE or model.penalty not in ("l2", "l1", "elasticnet", "elastic-net", None, "none"):
        raise TypeError(
            f"model must have a loss of {', '.join(CYANURE)} and a penalty of l2, l1, elasticnet; got {loss!r} and {model.penalty!r}"
        )
    first, second = float(model.lambda_1), float(model.lambda_2)
    l1, l2 = {"l2": (0.0, first), "l1": (first, 0.0)}.get(model.penalty, (first, second) if model.penalty else (0.0, 0.0))
    options = {"joint": CYANURE[loss]} if loss == "multiclass-logistic" else {}
    if options and len(model.classes_) == 2:
        raise TypeError("cyanure's multiclass-logistic needs three classes or more here")
    coef = _dense(model.coef_).reshape(-1, data.d)
    read = _Coefficients(coef, np.ravel(model.intercept_), getattr(model, "classes_", None), bool(model.fit_intercept))
    return form(read, data, CYANURE[loss], net(l1, l2, data.d), **options)


def _cyanure_classifier(model: Any, data: Data) -> Reading:
    return _cyanure(model, data, classifier)


def _cyanure_regressor(model: Any, data: Data) -> Reading:
    return _cyanure(model, data, regressor)


def _snapml(model: Any, data: Data, loss: Any, form: Callable[..., Reading]) -> Reading:
    if form is classifier:
        data = _class_weighted(model, data)
    half = 0.5 if isinstance(loss, SquaredHinge) else 1.0
    strength = half * float(model.regularizer) / data.total
    ratio = 1.0 if getattr(model, "penalty", "l2") == "l1" else 0.0
    read = _Coefficients(
        _dense(model.coef_).reshape(-1, data.d), np.ravel(model.intercept_), getattr(model, "classes_", None), model.fit_intercept
    )
    penalty: Any = ElasticNet(strength, 0.0) if ratio else L2(strength)
    return form(read, data, loss, penalty, column=float(model.intercept_scaling))


def _snapml_logistic(model: Any, data: Data) -> Reading:
    return _snapml(model, data, Logistic(), classifier)


def _snapml_svm(model: Any, data: Data) -> Reading:
    return _snapml(model, data, Hinge() if model.loss == "hinge" else SquaredHinge(), classifier)


def _snapml_regression(model: Any, data: Data) -> Reading:
    return _snapml(model, data, Squared(), regressor)


# liblinear

LIBLINEAR: dict[int, tuple[Any, float, float]] = {
    # the loss, what 1/(C n) is multiplied by to be the strength of the penalty, and the share of |w|_1 in that
    0: (Logistic(), 1.0, 0.0),
    1: (SquaredHinge(), 0.5, 0.0),
    2: (SquaredHinge(), 0.5, 0.0),
    3: (Hinge(), 1.0, 0.0),
    4: (MaxHinge(), 1.0, 0.0),
    5: (SquaredHinge(), 0.5, 1.0),
    6: (Logistic(), 1.0, 1.0),
    7: (Logistic(), 1.0, 0.0),
    11: (SquaredEpsilonInsensitive(), 0.5, 0.0),
    12: (SquaredEpsilonInsensitive(), 0.5, 0.0),
    13: (EpsilonInsensitive(), 1.0, 0.0),
}


def _liblinear(model: Any, data: Data) -> Reading:
    kind = int(model.param.solver_type)
    if kind not in LIBLINEAR:
        raise TypeError(f"model must have a solver type of {', '.join(map(str, LIBLINEAR))}, got {kind}")
    loss, factor, ratio = LIBLINEAR[kind]
    if kind >= 11:
        loss = type(loss)(float(model.param.p))
    biased = model.bias >= 0.0
    labels = np.array(model.get_labels()) if kind < 11 else None
    k = int(model.nr_class) if labels is not None and (model.nr_class > 2 or kind == 4) else 1
    stored = np.ctypeslib.as_array(model.w, ((int(model.nr_feature) + biased) * k,)).reshape(-1, k)
    coef = np.zeros((data.d + biased, k))
    coef[: int(model.nr_feature)] = stored[: int(model.nr_feature)]
    if biased:
        coef[-1] = stored[-1]
    data, classes = _liblinear_weighted(model, data, labels)
    if labels is not None:
        order = np.argsort(labels)
        coef = coef[:, order] if k > 1 else coef * (1.0 if order[0] == 1 else -1.0)
    strength = factor / (float(model.param.C) * data.total)
    penalty: Any = ElasticNet(strength, 0.0) if ratio else L2(strength)
    read = _Coefficients(coef[: data.d].T, coef[-1] * model.bias if biased else np.zeros(k), classes, bool(biased))
    column = float(model.bias) if biased else None
    if labels is None:
        return regressor(read, data, loss, penalty, column=column)
    if kind == 4 and k == 2:
        raise TypeError("liblinear's solver 4 with two classes keeps both vectors; certify its coefficients with loss=dualgap.MaxHinge()")
    return classifier(read, data, loss, penalty, column=column, joint=loss if kind == 4 else None)


def _liblinear_weighted(model: Any, data: Data, labels: Any) -> tuple[Data, Any]:
    """The weights of the classes, and the classes in order."""
    if labels is None:
        return data, None
    weights = {int(model.param.weight_label[i]): float(model.param.weight[i]) for i in range(int(model.param.nr_weight))}
    if not weights:
        return data, np.sort(labels)
    of_row = np.array([weights.get(int(c), 1.0) for c in data.y])
    return data._replace(weight=of_row if data.weight is None else of_row * data.weight), np.sort(labels)


# statsmodels: the constant is a column of X like others, and nothing is penalized unless the caller says so


def _statsmodels(results: Any, data: Data) -> Reading:
    inner = results.model
    name, family = type(inner).__name__, type(getattr(inner, "family", None)).__name__
    weight = data.weight
    if name == "WLS":
        weight = np.asarray(inner.weights, dtype=np.float64)
    if name == "GLM" and getattr(inner, "freq_weights", None) is not None:
        weight = np.asarray(inner.freq_weights, dtype=np.float64)
    data = data._replace(weight=weight)
    params = np.asarray(results.params, dtype=np.float64)
    penalty = Factors(L2(1.0), np.zeros(data.d))
    if name in ("OLS", "WLS") or (name == "GLM" and family == "Gaussian"):
        return regressor(_Coefficients(params, 0.0, fit_intercept=False), data, Squared(), penalty)
    if name == "QuantReg":
        return regressor(_Coefficients(params, 0.0, fit_intercept=False), data, Quantile(float(results.q)), penalty)
    if name == "Logit" or (name == "GLM" and family == "Binomial"):
        return classifier(_Coefficients(params[None], 0.0, np.array([0, 1]), False), data, Logistic(), penalty)
    raise TypeError(f"results must be of OLS, WLS, QuantReg, Logit, or GLM with a Gaussian or Binomial family, got {name} {family}")


READERS: dict[tuple[str, str], Callable[[Any, Data], Reading]] = {
    ("sklearn", "Ridge"): _ridge,
    ("sklearn", "RidgeCV"): _ridge,
    ("sklearn", "RidgeClassifier"): _ridge_classifier,
    ("sklearn", "RidgeClassifierCV"): _ridge_classifier,
    ("sklearn", "Lasso"): _elastic_net,
    ("sklearn", "LassoCV"): _elastic_net,
    ("sklearn", "ElasticNet"): _elastic_net,
    ("sklearn", "ElasticNetCV"): _elastic_net,
    ("sklearn", "LinearRegression"): _linear_regression,
    ("sklearn", "QuantileRegressor"): _quantile,
    ("sklearn", "LinearSVR"): _linear_svr,
    ("sklearn", "LinearSVC"): _linear_svc,
    ("sklearn", "LogisticRegression"): _logistic,
    ("sklearn", "LogisticRegressionCV"): _logistic,
    ("sklearn", "SGDClassifier"): _sgd_classifier,
    ("sklearn", "SGDRegressor"): _sgd_regressor,
    ("sklearn", "SVC"): _svc,
    ("sklearn", "SVR"): _svr,
    ("celer", "Lasso"): _celer,
    ("celer", "ElasticNet"): _celer,
    ("celer", "LogisticRegression"): _celer_logistic,
    ("skglm", "Lasso"): _skglm_net,
    ("skglm", "WeightedLasso"): _skglm_net,
    ("skglm", "ElasticNet"): _skglm_net,
    ("skglm", "SparseLogisticRegression"): _skglm_logistic,
    ("skglm", "GeneralizedLinearEstimator"): _skglm_general,
    ("cyanure", "Classifier"): _cyanure_classifier,
    ("cyanure", "Regression"): _cyanure_regressor,
    ("snapml", "LogisticRegression"): _snapml_logistic,
    ("snapml", "SupportVectorMachine"): _snapml_svm,
    ("snapml", "LinearRegression"): _snapml_regression,
    ("liblinear", "model"): _liblinear,
    **{("statsmodels", name): _statsmodels for name in ("RegressionResults", "RegressionResultsWrapper", "OLSResults", "GLMResults")},
    **{("statsmodels", name): _statsmodels for name in ("GLMResultsWrapper", "LogitResults", "BinaryResults", "BinaryResultsWrapper")},
    **{("statsmodels", name): _statsmodels for name in ("QuantRegResults", "QuantRegResultsWrapper")},
    **{("dualgap", name): _own_regressor for name in ("Ridge", "Lasso", "ElasticNet", "LinearRegressor", "LinearSVR", "QuantileRegressor")},
    **{("dualgap", name): _own_classifier for name in ("LinearClassifier", "LinearSVC", "LogisticRegression", "RidgeClassifier")},
}
