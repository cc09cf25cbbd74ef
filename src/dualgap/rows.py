"""The rows of X, in the two storages that solvers read in place: compressed sparse rows and dense rows.

A storage gives `first` and `last`, the range in which the entries of row i lie, `column` and `entry`, what is there, and `fetch_head`,
`fetch_row` and `fetch_met`, which ask for memory ahead of use; every formula on rows is then written once. Index types are unsigned, since
numba adds a wraparound check to each signed one (2x), and all views are read-only, so that a kernel is compiled once for both kinds of
memory.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dualgap import formulas
from dualgap.kernels.compile import jitable, resolved
from dualgap.kernels.prefetch import fetch, fetch_at, prefetch

ONE = np.uint64(1)
# About how many entries an epoch goes through while memory answers; as a number of rows it has limits.
SPARSE_AHEAD, DENSE_AHEAD = 320, 1000
LEAST_AHEAD, MOST_AHEAD = 2, 16


class Csr(NamedTuple):
    """Compressed sparse rows, as in scipy, with the indices viewed as unsigned; `ahead` is how many rows before its turn one is fetched."""

    indptr: npt.NDArray[Any]
    indices: npt.NDArray[Any]
    data: npt.NDArray[Any]
    ahead: int = 4


class Dense(NamedTuple):
    """Dense rows: a C-contiguous array, and `ahead` as for sparse rows."""

    values: npt.NDArray[Any]
    ahead: int = 4


def frozen(a: npt.NDArray[Any], dtype: Any = None) -> npt.NDArray[Any]:
    """A read-only view, of another type of the same size if asked."""
    view = a.view() if dtype is None else a.view(dtype)
    view.flags.writeable = False
    return view


def as_rows(X: Any) -> Csr | Dense:
    """The rows of a scipy CSR matrix or a C-contiguous array, without a copy."""
    if isinstance(X, np.ndarray):
        return Dense(frozen(X), _ahead(DENSE_AHEAD * X.shape[0], X.size))
    unsigned = {4: np.uint32, 8: np.uint64}
    indptr, indices = (frozen(a, unsigned[a.itemsize]) for a in (X.indptr, X.indices))
    return Csr(indptr, indices, frozen(X.data), _ahead(SPARSE_AHEAD * X.shape[0], X.nnz))


def _ahead(wanted: int, entries: int) -> int:
    return max(LEAST_AHEAD, min(MOST_AHEAD, wanted // max(entries, 1)))


def row_slice(rows: Any, part: slice) -> Any:
    """Some consecutive rows."""
    if part.start == 0 and part.stop >= (len(rows.values) if isinstance(rows, Dense) else len(rows.indptr) - 1):
        return rows
    if isinstance(rows, Dense):
        return rows._replace(values=rows.values[part])
    return rows._replace(indptr=rows.indptr[part.start : part.stop + 1])


def as_matrix(rows: Csr | Dense, d: int) -> Any:
    """Rows as the matrix of d columns that they are; a dense one is a view."""
    if isinstance(rows, Dense):
        return rows.values
    from scipy.sparse import csr_array

    signed = {4: np.int32, 8: np.int64}
    indptr, indices = (a.view(signed[a.itemsize]) for a in (rows.indptr, rows.indices))
    part = slice(int(indptr[0]), int(indptr[-1]))
    return csr_array((rows.data[part], indices[part], indptr - indptr[0]), shape=(len(indptr) - 1, d))


def first(rows: Any, i: Any) -> Any:
    """Where the entries of row i begin."""


def last(rows: Any, i: Any) -> Any:
    """Where the entries of row i end."""


def column(rows: Any, t: Any) -> Any:
    """The column of entry t."""


def entry(rows: Any, i: Any, t: Any) -> Any:
    """The value of entry t of row i."""


def fetch_head(rows: Any, i: Any) -> Any:
    """Ask for the memory that says where row i lies."""


def fetch_row(rows: Any, i: Any) -> Any:
    """Ask for the memory of row i."""


def fetch_met(rows: Any, i: Any, u: Any) -> Any:
    """Ask for the elements of u that row i meets; those that a dense row meets are a stream."""


def _fetch_csr(rows: Any, i: Any) -> None:
    fetch(rows.indices, first(rows, i), last(rows, i))
    fetch(rows.data, first(rows, i), last(rows, i))


def _fetch_met_csr(rows: Any, i: Any, u: Any) -> None:
    for t in range(first(rows, i), last(rows, i)):
        fetch_at(u, np.uint64(column(rows, t)))


def _by_storage(function: Any, csr: Any, dense: Any) -> None:
    resolved(function, lambda rows: csr if rows.instance_class is Csr else dense)


_by_storage(first, lambda rows, i: np.uint64(rows.indptr[i]), lambda rows, i: np.uint64(0))
_by_storage(last, lambda rows, i: np.uint64(rows.indptr[i + ONE]), lambda rows, i: np.uint64(rows.values.shape[1]))
_by_storage(column, lambda rows, t: rows.indices[t], lambda rows, t: t)
_by_storage(entry, lambda rows, i, t: rows.data[t], lambda rows, i, t: rows.values[i, t])
_by_storage(fetch_head, lambda rows, i: prefetch(rows.indptr, i), lambda rows, i: None)
_by_storage(fetch_row, _fetch_csr, lambda rows, i: fetch_at(rows.values, i))
_by_storage(fetch_met, _fetch_met_csr, lambda rows, i, u: None)


@jitable
def weight(prox: Any, u: Any, j: Any) -> Any:
    """w_j, read from u_j through the penalty."""
    return formulas.primal(prox.penalty, u, prox.kappa, j)


@jitable
def dot(rows: Any, i: Any, prox: Any, u: Any) -> Any:
    """x_i'w + b, where w is read from u; the last element of u belongs to the intercept."""
    z = 0.0
    for t in range(first(rows, i), last(rows, i)):
        j = column(rows, t)
        z += entry(rows, i, t) * weight(prox, u[j], j)
    return z + u[u.shape[0] - 1] * prox.free


