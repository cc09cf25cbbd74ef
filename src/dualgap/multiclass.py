r"""Vector-valued losses for joint multiclass models.

A row with scores ``z = W^T x`` in R^k, label y and costs c has the loss ``phi(z) = base(a)`` with
``a_j = z_j - z_y`` for j != y. The bases are the max-of-hinge ``max_j [c_j + a_j]_+``, its Euclidean
smoothing, and the soft-max-of-hinge ``gamma log(1 + sum_j exp((c_j + a_j) / gamma))``.

Decisions that hold for every loss of this module:

a. *Full score space.* Gradients and dual variables have k entries that sum to zero, so that
   ``X_i alpha_i = x alpha^T`` and ``||X_i alpha_i||^2 = ||x||^2 ||alpha||^2``. A gradient b has
   ``b_j = beta_j`` for j != y and ``b_y = -sum beta``; a dual variable is ``alpha = -b``.
b. *The simplex.* The paper's domain S = {beta >= 0, sum beta <= 1} is the simplex of
   ``p = e_y + b = e_y - alpha``: the slack ``1 - sum beta`` is p_y. Steps are derived in p, where the
   label is one more coordinate: with ``m = z - q alpha`` the step maximizes over the simplex

       sum_j (m_j + c_j) p_j - (q / 2) ||p||^2 - regularizer(p),    c_y = 0.
c. *Losses compile.* Methods and the functions in ``HELPERS`` use scalars, 1-D arrays and loops only,
   allocate nothing, and call other functions with positional arguments. ``out`` is the scratch space.
d. *Entries at y.* ``c[y]`` is never read as a cost, and conjugates and norms read only j != y.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dualgap.formulas import traits

BLOCK = 1 << 14

Vector = npt.NDArray[np.float64]
Costs = npt.ArrayLike | None

# A dual point this far outside its domain is rounding, not an infeasible point.
TOLERANCE = 1e-12
# Probabilities below this are zero: their entropy cannot be told from it, and subnormals are slow.
SMALLEST = 1e-290
LOG_SMALLEST = -667.0


def _largest(m: Vector, c: Vector, y: int) -> int:
    """Return the j != y with the largest ``m_j + c_j``."""
    best = 0 if y != 0 else m.shape[0] - 1
    for j in range(m.shape[0]):
        if j != y and m[j] + c[j] > m[best] + c[best]:
            best = j
    return best


def _level(m: Vector, c: Vector, y: int, best: int, excess: float, C: float, cap: float) -> float:
    """Return how far below the largest coordinate the water level of a quadratic step lies.

    With ``v_j = m_j + c_j - m_best - c_best <= 0`` and ``theta = excess - tau``, tau >= 0 solves

        sum_{j != y} [v_j + tau]_+ = min(cap, theta / C).

    The difference of the sides is a maximum of two functions that are convex and decrease in theta. From
    a theta below the root, moving to the root of both functions on the current support never passes it
    and never enlarges the support, so the iteration ends with the exact support, in a few rounds. Counting
    from the top keeps tau accurate when the scores are large and ``cap`` is tiny; heights are written
    ``max(v, -tau) + tau``, which a compiler may not reassociate to ``m_j + c_j + (tau - top)``.
    """
    top = m[best] + c[best]
    tau = min(cap, excess / (1.0 + C))
    while True:
        total = 0.0
        size = 1
        for j in range(m.shape[0]):
            if j != y:
                v = m[j] + c[j] - top
                if j != best and v >= -tau:
                    total += v
                    size += 1
        lower = min((cap - total) / size, (excess - C * total) / (1.0 + C * size))
        if not lower < tau:
            return tau
        tau = lower


def _fill(m: Vector, c: Vector, y: int, base: float, C: float, cap: float, out: Vector) -> float:
    """Write ``[v_j + tau]_+ / cap`` of `_level` for j != y, leave ``out[y]``, return the sum.

    The excess is that of the largest coordinate over `base`; without one, all is zero. ``cap = 0`` is the
    limit: all mass on one largest coordinate. Where the sum is 1, it is made so: compiled code may round
    v_j differently than in `_level`, which ``1 / cap`` magnifies. `out` may be `m`.
    """
    best = _largest(m, c, y)
    top = m[best] + c[best]
    excess = top - base
    tau = _level(m, c, y, best, excess, C, cap) if excess > 0.0 and cap > 0.0 else 0.0
    total = 0.0
    for j in range(m.shape[0]):
        if j != y:
            beta = (max(m[j] + c[j] - top, -tau) + tau) / cap if tau > 0.0 and j != best else 0.0
            out[j] = beta
            total += beta
    if excess > 0.0:
        out[best] = tau / cap if cap > 0.0 else 1.0
        total += out[best]
    if total > 1.0 or excess - tau > C * cap:
        for j in range(m.shape[0]):
            if j != y:
                out[j] /= total
        total = 1.0
    return total


def optimize_dual(mu: Vector, C: float, out: Vector) -> None:
    r"""Write ``argmin ||a - mu||^2 + C beta^2`` subject to ``a >= 0, beta = sum a <= 1``.

    Stationarity is ``a_j = [mu_j - theta]_+`` with ``theta = C beta + nu``, ``nu >= 0`` and
    ``nu (1 - beta) = 0``. With mu sorted downwards, ``mubar_j`` its cumulative sums and j the size of the
    support, there are three branches:

    - mu <= 0: a = 0;
    - beta = mubar_j / (1 + j C) if that is at most 1, with theta = C beta;
    - beta = 1 otherwise, with ``theta = (mubar_j - 1) / j``, where j is the *last* index with
      ``mubar_j - j mu_j < 1``.

    The paper's OptimizeDual takes in the last branch the first j with ``mubar_j - j mu_j >= 1``, which lies
    outside the support: its a sums to ``1 + (mubar_j - j mu_j - 1) / j > 1``, and no such j need exist.
    Its final comparison with a = 0 is never needed. The support is found without sorting, see `_level`.

    Parameters
    ----------
    mu : ndarray of shape (k,)
        The point to approximate.
    C : float
        Weight of the squared sum, at least 0.
    out : ndarray of shape (k,)
        Receives a; must not share memory with `mu`.
    """
    for j in range(mu.shape[0]):
        out[j] = 0.0
    _fill(mu, out, -1, 0.0, C, 1.0, out)


def project(mu: Vector, out: Vector) -> None:
    r"""Write the Euclidean projection of `mu` onto ``{b : b >= 0, sum b <= 1}``.

    It is ``[mu]_+`` if that sums to at most 1, and ``[mu - theta]_+`` with the theta for which the sum is
    exactly 1 otherwise: `optimize_dual` at C = 0.

    Parameters
    ----------
    mu : ndarray of shape (k,)
        The point to project.
    out : ndarray of shape (k,)
        Receives b; must not share memory with `mu`.
    """
    optimize_dual(mu, 0.0, out)


def _hinge_value(z: Vector, y: int, c: Vector, gamma: float) -> float:
    """Return ``max_{beta in S} beta . (c + a) - gamma / 2 ||beta||^2``.

    At the maximizer ``beta_j = [c_j + a_j - theta]_+ / gamma`` this is ``theta + gamma / 2 ||beta||^2``, a
    sum of non-negative terms.
    """
    best = _largest(z, c, y)
    top = z[best] + c[best]
    excess: float = top - z[y]
    if excess <= 0.0:
        return 0.0
    if gamma == 0.0:
        return excess
    tau = _level(z, c, y, best, excess, 0.0, gamma)
    squares = 0.0
    for j in range(z.shape[0]):
        if j != y:
            height = max(z[j] + c[j] - top, -tau) + tau if j != best else tau
            squares += height * height
    return excess - tau + 0.5 * squares / gamma


def _hinge_derivative(z: Vector, y: int, c: Vector, gamma: float, out: Vector) -> None:
    """Write the maximizing beta of `_hinge_value` as a full gradient."""
    out[y] = -_fill(z, c, y, z[y], 0.0, gamma, out)


def _hinge_conjugate(b: Vector, y: int, c: Vector, gamma: float) -> float:
    """Return ``gamma / 2 ||beta||^2 - c . beta`` on S and infinity elsewhere."""
    total = 0.0
    value = 0.0
    for j in range(b.shape[0]):
        if j != y:
            beta = b[j]
            if not beta >= -TOLERANCE:
                return math.inf
            beta = max(0.0, beta)
            total += beta
            value += (0.5 * gamma * beta - c[j]) * beta
    if not total <= 1.0 + TOLERANCE:
        return math.inf
    return value


def _hinge_point(alpha: Vector, y: int, c: Vector, z: Vector, q: float, gamma: float, out: Vector) -> None:
    """Write the alpha of the exact step: OptimizeDual with ``mu_j = (m_j + c_j - m_y) / (gamma + q)``.

    Here ``m = z - q alpha`` at the old alpha and ``C = q / (gamma + q)``. In p it is the water-filling
    ``p_j = [m_j + c_j - theta]_+ / (gamma + q)`` for j != y and ``p_y = [m_y - theta]_+ / q``.
    """
    for j in range(z.shape[0]):
        out[j] = z[j] - q * alpha[j]
    cap = gamma + q
    total = _fill(out, c, y, out[y], q / cap if cap > 0.0 else 0.0, cap, out)
    for j in range(z.shape[0]):
        out[j] = -out[j]
    out[y] = min(1.0, total)


def _soft_value(z: Vector, y: int, c: Vector, gamma: float) -> float:
    """Return ``gamma log(1 + sum_j exp((c_j + a_j) / gamma))``, accurate also when it is tiny."""
    best = _largest(z, c, y)
    top = z[best] + c[best]
    excess: float = top - z[y]
    if not excess > 0.0:
        best = y
        top = z[y]
        excess = 0.0
    others = 0.0
    for j in range(z.shape[0]):
        if j != best:
            score = z[j] if j == y else z[j] + c[j]
            others += math.exp((score - top) / gamma)
    return excess + gamma * math.log1p(others)


def _soft_derivative(z: Vector, y: int, c: Vector, gamma: float, out: Vector) -> None:
    """Write the probabilities of j != y as a full gradient."""
    best = _largest(z, c, y)
    top = max(z[y], z[best] + c[best])
    rest = 0.0
    for j in range(z.shape[0]):
        if j != y:
            out[j] = math.exp((z[j] + c[j] - top) / gamma)
            rest += out[j]
    total = rest + math.exp((z[y] - top) / gamma)
    for j in range(z.shape[0]):
        out[j] /= total
    out[y] = -rest / total


def _soft_conjugate(b: Vector, y: int, c: Vector, gamma: float) -> float:
    """Return ``gamma sum_j p_j log p_j - c . beta`` with ``p_y = 1 - sum beta``, infinity outside S."""
    total = 0.0
    linear = 0.0
    entropy = 0.0
    for j in range(b.shape[0]):
        if j != y:
            beta = b[j]
            if not beta >= -TOLERANCE:
                return math.inf
            if beta > 0.0:
                total += beta
                linear += c[j] * beta
                entropy += beta * math.log(beta)
    if not total <= 1.0 + TOLERANCE:
        return math.inf
    if total < 1.0:
        entropy += (1.0 - total) * math.log1p(-total)
    return gamma * entropy - linear


def _log_linear_root(x: float, rho: float, log_rho: float, p: float, log_p: float) -> float:
    """Return the root p of ``log p + rho p = x``, starting at p if that is positive and near.

    ``w = rho p`` solves ``w + log w = x + log rho``: a start within 6 % (a Padé approximant, a quadratic or
    the asymptotic series) is corrected by the fourth-order step of Fritsch, Shafer and Crowley, which leaves
    a relative error of about ``(r / (1 + w))^4``.
    """
    w = rho * p
    r = x - w - log_p
    if p == 0.0 or abs(r) > 0.5 * (1.0 + w):
        shifted = x + log_rho
        if shifted < 0.0:
            if x < LOG_SMALLEST:
                return 0.0
            p = math.exp(x)
            w = rho * p
            p *= (1.0 + 0.5 * w) / (1.0 + 1.5 * w)
        elif shifted < 3.0:
            p = (0.5671 + shifted * (0.39 + 0.053 * shifted)) / rho
        else:
            log_shifted = math.log(shifted)
            p = (shifted - log_shifted + log_shifted / shifted) / rho
        w = rho * p
        r = x - w - math.log(p)
    for _ in range(4):
        v = 1.0 + w
        s = 2.0 * v * (v + 2.0 * r / 3.0)
        p *= 1.0 + r / v * (s - r) / (s - 2.0 * r)
        if abs(r) <= 1e-3 * v:
            break
        w = rho * p
        r = x - w - math.log(p)
    return p


def _soft_start(alpha: Vector, y: int, c: Vector, z: Vector, rho: float, gamma: float, out: Vector) -> tuple[float, float, float]:
    """Return a first theta for `_soft_point` and bounds on the root; write ``log p`` of the old point.

    theta is what makes a Newton step from the old p keep its sum. At the lower bound the largest
    coordinate alone is 1, at the upper bound none exceeds 1 / k.
    """
    k = z.shape[0]
    top = -math.inf
    weight = 0.0
    weighted = 0.0
    for j in range(k):
        p = 1.0 - alpha[j] if j == y else -alpha[j]
        score = (z[j] if j == y else z[j] + c[j]) / gamma
        top = max(top, score + rho * p)
        out[j] = 0.0
        if p > SMALLEST:
            out[j] = math.log(p)
            slope = p / (1.0 + rho * p)
            weight += slope
            weighted += slope * (score - out[j])
    low = top - rho
    high = top - rho / k + math.log(k)
    theta = min(max(weighted / weight, low), high) if weight > 0.0 else low
    return theta, low, high


def _soft_point(alpha: Vector, y: int, c: Vector, z: Vector, q: float, gamma: float, out: Vector) -> None:
    """Write the alpha of the exact step: ``log p_j + rho p_j = x_j - theta`` with sum p = 1.

    ``rho = q / gamma`` and ``x_j = (z_j + c_j) / gamma + rho p_j`` at the old p. As a function of theta the
    mass F = sum p decreases through 1 between the bounds of `_soft_start`, with slope -V,
    ``V = sum p_j / (1 + rho p_j)``. The next theta is the root of the model ``log F + B F + theta = const``
    that matches F and V, which is exact for rho = 0 and whenever the positive p_j are equal; a proposal
    outside the bracket is replaced by its midpoint. Each p_j follows a change d of theta by
    ``p_j (1 - s d + s^3 d^2 / 2)``, ``s = 1 / (1 + rho p_j)``, before it is corrected; the last, small d is
    applied in the same way and p divided by its sum.
    """
    k = z.shape[0]
    rho = q / gamma
    log_rho = math.log(rho) if rho > 0.0 else -1e300
    theta, low, high = _soft_start(alpha, y, c, z, rho, gamma, out)
    d = 0.0
    for iteration in range(200):
        mass = 0.0
        slope = 0.0
        for j in range(k):
            old = 1.0 - alpha[j] if j == y else -alpha[j]
            score = (z[j] if j == y else z[j] + c[j]) / gamma
            p = old
            log_p = out[j]
            if iteration > 0:
                p = _moved(out[j], rho, d)
                log_p = math.log(p) if p > SMALLEST else 0.0
            if p <= SMALLEST:
                p = 0.0
            p = _log_linear_root(score - theta + rho * old, rho, log_rho, p, log_p)
            out[j] = p
            mass += p
            slope += p / (1.0 + rho * p)
        d = math.log(mass) + (mass / slope - 1.0) * (mass - 1.0) / mass
        if abs(d) <= 1e-5 or abs(mass - 1.0) <= 1e-14:
            break
        if mass > 1.0:
            low = max(low, theta)
        else:
            high = min(high, theta)
        proposal = theta + d
        if not low < proposal < high:
            proposal = 0.5 * (low + high)
        d = proposal - theta
        theta = proposal
    if abs(d) > 1e-5:
        d = 0.0
    mass = 0.0
    for j in range(k):
        out[j] = _moved(out[j], rho, d)
        mass += out[j]
    rest = 0.0
    for j in range(k):
        p = out[j] / mass
        if j != y:
            rest += p
        out[j] = -p
    out[y] = min(1.0, rest)


def _moved(p: float, rho: float, d: float) -> float:
    """Return p after theta grew by d, to second order, or 0 where that is too far."""
    s = 1.0 / (1.0 + rho * p)
    t = s * d
    return p * (1.0 - t + 0.5 * s * t * t) if abs(t) < 0.5 else 0.0


def _squared_euclidean(q: Vector, y: int) -> float:
    """Return ``sum_{j != y} q_j^2``."""
    total = 0.0
    for j in range(q.shape[0]):
        if j != y:
            total += q[j] * q[j]
    return total


def _squared_sum(q: Vector) -> float:
    """Return ``(sum_j |q_j|)^2``."""
    total = 0.0
    for j in range(q.shape[0]):
        total += abs(q[j])
    return total * total


def _cost_array(costs: Costs, default: float, k: int, n: int) -> Vector:
    """Return `costs` as a C-contiguous array of shape (k, k) or (n, k); see `MaxHinge.with_costs`."""
    try:
        array = np.array(default if costs is None else costs, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise ValueError(f"costs must be real numbers, got {costs!r}") from error
    if array.shape in ((), (k,)):
        array = np.tile(array, (k, k) if array.ndim == 0 else (k, 1))
    if array.shape not in ((k, k), (n, k)):
        raise ValueError(f"costs must be a scalar or have shape ({k},), ({k}, {k}) or ({n}, {k}), got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError("costs must be finite, got NaN or infinity")
    if array.shape == (k, k):
        np.fill_diagonal(array, 0.0)
    return array


@traits(vector=True)
class MaxHinge(NamedTuple):
    r"""Max-of-hinge ``max_{j != y} [c_j + z_j - z_y]_+``, the loss of Crammer and Singer.

    Its conjugate is ``-c . beta`` on S = {beta >= 0, sum beta <= 1}, infinite elsewhere. It is not smooth.

    Parameters
    ----------
    costs : array-like or None, default=None
        Margins c, see `with_costs`; None is 1 for every wrong class.
    """

    costs: Costs = None

    @property
    def smoothness(self) -> float:
        """Strong convexity of the conjugate in its norm."""
        return 0.0

    @property
    def lipschitz(self) -> float:
        """L such that smoothing by gamma lowers the value by at most ``gamma L^2 / 2``."""
        return 1.0

    def smoothed(self, gamma: float) -> "SmoothMaxHinge":
        """Return the loss whose conjugate is this one's plus ``gamma / 2 ||beta||^2``."""
        return SmoothMaxHinge(gamma, self.costs)

    def with_costs(self, k: int, n: int) -> "MaxHinge":
        """Return this loss with costs as a validated array for k classes and n rows.

        Costs of shape (k,) or a scalar hold for every true class, shape (k, k) has one row for each true
        class, shape (n, k) one for each example; where n = k they are read as (k, k). All but the last
        become a (k, k) array with a zero diagonal.
        """
        return self._replace(costs=_cost_array(self.costs, 1.0, k, n))

    def value(self, z: Vector, y: int, c: Vector) -> float:
        """Return phi(z)."""
        return _hinge_value(z, y, c, 0.0)

    def derivative(self, z: Vector, y: int, c: Vector, out: Vector) -> None:
        """Write a subgradient: the largest violating class against y."""
        _hinge_derivative(z, y, c, 0.0, out)

    def conjugate(self, b: Vector, y: int, c: Vector) -> float:
        """Return phi*(b)."""
        return _hinge_conjugate(b, y, c, 0.0)

    def dual_step(self, alpha: Vector, y: int, c: Vector, z: Vector, q: float, out: Vector) -> None:
        """Write the a that maximizes ``-phi*(-a) - z . (a - alpha) - q / 2 ||a - alpha||^2``."""
        _hinge_point(alpha, y, c, z, q, 0.0, out)

    def dual_norm2(self, q: Vector, y: int) -> float:
        """Return the squared Euclidean norm of q over j != y."""
        return _squared_euclidean(q, y)

    def stretch(self, k: int) -> float:
        """Return ``sup ||X_i q||^2 / (||x_i||^2 ||q||^2)``: ``||q||^2 + (sum q)^2 <= k ||q||^2``."""
        return float(k)


