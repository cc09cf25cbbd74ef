"""The proof behind an audit: a dual point from the coefficients, and the search for a better one.

    P(w, b) - D(alpha) >= P(w, b) - min P

for any coefficients and any feasible alpha. The first alpha is -phi'(X w + b). Where it proves too little, a solve that starts from it
looks for a better one, until the gap of the coefficients is known to a part of itself: what remains of it is then their own. Coefficients
that the solve finds bound from above what the minimum is, and so from below how far the coefficients are from it; they are a second point
around which the optimal ones can be located.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dualgap.certificate import PrimalPoint, dual_point, primal_point
from dualgap.null import null_weights
from dualgap.problem import Problem
from dualgap.regions import Region, region
from dualgap.solution import Record, Solution
from dualgap.solve import Stated, solve_stated

Array = npt.NDArray[np.float64]
# A relative gap that rounding does not let a solve reach.
FINEST = 1e-16


class Effort(NamedTuple):
    """How much may be done for one proof: passes, seconds, and other options of a solve that looks for a better dual point.

    It ends at a gap of the coefficients of `tol`, relative to the null model's objective, or when `share` of their gap is all that may not
    be their own.
    """

    max_passes: float
    time_limit: float | None = None
    tol: float = 0.0
    share: float = 0.01
    options: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Proof:
    """What is proved about the coefficients of one problem, in the units of `dualgap.solve`.

    The minimum lies between `lower`, which `alpha` proves, and `upper`, which coefficients attain. `regions` are where the optimal
    coefficients are; the first one is around the coefficients themselves. `modulus` is that of strong convexity of the penalty, 0 if a
    coefficient has none.
    """

    primal: float
    doubt: float
    dual: float
    lower: float
    upper: float
    null: float
    alpha: Array
    regions: tuple[Region, ...]
    modulus: float
    passes: float

    @property
    def gap(self) -> float:
        """How far the objective is at most above its minimum."""
        return max(self.primal + self.doubt - self.lower, 0.0)

    @property
    def at_least(self) -> float:
        """How far it is at least."""
        return max(self.primal - self.doubt - self.upper, 0.0)

    @property
    def distance(self) -> float:
        """A bound on |w - w*|, by way of each region."""
        if self.modulus == 0.0:
            return math.inf
        w = self.regions[0].w[:-1]
        return min(float(np.linalg.norm(w - r.w[:-1])) + r.bounds.radius / math.sqrt(self.modulus) for r in self.regions)


def prove(problem: Problem, w: Array, effort: Effort) -> Proof:
    """What can be proved about coefficients, intercept last, with an effort."""
    null = primal_point(problem, null_weights(problem))
    point = primal_point(problem, w)
    if not math.isfinite(point.value):
        raise ValueError("the coefficients of the model are outside the bounds of its penalty, so that its objective is infinite")
    dual = dual_point(problem, problem.dual_points(w, np.empty(problem.alpha_shape)), point, null.value)
    alpha, value, lower, passes = dual.alpha * dual.scale, dual.value, dual.value - dual.doubt, 3.0
    upper, better = point.value + point.doubt, w
    if effort.max_passes > 0.0 and upper - lower > effort.tol * null.value:
        found = _search(problem, w, alpha, point, null, effort)
        passes += found.passes
        if found.primal - found.gap > lower:
            alpha, value, lower = found.alpha, found.dual, found.primal - found.gap
        candidate = np.concatenate([found.w, np.broadcast_to(found.intercept, (1, *problem.shape[1:]))])
        attained = primal_point(problem, candidate)
        if attained.value + attained.doubt < upper:
            upper, better = attained.value + attained.doubt, candidate
    regions = [region(problem, w, max(point.value + point.doubt - lower, 0.0))]
    if better is not w:
        regions.append(region(problem, _of_the_same_mean(better, w), max(upper - lower, 0.0)))
    modulus = 0.0 if problem.unpenalized.size else float(problem.penalty.convexity)
    return Proof(point.value, point.doubt, value, lower, upper, null.value, alpha, tuple(regions), modulus, passes)


def _search(problem: Problem, w: Array, alpha: Array, point: PrimalPoint, null: PrimalPoint, effort: Effort) -> Solution:
    """A solve from the coefficients, until enough is known of their gap."""
    enough = effort.tol * null.value

    def known(record: Record) -> bool:
        most = point.value - record.dual
        return most <= enough or record.gap <= effort.share * most

    return solve_stated(
        Stated(problem, problem.loss, problem.penalty),
        tol=max(effort.share * effort.tol, FINEST),
        max_passes=effort.max_passes,
        time_limit=effort.time_limit,
        warm_start=SimpleNamespace(w=w[:-1], intercept=w[-1], alpha=alpha),
        callback=known,
        null=null,
        **effort.options,
    )


def _of_the_same_mean(w: Array, model: Array) -> Array:
    """Coefficients with intercepts of the same mean as those of the model, where there are several."""
    if w.ndim > 1:
        w[-1] += np.mean(model[-1]) - np.mean(w[-1])
    return w
