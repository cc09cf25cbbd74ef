"""The bounds of the paper, as functions of plain numbers.

=========== ==================================================================================
n, d        examples and features
radius      R, an upper bound on the norm of every example
lam         regularization strength: the objective is lam-strongly convex
gamma       every loss is (1/gamma)-smooth: 1 for the squared loss, 4 for the logistic one
gap0        how far the start is from optimal: D(alpha*) - D(alpha0), or the larger P(0) - D(0)
eps, delta  accuracy asked for, and the probability of failure that is allowed
=========== ==================================================================================

A bound on iterations is the smallest whole number that the theorem allows, where one iteration
updates one dual variable (n of them are an epoch) or, when named ``outer``, solves one inner problem.
A start that is already accurate makes the printed logarithms negative: they count as zero.
Logarithms are natural, except those of `trials` and of the repetitions in `sdca_iterations_whp`.
"""

import math
from collections.abc import Callable
from numbers import Real
from typing import Literal, NamedTuple


def _checked(ok: Callable[[float], bool], allowed: str, arguments: dict[str, float]) -> list[float]:
    for name, value in arguments.items():
        if not isinstance(value, Real):
            raise TypeError(f"{name} must be {allowed}, got {value!r}")
        if not (math.isfinite(value) and ok(value)):
            raise ValueError(f"{name} must be {allowed}, got {value!r}")
    return [float(value) for value in arguments.values()]


def _positive(**arguments: float) -> list[float]:
    return _checked(lambda value: value > 0, "a positive finite number", arguments)


def _not_negative(**arguments: float) -> list[float]:
    return _checked(lambda value: value >= 0, "a finite number, at least 0", arguments)


def _open_unit(**arguments: float) -> list[float]:
    return _checked(lambda value: 0 < value < 1, "strictly between 0 and 1", arguments)


def _whole(least: int, **arguments: float) -> list[int]:
    allowed = f"a whole number, at least {least}"
    _checked(lambda value: value >= least and value == int(value), allowed, arguments)
    return [int(value) for value in arguments.values()]


def _size(n: int, radius: float, lam: float, gamma: float) -> tuple[int, float]:
    """Check the four arguments; n and x = R^2/(lam gamma)."""
    (n,) = _whole(1, n=n)
    (radius,) = _not_negative(radius=radius)
    lam, gamma = _positive(lam=lam, gamma=gamma)
    x = radius * radius / lam / gamma
    _not_negative(**{"radius**2 / (lam * gamma)": x})
    return n, x


def _log_ratio(gap0: float, eps: float) -> float:
    """log(gap0/eps), minus infinity for a start without error."""
    (gap0,) = _not_negative(gap0=gap0)
    (eps,) = _positive(eps=eps)
    return math.log(gap0) - math.log(eps) if gap0 > 0 else -math.inf


def condition(*, n: int, radius: float, lam: float, gamma: float) -> float:
    """Condition number per example, R^2/(lam gamma n): up to about 1, Prox-SDCA needs few epochs.

    Examples
    --------
    >>> condition(n=1000, radius=1.0, lam=1e-4, gamma=1.0)
    10.0
    """
    n, x = _size(n, radius, lam, gamma)
    return x / n


def accelerate(*, n: int, radius: float, lam: float, gamma: float) -> bool:
    """Whether the paper asks for acceleration: R^2/(lam gamma) > 10 n.

    Examples
    --------
    >>> [accelerate(n=1000, radius=1.0, lam=lam, gamma=1.0) for lam in (1e-4, 1e-5)]
    [False, True]
    """
    n, x = _size(n, radius, lam, gamma)
    return x > 10 * n


def sdca_iterations(*, n: int, radius: float, lam: float, gamma: float, gap0: float, eps: float) -> int:
    """Theorem 1, first part: iterations until the last iterate's expected gap is at most eps.

    Examples
    --------
    >>> sdca_iterations(n=1000, radius=1.0, lam=1e-3, gamma=1.0, gap0=1.0, eps=1e-3)
    29018
    """
    n, x = _size(n, radius, lam, gamma)
    return math.ceil((n + x) * max(0.0, math.log(n + x) + _log_ratio(gap0, eps)))