@traits(vector=True)
class SmoothMaxHinge(NamedTuple):
    r"""Max-of-hinge smoothed in the Euclidean norm.

    Its conjugate is ``gamma / 2 ||beta||^2 - c . beta`` on S = {beta >= 0, sum beta <= 1}, so it is
    (1/gamma)-smooth, lies at most gamma / 2 below the max-of-hinge and never above, and is
    ``gamma / 2 (||u||^2 - ||u - project(u)||^2)`` at ``u = (c + a) / gamma``.

    Parameters
    ----------
    gamma : float, default=1.0
        Smoothing; 0 is the max-of-hinge.
    costs : array-like or None, default=None
        Margins c, see `MaxHinge.with_costs`; None is 1 for every wrong class.
    """

    gamma: float = 1.0
    costs: Costs = None

    @property
    def smoothness(self) -> float:
        """Strong convexity of the conjugate in its norm."""
        return self.gamma

    def with_costs(self, k: int, n: int) -> "SmoothMaxHinge":
        """Return this loss with costs as a validated array, see `MaxHinge.with_costs`."""
        return self._replace(costs=_cost_array(self.costs, 1.0, k, n))

    def value(self, z: Vector, y: int, c: Vector) -> float:
        """Return phi(z)."""
        return _hinge_value(z, y, c, self.gamma)

    def derivative(self, z: Vector, y: int, c: Vector, out: Vector) -> None:
        """Write the gradient: the projection of ``(c + a) / gamma`` onto S."""
        _hinge_derivative(z, y, c, self.gamma, out)

    def conjugate(self, b: Vector, y: int, c: Vector) -> float:
        """Return phi*(b)."""
        return _hinge_conjugate(b, y, c, self.gamma)

    def dual_step(self, alpha: Vector, y: int, c: Vector, z: Vector, q: float, out: Vector) -> None:
        """Write the a that maximizes ``-phi*(-a) - z . (a - alpha) - q / 2 ||a - alpha||^2``."""
        _hinge_point(alpha, y, c, z, q, self.gamma, out)

    def curvature(self, alpha: Vector, y: npt.NDArray[np.integer]) -> tuple[Vector, Vector, Vector]:
        """Return (q, r, t) such that the Hessian at the scores that alpha belongs to is ``diag(q) - r r' + t t'``, row by row.

        It is that of the projection onto S: on the classes with beta > 0, those whose multiplier is not at its bound share what they get
        where sum beta = 1.
        """
        rows = np.arange(len(alpha))
        active = (alpha < 0.0).astype(np.float64)
        count = active.sum(axis=1)
        full = alpha[rows, y] >= 1.0 - 1e-12
        scale = 1.0 / np.sqrt(self.gamma)
        r = active * np.where(full, scale / np.sqrt(np.maximum(count, 1.0)), scale / math.sqrt(2.0))[:, None]
        t = np.where(full[:, None], 0.0, r)
        r[rows, y] = np.where(full, 0.0, scale / math.sqrt(2.0))
        t[rows, y] = -r[rows, y]
        q = active / self.gamma
        q[rows, y] = np.where(full, 0.0, count / self.gamma)
        return q, r, t

    def dual_norm2(self, q: Vector, y: int) -> float:
        """Return the squared Euclidean norm of q over j != y."""
        return _squared_euclidean(q, y)

    def stretch(self, k: int) -> float:
        """Return ``sup ||X_i q||^2 / (||x_i||^2 ||q||^2)``: ``||q||^2 + (sum q)^2 <= k ||q||^2``."""
        return float(k)


