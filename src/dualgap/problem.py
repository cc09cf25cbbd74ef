"""The problem: rows, targets, weights, a loss and a penalty, with the sums that objectives are made of.

    P(w, b) = 1/S sum_i s_i phi_i(x_i'w + b) + R(w),        S = sum_i s_i
    D(alpha) = -1/S sum_i s_i phi_i*(-alpha_i) - R*(X'(s alpha)/S),        and sum_i s_i alpha_i = 0 where an intercept is fitted

Coefficients and scores travel as one array with the intercept last, so that the rows need no column of ones: w has d + 1 rows, and as many
columns as the loss has outputs; a scalar loss has arrays of one dimension.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np
import numpy.typing as npt

from dualgap import formulas
from dualgap.kernels import gap
from dualgap.kernels.coordinates import column_norms
from dualgap.kernels.epoch import Prox
from dualgap.rows import row_slice
from dualgap.team import SOLO, Team

Array = npt.NDArray[np.float64]
T = TypeVar("T")
BLOCK = 1 << 13
BLOCK_ENTRIES = 4.0


class Total(NamedTuple):
    """A sum and how far rounding may have moved it, in units of the machine epsilon."""

    value: float
    doubt: float


class Work(NamedTuple):
    """What is visited at a time: data, the order of their rows, and what is read and written for each row; `again` if it was just met."""

    data: Any
    order: npt.NDArray[Any]
    alpha: Array
    scores: npt.NDArray[np.float32] | None = None
    sums: tuple[npt.NDArray[Any], ...] = ()
    again: bool = False


@dataclass(frozen=True)
class Problem:
    """A validated problem; `share` is s_i/S, `norms2` is |x_i|^2, `outputs` is 0 for a scalar loss and the number of classes otherwise.

    Sums over rows are cut into `parts`, on which the threads of `team` work side by side.
    """

    X: Any
    rows: Any
    y: npt.NDArray[Any]
    share: Array
    norms2: Array
    loss: Any
    penalty: Any
    intercept: bool
    outputs: int
    team: Team = SOLO

    # whether the rows are in memory, and what a pass is worth in visits of each row
    resident: ClassVar[bool] = True
    worth: ClassVar[float] = 1.0

    @property
    def n(self) -> int:
        return int(self.X.shape[0])

    @property
    def d(self) -> int:
        return int(self.X.shape[1])

    @property
    def entries(self) -> int:
        """The entries of X that are stored."""
        return int(getattr(self.X, "nnz", self.n * self.d))

    @cached_property
    def parts(self) -> list[slice]:
        """Consecutive rows with about as many entries each, a part for each member of the team; one part if there is little to do."""
        return row_parts(self.X, self.team.parts_for(self.entries * max(1, self.outputs)))

    def each(self, function: Callable[[slice], T]) -> list[T]:
        """The results of a function of each part of the rows."""
        return self.team.map(function, self.parts)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the coefficients with the intercept."""
        return (self.d + 1, self.outputs) if self.outputs else (self.d + 1,)

    @property
    def alpha_shape(self) -> tuple[int, ...]:
        return (self.n, self.outputs) if self.outputs else (self.n,)

    def with_loss(self, loss: Any) -> Self:
        return replace(self, loss=loss)

    @cached_property
    def radius2(self) -> float:
        """R^2 of the paper, n max_i s_i/S |x_i|^2, the intercept's share included and rows measured in the norm of the penalty."""
        norms2 = self.step_norms(0.0, 0.0)[0] if getattr(self.penalty, "norm", 2.0) != 2.0 else self.norms2
        largest = float(np.max(self.share * (norms2 + (self.mean_norm2 if self.intercept else 0.0))))
        stretch = formulas.stretch(self.loss, self.outputs) if self.outputs else 1.0
        return self.n * largest * float(stretch)

    @cached_property
    def mean_norm2(self) -> float:
        """The weighted mean of |x_i|^2: the scale on which the intercept is a feature like others."""
        mean = float(self.share @ self.norms2)
        return mean if mean > 0.0 else 1.0

    @cached_property
    def column_norms2(self) -> Array:
        """The weighted mean of the squares of each column."""
        norms2, counts = np.empty(self.d), np.empty(self.d, dtype=np.int64)
        column_norms(self.rows, self.share, 1, norms2, counts)
        return norms2

    @cached_property
    def unpenalized(self) -> npt.NDArray[np.intp]:
        """The columns whose coefficient is not penalized."""
        return unpenalized(self.penalty)

    @cached_property
    def open_columns(self) -> npt.NDArray[np.intp]:
        """Those of them whose coefficient is not bounded on both sides, so that the dual is finite on one side of 0, or at 0, only."""
        lower, upper = self.bounds
        return self.unpenalized[~(np.isfinite(lower) & np.isfinite(upper))]

    @cached_property
    def bounds(self) -> tuple[Array, Array]:
        """The bounds of the coefficients that are not penalized."""
        size = len(self.unpenalized)
        if "lower" not in self.penalty._fields:
            return np.full(size, -np.inf), np.full(size, np.inf)
        return self.penalty.lower[self.unpenalized], self.penalty.upper[self.unpenalized]

    @cached_property
    def unheld(self) -> npt.NDArray[np.intp]:
        """Where a w with the intercept last holds what nothing keeps finite on some side."""
        return np.append(self.open_columns, self.d) if self.intercept else self.open_columns

    @cached_property
    def unheld_bounds(self) -> tuple[Array, Array]:
        """Their bounds; the intercept has none."""
        kept = np.isin(self.unpenalized, self.open_columns)
        lower, upper = (bounds[kept] for bounds in self.bounds)
        return (np.append(lower, -np.inf), np.append(upper, np.inf)) if self.intercept else (lower, upper)

    @cached_property
    def unheld_columns(self) -> Array:
        """The columns that belong to these, the intercept's made of ones, as a dense array."""
        ones = np.broadcast_to(1.0, (self.n, 1))
        if not self.open_columns.size:
            return ones
        columns = self._columns(self.open_columns)
        return np.hstack([columns, ones]) if self.intercept else np.ascontiguousarray(columns)

    def _columns(self, chosen: npt.NDArray[np.intp]) -> Array:
        """Some columns as a dense array."""
        columns = self.X[:, chosen]
        return np.asarray(columns if isinstance(columns, np.ndarray) else columns.toarray(), dtype=np.float64)

    def unheld_size(self, alpha: Array) -> Array:
        """The sums of the absolute values of what must cancel in X'(s alpha)/S there."""
        size = np.zeros((len(self.unheld), *self.shape[1:]))
        for rows in self.blocks():
            size += np.abs(self.unheld_columns[rows]).T @ (self.share[rows] * np.abs(alpha[rows]).T).T
        return size

    def moments(self, alpha: Array) -> tuple[Array, float]:
        """The weighted means of the squares of these columns, and that of |alpha|."""
        squares, size = np.zeros(len(self.unheld)), 0.0
        for rows in self.blocks():
            squares += self.share[rows] @ self.unheld_columns[rows] ** 2
            size += float(self.share[rows] @ np.abs(alpha[rows]))
        return squares, size

    @cached_property
    def edge(self) -> float:
        """The norm of the bounds of the coefficients that are not penalized, where the conjugate is attained for these."""
        bounds = np.abs(np.array(self.bounds))
        return float(np.linalg.norm(np.max(bounds, axis=0, where=np.isfinite(bounds), initial=0.0)))

    @cached_property
    def center(self) -> Any:
        """The coefficients nearest to 0 that the penalty allows: a number, or an array with one for each column."""
        return self.penalty.center(self.d) if hasattr(self.penalty, "center") else 0.0

    @cached_property
    def penalty_is_norm(self) -> bool:
        """Whether the penalty is positively homogeneous, so that w* can be bounded instead of its conjugate."""
        inner = self.penalty.penalty if "factors" in self.penalty._fields else self.penalty
        return self.penalty.convexity == 0.0 and hasattr(inner, "polar")

    def radius(self, budget: float) -> float:
        """A bound on the norm of the penalized coefficients of any w with R(w) <= budget."""
        return float(self.penalty.radius(budget)) if hasattr(self.penalty, "radius") else np.inf

    def step_norms(self, kappa: float, ridge_free: float) -> tuple[Array, float]:
        """(norms2, inverse) such that norms2 * inverse is the squared norm of a row in the metric of R + kappa/2 |w|^2."""
        p = float(getattr(self.penalty, "norm", 2.0))
        factors = column_factors(self.penalty)
        if p == 2.0 and factors is None:
            return self.norms2, 1.0 / (self.penalty.convexity + kappa)
        if factors is None:
            return self._metric_norms(np.ones(0), p), 1.0 / self.penalty.convexity
        modulus = float(innermost(self.penalty).convexity) * factors + kappa + np.where(factors > 0.0, 0.0, ridge_free)
        return self._metric_norms(1.0 / modulus, 2.0), 1.0

    def _metric_norms(self, metric: Array, p: float) -> Array:
        """The squared norm of each row in a metric, or its p-norm."""
        out = np.empty(self.n)
        self.each(lambda rows: gap.metric_row_norms(row_slice(self.rows, rows), metric, p, out[rows]))
        return out

    def blocks(self, rows: slice | None = None) -> Iterator[slice]:
        """Slices of rows, or of a slice of them, small enough that a temporary array of scores does not count."""
        size = max(1, BLOCK // max(1, self.outputs))
        first, last = (0, self.n) if rows is None else (rows.start, rows.stop)
        for start in range(first, last, size):
            yield slice(start, min(last, start + size))

    def _within(self, rows: slice) -> list[slice]:
        """The parts of a slice of rows."""
        cuts = [slice(max(part.start, rows.start), min(part.stop, rows.stop)) for part in self.parts]
        return [cut for cut in cuts if cut.start < cut.stop]

    def _summed(self, of: Callable[[slice], tuple[float, ...]]) -> tuple[float, ...]:
        """The sums over all blocks of what each has."""
        return added(self.each(lambda part: added(of(rows) for rows in self.blocks(part))))

    def works(self, work: Work, seed: npt.NDArray[np.uint64]) -> Iterator[Work]:  # noqa: ARG002
        """A pass over rows in some order as what is visited at a time: all of it where the rows are in memory."""
        yield work

    def scores(self, w: Array, rows: slice) -> Array:
        """x_i'w + b of the rows of a slice."""
        z = np.empty((rows.stop - rows.start, *self.shape[1:]))
        self.team.map(lambda part: self._score(w, part, z[part.start - rows.start : part.stop - rows.start]), self._within(rows))
        return z

    def _score(self, w: Array, rows: slice, z: Array) -> Array:
        if np.any(w[: self.d]):
            (gap.vector_scores if self.outputs else gap.scores)(self.rows, rows.start, w, z)
        else:
            z[:] = w[self.d]
        return z

    def _scores(self, w: Array, rows: slice) -> Array:
        return self._score(w, rows, np.empty((rows.stop - rows.start, *self.shape[1:])))

    def mean_loss(self, w: Array) -> Total:
        """The weighted mean of the loss at w."""
        return Total(*self._summed(lambda rows: self._loss(self._scores(w, rows), rows)))

    def mean_loss_at(self, z: Array) -> Total:
        """The same from the scores of all rows."""
        return Total(*self._summed(lambda rows: self._loss(z[rows], rows)))

    def mean_loss_of(self, z: Array, rows: slice) -> tuple[float, float]:
        """The part of a slice of rows in the mean loss, from its scores, and in the sensitivity of the mean to rounding."""
        parts = self.team.map(lambda part: self._loss(z[part.start - rows.start : part.stop - rows.start], part), self._within(rows))
        total, sensitivity = added(parts)
        return total, sensitivity

    def _loss(self, z: Array, rows: slice) -> tuple[float, float]:
        args = (z, self.y[rows], self.share[rows], self.norms2[rows])
        total, sensitivity = (
            gap.vector_loss_sum(self.loss, rows.start, *args, np.empty(self.outputs)) if self.outputs else gap.loss_sum(self.loss, *args)
        )
        return float(total), float(sensitivity)

    @cached_property
    def mean_floor(self) -> float:
        """The weighted mean of phi*(0), minus the least value of the loss."""
        zeros = np.zeros((min(self.n, BLOCK), *self.shape[1:]))
        return self._summed(lambda rows: self._conjugate(zeros[: rows.stop - rows.start], 0.0, rows)[:2])[0]

    def mean_conjugate(self, alpha: Array, scale: float = 1.0) -> tuple[float, float, float]:
        """The weighted mean of phi*(-scale alpha), that of its absolute value, and that of |alpha| |x|."""
        total, size, sensitivity = added(self.each(lambda rows: self._conjugate(alpha[rows], scale, rows)))
        return total, size, sensitivity

    def _conjugate(self, alpha: Array, scale: float, rows: slice) -> tuple[float, float, float]:
        args = (alpha, scale, self.y[rows], self.share[rows], self.norms2[rows])
        total, size, sensitivity = (
            gap.vector_conjugate_sum(self.loss, rows.start, *args, np.empty(self.outputs))
            if self.outputs
            else gap.conjugate_sum(self.loss, *args)
        )
        return float(total), float(size), float(sensitivity)

    def transposed(self, alpha: Array) -> Array:
        """X'(s alpha)/S with the sum of s alpha/S last, from alpha alone and compensated."""
        kernel = gap.vector_transposed if self.outputs else gap.transposed
        return self._products(alpha, kernel, 2)

    @cached_property
    def block_rows(self) -> int:
        """How many rows have entries enough that adding up their sums does not count, 0 if all of them hardly do."""
        rows = max(64, round(BLOCK_ENTRIES * self.d * self.n / max(self.entries, 1)))
        return rows if self.n >= 2 * rows else 0

    def transposed_in_blocks(self, alpha: Array) -> Array:
        """X'(s alpha)/S from plain sums over `block_rows` rows, which alone are added compensated: half the work."""
        kernel = gap.vector_transposed_in_blocks if self.outputs else gap.transposed_in_blocks
        return self._products(alpha, kernel, 3, self.block_rows)

    def transposed_roughly(self, alpha: Array) -> Array:
        """X'(s alpha)/S for one output from plain sums alone: a direction, no certificate."""
        return self._products(alpha, gap.transposed_roughly, 1)

    def _products(self, alpha: Array, kernel: Any, arrays: int, *more: int) -> Array:
        """X'(s alpha)/S by a kernel that works on so many arrays of its shape, the second for what the sums in the first have lost."""

        def of(rows: slice) -> list[Array]:
            sums = [np.zeros(self.shape) for _ in range(arrays)]
            kernel(row_slice(self.rows, rows), self.share[rows], alpha[rows], *more, *sums)
            return sums[:2]

        # a part of the rows is worth arrays of its own only if it has more entries than these
        few = arrays * len(self.parts) * (self.d + 1) > self.entries
        (a, *low), *others = [of(slice(0, self.n))] if few else self.each(of)
        for terms, *lost in others:
            if low:
                gap.add_compensated(terms.reshape(-1), a.reshape(-1), low[0].reshape(-1))
                low[0] += lost[0]
            else:
                a += terms
        if low:
            a += low[0]
        return a

    def loss_and_transposed(self, w: Array, alpha: Array) -> tuple[Total, Array]:
        """The mean loss at w and X'(s alpha)/S: what a certificate needs of the rows."""
        return self.mean_loss(w), self.transposed(alpha)

    def dual_points(self, w: Array, out: Array) -> Array:
        """alpha = -phi'(X w + b), the dual point of a primal one."""

        def of(part: slice) -> None:
            for rows in self.blocks(part):
                self._dual_points(self._scores(w, rows), rows, out[rows])

        self.each(of)
        return out

    def dual_points_at(self, z: Array, rows: slice, out: Array) -> None:
        """The same for a slice of rows from its scores, which `out` may take the place of."""

        def of(part: slice) -> None:
            there = slice(part.start - rows.start, part.stop - rows.start)
            self._dual_points(z[there], part, out[there])

        self.team.map(of, self._within(rows))

    def _dual_points(self, z: Array, rows: slice, out: Array) -> None:
        if self.outputs:
            gap.vector_dual_points(self.loss, rows.start, z, self.y[rows], out, np.empty(self.outputs))
        else:
            gap.dual_points(self.loss, z, self.y[rows], out)

    def penalty_value(self, w: Array) -> float:
        """R(w), for w with the intercept last."""
        w = w[: self.d]
        if formulas.penalty_is_coupled(self.penalty):
            return float(self.penalty.total_value(w))
        return float(gap.penalty_sum(self.penalty, w.reshape(self.d, -1)))

    def penalty_conjugate(self, a: Array, scale: float = 1.0) -> float:
        """R*(scale a), for a with the intercept last."""
        a = a[: self.d]
        if formulas.penalty_is_coupled(self.penalty):
            return float(self.penalty.total_conjugate(scale * a))
        return float(gap.penalty_conjugate_sum(self.penalty, a.reshape(self.d, -1), scale))

    def penalty_conjugate_estimate(self, a: Array, scale: float) -> float:
        """R*(scale a) up to rounding, for a search."""
        if formulas.penalty_is_coupled(self.penalty):
            return self.penalty_conjugate(a, scale)
        return float(gap.penalty_conjugate_estimate(self.penalty, a[: self.d].reshape(self.d, -1), scale))

    def penalty_size(self, value: float) -> float:
        """The size of the terms that a value of the penalty or of its conjugate is made of."""
        return abs(value) + float(getattr(self.penalty, "cancelled", lambda d: 0.0)(self.d))

    def weights(self, prox: Prox, u: Array) -> Array:
        """The w that belongs to u."""
        w = np.empty(self.shape)
        gap.read_weights(prox, u.reshape(self.d + 1, -1), w.reshape(self.d + 1, -1))
        return w


def row_parts(X: Any, count: int) -> list[slice]:
    """Consecutive rows of a matrix with about as many entries in each of `count` parts."""
    n = X.shape[0]
    if hasattr(X, "indptr"):
        cuts = np.searchsorted(X.indptr, [int(X.indptr[-1]) * k // count for k in range(1, count)])
    else:
        cuts = np.array([n * k // count for k in range(1, count)], dtype=np.int64)
    return [slice(*part) for part in pairwise([0, *map(int, cuts), n]) if part[0] < part[1]]


def added(parts: Iterable[tuple[float, ...]]) -> tuple[float, ...]:
    """The sums of what each part has, rounded once."""
    return tuple(_sum(numbers) for numbers in zip(*parts, strict=True))


def _sum(numbers: tuple[float, ...]) -> float:
    with suppress(OverflowError, ValueError):
        return math.fsum(numbers)
    return float(sum(numbers))


def column_factors(penalty: Any) -> Array | None:
    """The factors of the coefficients, if the penalty has any."""
    if "factors" in penalty._fields:
        return np.asarray(penalty.factors)
    return column_factors(penalty.penalty) if "penalty" in penalty._fields else None


def is_ridge(penalty: Any) -> bool:
    """Whether a penalty is l2/2 |w|^2."""
    return penalty._fields in (("l2",), ("l1", "l2")) and getattr(penalty, "l1", 0.0) == 0.0 and penalty.l2 > 0.0


def innermost(penalty: Any) -> Any:
    """The penalty of a coefficient of factor 1 without bounds."""
    return innermost(penalty.penalty) if "penalty" in penalty._fields else penalty


def unpenalized(penalty: Any) -> npt.NDArray[np.intp]:
    """The columns with a factor of 0."""
    factors = column_factors(penalty)
    return np.empty(0, dtype=np.intp) if factors is None else np.flatnonzero(factors == 0.0)


def with_free(penalty: Any, kappa: float) -> Any:
    """The penalty whose unpenalized coefficients have a proximal term of weight kappa."""
    if "free" in penalty._fields:
        return penalty._replace(free=kappa)
    if "penalty" in penalty._fields:
        return penalty._replace(penalty=with_free(penalty.penalty, kappa))
    return penalty
