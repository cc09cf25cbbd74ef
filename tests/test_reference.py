"""The reference against closed forms, other solvers, and itself."""

import itertools
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp

import reference
from reference import LD, VECTOR_LOSSES, Spec, certificate, objective, solve_reference

pytestmark = pytest.mark.skipif(not reference.EXTENDED, reason="the long double is a double here")

REGRESSION = [
    ("squared", {}),
    ("absolute", {}),
    ("huber", {"gamma": 0.5}),
    ("epsilon_insensitive", {"eps": 0.25}),
    ("quantile", {"q": 0.3}),
    ("epsilon_insensitive", {"eps": 0.25, "gamma": 0.5}),
    ("quantile", {"q": 0.3, "gamma": 0.5}),
    ("squared_epsilon_insensitive", {"eps": 0.25}),
]
BINARY = [("logistic", {}), ("logistic", {"gamma": 3.0}), ("hinge", {}), ("smooth_hinge", {"gamma": 0.5}), ("squared_hinge", {})]
COSTS = [[0, 1, 2], [0.5, 0, 1], [1, 1, 0]]
VECTOR = [
    ("softmax", {"n_classes": 3}),
    ("max_hinge", {"costs": COSTS}),
    ("smooth_max_hinge", {"gamma": 0.5, "costs": COSTS}),
    ("soft_max_hinge", {"gamma": 0.5, "costs": COSTS}),
]
LOSSES = REGRESSION + BINARY + VECTOR
PENALTIES = {
    "ridge": ("elastic_net", {"l2": 0.1}),
    "weak_ridge": ("elastic_net", {"l2": 1e-9}),
    "lasso": ("elastic_net", {"l1": 0.05}),
    "box": ("elastic_net", {"l1": 0.02, "l2": 0.01, "lower": [-np.inf, -0.2, 0.1], "upper": [0.2, 0.2, 0.1]}),
    "factors": ("elastic_net", {"l1": 0.02, "l2": 0.03, "factors": [1.0, 0.5, 2.0]}),
    "group": ("group", {"l1": 0.03, "l2": 0.01, "groups": [4, 2, 4]}),
    "group_alone": ("group", {"l1": 0.03, "groups": [0, 0, 1]}),
    "q_norm": ("q_norm", {"l2": 0.1, "q": 1.2}),
    "entropy": ("entropy", {"l2": 0.1}),
}
ALL = [
    pytest.param(loss, penalty, id=f"{loss[0]}-{name}")
    for loss in LOSSES
    for name, penalty in PENALTIES.items()
    if not (loss[0] in VECTOR_LOSSES and penalty[0] == "entropy")
]


