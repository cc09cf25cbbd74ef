"""The choice of a solver, which reads in one screen.

1. A penalty that is strongly convex in another norm than the Euclidean: Prox-SDCA, since acceleration is not proved for it.
2. R^2/(lambda gamma n) < 1/2: Prox-SDCA, which needs few passes there.
3. Everything else: the adaptive acceleration, raced against the paper's, or against Prox-SDCA where there are few rows. A loss that is not
   smooth is taken as it is, with its exact steps: smoothed with the gamma that the theory gives for a tolerance of 1e-6, a problem is so
   ill-conditioned that this was ahead on every one tried.
4. With a smooth scalar loss and at most 1024 features, or rows, proximal Newton on the Gram matrix of these takes over where it is expected
   to end sooner; least squares are solved by one step of it, which comes first.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dualgap.problem import Problem
from dualgap.solvers.accelerated import AcceleratedProxSDCA
from dualgap.solvers.adaptive import AdaptiveProxSDCA
from dualgap.solvers.newton import GramNewton
from dualgap.solvers.prox_sdca import ProxSDCA
from dualgap.solvers.race import Race
from dualgap.solvers.relay import Relay
from dualgap.solvers.row_space import RowSpace
from dualgap.solvers.run import Run

Array = npt.NDArray[np.float64]
FEW, FEW_PASSES = 1024, 40.0


@dataclass(frozen=True)
class Auto:
    """The solver that is expected to be fastest; the solution's notes and history say which.

    Examples
    --------
    >>> Auto()
    Auto()
    """

    def requirement(self, problem: Problem) -> str:  # noqa: ARG002
        """What a problem must have that this one has not: it solves all."""
        return ""

    def minimize(self, problem: Problem, run: Run, alpha: Array) -> None:
        """Choose, say so in the history, and run."""
        solver = self.choose(problem)
        run.note(f"Chose {type(solver).__name__}.")
        run.notes.append(_facts(problem))
        solver.minimize(problem, run, alpha)

    def choose(self, problem: Problem) -> ProxSDCA | GramNewton | RowSpace | Race | Relay:
        """The solver for a problem."""
        if getattr(problem.penalty, "norm", 2.0) != 2.0:
            return ProxSDCA()
        strength = problem.penalty.convexity * float(problem.loss.smoothness) * problem.n
        if problem.radius2 < 0.5 * strength:
            return ProxSDCA()
        if problem.n <= 2 * problem.d:
            race = Race(AdaptiveProxSDCA(), ProxSDCA(), first=8.0)
        else:
            race = Race(AdaptiveProxSDCA(), AcceleratedProxSDCA() if strength > 0.0 else ProxSDCA())
        newton = GramNewton() if problem.n >= problem.d else RowSpace(GramNewton())
        if min(problem.n, problem.d) > FEW or newton.requirement(problem):
            return race
        at_once = getattr(problem.loss, "quadratic", False) and newton.price(problem) <= FEW_PASSES
        return newton if at_once else Relay(race, newton)


def _facts(problem: Problem) -> str:
    """What the choice rests on."""
    strength = problem.penalty.convexity * float(problem.loss.smoothness) * problem.n
    hardness = f"{problem.radius2 / strength:.2g}" if strength > 0.0 else "infinite"
    return f"The problem has {problem.n:,} rows, {problem.d:,} features, and R^2/(lambda gamma n) = {hardness}."
