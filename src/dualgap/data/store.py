"""A data set in a folder, in checked chunks of rows: what solvers run on where it does not fit into memory.

    index                       types, names, and for each chunk its rows, entries, bytes and checksum; a container (see `container`)
    chunks                      the chunks one after the other (see `coding`)
    targets, weights, norms     a float64 for each row: the targets (or the number of a label), the weights, |x_i|^2

The folder is written beside its name, as NAME.part, and gets its name when it is complete. Nothing in it is ever run, and what makes no
sense is refused by name, so that it is safe to read from strangers.
"""

import zlib
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dualgap.data.coding import INDICES, VALUES, Buffer, Coding, DamagedError, Size
from dualgap.data.container import read_container
from dualgap.data.errors import InputError
from dualgap.data.files import naming
from dualgap.data.memory import available_memory
from dualgap.rows import as_matrix

WHAT = "the index of a store of dualgap"
VERSION = 1
DRAFT = ".part"
LEAST_MEMORY, ROW_BYTES = 1 << 24, 80
MOST = 1 << 40
COUNTS = ("rows", "entries", "codes", "bytes", "checks")


class Store:
    """A data set on disk, of any size: `dualgap.solve(store, loss=..., penalty=...)`.

    A store that fits into `memory` is read whole when it is solved; another one is read chunk by chunk, in a random order, once for each
    pass.

    Attributes
    ----------
    path : str
    shape : (int, int)
    nnz : int
        The number of entries that are stored.
    dtype : numpy dtype
        The type of the values as solvers see them.
    values, indices : str
        The types on disk.
    names : tuple of str or None
        The names of the features.
    labels : tuple of str or None
        The classes, where the targets are texts.
    first_column : int
        What the text that the store was made of counts its columns from.
    rounded : int
        How many values had to be rounded to their type on disk.

    Examples
    --------
    >>> import tempfile, dualgap as dg
    >>> X, y = [[0.0, 1.0], [2.0, 0.0], [3.0, 0.5]], [-1.0, 1.0, 1.0]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = dg.Store.write(f"{folder}/a.store", X, y, values="float32")
    ...     s = dg.solve(store, loss=dg.Logistic(), penalty=dg.L2(0.1))
    >>> s.status.name, store.shape
    ('CERTIFIED', (3, 2))
    """

    def __init__(self, path: Any, memory: int | None = None) -> None:
        self.path = str(path)
        arrays, record = self._read_index()
        try:
            self._take(arrays, record)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(self._file("index"), f"is {WHAT} that makes no sense: {error}") from None
        self._check_sizes()
        available = available_memory()
        # what will have left the memory when it is wanted again only pushes out what others keep there
        self.passing = int(self.places[-1]) > 2 * available
        if memory is None:
            memory = max(LEAST_MEMORY, (available - ROW_BYTES * self.shape[0]) // 2)
        elif not isinstance(memory, (int, np.integer)) or isinstance(memory, bool) or memory < 1:
            raise ValueError(f"memory must be a number of bytes, got {memory!r}")
        self.memory = int(memory)
        self.seen = np.zeros(len(self), dtype=bool)

    @classmethod
    def open(cls, path: Any, *, memory: int | None = None) -> Self:
        """Open a store.

        Parameters
        ----------
        path : path
            The folder.
        memory : int, optional
            How many bytes of rows a solve may hold at a time, beside some 80 bytes for each row of the data; by default half of what is
            available when the store is opened.
        """
        return cls(path, memory)

    @classmethod
    def write(cls, path: Any, X: Any, y: Any = None, sample_weight: Any = None, **options: Any) -> Self:
        """Write a store.

        Parameters
        ----------
        path : path
            The folder to be made.
        X : matrix, or iterable of pieces
            An array or a scipy sparse matrix; or pieces (X, y) or (X, y, sample_weight) one after the other, of which only one is in memory
            at a time.
        y, sample_weight : arrays of n numbers, optional
            The targets, which may be texts, and the weights.
        values : {"float64", "float32", "float16", "bfloat16"}, optional
            The type of the values on disk, by default that of X. Values that this rounds are counted in `rounded`; a certificate is for
            the rounded ones.
        indices : {"delta16", "uint32"}
            Columns as 16-bit differences, or as they are.
        chunk_bytes : int
            About the size of a chunk, 64 KB to 512 KB.
        names : sequence of str, optional
            The names of the features.
        overwrite : bool
            Whether a store that is there already may be replaced.

        Returns
        -------
        Store
        """
        from dualgap.data.writer import write_arrays

        write_arrays(path, X, y, sample_weight, **options)
        return cls(path)

    def __len__(self) -> int:
        """The number of chunks."""
        return len(self.counts["rows"])

    def __repr__(self) -> str:
        n, d = self.shape
        kinds = self.values if self.indices is None else f"{self.values} and {self.indices}"
        return f"Store({self.path!r}: {n:,} rows, {d:,} features, {self.nnz:,} entries of {kinds} in {len(self):,} chunks)"

    def _file(self, name: str) -> str:
        return str(Path(self.path) / name)

    def _read_index(self) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        folder = Path(self.path)
        if not folder.exists() and Path(self.path + DRAFT).is_dir():
            raise InputError(self.path, f"is not there: {self.path + DRAFT} is what was written of it before the writing was cut off")
        if folder.is_dir() and not (folder / "index").exists():
            cut_off = "is a store whose writing was cut off" if (folder / "chunks").exists() else "is a folder that holds no store"
            raise InputError(self.path, cut_off)
        return read_container(folder / "index" if folder.is_dir() else folder, WHAT)

    def _take(self, arrays: dict[str, npt.NDArray[Any]], record: dict[str, Any]) -> None:
        if record["version"] != VERSION:
            raise InputError(self.path, f"is a store of version {record['version']}, and this one reads {VERSION}")
        n, d = int(record["rows"]), int(record["columns"])
        self.shape = (n, d)
        self.values, self.indices = record["values"], record["indices"]
        if self.values not in VALUES or (self.indices is not None and self.indices not in INDICES) or not 0 < d < 2**31 or n < 1:
            raise ValueError("its types or its shape are none that there are")
        self.first_column = int(record["first_column"])
        self.coding = Coding(self.values, self.indices, d, self.first_column)
        counts = [arrays[name].astype(np.int64) for name in COUNTS]
        self.counts = dict(zip(COUNTS, counts, strict=True))
        self.places = np.concatenate([np.zeros(1, np.int64), np.cumsum(self.counts["bytes"])])
        self.starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(self.counts["rows"])])
        rows, entries, codes, lengths, _ = counts
        if any(np.any((a < 0) | (a > MOST)) for a in counts) or np.any(rows == 0) or rows.sum() != n:
            raise ValueError("its chunks do not hold its rows")
        if np.any(self.coding.parts(Size(rows, entries, codes))[3] != lengths):
            raise ValueError("the bytes of a chunk do not go with its rows and entries")
        if self.indices is None and np.any(entries != rows * d):
            raise ValueError("a chunk of dense rows has not as many entries as they have")
        self.nnz, self.squares = int(self.counts["entries"].sum()), float(record["squares"])
        self.rounded = int(record["rounded"])
        self.names = None if record["names"] is None else tuple(map(str, record["names"]))
        self.labels = None if record["labels"] is None else tuple(map(str, record["labels"]))
        if self.names is not None and len(self.names) != d:
            raise ValueError("it has not as many names as columns")
        self.checksums: dict[str, str] = {str(k): str(v) for k, v in record["checksums"].items()}
        if not set(self.checksums) <= {"targets", "weights", "norms"} or "norms" not in self.checksums:
            raise ValueError("its parts are none that there are")

    def _check_sizes(self) -> None:
        for name, expected in {"chunks": int(self.places[-1]), **dict.fromkeys(self.checksums, 8 * self.shape[0])}.items():
            with naming(self._file(name)):
                size = Path(self._file(name)).stat().st_size
            if size != expected:
                how = "is cut short" if size < expected else "is too long"
                raise InputError(self._file(name), f"{how}: it must have {expected:,} bytes, got {size:,}")

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.coding.dtype

    @property
    def sparse(self) -> bool:
        return self.indices is not None

    @property
    def matrix_bytes(self) -> int:
        """What the rows take in memory as a matrix."""
        return self.nnz * self.coding.entry_bytes + 4 * self.shape[0]

    @property
    def fits(self) -> bool:
        """Whether the rows fit into the memory a solve may take."""
        return self.matrix_bytes <= self.memory

    @cached_property
    def y(self) -> npt.NDArray[Any] | None:
        """The targets: numbers, or labels as text."""
        if "targets" not in self.checksums:
            return None
        values = self._numbers("targets")
        if self.labels is None:
            return values
        codes = values.astype(np.int64)
        if np.any(codes != values) or np.any(codes < 0) or np.any(codes >= len(self.labels)):
            raise InputError(self._file("targets"), f"must hold numbers of the {len(self.labels)} labels")
        return np.array(self.labels, dtype=object)[codes]

    @cached_property
    def sample_weight(self) -> npt.NDArray[np.float64] | None:
        """The weights, if there are any."""
        return self._numbers("weights") if "weights" in self.checksums else None

    @cached_property
    def norms2(self) -> npt.NDArray[np.float64]:
        """The squared norm of each row."""
        return self._numbers("norms")

    def _numbers(self, name: str) -> npt.NDArray[np.float64]:
        path = self._file(name)
        with naming(path):
            values = np.fromfile(path, dtype="<f8").astype(np.float64, copy=False)
        if len(values) != self.shape[0] or f"{zlib.crc32(values.astype('<f8', copy=False).data):08x}" != self.checksums[name]:
            raise InputError(path, "is damaged: its checksum is not that of the index")
        if not np.all(np.isfinite(values)):
            raise InputError(path, f"must hold finite numbers, got {values[~np.isfinite(values)][0]}")
        return values

    def _size(self, chunk: int) -> Size:
        return Size(*(int(self.counts[name][chunk]) for name in COUNTS[:3]))

    def _check_sum(self, chunk: int, raw: npt.NDArray[np.uint8]) -> None:
        if zlib.crc32(raw.data) != self.counts["checks"][chunk]:
            raise DamagedError("its checksum is not that of the index")

    def decode(self, chunk: int, raw: npt.NDArray[np.uint8], buffer: Buffer) -> None:
        """Check the bytes of a chunk and put its rows behind those of a buffer."""
        try:
            self._check_sum(chunk, raw)
            # rows that were right once need not be looked at again: the checksum says that they are the same
            norms2 = None if self.seen[chunk] else self.norms2[self.starts[chunk] : self.starts[chunk + 1]]
            buffer.add(raw, self._size(chunk), norms2)
        except DamagedError as error:
            begin, end = self.places[chunk : chunk + 2]
            raise InputError(self._file("chunks"), f"chunk {chunk} (bytes {begin:,} to {end:,}) is damaged: {error}") from None
        self.seen[chunk] = True

    def load(self) -> Any:
        """The rows as a matrix in memory."""
        from dualgap.data.stream import load

        return load(self)

    def pieces(self) -> Iterator[tuple[Any, Any, Any]]:
        """The data set in matrices of some rows, each with its targets and weights (None where there are none)."""
        from dualgap.data.stream import Stream

        for part, rows in Stream(self).pieces():
            yield as_matrix(rows, self.shape[1]).copy(), *(None if a is None else a[part] for a in (self.y, self.sample_weight))


def is_store(path: Any) -> bool:
    """Whether a path is a folder, which no other format is, or was to become a store."""
    return Path(path).is_dir() or Path(f"{path}{DRAFT}").is_dir()
