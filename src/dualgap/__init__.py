"""dualgap: regularized linear models, each fit with a proof of its accuracy.

>>> import dualgap as dg
>>> s = dg.solve([[1.0], [2.0], [3.0]], [-1.0, 1.0, 1.0], loss=dg.Logistic(), penalty=dg.L2(0.1))
>>> s.status.name
'CERTIFIED'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dualgap import theory
from dualgap.losses import (
    Absolute,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    Quantile,
    Smoothed,
    SmoothHinge,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from dualgap.multiclass import MaxHinge, SmoothMaxHinge, Softmax, SoftMaxHinge
from dualgap.path import Path, path
from dualgap.penalties import L1, L2, Box, ElasticNet, Entropy, Factors, GroupL1, NonNegative, QNorm
from dualgap.solution import History, Record, Solution, Status
from dualgap.solve import solve

if TYPE_CHECKING:
    from dualgap import estimators
    from dualgap.audit import Certificate, certify
    from dualgap.check import check_loss, check_penalty
    from dualgap.checkpoint import Checkpoint
    from dualgap.data.errors import InputError
    from dualgap.data.store import Store
    from dualgap.data.svmlight import read_svmlight
    from dualgap.estimators import (
        HuberRegressor,
        Lasso,
        LassoCV,
        LinearClassifier,
        LinearClassifierCV,
        LinearRegressor,
        LinearRegressorCV,
        LinearSVC,
        LinearSVR,
        LogisticRegression,
        LogisticRegressionCV,
        QuantileRegressor,
        Ridge,
        RidgeClassifier,
        RidgeClassifierCV,
        RidgeCV,
    )
    from dualgap.model import Model
    from dualgap.solvers import (
        FISTA,
        AcceleratedProxSDCA,
        AdaptiveProxSDCA,
        Auto,
        GramNewton,
        JointNewton,
        ProximalPoint,
        ProxSDCA,
        Race,
        Relay,
        RowSpace,
        Shrinking,
        WorkingSet,
    )

__version__ = "0.1.0"

# What needs numba or scikit-learn is imported when it is first asked for. ElasticNet is the penalty here, and the estimator of this name
# in `dualgap.estimators`.
_LATER = {
    "AcceleratedProxSDCA": "dualgap.solvers",
    "AdaptiveProxSDCA": "dualgap.solvers",
    "Certificate": "dualgap.audit",
    "Checkpoint": "dualgap.checkpoint",
    "Model": "dualgap.model",
    "Store": "dualgap.data.store",
    "Auto": "dualgap.solvers",
    "FISTA": "dualgap.solvers",
    "GramNewton": "dualgap.solvers",
    "InputError": "dualgap.data.errors",
    "JointNewton": "dualgap.solvers",
    "ProxSDCA": "dualgap.solvers",
    "ProximalPoint": "dualgap.solvers",
    "Race": "dualgap.solvers",
    "Relay": "dualgap.solvers",
    "RowSpace": "dualgap.solvers",
    "Shrinking": "dualgap.solvers",
    "WorkingSet": "dualgap.solvers",
    "certify": "dualgap.audit",
    "check_loss": "dualgap.check",
    "check_penalty": "dualgap.check",
    "read_svmlight": "dualgap.data.svmlight",
    "HuberRegressor": "dualgap.estimators",
    "Lasso": "dualgap.estimators",
    "LassoCV": "dualgap.estimators",
    "LinearClassifier": "dualgap.estimators",
    "LinearClassifierCV": "dualgap.estimators",
    "LinearRegressor": "dualgap.estimators",
    "LinearRegressorCV": "dualgap.estimators",
    "LinearSVC": "dualgap.estimators",
    "LinearSVR": "dualgap.estimators",
    "LogisticRegression": "dualgap.estimators",
    "LogisticRegressionCV": "dualgap.estimators",
    "QuantileRegressor": "dualgap.estimators",
    "Ridge": "dualgap.estimators",
    "RidgeCV": "dualgap.estimators",
    "RidgeClassifier": "dualgap.estimators",
    "RidgeClassifierCV": "dualgap.estimators",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    if name == "estimators":
        return import_module("dualgap.estimators")
    raise AttributeError(f"module 'dualgap' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_LATER, "estimators"])


__all__ = [
    "FISTA",
    "L1",
    "L2",
    "Absolute",
    "AcceleratedProxSDCA",
    "AdaptiveProxSDCA",
    "Auto",
    "Box",
    "Certificate",
    "Checkpoint",
    "ElasticNet",
    "Entropy",
    "EpsilonInsensitive",
    "Factors",
    "GramNewton",
    "GroupL1",
    "Hinge",
    "History",
    "Huber",
    "HuberRegressor",
    "InputError",
    "JointNewton",
    "Lasso",
    "LassoCV",
    "LinearClassifier",
    "LinearClassifierCV",
    "LinearRegressor",
    "LinearRegressorCV",
    "LinearSVC",
    "LinearSVR",
    "Logistic",
    "LogisticRegression",
    "LogisticRegressionCV",
    "MaxHinge",
    "Model",
    "NonNegative",
    "Path",
    "ProxSDCA",
    "ProximalPoint",
    "QNorm",
    "Quantile",
    "QuantileRegressor",
    "Race",
    "Record",
    "Relay",
    "Ridge",
    "RidgeCV",
    "RidgeClassifier",
    "RidgeClassifierCV",
    "RowSpace",
    "Shrinking",
    "SmoothHinge",
    "SmoothMaxHinge",
    "Smoothed",
    "SoftMaxHinge",
    "Softmax",
    "Solution",
    "Squared",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "Status",
    "Store",
    "WorkingSet",
    "certify",
    "check_loss",
    "check_penalty",
    "estimators",
    "path",
    "read_svmlight",
    "solve",
    "theory",
]
