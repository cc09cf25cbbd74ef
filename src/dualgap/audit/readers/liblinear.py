"""Models of liblinear's own interface, by solver type, with m = y w'x.

    0, 7      C sum log(1 + exp(-m)) + |w|^2/2          6   the same + |w|_1
    1, 2      C sum max(0, 1 - m)^2 + |w|^2/2           5   the same + |w|_1
    3         C sum max(0, 1 - m) + |w|^2/2             4   Crammer and Singer's, all classes at once
    11, 12    C sum max(0, |r| - p)^2 + |w|^2/2         13  C sum max(0, |r| - p) + |w|^2/2

`-B` adds a column of that value, whose coefficient is penalized unless `-R` says otherwise. A model that was read from a file has lost its
C, and one with weights of classes does not keep these.
"""

from typing import Any

import numpy as np

from dualgap.audit.statement import Data, Statement, net
from dualgap.losses import EpsilonInsensitive, Hinge, Logistic, SquaredEpsilonInsensitive, SquaredHinge
from dualgap.multiclass import MaxHinge

CRAMMER_SINGER = 4
# The loss, what it is multiplied by, and whether the penalty is |w|_1.
CLASSIFICATION: dict[int, tuple[Any, float, bool]] = {
    **dict.fromkeys((0, 7), (Logistic(), 1.0, False)),
    **dict.fromkeys((1, 2), (SquaredHinge(), 2.0, False)),
    3: (Hinge(), 1.0, False),
    CRAMMER_SINGER: (MaxHinge(), 1.0, False),
    5: (SquaredHinge(), 2.0, True),
    6: (Logistic(), 1.0, True),
}
REGRESSION: dict[int, tuple[Any, float]] = {**dict.fromkeys((11, 12), (SquaredEpsilonInsensitive, 2.0)), 13: (EpsilonInsensitive, 1.0)}


def _model(model: Any, data: Data) -> Statement:
    kind, C = int(model.param.solver_type), float(model.param.C)
    if kind not in CLASSIFICATION and kind not in REGRESSION:
        raise TypeError(f"liblinear's model must be of a solver type of 0 .. 7 or 11 .. 13 to be certified, got {kind}")
    if not C > 0.0:
        raise ValueError("liblinear's files do not keep C: give the coefficients with loss and penalty")
    if model.param.nr_weight > 0:
        raise ValueError(
            "liblinear's models keep no copy of the weights of classes (-w): give the coefficients with loss, penalty and weights"
        )
    biased = model.bias >= 0.0
    columns = int(model.nr_class) if kind in CLASSIFICATION and (model.nr_class > 2 or kind == CRAMMER_SINGER) else 1
    d = int(model.nr_feature)
    stored = np.ctypeslib.as_array(model.w, ((d + biased) * columns,)).reshape(-1, columns).T
    coef = np.zeros((columns, data.d))
    coef[:, : min(d, data.d)] = stored[:, : min(d, data.d)]
    intercept = stored[:, -1] * float(model.bias) if biased else None
    column = float(model.bias) if biased and model.param.regularize_bias else None
    if kind in REGRESSION:
        loss, factor = REGRESSION[kind]
        return Statement(loss(float(model.param.p)), net(data.d, l2=1.0), coef, intercept, None, factor * C, column)
    loss, factor, l1 = CLASSIFICATION[kind]
    labels = np.array(model.get_labels())
    order = np.argsort(labels)
    if columns > 1:
        coef, intercept = coef[order], None if intercept is None else intercept[order]
    elif order[0] == 0:  # the first label is the positive one
        coef, intercept = -coef, None if intercept is None else -intercept
    penalty = net(data.d, l1=1.0) if l1 else net(data.d, l2=1.0)
    return Statement(loss, penalty, coef, intercept, labels[order], factor * C, column)


READERS = {"model": _model}
REFUSED: dict[str, str] = {}
