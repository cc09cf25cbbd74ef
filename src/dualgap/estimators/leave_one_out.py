"""Least squares with a ridge, left without each row in turn, from one decomposition for all rows and strengths.

    y_i - (prediction without row i) = (y_i - x_i'w - b) / (1 - h_i),        h = diag(A (A'A + alpha)^-1 A') + diag(Q Q')

holds for a fit that is linear in y. A are the penalized columns, times the roots of the weights and over those of their factors, without
their part in the span of the columns that cost nothing, the intercept's among them, of which Q is an orthonormal basis. A'A is decomposed
if there are fewer columns than rows, and AA' otherwise; X is gone through in blocks of rows or of columns.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.extmath import safe_sparse_dot

Array = npt.NDArray[np.float64]
BLOCK = 1 << 20
TINY = float(np.finfo(np.float64).tiny)


def leave_one_out(X: Any, Y: Array, weight: Array | None, factors: Any, intercept: bool, alphas: Array) -> Array:
    """Targets minus the predictions for each row without it, n x targets x strengths; a row of weight 0 is one more to predict."""
    return _LeaveOneOut(X, Y, weight, factors, intercept).errors(alphas)


class _LeaveOneOut:
    """The columns in two parts, those that are penalized and the span of the others."""

    def __init__(self, X: Any, Y: Array, weight: Array | None, factors: Any, intercept: bool) -> None:
        n, d = X.shape
        f = np.ones(d) if factors is None else np.asarray(factors, dtype=np.float64)
        self.X, self.Y = X, Y
        self.root = np.ones(n) if weight is None else np.sqrt(weight)
        self.penalized = np.flatnonzero(f > 0.0)
        self.scale = 1.0 / np.sqrt(f[self.penalized])
        unpenalized = _dense(X[:, np.flatnonzero(f == 0.0)])
        self.basis = _orthonormal(self.root[:, None] * np.hstack([unpenalized, np.ones((n, int(intercept)))]))
        self.spanned = (safe_sparse_dot(X.T, self.root[:, None] * self.basis, dense_output=True)[self.penalized] * self.scale[:, None]).T
        weighted = self.root[:, None] * Y
        self.rest = weighted - self.basis @ (self.basis.T @ weighted)

    def errors(self, alphas: Array) -> Array:
        """The errors of the predictions."""
        n, targets = self.Y.shape
        out = np.empty((n, targets, len(alphas)))
        fewer = len(self.penalized) <= n
        with np.errstate(divide="ignore", invalid="ignore"):
            for rows, leverage, fitted in self._by_columns(alphas) if fewer else self._by_rows(alphas):
                left = np.maximum(1.0 - np.sum(self.basis[rows] ** 2, axis=1)[:, None] - leverage, TINY)
                residual = (self.rest[rows][:, :, None] - fitted) / self.root[rows][:, None, None]
                out[rows] = residual / left[:, None, :]
        return out

    def _by_columns(self, alphas: Array) -> Iterator[tuple[slice, Array, Array]]:
        """Leverages and fitted values of blocks of rows, by the eigenvectors of A'A."""
        p = len(self.penalized)
        products, moments = np.zeros((p, p)), np.zeros((p, self.Y.shape[1]))
        for rows, A in self._blocks():
            products += A.T @ A
            moments += A.T @ self.rest[rows]
        size, vectors = np.linalg.eigh(products)
        inverse = 1.0 / (np.maximum(size, 0.0)[:, None] + alphas)
        along = vectors.T @ moments
        for rows, A in self._blocks():
            B = A @ vectors
            yield rows, B**2 @ inverse, np.einsum("ip,pt,pm->itm", B, along, inverse, optimize=True)

    def _by_rows(self, alphas: Array) -> Iterator[tuple[slice, Array, Array]]:
        """The same by the eigenvectors of AA'."""
        products, Q = self._products_of_rows(), self.basis
        across = products @ Q
        products -= Q @ across.T + across @ Q.T - Q @ (Q.T @ across) @ Q.T
        size, vectors = np.linalg.eigh(products)
        size = np.maximum(size, 0.0)[:, None]
        part = size / (size + alphas)
        along = vectors.T @ self.rest
        yield slice(0, len(vectors)), vectors**2 @ part, np.einsum("ip,pt,pm->itm", vectors, along, part, optimize=True)

    def _blocks(self) -> Iterator[tuple[slice, Array]]:
        """A in blocks of rows."""
        n, step = self.X.shape[0], max(1, BLOCK // max(self.X.shape[1], 1))
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            A = _dense(self.X[rows])
            A = A if len(self.penalized) == A.shape[1] else A[:, self.penalized]
            yield rows, A * self.scale * self.root[rows, None] - self.basis[rows] @ self.spanned

    def _products_of_rows(self) -> Array:
        """The products of the rows of A before their part in the span of the other columns is taken away."""
        n = self.X.shape[0]
        if not isinstance(self.X, np.ndarray):
            A = self.X[:, self.penalized].astype(np.float64)
            A = A.multiply(self.scale).multiply(self.root[:, None]).tocsr()
            return _dense(A @ A.T)
        products = np.zeros((n, n))
        step = max(1, BLOCK // n)
        for start in range(0, len(self.penalized), step):
            columns = self.penalized[start : start + step]
            A = self.X[:, columns].astype(np.float64) * self.scale[start : start + step] * self.root[:, None]
            A -= self.basis @ (self.basis.T @ A)
            products += A @ A.T
        return products


def _dense(X: Any) -> Array:
    return np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)


def _orthonormal(columns: Array) -> Array:
    """An orthonormal basis of the span of columns."""
    if not columns.shape[1]:
        return columns
    left, size, _ = np.linalg.svd(columns, full_matrices=False)
    return np.ascontiguousarray(left[:, size > max(columns.shape) * np.finfo(np.float64).eps * size[0]])