def sdca_iterations_averaged(*, n: int, radius: float, lam: float, gamma: float, gap0: float, eps: float) -> int:
    """Theorem 1, second part: the same for the average, or a random one, of the last iterates.

    The iterates in question are those after `averaging_start`.

    Examples
    --------
    >>> sdca_iterations_averaged(n=1000, radius=1.0, lam=1e-3, gamma=1.0, gap0=1.0, eps=1e-3)
    15816
    """
    n, x = _size(n, radius, lam, gamma)
    return math.ceil((n + math.ceil(x)) * (1 + max(0.0, _log_ratio(gap0, eps))))


def averaging_start(t: int, *, n: int, radius: float, lam: float, gamma: float) -> int:
    """T0 of Theorems 1 and 2, t - n - ceil(R^2/(lam gamma)); 0 where that is negative.

    Examples
    --------
    >>> [averaging_start(t, n=1000, radius=1.0, lam=1e-3, gamma=1.0) for t in (500, 15816)]
    [0, 13816]
    """
    (t,) = _whole(1, t=t)
    n, x = _size(n, radius, lam, gamma)
    return max(0, t - n - math.ceil(x))


def sdca_iterations_expected(*, n: int, radius: float, lam: float, gamma: float, gap0: float, eps: float) -> int:
    """Corollary 1: expected iterations of running, checking the gap and running again until it is eps.

    Each run makes the averaged part of Theorem 1 true at eps/2, so it succeeds with probability 1/2 or more,
    and two runs are enough on average.

    Examples
    --------
    >>> sdca_iterations_expected(n=1000, radius=1.0, lam=1e-3, gamma=1.0, gap0=1.0, eps=1e-3)
    34404
    """
    n, x = _size(n, radius, lam, gamma)
    return math.ceil(2 * (n + math.ceil(x)) * (1 + max(0.0, math.log(2) + _log_ratio(gap0, eps))))


def trials(delta: float) -> int:
    """Theorem 2, third part: how many random iterates to draw, ceil(log2(2/delta)).

    Examples
    --------
    >>> trials(0.01)
    8
    """
    return 1 + _repetitions(delta)


def _repetitions(delta: float) -> int:
    (delta,) = _open_unit(delta=delta)
    return math.ceil(-math.log2(delta))


def sdca_iterations_whp(
    kind: Literal["dual", "last", "best"],
    *,
    n: int,
    radius: float,
    lam: float,
    gamma: float,
    gap0: float,
    eps: float,
    delta: float,
) -> int:
    """Theorem 2: iterations until, with probability 1 - delta or more, an error is at most eps.

    The kind of error is

    - ``"dual"``: the dual sub-optimality of the last iterate (first part);
    - ``"last"``: the gap of the last iterate (second part);
    - ``"best"``: the smallest gap of `trials` iterates drawn after `averaging_start` (third part).

    Examples
    --------
    >>> problem = dict(n=1000, radius=1.0, lam=1e-3, gamma=1.0, gap0=1.0, eps=1e-3)
    >>> [sdca_iterations_whp(kind, **problem, delta=0.01) for kind in ("dual", "last", "best")]
    [106414, 212828, 144000]
    """
    n, x = _size(n, radius, lam, gamma)
    ratio = math.log(2) + _log_ratio(gap0, eps)
    if kind == "dual":
        return math.ceil((n + x) * max(0.0, ratio)) * _repetitions(delta)
    if kind == "last":
        return math.ceil((n + x) * max(0.0, math.log(n + x) + ratio)) * _repetitions(delta)
    if kind == "best":
        return (n + math.ceil(x)) * (1 + math.ceil(max(0.0, ratio))) * trials(delta)
    raise ValueError(f"kind must be 'dual', 'last' or 'best', got {kind!r}")


class Acceleration(NamedTuple):
    """Parameters of Accelerated Prox-SDCA, in the paper's letters."""

    kappa: float
    mu: float
    rho: float
    eta: float
    beta: float


def _accelerable(n: int, radius: float, lam: float, gamma: float) -> tuple[int, float]:
    """Check the four arguments; n and c = R^2/(lam gamma n), above 1 since kappa must be positive."""
    n, x = _size(n, radius, lam, gamma)
    (c,) = _checked(lambda c: c > 1, "above 1 to accelerate", {"radius**2 / (lam * gamma * n)": x / n})
    return n, c


