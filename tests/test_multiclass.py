"""Vector-valued losses against their definitions: conjugates, exact steps, projections, compiled code."""

import math

import clarabel
import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import optimize, sparse, special

from dualgap import multiclass
from dualgap.multiclass import (
    MaxHinge,
    SmoothMaxHinge,
    Softmax,
    SoftMaxHinge,
    column_flow,
    columns_tilt,
    flowed,
    optimize_dual,
    project,
    tilted,
)

ALL_LOSSES = [
    MaxHinge(),
    SmoothMaxHinge(),
    SmoothMaxHinge(0.1),
    SoftMaxHinge(),
    SoftMaxHinge(0.1),
    Softmax(),
]
SMOOTH = [loss for loss in ALL_LOSSES if loss.smoothness > 0.0]
STEPS = [0.0, 1e-6, 1.0, 1e3, 1e8, 1e12]

each_loss = pytest.mark.parametrize("loss", ALL_LOSSES, ids=str)
each_smooth = pytest.mark.parametrize("loss", SMOOTH, ids=str)
each_q = pytest.mark.parametrize("q", STEPS)
quick = settings(max_examples=60, deadline=None)


def is_soft(loss):
    return isinstance(loss, SoftMaxHinge | Softmax)


def costs_of(loss, k, y):
    return np.asarray(loss.with_costs(k, 1).costs)[y]


def derivative(loss, z, y, c):
    out = np.full(z.shape[0], np.nan)
    loss.derivative(z, y, c, out)
    return out


def step(loss, alpha, y, c, z, q):
    out = np.full(z.shape[0], np.nan)
    loss.dual_step(alpha, y, c, z, q, out)
    return out


def gain(loss, alpha, after, y, c, z, q):
    """What a step adds to the dual objective of its row."""
    da = after - alpha
    before = loss.conjugate(-alpha, y, c)
    return before - loss.conjugate(-after, y, c) - z @ da - 0.5 * q * (da @ da)


def dual_point(p, y):
    """The alpha of a point of the simplex, with rows that sum to zero to rounding."""
    alpha = -np.asarray(p, dtype=np.float64)
    alpha[y] = 0.0
    alpha[y] = -alpha.sum()
    return alpha


def random_row(rng, k, scale=2.0):
    """Label, costs, scores and a dual point that is now a vertex, now sparse, now interior."""
    y = int(rng.integers(k))
    c = rng.uniform(0.0, 2.0, k)
    c[y] = rng.choice([0.0, 7.0])
    z = scale * rng.normal(size=k)
    p = rng.dirichlet(np.full(k, 0.7))
    if rng.random() < 0.3:
        p = np.eye(k)[rng.choice([y, int(rng.integers(k))])]
    elif rng.random() < 0.3:
        p[rng.integers(k)] = 0.0
        p /= p.sum()
    return y, c, z, dual_point(p, y)


def assert_feasible(alpha, y):
    others = np.delete(alpha, y)
    assert np.isfinite(alpha).all()
    assert (others <= 0.0).all()
    assert 0.0 <= alpha[y] <= 1.0
    assert abs(alpha.sum()) <= 4e-16 * (len(alpha) + 2)


@st.composite
def rows(draw, bound=5.0):
    k = draw(st.integers(2, 6))
    y = draw(st.integers(0, k - 1))
    scores = st.floats(-bound, bound, allow_subnormal=False)
    z = np.array(draw(st.lists(scores, min_size=k, max_size=k)))
    c = np.array(draw(st.lists(st.floats(0.0, 2.0), min_size=k, max_size=k)))
    weights = np.array(draw(st.lists(st.floats(0.0, 1.0), min_size=k, max_size=k)))
    p = weights / weights.sum() if weights.sum() > 1e-3 else np.eye(k)[y]
    return y, c, z, dual_point(p, y)


