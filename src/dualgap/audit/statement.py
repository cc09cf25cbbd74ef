"""What a model was to minimize, in the words of its own library, and the problems of this library that this comes to.

    theirs(w, b) = c sum_i s_i phi(x_i'w + b, y_i) + R(w)        is S c times        1/S sum_i s_i phi(x_i'w + b, y_i) + R(w)/(S c)

with S = sum_i s_i, for each class against the rest, or each target; `unit` is S c. An intercept that a library penalizes is the coefficient
of a column of constants, which is added to X.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dualgap.audit.proof import Effort, Proof, prove
from dualgap.data.validation import make_problem
from dualgap.penalties import L2, ElasticNet, Factors, GroupL1, NonNegative, scaled
from dualgap.problem import Problem

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Data:
    """The rows, the targets as the model takes them, and the weights of the rows."""

    X: Any
    y: npt.NDArray[Any]
    weight: Array | None

    @property
    def n(self) -> int:
        return int(self.X.shape[0])

    @property
    def d(self) -> int:
        return int(self.X.shape[1])

    def weighted(self, factor: Array | None) -> Self:
        """The data with weights multiplied by more weights."""
        if factor is None:
            return self
        return replace(self, weight=factor if self.weight is None else factor * self.weight)


@dataclass(frozen=True)
class Statement:
    """An objective as its library writes it, and the coefficients that are said to minimize it.

    Attributes
    ----------
    loss : a loss
        phi. A vector-valued one has all classes in one problem; otherwise there is a problem for each row of `coef`.
    penalty : a penalty or list of penalties
        R, or one for each problem.
    coef : array of k x d
        Coefficients of each class or target.
    intercept : array of k numbers, or None
        Intercepts; None if none was fitted.
    classes : array, or None
        The classes of a classifier.
    per_row : float, or None
        c; None for 1/S.
    column : float, or None
        The constant of the column whose coefficient the intercept is times that constant, None for an intercept that is not penalized.
    weight : array or list of arrays, or None
        The weights of the rows, or those for each problem; None for those of the data.
    """

    loss: Any
    penalty: Any
    coef: Any
    intercept: Any
    classes: npt.NDArray[Any] | None = None
    per_row: float | None = None
    column: float | None = None
    weight: Any = None

    def restated(self, loss: Any, penalty: Any) -> Self:
        """The statement with the loss or the penalty of a caller, which is in the units of `dualgap.solve`."""
        stated = self if penalty is None else replace(self, penalty=penalty, per_row=None)
        return stated if loss is None else replace(stated, loss=loss)

    def claims(self, data: Data) -> list["Claim"]:
        """The problems that the model has solved, with its coefficients."""
        coef = np.atleast_2d(dense(self.coef))
        if coef.shape[1] != data.d or not np.all(np.isfinite(coef)):
            raise ValueError(f"the model must have {data.d} finite coefficients for each class or target, got shape {coef.shape}")
        b = np.broadcast_to(np.ravel(dense(0.0 if self.intercept is None else self.intercept)), (len(coef),))
        X, intercept = data.X, self.intercept is not None
        if intercept and self.column is not None:
            X, intercept = with_column(X, self.column), False
            coef, b = np.column_stack([coef, b / self.column]), np.zeros(len(coef))
        w = np.column_stack([coef, b])
        joint = getattr(self.loss, "vector", False)
        solved = [np.ascontiguousarray(w.T)] if joint else list(w)
        targets = self._targets(data, len(w), joint)
        penalties = self.penalty if isinstance(self.penalty, list) else [self.penalty] * len(solved)
        weight = data.weight if self.weight is None else self.weight
        weights = weight if isinstance(weight, list) else [weight] * len(solved)
        stated = zip(targets, solved, penalties, weights, strict=True)
        return [self._claim(X, y, v, penalty, weight, intercept) for y, v, penalty, weight in stated]

    def _claim(self, X: Any, y: Any, w: Array, penalty: Any, weight: Any, intercept: bool) -> "Claim":
        total = float(len(y)) if weight is None else math.fsum(weight)
        unit = 1.0 if self.per_row is None else self.per_row * total
        problem, _ = make_problem(X, y, self.loss, scaled(penalty, 1.0 / unit), weight, intercept)
        return Claim(problem, w, unit)

    def _targets(self, data: Data, k: int, joint: bool) -> Sequence[npt.NDArray[Any]]:
        """The targets of each problem."""
        if self.classes is None:
            y = np.asarray(data.y, dtype=np.float64).reshape(data.n, -1).T
            if len(y) != k:
                raise ValueError(f"y must have {k} targets for each row of X, as the model has, got {len(y)}")
            return [np.ascontiguousarray(column) for column in y]
        labels = places(data.y, self.classes)
        if joint:
            return [labels]
        return [np.where(labels == c, 1.0, -1.0) for c in ([1] if k == 1 else range(k))]


class Claim(NamedTuple):
    """A problem of this library, the coefficients that are said to solve it (intercept last), and what their objective is a multiple of."""

    problem: Problem
    w: Array
    unit: float

    @property
    def penalty(self) -> Any:
        """The penalty of the problem."""
        return self.problem.penalty

    def prove(self, effort: Effort) -> Proof:
        """What can be proved about the coefficients."""
        return prove(self.problem, self.w, effort)


def places(y: npt.NDArray[Any], classes: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """The positions of targets among the classes of a model, which are sorted."""
    if y.ndim != 1:
        raise ValueError(f"y must have one class for each row of X, got shape {y.shape}")
    unknown = np.setdiff1d(y, classes)
    if unknown.size:
        raise ValueError(f"y must hold classes of the model, {classes.tolist()}, got {unknown[:5].tolist()} as well")
    return np.asarray(np.searchsorted(classes, y))


def dense(a: Any) -> Array:
    """An array of float64, of a sparse matrix too."""
    return np.asarray(a.toarray() if hasattr(a, "toarray") else a, dtype=np.float64)


def with_column(X: Any, value: float) -> Any:
    """X and a column of one value."""
    column = np.full((X.shape[0], 1), value, dtype=X.dtype if X.dtype.type(value) == value else np.float64)
    return np.hstack([X, column]) if isinstance(X, np.ndarray) else sp.hstack([X, sp.csr_array(column)], format="csr")


def net(d: int, l1: float = 0.0, l2: float = 0.0, *, factors: Any = None, positive: bool = False) -> Any:
    """l1 |w|_1 + l2/2 |w|^2 on d coefficients, with a factor for each and a bound at 0."""
    if l1 == 0.0 and l2 == 0.0:
        penalty: Any = Factors(L2(1.0), np.zeros(d))
    else:
        penalty = ElasticNet(l1, l2) if l1 else L2(l2)
        penalty = penalty if factors is None else Factors(penalty, np.asarray(factors, dtype=np.float64))
    return NonNegative(penalty) if positive else penalty


def mixed(d: int, strength: float, ratio: float, **options: Any) -> Any:
    """strength (ratio |w|_1 + (1 - ratio)/2 |w|^2) on d coefficients."""
    return net(d, strength * ratio, strength * (1.0 - ratio), **options)


def group_lasso(d: int, strength: float, groups: Any, weights: Any) -> GroupL1:
    """strength sum_g weights_g |w_g|, for groups as a size, a list of sizes, or a list of lists of columns.

    Here a group weighs the square root of its size, so that other weights are no penalty of this library.
    """
    lists = (
        np.split(np.arange(d), np.cumsum([groups] * (d // groups) if isinstance(groups, int) else groups)[:-1])
        if (isinstance(groups, int) or np.ndim(groups[0]) == 0)
        else groups
    )
    of_column = np.empty(d, dtype=np.int64)
    for g, columns in enumerate(lists):
        of_column[columns] = g
    ratio = (np.ones(len(lists)) if weights is None else np.asarray(weights)) / np.sqrt([len(columns) for columns in lists])
    if np.ptp(ratio) > 1e-12 * np.max(ratio):
        raise TypeError(
            "groups must have weights in proportion to the square roots of their sizes to be certified, as all of one size have"
        )
    return GroupL1(strength * float(ratio[0]), 0.0, of_column)
