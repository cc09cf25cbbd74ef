"""The cells of the table: an objective, a data set and a strength of regularization.

Objectives have no intercept, since the libraries disagree about penalizing it. P is evaluated here from the definitions, so that nobody's
own idea of it decides.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import dualgap as dg

from . import data

STRENGTHS = [1.0, 1e-1, 1e-2, 1e-3, 1e-4]
FRACTIONS = [0.1, 0.01]


@dataclass(frozen=True)
class Cell:
    """One problem: mean loss + l1 |w|_1 + l2/2 |w|^2."""

    dataset: str
    objective: str
    strength: float
    X: Any
    y: Any
    loss: Any
    l1: float
    l2: float

    @property
    def penalty(self) -> Any:
        return dg.ElasticNet(self.l1, self.l2) if self.l1 > 0.0 else dg.L2(self.l2)

    @property
    def name(self) -> str:
        unit = "sigma" if self.objective in ("lasso", "elastic net") else "1/n"
        return f"{self.dataset} | {self.objective} | {self.strength:g} {unit}"

    def primal(self, w: Any) -> float:
        """P(w), for w of d numbers or of d x k."""
        w = np.asarray(w, dtype=np.float64)
        z = self.X @ w
        return float(np.mean(LOSSES[type(self.loss)](z, self.y))) + self.l1 * float(np.abs(w).sum()) + 0.5 * self.l2 * float(np.sum(w * w))

    def start(self) -> Any:
        """Coefficients of zero."""
        return np.zeros((self.X.shape[1], int(self.y.max()) + 1) if self.objective in VECTOR else self.X.shape[1])

    @property
    def null(self) -> float:
        return self.primal(self.start())


def _softmax(z: Any, y: Any) -> Any:
    top = z.max(axis=1)
    return np.log(np.exp(z - top[:, None]).sum(axis=1)) + top - z[np.arange(len(y)), y]


def _max_hinge(z: Any, y: Any) -> Any:
    own = z[np.arange(len(y)), y]
    others = z - own[:, None] + 1.0
    others[np.arange(len(y)), y] = 0.0
    return others.max(axis=1)


LOSSES: dict[type, Any] = {
    dg.Squared: lambda z, y: 0.5 * (z - y) ** 2,
    dg.Logistic: lambda z, y: np.logaddexp(0.0, -y * z),
    dg.Hinge: lambda z, y: np.maximum(0.0, 1.0 - y * z),
    dg.SquaredHinge: lambda z, y: 0.5 * np.maximum(0.0, 1.0 - y * z) ** 2,
    dg.Softmax: _softmax,
    dg.MaxHinge: _max_hinge,
}
CLASSIFIERS = {"logistic": dg.Logistic(), "logistic l1+l2": dg.Logistic(), "hinge": dg.Hinge(), "squared hinge": dg.SquaredHinge()}
VECTOR = {"softmax": dg.Softmax(), "crammer-singer": dg.MaxHinge()}
OBJECTIVES = [*CLASSIFIERS, "ridge", "lasso", "elastic net", *VECTOR]


def cells(objectives: list[str], datasets: list[str], strengths: list[float]) -> Iterator[Cell]:
    """All cells of some objectives, data sets and strengths (of lambda n; the lasso goes by fractions of sigma_max)."""
    for dataset in datasets:
        for objective in objectives:
            yield from _cells_of(objective, dataset, strengths)
        data.forget()


def _cells_of(objective: str, dataset: str, strengths: list[float]) -> Iterator[Cell]:
    if objective in CLASSIFIERS and dataset in data.BINARY:
        X, y = data.two_classes(dataset)
        for strength in strengths:
            lam = strength / X.shape[0]
            yield Cell(dataset, objective, strength, X, y, CLASSIFIERS[objective], lam if objective == "logistic l1+l2" else 0.0, lam)
    elif objective in VECTOR and dataset in data.MULTICLASS:
        X, y = data.classes(dataset)
        for strength in strengths:
            yield Cell(dataset, objective, strength, X, y, VECTOR[objective], 0.0, strength / X.shape[0])
    elif objective == "ridge" and dataset in data.names():
        X, y = data.regression(dataset)
        for strength in strengths:
            yield Cell(dataset, objective, strength, X, y, dg.Squared(), 0.0, strength / X.shape[0])
    elif objective in ("lasso", "elastic net") and dataset in data.names():
        X, y = data.regression(dataset)
        largest = float(np.max(np.abs(X.T @ y))) / X.shape[0]
        for fraction in FRACTIONS:
            l1 = fraction * largest
            yield Cell(dataset, objective, fraction, X, y, dg.Squared(), l1, l1 if objective == "elastic net" else 0.0)


def size() -> int:
    """How many cells there are."""
    scalar = len(data.BINARY) * len(CLASSIFIERS) + len(data.names()) + len(data.MULTICLASS) * len(VECTOR)
    return len(STRENGTHS) * scalar + 2 * len(FRACTIONS) * len(data.names())
