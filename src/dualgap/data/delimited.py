"""Text with a delimiter (csv, tsv): a row to a line, numbers in all columns that are read, and a target that may be text."""

import csv
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dualgap.data.chunk import Chunk
from dualgap.data.errors import InputError, shown
from dualgap.data.files import PIECE, Lines, read_lines
from dualgap.data.layout import Layout, Reading, lay_out
from dualgap.kernels import text as kernels

DELIMITERS = ",;\t|"
LISTED = 1 << 12


class Delimited:
    """A csv file.

    The delimiter is the one of `,` `;` tab and `|` that the first line has most of. The first line is a header if none of its fields is a
    number.
    """

    sparse, first_column = False, None

    def __init__(self, path: str, reading: Reading) -> None:
        self.path = path
        lines = _first_lines(path, 2)
        if not lines:
            raise InputError(path, "has no rows")
        self.delimiter = reading.delimiter or max(DELIMITERS, key=lines[0].count)
        if len(self.delimiter) != 1 or self.delimiter.isalnum() or self.delimiter in '+-."\n' or not self.delimiter.isascii():
            raise InputError(path, f"the delimiter must be one character that is part of no number, got {self.delimiter!r}")
        rows = [[field.strip() for field in row] for row in csv.reader(lines, delimiter=self.delimiter, skipinitialspace=True)]
        self.header = reading.header if reading.header is not None else not any(map(_is_number, rows[0]))
        self.fields = len(rows[0])
        self.layout: Layout = lay_out(path, rows[0] if self.header else None, self.fields, reading)
        if self.header and len(rows) < 2:
            raise InputError(path, "has a header and no rows")
        first = rows[1] if self.header else rows[0]
        self.words = self.layout.target is not None and self.layout.target < len(first) and not _is_number(first[self.layout.target])
        self.names = self.layout.names
        self.d = len(self.layout.features)

    def chunks(self) -> Iterator[Chunk]:
        """The rows, some at a time."""
        passed, skip = 0, self.header
        for lines in read_lines(self.path, PIECE):
            at = 0
            if skip:
                at, passed, skip = _after_header(lines)
            while at < lines.stop:
                chunk, at, count = self._parse(lines, at, passed)
                passed += count
                if chunk.n:
                    yield chunk

    def _parse(self, lines: Lines, start: int, passed: int) -> tuple[Chunk, int, int]:
        """Rows from a position on, where they end, and how many lines they are."""
        size = (lines.stop - start) // (2 * max(1, self.d)) + 1
        values, extras = np.empty((size, self.d)), np.empty((size, 2))
        spans, slow = np.empty((size, 2), dtype=np.int64), np.empty((LISTED, 4), dtype=np.int64)
        places = self.layout.places(self.fields, words=self.words)
        delimiter = np.uint8(ord(self.delimiter))
        found = kernels.delimited(*lines, start, delimiter, places, values, extras, spans, slow)
        why, at, field, count, rows, listed = map(int, found)
        faults = [(at, field, why)] if why > kernels.FULL else []
        for row, place, begin, end in slow[:listed].tolist():
            number = float(lines.buffer[begin:end].tobytes())
            if not math.isfinite(number):
                faults.append((begin, int(np.flatnonzero(places == place)[0]), kernels.NUMBER))
            (values if place < self.d else extras)[row, place if place < self.d else place - self.d] = number
        if faults:
            raise self._fault(lines, start, passed, _Fault(*min(faults)))
        target: npt.NDArray[Any] | None = None
        if self.words:
            target = np.array([lines.buffer[a:b].tobytes().decode("utf-8", "replace") for a, b in spans[:rows].tolist()], dtype=object)
        elif self.layout.target is not None:
            target = extras[:rows, 0].copy()
        return Chunk(values[:rows], target, extras[:rows, 1].copy() if self.layout.weight is not None else None), at, count

    def _fault(self, lines: Lines, start: int, passed: int, fault: "_Fault") -> InputError:
        text = lines.text()
        line_start, line_end = text.rfind(b"\n", 0, fault.at) + 1, text.index(b"\n", fault.at)
        place = {"line": passed + 1 + text.count(b"\n", start, fault.at), "column": fault.at - line_start + 1}
        if fault.kind == kernels.QUOTES:
            return InputError(self.path, "a field in quotes must end before the line does, and the delimiter follow it", **place)
        if fault.kind == kernels.FIELDS:
            count = len(next(csv.reader([text[line_start:line_end].decode("utf-8", "replace")], delimiter=self.delimiter)))
            return InputError(self.path, f"a row must have {self.fields} fields as the first line has, got {count}", line=place["line"])
        content = shown(text[fault.at : line_end].split(self.delimiter.encode())[0].strip(b' \t\r"'))
        if self.layout.target == fault.field:
            return InputError(self.path, f"the target must be a finite number as in the first row, got {content}", **place)
        name = f"column {fault.field}" if self.layout.names is None else f"column {self._name(fault.field)!r}"
        return InputError(self.path, f"{name} must hold finite numbers, got {content} (a column that is no feature: --drop)", **place)

    def _name(self, field: int) -> str:
        assert self.layout.names is not None
        return "weight" if field == self.layout.weight else self.layout.names[self.layout.features.index(field)]


class _Fault(NamedTuple):
    """Where in a text, in which field, and what is wrong."""

    at: int
    field: int
    kind: int


def _first_lines(path: str, count: int) -> list[str]:
    """The first lines that are not blank, as many as there are of this number."""
    found: list[str] = []
    for lines in read_lines(path):
        found += [line for line in lines.text().decode("utf-8", "replace").split("\n") if line.strip()][: count - len(found)]
        if len(found) == count:
            break
    return found


def _after_header(lines: Lines) -> tuple[int, int, bool]:
    """Where the first line that is not blank ends, the number of lines up to there, and whether it is still to come."""
    at = passed = 0
    for line in lines.text().split(b"\n")[:-1]:
        at, passed = at + len(line) + 1, passed + 1
        if line.strip():
            return at, passed, False
    return at, passed, True


def _is_number(field: str) -> bool:
    try:
        return math.isfinite(float(field)) and "_" not in field
    except ValueError:
        return False