def solve_cone(loss, alpha, y, c, z, q):
    """The dual point of the exact step by a conic interior-point method, in the coordinates p."""
    k = z.shape[0]
    gamma = loss.smoothness
    cost = np.where(np.arange(k) == y, 0.0, c)
    old = np.eye(k)[y] - alpha
    squares = np.full(k, q)
    linear = cost + z + q * old
    width = k
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(k)]
    a = [np.ones((1, k)), -np.eye(k)]
    b = [np.ones(1), np.zeros(k)]
    if is_soft(loss):
        # t_j >= p_j log p_j as (-t_j, p_j, 1) in the exponential cone
        width = 2 * k
        a = [np.hstack([m, np.zeros((m.shape[0], k))]) for m in a]
        for j in range(k):
            block = np.zeros((3, width))
            block[0, k + j] = 1.0
            block[1, j] = -1.0
            a.append(block)
            b.append(np.array([0.0, 0.0, 1.0]))
            cones.append(clarabel.ExponentialConeT())
        squares = np.concatenate([squares, np.zeros(k)])
        linear = np.concatenate([linear, np.full(k, -gamma)])
    else:
        squares = squares + gamma * (np.arange(k) != y)
    settings_ = clarabel.DefaultSettings()
    settings_.verbose = False
    settings_.tol_gap_abs = settings_.tol_gap_rel = settings_.tol_feas = 1e-11
    scale = 1.0 + q
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(sparse.diags(squares / scale)),
        -linear / scale,
        sparse.csc_matrix(np.vstack(a)),
        np.concatenate(b),
        cones,
        settings_,
    )
    p = np.maximum(np.array(solver.solve().x)[:k], 0.0)
    return dual_point(p / p.sum(), y)


def exact_objective(loss, p, old, y, c, z, q):
    """The dual objective of a step in the simplex, in high precision."""
    gamma = mpmath.mpf(loss.smoothness)
    total = mpmath.mpf(0)
    for j, pj in enumerate(p):
        total += (z[j] + (0 if j == y else c[j])) * pj - q * (pj - old[j]) ** 2 / 2
        if is_soft(loss):
            total -= gamma * (pj * mpmath.log(pj) if pj > 0 else 0)
        elif j != y:
            total -= gamma * pj * pj / 2
    return total


def exact_point(loss, old, y, c, z, q):
    """The maximizer of `exact_objective` by bisection of the multiplier of sum p = 1."""
    gamma = mpmath.mpf(loss.smoothness)
    k = len(z)
    m = [z[j] + (0 if j == y else c[j]) + q * old[j] for j in range(k)]
    if not is_soft(loss) and q == 0:
        if gamma == 0:
            return [mpmath.mpf(j == max(range(k), key=lambda i: m[i])) for j in range(k)]
        rest = [max(0, (m[j] - m[y]) / gamma) if j != y else 0 for j in range(k)]
        if sum(rest) <= 1:
            return [rest[j] if j != y else 1 - sum(rest) for j in range(k)]

    def point(theta):
        if not is_soft(loss):
            curvature = [q if j == y else q + gamma for j in range(k)]
            return [max(0, m[j] - theta) / curvature[j] if curvature[j] > 0 else mpmath.mpf(0) for j in range(k)]
        if q == 0:
            return [mpmath.exp((m[j] - theta) / gamma) for j in range(k)]
        return [mpmath.lambertw(q / gamma * mpmath.exp((m[j] - theta) / gamma)).real * gamma / q for j in range(k)]

    low, high = max(m) - q - 2 * gamma, max(m) + gamma * k
    for _ in range(160):
        theta = (low + high) / 2
        low, high = (theta, high) if sum(point(theta)) > 1 else (low, theta)
    p = point(low)
    return [pj / sum(p) for pj in p]


# -- values, derivatives and conjugates


@each_loss
@given(row=rows())
@quick
def test_fenchel_young(loss, row):
    y, c, z, alpha = row
    value = loss.value(z, y, c)
    assert value >= 0.0
    assert value + loss.conjugate(-alpha, y, c) + z @ alpha >= -1e-12
    b = derivative(loss, z, y, c)
    assert value + loss.conjugate(b, y, c) - z @ b == pytest.approx(0.0, abs=1e-12)
    assert_feasible(-b, y)


