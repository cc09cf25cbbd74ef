"""Problems that the theory does not cover are solved through one that it does, near enough that the tolerance asked for still holds.

The certificate is always that of the original problem: a dual point of the surrogate is one of the original, where P and D are evaluated.
"""

import math

from dualgap import theory
from dualgap.losses import Smoothed
from dualgap.problem import Problem
from dualgap.solvers.run import Run


def smoothed(problem: Problem, run: Run, share: float = 0.5) -> Problem:
    """The problem with a smooth loss: one that is only L-Lipschitz is smoothed by gamma = 2 share eps/L^2, which costs share eps."""
    loss = problem.loss
    if loss.smoothness > 0.0:
        return problem
    gamma = theory.smoothing_gamma(2.0 * share * run.target, loss.lipschitz)
    run.note(f"{type(loss).__name__} loss smoothed with gamma = {gamma:.2g}.")
    return problem.with_loss(loss.smoothed(gamma) if hasattr(loss, "smoothed") else Smoothed(loss, gamma))


def ridge(problem: Problem, run: Run, share: float = 0.5) -> float:
    """A ridge to add to a penalty that is not strongly convex: 2 share eps/B^2 for |w*| <= B, which costs share eps.

    For the lasso it is the paper's eps (sigma/ybar)^2, since |w*|_2 <= |w*|_1 <= P(0)/sigma.
    """
    if problem.penalty.convexity > 0.0:
        return 0.0
    radius = problem.radius(run.null + problem.mean_floor)
    bound = radius**2 if math.isfinite(radius) and radius > 0.0 else max(problem.mean_norm2, 1.0)
    value = 2.0 * share * run.target / bound
    run.note(f"A ridge of {value:.2g} added to a penalty that is not strongly convex.")
    return value


def covered(problem: Problem, run: Run) -> tuple[Problem, float, float]:
    """A problem that the theory covers, the ridge to add to it, and the tolerance that is left: half of it, if anything had to change."""
    rough, flat = problem.loss.smoothness == 0.0, problem.penalty.convexity == 0.0
    share = 0.25 if rough and flat else 0.5
    left = 0.5 * run.target if rough or flat else run.target
    return smoothed(problem, run, share), ridge(problem, run, share), left
