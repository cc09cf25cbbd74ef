"""Proximal Newton on the Gram matrix: the model is minimized, conditioning does not matter, unsuitable problems are refused."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import dualgap as dg
from dualgap.certificate import primal_point
from dualgap.data.validation import make_problem
from dualgap.solvers.model import Model, gram_matrix
from dualgap.solvers.newton import _Newton, rough_start, tall
from dualgap.solvers.run import Run

PENALTIES = [
    dg.L2(1e-3),
    dg.ElasticNet(1e-2, 1e-6),
    dg.L1(1e-2),
    dg.Factors(dg.ElasticNet(1e-2, 1e-3), np.array([0.0, 1.0, 2.0, 0.5])),
    dg.Box(dg.L2(1e-3), -0.1, 0.3),
    dg.NonNegative(dg.ElasticNet(1e-3, 1e-3)),
]
LOSSES = [dg.Squared(), dg.Huber(0.5), dg.Logistic(), dg.SmoothHinge(0.5), dg.SquaredHinge()]


def data(seed, n=60, d=4, scale=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * scale
    y = X @ rng.standard_normal(d) + rng.standard_normal(n) + 0.5
    return X, y


@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda p: type(p).__name__)
@pytest.mark.parametrize("intercept", [False, True])
def test_the_model_is_minimized(penalty, intercept):
    X, y = data(0)
    problem, _ = make_problem(X, y, dg.Squared(), penalty, intercept=intercept)
    rng = np.random.default_rng(1)
    w = np.append(np.clip(rng.standard_normal(4), 0.0, 0.3), 0.2 if intercept else 0.0)
    columns = np.arange(4)
    gram, slope = gram_matrix(problem, np.zeros(60), columns)[0], rng.standard_normal(5)

    def model(v):
        return slope @ (v - w) + 0.5 * (v - w) @ gram @ (v - w) + problem.penalty_value(v)

    v = Model(problem.penalty, columns, intercept, gram, slope, w).minimizer()
    assert intercept or v[4] == 0.0
    for _ in range(300):
        step = rng.standard_normal(5) * 10.0 ** rng.uniform(-6, 0)
        step[4] *= intercept
        assert model(v) <= model(v + step) + 1e-13


@pytest.mark.parametrize("penalty", [dg.ElasticNet(1e-9, 1e-9), dg.ElasticNet(1e-4, 1e-9), dg.Box(dg.L2(1e-9), -0.1, 0.3)], ids=str)
def test_a_model_with_dependent_columns_is_minimized_well_enough(penalty):
    """One-hot columns depend on one another, but for the penalty: steps have to go through many kinks."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 10, (500, 4)) + 10 * np.arange(4)
    X = sp.csr_array((np.ones(2000), codes.ravel().astype(np.int32), np.arange(0, 2001, 4, dtype=np.int32)), shape=(500, 40))
    problem, _ = make_problem(X, np.sign(rng.standard_normal(500)), dg.Logistic(), penalty)
    columns, w = np.arange(40), np.zeros(41)
    gram, slope = gram_matrix(problem, np.zeros(500), columns)[0], problem.transposed_roughly(0.5 * problem.y)
    model = Model(problem.penalty, columns, False, gram, slope, w)
    v = model.minimizer(enough=1e-9)
    assert model._gap(slope + model.gram @ v, v) <= 1e-9 + 1e-7 * -float(slope @ v)


