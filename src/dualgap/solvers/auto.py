"""The choice of a solver, which reads in one screen.

1. A penalty that is strongly convex in another norm than the Euclidean: Prox-SDCA, since acceleration is not proved for it.
2. R^2/(lambda gamma n) < 1/2: Prox-SDCA, which needs few passes there.
3. Everything else: the adaptive acceleration, raced against the paper's, or against Prox-SDCA where there are few rows. A loss that is not
   smooth is taken as it is, with its exact steps: smoothed with the gamma that the theory gives for a tolerance of 1e-6, a problem is so
   ill-conditioned that this was ahead on every one tried.
4. With at most 5000 features and as many rows, or 1024 rows or features times classes, proximal Newton on the Gram matrix of these takes
   over where it is expected to end sooner, inside the proximal point method where the loss is not smooth. It comes first for least squares,
   which one step solves, where all of its steps take less than a millisecond, and where they are cheap and a sample of the rows brings it
   near the solution.
"""

from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from dualgap.problem import Problem
from dualgap.solvers.accelerated import AcceleratedProxSDCA
from dualgap.solvers.adaptive import AdaptiveProxSDCA
from dualgap.solvers.joint_newton import JointNewton
from dualgap.solvers.newton import GramNewton, tall
from dualgap.solvers.prox_sdca import ProxSDCA
from dualgap.solvers.proximal_point import ProximalPoint
from dualgap.solvers.race import Race
from dualgap.solvers.relay import Relay
from dualgap.solvers.row_space import RowSpace
from dualgap.solvers.run import Run
from dualgap.solvers.working_set import WorkingSet

Array = npt.NDArray[np.float64]
FEW, MANY, FEW_PASSES, CHEAP, AT_ONCE, FRACTION = 1024, 5000, 40.0, 20.0, 1e5, 300.0


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
        solver = self.choose(problem, run)
        run.note(f"Chose {type(solver).__name__}.")
        run.notes.append(_facts(problem))
        if hasattr(solver, "plan"):
            run.notes.append(solver.plan())
        solver.minimize(problem, run, alpha)

    def choose(self, problem: Problem, run: Run) -> Any:
        """The solver for a problem."""
        if getattr(problem.penalty, "norm", 2.0) != 2.0:
            return ProxSDCA()
        strength = problem.penalty.convexity * float(problem.loss.smoothness) * problem.n
        if problem.radius2 < 0.5 * strength and not self._few_coefficients(problem, run, strength):
            return ProxSDCA()
        if problem.n <= 2 * problem.d:
            race = Race(AdaptiveProxSDCA(), ProxSDCA(), first=8.0)
        else:
            race = Race(AdaptiveProxSDCA(), AcceleratedProxSDCA() if strength > 0.0 else ProxSDCA())
        if self._few_coefficients(problem, run, strength):
            return Race(WorkingSet(), race, first=64.0)
        newton = newton_for(problem)
        if newton is None:
            return race
        price, entries = newton.price(problem), getattr(problem.X, "nnz", problem.n * problem.d)
        quadratic = getattr(problem.loss, "quadratic", False) and price <= FEW_PASSES
        sampled = isinstance(newton, GramNewton) and price <= CHEAP and tall(problem)
        return newton if quadratic or sampled or price * entries <= AT_ONCE else Relay(race, newton)

    def _few_coefficients(self, problem: Problem, run: Run, strength: float) -> bool:
        """Whether the penalty makes most coefficients zero, on a problem on which that is what matters."""
        inner = problem.penalty.penalty if "factors" in problem.penalty._fields else problem.penalty
        if WorkingSet().requirement(problem) or not hasattr(inner, "polar") or getattr(inner, "l1", 1.0) == 0.0:
            return False
        if problem.penalty.convexity == 0.0:
            return True
        quadratic = getattr(problem.loss, "quadratic", False)
        fraction = float(problem.penalty.polar(run.correlations[: problem.d]))
        return fraction <= FRACTION and (quadratic or problem.mean_norm2 * problem.n > 10.0 * strength)


def _facts(problem: Problem) -> str:
    """What the choice rests on."""
    strength = problem.penalty.convexity * float(problem.loss.smoothness) * problem.n
    hardness = f"{problem.radius2 / strength:.2g}" if strength > 0.0 else "infinite"
    return f"The problem has {problem.n:,} rows, {problem.d:,} features, and R^2/(lambda gamma n) = {hardness}."


def newton_for(problem: Problem) -> Any:
    """Newton's method in the form that suits the problem, None where none does."""
    smooth: Any = JointNewton() if problem.outputs else GramNewton()
    newton: Any = smooth if problem.loss.smoothness > 0.0 else ProximalPoint()
    most = FEW if problem.outputs or problem.n < problem.d else MANY
    forms = [(problem.d, most, newton), (problem.n, FEW, RowSpace(newton))]
    outputs = max(problem.outputs, 1)
    fits = (form for size, most, form in sorted(forms, key=itemgetter(0)) if size * outputs <= most and not form.requirement(problem))
    return next(fits, None)
