"""The choice of a solver by the paper's rule: accelerate where R^2/(lambda gamma) > 10 n.

A loss that is not smooth but has an exact step is solved by Prox-SDCA as it is: smoothed with the gamma of a tolerance of 1e-6, a problem is so
ill-conditioned that the direct steps were ahead on every one tried.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np
import numpy.typing as npt

from dualgap import theory
from dualgap.problem import Problem
from dualgap.solvers.accelerated import AcceleratedProxSDCA
from dualgap.solvers.prox_sdca import ProxSDCA
from dualgap.solvers.run import Run
from dualgap.solvers.surrogate import ridge

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Auto:
    """Prox-SDCA where the problem is well conditioned, or where acceleration is not proved; Accelerated Prox-SDCA otherwise.

    Examples
    --------
    >>> Auto()
    Auto()
    """

    accelerated = False

    def minimize(self, problem: Problem, run: Run, alpha: Array) -> None:
        """Choose, say so in the history, and run."""
        solver = self.choose(problem, run, alpha)
        run.note(f"Chose {solver!r}.")
        solver.minimize(problem, run, alpha)

    def choose(self, problem: Problem, run: Run, alpha: Array) -> ProxSDCA | AcceleratedProxSDCA:
        """The solver for a problem and a tolerance."""
        gamma = float(problem.loss.smoothness)
        if getattr(problem.penalty, "norm", 2.0) != 2.0 or gamma == 0.0:
            return ProxSDCA()
        lam = problem.penalty.convexity + ridge(problem, run, alpha, quiet=True)
        ill_conditioned = theory.accelerate(n=problem.n, radius=sqrt(problem.radius2), lam=lam, gamma=gamma)
        return AcceleratedProxSDCA() if ill_conditioned else ProxSDCA()