def acceleration(*, n: int, radius: float, lam: float, gamma: float) -> Acceleration:
    """Parameters that make every inner problem as easy as one of condition 1.

    kappa = R^2/(gamma n) - lam, mu = lam/2, rho = mu + kappa, eta = sqrt(mu/rho) and
    beta = (1 - eta)/(1 + eta). They exist when `condition` exceeds 1; the paper asks for 10 (`accelerate`).

    Examples
    --------
    >>> kappa, mu, rho, eta, beta = acceleration(n=1000, radius=1.0, lam=2e-5, gamma=1.0)
    >>> f"{kappa:.2e} {mu:.2e} {rho:.2e} {eta:.3f} {beta:.3f}"
    '9.80e-04 1.00e-05 9.90e-04 0.101 0.817'
    """
    _, c = _accelerable(n, radius, lam, gamma)
    kappa = float(lam) * (c - 1)
    mu = float(lam) / 2
    rho = mu + kappa
    eta = math.sqrt(mu / rho)
    return Acceleration(kappa, mu, rho, eta, (1 - eta) / (1 + eta))


def xi(t: int, *, eta: float, gap0: float) -> float:
    """xi_t = (1 - eta/2)^(t-1) (1 + eta^-2) gap0, which bounds the primal error of outer iterate t.

    Examples
    --------
    >>> [round(xi(t, eta=0.1, gap0=1.0), 3) for t in (1, 2, 200)]
    [101.0, 95.95, 0.004]
    """
    (t,) = _whole(1, t=t)
    (eta,) = _open_unit(eta=eta)
    (gap0,) = _not_negative(gap0=gap0)
    return (1 - eta / 2) ** (t - 1) * (1 + 1 / eta / eta) * gap0


def inner_tolerance(t: int, *, eta: float, gap0: float) -> float:
    """Gap to which outer iteration t = 2, 3, ... solves its inner problem: eta/(2(1 + eta^-2)) xi_(t-1).

    Examples
    --------
    >>> inner_tolerance(2, eta=0.1, gap0=1.0)
    0.05
    """
    (t,) = _whole(2, t=t)
    (eta,) = _open_unit(eta=eta)
    (gap0,) = _not_negative(gap0=gap0)
    return eta / 2 * (1 - eta / 2) ** (t - 2) * gap0


def outer_iterations(*, eta: float, gap0: float, eps: float) -> int:
    """First stopping condition: the first t that is at least 1 + (2/eta) log(xi_1/eps).

    Counting starts at t = 1 with w = 0, so this is one more than the number of inner problems.

    Examples
    --------
    >>> outer_iterations(eta=0.1, gap0=1.0, eps=1e-3)
    232
    """
    (eta,) = _open_unit(eta=eta)
    log_xi = math.log1p(eta * eta) - 2 * math.log(eta) + _log_ratio(gap0, eps)
    return 1 + math.ceil(max(0.0, 2 / eta * log_xi))


def outer_iterations_bound(*, n: int, radius: float, lam: float, gamma: float, gap0: float, eps: float) -> int:
    """Theorem 3: 1 + sqrt(8 c) (log(2 c) + log(gap0/eps)) for c = R^2/(lam gamma n), here rounded up.

    It is never below `outer_iterations`, and shows how that grows.

    Examples
    --------
    >>> outer_iterations_bound(n=1000, radius=1.0, lam=1e-5, gamma=1.0, gap0=1.0, eps=1e-3)
    347
    """
    _, c = _accelerable(n, radius, lam, gamma)
    return 1 + math.ceil(max(0.0, math.sqrt(8 * c) * (math.log(2 * c) + _log_ratio(gap0, eps))))


def stopping_bound(*, lam: float, kappa: float, eps_t: float, distance: float) -> float:
    """Second stopping condition: (1 + rho/mu) eps_t + rho kappa/(2 mu) distance^2 bounds the primal error.

    Here mu = lam/2 and rho = mu + kappa, eps_t is the gap of the inner problem and
    distance the Euclidean one from its solution w to its centre y.

    Examples
    --------
    >>> stopping_bound(lam=2.0, kappa=3.0, eps_t=0.1, distance=0.5)
    2.0
    """
    lam, kappa = _positive(lam=lam, kappa=kappa)
    eps_t, distance = _not_negative(eps_t=eps_t, distance=distance)
    mu = lam / 2
    rho = mu + kappa
    return (1 + rho / mu) * eps_t + rho * kappa / (2 * mu) * distance * distance


