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
    SquaredHinge,
)
from dualgap.multiclass import MaxHinge, SmoothMaxHinge, Softmax, SoftMaxHinge
from dualgap.penalties import L1, L2, Box, ElasticNet, Entropy, Factors, GroupL1, NonNegative, QNorm
from dualgap.solution import History, Record, Solution, Status
from dualgap.solve import solve

if TYPE_CHECKING:
    from dualgap.check import check_loss, check_penalty
    from dualgap.solvers import FISTA, AcceleratedProxSDCA, AdaptiveProxSDCA, Auto, GramNewton, ProxSDCA, Race, Relay, RowSpace, WorkingSet

__version__ = "0.1.0"

# What needs numba is imported when it is first asked for.
_LATER = {
    "AcceleratedProxSDCA": "dualgap.solvers",
    "AdaptiveProxSDCA": "dualgap.solvers",
    "Auto": "dualgap.solvers",
    "FISTA": "dualgap.solvers",
    "GramNewton": "dualgap.solvers",
    "ProxSDCA": "dualgap.solvers",
    "Race": "dualgap.solvers",
    "Relay": "dualgap.solvers",
    "RowSpace": "dualgap.solvers",
    "WorkingSet": "dualgap.solvers",
    "check_loss": "dualgap.check",
    "check_penalty": "dualgap.check",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'dualgap' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_LATER])


__all__ = [
    "FISTA",
    "L1",
    "L2",
    "Absolute",
    "AcceleratedProxSDCA",
    "AdaptiveProxSDCA",
    "Auto",
    "Box",
    "ElasticNet",
    "Entropy",
    "EpsilonInsensitive",
    "Factors",
    "GramNewton",
    "GroupL1",
    "Hinge",
    "History",
    "Huber",
    "Logistic",
    "MaxHinge",
    "NonNegative",
    "ProxSDCA",
    "QNorm",
    "Quantile",
    "Race",
    "Record",
    "Relay",
    "RowSpace",
    "SmoothHinge",
    "SmoothMaxHinge",
    "Smoothed",
    "SoftMaxHinge",
    "Softmax",
    "Solution",
    "Squared",
    "SquaredHinge",
    "Status",
    "WorkingSet",
    "check_loss",
    "check_penalty",
    "solve",
    "theory",
]