def make(loss, n=9, d=3, seed=0):
    """Data that no hyperplane separates, for any of the losses."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    score = X.sum(axis=1) + 1.5 * rng.standard_normal(n)
    if loss in VECTOR_LOSSES:
        y = np.arange(n) % 3
        X[3:6] = X[:3][::-1]
        return X, y
    if loss in dict(BINARY):
        y = np.where(score > 0, 1.0, -1.0)
        y[: n // 2] = np.where(np.arange(n // 2) % 2, 1.0, -1.0)
        X[n // 2 : 2 * (n // 2)] = X[: n // 2] + 0.1
        return X, y
    return X, score


def feasible(spec, w):
    """w moved into the domain of the penalty."""
    if spec.penalty == "entropy":
        w = abs(w)
        return w / w.sum()
    if spec.penalty == "elastic_net":
        _, _, lower, upper = reference._net(spec, w)
        return np.clip(w, lower, upper)
    return w


# ------------------------------------------------------------------------------------------------------
# Every combination: it is certified, and nothing nearby is better
# ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("loss", "penalty"), ALL)
def test_nothing_is_better(loss, penalty, intercept):
    X, y = make(loss[0])
    spec = Spec(*loss, *penalty, intercept)
    weight = np.linspace(1, 2, len(y))
    found = solve_reference(spec, X, y, weight)
    assert 0 <= found.error <= 1e-12
    assert found.value == objective(spec, X, y, found.w, found.b, weight)
    assert found.value <= found.scale
    rng = np.random.default_rng(1)
    for size, _ in itertools.product(10.0 ** -np.arange(10), range(3)):
        w = feasible(spec, found.w + size * rng.standard_normal(found.w.shape))
        b = found.b + size * rng.standard_normal(found.b.shape) * intercept
        assert objective(spec, X, y, w, b, weight) >= found.value - found.error * found.scale


# ------------------------------------------------------------------------------------------------------
# The formulas
# ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss[0])
def test_conjugates(loss):
    """phi(z) + phi*(u) >= u z, with equality where u is a slope at z."""
    spec = Spec(*loss)
    rng = np.random.default_rng(0)
    n = 300
    y = make(loss[0], n)[1]
    y = reference._targets(spec, y)
    shape = (n, 3) if loss[0] in VECTOR_LOSSES else (n,)
    Z = 2 * rng.standard_normal(shape).astype(LD)
    U = reference.dual_domain(spec, rng.standard_normal(shape).astype(LD), y)
    dot = (U * Z).reshape(n, -1).sum(axis=1)
    assert np.all(reference.losses(spec, Z, y) + reference.conjugates(spec, U, y) - dot >= -1e-17)
    step = LD(1e-9)
    slopes = np.zeros(shape, LD)
    for j in range(Z[0].size):
        e = step * np.eye(Z[0].size)[j].reshape(Z[0].shape)
        slope = (reference.losses(spec, Z + e, y) - reference.losses(spec, Z - e, y)) / (2 * step)
        slopes.reshape(n, -1)[:, j] = slope
    U = reference.dual_domain(spec, slopes, y)
    assert np.all(abs(U - slopes) < 1e-8)  # slopes are in the domain already
    dot = (U * Z).reshape(n, -1).sum(axis=1)
    assert np.all(abs(reference.losses(spec, Z, y) + reference.conjugates(spec, U, y) - dot) < 2e-8)


@pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES)
def test_penalty_maximiser(penalty):
    """No w has a larger v w - R(w)."""
    spec = Spec("squared", {}, *penalty)
    rng = np.random.default_rng(0)
    bound = np.full(3, LD(2))
    for _ in range(20):
        v = rng.standard_normal(3).astype(LD)
        best = reference.penalty_maximiser(spec, v, bound)
        level = (v * best).sum() - reference.penalty(spec, best)
        assert np.isfinite(level)
        for size in 10.0 ** -np.arange(8):
            w = feasible(spec, np.clip(best + size * rng.standard_normal(3), -bound, bound))
            inside = penalty[0] != "group" or np.sqrt((w**2).sum()) <= 2
            if inside:
                assert (v * w).sum() - reference.penalty(spec, w) <= level + 1e-17 * (1 + abs(level))


def test_losses_by_hand():
    def at(name, z, y, **params):
        return reference.losses(Spec(name, params), np.array([z], LD), np.array([y]))[0]

    assert at("squared", 3, 1.0) == 2
    assert at("absolute", 3, 1.0) == 2
    assert at("huber", 3, 1.0, gamma=0.5) == 1.75
    assert at("huber", 1.25, 1.0, gamma=0.5) == 0.0625
    assert at("epsilon_insensitive", 3, 1.0, eps=0.5) == 1.5
    assert at("quantile", 3, 1.0, q=0.25) == 1.5
    assert at("quantile", -1, 1.0, q=0.25) == 0.5
    assert at("logistic", 0, 1.0) == np.log(LD(2))
    assert abs(at("logistic", -100, 1.0) - 100) < 1e-17
    assert at("logistic", 100, 1.0) == np.exp(LD(-100))
    assert at("hinge", 0.5, 1.0) == 0.5
    assert at("hinge", 0.5, -1.0) == 1.5
    assert at("smooth_hinge", 0.75, 1.0, gamma=0.5) == 0.0625
    assert at("smooth_hinge", 0, 1.0, gamma=0.5) == 0.75
    assert at("squared_hinge", -1, 1.0) == 2
    z, a = [0, 1, 2], np.array([1, 1.5, 2.5])  # margins for y = 0
    assert at("max_hinge", z, 0, costs=[[0, 0.5, 0.5], [1, 0, 1], [1, 1, 0]]) == 2.5
    costs = {"costs": [[1 - 1, 0.5, 0.5], [1, 0, 1], [1, 1, 0]]}
    assert abs(at("soft_max_hinge", z, 0, gamma=2, **costs) - 2 * np.log(1 + np.exp(a[1:] / 2).sum())) < 1e-15
    assert abs(at("softmax", z, 0) - np.log(np.exp(z).sum())) < 1e-15
    assert at("smooth_max_hinge", z, 0, gamma=0.5, **costs) == 2.25  # beta = (0, 1)
    assert abs(at("smooth_max_hinge", z, 0, gamma=5, **costs) - LD(17) / 20) < 1e-18
    assert abs(at("smooth_max_hinge", z, 0, gamma=2, **costs) - (0.25 * 1.5 + 0.75 * 2.5 - 0.625)) < 1e-18
    assert at("max_hinge", [3, 0, 0], 0) == 0  # the default costs are 1


def test_penalties_by_hand():
    def at(name, w, **params):
        return reference.penalty(Spec("squared", {}, name, params), np.array(w, LD))

    assert at("elastic_net", [1, -2], l1=1, l2=2) == 8
    assert at("elastic_net", [1, -2], l1=1, l2=2, factors=[0, 0.5]) == 3
    assert at("elastic_net", [1, -2], l1=1, lower=-1) == np.inf
    assert at("group", [[3, 0], [0, 4], [1, 1]], l1=1, groups=[0, 0, 1]) == 10 + 2
    assert abs(at("q_norm", [1, -8], l2=1, q=1.5) - (1 + 8**1.5) ** (4 / 3)) < 1e-13
    assert abs(at("entropy", [0, 0.5, 0.5], l2=2) - 2 * np.log(1.5)) < 1e-15
    assert at("entropy", [0.5, 0.6], l2=2) == np.inf
    assert at("entropy", [-0.5, 1.5], l2=2) == np.inf


@pytest.mark.parametrize("kind", ["dense64", "dense32", "sparse64", "sparse32"])
def test_objective_is_accurate(kind):
    """Against rational numbers, with entries and weights of all sizes."""
    rng = np.random.default_rng(0)
    n, d = 40, 25
    X = rng.standard_normal((n, d)) * 10 ** rng.uniform(-3, 3, (n, 1)) * (rng.random((n, d)) < 0.5)
    X = X.astype(np.float32 if kind.endswith("32") else float)
    y, w = rng.standard_normal(n), rng.standard_normal(d).astype(LD) / 3
    weight = 10 ** rng.uniform(-6, 6, n)

    def exact(v):
        head = float(v)
        return Fraction(head) + Fraction(float(LD(v) - LD(head)))

    rows = [[exact(v) for v in row] for row in X]
    coefficients, b = [exact(v) for v in w], Fraction(1, 4)
    terms = [[p * q for p, q in zip(row, coefficients, strict=True)] for row in rows]
    r = [sum(t) + b - exact(t0) for t, t0 in zip(terms, y, strict=True)]
    s = [exact(v) for v in weight]
    absolute = [sum(map(abs, t)) + b + abs(exact(t0)) for t, t0 in zip(terms, y, strict=True)]
    for name, phi in [("squared", lambda r: r * r / 2), ("absolute", abs)]:
        spec = Spec(name, {}, "elastic_net", {"l2": 0.125}, True)
        ridge = sum(c * c for c in coefficients) / 16
        truth = sum(si * phi(ri) for si, ri in zip(s, r, strict=True)) / sum(s) + ridge
        size = sum(si * phi(ai) for si, ai in zip(s, absolute, strict=True)) / sum(s) + ridge
        value = objective(spec, sp.csr_array(X) if kind.startswith("sparse") else X, y, w, 0.25, weight)
        assert abs(exact(value) - truth) <= Fraction(1e-17) * size
        rough = objective(spec, X, y, w, 0.25, weight, precise=False)
        assert abs(rough - float(truth)) <= 1e-5 * float(size)


# ------------------------------------------------------------------------------------------------------
# Closed forms
# ------------------------------------------------------------------------------------------------------


def test_ridge_by_the_normal_equations():
    rng = np.random.default_rng(0)
    n, d, l2 = 12, 4, 1e-6
    X, y = rng.standard_normal((n, d)) * 10 ** rng.uniform(-1.5, 1.5, (n, 1)), rng.standard_normal(n)
    weight = 10 ** rng.uniform(-3, 3, n)
    found = solve_reference(Spec("squared", {}, "elastic_net", {"l2": l2}, True), X, y, weight)
    with mpmath.workdps(50):
        A = mpmath.matrix(np.hstack([X, np.ones((n, 1))]).tolist())
        omega = mpmath.diag([mpmath.mpf(v) for v in weight.tolist()])
        omega /= mpmath.fsum(weight.tolist())
        gram = A.T * omega * A + mpmath.diag([mpmath.mpf(l2)] * d + [0])
        solution = mpmath.lu_solve(gram, A.T * omega * mpmath.matrix(y.tolist()))
        truth = np.array([LD(mpmath.nstr(v, 30)) for v in solution])
    assert np.allclose(np.append(found.w, found.b), truth, rtol=1e-14, atol=0)
    assert found.error < 1e-15


HADAMARD = np.array([[(-1) ** bin(i & j).count("1") for j in range(1, 6)] for i in range(8)], float)


@pytest.mark.parametrize("l2", [0, 0.5])
def test_lasso_with_orthogonal_columns(l2):
    y = np.array([3.0, -1, 4, 1, -5, 9, 2, -6])
    found = solve_reference(Spec("squared", {}, "elastic_net", {"l1": 1.0, "l2": l2}), HADAMARD, y)
    v = HADAMARD.T @ y / 8
    assert np.any(abs(v) < 1)
    assert np.any(abs(v) > 1)
    truth = np.sign(v) * np.maximum(abs(v) - 1, 0) / (1 + l2)
    assert np.allclose(found.w, truth, rtol=1e-12, atol=0)
    assert np.array_equal(found.w == 0, truth == 0)
    assert found.error < 1e-16


def test_group_lasso_with_orthogonal_columns():
    y = np.array([3.0, -1, 4, 1, -5, 9, 2, -6])
    groups = np.array([0, 1, 0, 1, 1])
    spec = Spec("squared", {}, "group", {"l1": 1.25, "l2": 0.25, "groups": groups})
    found = solve_reference(spec, HADAMARD, y)
    v = HADAMARD.T.astype(LD) @ y / 8
    truth = np.zeros(5, LD)
    for g in (0, 1):
        size = np.sqrt((v[groups == g] ** 2).sum())
        shrink = 1 - LD(1.25) * np.sqrt(LD((groups == g).sum())) / size
        truth[groups == g] = v[groups == g] * max(shrink, 0) / LD(1.25)
    assert np.any(truth == 0)
    assert np.any(truth != 0)
    assert np.allclose(found.w, truth, rtol=1e-8, atol=0)
    assert np.array_equal(found.w == 0, truth == 0)
    assert found.error < 1e-13


def test_logistic_in_one_dimension():
    x, y, l2 = [0.5, -1.25, 3.0, 2.0], [1.0, -1.0, 1.0, -1.0], 1e-3
    spec = Spec("logistic", {}, "elastic_net", {"l2": l2})
    found = solve_reference(spec, np.array(x)[:, None], np.array(y))
    with mpmath.workdps(40):

        def slope(w):
            pull = [yi * xi / (1 + mpmath.exp(yi * xi * w)) for xi, yi in zip(x, y, strict=True)]
            return mpmath.mpf(l2) * w - mpmath.fsum(pull) / 4

        low, high = mpmath.mpf(-100), mpmath.mpf(100)
        for _ in range(130):
            middle = (low + high) / 2
            low, high = (low, middle) if slope(middle) > 0 else (middle, high)
        fit = [mpmath.log1p(mpmath.exp(-yi * xi * low)) for xi, yi in zip(x, y, strict=True)]
        value = mpmath.fsum(fit) / 4 + mpmath.mpf(l2) * low**2 / 2
        assert abs(mpmath.mpf(str(found.w[0])) - low) < 1e-17
        assert abs(mpmath.mpf(str(found.value)) - value) < 1e-18


def enumerate_one_dimension(pieces, omega, l2):
    """The minimum over w of sum_i omega_i max_r (a_ir w + c_ir) + l2/2 w^2, in rational numbers."""
    kinks = {Fraction(0)}
    for lines in pieces:
        kinks |= {(d - c) / (a - b) for (a, c), (b, d) in itertools.combinations(lines, 2) if a != b}
    kinks = sorted(kinks)

    def value(w):
        fit = sum(o * max(a * w + c for a, c in lines) for o, lines in zip(omega, pieces, strict=True))
        return fit + l2 * w * w / 2

    candidates = list(kinks)
    if l2 > 0:  # the stationary point of every interval, outermost ones included
        for middle in [kinks[0] - 1, *((p + q) / 2 for p, q in itertools.pairwise(kinks)), kinks[-1] + 1]:
            steep = [max((a * middle + c, a) for a, c in lines)[1] for lines in pieces]
            candidates.append(-sum(o * a for o, a in zip(omega, steep, strict=True)) / l2)
    return min(map(value, candidates))


@pytest.mark.parametrize("l2", [Fraction(1, 2**30), Fraction(1, 8), Fraction(2)])
@pytest.mark.parametrize("name", ["hinge", "absolute", "quantile", "epsilon_insensitive"])
def test_kinks_in_one_dimension(name, l2):
    x = [Fraction(v) for v in (1, -2, 3, 1, 1000, 1)]
    y = [Fraction(v) for v in (1, 1, -1, -1, 1, 1)]
    omega = [Fraction(v, 8) for v in (1, 2, 1, 1, 1, 2)]
    q, eps = Fraction(1, 4), Fraction(1, 2)
    lines = {
        "hinge": lambda x, y: [(Fraction(0), Fraction(0)), (-y * x, Fraction(1))],
        "absolute": lambda x, y: [(x, -y), (-x, y)],
        "quantile": lambda x, y: [(-q * x, q * y), ((1 - q) * x, -(1 - q) * y)],
        "epsilon_insensitive": lambda x, y: [(Fraction(0), Fraction(0)), (x, -y - eps), (-x, y - eps)],
    }[name]
    truth = enumerate_one_dimension([lines(a, b) for a, b in zip(x, y, strict=True)], omega, l2)
    params = {"quantile": {"q": float(q)}, "epsilon_insensitive": {"eps": float(eps)}}.get(name, {})
    spec = Spec(name, params, "elastic_net", {"l2": float(l2)})
    found = solve_reference(spec, np.array(x, float)[:, None], np.array(y, float), np.array(omega, float))
    assert abs(float(Fraction(str(found.value)) - truth)) <= 1e-16 * float(found.scale) + 1e-18
    assert found.error < 1e-13


def test_intercept_alone():
    """Without features: the mean, the median, quantiles, log odds and the entropy of the classes."""
    y = np.array([1.0, 2, 4, 8, 16])
    X = np.zeros((5, 1))

    def solve(*loss, y=y):
        return solve_reference(Spec(*loss, "elastic_net", {"l2": 1.0}, True), X, y)

    assert abs(solve("squared", {}).b - LD(31) / 5) < 1e-17
    assert abs(solve("absolute", {}).b - 4) < 1e-12
    assert abs(solve("quantile", {"q": 0.3}).b - 2) < 1e-12
    assert abs(solve("logistic", {}, y=np.array([1.0, 1, 1, 1, -1])).b - np.log(LD(4))) < 1e-16
    labels = np.array([0, 0, 1, 2, 2])
    frequencies = np.array([0.4, 0.2, 0.4])
    assert abs(solve("softmax", {}, y=labels).value + (frequencies * np.log(frequencies)).sum()) < 1e-15


def test_zero_is_a_solution():
    X, y = make("squared")
    spec = Spec("epsilon_insensitive", {"eps": 100.0}, "elastic_net", {"l2": 1.0}, True)
    found = solve_reference(spec, X, y)
    assert found.value == found.error == 0
    assert np.all(found.w == 0)
    found = solve_reference(Spec("squared", {}, "elastic_net", {"l1": 100.0}), X, y)
    assert np.all(found.w == 0)
    assert found.error < 1e-17


# ------------------------------------------------------------------------------------------------------
# Other solvers
# ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", [REGRESSION[1], REGRESSION[4], REGRESSION[3], BINARY[2], VECTOR[1]], ids=str)
def test_linear_programs(loss, intercept):
    """Losses with kinks and the l1 norm by scipy's linprog: x = (w+, w-, b+, b-, a slack per row)."""
    name, params = loss
    X, y = make(name)
    n, d = X.shape
    k = 3 if name in VECTOR_LOSSES else 1
    l1 = 0.1
    rows, rhs = [], []

    def at_most(i, z_coefficients, constant):
        """z_coefficients . z_i + constant <= slack_i"""
        w = np.outer(X[i], z_coefficients).ravel()
        b = np.asarray(z_coefficients, float) * intercept
        rows.append(np.concatenate([w, -w, b, -b, -np.eye(n)[i]]))
        rhs.append(-constant)

    for i in range(n):
        if name == "absolute":
            at_most(i, [1], -y[i])
            at_most(i, [-1], y[i])
        elif name == "quantile":
            at_most(i, [-params["q"]], params["q"] * y[i])
            at_most(i, [1 - params["q"]], (params["q"] - 1) * y[i])
        elif name == "epsilon_insensitive":
            at_most(i, [1], -y[i] - params["eps"])
            at_most(i, [-1], y[i] - params["eps"])
        elif name == "hinge":
            at_most(i, [-y[i]], 1)
        else:
            for j in range(3):
                at_most(i, np.eye(3)[j] - np.eye(3)[y[i]], COSTS[y[i]][j])
    cost = np.concatenate([np.full(2 * d * k, l1), np.zeros(2 * k), np.full(n, 1 / n)])
    program = scipy.optimize.linprog(cost, np.array(rows), rhs)  # all variables >= 0
    found = solve_reference(Spec(name, params, "elastic_net", {"l1": l1}, intercept), X, y)
    assert abs(program.fun - found.value) < 1e-10


