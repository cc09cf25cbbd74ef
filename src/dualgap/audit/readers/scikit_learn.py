"""Models of scikit-learn, with r = y - x'w - b, m = y (x'w + b) for y = -1 or +1, and weights s times those of the classes.

    LinearRegression            sum s r^2
    Ridge, RidgeClassifier      sum s r^2 + alpha |w|^2, on -1 and +1 for the classifier
    Lasso, ElasticNet           1/(2 sum s) sum s r^2 + alpha (l1_ratio |w|_1 + (1 - l1_ratio)/2 |w|^2)
    QuantileRegressor           1/sum s sum s pinball(r) + alpha |w|_1
    HuberRegressor              sum s (sigma + H(r/sigma) sigma) + alpha |w|^2, over sigma as well
    LogisticRegression          C sum s log(1 + exp(-m)), or multinomial, + l1_ratio |w|_1 + (1 - l1_ratio)/2 |w|^2
    LinearSVC, LinearSVR        C sum s loss + |w|^2/2, or |w|_1, the squared losses without a factor 1/2
    SVC, SVR with linear kernel C sum s loss + |w|^2/2
    SGDClassifier, SGDRegressor 1/n sum s loss + alpha (l1_ratio |w|_1 + (1 - l1_ratio)/2 |w|^2), only squared_error with a factor 1/2

LinearSVC, LinearSVR and LogisticRegression(solver="liblinear") penalize the intercept, as the coefficient of a column of
`intercept_scaling`. liblinear weights, of each class against the rest, the rows of the class by `class_weight` and the others not at all.
"""

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.class_weight import compute_class_weight

