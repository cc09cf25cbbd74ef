"""The quadratic model of an objective over chosen columns, all of them or a working set, and its minimizer.

    minimize over v    slope'(v - w) + 1/2 (v - w)'gram (v - w) + R(v),        gram = X'diag(s phi'')X/S over the columns and the intercept

Once the Gram matrix is there, nothing depends on the number of rows.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dualgap.kernels.gram import add_gram, curvatures, descend, fixed_point, go, line_search, model_gap, spread, weighted_columns
from dualgap.problem import Problem, is_ridge, with_free
from dualgap.rows import row_slice

Array = npt.NDArray[np.float64]
Columns = npt.NDArray[np.int64]
RELIEF = RELATIVE = 1e-13
NEARLY, MANY, GAINED = 0.25, 0.8, 1e-7
STEADY, SWEEPS, MOST_SWEEPS, MOST_ROUNDS = 5, 200, 2000, 100
EPS = float(np.finfo(float).eps)
ENTRIES = 1 << 16


def gram_matrix(problem: Problem, z: Array, columns: Columns, known: Array | None = None) -> tuple[Array, float]:
    """(X, 1)'diag(s phi''/S)(X, 1) of some columns, the intercept's last, and the number of products it took.

    `known` is the matrix of the first of the columns and the intercept, where it was computed before.
    """
    m, k = 0 if known is None else len(known) - 1, len(columns)
    position, dense = _positions(problem, columns), nearly_dense(problem)

    def of(rows: slice) -> tuple[Array, float, int]:
        weights, gram = np.empty(rows.stop - rows.start), np.zeros((k + 1, k + 1))
        curvatures(problem.loss, z[rows], problem.y[rows], problem.share[rows], weights)
        active = np.flatnonzero(weights)
        if dense:
            products = _add_dense_gram(problem, rows, weights, active, columns, position, m, gram)
        else:
            room = 2 * (int(np.max(np.diff(problem.X.indptr[rows.start : rows.stop + 1]))) + 1)
            places, values = np.empty(room, dtype=np.uint32), np.empty(room)
            products = float(add_gram(row_slice(problem.rows, rows), weights, position, m, places, values, gram))
        return gram, products, len(active)

    (gram, products, active), *others = problem.team.map(of, problem.parts_worth((k + 1) ** 2))
    for part in others:
        gram += part[0]
        products, active = products + part[1], active + part[2]
    if known is not None:
        gram[:m, :m], gram[-1, :m] = known[:-1, :-1], known[-1, :-1]
    if known is not None or not dense:
        gram = np.asarray(np.tril(gram) + np.tril(gram, -1).T)
    if active < problem.n:
        # where a loss is linear, a trace of the curvature it may have elsewhere keeps the model of every coefficient bounded
        gram.flat[:: k + 2] += RELIEF / problem.loss.smoothness * np.append(problem.column_norms2[columns], 1.0)
    return gram, products


def nearly_dense(problem: Problem) -> bool:
    """Whether products of matrices are faster than those of the entries of each row."""
    return isinstance(problem.X, np.ndarray) or problem.X.nnz >= NEARLY * problem.n * problem.d


def _add_dense_gram(
    problem: Problem,
    part: slice,
    weights: Array,
    active: npt.NDArray[np.intp],
    columns: Columns,
    position: npt.NDArray[np.int32],
    m: int,
    gram: Array,
) -> float:
    """The same from a part of rows that are dense or nearly so, in blocks; of those that have a weight, if these are few."""
    X: Any = problem.X
    dense, k, all_rows = isinstance(X, np.ndarray), len(columns), len(active) >= MANY * len(weights)
    n = len(weights) if dense and all_rows else len(active)
    whole = np.array_equal(columns, np.arange(problem.d))
    size = max(1, ENTRIES // (k + 1))
    if dense and whole and X.dtype == np.float64 and m == 0 and weights.min() == weights.max():
        return _add_plain_gram(X, float(weights[0]), gram)
    position = _positions(problem, columns)
    block = np.empty((min(size, n), k + 1))
    for start in range(0, n, size):
        out = block[: min(n, start + size) - start]
        rows: Any = slice(start, min(n, start + size)) if dense and all_rows else active[start : start + size]
        root = np.sqrt(weights[rows])
        if not dense:
            spread(problem.rows, rows + part.start, root, position, out)
        elif whole:
            np.multiply(X[part][rows], root[:, None], out=out[:, :k])
            out[:, k] = root
        else:
            weighted_columns(X[part][rows], columns, root, out)
        gram[m:] += out[:, m:].T @ out
    return float(n * (k - m) * k)


def _add_plain_gram(X: npt.NDArray[np.float64], weight: float, gram: Array) -> float:
    """The same where all rows have one weight, so that nothing is copied."""
    n, k = X.shape
    gram[:k, :k] = X.T @ X
    gram[k, :k] = gram[:k, k] = np.ones(n) @ X
    gram[k, k] = n
    gram *= weight
    return float(n * k * k)


def _positions(problem: Problem, columns: Columns) -> npt.NDArray[np.int32]:
    """Where each column of X stands among the chosen ones, -1 if it does not."""
    position = np.full(problem.d, -1, dtype=np.int32)
    position[columns] = np.arange(len(columns), dtype=np.int32)
    return position


@dataclass
class Model:
    """The model around w; all vectors are those of the chosen columns, with the intercept last."""

    penalty: Any
    columns: Columns
    free: bool
    gram: Array
    slope: Array
    w: Array

    def __post_init__(self) -> None:
        self.gram.flat[:: len(self.gram) + 1] *= 1.0 + RELIEF
        self.penalty = with_free(self.penalty, 0.0)
        self.size = len(self.w) if self.free else len(self.w) - 1

    def minimizer(self, accuracy: float = 0.0, enough: float = 0.0) -> Array:
        """The minimizer, up to coordinates that are worth moving less than `accuracy`, measured in the root of what a move gains.

        With `enough`, a point whose duality gap in the model is that, or a small part of what was gained, will do. One linear system gives
        the minimizer where the penalty is a ridge. Elsewhere coordinate descent finds which coefficients are zero or at a bound; a
        semismooth Newton step on v_j = argmin over coordinate j, which is exact once that is known, does the rest. Coefficients that would
        change their sign stop at zero, for coordinate descent to decide; if that makes things worse, as where columns are nearly dependent,
        the best point on the way is taken instead.
        """
        if self.size == 0:
            return np.zeros_like(self.w)
        if is_ridge(self.penalty):
            return self._ridge_minimizer()
        residual, response = np.zeros(self.size), np.zeros(self.size)
        v, trial, sweeps, steady = self.w.copy(), np.empty_like(self.w), SWEEPS, STEADY
        at = self.slope.copy()
        first = left = self._distance(at, v, residual, response)
        start, value = go(self.penalty, self.columns, v, residual[:0], 0.0, trial), np.inf
        for _ in range(MOST_ROUNDS):
            descend(self.gram, at, self.penalty, self.columns, v, self.free, sweeps, steady)
            at = self._gradient(v)
            left_before, left = left, self._distance(at, v, residual, response)
            value_before, value = value, self._value(at, v, go(self.penalty, self.columns, v, residual[:0], 0.0, trial))
            if left <= max(RELATIVE * first, accuracy) or (value >= value_before and left > 0.5 * left_before):
                break
            if enough > 0.0 and self._gap(at, v) <= max(enough, GAINED * (start - value)):
                break
            step = semismooth_step(self.gram[: self.size, : self.size], residual, response)
            for stops in (True, False):
                if step is None:
                    continue
                penalty = self._go(v, at, step, stops, trial)
                trial_at = self._gradient(trial)
                if self._value(trial_at, trial, penalty) <= value + EPS * abs(value):
                    v, trial, at = trial, v, trial_at
                    break
            else:
                sweeps, steady = min(2 * sweeps, MOST_SWEEPS), min(2 * steady, MOST_SWEEPS)
        return v

    def _gap(self, at: Array, v: Array) -> float:
        """How much lower the model may be elsewhere; what a step of the intercept promises stands for its part."""
        free = 0.5 * float(at[-1]) ** 2 / float(self.gram[-1, -1]) if self.free else 0.0
        return float(model_gap(self.penalty, self.columns, v, at)) + free

    def _go(self, v: Array, at: Array, step: Array, stops: bool, out: Array) -> float:
        """The whole step, with what would change its sign left at zero; or the best part of it, through all kinks."""
        if stops:
            return float(go(self.penalty, self.columns, v, step, 1.0, out))
        square = float(step @ self.gram[: self.size, : self.size] @ step)
        return float(line_search(self.penalty, self.columns, v, step, float(at[: self.size] @ step), square, out))

    def _ridge_minimizer(self) -> Array:
        from scipy.linalg.lapack import dposv

        size, v = self.size, np.zeros_like(self.w)
        matrix, right = self.gram[:size, :size].copy(), -self.slope[:size]
        penalized = len(v) - 1
        matrix.flat[: penalized * (size + 1) : size + 1] += self.penalty.l2
        right[:penalized] -= self.penalty.l2 * self.w[:penalized]
        _, move, failed = dposv(matrix.T, right)
        v[:size] = self.w[:size] + (np.linalg.lstsq(matrix, right, rcond=1e-15)[0] if failed else move)
        return v

    def _gradient(self, v: Array) -> Array:
        """The gradient of the quadratic part at v."""
        return np.asarray(self.slope + self.gram @ (v - self.w))

    def _distance(self, at: Array, v: Array, residual: Array, response: Array) -> float:
        return float(fixed_point(self.gram, at, self.penalty, self.columns, v, self.free, residual, response))

    def _value(self, at: Array, v: Array, penalty: float) -> float:
        """The model at v, where its quadratic part has the gradient `at`."""
        return 0.5 * float((self.slope + at) @ (v - self.w)) + penalty


def semismooth_step(gram: Array, residual: Array, response: Array) -> Array | None:
    """The Newton step on residual(v) = 0: coefficients that do not respond go to their best value, the others solve what is left.

    There is none where the columns of the others are linearly dependent.
    """
    from scipy.linalg.lapack import dposv

    step = -residual
    moving = np.flatnonzero(response > 0.0)
    if not moving.size:
        return step
    inverse = 1.0 / response[moving]
    block = gram[moving]
    matrix = np.take(block, moving, axis=1)
    matrix.flat[:: len(moving) + 1] = inverse
    right = -residual[moving] * inverse
    others = np.flatnonzero((response <= 0.0) & (residual != 0.0))
    if others.size:
        right += block[:, others] @ residual[others]
    # the transposed of a symmetric matrix is in the order that LAPACK wants, so nothing is copied
    _, solved, info = dposv(matrix.T, right, overwrite_a=True, overwrite_b=True)
    if info:
        return None
    step[moving] = solved
    return step
