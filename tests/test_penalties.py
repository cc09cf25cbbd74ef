"""Penalties against their definitions: conjugates, minimizers, moduli, states that follow updates, nesting, compiled code."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from dualgap import formulas
from dualgap.data.validation import check_penalty_object
from dualgap.kernels.compile import kernel
from dualgap.penalties import L1, L2, Box, ElasticNet, Entropy, Factors, GroupL1, NonNegative, QNorm

D = 3
INF = math.inf


def placed(penalty, d=D, outputs=0):
    return check_penalty_object(penalty, d, outputs)


SEPARABLE = [
    L2(0.5),
    L2(1e-6),
    ElasticNet(1.0, 0.5),
    ElasticNet(0.0, 2.0),
    L1(0.3),
    Factors(L2(1.0), [0.0, 0.5, 2.0]),
    Factors(ElasticNet(0.5, 0.1), [1.0, 0.0, 3.0]),
    Factors(L1(0.2), [1.0, 0.5, 0.0]),
    Box(L2(1.0), -1.0, 2.0),
    Box(L2(1.0), 1.0, 2.0),
    Box(L2(0.0), [-1.0, 0.0, 0.5], [1.0, 0.0, 2.0]),
    Box(ElasticNet(0.5, 0.1), [-INF, -1.0, 0.5], [1.0, INF, INF]),
    Box(L1(0.5), [-INF, -1.0, 0.5], [0.0, INF, 1.0]),
    NonNegative(L1(0.5)),
    NonNegative(L2(0.1)),
    Box(Factors(L2(1.0), [0.0, 1.0, 2.0]), -1.0, 1.0),
    Box(Factors(ElasticNet(0.3, 0.2), [0.0, 1.0, 0.0]), [-INF, -INF, 0.0], [INF, 1.0, INF]),
]
COUPLED = [
    GroupL1(0.5, 0.3, [0, 1, 0]),
    GroupL1(0.5, 0.0, [0, 1, 0]),
    GroupL1(0.0, 0.7, [0, 0, 0]),
    QNorm(1.0),
    QNorm(0.5, 1.5),
    QNorm(0.5, 1.03),
    QNorm(0.7, 2.0),
    Entropy(1.0),
    Entropy(0.01),
]
ALL_PENALTIES = SEPARABLE + COUPLED

each_penalty = pytest.mark.parametrize("penalty", ALL_PENALTIES, ids=str)
each_separable = pytest.mark.parametrize("penalty", SEPARABLE, ids=str)
each_coupled = pytest.mark.parametrize("penalty", COUPLED, ids=str)
quick = settings(max_examples=60, deadline=None, derandomize=True)
numbers = st.floats(-5.0, 5.0, allow_subnormal=False) | st.sampled_from([0.0, 0.3, -0.5, 1.0, 1e3, -1e3])
vectors = st.lists(numbers, min_size=D, max_size=D).map(np.array)


def value(penalty, w):
    if formulas.penalty_is_coupled(penalty):
        return penalty.total_value(w)
    return sum(formulas.penalty_value(penalty, float(w[j]), j) for j in range(len(w)))


def conjugate(penalty, a):
    if formulas.penalty_is_coupled(penalty):
        return penalty.total_conjugate(a)
    return sum(formulas.penalty_conjugate(penalty, float(a[j]), j) for j in range(len(a)))


def minimizer(penalty, u, kappa):
    if formulas.penalty_is_coupled(penalty):
        penalty = penalty.prepared(u, kappa)
    return np.array([formulas.primal(penalty, float(u[j]), kappa, j) for j in range(len(u))])


def factor(penalty, j):
    inner = penalty.penalty if isinstance(penalty, Box) else penalty
    return inner.factors[j] if isinstance(inner, Factors) else 1.0


def modulus(penalty, j):
    """The strong convexity of coefficient j."""
    inner = penalty.penalty if isinstance(penalty, Box) else penalty
    base = inner.penalty if isinstance(inner, Factors) else inner
    return base.convexity * factor(penalty, j)


def bounds(penalty, j):
    return (penalty.lower[j], penalty.upper[j]) if isinstance(penalty, Box) else (-INF, INF)


def feasible(penalty, w):
    """A point of finite value near w."""
    if isinstance(penalty, Entropy):
        return np.exp(w - w.max()) / np.sum(np.exp(w - w.max()))
    return np.clip(w, penalty.lower, penalty.upper) if isinstance(penalty, Box) else w


def has_kappa(penalty):
    return not isinstance(penalty, Entropy) and not (isinstance(penalty, QNorm) and penalty.q != 2.0)


@each_separable
@pytest.mark.parametrize("a", [-20.0, -0.7, -0.5, -0.3, 0.0, 1e-9, 0.3, 0.5, 2.0, 100.0])
def test_conjugate_is_the_maximum(penalty, a):
    penalty = placed(penalty)
    for j in range(D):
        low, high = bounds(penalty, j)

        def gain(w, j=j):
            return a * w - formulas.penalty_value(penalty, w, j)

        claimed = formulas.penalty_conjugate(penalty, a, j)
        if claimed == INF:
            far = 1e15 if a > 0.0 else -1e15
            assert low <= far <= high
            assert gain(far) > 1e5
            continue
        reach = max(10.0, 2.0 * abs(a) / modulus(penalty, j)) if modulus(penalty, j) > 0.0 else 10.0
        ends = [max(low, -reach), min(high, reach)]
        points = [*ends, *np.linspace(*ends, 11), min(max(0.0, low), high)]
        found = max(gain(w) for w in points)
        if ends[0] < ends[1]:
            result = minimize_scalar(lambda w: -gain(w), bounds=ends, method="bounded", options={"xatol": 1e-9 * reach})
            found = max(found, -result.fun)
        assert claimed == pytest.approx(found, rel=1e-8, abs=1e-8)


@each_separable
@pytest.mark.parametrize("kappa", [0.0, 1e-3, 1.0, 1e3])
@pytest.mark.parametrize("u", [-20.0, -0.7, -0.3, 0.0, 1e-9, 0.5, 2.0, 100.0])
def test_primal_is_the_minimizer(penalty, kappa, u):
    penalty = placed(penalty)
    for j in range(D):
        total = modulus(penalty, j) + kappa
        if total == 0.0:
            continue

        def objective(w, j=j):
            return formulas.penalty_value(penalty, w, j) + 0.5 * kappa * w * w - u * w

        claimed = formulas.primal(penalty, u, kappa, j)
        low, high = bounds(penalty, j)
        reach = 2.0 * abs(u) / total + 3.0
        ends = [max(low, -reach), min(high, reach)]
        assert low <= claimed <= high
        points = [*ends, *np.linspace(*ends, 11), min(max(0.0, low), high)]
        if ends[0] < ends[1]:
            points.append(float(minimize_scalar(objective, bounds=ends, method="bounded", options={"xatol": 1e-9 * reach}).x))
        assert objective(claimed) <= min(map(objective, points)) + 1e-13 * (1.0 + abs(u) * reach)


@each_penalty
@quick
@given(w=vectors, a=vectors)
def test_fenchel_young(penalty, w, a):
    penalty = placed(penalty)
    w = feasible(penalty, w)
    r, s = value(penalty, w), conjugate(penalty, a)
    assert r < INF
    assert r + s - a @ w >= -1e-13 * (1.0 + abs(r) + (abs(s) if s < INF else 0.0) + np.abs(a) @ np.abs(w))


@each_penalty
@quick
@given(a=vectors)
def test_fenchel_young_is_an_equality_at_the_minimizer(penalty, a):
    penalty = placed(penalty)
    if penalty.convexity == 0.0:
        return
    a = np.where([factor(penalty, j) > 0.0 for j in range(D)], a, 0.0)
    if isinstance(penalty, Box) and isinstance(penalty.penalty, Factors):
        penalty = penalty._replace(penalty=penalty.penalty._replace(free=1.0))
    elif isinstance(penalty, Factors):
        penalty = penalty._replace(free=1.0)
    w = minimizer(penalty, a, 0.0)
    r, s = value(penalty, w), conjugate(penalty, a)
    assert r + s - a @ w == pytest.approx(0.0, abs=1e-12 * (1.0 + abs(r) + abs(s) + np.abs(a) @ np.abs(w)))


@pytest.mark.parametrize("penalty", [p for p in map(placed, COUPLED) if has_kappa(p)], ids=str)
@pytest.mark.parametrize("kappa", [0.0, 1e-3, 1.0, 1e3])
def test_primal_of_a_coupled_penalty_is_the_minimizer(penalty, kappa):
    if penalty.convexity + kappa == 0.0:
        return
    rng = np.random.default_rng(0)

    def objective(w, u):
        return value(penalty, w) + 0.5 * kappa * w @ w - u @ w

    for scale in (0.1, 1.0, 100.0):
        u = scale * rng.normal(size=D)
        w = minimizer(penalty, u, kappa)
        for step in (1e-6, 1e-3, 1.0):
            for _ in range(20):
                other = w + step * np.linalg.norm(w) * rng.normal(size=D)
                assert objective(w, u) <= objective(other, u) + 1e-13 * (1.0 + abs(u @ w))
        assert objective(w, u) <= objective(np.zeros(D), u)


def norm(penalty, w):
    """The norm in which a penalty is strongly convex, dual to the one that measures rows."""
    p = getattr(penalty, "norm", 2.0)
    return np.linalg.norm(w, 1.0 if p == INF else p / (p - 1.0))


@each_penalty
@quick
@given(v=vectors, w=vectors, share=st.floats(0.0, 1.0))
def test_convexity(penalty, v, w, share):
    penalty = placed(penalty)
    held = np.array([factor(penalty, j) > 0.0 for j in range(D)])
    v, w = feasible(penalty, v), feasible(penalty, w)
    middle = (
        feasible(penalty, np.clip(share * v + (1.0 - share) * w, np.minimum(v, w), np.maximum(v, w)))
        if not isinstance(penalty, Entropy)
        else share * v + (1.0 - share) * w
    )
    chord = share * value(penalty, v) + (1.0 - share) * value(penalty, w)
    bend = 0.5 * penalty.convexity * share * (1.0 - share) * norm(penalty, np.where(held, v - w, 0.0)) ** 2
    assert value(penalty, middle) <= chord - bend + 1e-12 * (1.0 + abs(chord))


@pytest.mark.parametrize("penalty", [p for p in ALL_PENALTIES if hasattr(p, "polar")], ids=str)
@quick
@given(a=vectors)
def test_polar(penalty, a):
    if isinstance(penalty, Factors) and not hasattr(penalty.penalty, "polar"):
        return
    penalty = placed(penalty)
    a = np.where([factor(penalty, j) > 0.0 for j in range(D)], a, 0.0)
    if getattr(penalty, "l1", 1.0) == 0.0 or not np.any(np.abs(a) > 1e-6):
        return
    t = penalty.polar(a)
    assert t > 0.0
    assert conjugate(penalty, a / (t * (1.0 + 1e-12))) == 0.0
    assert conjugate(penalty, a / (t * (1.0 - 1e-3))) > 0.0


@pytest.mark.parametrize("penalty", [p for p in ALL_PENALTIES if hasattr(p, "radius")], ids=str)
@quick
@given(w=vectors)
def test_radius(penalty, w):
    penalty = placed(penalty)
    w = feasible(penalty, w)
    held = np.array([factor(penalty, j) > 0.0 for j in range(D)])
    assert np.linalg.norm(w[held]) <= penalty.radius(value(penalty, w)) * (1.0 + 1e-12) + 1e-150


@pytest.mark.parametrize("penalty", [L2(0.0), L1(0.0), QNorm(1.0, 1.5), Entropy(0.1), Box(L2(1.0), -1.0, 1.0)], ids=str)
def test_radius_is_as_small_as_it_can_be(penalty):
    penalty = placed(penalty)
    radius = penalty.radius(1e6)
    if penalty in (L2(0.0), L1(0.0)):
        assert radius > 1e100
    elif isinstance(penalty, QNorm):
        assert value(penalty, np.array([radius, 0.0, 0.0])) == pytest.approx(1e6)
    else:
        assert radius == (1.0 if isinstance(penalty, Entropy) else pytest.approx(math.sqrt(3.0)))


def walk(d, rng, steps):
    """Updates of single coefficients, among them jumps up and down by many orders of magnitude and moves to 0."""
    for _ in range(steps):
        j = int(rng.integers(d))
        kind = rng.random()
        if kind < 0.1:
            yield j, 0.0
        elif kind < 0.4:
            yield j, float(rng.normal() * 10.0 ** rng.integers(-8, 9))
        else:
            yield j, float(rng.normal())


def follow(penalty, u, js, news):
    """Tell a penalty about updates of u."""
    for t in range(len(js)):
        j = js[t]
        old = u[j]
        u[j] = news[t]
        formulas.moved(penalty, old, u[j], j)


compiled_follow = kernel(follow)


@pytest.mark.parametrize("run", [follow, compiled_follow], ids=["plain", "compiled"])
@pytest.mark.parametrize(
    "penalty",
    [
        GroupL1(0.5, 0.3, [0, 1, 0, 1, 2, 2, 2]),
        GroupL1(0.0, 0.3, [0, 1, 0, 1, 2, 2, 2]),
        QNorm(1.0),
        QNorm(1.0, 1.9),
        QNorm(1.0, 1.001),
        Entropy(1.0),
        Entropy(1e-4),
    ],
    ids=str,
)
def test_moved_keeps_the_state_of_a_fresh_start(penalty, run):
    rng = np.random.default_rng(0)
    penalty = placed(penalty, 7)
    for start in (np.zeros(7), rng.normal(size=7), 1e9 * rng.normal(size=7)):
        u = start.copy()
        kept = penalty.prepared(u, 0.0)
        for _ in range(100):
            js, news = map(np.array, zip(*walk(7, rng, int(rng.integers(1, 6))), strict=True))
            with np.errstate(all="raise"):
                run(kept, u, js, news)
            fresh = penalty.prepared(u.copy(), 0.0)
            ours, exact = (np.array([p.primal(float(u[j]), 0.0, j) for j in range(7)]) for p in (kept, fresh))
            exponents = np.max(np.abs(u)) / penalty.l2 if isinstance(penalty, Entropy) else 0.0
            near = 1e-6 + 1e-15 * exponents
            assert ours == pytest.approx(exact, rel=near, abs=near * np.max(np.abs(exact)))


@pytest.mark.parametrize("run", [follow, compiled_follow], ids=["plain", "compiled"])
@pytest.mark.parametrize("penalty", [QNorm(1.0, 1.5), QNorm(1.0, 1.01), Entropy(0.01), GroupL1(1e-3, 0.1, [0, 0, 0])], ids=str)
def test_a_largest_coefficient_that_goes_away_leaves_the_others_exact(penalty, run):
    penalty = placed(penalty)
    u = np.array([1.0, 0.9, 0.8])
    kept = penalty.prepared(u, 0.0)
    run(kept, u, np.array([0, 0, 1, 1]), np.array([1e8, 0.0, 1e5, 0.1]))
    fresh = penalty.prepared(u.copy(), 0.0)
    for j in range(3):
        assert kept.primal(float(u[j]), 0.0, j) == pytest.approx(fresh.primal(float(u[j]), 0.0, j), rel=1e-8)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_groups_of_a_vector_valued_loss(scale):
    rng = np.random.default_rng(0)
    penalty = placed(GroupL1(0.3 * scale, 0.5, [0, 1, 0]), outputs=2)
    u = scale * rng.normal(size=(3, 2))
    kept = penalty.prepared(u, 1.0)
    for j, new in walk(3, rng, 200):
        m = int(rng.integers(2))
        old, u[j, m] = u[j, m], scale * new
        kept.moved(float(old), float(u[j, m]), j)
    for rows in ([0, 2], [1]):
        size = np.linalg.norm(u[rows])
        shrunk = max(0.0, 1.0 - 0.3 * scale * math.sqrt(2 * len(rows)) / size) / 1.5
        for j in rows:
            for m in range(2):
                assert kept.primal(float(u[j, m]), 1.0, j) == pytest.approx(shrunk * u[j, m], rel=1e-6, abs=1e-6 * scale)
    w = np.array([[3.0, 0.0], [0.0, 2.0], [0.0, 4.0]])
    assert penalty.total_value(w) == pytest.approx(0.3 * scale * (2.0 * 5.0 + math.sqrt(2.0) * 2.0) + 0.25 * 29.0)


@pytest.mark.parametrize("size", [1e-200, 1e-8, 1.0, 1e8, 1e200])
@pytest.mark.parametrize("q", [1.0001, 1.01, 1.5, 2.0])
def test_powers_do_not_overflow(q, size):
    penalty = placed(QNorm(1.0, q))
    u = size * np.array([1.0, -0.5, 0.0])
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        w = minimizer(penalty, u, 0.0)
        assert np.all(np.isfinite(w))
        if size <= 1e8:
            assert value(penalty, w) == pytest.approx(conjugate(penalty, u), rel=1e-9)


@pytest.mark.parametrize("size", [1e-8, 1.0, 1e4, 1e12])
def test_exponentials_do_not_overflow(size):
    penalty = placed(Entropy(1e-3))
    u = size * np.array([1.0, -1.0, 0.5])
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        w = minimizer(penalty, u, 0.0)
        assert np.sum(w) == pytest.approx(1.0)
        assert conjugate(penalty, u) == pytest.approx(u @ w - value(penalty, w), abs=1e-12 * (1.0 + size))


def test_qnorm_of_two_is_a_ridge():
    ours, ridge = placed(QNorm(0.7, 2.0)), L2(0.7)
    rng = np.random.default_rng(0)
    w = rng.normal(size=D)
    assert value(ours, w) == pytest.approx(value(ridge, w))
    assert conjugate(ours, w) == pytest.approx(conjugate(ridge, w))
    for kappa in (0.0, 1e-3, 1e3):
        assert minimizer(ours, w, kappa) == pytest.approx(minimizer(ridge, w, kappa))
    assert placed(QNorm(1.0), 2).q == 2.0


def test_unpenalized_coefficients():
    penalty = placed(Factors(L2(1.0), [0.0, 1.0, 0.0]))
    assert penalty.value(5.0, 0) == 0.0
    assert (penalty.conjugate(0.0, 0), penalty.conjugate(1e-300, 0)) == (0.0, INF)
    assert penalty._replace(free=0.5).primal(3.0, 1.0, 0) == 2.0
    assert penalty.convexity == 1.0
    assert placed(Factors(L2(1.0), [0.0] * 3)).convexity == 0.0
    assert placed(Factors(L1(0.0), [0.0] * 3)).polar(np.zeros(D)) == 0.0
    assert placed(Factors(L2(1.0), [0.0] * 3)).radius(1.0) == 0.0


def test_bounds():
    penalty = placed(Box(L2(1.0), -INF, [1.0, INF, 2.0]))
    assert [penalty.primal(3.0, 0.0, j) for j in range(D)] == [1.0, 3.0, 2.0]
    assert [penalty.conjugate(3.0, j) for j in range(D)] == [2.5, 4.5, 4.0]
    assert (penalty.value(1.5, 0), penalty.value(1.5, 1)) == (INF, 1.125)
    free = placed(Box(L1(0.0), 0.0, INF))
    assert (free.conjugate(-1.0, 0), free.conjugate(1.0, 0)) == (0.0, INF)


@pytest.mark.parametrize("outer", [lambda p: Box(p, -1.0, 1.0), lambda p: Factors(p, [1.0] * 3)])
@pytest.mark.parametrize("inner", [GroupL1(1.0, 1.0, [0, 0, 1]), QNorm(1.0), Entropy(1.0)])
def test_coupled_penalties_can_not_be_nested(outer, inner):
    with pytest.raises(TypeError, match=f"treats each coefficient on its own, got {type(inner).__name__}"):
        placed(outer(inner))


@pytest.mark.parametrize(
    ("penalty", "error", "message"),
    [
        (Factors(Box(L2(1.0), 0.0, 1.0), [1.0] * 3), TypeError, "Factors go inside Box"),
        (Factors(Factors(L2(1.0), [1.0] * 3), [1.0] * 3), TypeError, "multiply the factors"),
        (Factors(L2(1.0), [1.0, -1.0, 1.0]), ValueError, "factors must not be negative"),
        (Factors(L2(1.0), [1.0, 1.0]), ValueError, "one number per column"),
        (Factors(L2(1.0), [math.nan] * 3), ValueError, "factors must hold finite numbers"),
        (Box(L2(1.0), 1.0, 0.0), ValueError, "lower must not exceed upper"),
        (Box(L2(1.0), math.nan, 0.0), ValueError, "must not hold nan"),
        (Box(L2(1.0), INF, INF), ValueError, "lower must be below infinity"),
        (L2(-1.0), ValueError, r"L2\.l2 must be"),
        (ElasticNet(-1.0, 0.0), ValueError, r"ElasticNet\.l1 must be"),
        (QNorm(1.0, 1.0), ValueError, r"QNorm\.q must be"),
        (QNorm(1.0, 2.5), ValueError, r"QNorm\.q must be"),
        (GroupL1(1.0, 0.0, [0, 2, 0]), ValueError, "numbered 0"),
        (GroupL1(1.0, 0.0, [0, 1]), ValueError, "one integer per column"),
        (L2, TypeError, "penalty object"),
    ],
)
def test_wrong_parameters(penalty, error, message):
    with pytest.raises(error, match=message):
        placed(penalty)


@pytest.mark.parametrize("penalty", [QNorm(1.0), Entropy(1.0)], ids=str)
def test_penalties_of_one_vector_need_a_scalar_loss(penalty):
    with pytest.raises(TypeError, match="scalar loss"):
        placed(penalty, outputs=3)


def evaluate(penalty, kappas, points, out):
    """All formulas of a separable penalty."""
    for t in range(len(points)):
        j = t % 3
        out[t, 0] = formulas.penalty_value(penalty, points[t], j)
        out[t, 1] = formulas.penalty_conjugate(penalty, points[t], j)
        out[t, 2] = formulas.primal(penalty, points[t], kappas[t], j)


compiled_evaluate = kernel(evaluate)
ONE_OF_EACH_TYPE = [
    L2(0.5),
    ElasticNet(1.0, 0.5),
    Factors(ElasticNet(0.5, 0.1), [1.0, 0.0, 3.0]),
    Box(L1(0.5), [-INF, -1.0, 0.5], [0.0, INF, 1.0]),
    Box(Factors(L2(1.0), [0.0, 1.0, 2.0]), -1.0, 1.0),
]


@pytest.mark.parametrize("penalty", ONE_OF_EACH_TYPE, ids=str)
def test_compiled_formulas_are_those_of_plain_python(penalty):
    penalty = placed(penalty)
    rng = np.random.default_rng(0)
    points = np.concatenate([np.zeros(3), rng.normal(size=300) * 10.0 ** rng.uniform(-3.0, 3.0, 300)])
    kappas = 10.0 ** rng.uniform(-3.0, 3.0, points.size)
    plain, compiled = np.empty((points.size, 3)), np.empty((points.size, 3))
    evaluate(penalty, kappas.tolist(), points.tolist(), plain)
    compiled_evaluate(penalty, kappas, points, compiled)
    assert np.array_equal(np.isinf(plain), np.isinf(compiled))
    finite = np.isfinite(plain)
    assert compiled[finite] == pytest.approx(plain[finite], rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("penalty", [GroupL1(0.5, 0.3, [0, 1, 0]), QNorm(0.5, 1.5), Entropy(0.1)], ids=str)
def test_compiled_minimizers_of_coupled_penalties_are_those_of_plain_python(penalty):
    penalty = placed(penalty)
    for u in np.random.default_rng(0).normal(size=(20, D)):
        compiled = np.empty(D)
        compiled_minimizers(penalty.prepared(u, 0.0), u, 0.0, compiled)
        assert compiled == pytest.approx(minimizer(penalty, u, 0.0), rel=1e-12)


@kernel
def compiled_minimizers(penalty, u, kappa, out):
    for j in range(u.shape[0]):
        out[j] = formulas.primal(penalty, u[j], kappa, j)
