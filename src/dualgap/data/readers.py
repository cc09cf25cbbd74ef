"""Files of any format as rows, some at a time or all at once."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from dualgap.data.arrays import Npy, Npz
from dualgap.data.chunk import Chunk, Entries, joined_entries
from dualgap.data.columnar import Columnar
from dualgap.data.delimited import Delimited
from dualgap.data.errors import InputError
from dualgap.data.files import first_bytes, naming
from dualgap.data.layout import Reading
from dualgap.data.store import Store, is_store
from dualgap.data.svmlight import svmlight_chunks

MAGIC = {b"\x93NUMPY": "npy", b"PK\x03\x04": "npz", b"PAR1": "parquet", b"ARROW1": "arrow"}
SUFFIXES = {
    **dict.fromkeys((".svm", ".svmlight", ".libsvm"), "svmlight"),
    **dict.fromkeys((".csv", ".tsv"), "csv"),
    **dict.fromkeys((".arrow", ".arrows", ".feather", ".ipc"), "arrow"),
    ".parquet": "parquet",
}
COMPRESSED = {".gz", ".bz2", ".xz", ".zst"}
PAIR = re.compile(rb"^[ \t]*[-+.,0-9eE]+([ \t]+qid:[0-9]+)?[ \t]+[0-9]+:[^ \t]", re.MULTILINE)


class Source(Protocol):
    """What gives rows: `d` columns if their number is known, with `names` if they have any; sparse ones count from `first_column`."""

    names: tuple[str, ...] | None
    d: int | None
    sparse: bool
    first_column: int | None

    def chunks(self) -> Iterator[Chunk]: ...


@dataclass(frozen=True)
class Svmlight:
    """Svmlight text as a source."""

    path: str
    d: int | None
    first_column: int | None
    threads: int | None
    names: None = None
    sparse: bool = True

    def chunks(self) -> Iterator[Chunk]:
        """The rows, some at a time."""
        return svmlight_chunks(self.path, first_column=self.first_column, features=self.d, threads=self.threads)


def _svmlight(path: str, reading: Reading) -> Svmlight:
    for option in ("target", "weight", "drop", "wanted"):
        if getattr(reading, option):
            raise InputError(path, f"svmlight text has no columns that {option} could name, got {getattr(reading, option)!r}")
    return Svmlight(path, reading.features, reading.first_column, reading.threads)


class StoredRows:
    """A store as a source of rows like any other; `load` hands it to solvers as it is."""

    def __init__(self, path: str, reading: Reading) -> None:
        for option in ("target", "drop", "wanted"):
            if getattr(reading, option) and not (option == "wanted" and reading.wanted == Store.open(path).names):
                raise InputError(path, f"a store has no columns that {option} could name, got {getattr(reading, option)!r}")
        self.store = Store.open(path, memory=reading.memory)
        if reading.supervised and self.store.y is None:
            raise InputError(path, "has no targets")
        self.names, self.d, self.sparse = self.store.names, self.store.shape[1], self.store.sparse
        self.first_column = self.store.first_column if self.sparse else None

    def chunks(self) -> Iterator[Chunk]:
        """The rows, some at a time."""
        for X, *beside in self.store.pieces():
            rows: Any = X
            if self.sparse:
                rows = Entries(X.indptr.astype(np.int64), X.indices + np.int32(self.store.first_column), X.data)
            yield Chunk(rows, *beside)


FORMATS: dict[str, Callable[[str, Reading], Any]] = {
    "svmlight": _svmlight,
    "csv": Delimited,
    "parquet": lambda path, reading: Columnar(path, reading, "parquet"),
    "arrow": lambda path, reading: Columnar(path, reading, "arrow"),
    "npz": Npz,
    "npy": Npy,
    "store": StoredRows,
}


def detect(path: str) -> str:
    """The format of a file: by its first bytes where a format has such, then by its name, then by its first lines; a folder is a store."""
    if is_store(path):
        return "store"
    head = first_bytes(path)
    for magic, format_ in MAGIC.items():
        if head.startswith(magic):
            return format_
    suffixes = [s.lower() for s in Path(path).suffixes if s.lower() not in COMPRESSED]
    if suffixes and suffixes[-1] in SUFFIXES:
        return SUFFIXES[suffixes[-1]]
    if PAIR.search(head):
        return "svmlight"
    first = next((line for line in head.splitlines() if line.strip()), b"")
    if any(delimiter in first for delimiter in (b",", b";", b"\t", b"|")):
        return "csv"
    raise InputError(path, f"neither its name nor its first bytes say what format it has (--format): {', '.join(FORMATS)}")


class Sources:
    """Several files, one after the other, as one source."""

    def __init__(self, paths: Sequence[str], reading: Reading) -> None:
        self.paths = list(paths)
        self.apart: npt.NDArray[np.float64] | None = None
        if reading.weight is not None and Path(reading.weight).is_file():
            self.apart = numbers_apart(reading.weight)
            reading = replace(reading, weight=None)
        self.sources: list[Source] = [_open(path, reading) for path in self.paths]
        first = self.sources[0]
        self.names, self.d, self.sparse, self.first_column = first.names, first.d, first.sparse, first.first_column
        for path, source in zip(self.paths[1:], self.sources[1:], strict=True):
            for what, words in (("sparse", "sparse rows"), ("d", "number of features"), ("names", "names of features")):
                ours, theirs = getattr(first, what), getattr(source, what)
                if ours != theirs:
                    raise InputError(path, f"does not go with {self.paths[0]}: {words} {_short(theirs)} instead of {_short(ours)}")

    def chunks(self) -> Iterator[Chunk]:
        """The rows, some at a time."""
        passed, words = 0, None
        for path, source in zip(self.paths, self.sources, strict=True):
            for chunk in source.chunks():
                if chunk.y is not None:
                    words = chunk.y.dtype == object if words is None else words
                    if words != (chunk.y.dtype == object):
                        raise InputError(path, "does not go with the rows before: the targets of one are numbers, those of the other text")
                yield chunk if self.apart is None else replace(chunk, weight=self._weights(passed, chunk.n))
                passed += chunk.n
        if self.apart is not None and passed != len(self.apart):
            raise InputError(", ".join(self.paths), f"has {passed} rows, and there are {len(self.apart)} weights")

    def _weights(self, start: int, count: int) -> npt.NDArray[np.float64]:
        assert self.apart is not None
        return self.apart[start : start + count]


def _open(path: str, reading: Reading) -> Source:
    format_ = detect(path) if reading.format == "auto" else reading.format
    source: Source = FORMATS[format_](path, reading)
    return source


def _short(value: Any) -> str:
    return f"{', '.join(value[:5])} ..." if isinstance(value, tuple) else str(value)


def numbers_apart(path: str) -> npt.NDArray[np.float64]:
    """The numbers of a file, npy or a number to a line."""
    if first_bytes(path, 8).startswith(b"\x93NUMPY"):
        with naming(path):
            return np.load(path, allow_pickle=False).astype(np.float64)  # type: ignore[no-any-return]
    return np.concatenate([np.zeros(0), *(chunk.y for chunk in svmlight_chunks(path) if chunk.y is not None)])


@dataclass(frozen=True)
class Table:
    """A data set in memory, but for its rows where X is a store."""

    X: Any
    y: npt.NDArray[Any] | None
    weight: npt.NDArray[np.float64] | None
    names: tuple[str, ...] | None
    first_column: int | None


def load(paths: Sequence[str], reading: Reading, dtype: Any = None) -> Table:
    """All rows of some files; `dtype` is float32 or float64, by default what the files have and float64 for text."""
    sources = Sources(paths, reading)
    if len(paths) == 1 and isinstance(sources.sources[0], StoredRows):
        return _table(sources.sources[0].store, sources.apart, dtype)
    rows: list[Any] = []
    targets: list[npt.NDArray[Any]] = []
    weights: list[npt.NDArray[np.float64]] = []
    for chunk in sources.chunks():
        values = chunk.rows.values if isinstance(chunk.rows, Entries) else chunk.rows
        narrowed = _narrowed(values, dtype, sources.paths)
        rows.append(chunk.rows._replace(values=narrowed) if isinstance(chunk.rows, Entries) else narrowed)
        targets += [] if chunk.y is None else [chunk.y]
        weights += [] if chunk.weight is None else [chunk.weight]
    if not rows:
        raise InputError(", ".join(paths), "has no rows")
    y, weight = (np.concatenate(parts) if parts else None for parts in (targets, weights))
    if not sources.sparse:
        return Table(_stacked(rows), y, weight, sources.names, None)
    first = first_column(rows, sources)
    kind = max(part.values.dtype for part in rows)
    return Table(joined_entries(rows, first, sources.d, kind), y, weight, None, first)


def _table(store: Store, apart: npt.NDArray[np.float64] | None, dtype: Any) -> Table:
    """A store and what it has beside its rows."""
    if dtype is not None and store.dtype != dtype:
        raise InputError(store.path, f"holds values that are read as {store.dtype}: convert it anew to have them as {np.dtype(dtype)}")
    if apart is not None and len(apart) != store.shape[0]:
        raise InputError(store.path, f"has {store.shape[0]} rows, and there are {len(apart)} weights")
    return Table(store, store.y, store.sample_weight if apart is None else apart, store.names, store.first_column if store.sparse else None)


def first_column(parts: Iterable[Entries], sources: Sources) -> int:
    """What the columns count from: as said, or 0 if there is a column 0, and else 1; an error if that leaves too few."""
    if sources.first_column is not None:
        return sources.first_column
    low, high = 1, 0
    for part in parts:
        low, high = min(low, int(part.indices.min(initial=1))), max(high, int(part.indices.max(initial=0)))
    return counted_from(low, high, sources)


def counted_from(low: int, high: int, sources: Sources) -> int:
    """What columns count from of which these are the lowest (1 if it is above) and the highest."""
    if sources.d is not None and high - low >= sources.d:
        raise InputError(
            ", ".join(sources.paths), f"a column 0 appears, so that an index must be at most {sources.d - 1}, but {sources.d} appears too"
        )
    return low


def _narrowed(values: npt.NDArray[Any], dtype: Any, paths: Sequence[str]) -> npt.NDArray[Any]:
    if dtype is None or values.dtype == dtype:
        return values
    with np.errstate(over="ignore"):
        narrowed = values.astype(dtype)
    if not np.all(np.isfinite(narrowed)):
        raise InputError(", ".join(paths), f"holds {values[~np.isfinite(narrowed)][0]}, which is too large for {np.dtype(dtype)}")
    return narrowed


def _stacked(parts: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Rows one after the other, each part given up once it is copied."""
    if len(parts) == 1:
        return parts[0]
    out = np.empty((sum(map(len, parts)), parts[0].shape[1]), dtype=max(part.dtype for part in parts))
    end = 0
    for part in map(parts.pop, repeat(0, len(parts))):
        begin, end = end, end + len(part)
        out[begin:end] = part
    return out