@each_smooth
@given(row=rows())
@quick
def test_derivative_is_the_slope_of_the_value(loss, row):
    y, c, z, _ = row
    b = derivative(loss, z, y, c)
    h = 1e-6
    for j in range(z.shape[0]):
        e = h * np.eye(z.shape[0])[j]
        slope = (loss.value(z + e, y, c) - loss.value(z - e, y, c)) / (2.0 * h)
        # The gradient is Lipschitz along each score with at most k / gamma.
        assert slope == pytest.approx(b[j], abs=h * z.shape[0] / loss.smoothness + 1e-8)


@given(row=rows())
@quick
def test_subgradient_of_max_hinge_is_the_slope_where_there_is_one(row):
    y, c, z, _ = row
    heights = np.sort(np.append(np.delete(c + z - z[y], y), 0.0))
    assume(heights[-1] - heights[-2] > 1e-3)
    b = derivative(MaxHinge(), z, y, c)
    for j in range(z.shape[0]):
        e = 1e-5 * np.eye(z.shape[0])[j]
        slope = (MaxHinge().value(z + e, y, c) - MaxHinge().value(z - e, y, c)) / 2e-5
        assert slope == pytest.approx(b[j], abs=1e-8)


@each_loss
@given(row=rows(), other=rows())
@quick
def test_smoothness_in_its_norm(loss, row, other):
    y, c, z, alpha = row
    k = z.shape[0]
    beta = dual_point(np.resize(np.abs(other[3]) + 1e-3, k) / np.resize(np.abs(other[3]) + 1e-3, k).sum(), y)
    middle = loss.conjugate(-0.5 * (alpha + beta), y, c)
    ends = 0.5 * (loss.conjugate(-alpha, y, c) + loss.conjugate(-beta, y, c))
    distance2 = loss.dual_norm2(alpha - beta, y)
    assert ends - middle >= loss.smoothness / 8.0 * distance2 - 1e-12
    direction = alpha - beta
    assert direction @ direction <= loss.stretch(k) * distance2 + 1e-12


def test_stretch_is_attained():
    q = np.array([3.0, -1.0, -1.0, -1.0])
    assert q @ q == MaxHinge().stretch(4) * SmoothMaxHinge().dual_norm2(q, 0)
    q = np.array([1.0, -1.0, 0.0])
    assert q @ q == Softmax().stretch(3) * SoftMaxHinge().dual_norm2(q, 0)


@each_loss
@pytest.mark.parametrize("k", [2, 3, 5])
def test_conjugate_is_the_supremum(loss, k):
    rng = np.random.default_rng(k)
    for _ in range(4):
        y = int(rng.integers(k))
        c = rng.uniform(0.0, 2.0, k)
        b = -dual_point(rng.dirichlet(np.full(k, 3.0)), y)
        keep = np.arange(k) != y
        if loss.smoothness == 0.0:
            # max b.a - t subject to t >= 0 and t >= c_j + a_j
            rows_ = np.hstack([np.eye(k - 1), -np.ones((k - 1, 1))])
            bounds = [(None, None)] * (k - 1) + [(0.0, None)]
            best = -optimize.linprog(np.append(-b[keep], 1.0), rows_, -c[keep], bounds=bounds).fun
        else:

            def objective(a, b=b, c=c, y=y, keep=keep):
                z = np.zeros(k)
                z[keep] = a
                g = derivative(loss, z, y, c)
                return loss.value(z, y, c) - b[keep] @ a, g[keep] - b[keep]

            best = -optimize.minimize(objective, -c[keep], jac=True, options={"gtol": 1e-9}).fun
        assert loss.conjugate(b, y, c) == pytest.approx(best, abs=1e-8)


@each_loss
def test_conjugate_outside_its_domain(loss):
    c = np.ones(3)
    outside = [[0.1, -1e-9, -0.1], [-1.1, 1.0, 0.1], [-1.0 - 1e-9, 1.0 + 1e-9, 0.0], [0.0, math.nan, 0.0]]
    for b in outside:
        assert loss.conjugate(np.array(b), 0, c) == math.inf
    inside = loss.conjugate(np.array([-1.0, 0.25, 0.75]), 0, c)
    for error in (1e-13, -1e-13):
        near = np.array([-1.0, 0.25 + error, 0.75])
        assert loss.conjugate(near, 0, c) == pytest.approx(inside, abs=1e-11)
    corner = loss.conjugate(np.array([-1.0, 0.0, 1.0]), 0, c)
    assert loss.conjugate(np.array([-1.0, -1e-13, 1.0]), 0, c) == pytest.approx(corner, abs=1e-11)
    assert loss.conjugate(np.zeros(3), 0, c) == 0.0


