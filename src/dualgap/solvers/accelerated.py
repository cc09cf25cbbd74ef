"""Accelerated Prox-SDCA, the second procedure of the paper.

    kappa = R^2/(gamma n) - lambda,  mu = lambda/2,  rho = mu + kappa,  eta = sqrt(mu/rho),  beta = (1 - eta)/(1 + eta)
    y = w = 0,  alpha = 0,  xi_1 = (1 + 1/eta^2) (P(0) - D(0))
    repeat for t = 2, 3, ...
        (w_t, alpha_t, eps_t) = Prox-SDCA on P(w) + kappa/2 |w - y_{t-1}|^2, from alpha_{t-1}, to accuracy eta/(2 (1 + 1/eta^2)) xi_{t-1}
        y_t = w_t + beta (w_t - w_{t-1}),    xi_t = (1 - eta/2)^{t-1} xi_1
    stop when t >= 1 + 2/eta log(xi_1/eps)  or  (1 + rho/mu) eps_t + rho kappa/(2 mu) |w_t - y_{t-1}|^2 <= eps

alpha_t is a dual point of the original problem as well, and P(w_t) - D(alpha_t) is a tighter certificate than the paper's second condition
(2 to 25 times where lambda is small), so that is what ends a run unless the paper's conditions are asked for.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from dualgap import theory
from dualgap.certificate import EPS
from dualgap.problem import Problem
from dualgap.solvers.ascent import Ascent
from dualgap.solvers.prox_sdca import RULES, ProxSDCA, update_rule
from dualgap.solvers.run import Run, euclidean
from dualgap.solvers.surrogate import covered

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class AcceleratedProxSDCA:
    """Proximal stochastic dual coordinate ascent, accelerated by an outer loop.

    Parameters
    ----------
    inner : int or "theory"
        How far an inner problem is solved: a number of passes (the paper's remark says 5), or to the accuracy that the theory asks for.
    stop : {"direct", "paper"}
        What ends a run: the certificate P(w) - D(alpha), or one of the two conditions of the paper, which are proved where every
        coefficient is penalized and no intercept is fitted.
    option, sampling
        How Prox-SDCA updates a dual variable and picks rows, as in `ProxSDCA`.

    Notes
    -----
    Where R^2/(lambda gamma) <= 10 n the paper prescribes Prox-SDCA instead, and so it is done; the solution's notes say so.

    Examples
    --------
    >>> AcceleratedProxSDCA(inner="theory").stop
    'direct'
    """

    inner: int | str = 5
    stop: str = "direct"
    option: str | None = None
    sampling: str = "permuted"

    def __post_init__(self) -> None:
        if self.inner != "theory" and (not isinstance(self.inner, int) or isinstance(self.inner, bool) or self.inner < 1):
            raise ValueError(f"inner must be a positive number of passes or 'theory', got {self.inner!r}")
        if self.stop not in ("direct", "paper"):
            raise ValueError(f"stop must be 'direct' or 'paper', got {self.stop!r}")
        if self.option not in (None, *RULES):
            raise ValueError(f"option must be one of {', '.join(RULES)} or None, got {self.option!r}")
        if self.sampling not in ("permuted", "iid"):
            raise ValueError(f"sampling must be 'permuted' or 'iid', got {self.sampling!r}")

    def requirement(self, problem: Problem) -> str:
        """What a problem must have that this one has not."""
        if self.stop == "paper" and (problem.intercept or problem.unpenalized.size):
            return "a penalty on every coefficient and no intercept for the paper's conditions to hold"
        return euclidean(problem)

    def minimize(self, problem: Problem, run: Run, alpha: Array) -> None:
        """Run the procedure from alpha until the run ends."""
        run.exhaust(self.steps(problem, run, alpha))

    def steps(self, problem: Problem, run: Run, alpha: Array) -> Iterator[None]:
        """The procedure from alpha, an outer iteration at a time."""
        original = problem
        problem, added, left = covered(problem, run)
        size: dict[str, Any] = {
            "n": problem.n,
            "radius": sqrt(problem.radius2),
            "lam": problem.penalty.convexity + added,
            "gamma": problem.loss.smoothness,
        }
        if not theory.accelerate(**size):
            run.note("R^2/(lambda gamma) <= 10 n: solved by Prox-SDCA, as the paper prescribes.")
            yield from ProxSDCA(option=self.option, sampling=self.sampling, smoothing=True).steps(original, run, alpha)
            return

        kappa, _, _, eta, beta = theory.acceleration(**size)
        ascent = Ascent(problem, alpha, run, sampling=self.sampling, ridge=added)
        w = y = run.best.w
        ascent.settle(y, kappa)
        ascent.use(update_rule(self.option, problem.loss, ascent.largest_step))
        gap0 = self._gap(ascent, w)
        t = 1
        memory = run.remember("AcceleratedProxSDCA", lambda: {"w": w, "y": y, "t": t, "gap0": gap0})
        if memory:
            w, y, t, gap0 = memory["w"], memory["y"], int(memory["t"]), float(memory["gap0"])
        while run.going:
            t += 1
            ascent.settle(y, kappa)
            eps_t = self._solve_inner(ascent, run, theory.inner_tolerance(t, eta=eta, gap0=gap0))
            w, before = ascent.weights(), w
            if self.stop == "paper":
                met = run.going and self._first_condition(t, eta, gap0, left)
                met = met or self._second_condition(ascent, w, eps_t, kappa, size["lam"], left)
                if met:
                    run.note(met)
                if met or run.due:
                    run.certify(w, ascent.alpha, ends=False)
                if met:
                    run.accept()
            else:
                run.offer(ascent)
            y = w + beta * (w - before)
            yield

    def _solve_inner(self, ascent: Ascent, run: Run, tolerance: float) -> float | None:
        """Prox-SDCA on the subproblem; its gap where that was evaluated."""
        if self.inner != "theory":
            for _ in range(int(self.inner)):
                if run.going:
                    ascent.sweep()
            return None
        eps_t = np.inf
        while run.going and eps_t > tolerance:
            ascent.sweep()
            eps_t = self._inner_gap(ascent)
        return eps_t

    def _inner_gap(self, ascent: Ascent) -> float:
        """The gap of the inner problem, which takes the scores of all rows: half a pass."""
        ascent.run.evaluated(0.5)
        return ascent.gap()

    def _first_condition(self, t: int, eta: float, gap0: float, eps: float) -> str:
        """Whether t is large enough, a theorem only where the inner problems were solved to its accuracy; in words."""
        if self.inner != "theory" or gap0 == 0.0 or t < theory.outer_iterations(eta=eta, gap0=gap0, eps=eps):
            return ""
        return f"The paper's first condition holds: t = {t}."

    def _second_condition(self, ascent: Ascent, w: Array, eps_t: float | None, kappa: float, lam: float, eps: float) -> str:
        """Whether the paper's bound is small enough, rounding errors of the inner gap included; in words."""
        eps_t = self._inner_gap(ascent) if eps_t is None else eps_t
        eps_t = max(eps_t, 0.0) + EPS * abs(ascent.run.null) + ascent.run.best.doubt
        bound = theory.stopping_bound(lam=lam, kappa=kappa, eps_t=eps_t, distance=float(np.linalg.norm(w - ascent.center)))
        return f"The paper's second condition holds: its bound is {bound:.2e}." if bound <= eps else ""

    def _gap(self, ascent: Ascent, w: Array) -> float:
        """P(w) - D(alpha) of the problem being solved, at the start: the paper's P(0) - D(0) if nothing is warm."""
        problem, d = ascent.problem, ascent.problem.d
        primal = problem.mean_loss(w).value + problem.penalty_value(w) + 0.5 * ascent.ridge * float(np.sum(w[:d] ** 2))
        dual = -problem.mean_conjugate(ascent.alpha)[0]
        if np.any(ascent.a):
            dual -= ascent.unshifted_conjugate()
        return max(primal - dual, 0.0)
