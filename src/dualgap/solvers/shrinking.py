"""Dual coordinate ascent with shrinking, for losses whose dual variables end up at the ends of an interval.

    pass:    Prox-SDCA over the rows of interest; rows that stay put, and would at any score within the largest move of the last pass,
             are set aside
    return:  all rows are of interest again before a certificate, which looks at all of them

Nothing that is set aside is lost: a wrong guess costs the passes until the next certificate.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dualgap.kernels.shrink import shrinking_epoch
from dualgap.problem import Problem
from dualgap.solvers.ascent import Ascent
from dualgap.solvers.prox_sdca import update_rule
from dualgap.solvers.run import Run, euclidean

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Shrinking:
    """Shrink."""

    def requirement(self, problem: Problem) -> str:
        """What a problem must have that this one has not."""
        fits = problem.outputs == 0 and hasattr(problem.loss, "dual_step") and problem.penalty.convexity > 0.0
        return euclidean(problem) if fits else "a scalar loss with an exact step and a strongly convex penalty"

    def minimize(self, problem: Problem, run: Run, alpha: Array) -> None:
        """Run from alpha until the run ends."""
        run.exhaust(self.steps(problem, run, alpha))

    def steps(self, problem: Problem, run: Run, alpha: Array) -> Iterator[None]:
        """A pass at a time."""
        ascent = Ascent(problem, alpha, run)
        ascent.settle(np.zeros(problem.shape), 0.0)
        ascent.use(update_rule(None, problem.loss, ascent.largest_step))
        lengths = np.diff(problem.X.indptr) if hasattr(problem.X, "indptr") else None
        order, count, margin = ascent.order, problem.n, np.inf
        while run.going:
            active = order[:count]
            ascent.mix(active)
            passes = count / problem.n if lengths is None else (lengths[active].sum() + count) / (problem.X.nnz + problem.n)
            count, largest, gap = shrinking_epoch(ascent.data, ascent.prox, ascent.alpha, ascent.u, active, margin)
            ascent.swept(passes)
            margin = largest if largest > 0.0 else np.inf
            if DEBUG: print(f'{run.passes:.1f} active {count/problem.n:.3f} largest {largest:.2e} est {gap/run.null.value:.1e} gap {run.gap/run.null.value:.1e}')
            if gap <= run.target or gap < 0.1 * run.gap or count == 0 or not run.going:
                run.certify(ascent.weights(), ascent.alpha)
                count, margin = problem.n, np.inf
            yield
DEBUG=False
