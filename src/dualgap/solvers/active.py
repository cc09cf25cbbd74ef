"""The rows that carried most of what the last epoch gained, and whether they deserve a step of their own."""

from typing import Any

import numpy as np
import numpy.typing as npt

from dualgap.kernels.scored import BUCKETS, histogram, rows_above, small_scores
from dualgap.problem import Problem

Array = npt.NDArray[np.float64]
FEW = 0.6
SMALL = 0.02


class ActiveRows:
    """Rows chosen by their scores in the last full epoch; `part` is their share of the nonzeros."""

    def __init__(self, problem: Problem, order: npt.NDArray[Any]) -> None:
        self.team = problem.team
        self.scores = np.zeros(problem.n)
        self.members = np.ones(problem.n, dtype=bool)
        self.rows = np.empty_like(order)
        self.count = 0
        self.part = 1.0
        self.trusted = False
        self.lengths = np.diff(problem.X.indptr) if hasattr(problem.X, "indptr") else None
        self.nonzeros = float(getattr(problem.X, "nnz", problem.n)) or 1.0

    def choose(self, order: npt.NDArray[Any]) -> bool:
        """Choose anew after a full epoch in this order; True if the chosen rows deserve a step of their own.

        They do if they are few, and if those chosen last time carried at least half of what was gained this time.
        """
        threshold, kept = self._threshold()
        found = self.team.each(lambda part: self._mark(order[part], threshold, part), len(order))
        self.count = 0
        for (count, _), part in zip(found, self.team.parts_of(len(order)), strict=True):
            self.rows[self.count : self.count + count] = self.rows[part.start : part.start + count]
            self.count += count
        self.part = sum(entries for _, entries in found) / self.nonzeros
        self.trusted = kept and self.few
        return self.trusted

    def _threshold(self) -> tuple[float, bool]:
        """The score above which rows are chosen, and whether the members so far kept up."""

        def of_part(part: slice) -> tuple[float, float, float, Array]:
            scores, buckets = self.scores[part], np.empty(BUCKETS)
            sums = (float(scores[self.members[part]].sum()), float(scores.sum())) if self.trusted else (0.0, 0.0)
            return *sums, histogram(scores, buckets), buckets

        members, everyone, totals, buckets = zip(*self.team.each(of_part, len(self.scores)), strict=True)
        everything = buckets[0] if len(buckets) == 1 else np.sum(buckets, axis=0)
        return float(small_scores(everything, sum(totals), SMALL)), sum(members) >= 0.5 * sum(everyone)

    def _mark(self, order: npt.NDArray[Any], threshold: float, part: slice) -> tuple[int, float]:
        """Note which rows of a part are above the threshold, and list those of a part of the order; their number, and what they hold."""
        np.greater(self.scores[part], threshold, out=self.members[part])
        rows = self.rows[part]
        count = int(rows_above(self.scores, threshold, order, rows))
        return count, float(self.lengths[rows[:count]].sum() if self.lengths is not None else count)

    @property
    def few(self) -> bool:
        """Whether a pass over the chosen rows is much cheaper than one over all."""
        return self.part <= FEW

    def chosen(self) -> npt.NDArray[Any]:
        """The chosen rows."""
        return self.rows[: self.count]