@each_loss
@given(row=rows())
@quick
def test_costs_and_dual_at_the_label_are_not_read(loss, row):
    y, c, z, alpha = row
    changed, b = c.copy(), -alpha
    changed[y] = 1e3
    assert loss.value(z, y, changed) == loss.value(z, y, c)
    assert np.array_equal(derivative(loss, z, y, changed), derivative(loss, z, y, c))
    assert np.array_equal(step(loss, alpha, y, changed, z, 0.5), step(loss, alpha, y, c, z, 0.5))
    b[y] = 99.0
    assert loss.conjugate(b, y, changed) == loss.conjugate(-alpha, y, c)


# -- relations between the losses


@given(row=rows(), gamma=st.floats(1e-6, 10.0))
@quick
def test_smoothing_lowers_the_value_by_at_most_half_gamma(row, gamma):
    y, c, z, _ = row
    hinge = MaxHinge()
    smooth = hinge.smoothed(gamma)
    difference = hinge.value(z, y, c) - smooth.value(z, y, c)
    assert -1e-12 <= difference <= 0.5 * gamma * hinge.lipschitz**2 + 1e-12
    assert smooth.smoothness == gamma


def test_smoothed_keeps_the_costs():
    assert MaxHinge([0.0, 2.0]).smoothed(0.5) == SmoothMaxHinge(0.5, [0.0, 2.0])


@each_q
def test_no_smoothing_is_the_max_hinge(q):
    rng = np.random.default_rng(1)
    for _ in range(20):
        y, c, z, alpha = random_row(rng, 4)
        none = SmoothMaxHinge(0.0)
        assert none.value(z, y, c) == MaxHinge().value(z, y, c)
        assert np.array_equal(derivative(none, z, y, c), derivative(MaxHinge(), z, y, c))
        assert np.array_equal(step(none, alpha, y, c, z, q), step(MaxHinge(), alpha, y, c, z, q))


@given(row=rows(), gamma=st.floats(1e-3, 10.0))
@quick
def test_soft_max_lies_above_the_max(row, gamma):
    y, c, z, _ = row
    difference = SoftMaxHinge(gamma).value(z, y, c) - MaxHinge().value(z, y, c)
    assert -1e-12 <= difference <= gamma * math.log(z.shape[0]) + 1e-12


@given(row=rows(bound=30.0))
@quick
def test_softmax_is_minus_the_log_probability(row):
    y, _, z, _ = row
    k = z.shape[0]
    c = costs_of(Softmax(), k, y)
    assert Softmax().value(z, y, c) == pytest.approx(-special.log_softmax(z)[y], rel=1e-12, abs=1e-15)
    np.testing.assert_allclose(derivative(Softmax(), z, y, c), special.softmax(z) - np.eye(k)[y], rtol=1e-12, atol=1e-15)


def test_max_hinge_is_the_loss_of_crammer_and_singer():
    z = np.array([0.5, 2.0, -1.0])
    assert MaxHinge().value(z, 0, costs_of(MaxHinge(), 3, 0)) == 2.5
    assert MaxHinge().value(z, 1, costs_of(MaxHinge(), 3, 1)) == 0.0


@each_loss
def test_value_at_extreme_scores(loss):
    c = costs_of(loss, 3, 0)
    assert loss.value(np.array([1e6, 0.0, -1e6]), 0, c) == 0.0
    assert loss.value(np.array([0.0, 1e15, -1e15]), 0, c) == pytest.approx(1e15)
    assert loss.value(np.array([-1e300, 1e300, 0.0]), 0, c) == pytest.approx(2e300)


def test_softmax_value_keeps_its_digits_when_tiny():
    z = np.array([50.0, 0.0, 0.0])
    assert Softmax().value(z, 0, np.zeros(3)) == pytest.approx(2.0 * math.exp(-50.0), rel=1e-14)


# -- the exact step


