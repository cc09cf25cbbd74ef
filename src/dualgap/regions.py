"""Where the optimal model is: around coefficients with a certificate, as far as their bounds say.

Several regions of one problem may be known, such as the one around the coefficients of a model and the one around better coefficients; the
optimal model is in all of them.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dualgap.bounds import Bounds, certified_bounds, rounding, row_norms
from dualgap.problem import Problem

Array = npt.NDArray[np.float64]


class Region(NamedTuple):
    """Coefficients, intercept last, and how far the optimal ones may be from them.

    Of several intercepts only the differences matter: those of the optimal model are taken to have the same mean.
    """

    w: Array
    bounds: Bounds

    def interval(self, X: Any) -> tuple[Array, Array]:
        """Where the scores of the optimal model are."""
        z, size = self.scores(X), self.distances(X)
        if z.ndim == 1:
            return z - size + self.bounds.low, z + size + self.bounds.high
        return z - size[:, None], z + size[:, None]

    def scores(self, X: Any) -> Array:
        """The scores of these coefficients."""
        return np.asarray(X @ self.w[:-1] + self.w[-1])

    def distances(self, X: Any) -> Array:
        """How far optimal scores may be: without the intercept, or of all classes in the Euclidean norm, with the intercepts."""
        size = self.bounds.scores(X) + rounding(row_norms(X), self.w)
        return np.asarray(size + self.bounds.high if self.w.ndim > 1 else size)

    def winners(self, X: Any) -> npt.NDArray[np.intp]:
        """The class that has the highest score in the optimal model of several classes; -1 where that is not known."""
        z = self.scores(X)
        second, first = np.partition(z, -2, axis=1)[:, -2:].T
        # two classes may trade at most sqrt(2) times the distance
        return np.where(first - second > np.sqrt(2.0) * self.distances(X), np.argmax(z, axis=1), -1)


def region(problem: Problem, w: Array, gap: float) -> Region:
    """The region around coefficients, intercept last, whose objective is within a gap of the least one."""
    return Region(w, certified_bounds(problem, w, gap))


def common_interval(regions: Sequence[Region], X: Any) -> tuple[Array, Array]:
    """Where the scores are by all regions of a problem together."""
    low, high = zip(*(r.interval(X) for r in regions), strict=True)
    return np.max(low, axis=0), np.min(high, axis=0)


def certain_classes(problems: Sequence[Sequence[Region]], X: Any) -> npt.NDArray[np.intp]:
    """The class that the optimal model predicts, -1 where it is not known; for each problem its regions.

    One problem has all classes, or tells two apart by the sign, or each class from the rest.
    """
    if problems[0][0].w.ndim > 1:
        return np.asarray(np.max([r.winners(X) for r in problems[0]], axis=0))
    low, high = map(np.column_stack, zip(*(common_interval(regions, X) for regions in problems), strict=True))
    if low.shape[1] == 1:
        return np.asarray(np.where(low[:, 0] > 0.0, 1, np.where(high[:, 0] < 0.0, 0, -1)))
    rows, best = np.arange(len(low)), np.argmax(low, axis=1)
    least = low[rows, best]
    high[rows, best] = -np.inf
    return np.asarray(np.where(least > np.max(high, axis=1), best, -1))