def inner_iterations(*, n: int, radius: float, lam: float, gamma: float) -> int:
    """Theorem 3: expected iterations of one inner problem, O(n log c) for c = R^2/(lam gamma n).

    The proof bounds the logarithm of start over tolerance by 7 + 2.5 log c, and an inner problem has
    condition 1. In `sdca_iterations_expected` that gives 4 n (1 + log 2 + 7 + 2.5 log c).

    Examples
    --------
    >>> inner_iterations(n=1000, radius=1.0, lam=1e-5, gamma=1.0)
    80825
    """
    n, c = _accelerable(n, radius, lam, gamma)
    return math.ceil(4 * n * (8 + math.log(2) + 2.5 * math.log(c)))


def accelerated_iterations(*, n: int, radius: float, lam: float, gamma: float, gap0: float, eps: float) -> int:
    """Theorem 3, whole: expected iterations of Accelerated Prox-SDCA, inner problems times the cost of each.

    Examples
    --------
    >>> accelerated_iterations(n=1000, radius=1.0, lam=1e-5, gamma=1.0, gap0=1.0, eps=1e-3)
    27884625
    """
    eta = acceleration(n=n, radius=radius, lam=lam, gamma=gamma).eta
    problems = outer_iterations(eta=eta, gap0=gap0, eps=eps) - 1
    return problems * inner_iterations(n=n, radius=radius, lam=lam, gamma=gamma)


def smoothing_error(gamma: float, lipschitz: float) -> float:
    """Lemma 2: smoothing a Lipschitz loss by gamma lowers it by at most gamma lipschitz^2/2.

    Examples
    --------
    >>> smoothing_error(0.1, 2.0)
    0.2
    """
    gamma, lipschitz = _positive(gamma=gamma, lipschitz=lipschitz)
    return gamma * lipschitz * lipschitz / 2


def smoothing_gamma(eps: float, lipschitz: float) -> float:
    """Largest gamma with a `smoothing_error` of eps/2, so that eps/2 is left for the solver.

    Examples
    --------
    >>> smoothing_gamma(0.1, 2.0)
    0.025
    """
    eps, lipschitz = _positive(eps=eps, lipschitz=lipschitz)
    return eps / lipschitz / lipschitz


def lasso_lam(*, eps: float, sigma: float, ybar: float) -> float:
    """L2 term that costs the lasso at most eps/2: eps (sigma/ybar)^2.

    sigma is the weight of the L1 norm and ybar the loss at w = 0, the mean of y_i^2/2.

    Examples
    --------
    >>> lasso_lam(eps=0.125, sigma=1.0, ybar=2.0)
    0.03125
    """
    eps, sigma, ybar = _positive(eps=eps, sigma=sigma, ybar=ybar)
    return eps * (sigma / ybar) * (sigma / ybar)


def total_runtime(*, n: int, d: int, radius: float, lam: float, gamma: float) -> float:
    """Operations in all, without constants and logarithms: d (n + min(x, sqrt(n x))), x = R^2/(lam gamma).

    That is for smooth losses. A Lipschitz loss has the gamma of `smoothing_gamma`, and an L1 penalty the lam
    of `lasso_lam`.

    Examples
    --------
    >>> round(total_runtime(n=1000, d=10, radius=1.0, lam=1e-6, gamma=1.0))
    326228
    >>> round(total_runtime(n=1000, d=10, radius=1.0, lam=1e-2, gamma=smoothing_gamma(1e-4, 1.0)))
    326228
    >>> lam = lasso_lam(eps=1e-6, sigma=1.0, ybar=1.0)
    >>> round(total_runtime(n=1000, d=10, radius=1.0, lam=lam, gamma=1.0))
    326228
    """
    (d,) = _whole(1, d=d)
    n, x = _size(n, radius, lam, gamma)
    return _this(n, d, x)


