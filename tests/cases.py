"""Problems for the tests of certificates and solvers: data of awkward kinds, and the oracle's statement of what the library is asked."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

import dualgap as dg
import reference
from dualgap.certificate import primal_point
from dualgap.data.validation import make_problem
from dualgap.problem import Problem
from reference import LD, Spec

ROUNDING = 64 * reference.EPS


@dataclass(frozen=True)
class Case:
    """One problem, as `dualgap.solve` takes it."""

    X: Any
    y: Any
    loss: Any
    penalty: Any
    weight: Any = None
    intercept: bool = False

    def solve(self, **options: Any) -> dg.Solution:
        return dg.solve(
            self.X, self.y, loss=self.loss, penalty=self.penalty, sample_weight=self.weight, intercept=self.intercept, **options
        )

    @property
    def classes(self) -> int:
        return int(np.max(self.y)) + 1 if getattr(self.loss, "vector", False) else 0

    @cached_property
    def spec(self) -> Spec:
        return Spec(*_loss_spec(self.loss), *_penalty_spec(self.penalty, self.X.shape[1], self.unit), self.intercept)

    @cached_property
    def problem(self) -> Problem:
        return make_problem(self.X, self.y, self.loss, self.penalty, self.weight, self.intercept)[0]

    @property
    def unit(self) -> float:
        """The oracle's Huber loss has slopes within 1: the library's is delta times that."""
        return float(self.loss.delta) if isinstance(self.loss, dg.Huber) else 1.0

    @cached_property
    def reference(self) -> reference.Reference:
        return reference.solve_reference(self.spec, self.X, self.y, self.weight)

    @property
    def optimum(self) -> Any:
        """An upper bound of min P, closer to it than any certificate in float64."""
        return self.reference.value * LD(self.unit)

    @property
    def doubt(self) -> float:
        """How far the optimum may be below that."""
        return float(self.reference.error * self.reference.scale * LD(self.unit))

    def objective(self, w: Any, b: Any = 0.0) -> Any:
        """P(w, b) in long double."""
        w = np.asarray(w).astype(LD)
        if self.spec.penalty == "entropy":
            w = w / w.sum()
        return LD(self.unit) * reference.objective(self.spec, self.X, self.y, w, b, self.weight)

    def dual(self, alpha: Any, w: Any, b: Any = 0.0) -> Any:
        """P(w, b) less the oracle's bound on its distance from the optimum, by the dual point alpha: D(alpha) where R* is finite."""
        U = -np.asarray(alpha).astype(LD) / LD(self.unit)
        y = reference._targets(self.spec, self.y)
        U = reference.dual_domain(self.spec, U, y)
        gap = reference.certificate(self.spec, self.X, self.y, np.asarray(w).astype(LD), np.asarray(b).astype(LD), U, self.weight)
        return self.objective(w, b) - LD(self.unit) * gap


def _loss_spec(loss: Any) -> tuple[str, dict[str, Any]]:
    match loss:
        case dg.Huber():
            return "huber", {"gamma": loss.delta}
        case dg.EpsilonInsensitive():
            return "epsilon_insensitive", {"eps": loss.epsilon}
        case dg.SquaredEpsilonInsensitive():
            return "squared_epsilon_insensitive", {"eps": loss.epsilon}
        case dg.Quantile():
            return "quantile", {"q": loss.level}
        case dg.SmoothHinge():
            return "smooth_hinge", {"gamma": loss.gamma}
        case dg.Smoothed():
            name, params = _loss_spec(loss.loss)
            return {"hinge": "smooth_hinge", "absolute": "huber"}.get(name, name), params | {"gamma": loss.gamma}
        case dg.MaxHinge():
            return "max_hinge", {"costs": loss.costs}
        case dg.SmoothMaxHinge():
            return "smooth_max_hinge", {"gamma": loss.gamma, "costs": loss.costs}
        case dg.SoftMaxHinge():
            return "soft_max_hinge", {"gamma": loss.gamma, "costs": loss.costs}
    names = {dg.Squared: "squared", dg.Absolute: "absolute", dg.Logistic: "logistic", dg.Hinge: "hinge"}
    names |= {dg.SquaredHinge: "squared_hinge", dg.Softmax: "softmax"}
    return names[type(loss)], {}


