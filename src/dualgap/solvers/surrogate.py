"""Problems that the theory does not cover are solved through one that it does, near enough that the tolerance asked for still holds.

The certificate is always that of the original problem: a dual point of the surrogate is one of the original, where P and D are evaluated.
"""

import math

import numpy as np
import numpy.typing as npt

from dualgap import theory
from dualgap.losses import Smoothed
from dualgap.problem import Problem
from dualgap.solvers.run import Run

Array = npt.NDArray[np.float64]


def smoothed(problem: Problem, run: Run) -> Problem:
    """The problem with a smooth loss: one that is only L-Lipschitz is smoothed by gamma = eps/L^2, which costs half the tolerance."""
    loss = problem.loss
    if loss.smoothness > 0.0:
        return problem
    gamma = theory.smoothing_gamma(run.target, loss.lipschitz)
    run.note(f"{type(loss).__name__} loss smoothed with gamma = {gamma:.2g}.")
    return problem.with_loss(loss.smoothed(gamma) if hasattr(loss, "smoothed") else Smoothed(loss, gamma))


def ridge(problem: Problem, run: Run, alpha: Array, *, quiet: bool = False) -> float:
    """A ridge to add to a penalty that is not strongly convex: eps/B^2 for |w*| <= B, which costs half the tolerance.

    For the lasso it is the paper's eps (sigma/ybar)^2, since |w*|_2 <= |w*|_1 <= P(0)/sigma.
    """
    if problem.penalty.convexity > 0.0:
        return 0.0
    radius = problem.radius(run.null.value + run.floor(alpha))
    value = run.target / radius**2 if math.isfinite(radius) and radius > 0.0 else run.target / max(problem.mean_norm2, 1.0)
    if not quiet:
        run.note(f"A ridge of {value:.2g} added to a penalty that is not strongly convex.")
    return value