def log_factor(*, n: int, radius: float, lam: float, gamma: float, eps: float, delta: float) -> float:
    """Logarithms that `total_runtime` leaves out: log(1/eps) log(1/delta) max(1, log^2 c).

    c = R^2/(lam gamma n) counts as 1 below that, where nothing is accelerated and the square has no cause.

    Examples
    --------
    >>> round(log_factor(n=1000, radius=1.0, lam=1e-6, gamma=1.0, eps=1e-3, delta=0.01), 1)
    1517.9
    """
    eps, delta = _open_unit(eps=eps, delta=delta)
    c = condition(n=n, radius=radius, lam=lam, gamma=gamma)
    return math.log(eps) * math.log(delta) * max(1.0, math.log(max(1.0, c)) ** 2)


def _this(n: float, d: float, x: float) -> float:
    return d * (n + min(x, math.sqrt(n) * math.sqrt(x)))


# In each problem x is 1 over the product of the numbers named here.
_HARDNESS = {"svm": ("lam", "eps"), "lasso": ("eps",), "ridge": ("lam",)}

_Formula = tuple[str, Callable[[float, float, float], float]]
_AGD: _Formula = ("d n sqrt(x)", lambda n, d, x: d * n * math.sqrt(x))
_THIS: _Formula = ("d (n + min(x, sqrt(n x)))", _this)
_RUNTIMES: dict[tuple[str, str], _Formula] = {
    ("svm", "sgd"): ("d x", lambda n, d, x: d * x),
    ("svm", "agd"): _AGD,
    ("svm", "this"): _THIS,
    ("lasso", "sgd"): ("d x^2", lambda n, d, x: d * x * x),
    ("lasso", "cd"): ("d n x", lambda n, d, x: d * n * x),
    ("lasso", "fista"): _AGD,
    ("lasso", "this"): _THIS,
    ("ridge", "exact"): ("d^2 n + d^3", lambda n, d, x: d * d * (n + d)),
    ("ridge", "sgd"): ("d (n + x)", lambda n, d, x: d * (n + x)),
    ("ridge", "agd"): _AGD,
    ("ridge", "this"): _THIS,
}


class RuntimeRow(NamedTuple):
    """A line of the introduction's table; x in the formula is 1/(lam eps), 1/eps or 1/lam."""

    problem: str
    algorithm: str
    formula: str
    runtime: float


def runtime(problem: str, algorithm: str, *, n: int, d: int, lam: float | None = None, eps: float | None = None) -> float:
    """Table of the introduction: operations without constants and logarithms, for losses and data of scale 1.

    - ``"svm"`` by ``"sgd"``, ``"agd"`` or ``"this"`` depends on lam and eps;
    - ``"lasso"`` by ``"sgd"``, ``"cd"``, ``"fista"`` or ``"this"`` on eps;
    - ``"ridge"`` by ``"exact"``, ``"sgd"``, ``"agd"`` or ``"this"`` on lam.

    Examples
    --------
    >>> round(runtime("svm", "sgd", n=1000, d=10, lam=1e-3, eps=1e-3))
    10000000
    >>> round(runtime("svm", "this", n=1000, d=10, lam=1e-3, eps=1e-3))
    326228
    """
    if (problem, algorithm) not in _RUNTIMES:
        known = ", ".join(map("/".join, _RUNTIMES))
        raise ValueError(f"problem/algorithm must be one of {known}, got {problem}/{algorithm}")
    n, d = _whole(1, n=n, d=d)
    given = {name: value for name, value in (("lam", lam), ("eps", eps)) if value is not None}
    _positive(**given)
    x = 1.0
    for name in _HARDNESS[problem]:
        if name not in given:
            raise ValueError(f"{name} must be a positive finite number for {problem}, got None")
        x /= float(given[name])
    return float(_RUNTIMES[problem, algorithm][1](n, d, x))


def runtime_table(*, n: int, d: int, lam: float, eps: float) -> tuple[RuntimeRow, ...]:
    """Every line of the introduction's table for one size, regularization and accuracy.

    Examples
    --------
    >>> for row in runtime_table(n=1000, d=10, lam=1e-6, eps=1e-3)[-2:]:
    ...     print(row.problem, row.algorithm, row.formula, round(row.runtime))
    ridge agd d n sqrt(x) 10000000
    ridge this d (n + min(x, sqrt(n x))) 326228
    """
    return tuple(
        RuntimeRow(problem, algorithm, formula, runtime(problem, algorithm, n=n, d=d, lam=lam, eps=eps))
        for (problem, algorithm), (formula, _) in _RUNTIMES.items()
    )
