"""Starting from an earlier solution: of another penalty, another loss, or of the first rows of the data."""

from typing import Any

import numpy as np
import numpy.typing as npt

from dualgap.kernels import gap
from dualgap.problem import Problem
from dualgap.solvers.run import Run

Array = npt.NDArray[np.float64]


def warm_point(problem: Problem, run: Run, earlier: Any) -> Array:
    """Certify what an earlier solution gives here, and return the dual point to go on from.

    Its coefficients are a primal point as they are; its dual variables, where the loss still allows them, a dual one, with zeros for rows
    that were appended. The certificate scales the dual point as is best (a smaller lambda wants a smaller one), and that is the start.
    """
    w = _weights(problem, earlier)
    alpha = _dual(problem, earlier)
    run.certify(w, alpha)
    return run.dual_start(alpha)


def _weights(problem: Problem, earlier: Any) -> Array:
    if not (hasattr(earlier, "w") and hasattr(earlier, "alpha")):
        raise TypeError(f"warm_start must be an earlier solution, got {earlier!r}")
    w = np.zeros(problem.shape)
    if np.shape(earlier.w) != w[: problem.d].shape:
        expected = w[: problem.d].shape
        raise ValueError(f"warm_start must be a solution with coefficients of shape {expected}, got shape {np.shape(earlier.w)}")
    w[: problem.d] = earlier.w
    if problem.intercept:
        w[problem.d] = earlier.intercept
    return w


def _dual(problem: Problem, earlier: Any) -> Array:
    alpha = np.zeros(problem.alpha_shape)
    known = np.asarray(earlier.alpha)
    if known.shape[0] > problem.n or known.shape[1:] != alpha.shape[1:]:
        raise ValueError(f"warm_start must be a solution of at most {problem.n} rows, got alpha of shape {known.shape}")
    alpha[: known.shape[0]] = known
    if problem.outputs == 0 and not np.isfinite(problem.mean_conjugate(alpha)[0]):
        none = np.empty(0)
        gap.balance(problem.loss, alpha, problem.y, problem.share, np.empty((problem.n, 0)), none, none, np.empty((0, 0)), alpha)
    return alpha if np.isfinite(problem.mean_conjugate(alpha)[0]) else np.zeros_like(alpha)
