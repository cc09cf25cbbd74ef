"""How well predictions fit targets, summed a chunk at a time."""

from typing import Any

import numpy as np
import numpy.typing as npt

from dualgap.model import Model


class Score:
    """The accuracy of a classifier, or R^2 and the mean absolute error of a regression, weighted."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.n, self.total, self.right, self.absolute, self.squares = 0, 0.0, 0.0, 0.0, 0.0
        self.mean = self.variation = 0.0
        self.known = True

    def add(self, scores: npt.NDArray[Any], y: npt.NDArray[Any], weight: npt.NDArray[np.float64] | None) -> None:
        """Count some rows."""
        s = np.ones(len(y)) if weight is None else weight
        self.n += len(y)
        if self.model.labels is not None:
            said = self.model.decide(scores)
            self.right += float(s @ (said.astype(object) == y.astype(object)))
            self.total += float(s.sum())
            return
        if y.dtype == object:
            self.known = False
            return
        total = self.total + float(s.sum())
        self.absolute += float(s @ np.abs(scores - y))
        self.squares += float(s @ (scores - y) ** 2)
        if total > 0.0:
            # the sum of squares around the mean, both brought up to date
            mean = self.mean + float(s @ (y - self.mean)) / total
            self.variation += float(s @ ((y - self.mean) * (y - mean)))
            self.mean, self.total = mean, total

    def __str__(self) -> str:
        if not self.known or not self.total > 0.0:
            return f"{self.n} rows"
        if self.model.labels is not None:
            return f"{self.n} rows, accuracy {self.right / self.total:.4%}"
        fit = f"R^2 {1.0 - self.squares / self.variation:.6f}, " if self.variation > 0.0 else ""
        return f"{self.n} rows, {fit}mean absolute error {self.absolute / self.total:.6g}"
