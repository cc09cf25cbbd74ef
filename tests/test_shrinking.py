"""Shrinking: the same optimum with less work, leaps that only ever gain, and rows that come back when they must."""

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap as dg
from dualgap.certificate import primal_point
from dualgap.data.validation import make_problem
from dualgap.kernels.shrink import gained
from dualgap.solvers import shrinking
from dualgap.solvers.run import Run

SHARP = [dg.Hinge(), dg.Absolute(), dg.EpsilonInsensitive(0.2), dg.Quantile(0.8)]
ROUND = [dg.SmoothHinge(0.5), dg.SquaredHinge(), dg.Huber(0.5), dg.Logistic()]


def data(loss, n=300, d=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.3)
    z = X @ rng.standard_normal(d) + rng.standard_normal(n)
    return X, np.sign(z) if loss.labels == "sign" else z


def contradictory(n=200, seed=0):
    """Rows whose classes are separable, but for a row that is given twice with opposite labels."""
    rng = np.random.default_rng(seed)
    X = np.hstack([rng.standard_normal((n, 300)), np.zeros((n, 1))])
    y = np.where(X @ rng.standard_normal(301) > 0.0, 1.0, -1.0)
    X[1], y[:2] = X[0], (1.0, -1.0)
    return X, y


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("loss", SHARP + ROUND, ids=lambda loss: type(loss).__name__)
def test_it_agrees_with_the_method_that_visits_all_rows(loss, storage, intercept):
    X, y = data(loss)
    weight = np.random.default_rng(1).uniform(0.0, 2.0, len(y))
    common = {"loss": loss, "penalty": dg.ElasticNet(1e-3, 1e-2), "sample_weight": weight, "intercept": intercept, "tol": 1e-7}
    s = dg.solve(storage(X), y, solver="shrinking", max_passes=3000, **common)
    other = dg.solve(storage(X), y, solver="prox_sdca", max_passes=3000, **common)
    assert s.status is dg.Status.CERTIFIED
    assert abs(s.primal - other.primal) <= max(s.gap, other.gap)


@pytest.mark.parametrize("loss", SHARP + ROUND, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("penalty", [dg.L2(1e-4), dg.ElasticNet(1e-3, 1e-4)], ids=["l2", "elastic net"])
def test_a_leap_gains_what_it_says(loss, penalty, monkeypatch):
    X, y = data(loss, n=120)
    problem, _ = make_problem(X, y, loss, penalty, None, False)
    seen = []

    def dual(alpha):
        a = problem.transposed(alpha)
        return -problem.mean_conjugate(alpha)[0] - problem.penalty_conjugate(a)

    def checked(data, prox, alpha, u, rows, step, ahead, t):
        gain = gained(data, prox, alpha, u, rows, step, ahead, t)
        np.testing.assert_allclose(problem.transposed(alpha), u, rtol=0, atol=1e-10 * (1.0 + np.abs(u).max()))
        moved = alpha.copy()
        moved[rows] += t * step[rows]
        low, high = np.array([loss.domain(v) for v in y]).T
        seen.append((dual(np.clip(moved, low, high)) - dual(alpha), gain))
        return gain

    monkeypatch.setattr(shrinking, "gained", checked)
    dg.solve(X, y, loss=loss, penalty=penalty, solver="shrinking", tol=1e-9, max_passes=60)
    true, said = np.array(seen).T
    np.testing.assert_allclose(said, true, rtol=1e-6, atol=1e-11)
    assert np.any(said > 0.0)


def test_equal_rows_with_opposite_labels_take_a_leap_and_not_a_pass_for_each_step():
    X, y = contradictory()
    common = {"loss": dg.Hinge(), "penalty": dg.L2(1e-5 / len(y)), "tol": 1e-6, "max_passes": 1000}
    s = dg.solve(X, y, solver="shrinking", **common)
    assert s.status is dg.Status.CERTIFIED
    assert abs(s.alpha[0]) == abs(s.alpha[1]) == 1.0
    assert dg.solve(X, y, solver="prox_sdca", **common).status is dg.Status.MAX_PASSES


def test_memory_pays_where_the_problem_is_ill_conditioned():
    rng = np.random.default_rng(0)
    X, y = data(dg.Hinge(), n=400, d=600)
    X *= 1.0 / np.sqrt(1.0 + np.arange(600))
    common = {"loss": dg.Hinge(), "penalty": dg.L2(1e-3 / len(y)), "tol": 1e-6, "max_passes": 5000}
    y = np.where(rng.random(len(y)) < 0.05, -y, y)
    leaping = dg.solve(X, y, solver="shrinking", **common)
    alone = dg.solve(X, y, solver=dg.Shrinking(memory=0), **common)
    assert leaping.status is dg.Status.CERTIFIED
    assert leaping.passes < 0.7 * alone.passes


def test_rows_set_aside_cost_nothing():
    X, y = data(dg.Hinge(), n=3000, d=30)
    penalty, loss = dg.L2(1.0 / len(y)), dg.Hinge()
    counts = []
    watched = shrinking.shrinking_epoch

    def counted(*args):
        out = watched(*args)
        counts.append(args[5][1] - args[5][0])
        return out

    shrinking.shrinking_epoch = counted
    try:
        s = dg.solve(X, y, loss=loss, penalty=penalty, solver="shrinking", tol=1e-6, max_passes=500)
    finally:
        shrinking.shrinking_epoch = watched
    assert s.status is dg.Status.CERTIFIED
    assert np.median(counts) < 0.3 * len(y)


def test_rows_that_were_set_aside_by_mistake_come_back():
    X, y = data(dg.Hinge())
    problem, _ = make_problem(X, y, dg.Hinge(), dg.L2(1e-3), None, False)
    run = Run(problem, primal_point(problem, np.zeros(problem.shape)), tol=1e-8, max_passes=1000, time_limit=None, random_state=0)
    state = shrinking._Shrinking(problem, run, run.cold_point(), 3)
    state.count = 5
    for _ in state.steps():
        pass
    assert run.status is dg.Status.CERTIFIED


def test_a_number_of_passes_is_asked_for():
    with pytest.raises(ValueError, match="memory must be a number of passes, 0 or more, got -1"):
        dg.Shrinking(memory=-1)
    with pytest.raises(ValueError, match="a scalar loss with an exact step"):
        dg.solve(np.eye(3), [0, 1, 2], loss=dg.MaxHinge(), penalty=dg.L2(1.0), solver="shrinking")
