"""Text in the format of svmlight and libsvm: `target index:value index:value ... # comment`, a row to a line.

What the wild contains is taken as it is meant: comments, `qid:`, blank lines, Windows line ends, a byte order mark, tabs, columns in any
order, columns that count from 0 or 1. What can not be meant is an error that names the file, the line and the column (in bytes) of the
first byte that is wrong: a value that is not a finite number, several targets, a column that a row has twice.
"""

import math
import os
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dualgap.cores import cores
from dualgap.data.chunk import Chunk, Entries
from dualgap.data.errors import InputError, shown
from dualgap.data.files import PIECE, Lines, in_order, read_lines
from dualgap.kernels import text as kernels

MESSAGES = {
    kernels.TARGET: "the target must be a finite number, got {field}",
    kernels.SEVERAL_TARGETS: "a row must have one target, got {field}",
    kernels.NO_TARGET: "a row must begin with its target, got {field}",
    kernels.QUERY: "expected qid: and a whole number, got {field}",
    kernels.INDEX: "expected index:value with a whole number as the index, got {field}",
    kernels.SMALL_INDEX: "an index must be at least {low}, got {field}",
    kernels.LARGE_INDEX: "an index must be at most {high}, got {field}",
    kernels.VALUE: "a value must be a finite number, got {field}",
    kernels.REPEATED: "a row must have each column once, got {field} again",
}
BLANKS = b" \t\r\v\f\n#"
FIELD = re.compile(rb"(?<![^ \t\r\v\f])([0-9]+):[^ \t\r\v\f#]+|#.*")
LISTED, SLAB, LARGEST, MOST_THREADS = 256, 1 << 21, 2**31 - 2, 4


def read_svmlight(
    files: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    features: int | None = None,
    first_column: int | None = None,
    dtype: Any = np.float64,
) -> "tuple[sp.csr_array[Any], npt.NDArray[np.float64]]":
    r"""Read files in the format of svmlight and libsvm.

    Parameters
    ----------
    files : path, or several
        Plain, or compressed by gzip, bzip2, xz or zstd; several are read one after the other.
    features : int, optional
        The number of columns; by default as many as appear.
    first_column : {0, 1}, optional
        What the columns count from; by default 0 if a column 0 appears in any of the files, and else 1.
    dtype : float64 or float32
        The type of the values.

    Returns
    -------
    X : scipy CSR array
        Its rows sorted by column, without repeated columns; zeros that the files state are kept.
    y : array of float64
        The targets.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", delete=False) as file:
    ...     _ = file.write("+1 3:0.5 1:2 # a comment\n-1 qid:7 2:25e-2\n")
    >>> X, y = read_svmlight(file.name)
    >>> X.toarray(), y
    (array([[2.  , 0.  , 0.5 ],
           [0.  , 0.25, 0.  ]]), array([ 1., -1.]))
    """
    if features is not None and not (isinstance(features, (int, np.integer)) and features >= 1):
        raise ValueError(f"features must be a positive whole number, got {features!r}")
    if first_column not in (None, 0, 1):
        raise ValueError(f"first_column must be 0, 1 or None, got {first_column!r}")
    if np.dtype(dtype) not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ValueError(f"dtype must be float32 or float64, got {dtype!r}")
    from dualgap.data.layout import Reading
    from dualgap.data.readers import load

    paths = [os.fspath(files)] if isinstance(files, (str, os.PathLike)) else [os.fspath(f) for f in files]
    table = load(paths, Reading("svmlight", features=features, first_column=first_column), dtype)
    assert table.y is not None
    return table.X, table.y


def svmlight_chunks(
    path: str, *, first_column: int | None = None, features: int | None = None, size: int = PIECE, threads: int | None = None
) -> Iterator[Chunk]:
    """The rows of a file, some at a time, their columns numbered as in the file; within bounds where these are said."""
    low = first_column or 0
    high = LARGEST if features is None else features - (first_column == 0)
    idle: list[_Work] = []

    def parse(lines: Lines) -> tuple[list[Chunk], int, _Fault | None]:
        work = idle.pop() if idle else _Work()
        try:
            return work.parse(lines, low, high)
        finally:
            idle.append(work)

    passed = 0
    for chunks, count, fault in in_order(parse, read_lines(path, size), threads or min(MOST_THREADS, cores())):
        yield from chunks
        if fault is not None:
            message = MESSAGES[fault.kind].format(field=fault.field, low=low, high=high)
            raise InputError(path, message, line=passed + fault.line, column=fault.column)
        passed += count


