"""Models of cyanure: 1/n sum loss + penalty, with `lambda_1` and `lambda_2` in the penalty.

    square r^2/2, logistic log(1 + exp(-m)), sqhinge max(0, 1 - m)^2/2, multiclass-logistic
    l2 lambda_1/2 |w|^2, l1 lambda_1 |w|_1, elasticnet lambda_1 |w|_1 + lambda_2/2 |w|^2, l1l2 lambda_1 sum_j |w^j| over the classes

Logistic regression of several classes is multinomial unless `multi_class="ovr"`.
"""

from typing import Any

import numpy as np

from dualgap.audit.statement import Data, Statement, dense, net
from dualgap.losses import Logistic, Squared, SquaredHinge
from dualgap.multiclass import Softmax
from dualgap.penalties import GroupL1

LOSSES = {"square": Squared(), "logistic": Logistic(), "sqhinge": SquaredHinge(), "squared_hinge": SquaredHinge()}


def _model(model: Any, data: Data) -> Statement:
    classes: Any = getattr(model, "classes_", None)
    k = 0 if classes is None else len(classes)
    joint = k > 2 and (model.loss == "multiclass-logistic" or (model.loss == "logistic" and model.multi_class != "ovr"))
    loss = Softmax() if joint else LOSSES.get(model.loss)
    penalty = _penalty(model, data.d, k if joint else 1)
    if loss is None or penalty is None:
        raise TypeError(
            f"cyanure's model must have a loss of {', '.join(LOSSES)} and a penalty of l2, l1, elasticnet or none to be certified, "
            f"got {model.loss!r} and {model.penalty!r}"
        )
    coef = dense(model.coef_).reshape(data.d, -1).T
    return Statement(loss, penalty, coef, np.ravel(model.intercept_) if model.fit_intercept else None, classes)


def _penalty(model: Any, d: int, outputs: int) -> Any:
    first, second = float(model.lambda_1), float(model.lambda_2)
    match model.penalty:
        case "l2":
            return net(d, l2=first)
        case "l1":
            return net(d, l1=first)
        case "elasticnet" | "elastic-net":
            return net(d, first, second)
        case "none" | None:
            return net(d)
        case "l1l2" if outputs > 1:  # here a group weighs the square root of its size
            return GroupL1(first / float(np.sqrt(outputs)), 0.0, np.arange(d))
    return None


READERS = dict.fromkeys(("Regression", "Classifier", "LinearSVC", "LogisticRegression", "Lasso", "L1Logistic"), _model)
REFUSED: dict[str, str] = {}
