"""The columns that a penalty with kinks lets through, and the problem that they make up by themselves."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dualgap import formulas
from dualgap.kernels import gap
from dualgap.kernels.epoch import Prox
from dualgap.penalties import Box, ElasticNet, Factors, GroupL1
from dualgap.problem import Problem
from dualgap.rows import as_rows, frozen
from dualgap.solution import Solution

Array = npt.NDArray[np.float64]
Chosen = npt.NDArray[np.bool_]
# More columns than this part of all are not worth a copy.
MOST, LEAST = 0.4, 32


def largest_useful(penalty: Any, slope: Array) -> float:
    """The least strength at which no penalized coefficient leaves 0 with this X'(s alpha)/S, d x k; infinite if there is none."""
    if isinstance(penalty, Box):
        lower, upper = np.asarray(penalty.lower)[:, None], np.asarray(penalty.upper)[:, None]
        if np.any(lower > 0.0) or np.any(upper < 0.0):
            return math.inf
        return largest_useful(
            penalty.penalty, np.where(lower == 0.0, np.maximum(slope, 0.0), np.where(upper == 0.0, np.minimum(slope, 0.0), slope))
        )
    inner = penalty.penalty if isinstance(penalty, Factors) else penalty
    if not isinstance(inner, ElasticNet | GroupL1) or inner.l1 == 0.0:
        return math.inf
    return float(penalty.polar(slope))


def wanted(problem: Problem, slope: Array) -> Array:
    """How far the coefficients of each column would be from 0 if X'(s alpha)/S is this, on the scale of its gradient."""
    penalty = problem.penalty.prepared(slope[: problem.d], 1.0) if formulas.penalty_is_coupled(problem.penalty) else problem.penalty
    w = problem.weights(Prox(penalty, 1.0, 1.0, 0.0), slope)[: problem.d]
    return np.asarray(np.max(np.abs(w.reshape(problem.d, -1)), axis=1))


class WorkingColumns:
    """Columns of a problem that grow in number, with a copy of what is in them."""

    def __init__(self, problem: Problem) -> None:
        self.whole = problem
        self.admitted = np.zeros(problem.d, dtype=np.bool_)
        self.indices = np.empty(0, dtype=np.intp)
        self._small: Problem | None = None

    @property
    def share(self) -> float:
        """The part of the entries that lies in the columns."""
        return _entries(self._small.X) / max(_entries(self.whole.X), 1) if self._small is not None else 0.0

    def admit(self, problem: Problem, slope: Array, margin: float, used: Chosen) -> bool:
        """Take in columns that are wanted or used; False if they would be too many to be worth it.

        Those count that would be wanted if X'(s alpha)/S grew by the margin, or by less if these are many more than there are already, and
        in the end the first of them.
        """
        most = max(LEAST, int(np.count_nonzero(used)))
        wants: Array = wanted(problem, margin * slope)
        while margin > 1.0 + 1e-3 and np.count_nonzero(wants[~self.admitted]) > most:
            margin = math.sqrt(margin)
            wants = wanted(problem, margin * slope)
        wants[self.admitted] = 0.0
        if np.count_nonzero(wants) > most:
            wants[wants < np.partition(wants, -most)[-most]] = 0.0
        new = (wants > 0.0) | (used & ~self.admitted)
        if "groups" in problem.penalty._fields:
            new = np.isin(problem.penalty.groups, np.asarray(problem.penalty.groups)[new])
        if not np.any(self.admitted | new):
            new[0] = True
        return self._take(self.admitted | new)

    def _take(self, chosen: Chosen) -> bool:
        if np.count_nonzero(chosen) > MOST * self.whole.d:
            return False
        if self._small is None or np.any(chosen & ~self.admitted):
            self.admitted, self.indices = chosen, np.flatnonzero(chosen)
            X = self.whole.X[:, self.indices]
            X = np.ascontiguousarray(X) if isinstance(X, np.ndarray) else X.tocsr()
            rows, norms2 = as_rows(X), np.empty(self.whole.n)
            gap.row_norms(rows, len(self.indices), norms2)
            self._small = replace(self.whole, X=X, rows=rows, norms2=frozen(norms2), penalty=None)
        return True

    def restricted(self, problem: Problem) -> Problem:
        """A problem of the same rows with the working columns alone."""
        assert self._small is not None
        return replace(self._small, penalty=part_of_penalty(problem.penalty, self.indices))

    def part(self, solution: Solution | None) -> Solution | None:
        """What of a solution on all columns is on these."""
        return None if solution is None else replace(solution, w=np.ascontiguousarray(solution.w[self.indices]))


def _entries(X: Any) -> int:
    return int(getattr(X, "nnz", X.shape[0] * X.shape[1]))


def part_of_penalty(penalty: Any, columns: npt.NDArray[np.intp]) -> Any:
    """A penalty on some of the columns alone; groups have to be whole."""
    changes: dict[str, Any] = {
        name: frozen(np.ascontiguousarray(np.asarray(getattr(penalty, name))[columns]))
        for name in ("factors", "lower", "upper")
        if name in penalty._fields
    }
    if "groups" in penalty._fields:
        changes["groups"] = frozen(np.unique(np.asarray(penalty.groups)[columns], return_inverse=True)[1].astype(np.int64))
    if "penalty" in penalty._fields:
        changes["penalty"] = part_of_penalty(penalty.penalty, columns)
    return penalty._replace(**changes)
