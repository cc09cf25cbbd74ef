"""Models of skglm.

Lasso, WeightedLasso, ElasticNet  1/(2n) sum r^2 + alpha sum_j weights_j (l1_ratio |w_j| + (1 - l1_ratio)/2 w_j^2)
GroupLasso                        1/(2n) sum r^2 + alpha sum_g weights_g |w_g|
SparseLogisticRegression          1/n sum log(1 + exp(-m)) + alpha (l1_ratio |w|_1 + (1 - l1_ratio)/2 |w|^2)
LinearSVC                         C sum max(0, 1 - m) + |w|^2/2, without an intercept
GeneralizedLinearEstimator        its datafit, which is a mean, + its penalty
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from dualgap.audit.statement import Data, Statement, group_lasso, mixed, net
from dualgap.losses import Hinge, Huber, Logistic, Squared
from dualgap.penalties import Box


def _fitted(model: Any) -> Any:
    return model.intercept_ if model.fit_intercept else None


def _net(model: Any, data: Data) -> Statement:
    ratio, weights = float(getattr(model, "l1_ratio", 1.0)), getattr(model, "weights", None)
    penalty = mixed(data.d, float(model.alpha), ratio, factors=weights, positive=bool(model.positive))
    return Statement(Squared(), penalty, model.coef_, _fitted(model))


def _groups(model: Any, data: Data) -> Statement:
    if model.positive:
        raise TypeError("GroupLasso of skglm with positive=True cannot be certified: there is no such penalty here")
    return Statement(Squared(), group_lasso(data.d, float(model.alpha), model.groups, model.weights), model.coef_, _fitted(model))


def _logistic(model: Any, data: Data) -> Statement:
    penalty = mixed(data.d, float(model.alpha), float(model.l1_ratio))
    return Statement(Logistic(), penalty, model.coef_, _fitted(model), model.classes_)


def _linear_svc(model: Any, data: Data) -> Statement:
    return Statement(Hinge(), net(data.d, l2=1.0), model.coef_, None, model.classes_, float(model.C))


DATAFITS: dict[str, Callable[[Any], Any]] = {
    "Quadratic": lambda datafit: Squared(),
    "WeightedQuadratic": lambda datafit: Squared(),
    "Logistic": lambda datafit: Logistic(),
    "Huber": lambda datafit: Huber(float(datafit.delta)),
}
PENALTIES: dict[str, Callable[[Any, int], Any]] = {
    "L1": lambda p, d: net(d, l1=float(p.alpha), positive=bool(p.positive)),
    "L1_plus_L2": lambda p, d: mixed(d, float(p.alpha), float(p.l1_ratio), positive=bool(p.positive)),
    "WeightedL1": lambda p, d: net(d, l1=float(p.alpha), factors=p.weights, positive=bool(p.positive)),
    "L2": lambda p, d: net(d, l2=float(p.alpha)),
    "PositiveConstraint": lambda p, d: net(d, positive=True),
    "IndicatorBox": lambda p, d: Box(net(d), 0.0, float(p.alpha)),
}


def _general(model: Any, data: Data) -> Statement:
    datafit, penalty = type(model.datafit).__name__, type(model.penalty).__name__
    if datafit not in DATAFITS or penalty not in PENALTIES:
        raise TypeError(
            f"skglm's model must have a datafit of {', '.join(DATAFITS)} and a penalty of {', '.join(PENALTIES)} to be certified, "
            f"got {datafit} and {penalty}"
        )
    weight = np.asarray(model.datafit.sample_weights) if datafit == "WeightedQuadratic" else None
    fitted = model.intercept_ if model.solver.fit_intercept else None
    classes = model.classes_ if datafit == "Logistic" else None
    return Statement(
        DATAFITS[datafit](model.datafit), PENALTIES[penalty](model.penalty, data.d), model.coef_, fitted, classes, weight=weight
    )


READERS = (
    dict.fromkeys(("Lasso", "WeightedLasso", "ElasticNet"), _net)
    | dict.fromkeys(("GeneralizedLinearEstimator", "GeneralizedLinearEstimatorCV"), _general)
    | {"GroupLasso": _groups, "SparseLogisticRegression": _logistic, "LinearSVC": _linear_svc}
)
REFUSED = {
    "MCPRegression": "its penalty is not convex",
    "CoxEstimator": "its loss is none of this library's",
    "MultiTaskLasso": "its penalty ties the targets together",
}
