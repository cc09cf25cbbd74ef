"""The quadratic model of an objective over a working set, minimized by coordinate descent on a copy of its columns.

    minimize over v    -p0'X (v - w) + 1/2 (v - w)'X'diag(s phi''/S)X (v - w) + R(v),        p0 = -s phi'/S

The state is v and p = p0 - diag(s phi''/S) X (v - w), so that a coordinate costs the entries of its column, however many columns there are:
what large working sets want where rows are few. Most sweeps leave out the coefficients that are
zero. After some, the combination of five iterates that should be a fixed point (Anderson) is tried.
"""

import numpy as np
import numpy.typing as npt

from dualgap.kernels.coordinates import combine, count, descend_columns, gather, weighted_norms
from dualgap.kernels.gram import curvatures, go
from dualgap.problem import Problem, with_free
from dualgap.rows import Csr, Dense, as_rows, frozen

Array = npt.NDArray[np.float64]
Columns = npt.NDArray[np.int64]
MEMORY, MOST_ROUNDS, SHORT = 5, 400, 20_000


def gathered(problem: Problem, columns: Columns) -> Csr | Dense:
    """A copy of some columns, as the rows of the transposed."""
    if isinstance(problem.X, np.ndarray):
        return as_rows(np.ascontiguousarray(problem.X[:, columns].T))
    position = np.full(problem.d, -1, dtype=np.int32)
    position[columns] = np.arange(len(columns), dtype=np.int32)
    indptr = np.zeros(len(columns) + 1, dtype=np.int64)
    count(problem.rows, position, indptr[1:])
    np.cumsum(indptr, out=indptr)
    numbers, values = np.empty(indptr[-1], dtype=np.uint32), np.empty(indptr[-1], dtype=problem.X.dtype)
    gather(problem.rows, position, indptr[:-1].copy(), numbers, values)
    return Csr(frozen(indptr, np.uint64), frozen(numbers), frozen(values))


class ColumnModel:
    """The model around w; vectors of coefficients are those of the chosen columns, with the intercept last."""

    def __init__(self, problem: Problem, columns: Columns, z: Array, w: Array) -> None:
        self.names, self.w, self.free = columns, w, problem.intercept
        self.penalty = with_free(problem.penalty, 0.0)
        self.columns = gathered(problem, columns)
        self.weights = np.empty(problem.n)
        curvatures(problem.loss, z, problem.y, problem.share, self.weights)
        self.p = np.empty(problem.n)
        problem.dual_points_at(z, slice(0, problem.n), self.p)
        self.p *= problem.share
        self.curvature = np.empty(len(w))
        weighted_norms(self.columns, self.weights, self.curvature)
        self.sweeps = 0.0
        # where a sweep is short, more of them before the next extrapolation, which takes as long as some thousand entries
        entries = self.columns.values.size if isinstance(self.columns, Dense) else len(self.columns.data)
        self.inner = int(min(max(SHORT // max(entries, 1), 1), 8))

    def minimizer(self, enough: float, rough: float = 0.0) -> Array:
        """The minimizer, up to about a gap of `enough`, or to coordinates that are worth moving less than `rough`.

        What a coordinate is worth moving is measured in the root of what that gains, by which its gradient is off: times the size of the
        coefficients in the same units, that is a part of the gap.
        """
        v, roots = self.w.copy(), np.sqrt(self.curvature)
        path = np.empty((MEMORY + 1, len(v)))
        path[0] = v
        for _ in range(MOST_ROUNDS):
            left = descend_columns(
                *(self.columns, self.names, self.penalty, self.weights, self.curvature, self.free), v, self.p, self.inner, path[1:]
            )
            self.sweeps += MEMORY * (1.0 + 0.5 * self.inner)
            if left <= rough or left * float(roots @ np.abs(v)) <= enough:
                break
            self._extrapolate(v, path)
            path[0] = v
        return v

    def _extrapolate(self, v: Array, path: Array) -> None:
        """Move v to the combination of the path that is closest to a fixed point, if that lowers the model."""
        steps = np.diff(path, axis=0)
        products = steps @ steps.T
        try:
            weights = np.linalg.solve(products + 1e-14 * np.trace(products) * np.eye(MEMORY), np.ones(MEMORY))
        except np.linalg.LinAlgError:
            return
        move = weights @ path[1:] / weights.sum() - v
        if not np.all(np.isfinite(move)):
            return
        new, along = np.empty_like(v), np.empty(len(self.p))
        penalty = go(self.penalty, self.names, v, move, 0.0, new)
        gain = penalty - go(self.penalty, self.names, v, move, 1.0, new)
        np.subtract(new, v, out=move)
        combine(self.columns, move, along)
        change = self.weights * along
        if gain + float(self.p @ along) - 0.5 * float(change @ along) > 0.0:
            v[:] = new
            self.p -= change