@each_loss
@pytest.mark.parametrize("q", [0.0, 1e-6, 1.0, 1e3])
def test_step_agrees_with_a_conic_solver(loss, q):
    rng = np.random.default_rng(2)
    for k in (2, 3, 5, 12):
        y, c, z, alpha = random_row(rng, k)
        ours = gain(loss, alpha, step(loss, alpha, y, c, z, q), y, c, z, q)
        theirs = gain(loss, alpha, solve_cone(loss, alpha, y, c, z, q), y, c, z, q)
        assert ours >= theirs - 1e-12
        assert ours == pytest.approx(theirs, abs=1e-6)


@each_loss
@each_q
def test_step_agrees_with_high_precision(loss, q):
    rng = np.random.default_rng(3)
    for k, scale in [(2, 0.1), (3, 2.0), (4, 30.0)]:
        y, c, z, alpha = random_row(rng, k, scale)
        after = step(loss, alpha, y, c, z, q)
        with mpmath.workdps(60):
            c_, z_, q_ = [mpmath.mpf(v) for v in c], [mpmath.mpf(v) for v in z], mpmath.mpf(q)
            old = [-mpmath.mpf(v) for v in alpha]
            p = [-mpmath.mpf(v) for v in after]
            for point in (old, p):
                point[y] = 1 - sum(v for j, v in enumerate(point) if j != y)
            best = exact_point(loss, old, y, c_, z_, q_)
            lost = exact_objective(loss, best, old, y, c_, z_, q_) - exact_objective(loss, p, old, y, c_, z_, q_)
            # A sum of p above 1 by rounding makes the difference negative by rounding.
            assert abs(lost) < 1e-14 * (1.0 + np.abs(z).max())
            if q > 0.0 or loss.smoothness > 0.0:
                np.testing.assert_allclose([float(v) for v in p], [float(v) for v in best], rtol=1e-9, atol=1e-9)


@each_loss
@given(row=rows(), exponent=st.floats(-8.0, 12.0))
@quick
def test_step_is_feasible_never_descends_and_is_final(loss, row, exponent):
    y, c, z, alpha = row
    q = 10.0**exponent
    after = step(loss, alpha, y, c, z, q)
    assert_feasible(after, y)
    assert gain(loss, alpha, after, y, c, z, q) >= -1e-14 * (1.0 + np.abs(z).max())
    moved = z + q * (after - alpha)
    again = step(loss, after, y, c, moved, q)
    assert gain(loss, after, again, y, c, moved, q) <= 1e-10


@each_loss
@each_q
def test_step_at_extreme_scores(loss, q):
    rng = np.random.default_rng(4)
    for scale in (1e-3, 1e3, 1e6):
        for k in (2, 5, 40):
            y, c, z, alpha = random_row(rng, k, scale)
            after = step(loss, alpha, y, c, z, q)
            assert_feasible(after, y)
            assert gain(loss, alpha, after, y, c, z, q) >= -1e-14 * (1.0 + np.abs(z).max())


@each_loss
def test_step_splits_close_scores_exactly_below_large_ones(loss):
    z = np.array([0.0, 1e6, 1e6, -1e6])
    c = np.zeros(4)
    after = step(loss, np.zeros(4), 0, c, z, 1e-6)
    np.testing.assert_allclose(after, [1.0, -0.5, -0.5, 0.0], atol=1e-12)


@each_smooth
@given(row=rows())
@quick
def test_step_of_a_zero_row_is_the_gradient(loss, row):
    y, c, z, alpha = row
    after = step(loss, alpha, y, c, z, 0.0)
    np.testing.assert_allclose(after, -derivative(loss, z, y, c), atol=1e-11)


def test_step_of_a_zero_row_without_smoothness_picks_the_worst_class():
    alpha = np.array([0.5, -0.25, -0.25])
    after = step(MaxHinge(), alpha, 0, np.ones(3), np.array([0.0, -0.5, 2.0]), 0.0)
    np.testing.assert_array_equal(after, [1.0, 0.0, -1.0])
    after = step(MaxHinge(), alpha, 0, np.ones(3), np.array([5.0, -0.5, 2.0]), 0.0)
    np.testing.assert_array_equal(after, np.zeros(3))