def conic(cost, quadratic, blocks):
    """min cost x + 1/2 quadratic x^2 subject to h - G x in the cones: the optimal value, by clarabel."""
    clarabel = pytest.importorskip("clarabel")
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    G = sp.csc_matrix(np.vstack([G for _, G, _ in blocks]))
    sizes = [[] if kind == "ExponentialConeT" else [len(h)] for kind, _, h in blocks]
    cones = [getattr(clarabel, kind)(*size) for (kind, _, _), size in zip(blocks, sizes, strict=True)]
    P, h = sp.csc_matrix(np.diag(quadratic)), np.concatenate([h for _, _, h in blocks])
    solution = clarabel.DefaultSolver(P, np.asarray(cost, float), G, h, cones, settings).solve()
    return solution.obj_val


def test_conic_logistic_lasso():
    """t >= log(1 + exp(-m)) as p + r <= 1 with p >= exp(-t), r >= exp(-m - t).  x = (w, b, |w|, t, p, r)."""
    X, y = make("logistic")
    n, d = X.shape
    l1 = 0.02
    w, b, a, t, p, r = np.split(np.eye(2 * d + 1 + 3 * n), np.cumsum([d, 1, d, n, n]))
    linear = np.vstack([w - a, -w - a, p + r])
    blocks = [("NonnegativeConeT", linear, np.append(np.zeros(2 * d), np.ones(n)))]
    for i in range(n):
        margin = y[i] * (X[i] @ w + b[0])
        one = np.array([0.0, 1.0, 0.0])
        blocks.append(("ExponentialConeT", np.vstack([t[i], 0 * t[i], -p[i]]), one))
        blocks.append(("ExponentialConeT", np.vstack([t[i] + margin, 0 * t[i], -r[i]]), one))
    value = conic(l1 * a.sum(axis=0) + t.mean(axis=0), np.zeros(len(w[0])), blocks)
    found = solve_reference(Spec("logistic", {}, "elastic_net", {"l1": l1}, True), X, y)
    assert abs(value - found.value) < 1e-8


