"""Models of celer.

Lasso, ElasticNet   1/(2n) sum r^2 + alpha sum_j weights_j (l1_ratio |w_j| + (1 - l1_ratio)/2 w_j^2)
GroupLasso          1/(2n) sum r^2 + alpha sum_g weights_g |w_g|
LogisticRegression  sum log(1 + exp(-m)) + |w|_1/C
"""

from typing import Any

from dualgap.audit.statement import Data, Statement, group_lasso, mixed, net
from dualgap.losses import Logistic, Squared


def _fitted(model: Any) -> Any:
    return model.intercept_ if model.fit_intercept else None


def _net(model: Any, data: Data) -> Statement:
    alpha = float(getattr(model, "alpha_", None) or model.alpha)
    ratio = getattr(model, "l1_ratio_", getattr(model, "l1_ratio", 1.0))
    penalty = mixed(data.d, alpha, float(ratio), factors=getattr(model, "weights", None), positive=bool(model.positive))
    return Statement(Squared(), penalty, model.coef_, _fitted(model))


def _groups(model: Any, data: Data) -> Statement:
    alpha = float(getattr(model, "alpha_", None) or model.alpha)
    penalty = group_lasso(data.d, alpha, model.groups, getattr(model, "weights", None))
    return Statement(Squared(), penalty, model.coef_, _fitted(model))


def _logistic(model: Any, data: Data) -> Statement:
    return Statement(Logistic(), net(data.d, l1=1.0 / float(model.C)), model.coef_, _fitted(model), model.classes_, 1.0)


READERS = (
    dict.fromkeys(("Lasso", "LassoCV", "ElasticNet", "ElasticNetCV"), _net)
    | dict.fromkeys(("GroupLasso", "GroupLassoCV"), _groups)
    | {"LogisticRegression": _logistic}
)
REFUSED = dict.fromkeys(("MultiTaskLasso", "MultiTaskLassoCV"), "its penalty ties the targets together")
