"""The sums that objectives and certificates are made of, against long double: compensated, blocked, compressed, balanced."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

import dualgap as dg
import reference
from cases import STORAGES, stored
from dualgap import problem as problem_module
from dualgap.certificate import balanced, dual_point, golden, primal_point
from dualgap.data.validation import make_problem
from dualgap.null import increasing_root, null_weights
from reference import LD

extended = pytest.mark.skipif(not reference.EXTENDED, reason="the long double is a double here")
EPS = float(np.finfo(float).eps)
N, D = 300, 4


def made(loss, storage="dense", dtype=np.float64, weights=True, intercept=True, penalty=None, seed=0, n=N):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D)) * 10.0 ** rng.uniform(-3.0, 3.0, (n, 1)) * (rng.random((n, D)) < 0.7)
    y = rng.integers(0, 3, n) if getattr(loss, "vector", False) else rng.choice([-1.0, 1.0], n)
    weight = 10.0 ** rng.uniform(-6.0, 6.0, n) if weights else None
    problem, _ = make_problem(stored(X, storage, dtype), y, loss, penalty or dg.L2(1.0), weight, intercept)
    return problem, rng


@extended
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("loss", [dg.Squared(), dg.Softmax()], ids=lambda loss: type(loss).__name__)
def test_transposed_is_compensated(loss, storage, dtype):
    """Terms of 1e9 that cancel down to 1 leave no more than the rounding of the terms."""
    problem, rng = made(loss, storage, dtype)
    alpha = rng.standard_normal(problem.alpha_shape) * 10.0 ** rng.uniform(
        -3.0, 9.0, (N, *problem.shape[1:])[:1] + (1,) * len(problem.shape[1:])
    )
    rows = np.column_stack([reference._dense(problem.X), np.ones(N, LD)])
    terms = (problem.share.astype(LD) * rows.T)[..., None] * alpha.reshape(N, -1).astype(LD)
    exact, size = terms.sum(axis=1), abs(terms).sum(axis=1)
    got = problem.transposed(alpha).reshape(exact.shape)
    assert np.all(abs(got - exact) <= 3.0 * EPS * size)
    naive = ((problem.share * rows.T.astype(float))[..., None] * alpha.reshape(N, -1)).cumsum(axis=1)[:, -1]
    assert np.max(abs(got - exact) / size) <= np.max(abs(naive - exact) / size)


@extended
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("loss", [dg.Squared(), dg.Softmax()], ids=lambda loss: type(loss).__name__)
def test_sums_in_blocks_are_as_wrong_as_their_allowance(loss, storage):
    problem, rng = made(loss, storage, intercept=False, n=700)
    assert 0 < problem.block_rows <= 350
    alpha = rng.standard_normal(problem.alpha_shape) * 10.0 ** rng.uniform(-3.0, 9.0, (700,) + (1,) * (len(problem.shape) - 1))
    terms = (problem.share.astype(LD) * reference._dense(problem.X).T)[..., None] * alpha.reshape(700, -1).astype(LD)
    exact, size = terms.sum(axis=1), abs(terms).sum(axis=1)
    got = problem.transposed_in_blocks(alpha)[:D].reshape(exact.shape)
    assert np.all(abs(got - exact) <= (0.5 * problem.block_rows + 2.0) * EPS * size)


def test_a_gap_within_what_blocks_are_wrong_by_has_compensated_sums(monkeypatch):
    problem, _ = made(dg.Squared(), intercept=False, weights=False, n=700)
    s = dg.solve(problem.X, problem.y, loss=dg.Squared(), penalty=dg.L2(1.0), tol=1e-15)
    best = primal_point(problem, np.append(s.w, 0.0))
    near, far = (dual_point(problem, scale * s.alpha, best, s.null) for scale in (1.0, 0.9))
    monkeypatch.setattr(problem_module, "BLOCK_ENTRIES", 1e9)
    precise, _ = made(dg.Squared(), intercept=False, weights=False, n=700)
    assert precise.block_rows == 0
    expected_near, expected_far = (dual_point(precise, scale * s.alpha, best, s.null) for scale in (1.0, 0.9))
    assert near.doubt == expected_near.doubt
    assert expected_far.doubt < far.doubt <= 0.01 * (best.value - far.value)
    assert abs(far.value - expected_far.value) <= far.doubt


@extended
@pytest.mark.parametrize("loss", [dg.Logistic(), dg.Hinge(), dg.Softmax(), dg.SmoothMaxHinge(0.5)], ids=lambda loss: type(loss).__name__)
def test_objectives_are_within_their_allowance(loss):
    problem, rng = made(loss)
    weight = problem.share
    name = {dg.Logistic: "logistic", dg.Hinge: "hinge", dg.Softmax: "softmax", dg.SmoothMaxHinge: "smooth_max_hinge"}[type(loss)]
    spec = reference.Spec(name, {"gamma": 0.5, "n_classes": 3} if problem.outputs else {}, "elastic_net", {"l2": 1.0}, True)
    for power in range(-6, 7, 2):
        w = rng.standard_normal(problem.shape) * 10.0**power
        point = primal_point(problem, w)
        exact = reference.objective(spec, problem.X, problem.y, w[:D], w[D], weight)
        assert abs(point.value - exact) <= point.doubt


@pytest.mark.parametrize("loss", [dg.Logistic(), dg.Softmax()], ids=lambda loss: type(loss).__name__)
def test_blocks_of_rows_do_not_matter(loss, monkeypatch):
    problem, rng = made(loss)
    w = rng.standard_normal(problem.shape)
    whole, alpha = problem.mean_loss(w), problem.dual_points(w, np.empty(problem.alpha_shape))
    monkeypatch.setattr(problem_module, "BLOCK", 21)
    assert len(list(problem.blocks())) > 10
    assert sum(rows.stop - rows.start for rows in problem.blocks()) == N
    np.testing.assert_allclose(problem.mean_loss(w), whole, rtol=1e-14)
    np.testing.assert_array_equal(problem.dual_points(w, np.empty(problem.alpha_shape)), alpha)


def test_costs_of_single_rows_are_found_in_each_block(monkeypatch):
    costs = np.random.default_rng(0).uniform(0.0, 2.0, (N, 3))
    problem, rng = made(dg.MaxHinge(costs))
    w = rng.standard_normal(problem.shape)
    whole = problem.mean_loss(w)
    monkeypatch.setattr(problem_module, "BLOCK", 21)
    np.testing.assert_allclose(problem.mean_loss(w), whole, rtol=1e-14)


DOMAINS = [dg.Squared(), dg.Absolute(), dg.Quantile(0.2), dg.Logistic(), dg.SquaredHinge(), dg.Huber(0.5), dg.Softmax(), dg.MaxHinge()]


@settings(max_examples=12, deadline=None, derandomize=True)
@pytest.mark.parametrize("loss", DOMAINS, ids=lambda loss: type(loss).__name__)
@given(seed=st.integers(0, 1000), columns=st.integers(0, 2), near=st.sampled_from([0.0, 1e-12, 1e-3, 1.0]))
def test_balanced_is_feasible_and_balanced(loss, seed, columns, near):
    """X'(s alpha)/S vanishes where nothing holds a coefficient, alpha stays in its domain, and does not move where it is balanced."""
    factors = np.append(np.zeros(columns), np.ones(D - columns))
    problem, rng = made(loss, weights=False, penalty=dg.Factors(dg.L2(1.0), factors), seed=seed, n=30)
    alpha = problem.dual_points(rng.standard_normal(problem.shape) * near, np.empty(problem.alpha_shape))
    moved, a = balanced(problem, alpha)
    assert np.isfinite(problem.mean_conjugate(moved)[0])
    rows = np.column_stack([np.abs(problem.X[:, :columns]), np.ones(30)])
    size = np.tensordot((problem.share * rows.T), np.abs(moved), 1)
    assert np.all(np.abs(a[problem.unheld]) <= 1e-9 * np.max(np.sqrt(problem.share @ rows**2)) + 1e-12 * size)
    again, _ = balanced(problem, moved)
    np.testing.assert_allclose(again, moved, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("loss", [dg.Logistic(), dg.Softmax()], ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize(("lower", "upper"), [(0.0, np.inf), (-np.inf, 0.5), (-1.0, 1.0), (0.5, np.inf)])
def test_unpenalized_coefficients_with_bounds(loss, lower, upper):
    """The dual is finite on one side of 0, or everywhere, and a solve ends whether the bound is met or not."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((40, 2))
    for flip in (1.0, -1.0):
        score = np.outer(X[:, 0] * flip + 0.5 * rng.standard_normal(40), [1.0, -1.0])
        y = score.argmax(axis=1) if getattr(loss, "vector", False) else np.sign(score[:, 0])
        penalty = dg.Box(dg.Factors(dg.L2(1.0), [0.0, 1.0]), [lower, -np.inf], [upper, np.inf])
        s = dg.solve(X, y, loss=loss, penalty=penalty, intercept=True, tol=1e-7, max_passes=3000)
        assert s.status is dg.Status.CERTIFIED
        assert np.all((s.w[0] >= lower) & (s.w[0] <= upper))
        assert s.distance == np.inf


def test_an_infeasible_point_is_worth_what_it_can_be_scaled_to():
    """A lasso's dual point outside its set is scaled into it, or priced by a bound on |w*|; always below the optimum."""
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((40, 6)), rng.standard_normal(40)
    problem, _ = make_problem(X, y, dg.Squared(), dg.L1(0.05))
    s = dg.solve(X, y, loss=dg.Squared(), penalty=dg.L1(0.05), tol=1e-12)
    best = primal_point(problem, np.append(s.w, 0.0))
    for _ in range(200):
        alpha = s.alpha * rng.uniform(0.5, 1.5) + 10.0 ** rng.uniform(-9.0, 1.0) * rng.standard_normal(40)
        point = dual_point(problem, alpha, best, s.null)
        assert point.value <= s.primal + point.doubt
        assert np.isfinite(point.value)


@pytest.mark.parametrize("penalty", [dg.L2(0.1), dg.ElasticNet(0.5, 0.1), dg.L1(0.5)], ids=lambda penalty: type(penalty).__name__)
@pytest.mark.parametrize("loss", [dg.Squared(), dg.Softmax()], ids=lambda loss: type(loss).__name__)
def test_the_sum_for_a_search_is_that_of_the_certificate(penalty, loss):
    problem, rng = made(loss, penalty=penalty)
    for size in (0.01, 1.0):
        a = rng.uniform(-size, size, problem.shape)
        np.testing.assert_allclose(problem.penalty_conjugate_estimate(a, 0.7), problem.penalty_conjugate(a, 0.7), rtol=1e-14)


def test_scores_of_no_coefficients_are_the_intercept():
    for loss in (dg.Squared(), dg.Softmax()):
        problem, rng = made(loss)
        w = np.zeros(problem.shape)
        w[D] = rng.standard_normal(problem.shape[1:])
        np.testing.assert_array_equal(problem.scores(w, slice(7, 40)), np.broadcast_to(w[D], (33, *problem.shape[1:])))


@given(top=st.floats(-2.0, 3.0))
@settings(max_examples=50, deadline=None)
def test_golden_section(top):
    found = golden(lambda s: -((s - top) ** 2), 0.0, 1.0)
    assert abs(found - min(max(top, 0.0), 1.0)) <= 1e-3


@given(root=st.floats(-100.0, 100.0), jump=st.floats(0.0, 10.0), slope=st.floats(0.0, 10.0))
@settings(max_examples=100, deadline=None)
def test_increasing_root(root, jump, slope):
    found = increasing_root(lambda x: slope * (x - root) + (jump + 0.1) * np.sign(x - root), -128.0, 128.0)
    assert abs(found - root) <= 1e-11 * max(1.0, abs(root))


NULL_LOSSES = [*DOMAINS[:6], dg.Hinge(), dg.SmoothHinge(0.3), dg.EpsilonInsensitive(0.5)]


@pytest.mark.parametrize("loss", NULL_LOSSES, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("weights", [False, True])
def test_the_null_model_is_the_best_constant(loss, weights):
    problem, _ = made(loss, weights=weights)
    w = null_weights(problem)
    value = primal_point(problem, w).value
    assert np.all(w[:D] == 0.0)

    def at(b):
        return primal_point(problem, np.append(np.zeros(D), b)).value

    assert value <= minimize_scalar(at, bounds=(-20.0, 20.0), method="bounded").fun + 1e-12


@pytest.mark.parametrize("loss", [dg.Softmax(), dg.MaxHinge(), dg.SoftMaxHinge(0.5)], ids=lambda loss: type(loss).__name__)
def test_the_null_model_of_several_classes(loss):
    problem, rng = made(loss)
    w = null_weights(problem)
    value = primal_point(problem, w).value
    for _ in range(300):
        other = w.copy()
        other[D] += rng.standard_normal(3) * 10.0 ** rng.uniform(-6.0, 1.0)
        assert value <= primal_point(problem, other).value + (1e-12 if loss.smoothness > 0.0 else 1e-4)


def test_the_null_model_lies_within_bounds():
    X, y = np.eye(3), np.array([1.0, -1.0, 1.0])
    penalty = dg.Box(dg.L2(1.0), [1.0, -2.0, -1.0], [2.0, -1.0, 1.0])
    s = dg.solve(X, y, loss=dg.Logistic(), penalty=penalty, max_passes=1, callback=lambda record: True)
    np.testing.assert_array_equal(s.w, [1.0, -1.0, 0.0])
    assert s.null == s.primal