@pytest.mark.parametrize("gamma", [0, 0.5])
def test_conic_max_hinge_with_groups(gamma):
    """x = (W, b, group norms, slacks e, slacks v); smoothing is v^2 / (2 gamma)."""
    X, y = make("max_hinge")
    n, d = X.shape
    l1, l2, groups = 0.03, 0.01, np.array([4, 2, 4])
    w, b, g, e, v = np.split(np.eye(3 * d + 3 + 2 + n + 3 * n), np.cumsum([3 * d, 3, 2, n]))
    w, v = w.reshape(d, 3, -1), v.reshape(n, 3, -1)
    rows, rhs = [-e], [np.zeros(n)]
    for i in range(n):
        z = np.tensordot(X[i], w, 1) + b
        for j in set(range(3)) - {y[i]}:
            rows.append((z[j] - z[y[i]] - e[i] - (gamma > 0) * v[i, j])[None])
            rhs.append([-COSTS[y[i]][j]])
    blocks = [("NonnegativeConeT", np.vstack(rows), np.concatenate(rhs))]
    weights = []
    for index, group in enumerate(np.unique(groups)):
        members = w[groups == group].reshape(-1, w.shape[-1])
        cone = -np.vstack([g[index : index + 1], members])
        blocks.append(("SecondOrderConeT", cone, np.zeros(len(cone))))
        weights.append(l1 * np.sqrt(len(members)))
    quadratic = l2 * w.sum(axis=(0, 1)) + (v.sum(axis=(0, 1)) / n / gamma if gamma else 0)
    value = conic(np.array(weights) @ g + e.mean(axis=0), quadratic, blocks)
    loss = VECTOR[2] if gamma else VECTOR[1]
    found = solve_reference(Spec(*loss, "group", {"l1": l1, "l2": l2, "groups": groups}, True), X, y)
    assert abs(value - found.value) < 1e-8