@traits(vector=True)
class SoftMaxHinge(NamedTuple):
    r"""Soft-max-of-hinge ``gamma log(1 + sum_{j != y} exp((c_j + z_j - z_y) / gamma))``.

    Its conjugate is ``gamma sum_j p_j log p_j - c . beta`` with ``p_y = 1 - sum beta`` on
    S = {beta >= 0, sum beta <= 1}. The entropy of all k probabilities is 1-strongly convex in their L1 norm
    (Pinsker), which counts p_y beside the paper's beta: a direction then weighs four times less against
    ``||X_i q||^2`` than in the L1 norm over j != y, and with k = 2 this is the logistic loss with its gamma of 4. It lies above the
    max-of-hinge by at most ``gamma log k``.

    Parameters
    ----------
    gamma : float, default=1.0
        Temperature, positive.
    costs : array-like or None, default=None
        Margins c, see `MaxHinge.with_costs`; None is 1 for every wrong class.
    """

    gamma: float = 1.0
    costs: Costs = None

    @property
    def smoothness(self) -> float:
        """Strong convexity of the conjugate in its norm."""
        return self.gamma

    @property
    def temperature(self) -> float:
        """What the scores are divided by in the exponents of the probabilities."""
        return self.gamma

    def with_costs(self, k: int, n: int) -> "SoftMaxHinge":
        """Return this loss with costs as a validated array, see `MaxHinge.with_costs`."""
        return self._replace(costs=_cost_array(self.costs, 1.0, k, n))

    def value(self, z: Vector, y: int, c: Vector) -> float:
        """Return phi(z)."""
        return _soft_value(z, y, c, self.gamma)

    def derivative(self, z: Vector, y: int, c: Vector, out: Vector) -> None:
        """Write the gradient: the probabilities of the wrong classes."""
        _soft_derivative(z, y, c, self.gamma, out)

    def conjugate(self, b: Vector, y: int, c: Vector) -> float:
        """Return phi*(b)."""
        return _soft_conjugate(b, y, c, self.gamma)

    def dual_step(self, alpha: Vector, y: int, c: Vector, z: Vector, q: float, out: Vector) -> None:
        """Write the a that maximizes ``-phi*(-a) - z . (a - alpha) - q / 2 ||a - alpha||^2``."""
        _soft_point(alpha, y, c, z, q, self.gamma, out)

    def curvature(self, alpha: Vector, y: npt.NDArray[np.integer]) -> tuple[Vector, Vector, Vector]:
        """Return (q, r, t) such that the Hessian at the scores that alpha belongs to is ``diag(q) - r r' + t t'``, row by row."""
        p = -alpha
        p[np.arange(len(p)), y] += 1.0
        return p / self.temperature, p / math.sqrt(self.temperature), np.zeros((0, 0))

    def dual_norm2(self, q: Vector, y: int) -> float:
        """Return the squared L1 norm of q, the entry at y included."""
        return _squared_sum(q)

    def stretch(self, k: int) -> float:
        """Return ``sup ||X_i q||^2 / (||x_i||^2 ||q||_1^2)``: ``||q||^2 <= ||q||_1^2 / 2`` where entries sum to zero."""
        return 0.5