@each_loss
def test_steps_do_not_drift_out_of_the_domain(loss):
    rng = np.random.default_rng(5)
    k, y = 6, 2
    c = costs_of(loss, k, y)
    alpha = np.zeros(k)
    for _ in range(500):
        alpha = step(loss, alpha, y, c, 3.0 * rng.normal(size=k), 10.0 ** rng.uniform(-3, 3))
        assert_feasible(alpha, y)


# -- projections


@given(
    mu=st.lists(st.floats(-3.0, 3.0), min_size=1, max_size=8).map(np.array),
    C=st.one_of(st.just(0.0), st.floats(1e-6, 1e3)),
)
@settings(max_examples=150, deadline=None)
def test_optimize_dual_against_a_quadratic_program(mu, C):
    k = mu.shape[0]
    a = np.empty(k)
    optimize_dual(mu, C, a)
    assert (a >= 0.0).all()
    assert a.sum() <= 1.0 + 1e-14
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = 1e-11
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(np.eye(k) + C),
        -mu,
        sparse.csc_matrix(np.vstack([-np.eye(k), np.ones((1, k))])),
        np.append(np.zeros(k), 1.0),
        [clarabel.NonnegativeConeT(k + 1)],
        options,
    )
    np.testing.assert_allclose(a, solver.solve().x, atol=1e-5)

    def objective(x):
        return ((x - mu) ** 2).sum() + C * x.sum() ** 2

    # Optimality: no vertex of the domain lies below the tangent plane at a.
    slope = 2.0 * (a - mu) + 2.0 * C * a.sum()
    assert slope @ a - min(0.0, slope.min()) <= 1e-12 * (1.0 + C)
    assert objective(a) <= objective(np.zeros(k)) + 1e-12


def test_optimize_dual_where_the_printed_procedure_leaves_the_domain():
    # z = (0, 0.5, 2.7): the printed branch takes j = 3 and returns (1.033, 0.533, 0).
    a = np.empty(3)
    optimize_dual(np.array([2.0, 1.5, 0.4]), 0.0, a)
    np.testing.assert_allclose(a, [0.75, 0.25, 0.0], atol=1e-15)
    # No z_j reaches 1, so that the printed branch has no j at all.
    optimize_dual(np.array([0.9, 0.8]), 0.1, a[:2])
    np.testing.assert_allclose(a[:2], [0.55, 0.45], atol=1e-15)


@given(mu=st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=30).map(np.array))
@settings(max_examples=150, deadline=None)
def test_project_is_the_nearest_point(mu):
    b = np.empty_like(mu)
    project(mu, b)
    assert (b >= 0.0).all()
    assert b.sum() <= 1.0 + 1e-13
    # The residual makes no acute angle with any direction into the domain.
    residual = mu - b
    assert max(0.0, residual.max()) - residual @ b <= 1e-10
    clipped = np.maximum(mu, 0.0)
    if clipped.sum() <= 1.0:
        np.testing.assert_allclose(b, clipped, atol=1e-13)
    else:
        assert b.sum() == pytest.approx(1.0, abs=1e-13)


def test_smooth_value_is_the_distance_formula_of_the_paper():
    rng = np.random.default_rng(6)
    for _ in range(20):
        y, c, z, _ = random_row(rng, 5)
        gamma = 0.7
        u = np.delete(c + z - z[y], y) / gamma
        b = np.empty_like(u)
        project(u, b)
        expected = 0.5 * gamma * (u @ u - (b - u) @ (b - u))
        assert SmoothMaxHinge(gamma).value(z, y, c) == pytest.approx(expected, abs=1e-12)
        np.testing.assert_allclose(np.delete(derivative(SmoothMaxHinge(gamma), z, y, c), y), b, atol=1e-14)


# -- compiled code


@pytest.fixture(scope="module")
def compiled():
    numba = pytest.importorskip("numba")
    extending = pytest.importorskip("numba.extending")
    # The compiled kernels allow these rewritings; none of them may cost a digit that counts.
    options = {"fastmath": {"contract", "reassoc", "nsz", "arcp"}, "error_model": "numpy"}
    for helper in multiclass.HELPERS:
        extending.register_jitable(**options)(helper)
    return lambda function: numba.njit(**options)(function)


