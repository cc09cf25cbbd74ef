"""How a chunk of rows lies in a store: the lengths of its rows, their columns and their values, each from a multiple of eight bytes on."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dualgap.data.chunk import Entries
from dualgap.kernels import gap
from dualgap.kernels.chunks import ESCAPE, read_codes, write_codes
from dualgap.rows import Csr, Dense, as_rows

VALUES = {"float64": "<f8", "float32": "<f4", "float16": "<f2", "bfloat16": "<u2"}
INDICES = {"delta16": "<u2", "uint32": "<u4"}
PADDED = 8
NORM_ERROR = 1e-9


class Size(NamedTuple):
    """What a chunk holds, or an array for several: rows, entries, and codes of columns, which are more where columns lie far apart."""

    rows: Any
    entries: Any
    codes: Any


class DamagedError(ValueError):
    """What is wrong with the bytes of a chunk."""


@dataclass(frozen=True)
class Coding:
    """The types of a store; `indices` is None for dense rows. Columns of sparse rows count from `low`."""

    values: str
    indices: str | None
    columns: int
    low: int = 0

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values where solvers read them."""
        return np.dtype(np.float64 if self.values == "float64" else np.float32)

    @property
    def entry_bytes(self) -> int:
        """What an entry takes in memory."""
        return int(self.dtype.itemsize) + (4 if self.indices else 0)

    def parts(self, size: Size) -> tuple[int, Any, Any, Any]:
        """Where lengths, columns and values begin, and where a chunk ends."""
        lengths = _padded(4 * size.rows) if self.indices else 0
        columns = _padded(np.dtype(INDICES[self.indices]).itemsize * size.codes) if self.indices else 0
        values = _padded(np.dtype(VALUES[self.values]).itemsize * size.entries)
        return 0, lengths, lengths + columns, lengths + columns + values

    def encode(self, rows: Entries | npt.NDArray[Any]) -> tuple[npt.NDArray[np.uint8], Size, int]:
        """Rows as bytes, what they hold, and how many of their values had to be rounded."""
        if isinstance(rows, Entries):
            values, entries = rows.values, len(rows.values)
            codes = self._codes(rows)
            size = Size(len(rows.indptr) - 1, entries, len(codes))
        else:
            values = rows.reshape(-1)
            size = Size(len(rows), values.size, 0)
        stored = _narrow(values, self.values)
        begin, columns, numbers, end = self.parts(size)
        out = np.zeros(end, dtype=np.uint8)
        if isinstance(rows, Entries):
            _put(out, begin, np.diff(rows.indptr).astype("<u4"))
            _put(out, columns, codes)
        _put(out, numbers, stored)
        return out, size, int(np.count_nonzero(_widened(stored, self.values) != values))

    def as_stored(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Values after a round trip through the store."""
        return np.asarray(_widened(_narrow(values, self.values), self.values), dtype=self.dtype)

    def _codes(self, rows: Entries) -> npt.NDArray[Any]:
        if self.indices == "uint32":
            return rows.indices.astype("<u4")
        most = int(rows.indices.max(initial=0)) // ESCAPE
        codes = np.empty(len(rows.indices) + most * (len(rows.indptr) - 1), dtype="<u2")
        return codes[: write_codes(rows.indptr, rows.indices, codes)]


def _padded(size: Any) -> Any:
    return -(-size // PADDED) * PADDED


def _put(out: npt.NDArray[np.uint8], begin: int, values: npt.NDArray[Any]) -> None:
    out[begin : begin + values.nbytes] = values.view(np.uint8)


def _narrow(values: npt.NDArray[Any], kind: str) -> npt.NDArray[Any]:
    """Values as they are stored; an error for one that is too large."""
    with np.errstate(over="ignore", under="ignore"):
        if kind != "bfloat16":
            stored = np.ascontiguousarray(values, dtype=VALUES[kind])
        else:
            bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
            # to the nearest, and to the even one of two that are as near
            stored = ((bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)).astype("<u2")
    lost = ~np.isfinite(_widened(stored, kind))
    if np.any(lost):
        raise ValueError(f"values must be finite and fit into {kind}, got {values[lost][0]}")
    return stored


def _widened(stored: npt.NDArray[Any], kind: str) -> npt.NDArray[Any]:
    """Stored values as numbers."""
    return (stored.astype(np.uint32) << np.uint32(16)).view(np.float32) if kind == "bfloat16" else stored


class Buffer:
    """Room for the rows of some chunks, decoded one behind the other."""

    def __init__(self, coding: Coding, rows: int, entries: int) -> None:
        self.coding, self.n, self.entries = coding, 0, 0
        self.narrow = entries < 2**31
        if coding.indices:
            self.indptr = np.zeros(rows + 1, dtype=np.int32 if self.narrow else np.int64)
            self.indices = np.empty(entries, dtype=np.int32)
        self.values = np.empty(entries, dtype=coding.dtype)

    def clear(self) -> None:
        """Begin anew."""
        self.n = self.entries = 0

    def add(self, raw: npt.NDArray[np.uint8], size: Size, norms2: npt.NDArray[np.float64] | None) -> None:
        """Decode a chunk behind what there is; with the squared norms of its rows, check it as what strangers may have made up."""
        coding, entries, codes = self.coding, size.entries, size.codes
        begin, columns, numbers, _ = coding.parts(size)
        n, at = self.n, self.entries
        into = slice(at, at + entries)
        if coding.indices:
            lengths = raw[begin : begin + 4 * size.rows].view("<u4")
            if int(lengths.sum(dtype=np.uint64)) != entries:
                raise DamagedError("the lengths of its rows do not go with its entries")
            self.indptr[n + 1 : n + 1 + size.rows] = np.cumsum(lengths, dtype=np.int64) + at
            self._read_columns(raw[columns : columns + np.dtype(INDICES[coding.indices]).itemsize * codes], lengths, into)
        stored = raw[numbers : numbers + np.dtype(VALUES[coding.values]).itemsize * entries].view(VALUES[coding.values])
        self.values[into] = _widened(stored, coding.values)
        self.n, self.entries = n + size.rows, at + entries
        if norms2 is not None:
            self._check(slice(n, self.n), norms2)

    def _read_columns(self, raw: npt.NDArray[np.uint8], lengths: npt.NDArray[Any], into: slice) -> None:
        coding = self.coding
        if coding.indices == "uint32":
            self.indices[into] = raw.view("<u4").view("<i4")
            self.indices[into] -= coding.low
        elif not read_codes(lengths, raw.view("<u2"), coding.low, self.indices[into]):
            raise DamagedError("its columns do not go with the lengths of its rows")

    def _check(self, rows: slice, norms2: npt.NDArray[np.float64]) -> None:
        """Raise if columns are out of range or order, or the squared norms are not those of the rows, which nan would not be."""
        found = np.empty(len(norms2))
        in_order = gap.row_norms(self.rows(rows), self.coding.columns, found)
        if np.any(np.isnan(found)):
            raise DamagedError(f"a value is not a number, or a column is none of the {self.coding.columns}")
        if not in_order:
            raise DamagedError("the columns of a row are not in order")
        if not np.all(np.abs(found - norms2) <= NORM_ERROR * norms2):
            raise DamagedError("the norms of its rows are not those that go with the store")

    def rows(self, part: slice | None = None) -> Csr | Dense:
        """The rows, or some of them, as kernels read them."""
        part = part or slice(0, self.n)
        if not self.coding.indices:
            return as_rows(self.values[: self.entries].reshape(-1, self.coding.columns)[part])
        return as_rows(_Arrays(self.indptr[part.start : part.stop + 1], self.indices, self.values, part.stop - part.start))

    def matrix(self) -> Any:
        """The rows as a matrix that shares the memory of the buffer."""
        if not self.coding.indices:
            return self.values[: self.entries].reshape(-1, self.coding.columns)
        from scipy.sparse import csr_array

        arrays = (self.values[: self.entries], self.indices[: self.entries], self.indptr[: self.n + 1])
        return csr_array(arrays, shape=(self.n, self.coding.columns))


class _Arrays(NamedTuple):
    """The arrays of a sparse matrix, for which the checks of one are not repeated."""

    indptr: npt.NDArray[Any]
    indices: npt.NDArray[Any]
    data: npt.NDArray[Any]
    n: int

    @property
    def shape(self) -> tuple[int]:
        return (self.n,)

    @property
    def nnz(self) -> int:
        return int(self.indptr[-1] - self.indptr[0])