from dualgap.audit.huber import JointHuber
from dualgap.audit.statement import Data, Statement, mixed, net, places
from dualgap.losses import (
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    Quantile,
    SmoothHinge,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from dualgap.multiclass import MaxHinge, Softmax

Array = npt.NDArray[np.float64]
# Since when "balanced" counts the weights of the rows, where it does at all, the function takes them.
COUNTS_WEIGHTS = "sample_weight" in inspect.signature(compute_class_weight).parameters


def _fitted(model: Any) -> Any:
    """The intercept, None if none was fitted."""
    return model.intercept_ if getattr(model, "fit_intercept", True) else None


def _chosen(model: Any, name: str) -> Any:
    """A parameter, or what a search along a path has made of it."""
    return getattr(model, f"{name}_", getattr(model, name, None))


def _of_class(model: Any, data: Data, *, counts_weights: bool = False) -> Array | None:
    """The weight of each class, None if there are none."""
    if model.class_weight is None:
        return None
    known = {"sample_weight": data.weight} if counts_weights and COUNTS_WEIGHTS else {}
    return np.asarray(compute_class_weight(model.class_weight, classes=model.classes_, y=data.y, **known), dtype=np.float64)


def _class_weighted(model: Any, data: Data, **how: Any) -> Data:
    """The data with the weights of the classes in those of the rows."""
    labels, of_class = places(data.y, model.classes_), _of_class(model, data, **how)
    return data if of_class is None else data.weighted(of_class[labels])


def _liblinear_weights(model: Any, data: Data, joint: bool) -> Any:
    """The weights of the rows in each problem of liblinear."""
    k, of_class = len(model.classes_), _of_class(model, data, counts_weights=True)
    if of_class is None:
        return data.weight
    labels = places(data.y, model.classes_)
    if joint or k == 2:
        return data.weighted(of_class[labels]).weight
    return [data.weighted(np.where(labels == c, of_class[c], 1.0)).weight for c in range(k)]


def _linear_regression(model: Any, data: Data) -> Statement:
    return Statement(Squared(), net(data.d, positive=model.positive), model.coef_, _fitted(model), per_row=2.0)


def _ridge(model: Any, data: Data) -> Statement:
    alphas = np.ravel(_chosen(model, "alpha")).astype(np.float64)
    targets = 1 if data.y.ndim == 1 else data.y.shape[1]
    positive = getattr(model, "positive", False)
    penalties = [net(data.d, l2=2.0 * float(a), positive=positive) for a in np.broadcast_to(alphas, (targets,))]
    return Statement(Squared(), penalties, model.coef_, _fitted(model), per_row=2.0)


def _ridge_classifier(model: Any, data: Data) -> Statement:
    weight = _class_weighted(model, data).weight
    penalty = net(data.d, l2=2.0 * float(_chosen(model, "alpha")), positive=getattr(model, "positive", False))
    return Statement(Squared(), penalty, model.coef_, _fitted(model), model.classes_, 2.0, weight=weight)


def _elastic_net(model: Any, data: Data) -> Statement:
    ratio = _chosen(model, "l1_ratio")
    penalty = mixed(data.d, float(_chosen(model, "alpha")), 1.0 if ratio is None else float(ratio), positive=model.positive)
    return Statement(Squared(), penalty, model.coef_, _fitted(model))


def _quantile(model: Any, data: Data) -> Statement:
    return Statement(Quantile(float(model.quantile)), net(data.d, l1=float(model.alpha)), model.coef_, _fitted(model))


def _huber(model: Any, data: Data) -> JointHuber:  # noqa: ARG001
    return JointHuber(float(model.epsilon), float(model.alpha), model.coef_, _fitted(model), float(model.scale_))


def _svm_of_regression(model: Any, data: Data, column: float | None) -> Statement:
    squared = getattr(model, "loss", "") == "squared_epsilon_insensitive"
    loss: Any = SquaredEpsilonInsensitive(float(model.epsilon)) if squared else EpsilonInsensitive(float(model.epsilon))
    rate = (2.0 if squared else 1.0) * float(model.C)
    return Statement(loss, net(data.d, l2=1.0), model.coef_, _fitted(model), per_row=rate, column=column)


def _linear_svr(model: Any, data: Data) -> Statement:
    return _svm_of_regression(model, data, float(model.intercept_scaling))


def _svr(model: Any, data: Data) -> Statement:
    _linear_kernel(model)
    return _svm_of_regression(model, data, None)


def _linear_kernel(model: Any) -> None:
    if model.kernel != "linear":
        raise TypeError(f"{type(model).__name__} must have a linear kernel to be certified, got kernel={model.kernel!r}")


def _svc(model: Any, data: Data) -> Statement:
    _linear_kernel(model)
    if len(model.classes_) != 2:
        raise TypeError(f"SVC must have two classes to be certified, since each pair has a problem of its own, got {len(model.classes_)}")
    weight = data.weighted(model.class_weight_[places(data.y, model.classes_)]).weight
    return Statement(Hinge(), net(data.d, l2=1.0), model.coef_, model.intercept_, model.classes_, float(model.C), weight=weight)


def _linear_svc(model: Any, data: Data) -> Statement:
    joint = model.multi_class == "crammer_singer"
    squared = model.loss == "squared_hinge" and not joint
    rate, l1 = (2.0 if squared else 1.0) * float(model.C), model.penalty == "l1" and not joint
    loss: Any = SquaredHinge() if squared else Hinge()
    penalty = net(data.d, l1=1.0) if l1 else net(data.d, l2=1.0)
    if joint and len(model.classes_) > 2:
        loss = MaxHinge()
    elif joint:  # of two classes it keeps the difference w, of coefficients -w/2 and w/2
        penalty = net(data.d, l2=0.5)
    weight = _liblinear_weights(model, data, joint)
    column = float(model.intercept_scaling)
    return Statement(loss, penalty, model.coef_, _fitted(model), model.classes_, rate, column, weight)


def _logistic(model: Any, data: Data) -> Statement:
    C = _one_of(model, "C")
    named: dict[Any, float] = {"l1": 1.0, "l2": 0.0, None: 0.0}
    ratio = named.get(model.penalty, _one_of(model, "l1_ratio"))
    free = model.penalty is None or math.inf == C
    penalty, rate = (net(data.d), 1.0) if free else (mixed(data.d, 1.0, ratio), C)
    k, liblinear, scheme = len(model.classes_), model.solver == "liblinear", getattr(model, "multi_class", "auto")
    if scheme == "multinomial" and k == 2:
        raise TypeError("LogisticRegression(multi_class='multinomial') of two classes cannot be certified: it keeps one of two vectors")
    apart = liblinear or scheme == "ovr"
    if apart and not liblinear and k > 2 and isinstance(model.class_weight, str):
        raise TypeError(
            "LogisticRegression(multi_class='ovr', class_weight='balanced') cannot be certified: each class has its own weights"
        )
    weight = _liblinear_weights(model, data, False) if liblinear else _class_weighted(model, data, counts_weights=True).weight
    column = float(model.intercept_scaling) if liblinear else None
    loss = Logistic() if apart or k == 2 else Softmax()
    return Statement(loss, penalty, model.coef_, _fitted(model), model.classes_, rate, column, weight)


def _one_of(model: Any, name: str) -> float:
    """A parameter, or the value of it that a search has chosen for all classes."""
    chosen = np.unique(np.asarray(_chosen(model, name), dtype=np.float64))
    if chosen.size > 1:
        raise TypeError(f"{type(model).__name__} cannot be certified with one {name} for each class, got {chosen.tolist()}")
    return 0.0 if np.isnan(chosen[0]) else float(chosen[0])


SGD: dict[str, Callable[[Any], tuple[Any, float]]] = {
    # the loss, and what it is multiplied by
    "hinge": lambda model: (Hinge(), 1.0),
    "log_loss": lambda model: (Logistic(), 1.0),
    "squared_hinge": lambda model: (SquaredHinge(), 2.0),
    "modified_huber": lambda model: (SmoothHinge(2.0), 4.0),
    "squared_error": lambda model: (Squared(), 1.0),
    "huber": lambda model: (Huber(float(model.epsilon)), 1.0),
    "epsilon_insensitive": lambda model: (EpsilonInsensitive(float(model.epsilon)), 1.0),
    "squared_epsilon_insensitive": lambda model: (SquaredEpsilonInsensitive(float(model.epsilon)), 2.0),
}


def _sgd(model: Any, data: Data, classes: Any) -> Statement:
    name = type(model).__name__
    if model.loss not in SGD or str(model.learning_rate).startswith("pa"):
        raise TypeError(
            f"{name} cannot be certified with loss={model.loss!r} and learning_rate={model.learning_rate!r}: there is no objective"
        )
    if model.early_stopping:
        raise TypeError(f"{name} cannot be certified with early_stopping: rows that are not known are left out")
    loss, factor = SGD[model.loss](model)
    ratio = {"l1": 1.0, "elasticnet": model.l1_ratio}.get(model.penalty, 0.0)
    penalty = net(data.d) if model.penalty is None else mixed(data.d, float(model.alpha), float(ratio))
    return Statement(loss, penalty, model.coef_, _fitted(model), classes, factor / data.n, weight=data.weight)


def _sgd_classifier(model: Any, data: Data) -> Statement:
    return _sgd(model, _class_weighted(model, data), model.classes_)


def _sgd_regressor(model: Any, data: Data) -> Statement:
    return _sgd(model, data, None)


READERS = {
    "LinearRegression": _linear_regression,
    "Ridge": _ridge,
    "RidgeCV": _ridge,
    "RidgeClassifier": _ridge_classifier,
    "RidgeClassifierCV": _ridge_classifier,
    "Lasso": _elastic_net,
    "LassoCV": _elastic_net,
    "LassoLars": _elastic_net,
    "LassoLarsCV": _elastic_net,
    "LassoLarsIC": _elastic_net,
    "ElasticNet": _elastic_net,
    "ElasticNetCV": _elastic_net,
    "QuantileRegressor": _quantile,
    "HuberRegressor": _huber,
    "LogisticRegression": _logistic,
    "LogisticRegressionCV": _logistic,
    "LinearSVC": _linear_svc,
    "LinearSVR": _linear_svr,
    "SVC": _svc,
    "SVR": _svr,
    "SGDClassifier": _sgd_classifier,
    "SGDRegressor": _sgd_regressor,
}

NO_LOSS = "its loss is none of this library's"
TOGETHER = "its penalty ties the targets together"
NO_OBJECTIVE = "it does not minimize a convex objective in the coefficients alone"
REFUSED = (
    dict.fromkeys(("PoissonRegressor", "GammaRegressor", "TweedieRegressor"), NO_LOSS)
    | dict.fromkeys(("MultiTaskLasso", "MultiTaskLassoCV", "MultiTaskElasticNet", "MultiTaskElasticNetCV"), TOGETHER)
    | dict.fromkeys(("Perceptron", "PassiveAggressiveClassifier", "PassiveAggressiveRegressor", "SGDOneClassSVM"), NO_OBJECTIVE)
    | dict.fromkeys(("Lars", "LarsCV", "OrthogonalMatchingPursuit", "OrthogonalMatchingPursuitCV"), NO_OBJECTIVE)
    | dict.fromkeys(("BayesianRidge", "ARDRegression", "TheilSenRegressor", "RANSACRegressor", "NuSVC", "NuSVR"), NO_OBJECTIVE)
    | dict.fromkeys(("LinearDiscriminantAnalysis", "TransformedTargetRegressor", "CalibratedClassifierCV"), NO_OBJECTIVE)
    | dict.fromkeys(
        ("OneVsRestClassifier", "OneVsOneClassifier", "MultiOutputRegressor", "MultiOutputClassifier"), "certify its estimators_"
    )
)
