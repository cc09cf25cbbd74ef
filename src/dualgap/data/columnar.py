"""Parquet and Arrow files, by the package pyarrow of the extra 'io'."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from dualgap.data.chunk import Chunk
from dualgap.data.errors import InputError
from dualgap.data.files import naming
from dualgap.data.layout import Reading, lay_out

ROWS = 1 << 14


class Columnar:
    """A table in columns: parquet, or Arrow's file format (feather) or stream."""

    sparse, first_column = False, None

    def __init__(self, path: str, reading: Reading, format: str) -> None:
        try:
            import pyarrow
        except ImportError:
            raise InputError(path, f"{format} needs pyarrow: pip install 'dualgap[io]'") from None
        self.path, self.format, self.arrow = path, format, pyarrow
        with naming(path):
            schema = self._schema()
        self.all_names = [str(name) for name in schema.names]
        self.layout = lay_out(path, self.all_names, len(self.all_names), reading)
        assert self.layout.names is not None
        self.names, self.d = self.layout.names, len(self.layout.features)
        for j in (*self.layout.features, *([] if self.layout.weight is None else [self.layout.weight])):
            type_ = schema.field(j).type
            if not _is_numeric(pyarrow.types, type_):
                raise InputError(path, f"column {self.all_names[j]!r} must hold numbers, not {type_} (a column that is no feature: --drop)")
        narrow = {str(schema.field(j).type) for j in self.layout.features} <= {"float", "halffloat"}
        self.dtype = np.dtype(np.float32 if narrow else np.float64)

    def _schema(self) -> Any:
        if self.format == "parquet":
            from pyarrow import parquet

            return parquet.read_schema(self.path)
        with self._opened() as file:
            return file.schema

    def _opened(self) -> Any:
        """An Arrow file, or a stream, which has no index at its end."""
        try:
            return self.arrow.ipc.open_file(self.arrow.memory_map(self.path))
        except self.arrow.ArrowInvalid:
            return self.arrow.ipc.open_stream(self.arrow.memory_map(self.path))

    def _batches(self) -> Iterator[Any]:
        if self.format == "parquet":
            from pyarrow import parquet

            used = {*self.layout.features, *(j for j in (self.layout.target, self.layout.weight) if j is not None)}
            with parquet.ParquetFile(self.path) as file:
                yield from file.iter_batches(ROWS, columns=[self.all_names[j] for j in sorted(used)])
            return
        with self._opened() as file:
            batches = (file.get_batch(k) for k in range(file.num_record_batches)) if hasattr(file, "num_record_batches") else iter(file)
            for batch in batches:
                for start in range(0, batch.num_rows, ROWS):
                    yield batch.slice(start, ROWS)

    def chunks(self) -> Iterator[Chunk]:
        """The rows, some at a time."""
        passed = 0
        batches = self._batches()
        while True:
            with naming(self.path):
                batch = next(batches, None)
            if batch is None:
                return
            values = np.empty((batch.num_rows, self.d), dtype=self.dtype)
            for k, j in enumerate(self.layout.features):
                values[:, k] = self._numbers(batch, j, passed)
            weight = None if self.layout.weight is None else self._numbers(batch, self.layout.weight, passed)
            target = None if self.layout.target is None else self._target(batch, self.layout.target, passed)
            passed += batch.num_rows
            yield Chunk(values, target, weight)

    def _column(self, batch: Any, j: int, passed: int) -> Any:
        column = batch.column(self.all_names[j])
        if column.null_count:
            row = passed + int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
            raise InputError(self.path, f"column {self.all_names[j]!r} must have no missing values, got one in row {row}")
        return column

    def _numbers(self, batch: Any, j: int, passed: int) -> npt.NDArray[np.float64]:
        values = self._column(batch, j, passed).to_numpy(zero_copy_only=False).astype(np.float64)
        if not np.all(np.isfinite(values)):
            row = int(np.argmin(np.isfinite(values)))
            raise InputError(self.path, f"column {self.all_names[j]!r} must hold finite numbers, got {values[row]} in row {passed + row}")
        return np.asarray(values)

    def _target(self, batch: Any, j: int, passed: int) -> npt.NDArray[Any]:
        if _is_numeric(self.arrow.types, batch.schema.field(self.all_names[j]).type):
            return self._numbers(batch, j, passed)
        return np.array([str(label) for label in self._column(batch, j, passed).to_pylist()], dtype=object)


def _is_numeric(types: Any, type_: Any) -> bool:
    return bool(types.is_integer(type_) or types.is_floating(type_) or types.is_boolean(type_) or types.is_decimal(type_))
