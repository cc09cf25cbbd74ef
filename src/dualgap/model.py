"""A fitted model in a file: coefficients, the names of features and classes, and the certificate."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

import dualgap as dg
from dualgap.data.container import read_container, write_container
from dualgap.data.errors import InputError
from dualgap.described import described, rebuilt
from dualgap.solution import Solution

Array = npt.NDArray[np.float64]
WHAT = "a model of dualgap"
VERSION = 1


@dataclass(frozen=True)
class Model:
    """What is needed to predict, and what is known about it.

    Attributes
    ----------
    w : array of float64, d or d x k
        Coefficients.
    intercept : float or array of k
        Added to the scores.
    loss, penalty : of this library, or None
        What the model was fitted with.
    with_intercept : bool
        Whether an intercept was fitted.
    labels : tuple of numbers or texts, or None
        The classes: of a loss for two, the one of negative scores first.
    names : tuple of str, or None
        The names of the features.
    first_column : {0, 1}
        What svmlight text that the model was fitted to counts its columns from.
    record : mapping
        The certificate and how it was reached, as the command `fit` writes it.

    Examples
    --------
    >>> import tempfile, dualgap as dg
    >>> s = dg.solve([[1.0], [2.0], [3.0]], [-1.0, 1.0, 1.0], loss=dg.Logistic(), penalty=dg.L2(0.1), intercept=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Model.of(s, labels=("no", "yes")).save(f"{folder}/m")
    ...     m = Model.load(f"{folder}/m")
    >>> m.predict([[0.0], [4.0]]).tolist()
    ['no', 'yes']
    """

    w: Array
    intercept: Any
    loss: Any = None
    penalty: Any = None
    with_intercept: bool = False
    labels: tuple[Any, ...] | None = None
    names: tuple[str, ...] | None = None
    first_column: int = 0
    record: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, solution: Solution, **about: Any) -> Self:
        """The model of a solution; `about` are `with_intercept`, `labels`, `names`, `first_column` and `record`."""
        return cls(np.asarray(solution.w), solution.intercept, solution.loss, solution.penalty, **about)

    @property
    def d(self) -> int:
        return int(self.w.shape[0])

    def scores(self, X: Any) -> Array:
        """X w + b; the columns that a sparse X has beyond those of the model do not count, those it lacks are zero."""
        if isinstance(X, np.ndarray) or not hasattr(X, "tocsr"):
            return np.asarray(np.asarray(X, dtype=np.float64) @ self.w + self.intercept)
        if X.shape[1] != self.d:
            X = X.tocsr()[:, : min(self.d, X.shape[1])]
        return np.asarray(X @ self.w[: X.shape[1]] + self.intercept)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The label of each row, or its score for a regression."""
        return self.decide(self.scores(X))

    def decide(self, scores: Array) -> npt.NDArray[Any]:
        """The labels that belong to scores, or the scores for a regression."""
        if self.labels is None:
            return scores
        chosen = np.argmax(scores, axis=1) if scores.ndim == 2 else (scores > 0.0).astype(np.intp)
        return np.asarray(np.array(self.labels)[chosen])

    def probabilities(self, scores: Array) -> Array:
        """The probability of each label, by the logistic or the softmax model."""
        if isinstance(self.loss, dg.Logistic):
            from scipy.special import expit

            return np.column_stack([expit(-scores), expit(scores)])
        if isinstance(self.loss, dg.Softmax):
            from scipy.special import softmax

            return np.asarray(softmax(scores, axis=1))
        raise ValueError(f"probabilities need the loss logistic or softmax, got {type(self.loss).__name__}")

    def save(self, path: str | Path) -> None:
        """Write a file that `load` reads: numbers and text, nothing that is run. Coefficients are kept sparse where that is shorter."""
        arrays: dict[str, npt.NDArray[Any]] = {"intercept": np.atleast_1d(np.asarray(self.intercept, dtype=np.float64))}
        kept = np.flatnonzero(self.w.reshape(self.d, -1).any(axis=1))
        if 2 * len(kept) < self.d:
            arrays |= {"rows": kept.astype(np.int64), "w": self.w[kept]}
        else:
            arrays["w"] = self.w
        about = {
            "version": VERSION,
            "features": self.d,
            "loss": described(self.loss, "loss", arrays),
            "penalty": described(self.penalty, "penalty", arrays),
            "with_intercept": self.with_intercept,
            "labels": None if self.labels is None else [a.item() if isinstance(a, np.generic) else a for a in self.labels],
            "names": self.names,
            "first_column": self.first_column,
            "record": dict(self.record),
        }
        write_container(path, arrays, about)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a file that `save` wrote; an `InputError` if it is not one."""
        arrays, about = read_container(path, WHAT)
        try:
            if about["version"] > VERSION:
                raise InputError(str(path), f"is {WHAT} of version {about['version']}, and this one reads {VERSION}")
            return cls._checked(arrays, about)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(str(path), f"is {WHAT} that makes no sense: {error}") from None

    @classmethod
    def _checked(cls, arrays: dict[str, npt.NDArray[Any]], about: dict[str, Any]) -> Self:
        w, d = arrays["w"].astype(np.float64), int(about["features"])
        if "rows" in arrays:
            rows = arrays["rows"]
            if w.shape[0] != rows.shape[0] or np.any(rows < 0) or np.any(rows >= d) or d > 2**31:
                raise ValueError("its sparse coefficients are out of range")
            dense = np.zeros((d, *w.shape[1:]))
            dense[rows] = w
            w = dense
        intercept = np.broadcast_to(arrays["intercept"].astype(np.float64), w.shape[1:] or 1)
        outputs = w.shape[1] if w.ndim == 2 else 1
        labels, names = about["labels"], about["names"]
        if w.ndim not in (1, 2) or w.shape[0] != d or intercept.shape != (outputs,) or (names is not None and len(names) != d):
            raise ValueError("the sizes of its parts disagree")
        if labels is not None and len(labels) != max(outputs, 2):
            raise ValueError("it has not as many labels as classes")
        if not (np.all(np.isfinite(w)) and np.all(np.isfinite(intercept))):
            raise ValueError("it holds numbers that are not finite")
        return cls(
            w,
            intercept if w.ndim == 2 else float(intercept[0]),
            rebuilt(about["loss"], arrays),
            rebuilt(about["penalty"], arrays),
            bool(about["with_intercept"]),
            None if labels is None else tuple(labels),
            None if names is None else tuple(map(str, names)),
            int(about["first_column"]),
            dict(about["record"]),
        )