@pytest.mark.parametrize("penalty", ["q_norm", "entropy"])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_general_purpose_minimiser(loss, penalty):
    X, y = make(loss)
    spec = Spec(loss, {}, *PENALTIES[penalty], True)

    def f(x):
        w = x[:3]
        if penalty == "entropy":  # squares, so that every point of the simplex can be reached
            w = w**2 / (w**2).sum()
        return objective(spec, X, y, w, x[3], precise=False)

    x = np.array([0.3, 0.2, 0.1, 0.0])
    for _ in range(3):
        options = {"xatol": 1e-9, "fatol": 1e-13, "maxiter": 2000, "maxfev": 2000}
        x = scipy.optimize.minimize(f, x, method="Nelder-Mead", options=options).x
    assert -1e-14 < f(x) - solve_reference(spec, X, y).value < 1e-9


# ------------------------------------------------------------------------------------------------------
# Invariances and hard cases
# ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss[0])
def test_weights_are_repetitions(loss):
    X, y = make(loss[0])
    weight = np.array([1, 0, 2, 3, 1, 0, 1, 2, 5])
    for penalty in ("ridge", "lasso"):
        spec = Spec(*loss, *PENALTIES[penalty], True)
        weighted = solve_reference(spec, X, y, 0.1 * weight)
        repeated = solve_reference(spec, np.repeat(X, weight, axis=0), np.repeat(y, weight))
        assert abs(weighted.value - repeated.value) <= 1e-14 * repeated.scale
        certified = certificate(spec, X, y, weighted.w, weighted.b, weighted.u, 0.1 * weight)
        assert certified <= 1e-12 * weighted.scale


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss[0])
def test_kinds_of_matrices(loss):
    X, y = make(loss[0])
    X = np.where(abs(X) < 0.3, 0, X).astype(np.float32)
    spec = Spec(*loss, *PENALTIES["ridge"], True)
    values = [solve_reference(spec, kind(X), y).value for kind in (np.array, sp.csr_array, sp.csc_array)]
    assert values[0] == values[1] == values[2]