@traits(vector=True)
class Softmax(NamedTuple):
    r"""Multinomial logistic loss ``-log(exp(z_y) / sum_j exp(z_j))``.

    It is the soft-max-of-hinge with gamma = 1 and without margins.

    Parameters
    ----------
    costs : array-like, default=0.0
        Zeros, which `with_costs` expands to the array that compiled code reads.
    """

    costs: Costs = 0.0

    @property
    def smoothness(self) -> float:
        """Strong convexity of the conjugate in its norm."""
        return 1.0

    @property
    def temperature(self) -> float:
        """What the scores are divided by in the exponents of the probabilities."""
        return 1.0

    def with_costs(self, k: int, n: int) -> "Softmax":
        """Return this loss with costs as a validated array, see `MaxHinge.with_costs`."""
        return self._replace(costs=_cost_array(self.costs, 0.0, k, n))

    def value(self, z: Vector, y: int, c: Vector) -> float:
        """Return phi(z)."""
        return _soft_value(z, y, c, 1.0)

    def derivative(self, z: Vector, y: int, c: Vector, out: Vector) -> None:
        """Write the gradient: the probabilities of the wrong classes."""
        _soft_derivative(z, y, c, 1.0, out)

    def conjugate(self, b: Vector, y: int, c: Vector) -> float:
        """Return phi*(b)."""
        return _soft_conjugate(b, y, c, 1.0)

    def dual_step(self, alpha: Vector, y: int, c: Vector, z: Vector, q: float, out: Vector) -> None:
        """Write the a that maximizes ``-phi*(-a) - z . (a - alpha) - q / 2 ||a - alpha||^2``."""
        _soft_point(alpha, y, c, z, q, 1.0, out)

    def curvature(self, alpha: Vector, y: npt.NDArray[np.integer]) -> tuple[Vector, Vector, Vector]:
        """Return (q, r, t) such that the Hessian at the scores that alpha belongs to is ``diag(q) - r r' + t t'``, row by row."""
        p = -alpha
        p[np.arange(len(p)), y] += 1.0
        return p / self.temperature, p / math.sqrt(self.temperature), np.zeros((0, 0))

    def dual_norm2(self, q: Vector, y: int) -> float:
        """Return the squared L1 norm of q, the entry at y included."""
        return _squared_sum(q)

    def stretch(self, k: int) -> float:
        """Return ``sup ||X_i q||^2 / (||x_i||^2 ||q||_1^2)``: ``||q||^2 <= ||q||_1^2 / 2`` where entries sum to zero."""
        return 0.5