def _penalty_spec(penalty: Any, d: int, unit: float) -> tuple[str, dict[str, Any]]:
    match penalty:
        case dg.L2() | dg.ElasticNet():
            return "elastic_net", {"l1": getattr(penalty, "l1", 0.0) / LD(unit), "l2": penalty.l2 / LD(unit)}
        case dg.Factors() | dg.Box():
            name, params = _penalty_spec(penalty.penalty, d, unit)
            fields = ("factors",) if isinstance(penalty, dg.Factors) else ("lower", "upper")
            return name, params | {f: np.broadcast_to(np.asarray(getattr(penalty, f), float), d) for f in fields}
        case dg.GroupL1():
            return "group", {"l1": penalty.l1 / LD(unit), "l2": penalty.l2 / LD(unit), "groups": penalty.groups}
        case dg.QNorm():
            q = penalty.q or 1.0 + 1.0 / max(np.log(d), 1.0)
            return "q_norm", {"l2": penalty.l2 / LD(unit), "q": q}
        case dg.Entropy():
            return "entropy", {"l2": penalty.l2 / LD(unit)}
    raise TypeError(penalty)


STORAGES = ("dense", "csr32", "csr64")


def stored(X: Any, storage: str, dtype: Any = np.float64) -> Any:
    """The same numbers (rounded to the type) in another storage."""
    X = np.ascontiguousarray(X, dtype=dtype)
    if storage == "dense":
        return X
    X = sp.csr_array(X)
    index = np.int32 if storage == "csr32" else np.int64
    return sp.csr_array((X.data, X.indices.astype(index), X.indptr.astype(index)), shape=X.shape)


def violations(case: Case, s: dg.Solution, tol: float) -> list[str]:
    """What a solution claims that is not so."""
    wrong = []
    true = case.objective(s.w, s.intercept)
    best = case.optimum
    if not true - best <= s.gap:
        wrong.append(f"suboptimality {float(true - best):.3e} > gap {s.gap:.3e}")
    if not s.primal - LD(s.gap) <= best:
        wrong.append(f"primal - gap is {float(s.primal - LD(s.gap) - best):.3e} above the optimum, gap {s.gap:.3e}")
    # with unpenalized coefficients the oracle bounds only what is within its reach, as a minimum that it came close to is
    proved = case.reference.error <= 1e-9 or not len(case.problem.unheld)
    if proved and not best - LD(case.doubt) - ROUNDING * case.reference.scale <= true:
        wrong.append(f"the oracle is wrong by {float(best - true):.3e}")
    intercept = np.broadcast_to(s.intercept, (1, *s.w.shape[1:]))
    point = primal_point(case.problem, np.concatenate([s.w, intercept]))
    if not abs(s.primal - true) <= point.doubt:
        wrong.append(f"primal is off by {float(s.primal - true):.3e} with an allowance of {point.doubt:.3e}")
    if s.convexity > 0.0:
        order = getattr(case.problem.penalty, "q", 1.0 if isinstance(case.penalty, dg.Entropy) else 2.0)
        away = np.linalg.norm((s.w - case.reference.w).astype(float).ravel(), order)
        if not away <= s.distance + np.sqrt(2.0 * case.doubt / s.convexity):
            wrong.append(f"the optimum is {away:.3e} away, said to be within {s.distance:.3e}")
    for t, record in enumerate(s.history):
        if not record.primal - LD(record.gap) <= best:
            wrong.append(f"record {t}: primal - gap is {float(record.primal - LD(record.gap) - best):.3e} too high, gap {record.gap:.3e}")
        if not record.dual <= best + LD(record.gap):
            wrong.append(f"record {t}: dual is {float(record.dual - best):.3e} above the optimum, gap {record.gap:.3e}")
    if not np.all(np.diff(s.history.primal) <= 0.0):
        wrong.append("the primal objective grew")
    last = s.history[-1]
    if (last.primal, last.dual, last.gap) != (s.primal, s.dual, s.gap):
        wrong.append("the last record is not the solution")
    if s.null > 0.0 and not np.isclose(s.relative_gap, s.gap / s.null, rtol=1e-15, atol=0.0):
        wrong.append("relative_gap is not gap / null")
    paper = getattr(s.solver, "stop", "") == "paper"
    if (s.status is dg.Status.CERTIFIED) != (s.gap <= tol * s.null) and not paper:
        wrong.append(f"status {s.status.name} with gap {s.relative_gap:.3e}")
    if paper and s.status is dg.Status.CERTIFIED and not true - best <= tol * s.null:
        wrong.append(f"the paper's condition ended a run at {float(true - best):.3e} > {tol * s.null:.3e}")
    return wrong
