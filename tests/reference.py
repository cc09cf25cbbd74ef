"""An independent high-precision reference for the problems the library solves.

    minimise over w, b     P(w, b) = (1/S) sum_i s_i phi(x_i^T w + b; y_i) + R(w),      S = sum_i s_i

Nothing here comes from the library.  There are three parts, to be trusted in this order:

1. `objective` writes the losses and the penalties out from their definitions, in `np.longdouble`.
2. `certificate` bounds P(w, b) - P* from above for any primal point (w, b) and any dual point u by a sum
   of Fenchel-Young gaps, each of them nonnegative.  It needs the conjugates only, and it does not care
   where the two points come from.
3. `solve_reference` produces such a pair of points by a primal-dual interior-point method, with all of
   its arithmetic in `np.longdouble` (Newton's method where there is nothing to be interior to).  A mistake
   in this part cannot go unseen: part 2 would report it as a large `error`.

Names of losses     squared, absolute, huber(gamma), epsilon_insensitive(eps), squared_epsilon_insensitive(eps), quantile(q),
                    logistic, hinge, smooth_hinge(gamma), squared_hinge; with labels 0..k-1 and W of shape (d, k): softmax,
                    max_hinge(costs), smooth_max_hinge(gamma, costs), soft_max_hinge(gamma, costs).
                    epsilon_insensitive, quantile and logistic take a gamma as well: min_v phi(z - v) + v^2/(2 gamma).
                    `n_classes` may be given; it is otherwise the size of `costs`, or max(y) + 1.
Names of penalties  elastic_net(l1, l2, factors, lower, upper), group(l1, l2, groups), q_norm(l2, q),
                    entropy(l2).
"""

from dataclasses import dataclass, field, replace

import numpy as np
import scipy.sparse as sp

LD = np.longdouble
EPS = np.finfo(LD).eps
EXTENDED = EPS < 1e-18  # False where the C long double is the double: the accuracy claimed here is lost
INF = LD(np.inf)

VECTOR_LOSSES = ("max_hinge", "smooth_max_hinge", "soft_max_hinge", "softmax")


@dataclass(frozen=True)
class Spec:
    loss: str
    loss_params: dict = field(default_factory=dict)
    penalty: str = "elastic_net"
    penalty_params: dict = field(default_factory=dict)
    intercept: bool = False


@dataclass
class Reference:
    w: np.ndarray  # (d,) or (d, k), longdouble
    b: np.ndarray  # () or (k,) with b[0] = 0 (a free choice), longdouble; zero without an intercept
    value: np.longdouble  # P(w, b), hence an upper bound of P*
    error: float  # bound of (value - P*) / scale, rounding errors of the evaluation included
    scale: np.longdouble  # P at the start: w = 0 (or the nearest feasible point) and b = 0; 1 if that is 0
    u: np.ndarray  # dual point (n,) or (n, k): slopes of the losses, in dom phi*


# ------------------------------------------------------------------------------------------------------
# 1. The objective, from the definitions
# ------------------------------------------------------------------------------------------------------


def _param(params, name, default=None):
    value = params.get(name)
    return default if value is None else value


def _n_classes(spec, y):
    costs = _param(spec.loss_params, "costs")
    if costs is not None:
        return np.asarray(costs).shape[0]
    return int(_param(spec.loss_params, "n_classes", np.max(y) + 1))


def _costs(spec, y, k):
    """Row i holds the costs C[y_i, :] (zero at y_i), for all the losses that have them."""
    costs = _param(spec.loss_params, "costs", 1 - np.eye(k))
    return np.asarray(costs).astype(LD)[y]


def _margins(spec, Z, y):
    """a_ij = c_ij + z_ij - z_iy for all j, with a_iy = 0."""
    own = np.arange(len(y)), y
    a = _costs(spec, y, Z.shape[1]) + Z - Z[own][:, None]
    a[own] = 0
    return a


def _others(y, k):
    return np.arange(k)[None, :] != y[:, None]


def _project_capped(a):
    """Rows of the nonnegative `a` projected on {beta >= 0, sum beta <= 1} (by sorting)."""
    beta = np.maximum(a, 0)
    for i in np.flatnonzero(beta.sum(axis=1) > 1):
        top = np.sort(a[i])[::-1]
        shifts = (np.cumsum(top) - 1) / np.arange(1, len(top) + 1)
        beta[i] = np.maximum(a[i] - shifts[np.flatnonzero(top > shifts)[-1]], 0)
    return beta


def _log_sum_exp(a):
    largest = np.arange(len(a)), a.argmax(axis=1)
    others = np.exp(a - a[largest][:, None])
    others[largest] = 0
    return a[largest] + np.log1p(others.sum(axis=1))  # small values to full relative accuracy


def _targets(spec, y):
    if spec.loss in VECTOR_LOSSES:
        return np.asarray(y).astype(int)
    return np.asarray(y).astype(LD)


def losses(spec, Z, y):
    """phi(z_i; y_i) for all i: Z of shape (n,) or (n, k), y as `_targets` returns it."""
    name, par = spec.loss, spec.loss_params
    if name in VECTOR_LOSSES:
        k = Z.shape[1]
        if name == "softmax":
            return _log_sum_exp(Z - Z[np.arange(len(y)), y][:, None])
        a = _margins(spec, Z, y)
        if name == "max_hinge":
            return a.max(axis=1)  # a_iy = 0 is among them
        if name == "soft_max_hinge":
            gamma = LD(par["gamma"])
            return gamma * _log_sum_exp(a / gamma)  # the term of j = y is exp(0) = 1
        if name == "smooth_max_hinge":
            gamma = LD(par["gamma"])
            beta = _project_capped(np.where(_others(y, k), a, 0) / gamma)
            return (beta * a).sum(axis=1) - gamma / 2 * (beta**2).sum(axis=1)
        raise ValueError(name)
    r = Z - y
    if name == "squared":
        return r**2 / 2
    if name == "absolute":
        return abs(r)
    if name == "huber":
        gamma = LD(par["gamma"])
        return np.where(abs(r) <= gamma, r**2 / (2 * gamma), abs(r) - gamma / 2)
    gamma = LD(_param(par, "gamma", 0))
    if name == "epsilon_insensitive":
        beyond = np.maximum(0, abs(r) - LD(par["eps"]))
        return np.where(beyond <= gamma, beyond**2 / (2 * max(gamma, LD(1e-300))), beyond - gamma / 2)
    if name == "squared_epsilon_insensitive":
        return np.maximum(0, abs(r) - LD(par["eps"])) ** 2 / 2
    if name == "quantile":
        q = LD(par["q"])
        if gamma > 0:
            slope = np.clip(r / gamma, -q, 1 - q)
            return slope * r - gamma / 2 * slope**2
        return np.maximum(-q * r, (1 - q) * r)
    m = y * Z
    if name == "logistic":
        if gamma > 0:
            t, rest = _logistic_root(m, gamma)
            entropy = np.where(t < rest, _xlogx(t) + _xlogx_of_rest(t), _xlogx(rest) + _xlogx_of_rest(rest))
            return -t * m - entropy - gamma / 2 * t**2
        return np.log1p(np.exp(-abs(m))) + np.maximum(-m, 0)
    if name == "hinge":
        return np.maximum(0, 1 - m)
    if name == "squared_hinge":
        return np.maximum(0, 1 - m) ** 2 / 2
    if name == "smooth_hinge":
        gamma = LD(par["gamma"])
        quadratic = np.maximum(0, 1 - m) ** 2 / (2 * gamma)
        return np.where(m <= 1 - gamma, 1 - m - gamma / 2, quadratic)
    raise ValueError(name)


