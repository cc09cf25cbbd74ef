"""Folds: a row that is held out is one of weight 0, so that X is neither copied nor cut.

A row that a splitter chooses twice to fit to weighs twice as much, and a row of weight 0 is nowhere, neither fitted to nor held out.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier
from sklearn.model_selection import check_cv

Array = npt.NDArray[np.float64]
FOLDS = 5


class Fold(NamedTuple):
    """The weights of the rows to fit to, all rows in order, and which rows are held out, with their weights."""

    weight: Array
    held_out: npt.NDArray[np.intp]
    held_out_weight: Array | None

    @property
    def total(self) -> float:
        """The sum of the weights of the rows to fit to."""
        return math.fsum(self.weight)


def folds_of(model: Any, X: Any, y: Any, counted: Array | None, fitted: Array | None, split: dict[str, Any]) -> list[Fold]:
    """The folds of a model's `cv`; `counted` are the weights in scores, `fitted` those in fits."""
    n = X.shape[0]
    folds: list[Fold] = []
    cv = model.cv
    if cv is None:
        most = int(np.unique(y, return_counts=True)[1].max()) if is_classifier(model) else n
        cv = max(2, min(FOLDS, most))
    for train, test in check_cv(cv, y, classifier=is_classifier(model)).split(X, y, **split):
        weight = np.bincount(_indices(train, n), minlength=n).astype(np.float64)
        held_out = _indices(test, n)
        if fitted is not None:
            weight *= fitted
        if counted is not None:
            held_out = held_out[counted[held_out] > 0.0]
        for rows, what in ((weight, "fit to"), (held_out, "score")):
            if not (np.any(rows > 0.0) if rows is weight else len(held_out)):
                raise ValueError(f"cv={model.cv!r} gives fold {len(folds)} no row with a weight to {what}")
        folds.append(Fold(weight, held_out, None if counted is None else counted[held_out]))
    if not folds:
        raise ValueError(f"cv must give at least one fold, got none from {model.cv!r}")
    return folds


def _indices(chosen: Any, n: int) -> npt.NDArray[np.intp]:
    """Numbers of rows, from these or from a mask."""
    array = np.asarray(chosen)
    if array.dtype == np.bool_:
        return np.flatnonzero(array)
    if array.ndim != 1 or (array.size and (array.min() < -n or array.max() >= n)):
        raise ValueError(f"cv must give numbers of rows below {n}, got {chosen!r}")
    return np.asarray(array % n, dtype=np.intp) if array.size else array.astype(np.intp)
