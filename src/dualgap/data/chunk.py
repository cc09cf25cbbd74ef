"""A piece of a data set: what readers yield, and what solvers, predictions and stores are fed with."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp


class Entries(NamedTuple):
    """Compressed sparse rows whose columns count from the number the file uses, and whose number of columns is not known yet."""

    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]
    values: npt.NDArray[Any]


@dataclass(frozen=True)
class Chunk:
    """Some rows, sparse or as an array, with their targets (numbers, or labels as text) and weights where there are any."""

    rows: Entries | npt.NDArray[Any]
    y: npt.NDArray[Any] | None
    weight: npt.NDArray[np.float64] | None = None

    @property
    def n(self) -> int:
        return len(self.rows.indptr) - 1 if isinstance(self.rows, Entries) else len(self.rows)


def sliced(chunk: Chunk, size: int) -> Iterator[Chunk]:
    """A chunk in parts of at most that many rows."""
    for start in range(0, chunk.n, size):
        stop = min(chunk.n, start + size)
        rows: Any = chunk.rows
        if isinstance(rows, Entries):
            begin, end = rows.indptr[start], rows.indptr[stop]
            rows = Entries(rows.indptr[start : stop + 1] - begin, rows.indices[begin:end], rows.values[begin:end])
        else:
            rows = rows[start:stop]
        parts = (None if a is None else a[start:stop] for a in (chunk.y, chunk.weight))
        yield Chunk(rows, *parts)


def matrix(rows: Entries | npt.NDArray[Any], d: int, first: int) -> Any:
    """Rows as a matrix of d columns; entries of later columns are left out."""
    if not isinstance(rows, Entries):
        return rows
    indices = rows.indices - np.int32(first)
    width = max(d, int(indices.max(initial=0)) + 1)
    indptr = rows.indptr.astype(np.int32) if rows.indptr[-1] < np.iinfo(np.int32).max else rows.indptr
    return sp.csr_array((rows.values, indices, indptr), shape=(len(indptr) - 1, width))[:, :d]


def joined_entries(parts: list[Entries], first: int, columns: int | None, dtype: Any) -> "sp.csr_array[Any]":
    """One matrix of sparse rows, whose columns count from `first`; the parts are given up one by one, so that memory holds little twice."""
    lengths = np.concatenate([np.zeros(1, np.int64), *(np.diff(part.indptr) for part in parts)])
    indptr = np.cumsum(lengths)
    d = columns or max(int(part.indices.max(initial=first)) for part in parts) + 1 - first
    values, indices = [part.values for part in parts], [part.indices for part in parts]
    parts.clear()
    entries = _joined(values, int(indptr[-1]), dtype)
    index = _joined(indices, int(indptr[-1]), np.int32)
    index -= np.int32(first)
    narrow = indptr[-1] < np.iinfo(np.int32).max
    return sp.csr_array((entries, index, indptr.astype(np.int32) if narrow else indptr), shape=(len(lengths) - 1, d))


def _joined(parts: list[npt.NDArray[Any]], size: int, dtype: Any) -> npt.NDArray[Any]:
    """The parts one after the other, each given up once it is copied."""
    out, end = np.empty(size, dtype), 0
    for part in map(parts.pop, repeat(0, len(parts))):
        begin, end = end, end + len(part)
        out[begin:end] = part
    return out