@jitable
def axpy(rows: Any, i: Any, c: Any, prox: Any, u: Any) -> None:
    """u += c x_i, and c for the intercept."""
    for t in range(first(rows, i), last(rows, i)):
        j = column(rows, t)
        old = u[j]
        u[j] = old + c * entry(rows, i, t)
        formulas.moved(prox.penalty, old, u[j], j)
    u[u.shape[0] - 1] += c


@jitable
def dots(rows: Any, i: Any, prox: Any, u: Any, z: Any) -> None:
    """The k scores of row i, for u with k columns."""
    d = u.shape[0] - 1
    for m in range(u.shape[1]):
        z[m] = u[d, m] * prox.free
    for t in range(first(rows, i), last(rows, i)):
        j = column(rows, t)
        x = entry(rows, i, t)
        for m in range(u.shape[1]):
            z[m] += x * weight(prox, u[j, m], j)


@jitable
def axpys(rows: Any, i: Any, c: Any, da: Any, prox: Any, u: Any) -> None:
    """u += c x_i da', for u with k columns."""
    for t in range(first(rows, i), last(rows, i)):
        j = column(rows, t)
        x = c * entry(rows, i, t)
        for m in range(u.shape[1]):
            old = u[j, m]
            u[j, m] = old + x * da[m]
            formulas.moved(prox.penalty, old, u[j, m], j)
    for m in range(u.shape[1]):
        u[u.shape[0] - 1, m] += c * da[m]


@jitable
def cost_row(loss: Any, y: Any, i: Any) -> Any:
    """Where the costs of row i are, whose class is y: a table of costs has a row for each class, or one for each row of X."""
    return y if loss.costs.shape[0] == loss.costs.shape[1] else np.int64(i)
