"""Dual ascent on R(w) + ridge/2 |w|^2 + kappa/2 |w - center|^2: the state that Prox-SDCA works on, alone and inside its acceleration.

    u = X'(s alpha)/S + kappa center,        w = argmin R(w) + (ridge + kappa)/2 |w|^2 - u'w

A coefficient that no penalty holds always has a proximal term, around the center as well: `moving` says which, `held` with what weights.
"""

import math
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np
import numpy.typing as npt

from dualgap.kernels import gap
from dualgap.kernels.epoch import Data, Prox, epoch, vector_epoch
from dualgap.kernels.scored import scored_epoch, vector_scored_epoch
from dualgap.problem import Problem, Work, with_free
from dualgap.solvers.run import Run

Array = npt.NDArray[np.float64]
SLICE = 1 << 24


class Ascent:
    """Prox-SDCA in progress: alpha, u, and the subproblem they belong to."""

    def __init__(
        self,
        problem: Problem,
        alpha: Array,
        run: Run,
        *,
        sampling: str = "permuted",
        ridge: float = 0.0,
        free_ratio: float | None = None,
    ) -> None:
        self.problem = problem
        self.run = run
        self.kappa = math.nan
        self.data: Data | None = None
        self.alpha = alpha
        self.sampling = sampling
        self.ridge = ridge
        self.free_ratio = free_ratio
        self.order = np.arange(problem.n, dtype=np.uint32 if problem.n < 2**32 else np.uint64)
        self.seed = run.rng.integers(1, 2**63, size=1, dtype=np.uint64)
        self.scratch = np.empty(4 * problem.outputs)
        self.moving = np.append(problem.unpenalized, problem.d) if problem.intercept else problem.unpenalized
        self.u = problem.transposed(alpha) if np.any(alpha) else np.zeros(problem.shape)
        self.center = np.empty(0)
        self.step = max(1, int(problem.n * SLICE / max(1, self._entries())))

    def _entries(self) -> int:
        X = self.problem.X
        return int(getattr(X, "nnz", self.problem.n * self.problem.d)) * max(1, self.problem.outputs)

    def settle(self, center: Array, kappa: float) -> None:
        """Take up the subproblem around a center, from the alpha at hand."""
        if not math.isnan(self.kappa):
            self.u -= self._pull()
        if kappa != self.kappa:
            self._measure(kappa)
        self.center = center
        self.u += self._pull()

    @property
    def a(self) -> Array:
        """X'(s alpha)/S as the passes have left it."""
        pull = self._pull()
        return np.subtract(self.u, pull, out=pull)

    def _pull(self) -> Array:
        """kappa times the center, with the weights that unpenalized coefficients have instead."""
        pull = self.kappa * self.center
        pull[self.moving] = (self.held * self.center[self.moving].T).T
        return pull

    def use(self, rule: Any) -> None:
        """Update dual variables by this rule."""
        problem = self.problem
        self.data = Data(problem.rows, problem.y, problem.share, self.norms2, problem.loss, rule)

    def _measure(self, kappa: float) -> None:
        """The metric of the subproblem: proximal weights, and the norms of the rows in it."""
        problem, penalty = self.problem, self.problem.penalty
        self.kappa = kappa
        total = kappa + self.ridge
        free = self._free_weight(penalty.convexity + total)
        self.norms2, inverse = problem.step_norms(total, free)
        self.held = np.full(len(self.moving), total + free)
        if problem.intercept:
            self.held[-1] = free
        self.prox = Prox(with_free(penalty, free), float(total), inverse, 1.0 / free if problem.intercept else 0.0)
        if self.data is not None:
            self.use(self.data.rule)

    def _free_weight(self, modulus: float) -> float:
        """A proximal weight that lets a coefficient which costs nothing move as freely as a penalized one."""
        problem = self.problem
        if self.free_ratio is not None and self.kappa > 0.0:
            return self.kappa * self.free_ratio
        gamma = float(problem.loss.smoothness)
        weight = modulus / problem.mean_norm2
        return min(weight, 1.0 / (gamma * problem.n)) if gamma > 0.0 else weight

    def refresh(self) -> None:
        """Give a penalty that couples coefficients its state, anew for each pass so that rounding does not pile up."""
        if getattr(self.prox.penalty, "coupled", False):
            self.prox = self.prox._replace(penalty=self.prox.penalty.prepared(self.u[: self.problem.d], self.prox.kappa))

    @property
    def largest_step(self) -> float:
        """q of the row with the largest one."""
        return float(np.max(self.problem.share * (self.norms2 * self.prox.inverse + self.prox.free)))

    def shuffle(self) -> npt.NDArray[Any]:
        """The rows of the next pass."""
        if self.sampling == "permuted":
            gap.shuffle(self.order, self.seed)
        else:
            gap.draw(self.order, self.problem.n, self.seed)
        return self.order

    def sweep(self, order: npt.NDArray[Any] | None = None) -> None:
        """One pass over the data, or over the rows given, in slices short enough that a limit is noticed."""
        for work in self.works(self.shuffle() if order is None else order, 1.0 / self.problem.n):
            if self.problem.outputs:
                vector_epoch(work.data, self.prox, work.alpha, self.u, work.order, self.scratch)
            else:
                epoch(work.data, self.prox, work.alpha, self.u, work.order)

    def works(self, order: npt.NDArray[Any], cost: float, **noted: Any) -> Iterator[Work]:
        """Rows in an order, in slices short enough that a limit is noticed; `cost` is what a row costs of a pass."""
        self.run.working = self.alpha
        self.refresh()
        with closing(self.problem.works(Work(self.data, order, self.alpha, **noted), self.seed)) as works:  # type: ignore[type-var]
            for work in works:
                for start in range(0, len(work.order), self.step):
                    rows = work.order[start : start + self.step]
                    yield work._replace(order=rows)
                    self.run.spent(0.0 if work.again else cost * len(rows))
                    if not self.run.going:
                        break
                if not self.run.going:
                    break
        self.run.show(self)

    def scored_sweep(self, order: npt.NDArray[Any], scores: npt.NDArray[np.float32], part: float = 1.0) -> float:
        """A pass over some rows that notes their scores and returns the losses it met; `part` is what it costs of a pass."""
        loss = 0.0
        for work in self.works(order, part / max(1, len(order)), scores=scores):
            if self.problem.outputs:
                met = vector_scored_epoch(work.data, self.prox, work.alpha, self.u, work.order, self.scratch, work.scores)
            else:
                met = scored_epoch(work.data, self.prox, work.alpha, self.u, work.order, work.scores)
            loss += 0.0 if work.again else met
        return loss

    def mix(self, rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Put rows into a random order, in place."""
        gap.shuffle(rows, self.seed)
        return rows

    def subproblem_dual(self) -> float:
        """The dual objective of the subproblem, up to a constant: minus mean phi*(-alpha) and the conjugate of its regularizer at u."""
        w = self.weights()
        d = self.problem.d
        total = self.ridge + self.kappa
        held = float(np.sum(self.u * w)) - self.problem.penalty_value(w) - 0.5 * total * float(np.sum(w[:d] * w[:d]))
        if self.problem.intercept:
            held -= 0.5 * float(self.held[-1]) * float(np.sum(w[d] * w[d]))
        return -self.problem.mean_conjugate(self.alpha)[0] - held

    def return_to(self, alpha: Array) -> None:
        """Take back steps."""
        self.alpha[:] = alpha
        self.u = self.problem.transposed(alpha)
        self.u += self._pull()

    def follow(self) -> None:
        """Move the center of the coefficients that are not penalized to where they are."""
        if self.moving.size:
            there = self.weights()[self.moving]
            self.u[self.moving] += (self.held * (there - self.center[self.moving]).T).T
            self.center[self.moving] = there

    def gap(self) -> float:
        """The gap of the subproblem, mean of phi(z) + phi*(-alpha) and w'X'(s alpha)/S: neither R nor R* is needed at w = w(u)."""
        w = self.weights()
        return self.problem.mean_loss(w).value + self.problem.mean_conjugate(self.alpha)[0] + float(np.sum(w * self.a))

    def unshifted_conjugate(self) -> float:
        """(R + ridge/2 |w|^2)* at X'(s alpha)/S: its value a'w - R(w) - ridge/2 |w|^2 at the maximizer."""
        problem, d = self.problem, self.problem.d
        penalty = self.prox.penalty
        if getattr(penalty, "coupled", False):
            penalty = penalty.prepared(self.a[:d], self.ridge)
        w = problem.weights(Prox(penalty, self.ridge, 0.0, 0.0), self.a)
        w[problem.unpenalized] = 0.0
        return float(np.sum(w[:d] * self.a[:d])) - problem.penalty_value(w) - 0.5 * self.ridge * float(np.sum(w[:d] ** 2))

    def weights(self) -> Array:
        """The primal point of the state."""
        self.refresh()
        return self.problem.weights(self.prox, self.u)
