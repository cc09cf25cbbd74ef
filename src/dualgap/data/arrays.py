"""Arrays of numpy: npy files, which are read in place, and npz files with a matrix, dense or sparse, and its targets."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dualgap.data.chunk import Chunk, Entries, sliced
from dualgap.data.errors import InputError
from dualgap.data.files import naming
from dualgap.data.layout import USUAL_TARGETS, Reading, lay_out

BYTES = 1 << 22


class Npy:
    """An array of numbers of two dimensions; the target is one of its columns, or another npy file."""

    sparse, first_column = False, None

    def __init__(self, path: str, reading: Reading) -> None:
        self.path = path
        with naming(path):
            self.values = np.load(path, mmap_mode="r", allow_pickle=False)
        _check_numbers(path, self.values, 2)
        self.apart: npt.NDArray[Any] | None = None
        if reading.target is not None and Path(reading.target).suffix == ".npy":
            with naming(reading.target):
                apart_values = np.load(reading.target, allow_pickle=False)
            self.apart = _check_length(reading.target, apart_values, len(self.values))
            reading = Reading(**{**vars(reading), "target": None, "supervised": False})
        self.layout = lay_out(path, None, self.values.shape[1], reading)
        self.names, self.d = None, len(self.layout.features)

    def chunks(self) -> Iterator[Chunk]:
        """The rows, some at a time."""
        size = max(1, BYTES // (8 * self.values.shape[1]))
        whole = self.layout.features == tuple(range(self.values.shape[1]))
        dtype = np.float32 if self.values.dtype == np.float32 else np.float64
        for start in range(0, len(self.values), size):
            rows = np.asarray(self.values[start : start + size])
            _check_finite(self.path, rows, start)
            features = rows if whole else rows[:, self.layout.features]
            extras = (None if j is None else rows[:, j].astype(np.float64) for j in (self.layout.target, self.layout.weight))
            target, weight = extras
            if self.apart is not None:
                target = self.apart[start : start + size]
            yield Chunk(np.ascontiguousarray(features, dtype=dtype), target, weight)


class Npz:
    """An archive of arrays: `X` or a matrix that scipy saved, and the target as `y` or a key that the caller says."""

    def __init__(self, path: str, reading: Reading) -> None:
        self.path, self.names = path, None
        with naming(path):
            archive = np.load(path, allow_pickle=False)
        with archive, naming(path):
            keys = list(archive.keys())
            if "X" in keys:
                self.X: Any = archive["X"]
                _check_numbers(path, self.X, 2)
            elif {"format", "shape", "data"} <= set(keys):
                from scipy.sparse import load_npz

                matrix: Any = load_npz(path)
                self.X = matrix.tocsr()
                _check_numbers(path, self.X.data, 1)
            else:
                raise InputError(path, f"must hold X, or a matrix saved by scipy.sparse.save_npz, got {', '.join(keys)}")
            n, self.d = self.X.shape
            self.sparse, self.first_column = not isinstance(self.X, np.ndarray), 0
            self.y = self._vector(archive, "target", reading.target or next((k for k in USUAL_TARGETS if k in keys), None), n)
            self.weight = self._vector(archive, "weight", reading.weight, n)
        if self.y is None and reading.supervised:
            raise InputError(path, f"say which key holds the targets (--target), got {', '.join(keys)}")

    def _vector(self, archive: Any, what: str, key: str | None, n: int) -> npt.NDArray[Any] | None:
        if key is None:
            return None
        if key not in archive:
            raise InputError(self.path, f"{what} must be a key of the file, {', '.join(archive.keys())}; got {key!r}")
        return _check_length(self.path, archive[key], n)

    def chunks(self) -> Iterator[Chunk]:
        """The rows, some at a time."""
        if isinstance(self.X, np.ndarray):
            _check_finite(self.path, self.X, 0)
            X = self.X if self.X.dtype in (np.float32, np.float64) else self.X.astype(np.float64)
            whole = Chunk(np.ascontiguousarray(X), self.y, self.weight)
        else:
            self.X.sum_duplicates()
            _check_finite(self.path, self.X.data, 0)
            values = self.X.data if self.X.dtype in (np.float32, np.float64) else self.X.data.astype(np.float64)
            whole = Chunk(Entries(self.X.indptr.astype(np.int64), self.X.indices.astype(np.int32), values), self.y, self.weight)
        width = self.d if isinstance(self.X, np.ndarray) else max(1, self.X.nnz // max(1, whole.n))
        yield from sliced(whole, max(1, BYTES // (8 * width)))


def _check_numbers(path: str, values: npt.NDArray[Any], dimensions: int) -> None:
    if values.dtype.kind not in "fiub":
        raise InputError(path, f"must hold real numbers, got dtype {values.dtype}")
    if values.ndim != dimensions or 0 in values.shape:
        raise InputError(path, f"must hold an array of {dimensions} dimensions that is not empty, got shape {values.shape}")


def _check_length(path: str, values: npt.NDArray[Any], n: int) -> npt.NDArray[Any]:
    values = values.ravel() if values.ndim == 2 and 1 in values.shape else values
    if values.shape != (n,):
        raise InputError(path, f"must hold a number for each of the {n} rows, got shape {values.shape}")
    if values.dtype.kind in "US":
        return values.astype(str).astype(object)
    if values.dtype.kind not in "fiub":
        raise InputError(path, f"must hold real numbers or text, got dtype {values.dtype}")
    if not np.all(np.isfinite(values)):
        raise InputError(path, f"must hold finite numbers, got {values[~np.isfinite(values)][0]}")
    return values.astype(np.float64)


def _check_finite(path: str, values: npt.NDArray[Any], start: int) -> None:
    if not np.all(np.isfinite(values)):
        place = np.argwhere(~np.isfinite(values))[0]
        where = f"row {start + place[0]}, column {place[1]}" if values.ndim == 2 else f"entry {place[0]}"
        raise InputError(path, f"must hold finite numbers, got {values[tuple(place)]} in {where}")
