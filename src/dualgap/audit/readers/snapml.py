"""Models of snapml: sum s loss + regularizer/2 |w|^2, or regularizer |w|_1.

    LogisticRegression log(1 + exp(-m)), SupportVectorMachine max(0, 1 - m), or its square, LinearRegression r^2/2

A column of `intercept_scaling` is added to X; `intercept_` is its coefficient, which is one of w. Balanced weights of classes are such that
each class has the weight of the rest.
"""

from typing import Any

import numpy as np

from dualgap.audit.statement import Data, Statement, dense, net, places
from dualgap.losses import Hinge, Logistic, Squared, SquaredHinge


def _read(model: Any, data: Data, loss: Any, classes: Any, factor: float = 1.0) -> Statement:
    off = {"normalize": False, "privacy": False, "kernel": "linear"}
    odd = {name: getattr(model, name) for name, value in off.items() if getattr(model, name, value) != value}
    if odd:
        raise TypeError(
            f"snapml's {type(model).__name__} cannot be certified with {odd}: what it was fitted to is not X, or not an optimum"
        )
    strength, column = float(model.regularizer), float(model.intercept_scaling)
    penalty = net(data.d, l1=strength) if getattr(model, "penalty", "l2") == "l1" else net(data.d, l2=strength)
    coef = dense(model.coef_).reshape(-1, data.d)
    intercept = np.ravel(model.intercept_) * column if model.fit_intercept else None
    weight = _balanced(data, classes) if classes is not None and model.class_weight == "balanced" else None
    return Statement(loss, penalty, coef, intercept, classes, factor, column, weight)


def _balanced(data: Data, classes: Any) -> list[Any]:
    """The weights for each class against the rest, by which both have the same."""
    labels = places(data.y, classes)
    weights = []
    for c in [1] if len(classes) == 2 else range(len(classes)):
        count = np.sum(labels == c)
        weights.append(data.weighted(data.n / (2.0 * np.where(labels == c, count, data.n - count))).weight)
    return weights


def _logistic(model: Any, data: Data) -> Statement:
    return _read(model, data, Logistic(), model.classes_)


def _svm(model: Any, data: Data) -> Statement:
    return _read(model, data, Hinge(), model.classes_) if model.loss == "hinge" else _read(model, data, SquaredHinge(), model.classes_, 2.0)


def _regression(model: Any, data: Data) -> Statement:
    return _read(model, data, Squared(), None)


READERS = {"LogisticRegression": _logistic, "SupportVectorMachine": _svm, "LinearRegression": _regression}
REFUSED: dict[str, str] = {}
