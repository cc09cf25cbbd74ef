"""Models of this library: `Model`, of a file, and the estimators, whose dual variables are not asked for."""

from typing import Any

import numpy as np

from dualgap.audit.statement import Data, Statement, places


def _saved(model: Any, data: Data) -> Statement:  # noqa: ARG001
    if model.loss is None or model.penalty is None:
        raise ValueError("loss and penalty must be given: the model was fitted with own ones, which are not in its file")
    if model.labels is None and getattr(model.loss, "vector", False):
        classes: Any = np.arange(model.w.shape[1])
    else:
        signs = np.array([-1.0, 1.0]) if getattr(model.loss, "labels", "real") == "sign" else None
        classes = signs if model.labels is None else np.array(model.labels)
    return Statement(model.loss, model.penalty, model.w.T, model.intercept if model.with_intercept else None, classes)


def _estimator(model: Any, data: Data) -> Statement:
    """What an estimator has solved, with the strength that it has chosen if it is one that does."""
    solved = model._solutions
    classes = getattr(model, "classes_", None)
    weight = None if classes is None else model._class_weighted(places(data.y, classes), data.weight)
    coef = np.concatenate([np.atleast_2d(s.w.T) for s in solved])
    intercept = np.concatenate([np.ravel(s.intercept) for s in solved]) if model.fit_intercept else None
    return Statement(solved[0].loss, [s.penalty for s in solved], coef, intercept, classes, weight=weight)


def _huber(model: Any, data: Data) -> Any:
    from dualgap.audit.readers.scikit_learn import READERS

    if model.factors is not None:
        raise TypeError("HuberRegressor with factors cannot be certified again: its own certificate is duality_gap_")
    return READERS["HuberRegressor"](model, data)


ESTIMATORS = (
    *("Ridge", "Lasso", "ElasticNet", "QuantileRegressor", "LinearSVR", "LinearRegressor"),
    *("RidgeCV", "LassoCV", "ElasticNetCV", "LinearRegressorCV"),
    *("LogisticRegression", "LinearSVC", "RidgeClassifier", "LinearClassifier"),
    *("LogisticRegressionCV", "RidgeClassifierCV", "LinearClassifierCV"),
)
READERS = {**dict.fromkeys(ESTIMATORS, _estimator), "Model": _saved, "HuberRegressor": _huber}
REFUSED = {"Solution": "it has its certificate; give (s.w, s.intercept) with loss and penalty to certify it on other data"}