def _logistic_root(m, gamma):
    """The t that maximizes -t m - t log t - (1 - t) log(1 - t) - gamma/2 t^2, and 1 - t: log(t/(1 - t)) + gamma t + m = 0."""
    low, high = -m - gamma, -m
    r = (low + high) / 2
    for _ in range(200):
        t = np.where(r > 0, 1, np.exp(-abs(r))) / (1 + np.exp(-abs(r)))
        slope = r + m + gamma * t
        low, high = np.where(slope < 0, r, low), np.where(slope < 0, high, r)
        newton = r - slope / (1 + gamma * t * (1 - t))
        inside = (newton > low) & (newton < high)
        new = np.where(inside, newton, (low + high) / 2)
        if np.all(abs(new - r) <= EPS * abs(new)):
            break
        r = new
    small = np.exp(-abs(r)) / (1 + np.exp(-abs(r)))
    return np.where(r > 0, 1 - small, small), np.where(r > 0, small, 1 - small)


def _feature_array(values, w, default):
    """A scalar, (d,) or (d, k) parameter as an array of the shape of w."""
    values = np.asarray(_param({"v": values}, "v", default)).astype(LD)
    if values.ndim == 1 and w.ndim == 2:
        values = values[:, None]
    return np.broadcast_to(values, w.shape)


def _net(spec, w):
    """(l1 factors, l2 factors, lower, upper), each of the shape of w."""
    par = spec.penalty_params
    factors = _feature_array(_param(par, "factors"), w, 1)
    l1, l2 = LD(_param(par, "l1", 0)), LD(_param(par, "l2", 0))
    lower = _feature_array(_param(par, "lower"), w, -INF)
    upper = _feature_array(_param(par, "upper"), w, INF)
    return l1 * factors, l2 * factors, lower, upper


def _groups(spec, w):
    """For every group, (mask of its entries of w, l1 sqrt(number of entries))."""
    groups = np.asarray(spec.penalty_params["groups"])
    l1 = LD(_param(spec.penalty_params, "l1", 0))
    members = [_feature_array(groups == g, w, 0) == 1 for g in np.unique(groups)]
    return [(mask, l1 * np.sqrt(LD(mask.sum()))) for mask in members]


def penalty(spec, w):
    """R(w); +inf outside the box, and for entropy outside the simplex (its sum within 1e-12 of 1)."""
    par = spec.penalty_params
    l2 = LD(_param(par, "l2", 0))
    if spec.penalty == "elastic_net":
        l1f, l2f, lower, upper = _net(spec, w)
        if np.any(w < lower) or np.any(w > upper):
            return INF
        return (l1f * abs(w) + l2f * w**2 / 2).sum()
    if spec.penalty == "group":
        norms = sum(weight * np.sqrt((w[mask] ** 2).sum()) for mask, weight in _groups(spec, w))
        return norms + l2 * (w**2).sum() / 2
    if spec.penalty == "q_norm":
        q = LD(par["q"])
        return l2 / (2 * (q - 1)) * _norm(w, q) ** 2
    if spec.penalty == "entropy":
        if w.ndim != 1:
            raise ValueError("entropy is defined here for a vector w only")
        if np.any(w < 0) or abs(w.sum() - 1) > 1e-12:
            return INF
        return l2 * ((w * np.log(np.where(w > 0, w, 1))).sum() + np.log(LD(w.size)))
    raise ValueError(spec.penalty)


def _norm(w, q):
    top = abs(w).max()
    return top * ((abs(w) / top) ** q).sum() ** (1 / q) if top > 0 else LD(0)


def _dense(X, rows=slice(None)):
    """The entries as stored, widened before anything is added (duplicates of a sparse X included)."""
    if sp.issparse(X):
        X = sp.csr_array(X)[rows].tocoo()
        out = np.zeros(X.shape, LD)
        np.add.at(out, X.coords, X.data.astype(LD))
        return out
    return np.asarray(X)[rows].astype(LD)