@pytest.mark.parametrize("loss", [dg.Logistic(), dg.SquaredHinge()], ids=lambda v: type(v).__name__)
@pytest.mark.parametrize("weights", [False, True])
def test_samples_bring_a_cold_start_near(loss, weights):
    """Newton's first steps are made on few rows; with them or without, the optimum is the same."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 6))
    y = np.sign(X @ rng.standard_normal(6) + rng.standard_normal(4000))
    weight = rng.uniform(0.0, 2.0, 4000) if weights else None
    problem, _ = make_problem(X, y, loss, dg.L2(1e-4), sample_weight=weight)
    assert tall(problem)
    null = primal_point(problem, np.zeros(problem.shape))
    run = Run(problem, null, tol=1e-6, max_passes=1e9, time_limit=None, callback=None, random_state=0)
    optimum = dg.solve(X, y, loss=loss, penalty=dg.L2(1e-4), sample_weight=weight, solver="newton", tol=1e-10)
    start = primal_point(problem, rough_start(problem, run)).value
    assert optimum.status is dg.Status.CERTIFIED
    assert start - optimum.primal <= 0.05 * (null.value - optimum.primal)
    assert run.passes < 6.0


def test_dual_points_that_left_their_domain_are_corrected():
    """Some variables stop at the end of their interval; the others make up for them, so that X'alpha fits the coefficients again."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 6))
    y = np.sign(X @ rng.standard_normal(6) + 2.0 * rng.standard_normal(2000))
    problem, _ = make_problem(X, y, dg.SquaredHinge(), dg.L2(1e-6))
    newton = _Newton(problem, np.zeros(7), np.empty(2000), 1e-9)
    newton.step()
    newton.step()

    def gap():
        conjugate = problem.mean_conjugate(newton.alpha)[0]
        return newton.value + conjugate + problem.penalty_conjugate(problem.transposed(newton.alpha))

    before = gap()
    newton._correct(problem.transposed(newton.alpha) - newton.wanted)
    assert np.isfinite(before)
    assert 0.0 <= gap() < 0.2 * before


@pytest.mark.parametrize("dense", [True, False])
def test_the_gram_matrix(dense):
    X, y = data(2)
    weight = np.random.default_rng(3).uniform(0.1, 2.0, 60)
    problem, _ = make_problem(X if dense else sp.csr_matrix(X), np.sign(y), dg.Logistic(), dg.L2(1.0), sample_weight=weight)
    z = np.random.default_rng(4).standard_normal(60)
    s = 1.0 / (1.0 + np.exp(-z))
    ones = np.column_stack([X, np.ones(60)])
    expected = ones.T @ (ones * (weight / weight.sum() * s * (1.0 - s))[:, None])
    np.testing.assert_allclose(gram_matrix(problem, z, np.arange(4))[0], expected, rtol=1e-6)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda v: type(v).__name__)
@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda p: type(p).__name__)
def test_it_agrees_with_the_dual_solvers(loss, penalty):
    X, y = data(5)
    y = y if loss.labels == "real" else np.sign(y)
    s = dg.solve(X, y, loss=loss, penalty=penalty, intercept=True, solver="newton", tol=1e-9)
    assert s.status is dg.Status.CERTIFIED
    assert s.passes < 100
    other = dg.solve(X, y, loss=loss, penalty=penalty, intercept=True, solver="adaptive", tol=1e-7)
    assert other.dual <= s.primal + s.gap
    assert s.dual <= other.primal + other.gap


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1000), spread=st.floats(0.0, 5.0))
def test_bad_scaling_does_not_matter(seed, spread):
    X, y = data(seed, scale=10.0 ** np.linspace(0.0, spread, 4))
    s = dg.solve(X, np.sign(y), loss=dg.Logistic(), penalty=dg.L2(1e-4), intercept=True, solver="newton", tol=1e-7)
    assert s.status is dg.Status.CERTIFIED
    assert s.passes < 150


def test_unsuitable_problems_are_refused():
    X, y = data(6)
    for loss, penalty, target in [
        (dg.Hinge(), dg.L2(1.0), np.sign(y)),
        (dg.Squared(), dg.GroupL1(1.0, 1.0, np.zeros(4, int)), y),
        (dg.Softmax(), dg.L2(1.0), (y > 0).astype(int)),
    ]:
        with pytest.raises(ValueError, match="GramNewton"):
            dg.solve(X, target, loss=loss, penalty=penalty, solver=dg.GramNewton())
