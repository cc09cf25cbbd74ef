"""Least squares with one Gram matrix for many penalties.

    v = argmin over v    -a'(v - w) + 1/2 (v - w)'G (v - w) + R(v),    G = X'diag(s)X/S,    a = X'(s (y - X w))/S

is the problem itself, so that one minimization of the model solves it, and G depends neither on the penalty nor on the targets. a is
computed from the residuals, which takes a pass, and repeating the step removes what rounding has left in G.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from dualgap import formulas
from dualgap.problem import Problem
from dualgap.solvers.model import Model, gram_matrix
from dualgap.solvers.run import Run

Array = npt.NDArray[np.float64]
FEW, MOST_STEPS = 1024, 5


class SharedGram:
    """Least squares by the Gram matrix, which is kept as long as the matrix and the weights stay the same objects.

    Examples
    --------
    >>> import dualgap as dg
    >>> type(SharedGram()).__name__
    'SharedGram'
    """

    def __init__(self) -> None:
        self._key: tuple[Any, Any, bool] = (None, None, False)
        self._gram: Array = np.zeros((0, 0))

    def __repr__(self) -> str:
        return "SharedGram()"

    def requirement(self, problem: Problem) -> str:
        """What a problem must have that this one has not."""
        fits = getattr(problem.loss, "quadratic", False) and problem.d <= FEW and not formulas.penalty_is_coupled(problem.penalty)
        return "" if fits else f"the squared loss, at most {FEW} features and a penalty on each coefficient"

    def gram(self, problem: Problem) -> Array:
        """G with the row and column of the intercept."""
        key = (problem.X, problem.share, problem.intercept)
        if not all(a is b for a, b in zip(key, self._key, strict=True)):
            self._gram, _ = gram_matrix(problem, np.zeros(problem.n), np.arange(problem.d))
            self._key = key
        return self._gram

    def minimize(self, problem: Problem, run: Run, alpha: Array) -> None:
        """Run from the best primal point until the run ends."""
        run.exhaust(self.steps(problem, run, alpha))

    def steps(self, problem: Problem, run: Run, alpha: Array) -> Iterator[None]:
        """Steps from the best primal point, one at a time."""
        gram, everything, columns = self.gram(problem), slice(0, problem.n), np.arange(problem.d)
        w = run.best.w
        for _ in range(MOST_STEPS):
            if not run.going:
                return
            problem.dual_points(w, alpha)
            model = Model(problem.penalty, columns, problem.intercept, gram.copy(), -problem.transposed(alpha), w)
            w = model.minimizer()
            np.subtract(problem.y, problem.scores(w, everything), out=alpha)
            run.spent(3.0)
            run.certify(w, alpha)
            yield
        if run.going:
            from dualgap.solvers.auto import Auto

            run.note("Auto took over.")
            Auto().minimize(problem, run, run.dual_start(alpha))
