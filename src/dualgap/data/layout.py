"""How input is to be read, and which columns of a table are features, target and weight."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dualgap.data.errors import InputError
from dualgap.kernels.text import SKIPPED, WORDS

USUAL_TARGETS = ("target", "label", "y", "class")


@dataclass(frozen=True)
class Reading:
    """What the caller says about input.

    Attributes
    ----------
    format : str
        One of `readers.FORMATS`, or "auto": what the names and the first bytes of the files say.
    target, weight : str, optional
        A column of a table, by its name or its index; a key of an npz file; or a file of numbers.
    drop : tuple of str
        Columns of a table that are no features.
    features : int, optional
        The number of columns of svmlight text.
    first_column : {0, 1}, optional
        What the columns of svmlight text count from.
    header : bool, optional
        Whether a csv file begins with the names of its columns.
    delimiter : str, optional
        What separates the fields of a csv file.
    wanted : tuple of str, optional
        The features to read, in this order, whatever else there is: those of a model.
    supervised : bool
        Whether there must be a target.
    threads : int, optional
        Threads that parse text.
    memory : int, optional
        Bytes of rows of a store that a solve may hold at a time.
    """

    format: str = "auto"
    target: str | None = None
    weight: str | None = None
    drop: tuple[str, ...] = ()
    features: int | None = None
    first_column: int | None = None
    header: bool | None = None
    delimiter: str | None = None
    wanted: tuple[str, ...] | None = None
    supervised: bool = True
    threads: int | None = None
    memory: int | None = None


@dataclass(frozen=True)
class Layout:
    """Where the fields of a table go: `features` are fields in the order of the coefficients, `target` and `weight` fields or None."""

    features: tuple[int, ...]
    names: tuple[str, ...] | None
    target: int | None
    weight: int | None

    def places(self, fields: int, *, words: bool) -> npt.NDArray[np.int64]:
        """For each field the column its number goes to, target and weight behind the features; WORDS for a target that is text."""
        places = np.full(fields, SKIPPED, dtype=np.int64)
        d = len(self.features)
        places[list(self.features)] = np.arange(d)
        if self.target is not None:
            places[self.target] = WORDS if words else d
        if self.weight is not None:
            places[self.weight] = d + 1
        return places


def lay_out(path: str, names: Sequence[str] | None, fields: int, reading: Reading) -> Layout:
    """The layout of a table with these names of columns, or none and only a number of them."""
    if names is not None and len(set(names)) < len(names):
        twice = next(name for name in names if list(names).count(name) > 1)
        raise InputError(path, f"each column must have a name of its own, got {twice!r} twice")

    def place(what: str, column: str) -> int:
        if names is not None and column in names:
            return names.index(column)
        try:
            index = int(column)
        except ValueError:
            raise InputError(path, f"{what} must be a column of the file, {_listed(names, fields)}; got {column!r}") from None
        if not -fields <= index < fields:
            raise InputError(path, f"{what} must be a column of the file, {_listed(names, fields)}; got {column!r}")
        return index % fields

    weight = None if reading.weight is None else place("weight", reading.weight)
    dropped = {place("drop", column) for column in reading.drop}
    target = _target(path, names, fields, reading) if reading.target is None else place("target", reading.target)
    left = [j for j in range(fields) if j not in dropped and j not in (target, weight)]
    if reading.wanted is not None:
        if names is None:
            raise InputError(path, "has no names of columns, which the model goes by")
        missing = [name for name in reading.wanted if name not in names]
        if missing:
            raise InputError(path, f"lacks the column {missing[0]!r} of the model, {_listed(names, fields)}")
        left = [names.index(name) for name in reading.wanted]
        target = None if target in left else target
    if not left:
        raise InputError(path, "has no column that is a feature")
    return Layout(tuple(left), None if names is None else tuple(names[j] for j in left), target, weight)


def _target(path: str, names: Sequence[str] | None, fields: int, reading: Reading) -> int | None:
    """The column that is the target by its name, where the caller does not say."""
    found = [j for j, name in enumerate(names or ()) if name.lower() in USUAL_TARGETS]
    if len(found) == 1:
        return found[0]
    if reading.supervised:
        which = "several could be the target" if found else f"none is named {', '.join(USUAL_TARGETS[:-1])} or {USUAL_TARGETS[-1]}"
        raise InputError(path, f"say which column is the target (--target): {which}, {_listed(names, fields)}")
    return None


def _listed(names: Sequence[str] | None, fields: int) -> str:
    """The columns there are, for a message."""
    if names is None:
        return f"which has {fields} columns, 0 to {fields - 1}, without names"
    shown = ", ".join(map(repr, names[:10]))
    return f"which has {shown}" + (f" and {fields - 10} more" if fields > 10 else "")