def hard_cases(loss):
    rng = np.random.default_rng(3)
    X, y = make(loss, 12)
    yield "row norms", X * 10 ** rng.uniform(-1.5, 1.5, (12, 1)), y, None
    yield "weights", X, y, 10 ** rng.uniform(-6, 6, 12)
    same = X.copy()
    same[4:8], same[8:] = same[:4], 0
    yield "duplicate and zero rows", same, y, None
    columns = X.copy()
    columns[:, 1], columns[:, 2] = columns[:, 0], 0
    yield "duplicate and zero columns", columns, y, None
    yield "one column", X[:, :1], y, None
    if loss in dict(REGRESSION):
        yield "constant y", X, np.full(12, 3.0), None
        yield "large y", X, 1e5 * (y + 100), None
        yield "small y", X, 1e-5 * y, None
    else:
        separable = np.vstack([np.eye(3)] * 4) + 0.1 * X
        labels = np.arange(12) % 3
        if loss in dict(BINARY):
            labels = np.where(labels == 1, 1.0, -1.0)
        yield "separable", separable, labels, None


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss[0])
def test_hard_cases(loss):
    smooth = loss[0] in ("squared", "logistic", "softmax", "soft_max_hinge")
    for name, X, y, weight in hard_cases(loss[0]):
        for l1, l2 in [(0, 1e-9), (1e-3, 0), (1e-2, 1e-6)]:
            spec = Spec(*loss, "elastic_net", {"l1": l1, "l2": l2}, True)
            found = solve_reference(spec, X, y, weight)
            assert found.error <= (1e-13 if smooth else 1e-11), (name, l1, l2)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss[0])
def test_one_row_or_one_class(loss):
    X, y = make(loss[0])
    y = np.full_like(y, y[1])
    for rows in (1, len(y)):
        spec = Spec(*loss, "elastic_net", {"l2": 1e-6})
        assert solve_reference(spec, X[:rows], y[:rows]).error <= 1e-13


def test_fails_loudly():
    X, y = make("squared")
    with pytest.raises(ValueError, match="weights"):
        solve_reference(Spec("squared"), X, y, np.zeros(len(y)))
    with pytest.raises(ValueError, match="cube"):
        solve_reference(Spec("cube"), X, y)
    with pytest.raises(ValueError, match="bridge"):
        solve_reference(Spec("squared", {}, "bridge"), X, y)
    with pytest.raises(ValueError, match="empty box"):
        solve_reference(Spec("squared", {}, "elastic_net", {"lower": 1, "upper": 0}), X, y)
    # no minimiser: nothing is claimed about the infimum
    found = solve_reference(Spec("logistic", {}, "elastic_net", {}, True), X, np.ones(len(y)))
    assert found.value > 0
