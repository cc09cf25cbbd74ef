"""Huber's regression with a scale: its certificate is joint in the coefficients and the scale, see `dualgap.estimators.huber`."""

import math
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from dualgap.audit.proof import FINEST, Effort, Proof
from dualgap.audit.statement import Data, Statement, dense
from dualgap.estimators.huber import HuberRegressor, Joint
from dualgap.losses import Huber
from dualgap.penalties import L2
from dualgap.solution import Status

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class JointHuber:
    """sum_i s_i (sigma + H(r_i/sigma) sigma) + alpha |w|^2, and the coefficients and the sigma that are said to minimize it."""

    epsilon: float
    alpha: float
    coef: Any
    intercept: Any
    scale: float
    classes: None = None
    column: None = None

    @property
    def loss(self) -> Huber:
        """The loss at the scale of the model."""
        return Huber(self.epsilon * self.scale)

    @property
    def penalty(self) -> L2:
        """The penalty of a weight of 1 in all."""
        return L2(2.0 * self.alpha)

    def restated(self, loss: Any, penalty: Any) -> Any:
        """The objective of a caller in place of its own."""
        if loss is None and penalty is None:
            return self
        return Statement(loss, penalty, self.coef, self.intercept)

    def claims(self, data: Data) -> list["HuberClaim"]:
        """The one problem."""
        return [HuberClaim(self, data)]


@dataclass(frozen=True)
class HuberClaim:
    """The joint problem on data."""

    statement: JointHuber
    data: Data

    @property
    def unit(self) -> float:
        """What the objective here is divided by."""
        return float(self.data.n) if self.data.weight is None else math.fsum(self.data.weight)

    @property
    def penalty(self) -> L2:
        """The penalty in the units here."""
        return L2(2.0 * self.statement.alpha / self.unit)

    def prove(self, effort: Effort) -> Proof:
        """What can be proved about the coefficients and the scale."""
        s, data = self.statement, self.data
        like = HuberRegressor(
            epsilon=s.epsilon,
            alpha=s.alpha,
            fit_intercept=s.intercept is not None,
            max_iter=max(int(effort.max_passes), 1),
            time_limit=effort.time_limit,
            solver=effort.options.get("solver", "auto"),
        )
        joint = Joint(like, data.X, np.ascontiguousarray(data.y, dtype=np.float64), data.weight, None)
        w = np.append(dense(s.coef), 0.0 if s.intercept is None else float(np.ravel(s.intercept)[0]))
        sigma = max(s.scale, FINEST * joint.null)
        value, doubt = joint.objective(w, sigma)
        alpha = joint.held(sigma).dual_points(w, np.empty(data.n))
        joint.certify(sigma, SimpleNamespace(w=w[:-1], intercept=w[-1], alpha=alpha))
        start: Any = SimpleNamespace(w=w[:-1], intercept=w[-1], alpha=joint.alpha)
        while effort.max_passes > 0.0:
            most = value + doubt - joint.lower
            if most <= effort.tol * joint.null or joint.upper - joint.lower <= effort.share * most:
                break
            joint.target = max(0.5 * effort.share * most, FINEST * joint.null)
            start, sigma = joint.solve(start, sigma)
            if start.status is not Status.CERTIFIED:
                break
        upper, passes = min(joint.upper, value + doubt), joint.passes
        regions = (joint.region(w, max(value + doubt - joint.lower, 0.0)), joint.region(joint.w, max(upper - joint.lower, 0.0)))
        return Proof(value, doubt, joint.dual, joint.lower, upper, joint.null, joint.alpha, regions, float(joint.moduli), passes)
