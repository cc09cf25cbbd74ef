"""Few rows and many columns: with a ridge penalty the problem is one of n features.

The optimal w is a combination of rows, w = X'c. With XX' = LL' the rows of L have the same products with one another as those of X, so that
the problem with these instead has the same losses, the same dual and the same optimum, and v with |v| = |w|. It is solved by a method for
few features; each pair (v, alpha) gives w = X'L^(-T) v and the same alpha, which the original problem certifies. L is Cholesky's factor
or, where rows are nearly dependent, Q diag(e)^(1/2) of XX' = Q diag(e) Q'.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dualgap.certificate import Seen, primal_point
from dualgap.problem import Problem, is_ridge
from dualgap.rows import as_rows
from dualgap.solvers.adaptive import AdaptiveProxSDCA
from dualgap.solvers.newton import BLAS, ROUNDS
from dualgap.solvers.run import Run

Array = npt.NDArray[np.float64]
NEGLIGIBLE, INDEPENDENT = 1e-13, 1e-6


@dataclass(frozen=True)
class RowSpace:
    """A solver for few features, on a problem with few rows.

    Parameters
    ----------
    solver : solver object
        What solves the problem of n features, such as `GramNewton()`.

    Examples
    --------
    >>> import dualgap as dg
    >>> dg.RowSpace(dg.GramNewton()).solver
    GramNewton()
    """

    solver: Any

    def requirement(self, problem: Problem) -> str:
        """What a problem must have that this one has not."""
        if not problem.resident:
            return "rows in memory"
        return str(self.solver.requirement(problem)) if is_ridge(problem.penalty) else "a penalty l2/2 |w|^2"

    def price(self, problem: Problem) -> float:
        """About how many passes of dual ascent a solution costs: the products of all rows, and the steps of the solver on n features."""
        entries = float(getattr(problem.X, "nnz", problem.n * problem.d)) or 1.0
        steps = float(self.solver.steps_from(problem))
        work = problem.n**2 + (1.0 + ROUNDS) * problem.n**3 / BLAS
        return problem.n / BLAS + steps * work / entries + 2.0 * steps

    def minimize(self, problem: Problem, run: Run, alpha: Array) -> None:
        """Run from alpha until the run ends."""
        run.exhaust(self.steps(problem, run, alpha))

    def steps(self, problem: Problem, run: Run, alpha: Array) -> Iterator[None]:
        """The steps of the solver on the problem of n features, and of another on the original if rounding ends them too early."""
        reduced, back = rotated(problem)
        yield from self.solver.steps(reduced, _Lifted(run, problem, reduced, back), alpha)
        if run.going:
            run.note("AdaptiveProxSDCA took over.")
            yield from AdaptiveProxSDCA().steps(problem, run, run.dual_start(alpha))


def rotated(problem: Problem) -> tuple[Problem, Array]:
    """The problem with rows of at most n features, and the matrix that leads back."""
    X = problem.X if problem.X.dtype == np.float64 else problem.X.astype(np.float64)
    products = X @ X.T
    products = np.asarray(products if isinstance(products, np.ndarray) else products.toarray(), dtype=np.float64)
    rows, back = _cholesky(products) or _spectral(products)
    norms2 = np.einsum("ij,ij->i", rows, rows)
    return replace(problem, X=rows, rows=as_rows(rows), norms2=norms2), back


def _cholesky(products: Array) -> tuple[Array, Array] | None:
    """L and its inverse transposed, if the rows are far from dependent."""
    from scipy.linalg.lapack import dpotrf, dtrtri

    factor, failed = dpotrf(products.T, lower=1, clean=1)
    if failed or np.min(np.diag(factor)) <= INDEPENDENT * np.max(np.diag(factor)):
        return None
    inverse, _ = dtrtri(factor, lower=1)
    return np.ascontiguousarray(factor), np.ascontiguousarray(inverse.T)


def _spectral(products: Array) -> tuple[Array, Array]:
    """Q diag(e)^(1/2) and Q diag(e)^(-1/2), without what is negligible."""
    size, vectors = np.linalg.eigh(products)
    kept = size > NEGLIGIBLE * max(size[-1], 0.0)
    if not np.any(kept):
        kept[-1] = True
    root = np.sqrt(np.maximum(size[kept], np.finfo(float).tiny))
    return np.ascontiguousarray(vectors[:, kept] * root), vectors[:, kept] / root


class _Lifted(Run):
    """The run of the problem of n features: its limits are those of the run of the original, which certifies each pair as well."""

    def __init__(self, run: Run, problem: Problem, reduced: Problem, back: Array) -> None:
        start = np.zeros(reduced.shape)
        start[: reduced.d] = back.T @ (problem.X @ run.best.w[: problem.d])
        start[reduced.d] = run.best.w[problem.d]
        null = primal_point(reduced, start)
        super().__init__(reduced, null, tol=0.25 * run.target / null.value, max_passes=np.inf, time_limit=None, random_state=run.rng)
        self.outer, self.original, self.back = run, problem, back
        self.best_dual = run.best_dual and replace(run.best_dual, alpha=run.best_dual.alpha.copy())
        self.cost = reduced.X.size / max(getattr(problem.X, "nnz", problem.n * problem.d), 1)

    @property
    def going(self) -> bool:
        """Whether both runs go on."""
        return self.status is None and self.outer.going

    def spent(self, passes: float) -> None:
        """Account for work on the small problem as work on the original."""
        super().spent(passes)
        self.outer.spent(passes * self.cost)

    def accept(self) -> None:
        """End both runs because the solver has a proof of its own that it is done."""
        super().accept()
        self.outer.accept()

    def certify(self, w: Array, alpha: Array, *, ends: bool = True, seen: Seen | None = None) -> float:
        """Certify a pair here and, with the coefficients that belong to it, in the original problem."""
        value = super().certify(w, alpha, ends=ends, seen=seen)
        lifted = np.zeros(self.original.shape)
        lifted[: self.original.d] = self.original.X.T @ (self.back @ w[: self.problem.d])
        lifted[self.original.d] = w[self.problem.d]
        self.outer.certify(lifted, alpha, ends=ends)
        return value