@each_loss
def test_compiled_methods_agree(loss, compiled):
    k = 5
    typed = loss.with_costs(k, 1)
    kind = type(loss)
    value, conjugate, norm = compiled(kind.value), compiled(kind.conjugate), compiled(kind.dual_norm2)
    slope, exact, stretch = compiled(kind.derivative), compiled(kind.dual_step), compiled(kind.stretch)
    rng = np.random.default_rng(7)
    out = np.empty(k)
    for scale in (0.1, 1.0, 10.0, 1e6):
        for q in (0.0, 1e-6, 0.3, 50.0, 1e8, 1e12):
            y, c, z, alpha = random_row(rng, k, scale)
            assert value(typed, z, y, c) == pytest.approx(loss.value(z, y, c), rel=1e-12)
            assert conjugate(typed, -alpha, y, c) == pytest.approx(loss.conjugate(-alpha, y, c), abs=1e-12)
            assert norm(typed, z, y) == pytest.approx(loss.dual_norm2(z, y), rel=1e-12)
            slope(typed, z, y, c, out)
            np.testing.assert_allclose(out, derivative(loss, z, y, c), atol=1e-8 if scale > 1e3 else 1e-12)
            exact(typed, alpha, y, c, z, q, out)
            assert_feasible(out, y)
            expected = gain(loss, alpha, step(loss, alpha, y, c, z, q), y, c, z, q)
            tolerance = 1e-13 * (1.0 + np.abs(z).max())
            assert gain(loss, alpha, out, y, c, z, q) == pytest.approx(expected, abs=tolerance)
    outside = np.array([-2.0, 2.0, 0.0, 0.0, 0.0])
    assert conjugate(typed, outside, 0, np.zeros(k)) == math.inf
    assert stretch(typed, k) == loss.stretch(k)


def test_compiled_projections_agree(compiled):
    rng = np.random.default_rng(8)
    fast, fast_dual = compiled(project), compiled(optimize_dual)
    for k in (1, 3, 1000):
        mu, a, b = rng.normal(size=k), np.empty(k), np.empty(k)
        project(mu, a)
        fast(mu, b)
        np.testing.assert_allclose(b, a, atol=1e-13)
        optimize_dual(mu, 0.2, a)
        fast_dual(mu, 0.2, b)
        np.testing.assert_allclose(b, a, atol=1e-13)


# -- costs


@each_loss
def test_default_costs(loss):
    costs = loss.with_costs(4, 9).costs
    expected = np.zeros((4, 4)) if isinstance(loss, Softmax) else 1.0 - np.eye(4)
    np.testing.assert_array_equal(costs, expected)
    assert costs.dtype == np.float64
    assert costs.flags.c_contiguous


@pytest.mark.parametrize("kind", [MaxHinge, SmoothMaxHinge, SoftMaxHinge])
def test_costs_of_each_shape(kind):
    given = np.asfortranarray(np.arange(1.0, 10.0).reshape(3, 3).astype(np.float32))
    by_class = kind(costs=given).with_costs(3, 5)
    np.testing.assert_array_equal(by_class.costs, given * (1.0 - np.eye(3)))
    assert by_class.costs.flags.c_contiguous
    assert given[0, 0] == 1.0
    one_row = kind(costs=[1.0, 2.0, 3.0]).with_costs(3, 5).costs
    np.testing.assert_array_equal(one_row, [[0.0, 2.0, 3.0], [1.0, 0.0, 3.0], [1.0, 2.0, 0.0]])
    np.testing.assert_array_equal(kind(costs=2).with_costs(3, 5).costs, 2.0 * (1.0 - np.eye(3)))
    by_row = np.ones((5, 3))
    np.testing.assert_array_equal(kind(costs=by_row).with_costs(3, 5).costs, by_row)
    assert type(by_class) is kind
    assert by_class._replace(costs=None) == kind()


@each_loss
@pytest.mark.parametrize(
    "costs",
    [np.ones(4), np.ones((5, 4)), np.ones((3, 5)), np.ones((1, 3, 3)), [1.0, math.nan, 1.0], math.inf, "big"],
)
def test_bad_costs_are_named(loss, costs):
    with pytest.raises(ValueError, match="costs"):
        loss._replace(costs=costs).with_costs(3, 5)