class _Fault(NamedTuple):
    """What is wrong, with which field, and where in a piece of text."""

    kind: int
    field: str
    line: int
    column: int


def _fault(text: bytes, kind: int, at: int) -> _Fault:
    """What is wrong at a position."""
    begin, end = at, at
    while begin > 0 and text[begin - 1] not in BLANKS:
        begin -= 1
    while text[end] not in BLANKS:
        end += 1
    field = shown(text[begin:end]) if end > begin else "the end of the line"
    return _Fault(kind, field, 1 + text.count(b"\n", 0, at), at - text.rfind(b"\n", 0, at))


class _Work:
    """The arrays that the kernel fills. Those of entries are slabs for several pieces, so that a chunk holds views and no copies."""

    def __init__(self) -> None:
        self.size = 0
        self.slow = np.empty((LISTED, 3), dtype=np.int64)
        self.indices, self.values = np.empty(0, dtype=np.int32), np.empty(0)

    def _make_room(self, size: int) -> None:
        """Have arrays for all that may be in a text of this size."""
        if self.size < size:
            rows = size // 2 + 1
            self.size, self.y = size, np.empty(rows)
            self.starts, self.indptr = np.empty(rows, dtype=np.int64), np.empty(rows + 1, dtype=np.int64)
        if len(self.indices) <= size // 4:
            self.indices = np.empty(max(SLAB, size // 4 + 1), dtype=np.int32)
            self.values = np.empty(len(self.indices))

    def parse(self, lines: Lines, low: int, high: int) -> tuple[list[Chunk], int, _Fault | None]:
        """The rows of a piece of text, the number of its lines, and what is wrong where it is: then there are only rows before that."""
        chunks: list[Chunk] = []
        at = count = 0
        while at < lines.stop:
            self._make_room(lines.stop - at)
            arrays = (self.y, self.starts, self.indptr, self.indices, self.values, self.slow)
            why, at, read, rows, entries, listed, disordered = map(int, kernels.svmlight(*lines, at, low, high, *arrays))
            # faults in the order in which a reader of the file would meet them; one of a whole line counts at its end
            faults = [(at, why, at)] if why > kernels.FULL else []
            faults += self._round_listed(lines, listed)
            faults += self._sort(lines, rows) if disordered else []
            if faults:
                return chunks, count, _fault(lines.text(), *min(faults)[1:])
            if why == kernels.FULL and rows == 0:
                self.slow = np.empty((4 * len(self.slow), 3), dtype=np.int64)
            count += read
            if rows:
                found = Entries(self.indptr[: rows + 1].copy(), self.indices[:entries], self.values[:entries])
                chunks.append(Chunk(found, self.y[:rows].copy()))
            self.indices, self.values = self.indices[entries:], self.values[entries:]
        return chunks, count, None

    def _round_listed(self, lines: Lines, listed: int) -> list[tuple[int, int, int]]:
        """Round the numbers that the kernel could not; those that are too large for a float are faults."""
        faults = []
        for entry, begin, end in self.slow[:listed].tolist():
            number = float(lines.buffer[begin:end].tobytes())
            if not math.isfinite(number):
                faults.append((begin, kernels.VALUE if entry >= 0 else kernels.TARGET, begin))
            (self.values if entry >= 0 else self.y)[entry if entry >= 0 else ~entry] = number
        return faults

    def _sort(self, lines: Lines, rows: int) -> list[tuple[int, int, int]]:
        """Sort rows by column; the first one that has a column twice is a fault."""
        indptr, entries = self.indptr[: rows + 1], int(self.indptr[rows])
        width = int(self.indices[:entries].max()) + 1
        matrix = sp.csr_array((self.values[:entries], self.indices[:entries], indptr.astype(np.int32)), shape=(rows, width))
        matrix.sort_indices()
        self.indices[:entries], self.values[:entries] = matrix.indices, matrix.data
        same = self.indices[1:entries] == self.indices[: entries - 1]
        same[indptr[(indptr > 0) & (indptr < entries)] - 1] = False
        if not np.any(same):
            return []
        row = int(np.searchsorted(indptr, np.argmax(same), side="right")) - 1
        text, start = lines.text(), ~int(self.starts[row])
        end = text.index(b"\n", start)
        return [(end, kernels.REPEATED, _repeated(text, start, end))]


def _repeated(text: bytes, start: int, end: int) -> int:
    """Where the first field of a line begins whose column the line had before."""
    seen: set[int] = set()
    for field in FIELD.finditer(text, start, end):
        if int(field[1]) in seen:
            return field.start()
        seen.add(int(field[1]))
    raise AssertionError(f"no column appears twice in {text[start:end]!r}")
