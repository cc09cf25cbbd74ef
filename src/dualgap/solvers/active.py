"""The rows that carried most of what the last epoch gained, and whether they deserve a step of their own."""

from typing import Any

import numpy as np
import numpy.typing as npt

from dualgap.kernels.scored import BUCKETS, carried_by, entries_of, rows_above, small_scores
from dualgap.problem import Problem

FEW = 0.6
SMALL = 0.02


class ActiveRows:
    """Rows chosen by their scores in the last full epoch; `part` is their share of the nonzeros."""

    def __init__(self, problem: Problem, order: npt.NDArray[Any]) -> None:
        self.matrix, self.resident = problem.rows, problem.resident
        self.scores = np.zeros(problem.n, dtype=np.float32)
        self.rows = np.empty_like(order)
        self.count = 0
        self.part = 1.0
        self.trusted = False
        self.nonzeros = float(getattr(problem.X, "nnz", problem.n * problem.d)) or 1.0
        self.buckets = np.zeros(BUCKETS)

    def choose(self) -> bool:
        """Choose anew after a full epoch; True if the chosen rows deserve a step of their own.

        They do if they are few, and if those chosen last time carried at least half of what was gained this time.
        """
        if not self.resident:
            return False
        carried = float(carried_by(self.scores, self.chosen()))
        threshold, total = small_scores(self.scores, SMALL, self.buckets)
        kept = not self.trusted or carried >= 0.5 * total
        self.count = int(rows_above(self.scores, threshold, self.rows))
        self.part = int(entries_of(self.matrix, self.chosen())) / self.nonzeros
        self.trusted = kept and self.few
        return self.trusted

    @property
    def few(self) -> bool:
        """Whether a pass over the chosen rows is much cheaper than one over all, which it is not where all have to be read for it."""
        return self.part <= FEW

    def chosen(self) -> npt.NDArray[Any]:
        """The chosen rows, in any order."""
        return self.rows[: self.count]