HELPERS = (
    _largest,
    _level,
    _fill,
    optimize_dual,
    project,
    _hinge_value,
    _hinge_derivative,
    _hinge_conjugate,
    _hinge_point,
    _soft_value,
    _soft_derivative,
    _soft_conjugate,
    _log_linear_root,
    _soft_start,
    _soft_point,
    _moved,
    _squared_euclidean,
    _squared_sum,
)


def column_balanced(alpha: Vector, y: npt.NDArray[np.integer], weight: Vector) -> Vector:
    r"""Return a feasible dual point near `alpha` whose weighted column sums are zero.

    With ``p = onehot(y) - alpha`` in the simplex, column j must carry the mass ``sum_i weight_i [y_i = j]``.
    A column that carries more gives up the same fraction ``excess / mass`` of every entry; what a row gave
    up goes to the columns that carry less, in proportion to their deficits. Rows keep their sum, entries
    their sign, and a column receives its deficit exactly. A second round removes rounding.

    Parameters
    ----------
    alpha : ndarray of shape (n, k)
        A feasible dual point.
    y : ndarray of shape (n,)
        Labels in 0, ..., k - 1.
    weight : ndarray of shape (n,)
        Non-negative weights of the rows.

    Returns
    -------
    ndarray of shape (n, k)
        The balanced dual point, a new array.
    """
    n, k = alpha.shape
    parts = [slice(start, min(n, start + BLOCK // k + 1)) for start in range(0, n, BLOCK // k + 1)]
    balanced = np.array(alpha, dtype=np.float64)
    for _ in range(2):
        sums = np.array([math.fsum(np.sum(weight[part] * balanced[part, j]) for part in parts) for j in range(k)])
        deficit = np.maximum(sums, 0.0)
        if not deficit.any():
            break
        mass = np.sum([weight[part] @ _probabilities(balanced[part], y[part]) for part in parts], axis=0)
        excess = np.minimum(np.maximum(-sums, 0.0), mass)
        fraction = np.divide(excess, mass, out=np.zeros(k), where=mass > 0.0)
        for part in parts:
            p = _probabilities(balanced[part], y[part])
            freed = p @ fraction
            p *= 1.0 - fraction
            p += np.multiply.outer(freed, deficit / deficit.sum())
            own = (np.arange(len(p)), y[part])
            p[own] = 0.0
            balanced[part] = -p
            balanced[part][own] = np.minimum(p.sum(axis=1), 1.0)
    return balanced


def _probabilities(alpha: Vector, y: npt.NDArray[np.integer]) -> Vector:
    """Return onehot(y) - alpha, without what rounding leaves below 0."""
    own = (np.arange(len(alpha)), y)
    p = np.maximum(-alpha, 0.0)
    p[own] = 0.0
    p[own] = np.maximum(1.0 - p.sum(axis=1), 0.0)
    return p


def columns_balanced(
    alpha: Vector, y: npt.NDArray[np.integer], weight: Vector, columns: Vector, zeroed: npt.NDArray[np.bool_] | None = None
) -> Vector:
    r"""Return a feasible dual point near `alpha` with ``sum_i weight_i columns_i alpha_i' = 0``.

    The nearest such point has ``p_i = projection of onehot(y_i) - alpha_i + T' columns_i`` onto the simplex for some p x k matrix T, which
    Newton's method finds: the derivative of the projection is ``I - 11'/|A|`` on the support A.

    Parameters
    ----------
    alpha : ndarray of shape (n, k)
        A feasible dual point.
    y : ndarray of shape (n,)
        Labels in 0, ..., k - 1.
    weight : ndarray of shape (n,)
        Non-negative weights of the rows.
    columns : ndarray of shape (n, p)
        What must be orthogonal to each column of the dual point.
    zeroed : ndarray of bool of shape (p, k), default=None
        Which of the sums must be 0; all of them unless given.

    Returns
    -------
    ndarray of shape (n, k)
        The balanced dual point, a new array; zero, which is always balanced, if Newton's method fails.
    """
    n, k = alpha.shape
    p = columns.shape[1]
    target = np.zeros((n, k))
    target[np.arange(n), y] = 1.0
    tilt = np.zeros((p, k))
    wanted = np.ones((p, k), dtype=bool) if zeroed is None else zeroed
    scale = np.maximum(np.sqrt(weight @ columns**2), 1e-300)[:, None]

    def moved(tilt: Vector) -> tuple[Vector, Vector, float]:
        q = _simplex_rows(target - alpha + columns @ tilt)
        excess = np.where(wanted, columns.T @ (weight[:, None] * (target - q)), 0.0)
        return q, excess, float(np.max(np.abs(excess) / scale))

    q, excess, left = moved(tilt)
    for _ in range(50):
        if left <= 1e-16:
            break
        support = (q > 0.0).astype(np.float64)
        share = support / support.sum(axis=1, keepdims=True)
        slope = np.einsum("ia,ib,im->abm", weight[:, None] * columns, columns, support)
        matrix = np.zeros((p, k, p, k))
        matrix[:, np.arange(k), :, np.arange(k)] = slope.transpose(2, 0, 1)
        matrix -= np.einsum("ia,ib,im,il->ambl", weight[:, None] * columns, columns, support, share, optimize=True)
        step = np.zeros((p, k))
        some = np.ix_(wanted.ravel(), wanted.ravel())
        step[wanted] = np.linalg.lstsq(matrix.reshape(p * k, p * k)[some], excess[wanted], rcond=1e-13)[0]
        for _ in range(30):
            trial = moved(tilt + step)
            if trial[2] < left:
                break
            step *= 0.5
        else:
            break
        tilt = tilt + step
        q, excess, left = trial
    if left > 1e-9:
        return np.zeros_like(alpha)
    balanced = target - q
    balanced[np.arange(n), y] = 0.0
    balanced[np.arange(n), y] = -balanced.sum(axis=1)
    return balanced


def _simplex_rows(a: Vector) -> Vector:
    """Return the projection of each row onto the simplex."""
    ordered = -np.sort(-a, axis=1)
    levels = (np.cumsum(ordered, axis=1) - 1.0) / np.arange(1, a.shape[1] + 1)
    support = np.maximum(np.sum(ordered > levels, axis=1), 1)
    shifted: Vector = a - levels[np.arange(len(a)), support - 1][:, None]
    return np.maximum(shifted, 0.0)
