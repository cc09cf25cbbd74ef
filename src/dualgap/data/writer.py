"""Writing a store as rows come: one chunk is in memory at a time, and what is not complete does not get the name of the store."""

import os
import shutil
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dualgap.data.chunk import Chunk, Entries, sliced
from dualgap.data.coding import INDICES, VALUES, Coding
from dualgap.data.container import write_container
from dualgap.data.errors import InputError
from dualgap.data.store import DRAFT, VERSION
from dualgap.kernels import gap
from dualgap.rows import as_rows

CHUNK_BYTES = 1 << 18
LEAST_BYTES, MOST_BYTES = 1 << 12, 1 << 26
ROWS_AT_ONCE = 1 << 14
ENDS = ("rows", "entries", "codes", "bytes", "checks")


class Writer:
    """A store that is being written: `add` chunks, then `finish`; leaving the block before that removes what there is.

    Parameters
    ----------
    path : path
        The folder to be made.
    values : str, optional
        The type of the values on disk; by default that of the first rows.
    indices, chunk_bytes, overwrite
        As `Store.write` takes them.
    """

    def __init__(
        self, path: Any, *, values: str | None = None, indices: str = "delta16", chunk_bytes: int = CHUNK_BYTES, overwrite: bool = False
    ) -> None:
        for name, value, allowed in (("values", values, (None, *VALUES)), ("indices", indices, tuple(INDICES))):
            if value not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")
        if not isinstance(chunk_bytes, int) or not LEAST_BYTES <= chunk_bytes <= MOST_BYTES:
            raise ValueError(f"chunk_bytes must be a number of bytes from {LEAST_BYTES:,} to {MOST_BYTES:,}, got {chunk_bytes!r}")
        self.path, self.draft = Path(path), Path(f"{path}{DRAFT}")
        self.values, self.indices, self.chunk_bytes, self.overwrite = values, indices, chunk_bytes, overwrite
        if self.path.exists() and not (overwrite and (self.path / "index").exists()):
            why = "is there already (overwrite, --overwrite)" if (self.path / "index").exists() else "is there already, and is no store"
            raise InputError(str(path), why)
        self.coding: Coding | None = None
        self.waiting: list[Chunk] = []
        self.waiting_bytes = self.n = self.rounded = 0
        self.lowest, self.highest, self.squares = 1, 0, 0.0
        self.has: tuple[bool, bool, bool] | None = None
        self.labels: dict[str, int] = {}
        self.counts: dict[str, list[int]] = {name: [] for name in ENDS}

    def __enter__(self) -> Self:
        if self.draft.is_dir():
            shutil.rmtree(self.draft)
        self.draft.mkdir(parents=True)
        self.files = {name: (self.draft / name).open("wb") for name in ("chunks", "targets", "weights", "norms")}
        self.checksums = dict.fromkeys(("targets", "weights", "norms"), 0)
        return self

    def __exit__(self, *exception: object) -> None:
        for file in self.files.values():
            file.close()
        if self.draft.is_dir():
            shutil.rmtree(self.draft)

    def add(self, chunk: Chunk) -> None:
        """Take some rows more."""
        if not chunk.n:
            return
        self._agree(chunk)
        assert self.coding is not None
        self.waiting.append(chunk)
        self.waiting_bytes += self._bytes(chunk)
        while self.waiting_bytes >= self.chunk_bytes:
            whole = joined(self.waiting)
            rows = max(1, self.chunk_bytes * whole.n // max(1, self._bytes(whole)))
            *full, last = sliced(whole, rows)
            for part in full:
                self._write(part)
            self.waiting, self.waiting_bytes = [last], self._bytes(last)
            if not full:
                self._flush()

    def _bytes(self, chunk: Chunk) -> int:
        """About how many bytes rows take."""
        assert self.coding is not None
        entry, sparse = np.dtype(VALUES[self.coding.values]).itemsize, isinstance(chunk.rows, Entries)
        entries = len(chunk.rows.values) if isinstance(chunk.rows, Entries) else chunk.rows.size
        return entries * (entry + (np.dtype(INDICES[self.indices]).itemsize if sparse else 0)) + (4 * chunk.n if sparse else 0)

    def _agree(self, chunk: Chunk) -> None:
        """Settle types by the first rows; raise if later ones do not go with these."""
        sparse = isinstance(chunk.rows, Entries)
        values = chunk.rows.values if isinstance(chunk.rows, Entries) else chunk.rows
        text = chunk.y is not None and chunk.y.dtype == object
        has = (chunk.y is not None, text, chunk.weight is not None)
        if self.coding is None or self.has is None:
            kind = self.values or ("float32" if values.dtype == np.float32 else "float64")
            self.coding = Coding(kind, self.indices if sparse else None, 0 if sparse else values.shape[1])
            self.has = has
        if sparse != (self.coding.indices is not None) or (not sparse and values.shape[1] != self.coding.columns):
            raise ValueError("all rows must be sparse, or all must be dense with the same number of columns")
        if has != self.has:
            raise ValueError("all rows must have targets, texts or numbers, and weights, or none must")

    def _flush(self) -> None:
        if self.waiting:
            self._write(joined(self.waiting))
            self.waiting, self.waiting_bytes = [], 0

    def _write(self, chunk: Chunk) -> None:
        """Write a chunk and what its rows have beside them."""
        assert self.coding is not None
        try:
            raw, size, rounded = self.coding.encode(chunk.rows)
            norms2 = self._norms2(chunk.rows)
        except ValueError as error:
            raise InputError(str(self.path), f"can not hold rows {self.n:,} to {self.n + chunk.n:,}: {error}") from None
        self.files["chunks"].write(raw.data)
        for name, count in zip(ENDS, (*size, len(raw), zlib.crc32(raw.data)), strict=True):
            self.counts[name].append(count)
        self.n, self.rounded = self.n + chunk.n, self.rounded + rounded
        self._write_numbers("norms", norms2)
        if chunk.y is not None:
            self._write_numbers("targets", self._numbered(chunk.y))
        if chunk.weight is not None:
            self._write_numbers("weights", chunk.weight)

    def _norms2(self, rows: Entries | npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """The squared norms of rows as they were stored."""
        assert self.coding is not None
        stored = self.coding.as_stored(rows.values if isinstance(rows, Entries) else rows)
        if isinstance(rows, Entries):
            self.lowest = min(self.lowest, int(rows.indices.min(initial=self.lowest)))
            self.highest = max(self.highest, int(rows.indices.max(initial=0)))
            lengths = np.diff(rows.indptr).astype(np.float64)
            self.squares += float(lengths @ lengths)
            X: Any = sp.csr_array((stored, rows.indices, rows.indptr.astype(np.int32)), shape=(len(lengths), self.highest + 1))
        else:
            self.squares += float(rows.shape[0]) * rows.shape[1] ** 2
            X = stored
        norms2 = np.empty(X.shape[0])
        if not gap.row_norms(as_rows(X), X.shape[1], norms2):
            raise ValueError("columns must be sorted, and each be there once in a row")
        if not np.all(np.isfinite(norms2)):
            raise ValueError("the squared norms of rows must be finite in float64")
        return norms2

    def _numbered(self, y: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Targets as numbers, texts as those of their labels."""
        if y.dtype != object:
            return y
        for label in dict.fromkeys(y.tolist()):
            self.labels.setdefault(str(label), len(self.labels))
        return np.array([self.labels[str(label)] for label in y.tolist()], dtype=np.float64)

    def _write_numbers(self, name: str, values: npt.NDArray[Any]) -> None:
        raw = np.ascontiguousarray(values, dtype="<f8")
        if not np.all(np.isfinite(raw)):
            raise InputError(str(self.path), f"{name} must be finite numbers, got {raw[~np.isfinite(raw)][0]}")
        self.checksums[name] = zlib.crc32(raw.data, self.checksums[name])
        self.files[name].write(raw.data)

    def finish(self, *, columns: int | None = None, first_column: int | None = None, names: Sequence[str] | None = None) -> None:
        """Write the index, and give the store its name; `columns` count from `first_column`, by default as many as appear."""
        self._flush()
        if self.coding is None or self.has is None:
            raise InputError(str(self.path), "can not hold a data set without rows")
        sparse = self.coding.indices is not None
        low = (self.lowest if first_column is None else first_column) if sparse else 0
        d = columns or (max(self.highest + 1 - low, 1) if sparse else self.coding.columns)
        if sparse and self.highest - low >= d:
            raise InputError(str(self.path), f"must have more than the {d} columns it was said to have: column {self.highest} appears")
        if names is not None and len(names) != d:
            raise ValueError(f"names must have one for each of the {d} columns, got {len(names)}")
        arrays = {name: np.array(values, dtype=np.uint64) for name, values in self.counts.items()}
        kept = [name for name, there in zip(("targets", "weights"), (self.has[0], self.has[2]), strict=True) if there] + ["norms"]
        record = {
            "version": VERSION,
            "rows": self.n,
            "columns": d,
            "values": self.coding.values,
            "indices": self.coding.indices,
            "first_column": low,
            "names": None if names is None else list(names),
            "labels": list(self.labels) if self.has[1] else None,
            "rounded": self.rounded,
            "squares": self.squares,
            "checksums": {name: f"{self.checksums[name]:08x}" for name in kept},
        }
        for name, file in self.files.items():
            file.flush()
            os.fsync(file.fileno())
            file.close()
            if name not in ("chunks", *kept):
                (self.draft / name).unlink()
        write_container(self.draft / "index", arrays, record)
        earlier = Path(f"{self.path}.old")
        if self.path.exists():
            self.path.rename(earlier)
        self.draft.rename(self.path)
        _sync_folder(self.path.parent)
        shutil.rmtree(earlier, ignore_errors=True)


def _sync_folder(folder: Path) -> None:
    """Have the names in a folder outlive a loss of power, where systems can do that."""
    with suppress(OSError, AttributeError):
        place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(place)
        finally:
            os.close(place)


def joined(chunks: Sequence[Chunk]) -> Chunk:
    """Chunks as one."""
    if len(chunks) == 1:
        return chunks[0]
    parts: list[Any] = [chunk.rows for chunk in chunks]
    rows: Any
    if isinstance(parts[0], Entries):
        lengths = [np.diff(part.indptr) for part in parts]
        indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.concatenate(lengths))])
        rows = Entries(indptr, *(np.concatenate([getattr(part, name) for part in parts]) for name in ("indices", "values")))
    else:
        rows = np.concatenate(parts)
    y, weight = (
        None if getattr(chunks[0], name) is None else np.concatenate([getattr(c, name) for c in chunks]) for name in ("y", "weight")
    )
    return Chunk(rows, y, weight)


def write_arrays(
    path: Any, X: Any, y: Any = None, sample_weight: Any = None, *, names: Sequence[str] | None = None, **options: Any
) -> None:
    """Write a store of a matrix, or of pieces (X, y) or (X, y, sample_weight)."""
    whole = hasattr(X, "shape") or isinstance(X, (list, tuple))
    pieces: Iterable[Any] = [(X, y, sample_weight)] if whole else X
    if not whole and (y is not None or sample_weight is not None):
        raise ValueError("y and sample_weight go with a matrix X; with pieces each piece has its own")
    columns: int | None = None
    with Writer(path, **options) as writer:
        for piece in pieces:
            if not isinstance(piece, tuple) or not 1 <= len(piece) <= 3:
                raise TypeError(f"a piece must be a tuple (X, y) or (X, y, sample_weight), got {type(piece).__name__}")
            matrix, *rest = piece
            matrix, target, weight = _checked(matrix, *rest, *[None] * (2 - len(rest)))
            if columns is not None and matrix.shape[1] != columns:
                raise ValueError(f"all pieces must have the {columns} columns of the first, got {matrix.shape[1]}")
            columns = matrix.shape[1]
            for chunk in chunks_of(matrix, target, weight):
                writer.add(chunk)
        writer.finish(columns=columns, first_column=0, names=names)


def _checked(X: Any, y: Any, weight: Any) -> tuple[Any, npt.NDArray[Any] | None, npt.NDArray[np.float64] | None]:
    """A matrix as a solver would take it, its targets and weights."""
    from dualgap.data.validation import check_matrix

    X = check_matrix(X, [])
    columns: list[Any] = []
    for name, values in (("y", y), ("sample_weight", weight)):
        if values is None:
            columns.append(None)
            continue
        array = np.asarray(values)
        text = name == "y" and array.dtype.kind in "OUS"
        if array.shape != (X.shape[0],) or (array.dtype.kind not in "fiub" and not text):
            kinds = "numbers or texts" if name == "y" else "numbers"
            raise ValueError(f"{name} must have {kinds}, one for each of the {X.shape[0]} rows, got {array.dtype} of shape {array.shape}")
        columns.append(array.astype(str).astype(object) if text else array.astype(np.float64))
    return X, *columns


def chunks_of(X: Any, y: npt.NDArray[Any] | None, weight: npt.NDArray[np.float64] | None) -> Iterator[Chunk]:
    """A matrix in chunks whose rows are sorted and have each column once."""
    for start in range(0, X.shape[0], ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        rows = X[part]
        if not isinstance(rows, np.ndarray):
            rows = rows.copy()
            rows.sum_duplicates()
            rows = Entries(rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data)
        yield Chunk(rows, *(None if a is None else a[part] for a in (y, weight)))