@each_loss
def test_marked_as_vector_valued(loss):
    assert type(loss).vector is True


# -- balanced columns


def halves(n):
    return [slice(0, n // 2), slice(n // 2, n)]


def column_balanced(alpha, y, weight):
    for _ in range(2):
        alpha = flowed(alpha, y, *column_flow(alpha, y, weight, halves(len(y))))
    return alpha


def columns_balanced(alpha, y, weight, columns, zeroed=None):
    return tilted(alpha, y, columns, columns_tilt(alpha, y, weight, columns, halves(len(y)), zeroed))


@pytest.mark.parametrize("seed", range(20))
def test_column_balanced(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(1, 200)), int(rng.integers(2, 7))
    y = rng.integers(0, k - (seed % 2), n)
    p = rng.dirichlet(np.full(k, 0.3), n)
    p[rng.random(n) < 0.2] = np.eye(k)[0]
    alpha = np.array([dual_point(p[i], y[i]) for i in range(n)])
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], n)
    before = alpha.copy()
    after = column_balanced(alpha, y, weight)
    np.testing.assert_array_equal(alpha, before)
    for i in range(n):
        assert_feasible(after[i], y[i])
    assert np.abs(weight @ after).max() <= 1e-13 * (1.0 + weight.sum())
    # No more mass moves than the columns were out of balance.
    moved = np.maximum(before - after, 0.0)
    assert weight @ moved.sum(axis=1) <= np.maximum(weight @ before, 0.0).sum() + 1e-10


def test_column_balanced_leaves_a_balanced_point_alone():
    alpha = np.array([[0.5, -0.5], [-0.5, 0.5]])
    balanced = column_balanced(alpha, np.array([0, 1]), np.ones(2))
    np.testing.assert_array_equal(balanced, alpha)
    assert balanced is not alpha


def test_column_balanced_empties_the_column_of_an_absent_class():
    alpha = np.array([[0.5, -0.25, -0.25], [-0.5, 0.75, -0.25]])
    balanced = column_balanced(alpha, np.array([0, 1]), np.ones(2))
    np.testing.assert_array_equal(balanced[:, 2], 0.0)
    np.testing.assert_allclose(balanced.sum(axis=0), 0.0, atol=1e-16)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), k=st.integers(2, 5), p=st.integers(1, 3), near=st.floats(0.0, 1.0))
def test_columns_balanced_is_feasible_and_orthogonal(seed, k, p, near):
    rng = np.random.default_rng(seed)
    n = 40
    y = rng.integers(0, k, n)
    weight = rng.uniform(0.1, 2.0, n) / n
    columns = np.column_stack([rng.standard_normal((n, p)), np.ones(n)])
    target = np.eye(k)[y]
    alpha = near * (target - rng.dirichlet(np.full(k, 0.3), n))
    moved = columns_balanced(alpha, y, weight, columns)
    assert np.max(np.abs(columns.T @ (weight[:, None] * moved))) < 1e-12
    assert np.max(np.abs(moved.sum(axis=1))) < 1e-15 * k
    wrong = moved[target == 0.0]
    assert wrong.max() <= 0.0
    assert moved.max() <= 1.0 + 1e-15
    again = columns_balanced(moved, y, weight, columns)
    np.testing.assert_allclose(again, moved, atol=1e-12)


def test_only_the_sums_asked_for_are_zeroed():
    rng = np.random.default_rng(0)
    y, weight, columns = rng.integers(0, 3, 40), np.full(40, 1.0 / 40), rng.standard_normal((40, 2))
    alpha = 0.5 * (np.eye(3)[y] - rng.dirichlet(np.ones(3), 40))
    zeroed = np.array([[True, False, True], [False, False, True]])
    moved = columns_balanced(alpha, y, weight, columns, zeroed)
    sums = columns.T @ (weight[:, None] * moved)
    assert np.all(np.abs(sums[zeroed]) < 1e-12)
    assert np.all(np.abs(sums[~zeroed]) > 1e-3)
