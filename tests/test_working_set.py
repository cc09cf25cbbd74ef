"""Working sets: certified for every penalty and storage, whichever way the model is minimized, and few passes."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import dualgap as dg
from dualgap.certificate import Seen, dual_point, primal_point
from dualgap.data.validation import make_problem
from dualgap.problem import Problem
from dualgap.solvers import working_set
from dualgap.solvers.column_model import ColumnModel
from dualgap.solvers.model import Model, gram_matrix
from dualgap.team import Team

LOSSES = [dg.Squared(), dg.Huber(0.5), dg.Logistic(), dg.SmoothHinge(0.5), dg.SquaredHinge()]
FACTORS = np.where(np.arange(120) < 2, 0.0, np.linspace(0.5, 2.0, 120))
PENALTIES = [
    dg.L1(2e-2),
    dg.ElasticNet(2e-2, 1e-3),
    dg.Factors(dg.L1(2e-2), FACTORS),
    dg.NonNegative(dg.L1(1e-2)),
    dg.Box(dg.ElasticNet(1e-2, 1e-4), -0.05, 0.1),
]


def data(seed=0, n=80, d=120, density=0.3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < density) * 10.0 ** rng.uniform(-0.5, 0.5, d)
    y = X @ (rng.standard_normal(d) * (rng.random(d) < 0.1)) + 0.5 * rng.standard_normal(n)
    return X, y


def targets(loss, y):
    return y if loss.labels == "real" else np.where(y > np.median(y), 1.0, -1.0)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda v: type(v).__name__)
@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda p: type(p).__name__)
@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_it_agrees_with_another_solver(loss, penalty, storage):
    X, y = data()
    X = X.astype(np.float32) if storage == "dense" else sp.csr_array(X)
    weight = np.random.default_rng(1).uniform(0.0, 2.0, len(y))
    common = {"loss": loss, "penalty": penalty, "intercept": True, "sample_weight": weight}
    s = dg.solve(X, targets(loss, y), solver="working_set", tol=1e-9, **common)
    assert s.status is dg.Status.CERTIFIED
    assert not [note for note in s.notes if "took over" in note]
    other = dg.solve(X, targets(loss, y), solver="newton", tol=1e-7, **common)
    assert other.dual <= s.primal + s.gap
    assert s.dual <= other.primal + other.gap


@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", [dg.Squared(), dg.Logistic()], ids=lambda v: type(v).__name__)
def test_both_ways_to_the_minimizer_of_the_model_agree(loss, intercept, storage):
    X, y = data(2)
    problem, _ = make_problem(X if storage == "dense" else sp.csr_array(X), targets(loss, y), loss, dg.L1(2e-2), intercept=intercept)
    rng = np.random.default_rng(3)
    columns = np.sort(rng.permutation(120)[:40])
    inside = np.append(columns, 120)
    w = np.zeros(121)
    w[inside] = 0.1 * rng.standard_normal(41) * np.append(np.ones(40), float(intercept))
    z = problem.scores(w, slice(0, 80))
    slope = -problem.transposed(problem.dual_points(w, np.empty(80)))
    gram, _ = gram_matrix(problem, z, columns)
    exact = Model(problem.penalty, columns, intercept, gram, slope[inside], w[inside]).minimizer()
    swept = ColumnModel(problem, columns, z, w[inside]).minimizer(0.0, 1e-13)
    np.testing.assert_allclose(swept, exact, atol=1e-9)


@pytest.mark.parametrize("storage", ["dense", "sparse", "unsorted"])
def test_products_that_are_known_are_not_made_again(storage):
    X, y = data(4)
    stored = X if storage == "dense" else sp.csr_array(X)
    if storage == "unsorted":
        for i in range(80):
            part = slice(stored.indptr[i], stored.indptr[i + 1])
            stored.indices[part], stored.data[part] = stored.indices[part][::-1].copy(), stored.data[part][::-1].copy()
    problem, _ = make_problem(stored, y, dg.Squared(), dg.L1(1.0))
    columns = np.random.default_rng(5).permutation(120)[:30]
    whole, products = gram_matrix(problem, np.zeros(80), columns)
    part, _ = gram_matrix(problem, np.zeros(80), columns[:20])
    extended, fewer = gram_matrix(problem, np.zeros(80), columns, part)
    np.testing.assert_allclose(extended, whole, rtol=1e-13)
    ones = np.column_stack([X[:, columns], np.ones(80)])
    np.testing.assert_allclose(whole, ones.T @ ones / 80, rtol=1e-12, atol=1e-12)
    assert fewer < products


@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize(("block", "parts"), [(1, 1), (7, 1), (80, 1), (7, 3)])
def test_a_look_is_a_certificate(block, parts, storage, monkeypatch):
    X, y = data(11)
    X[:, 5], X[3] = 0.0, 0.0
    problem, _ = make_problem(X if storage == "dense" else sp.csr_array(X), np.sign(y), dg.SquaredHinge(), dg.L1(1e-2))
    w = np.append(np.random.default_rng(0).standard_normal(120) * (np.arange(120) % 7 == 0), 0.0)
    z, alpha = np.empty(80), np.empty(80)
    monkeypatch.setattr(Team, "parts_for", lambda team, entries: parts)
    monkeypatch.setattr(Problem, "entries", 10**6)
    a = replace(problem, team=Team(parts)).look(w, block, z, alpha)
    np.testing.assert_array_equal(z, problem.scores(w, slice(0, 80)))
    np.testing.assert_array_equal(alpha, problem.dual_points(w, np.empty(80)))
    np.testing.assert_allclose(a, problem.transposed(alpha), rtol=1e-14, atol=1e-16)
    seen, null = Seen(z, a, block), 0.5
    assert primal_point(problem, w, seen) == primal_point(problem, w)
    best = primal_point(problem, w)
    with_it, without = dual_point(problem, alpha, best, null, seen), dual_point(problem, alpha, best, null)
    assert abs(with_it.value - without.value) <= with_it.doubt + without.doubt


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 1000),
    fraction=st.floats(1e-3, 0.99),
    l2=st.sampled_from([0.0, 1e-6, 1e-2]),
    first=st.sampled_from([1, 5, 200]),
    sample=st.sampled_from([1, 1000, 10**6]),
)
def test_any_strength_any_first_set_and_any_sample(seed, fraction, l2, first, sample):
    X, y = data(seed)
    largest = np.max(np.abs(X.T @ y)) / len(y)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(working_set, "FIRST", first)
        patch.setattr(working_set, "LEAST", 1)
        patch.setattr(working_set, "SAMPLE", sample)
        s = dg.solve(X, y, loss=dg.Squared(), penalty=dg.ElasticNet(fraction * largest, l2), solver="working_set", tol=1e-8)
    assert s.status is dg.Status.CERTIFIED
    a = X.T @ (y - X @ s.w) / len(y) - l2 * s.w
    assert np.max(np.abs(a)) <= fraction * largest * (1.0 + 1e-3)


@pytest.mark.parametrize("most", [0, 3000])
def test_large_sets_go_by_columns(most, monkeypatch):
    monkeypatch.setattr(working_set, "MOST", most)
    monkeypatch.setattr(working_set, "SHARE", 1.0)
    X, y = data(6, n=60, d=400)
    s = dg.solve(sp.csr_array(X), y, loss=dg.Squared(), penalty=dg.L1(1e-2), solver="working_set", tol=1e-8)
    assert s.status is dg.Status.CERTIFIED
    assert not s.notes


def test_a_set_that_grows_too_large_is_left_to_another(monkeypatch):
    monkeypatch.setattr(working_set, "MOST", 10)
    X, y = data(7)
    s = dg.solve(X, y, loss=dg.Squared(), penalty=dg.ElasticNet(1e-4, 1e-2), solver="working_set", tol=1e-6)
    assert s.status is dg.Status.CERTIFIED
    assert "AdaptiveProxSDCA took over." in s.notes


def test_a_warm_start_is_used():
    X, y = data(8)
    common = {"loss": dg.Squared(), "solver": "working_set", "tol": 1e-8}
    before = dg.solve(X, y, penalty=dg.L1(0.05), **common)
    cold = dg.solve(X, y, penalty=dg.L1(0.045), **common)
    warm = dg.solve(X, y, penalty=dg.L1(0.045), warm_start=before, **common)
    np.testing.assert_allclose(warm.w, cold.w, atol=1e-6)
    assert warm.history.gap[0] < cold.history.gap[0]


@pytest.mark.parametrize("rows", [np.zeros((5, 3)), data(10)[0][:, :20]], ids=["zeros", "numbers"])
@pytest.mark.parametrize("loss", [dg.Squared(), dg.Logistic()], ids=lambda v: type(v).__name__)
def test_a_ridge_is_solved_from_the_null_model(loss, rows):
    s = dg.solve(rows, np.where(np.arange(len(rows)) % 3, 1.0, -1.0), loss=loss, penalty=dg.L2(0.1), solver="working_set", tol=1e-8)
    assert s.status is dg.Status.CERTIFIED
    assert not [note for note in s.notes if "took over" in note]


def test_limits_are_kept():
    X, y = data(9)
    s = dg.solve(X, np.sign(y), loss=dg.Logistic(), penalty=dg.L1(1e-4), solver="working_set", tol=1e-15, max_passes=10)
    assert s.status in (dg.Status.MAX_PASSES, dg.Status.ROUNDING)
    assert s.primal <= s.null


def test_unsuitable_problems_are_refused():
    X, y = data(10)
    for loss, penalty, target in [
        (dg.Hinge(), dg.L1(1.0), np.sign(y)),
        (dg.Squared(), dg.GroupL1(1.0, 1.0, np.zeros(120, int)), y),
        (dg.Softmax(), dg.L1(1.0), (y > 0).astype(int)),
    ]:
        with pytest.raises(ValueError, match="WorkingSet"):
            dg.solve(X, target, loss=loss, penalty=penalty, solver=dg.WorkingSet())


@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_a_gram_matrix_that_grows_is_that_of_its_columns_in_their_order(storage):
    X, y = data(2)
    X = X[:, :12]
    problem, _ = make_problem(X if storage == "dense" else sp.csr_array(X), y, dg.Squared(), dg.L1(1e-2))
    known, new = np.array([3, 1, 7, 0]), np.array([2, 4, 5, 6, 8, 9, 10, 11])
    z = np.zeros(len(y))
    first, _ = gram_matrix(problem, z, known)
    grown, _ = gram_matrix(problem, z, np.concatenate([known, new]), first)
    rows = np.column_stack([X[:, np.concatenate([known, new])], np.ones(len(y))])
    np.testing.assert_allclose(grown, rows.T @ rows / len(y), rtol=1e-10, atol=1e-10)
