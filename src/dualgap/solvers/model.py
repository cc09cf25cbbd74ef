"""The quadratic model of an objective over chosen columns, all of them or a working set, and its minimizer.

    minimize over v    slope'(v - w) + 1/2 (v - w)'gram (v - w) + R(v),        gram = X'diag(s phi'')X/S over the columns and the intercept

Once the Gram matrix is there, nothing depends on the number of rows.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dualgap.kernels.gram import add_gram, curvatures, descend, fixed_point, go
from dualgap.problem import Problem, with_free

Array = npt.NDArray[np.float64]
Columns = npt.NDArray[np.int64]
RELIEF = RELATIVE = 1e-13
STEADY, SWEEPS, MOST_SWEEPS, MOST_ROUNDS, SHORTEST = 5, 200, 2000, 100, 1e-3
EPS = float(np.finfo(float).eps)
ENTRIES = 1 << 20


def gram_matrix(problem: Problem, z: Array, columns: Columns, known: Array | None = None) -> tuple[Array, float]:
    """(X, 1)'diag(s phi''/S)(X, 1) of some columns, the intercept's last, and the number of products it took.

    `known` is the matrix of the first of the columns and the intercept, where it was computed before.
    """
    m, k = 0 if known is None else len(known) - 1, len(columns)
    weights = np.empty(problem.n)
    curvatures(problem.loss, z, problem.y, problem.share, weights)
    # where a loss is linear, a trace of the curvature it may have elsewhere keeps the model of every coefficient bounded
    np.maximum(weights, RELIEF / problem.loss.smoothness * problem.share, out=weights)
    gram = np.zeros((k + 1, k + 1))
    if isinstance(problem.X, np.ndarray):
        products = _add_dense_gram(problem.X, weights, columns, m, gram)
    else:
        position = np.full(problem.d, -1, dtype=np.int32)
        position[columns] = np.arange(k, dtype=np.int32)
        room = 2 * (int(np.max(np.diff(problem.X.indptr))) + 1)
        products = float(add_gram(problem.rows, weights, position, m, np.empty(room, dtype=np.uint32), np.empty(room), gram))
    if known is not None:
        gram[:m, :m], gram[-1, :m] = known[:-1, :-1], known[-1, :-1]
    return np.asarray(np.tril(gram) + np.tril(gram, -1).T), products


def _add_dense_gram(X: npt.NDArray[Any], weights: Array, columns: Columns, m: int, gram: Array) -> float:
    """The same from dense rows, in blocks."""
    n, k = len(weights), len(columns)
    chosen: Any = slice(None) if np.array_equal(columns, np.arange(X.shape[1])) else columns  # a slice is read in place
    size = max(1, ENTRIES // (k + 1))
    root = np.sqrt(weights)
    block = np.empty((min(size, n), k + 1))
    for start in range(0, n, size):
        rows = slice(start, min(n, start + size))
        part = block[: rows.stop - start]
        np.multiply(X[rows, chosen], root[rows, None], out=part[:, :k])
        part[:, k] = root[rows]
        gram[m:] += part[:, m:].T @ part
    return float(n * (k - m) * k)


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
        self.gram[np.diag_indices_from(self.gram)] *= 1.0 + RELIEF
        self.penalty = with_free(self.penalty, 0.0)
        self.size = len(self.w) if self.free else len(self.w) - 1

    def minimizer(self, accuracy: float = 0.0) -> Array:
        """The minimizer, up to coordinates that are worth moving less than `accuracy`, measured in the root of what a move gains.

        Coordinate descent finds which coefficients are zero or at a bound; a semismooth Newton step on v_j = argmin over coordinate j,
        which is exact once that is known, does the rest. Coefficients that would change their sign stop at zero, for coordinate descent
        to decide.
        """
        residual, response = np.zeros(self.size), np.zeros(self.size)
        v, trial, sweeps, steady = self.w.copy(), np.empty_like(self.w), SWEEPS, STEADY
        at = self.slope.copy()
        first = left = self._distance(at, v, residual, response)
        value = np.inf
        for _ in range(MOST_ROUNDS):
            descend(self.gram, at, self.penalty, self.columns, v, self.free, sweeps, steady)
            at = self._gradient(v)
            left_before, left = left, self._distance(at, v, residual, response)
            value_before, value = value, self._value(at, v, go(self.penalty, self.columns, v, residual[:0], 0.0, trial))
            if left <= max(RELATIVE * first, accuracy) or (value >= value_before and left > 0.5 * left_before):
                break
            step, length = semismooth_step(self.gram[: self.size, : self.size], residual, response), 1.0
            while step is not None and length > SHORTEST:
                penalty = go(self.penalty, self.columns, v, step, length, trial)
                trial_at = self._gradient(trial)
                if self._value(trial_at, trial, penalty) <= value + EPS * abs(value):
                    v, trial, at = trial, v, trial_at
                    break
                length *= 0.5
            else:
                sweeps, steady = min(2 * sweeps, MOST_SWEEPS), min(2 * steady, MOST_SWEEPS)
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