def scores(X, w, b):
    """X w + b in longdouble, a block of rows at a time; numpy sums the products pairwise."""
    n, d = X.shape
    step = max(1, 2**20 // max(1, w.size))
    Z = np.zeros((n, *w.shape[1:]), LD)
    for start in range(0, n, step):
        block = _dense(X, slice(start, start + step))
        columns = [(block * c).sum(axis=1) for c in w.reshape(d, -1).T]
        Z[start : start + step] = np.stack(columns, axis=-1).reshape(Z[start : start + step].shape)
    return Z + b


def objective(spec, X, y, w, b=0, weight=None, precise=True):
    """P(w, b) to about 1e-17 of the sum of the absolute terms, or with scores in float64 if not precise."""
    w, b = np.asarray(w).astype(LD), np.asarray(b).astype(LD)
    s = np.ones(X.shape[0], LD) if weight is None else np.asarray(weight).astype(LD)
    y = _targets(spec, y)
    Z = scores(X, w, b) if precise else (X @ w.astype(float) + b.astype(float)).astype(LD)
    value = (s * losses(spec, Z, y)).sum() / s.sum() + penalty(spec, w)
    return value if precise else float(value)


# ------------------------------------------------------------------------------------------------------
# 2. The certificate: P(w, b) - P* <= sum of Fenchel-Young gaps
# ------------------------------------------------------------------------------------------------------
# With omega_i = s_i / S, v = -sum_i omega_i u_i x_i and any (w', b'),
#   P(w, b) - P(w', b') <= sum_i omega_i [phi(z_i) + phi*(u_i) - u_i z_i]
#                          + [R(w) + R*(v) - v w] + (sum_i omega_i u_i) (b - b').
# (Use phi(z') >= u z' - phi*(u) and R(w') >= v w' - R*(v).)  Where R grows too slowly for R*(v) to be finite
# the supremum is taken over |w'_j| <= B_j, and b' over |b'| <= B: for l1 > 0 this is no restriction since
# l1 |w*_j| <= P(w, b), nor for l2 > 0 (l2/2 w*_j^2 <= P(w, b)); for one without any penalty and for b, B is 100 times the size of the point
# in hand.  If the minimiser were still outside by a factor F, the bound would be too small by F only, because
# P is convex.  Where no minimiser exists (a separating direction without any penalty) the bound stays large.


def dual_domain(spec, U, y):
    """The point of dom phi* next to U (for points outside by a rounding error)."""
    name, par = spec.loss, spec.loss_params
    if name in VECTOR_LOSSES:  # u_j = beta_j for j != y, u_y = -sum beta, with beta >= 0 and sum beta <= 1
        beta = np.where(_others(y, U.shape[1]), np.maximum(U, 0), 0)
        beta = beta / np.maximum(1, beta.sum(axis=1))[:, None]
        own = np.zeros_like(beta)
        own[np.arange(len(y)), y] = beta.sum(axis=1)
        return beta - own
    if name in ("squared", "squared_epsilon_insensitive"):
        return U
    if name in ("absolute", "huber", "epsilon_insensitive"):
        return np.clip(U, -1, 1)
    if name == "quantile":
        return np.clip(U, -LD(par["q"]), 1 - LD(par["q"]))
    return -y * np.clip(-y * U, 0, INF if name == "squared_hinge" else 1)


def _xlogx(a):
    return a * np.log(np.where(a > 0, a, 1))


def _xlogx_of_rest(a):
    """(1 - a) log(1 - a), also for small a."""
    return np.where(a < 1, (1 - a) * np.log1p(-np.minimum(a, 1 - EPS)), 0)


def conjugates(spec, U, y):
    """phi*(u_i; y_i) for u_i in the domain: u = slope in z."""
    name, par = spec.loss, spec.loss_params
    if name in VECTOR_LOSSES:
        beta = np.where(_others(y, U.shape[1]), U, 0)
        if name == "softmax":
            return _xlogx(beta).sum(axis=1) + _xlogx_of_rest(beta.sum(axis=1))
        linear = -(_costs(spec, y, U.shape[1]) * beta).sum(axis=1)
        if name == "max_hinge":
            return linear
        gamma = LD(par["gamma"])
        if name == "smooth_max_hinge":
            return linear + gamma / 2 * (beta**2).sum(axis=1)
        return linear + gamma * (_xlogx(beta).sum(axis=1) + _xlogx_of_rest(beta.sum(axis=1)))
    if name == "squared":
        return U * y + U**2 / 2
    ridge = LD(_param(par, "gamma", 0)) * U**2 / 2
    if name in ("absolute", "quantile", "huber"):
        return U * y + ridge
    if name == "epsilon_insensitive":
        return U * y + LD(par["eps"]) * abs(U) + ridge
    if name == "squared_epsilon_insensitive":
        return U * y + LD(par["eps"]) * abs(U) + U**2 / 2
    beta = -y * U
    if name == "logistic":
        return _xlogx(beta) + _xlogx_of_rest(beta) + ridge
    if name == "hinge":
        return -beta
    if name == "smooth_hinge":
        return -beta + LD(par["gamma"]) * beta**2 / 2
    if name == "squared_hinge":
        return -beta + beta**2 / 2
    raise ValueError(name)


def penalty_maximiser(spec, v, bound):
    """argmax_w' v w' - R(w') over |w'_j| <= bound_j (the bound used for elastic_net and group only)."""
    par = spec.penalty_params
    l2 = LD(_param(par, "l2", 0))
    if spec.penalty == "elastic_net":
        l1f, l2f, lower, upper = _net(spec, v)
        soft = np.sign(v) * np.maximum(abs(v) - l1f, 0)
        far = np.where(soft == 0, 0, np.sign(soft)) * bound  # where R is linear: as far as allowed
        inner = np.where(l2f > 0, soft / np.where(l2f > 0, l2f, 1), far)
        return np.clip(np.clip(inner, -bound, bound), lower, upper)
    if spec.penalty == "group":
        out = np.zeros_like(v)
        for mask, weight in _groups(spec, v):
            size, radius = np.sqrt((v[mask] ** 2).sum()), bound[mask].max()
            excess = max(size - weight, LD(0))
            length = 0 if excess == 0 else min(excess / l2, radius) if l2 > 0 else radius
            out[mask] = v[mask] / size * length if length > 0 else 0
        return out
    if spec.penalty == "q_norm":  # R* = (q - 1)/(2 l2) ||v||_p^2; its gradient has the signs of v
        q = LD(par["q"])
        p, top = q / (q - 1), abs(v).max()
        if top == 0:
            return np.zeros_like(v)
        shape = np.sign(v) * (abs(v) / top) ** (p - 1)
        return (q - 1) / l2 * shape * top * (_norm(v, p) / top) ** (2 - p)
    if spec.penalty == "entropy":
        e = np.exp((v - v.max()) / l2)
        return e / e.sum()
    raise ValueError(spec.penalty)


def score_scale(spec, y):
    """The natural unit of a score: that of y in regression, that of the margin asked for otherwise."""
    if spec.loss in VECTOR_LOSSES:
        return 1 + abs(np.asarray(_param(spec.loss_params, "costs", 0)).astype(LD)).max()
    return max(abs(y).max(), LD(1e-30))


def certificate(spec, X, y, w, b, U, weight=None):
    """An upper bound of P(w, b) - P*, for any (w, b) in the domain and any U in dom phi*."""
    X = _dense(X)
    s = np.ones(X.shape[0], LD) if weight is None else np.asarray(weight).astype(LD)
    y = _targets(spec, y)
    omega = s / s.sum()
    Z = scores(X, w, b)
    products = (U * Z).reshape(len(y), -1)
    pieces = [losses(spec, Z, y), conjugates(spec, U, y), -products.sum(axis=1)]
    if np.any(sum(pieces) < -100 * EPS * (1 + abs(products).sum(axis=1) + abs(pieces[1]))):
        raise AssertionError("a negative Fenchel-Young gap: U is not in the domain, or a formula is wrong")
    loss_terms = np.concatenate([omega * piece for piece in pieces])

    slopes = (omega * U.T).T
    v = -np.tensordot(X.T, slopes, 1)
    value = (omega * pieces[0]).sum() + penalty(spec, w)
    span = abs(Z).max() + score_scale(spec, y)
    tallest = _feature_array(abs(X).max(axis=0), w, 0)
    reach = 100 * (abs(w) + np.where(tallest > 0, span / np.where(tallest > 0, tallest, 1), 0))
    bound = np.full(w.shape, INF)
    if spec.penalty == "elastic_net":
        l1f, l2f = _net(spec, w)[:2]
        bound = np.where(l1f > 0, value / np.where(l1f > 0, l1f, 1), bound)
        bound = np.minimum(bound, np.where(l2f > 0, np.sqrt(2 * value / np.where(l2f > 0, l2f, 1)), bound))
    elif spec.penalty == "group":
        l2 = LD(_param(spec.penalty_params, "l2", 0))
        for mask, l1g in _groups(spec, w):
            bound[mask] = min(value / l1g if l1g > 0 else INF, np.sqrt(2 * value / l2) if l2 > 0 else INF)
            if np.isinf(bound[mask]).any():
                bound[mask] = reach[mask].max()
    bound = np.where(np.isinf(bound), reach, bound)
    best = penalty_maximiser(spec, v, bound)
    penalty_terms = np.append((v * (best - w)).ravel(), [penalty(spec, w), -penalty(spec, best)])

    intercept_term = LD(0)
    if spec.intercept:
        intercept_term = 100 * (abs(slopes.sum(axis=0)) * (abs(b) + span)).sum()
    terms = np.concatenate([loss_terms, penalty_terms, [intercept_term]])
    rounding = (abs(slopes) * scores(abs(X), abs(w), abs(b))).sum() + abs(terms).sum()
    return max(terms.sum(), LD(0)) + 4 * EPS * rounding


# ------------------------------------------------------------------------------------------------------
# 3. The solver: a primal-dual interior-point method in longdouble
# ------------------------------------------------------------------------------------------------------
# The problem is written as   min f(x)   s.t.  G x <= h,  A x = A x0,  (t_g, w_g) in second-order cones
# with x = (slacks of the losses, slacks of the penalty, w, b) and f smooth, and started at a strictly
# feasible x0.


def smooth_loss(spec, Z, y):
    """(slope, Hessian blocks (n, k, k)) in z of the losses that need no slacks, else None."""
    if spec.loss == "squared":
        return Z - y, np.ones((len(y), 1, 1), LD)
    if spec.loss == "logistic":
        gamma = LD(_param(spec.loss_params, "gamma", 0))
        beta, rest = _logistic_root(y * Z, gamma)
        return -y * beta, (beta * rest / (1 + gamma * beta * rest))[:, None, None]
    if spec.loss in ("softmax", "soft_max_hinge"):
        gamma = LD(spec.loss_params["gamma"]) if spec.loss == "soft_max_hinge" else LD(1)
        a = _margins(spec, Z, y) / gamma if spec.loss == "soft_max_hinge" else Z
        p = np.exp(a - _log_sum_exp(a)[:, None])
        slope = np.where(_others(y, Z.shape[1]), p, 0)
        slope[np.arange(len(y)), y] = -slope.sum(axis=1)
        eye = np.eye(Z.shape[1])
        between = p[:, :, None] * p[:, None, :] * (1 - eye)  # p_j (1 - p_j) = sum_l p_j p_l, l != j
        return slope, (between.sum(axis=2)[:, :, None] * eye - between) / gamma
    return None


def loss_pieces(spec, y, k):
    """How the other losses are minima over slacks:  phi(z) = min e + (1/(2 gamma)) sum_r v_r^2  subject to
    a_r . z + c_r <= e + v_r, and e >= 0 if `floor`; no v where gamma is None, no e where not `has_e`; gamma may differ between pieces.
    Returns a of shape (pieces, n, k), c of shape (pieces, n), floor, has_e, gamma."""
    par = spec.loss_params
    gamma = LD(par["gamma"]) if "gamma" in par else None
    if spec.loss in ("max_hinge", "smooth_max_hinge"):
        costs, eye = _costs(spec, y, k), np.eye(k).astype(LD)
        js = [(y + shift) % k for shift in range(1, k)]  # the classes other than y, one after the other
        a = np.array([eye[j] - eye[y] for j in js]).reshape(k - 1, len(y), k)
        c = np.array([costs[np.arange(len(y)), j] for j in js]).reshape(k - 1, len(y))
        return a, c, True, True, gamma if spec.loss == "smooth_max_hinge" else None
    one = np.ones(len(y), LD)
    if spec.loss in ("absolute", "huber", "epsilon_insensitive", "squared_epsilon_insensitive"):  # +-(z - y) - eps
        eps = LD(_param(par, "eps", 0))
        gamma = LD(1) if spec.loss == "squared_epsilon_insensitive" else gamma
        a, c = [one, -one], [-y - eps, y - eps]
        floor = spec.loss != "absolute"
    elif spec.loss == "quantile":  # q (y - z) and (q - 1) (y - z)
        q = LD(par["q"])
        a, c, floor = [-q * one, (1 - q) * one], [q * y, (q - 1) * y], gamma is not None
        gamma = gamma if gamma is None else gamma * np.array([q**2, (1 - q) ** 2])
    elif spec.loss not in ("hinge", "smooth_hinge", "squared_hinge"):
        raise ValueError(spec.loss)
    else:  # 1 - y z
        a, c, floor = [-y], [one], True
        gamma = {"hinge": None, "smooth_hinge": gamma, "squared_hinge": LD(1)}[spec.loss]
    return np.array(a)[:, :, None], np.array(c), floor, spec.loss not in ("squared_hinge", "squared_epsilon_insensitive"), gamma


class Program:
    """The problem in the form above, with a strictly feasible start."""

    def __init__(self, spec, X, y, omega):
        self.spec, self.y, self.omega = spec, y, omega
        n, d = X.shape
        vector = spec.loss in VECTOR_LOSSES
        self.k = k = _n_classes(spec, y) if vector else 1
        self.shape_w, self.shape_b, self.shape_z = ((d, k), (k,), (n, k)) if vector else ((d,), (), (n,))
        unit_z = max(score_scale(spec, y), abs(scores(X, *self.origin())).max())
        tallest = abs(X).max(axis=0)
        unit_w = _feature_array(unit_z / np.where(tallest > 0, tallest, 1), np.zeros(self.shape_w), 1).ravel()
        # the losses of k > 1 scores do not change with their sum: b_0 = 0 will do
        columns_b = np.eye(k)[:, min(1, k - 1) :].astype(LD) if spec.intercept else np.zeros((k, 0), LD)
        nw, nb = d * k, columns_b.shape[1]

        w0, rows_w, slacks_w = self._penalty_start(unit_w)
        z0 = scores(X, w0.reshape(self.shape_w), np.zeros(self.shape_b, LD)).reshape(n, k)
        cost, curvature, x0 = [], [], []
        rows_z = np.zeros((0, n * k), LD), np.zeros((0, 0), LD), np.zeros(0, LD)
        self.smooth = smooth_loss(spec, z0.reshape(self.shape_z), y) is not None
        self.quadratic = spec.loss == "squared" or not self.smooth  # f, if the penalty agrees
        self.quadratic = self.quadratic and spec.penalty in ("elastic_net", "group")
        if not self.smooth:
            cost, curvature, x0, rows_z = self._loss_slacks(z0, unit_z)
        ne, nt = len(x0), len(slacks_w["cost"])
        self.w_at, self.t_at = slice(ne + nt, ne + nt + nw), slice(ne, ne + nt)
        self.b_at, self.size = slice(ne + nt + nw, ne + nt + nw + nb), ne + nt + nw + nb
        self.x0 = np.concatenate([x0, slacks_w["start"], w0, np.zeros(nb, LD)]).astype(LD)
        self.cost = np.concatenate([cost, slacks_w["cost"], np.zeros(nw + nb, LD)]).astype(LD)
        self.curvature = np.concatenate([curvature, np.zeros(nt), slacks_w["l2"], np.zeros(nb)]).astype(LD)

        # scores z = Z x, constraints G x <= h
        from_w = sp.kron(sp.csr_array(X), sp.eye_array(k, dtype=LD))
        from_b = sp.kron(np.ones((n, 1), LD), sp.csr_array(columns_b))
        self.Z = sp.hstack([sp.csr_array((n * k, ne + nt), dtype=LD), from_w, from_b], format="csr")
        self.Gz = sp.csr_array(rows_z[0])
        pad = sp.csr_array((len(rows_z[2]), self.size - ne), dtype=LD)
        top = self.Gz @ self.Z + sp.hstack([sp.csr_array(rows_z[1]), pad], format="csr")
        low = np.hstack([np.zeros((len(rows_w[2]), ne), LD), *rows_w[:2], np.zeros((len(rows_w[2]), nb), LD)])
        self.G = sp.csr_array(sp.vstack([top, sp.csr_array(low)], format="csr"))
        self.h = np.concatenate([rows_z[2], rows_w[2]])
        self.cones = [np.append(ne + i, ne + nt + np.flatnonzero(g)) for i, g in enumerate(slacks_w["cones"])]
        self.A = np.zeros((len(slacks_w["fixed"]), self.size), LD)
        for row, fixed in zip(self.A, slacks_w["fixed"], strict=True):
            row[self.w_at][fixed] = 1

    def _loss_slacks(self, z0, unit):
        a, c, floor, has_e, gamma = loss_pieces(self.spec, self.y, self.k)
        pieces, n = c.shape
        level = (a * z0).sum(axis=2) + c
        top = np.maximum(level.max(axis=0), 0 if floor else level.max(axis=0)) + unit
        eye, zero = np.eye(n).astype(LD), np.zeros((n, n), LD)
        cost, curvature, start, blocks = [], [], [], []
        if has_e:
            cost, curvature, start = [self.omega], [0 * self.omega], [top]
            blocks = [np.vstack([-eye] * (pieces + floor))]
        if gamma is not None:
            for r in range(pieces):
                cost.append(0 * self.omega)
                curvature.append(self.omega / np.broadcast_to(gamma, pieces)[r])
                start.append(0 * top if has_e else top)
                parts = [-eye if i == r else zero for i in range(pieces + (floor and has_e))]
                blocks.append(np.vstack(parts))
        rows = np.zeros((pieces, n, n, self.k), LD)
        rows[:, np.arange(n), np.arange(n)] = a
        z_part, h = rows.reshape(pieces * n, n * self.k), -c.ravel()
        if floor and has_e:
            z_part, h = np.vstack([z_part, np.zeros((n, n * self.k), LD)]), np.append(h, np.zeros(n, LD))
        slack_part = np.hstack(blocks)
        return np.concatenate(cost), np.concatenate(curvature), np.concatenate(start), (z_part, slack_part, h)

    def _penalty_start(self, unit):
        """A strictly feasible w and the rows (t part, w part, h) and slacks t of the penalty."""
        spec, shape, nw = self.spec, self.shape_w, len(unit)
        par, eye, zero = spec.penalty_params, np.eye(len(unit)).astype(LD), np.zeros(len(unit), LD)
        l2 = LD(_param(par, "l2", 0))
        w0, parts, fixed, cones = zero.copy(), [], [], []
        start, cost = zero[:0], zero[:0]
        l2_diag = np.full(nw, l2)
        if spec.penalty == "elastic_net":
            l1f, l2_diag, lower, upper = (p.ravel() for p in _net(spec, np.zeros(shape, LD)))
            if np.any(lower > upper):
                raise ValueError("empty box")
            inset = np.minimum(unit, (upper - lower) / 4)
            w0 = np.clip(w0, lower + inset, upper - inset)
            fixed = [[j] for j in np.flatnonzero(lower == upper)]
            above, below = (np.flatnonzero(np.isfinite(bound) & (lower < upper)) for bound in (upper, lower))
            parts = [(eye[above], upper[above]), (-eye[below], -lower[below])]
            with_t = np.flatnonzero(l1f > 0)
            cost = l1f[with_t]
        elif spec.penalty == "q_norm":
            with_t, l2_diag = np.arange(nw), zero
            cost = zero
        elif spec.penalty == "group":
            with_t = np.arange(0)
            groups = _groups(spec, np.zeros(shape, LD))
            cones = [mask.ravel() for mask, weight in groups if weight > 0]
            cost = np.array([weight for _, weight in groups if weight > 0], LD)
            start = np.array([unit[mask].min() for mask in cones], LD)
        elif spec.penalty == "entropy":
            with_t, l2_diag, w0, fixed = np.arange(0), zero, np.full(nw, 1 / LD(nw)), [np.arange(nw)]
            parts = [(-eye, zero)]
        else:
            raise ValueError(spec.penalty)
        none = np.zeros((0, len(cost)), LD)
        t_rows, w_rows, h = [none], [np.zeros((0, nw), LD)], [zero[:0]]
        for block, bound in parts:
            t_rows.append(np.zeros((len(bound), len(cost)), LD))
            w_rows.append(block)
            h.append(bound)
        if len(with_t):  # +-w_j <= t_j
            start = abs(w0[with_t]) + unit[with_t]
            for sign in (1, -1):
                t_rows.append(-np.eye(len(with_t)).astype(LD))
                w_rows.append(sign * eye[with_t])
                h.append(zero[with_t])
        slacks = {"start": start, "cost": cost, "l2": l2_diag, "cones": cones, "fixed": fixed}
        return w0, (np.vstack(t_rows), np.vstack(w_rows), np.concatenate(h)), slacks

    def origin(self):
        """w = 0 or the point of the domain of R next to it (the centre of the simplex), and b = 0."""
        w = np.zeros(self.shape_w, LD)
        if self.spec.penalty == "elastic_net":
            w = np.clip(w, *_net(self.spec, w)[2:])
        if self.spec.penalty == "entropy":
            w = w + 1 / LD(w.size)
        return w, np.zeros(self.shape_b, LD)

    def split(self, x):
        """(w, b), moved back into the domain where a rounding error has left it."""
        b = np.zeros(self.shape_b, LD)
        if self.spec.intercept:
            b = b + x[self.b_at][0] if b.ndim == 0 else np.append(b[:1], x[self.b_at])
        w = x[self.w_at].reshape(self.shape_w)
        if self.spec.penalty == "elastic_net":
            w = np.clip(w, *_net(self.spec, w)[2:])
        if self.spec.penalty == "entropy":
            w = np.maximum(w, 0)
        return w, b

    def value(self, x):
        out = (self.cost * x).sum() + (self.curvature * x**2).sum() / 2
        if self.smooth:
            out += (self.omega * losses(self.spec, (self.Z @ x).reshape(self.shape_z), self.y)).sum()
        if self.spec.penalty == "q_norm":
            out += penalty(self.spec, x[self.t_at])
        if self.spec.penalty == "entropy":
            w = x[self.w_at]
            out += LD(self.spec.penalty_params["l2"]) * ((w * np.log(w)).sum() + np.log(LD(len(w))))
        return out

    def derivatives(self, x):
        """Gradient and Hessian of f."""
        gradient, hessian = self.cost + self.curvature * x, np.diag(self.curvature)
        if self.smooth:
            slope, blocks = smooth_loss(self.spec, (self.Z @ x).reshape(self.shape_z), self.y)
            gradient = gradient + self.Z.T @ (self.omega * slope.T).T.ravel()
            blocks = self.omega[:, None, None] * blocks
            n, k = len(self.y), self.k
            weights = sp.bsr_array((blocks, np.arange(n), np.arange(n + 1)), shape=(n * k, n * k)).tocsr()
            hessian = hessian + (self.Z.T @ (weights @ self.Z)).toarray()
        if self.spec.penalty == "q_norm":
            q, l2, t = LD(self.spec.penalty_params["q"]), LD(self.spec.penalty_params["l2"]), x[self.t_at]
            size = _norm(t, q)
            power = (t / size) ** (q - 1)
            gradient[self.t_at] += l2 / (q - 1) * size * power
            curve = np.diag((q - 1) * (t / size) ** (q - 2)) + (2 - q) * np.outer(power, power)
            hessian[self.t_at, self.t_at] += l2 / (q - 1) * curve
        if self.spec.penalty == "entropy":
            l2, w = LD(self.spec.penalty_params["l2"]), x[self.w_at]
            gradient[self.w_at] += l2 * (np.log(w) + 1)
            hessian[self.w_at, self.w_at] += np.diag(l2 / w)
        return gradient, hessian

    def dual_point(self, x, multipliers):
        """The slopes u: Lagrange multipliers of the pieces, and derivatives of the smooth losses."""
        slopes = self.Gz.T @ multipliers[: self.Gz.shape[0]]
        U = (slopes.reshape(self.shape_z).T / self.omega).T
        if self.smooth:
            U = U + smooth_loss(self.spec, (self.Z @ x).reshape(self.shape_z), self.y)[0]
        return dual_domain(self.spec, U, self.y)


class Factor:
    """L D L^T of a positive semidefinite matrix; the slacks come first and fill in little.  A pivot lost
    in rounding errors belongs to a direction along which nothing changes: that direction is left out."""

    def __init__(self, K):
        work, self.columns, self.lost = K.copy(), [], 0
        for j in range(len(K)):
            rows = j + 1 + np.flatnonzero(work[j + 1 :, j])
            pivot = work[j, j]
            if pivot <= 8 * EPS * K[j, j]:
                pivot, rows, self.lost = INF, rows[:0], self.lost + 1
            column = work[rows, j] / pivot
            work[np.ix_(rows, rows)] -= np.outer(column, work[rows, j])
            self.columns.append((rows, column, pivot))

    def solve(self, rhs):
        x = rhs.copy()
        for j, (rows, column, _) in enumerate(self.columns):
            x[rows] -= column * x[j]
        for j, (rows, column, pivot) in reversed(list(enumerate(self.columns))):
            x[j] = x[j] / pivot - (column * x[rows]).sum()
        return x


def _two_sum(a, b):
    """a + b = s + e exactly."""
    s = a + b
    part = s - a
    return s, (a - (s - part)) + (b - part)


def _two_product(a, b):
    """a b = p + e exactly (Dekker)."""
    splitter = LD(2) ** ((np.finfo(LD).nmant + 2) // 2) + 1
    a_head, b_head = splitter * a - (splitter * a - a), splitter * b - (splitter * b - b)
    a_tail, b_tail = a - a_head, b - b_head
    p = a * b
    return p, ((a_head * b_head - p) + a_head * b_tail + a_tail * b_head) + a_tail * b_tail


class TwoFold:
    """Arrays of numbers of twice the precision, each the sum of a head and of a tail."""

    def __init__(self, head, tail=0):
        self.head, self.tail = _two_sum(head, tail)

    def __getitem__(self, at):
        return TwoFold(self.head[at], self.tail[at])

    def __sub__(self, other):
        head, tail = _two_sum(self.head, -other.head)
        return TwoFold(head, tail + (self.tail - other.tail))

    def __mul__(self, other):
        head, tail = _two_product(self.head, other.head)
        return TwoFold(head, tail + (self.head * other.tail + self.tail * other.head))

    def __truediv__(self, other):
        quotient = TwoFold(self.head / other.head)
        return TwoFold(quotient.head, (self - quotient * other).head / other.head)

    def subtract_at(self, at, other):
        difference = self[at] - other
        self.head[at], self.tail[at] = difference.head, difference.tail


class TwoFoldFactor(Factor):
    """The same for H + sum_r metric_r g_r g_r^T, added and factored in twice the precision (the result is
    rounded): it still sees a small H behind a large metric."""

    def __init__(self, hessian, blocks):
        work, self.columns, self.lost = TwoFold(hessian.copy(), 0 * hessian), [], 0
        for block in blocks:
            metric = block.metric().tocoo()
            for i, j, value in zip(*metric.coords, metric.data, strict=True):
                left, right = block.G[[i]], block.G[[j]]
                at = np.ix_(left.indices, right.indices)
                row = TwoFold(-value * np.ones((1, 1), LD)) * TwoFold(left.data[:, None])
                work.subtract_at(at, row * TwoFold(right.data[None, :]))
        diagonal = np.diag(work.head).copy()
        for j in range(len(hessian)):
            rows = j + 1 + np.flatnonzero(work.head[j + 1 :, j])
            pivot = work.head[j, j]
            if pivot <= 8 * EPS * hessian[j, j] + 1e4 * EPS**2 * diagonal[j]:
                self.columns.append((rows[:0], np.zeros(0, LD), INF))
                self.lost += 1
                continue
            column = work[rows, j]
            scaled = column / work[[j], j]
            work.subtract_at(np.ix_(rows, rows), scaled[:, None] * column[None, :])
            self.columns.append((rows, scaled.head, pivot))


def _det(s):
    """t^2 - |w|^2 for s = (t, w)."""
    size = np.sqrt((s[1:] ** 2).sum())
    return (s[0] - size) * (s[0] + size)


class Orthant:
    """s = h - G x > 0 with multipliers z > 0; on the central path s_i z_i = mu for all i."""

    def __init__(self, G, s, mu):
        self.G, self.s, self.z, self.degree = G, s, mu / s, len(s)

    def rescale(self):
        self.ratio = self.z / self.s

    def metric(self):
        return sp.diags_array(self.ratio)

    def times(self, v):
        """metric @ v."""
        return self.ratio * v

    def aim(self, mu, ds, dz):
        """The new z where dx = 0: the linearised equation of the central path with a second-order term."""
        return (mu - ds * dz) / self.s

    @staticmethod
    def inside(s):
        return np.all(s > 0)

    @staticmethod
    def log_det(s):
        return np.log(s).sum()

    @staticmethod
    def longest(s, ds):
        """The largest step (at most 1e30) for which s + step ds is inside."""
        return min((s[ds < 0] / -ds[ds < 0]).min(initial=LD(1e30)), LD(1e30))


class Lorentz:
    """The same for s = (t, w) = -G x with t > |w|, scaled by Nesterov and Todd: W z = W^-1 s = point,
    W = sqrt(eta) [[m_0, m_1'], [m_1, I + m_1 m_1' / (1 + m_0)]] with m_0^2 - |m_1|^2 = 1, metric = W^-2.
    Products are those of the Jordan algebra, (a, b) o (c, d) = (a c + b d, a d + c b)."""

    degree = 1

    def __init__(self, G, s, mu):
        self.G, self.s = G, s
        self.z = mu / _det(s) * np.append(s[:1], -s[1:])

    def rescale(self):
        size_s, size_z = np.sqrt(_det(self.s)), np.sqrt(_det(self.z))
        s, z = self.s / size_s, self.z / size_z
        m = np.append(s[0] + z[0], s[1:] - z[1:]) / np.sqrt(2 * (1 + (s * z).sum()))
        self.eta, eye = size_s / size_z, np.eye(len(m) - 1).astype(LD)
        corner = eye + np.outer(m[1:], m[1:]) / (1 + m[0])
        self.W = np.sqrt(self.eta) * np.block([[m[:1, None], m[None, 1:]], [m[1:, None], corner]])
        self.W_inverse = np.block([[m[:1, None], -m[None, 1:]], [-m[1:, None], corner]]) / np.sqrt(self.eta)
        self.point = self.W @ self.z
        flipped = np.append(m[:1], -m[1:])
        signs = np.diag(np.append(LD(1), -np.ones(len(m) - 1, LD)))
        self.M = (2 * np.outer(flipped, flipped) - signs) / self.eta

    def metric(self):
        return sp.csr_array(self.M)

    def times(self, v):
        return self.M @ v

    def aim(self, mu, ds, dz):
        ds, dz, p = self.W_inverse @ ds, self.W @ dz, self.point
        goal = -np.append((ds * dz).sum(), ds[0] * dz[1:] + dz[0] * ds[1:])
        goal[0] += mu
        first = (p[0] * goal[0] - (p[1:] * goal[1:]).sum()) / np.sqrt(_det(self.s) * _det(self.z))
        return self.W_inverse @ np.append(first, (goal[1:] - first * p[1:]) / p[0])

    @staticmethod
    def inside(s):
        return s[0] > 0 and _det(s) > 0

    @staticmethod
    def log_det(s):
        return np.log(_det(s)) / 2

    @staticmethod
    def longest(s, ds):
        a, c, half_b = _det(ds), _det(s), s[0] * ds[0] - (s[1:] * ds[1:]).sum()
        root = np.sqrt(max(half_b**2 - a * c, LD(0)))  # never negative, but for rounding
        if half_b < 0:
            return c / (root - half_b)  # the smaller positive root of a t^2 + 2 half_b t + c
        return (half_b + root) / -a if a < 0 else LD(1e30)


class System:
    """The linear equations of one iteration."""

    def __init__(self, program, x, blocks):
        self.blocks, self.A = blocks, program.A
        self.gradient, self.hessian = program.derivatives(x)
        K = self.hessian.copy()
        for block in blocks:
            block.rescale()
            K += (block.G.T @ (block.metric() @ block.G)).toarray()
        self.unit = np.where(np.diag(K) > 0, np.sqrt(np.diag(K)), 1)
        self._use(Factor(K))

    def _use(self, factor):
        self.factor = factor
        if len(self.A):
            self.KA = np.stack([self.factor.solve(row) for row in self.A], axis=1)
            self.schur = Factor(self.A @ self.KA)

    def _solve(self, rhs):
        """K dx + A' y = rhs, A dx = 0."""
        dx = self.factor.solve(rhs)
        if not len(self.A):
            return dx, np.zeros(0, LD)
        y = self.schur.solve(self.A @ dx)
        return dx - self.KA @ y, y

    def direction(self, mu, second):
        """gradient + hessian dx + G' (z + dz) + A' y = 0 where dz depends on dx.  Both are refined together,
        since the changes of dx that correct z + dz can be too small for dx itself."""
        dx, new, rest = self._direction(mu, second)
        if self.factor.lost and not isinstance(self.factor, TwoFoldFactor):
            terms = abs(self.gradient)
            for block, z in zip(self.blocks, new, strict=True):
                terms += abs(block.G).T @ abs(z)
            if np.any(abs(rest) > 1e3 * EPS * terms):  # what was lost is missed
                self._use(TwoFoldFactor(self.hessian, self.blocks))
                dx, new, _ = self._direction(mu, second)
        return dx, [(-(block.G @ dx), z - block.z) for block, z in zip(self.blocks, new, strict=True)]

    def _direction(self, mu, second):
        new = [block.aim(mu, *terms) for block, terms in zip(self.blocks, second, strict=True)]
        dx, y, size = 0 * self.gradient, np.zeros(len(self.A), LD), INF
        for _ in range(12):
            rest = -self.gradient - self.hessian @ dx - self.A.T @ y
            for block, z in zip(self.blocks, new, strict=True):
                rest -= block.G.T @ z
            before, size = size, abs(rest / self.unit).max()
            if not size < before / 2:
                break
            more, more_y = self._solve(rest)
            dx, y = dx + more, y + more_y
            new = [z + block.times(block.G @ more) for block, z in zip(self.blocks, new, strict=True)]
        return dx, new, rest


def _steps(blocks, changes):
    """The largest steps that keep s, respectively z, inside."""
    step = dual_step = LD(1e30)
    for block, (ds, dz) in zip(blocks, changes, strict=True):
        step, dual_step = min(step, block.longest(block.s, ds)), min(dual_step, block.longest(block.z, dz))
    return step, dual_step


def _outlook(blocks, changes):
    """The present mu, and the fraction of it to aim at, after a look at the step that aims at mu = 0."""
    step, now, ahead = min(*_steps(blocks, changes), LD(1)), LD(0), LD(0)
    for block, (ds, dz) in zip(blocks, changes, strict=True):
        now += (block.s * block.z).sum()
        ahead += ((block.s + step * ds) * (block.z + step * dz)).sum()
    return now / sum(block.degree for block in blocks), min((ahead / now) ** 3, LD(1))


def _iterate(program, max_iter):
    """Mehrotra's predictor-corrector method: yields (x, multipliers of G x <= h)."""
    x, slack = program.x0, program.h - program.G @ program.x0
    mu = program.value(x) / max(len(slack) + len(program.cones), 1)
    blocks = [Orthant(program.G, slack, mu)]
    for at in program.cones:
        G = sp.csr_array((-np.ones(len(at), LD), (np.arange(len(at)), at)), shape=(len(at), len(x)))
        blocks.append(Lorentz(G, x[at], mu))

    for _ in range(max_iter):
        yield x, blocks[0].z
        system, target = System(program, x, blocks), LD(0)
        none = [(0 * block.s, 0 * block.z) for block in blocks]
        second = none
        if len(slack) + len(program.cones) > 0:
            _, changes = system.direction(LD(0), none)
            mu, fraction = _outlook(blocks, changes)
            if program.quadratic:
                target, second = mu * max(fraction, LD(1e-6)), changes
            else:  # leave the derivatives the time to follow
                target = mu * max(fraction, LD(0.1))
        dx, changes = system.direction(target, second)
        step, dual_step = (min(LD(0.995) * longest, LD(1)) for longest in _steps(blocks, changes))
        if program.quadratic:
            step = dual_step = min(step, dual_step)
        else:
            step = _line_search(program, x, blocks, dx, changes, step, target, system.gradient)
        x = x + step * dx
        for block, (ds, dz) in zip(blocks, changes, strict=True):
            block.s, block.z = block.s + step * ds, block.z + dual_step * dz
        positive = all(block.inside(block.s) and block.inside(block.z) for block in blocks)
        if not (positive and np.all(np.isfinite(x)) and np.all(x[program.t_at] > 0)):
            return  # rounding errors as large as the slacks


def _line_search(program, x, blocks, dx, changes, step, target, gradient):
    """Backtrack on f minus target times the logarithms, for which dx is a direction of descent."""

    def merit(step):
        logs = [block.log_det(block.s + step * ds) for block, (ds, _) in zip(blocks, changes, strict=True)]
        return program.value(x + step * dx) - target * sum(logs)

    slope = (gradient * dx).sum()
    for block, (ds, dz) in zip(blocks, changes, strict=True):
        slope -= (block.aim(target, 0 * ds, 0 * dz) * ds).sum()
    here = merit(LD(0))
    for _ in range(300):  # the step can be that much too long where a loss is flat
        if merit(step) <= here + LD(1e-4) * step * slope + 64 * EPS * abs(here):
            break
        step = step / 2
    return step


def _snap(spec, X, y, w, b, U, s):
    """Put the entries of w next to a kink or bound there, as in argmax v w' - R(w'), if P does not grow."""
    if spec.penalty not in ("elastic_net", "group"):
        return w
    slopes = ((s / s.sum()) * U.T).T
    best = penalty_maximiser(spec, -np.tensordot(X.T, slopes, 1), np.full(w.shape, 2 * abs(w).max()))
    edge = best == 0
    if spec.penalty == "elastic_net":
        _, _, lower, upper = _net(spec, w)
        edge = edge | (best == lower) | (best == upper)
    snapped = np.where(edge & (abs(w - best) <= 1e-6 * abs(w).max()), best, w)
    better = objective(spec, X, y, snapped, b, s) <= objective(spec, X, y, w, b, s)
    return snapped if better else w


@np.errstate(all="ignore")  # the last iterations may run into zeros and infinities; the certificate judges
def solve_reference(spec, X, y, weight=None, max_iter=200):
    s = np.ones(X.shape[0], LD) if weight is None else np.asarray(weight).astype(LD)
    if not (np.all(s >= 0) and s.sum() > 0):
        raise ValueError("weights must be nonnegative, and one of them positive")
    used, X, all_y = s > 0, _dense(X), _targets(spec, y)
    if spec.loss in VECTOR_LOSSES:  # the zero weights may be all there is of the last class
        spec = replace(spec, loss_params={**spec.loss_params, "n_classes": _n_classes(spec, all_y)})
    X, y, s = X[used], all_y[used], s[used]
    program = Program(spec, X, y, s / s.sum())

    w, b = program.origin()
    scale = objective(spec, X, y, w, b, s)
    gap, best = INF, None
    stalled = 0
    for x, multipliers in _iterate(program, max_iter) if scale > 0 else ():
        w, b = program.split(x)
        U = program.dual_point(x, multipliers)
        w = _snap(spec, X, y, w, b, U, s)
        now = certificate(spec, X, y, w, b, U, s)
        floor = 32 * EPS * scale  # of rounding errors; one more iteration after it is reached
        done = gap <= floor and now <= floor
        stalled = 0 if now < gap / 2 else stalled + 1
        if now < gap or done:
            gap, best = now, (w, b, U)
        patience = 3 if gap < 1e-13 * scale else 10 if gap < 1e-9 * scale else 60
        if done or stalled >= patience:
            break
    if best is None:  # P(0) = 0: nothing can be better
        best, gap, scale = (w, b, dual_domain(spec, np.zeros(program.shape_z, LD), y)), LD(0), LD(1)
    w, b, U = best
    u = np.zeros((len(used), *U.shape[1:]), LD)
    u[used] = U
    return Reference(w, b, objective(spec, X, y, w, b, s), float(gap / scale), scale, u)
