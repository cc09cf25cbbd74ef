"""Least squares by moments: certificates that hold against an oracle in extended precision, and the scores and folds that others find."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import KFold, ShuffleSplit

import dualgap as dg
from cases import Case
from dualgap.data.validation import check_penalty_object, make_problem
from dualgap.estimators import ElasticNetCV, LassoCV, LinearRegressorCV, RidgeCV, moment_paths
from dualgap.estimators import cross_validation as cv
from dualgap.moments import certify, fits, moments, sums
from reference import LD

PENALTIES = [
    dg.L1(0.1),
    dg.L2(0.1),
    dg.ElasticNet(0.05, 0.01),
    dg.Factors(dg.L1(0.1), np.array([0.5, 1.0, 2.0, 1.0, 3.0])),
    dg.NonNegative(dg.L1(0.1)),
    dg.NonNegative(dg.ElasticNet(0.05, 0.1)),
]


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), size=st.floats(-8.0, 0.0), offset=st.floats(-2.0, 4.0), intercept=st.booleans(), weighted=st.booleans())
@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_no_certificate_is_wrong(penalty, seed, size, offset, intercept, weighted):
    """Near the optimum and away from it, with columns far from 0: P is as exact as it says, and P - gap below the minimum."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 5)) + rng.standard_normal(5) * 10.0**offset
    y = X @ rng.standard_normal(5) + rng.standard_normal(40) + 10.0**offset
    weight = rng.integers(0, 3, 40).astype(float) if weighted else None
    case = Case(X, y, dg.Squared(), penalty, weight, intercept)
    shift = np.append(np.append(X.mean(axis=0), y.mean()), 0.0) * intercept
    found = moments(sums(X, y[:, None], shift, weight), 0, 5, shift, intercept)
    problem, _ = make_problem(X, y, dg.Squared(), penalty, weight, intercept)
    best = case.solve(tol=1e-12, max_passes=2000)
    w = best.w + 10.0**size * rng.standard_normal(5)
    if "lower" in penalty._fields:
        w = np.maximum(w, 0.0)
    proof = certify(problem, found, w)
    true = case.objective(w, found.intercept(w))
    assert abs(true - proof.primal) <= proof.gap
    assert true - best.primal <= proof.gap + best.gap
    assert LD(proof.primal) - proof.gap <= best.primal
    assert proof.dual - proof.gap <= best.primal
    if offset < 1.0 and intercept:
        assert certify(problem, found, best.w).gap <= 1e-6 * best.null


def test_sums_of_parts_are_sums():
    rng = np.random.default_rng(0)
    X, Y, weight = rng.standard_normal((50, 4)), rng.standard_normal((50, 2)), rng.random(50)
    shift = np.append(rng.standard_normal(6), 0.0)
    whole, some = sums(X, Y, shift, weight), np.arange(0, 50, 3)
    part, rest = (sums(sp.csr_array(X), Y, shift, weight[rows], rows) for rows in (some, np.setdiff1d(np.arange(50), some)))
    np.testing.assert_allclose((part + rest).products, whole.products, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose((whole - part).products, rest.products, rtol=1e-10, atol=1e-12)
    Z = np.column_stack([X, Y, np.ones(50)]) - shift
    np.testing.assert_allclose(whole.products, Z.T @ (weight[:, None] * Z), rtol=1e-10, atol=1e-12)
    assert whole.total == pytest.approx(weight.sum())


def test_penalties_that_fit():
    checked = [check_penalty_object(penalty, 5, 0) for penalty in PENALTIES]
    assert all(map(fits, checked))
    others = [
        dg.Factors(dg.L1(1.0), [0.0, 1.0, 1.0, 1.0, 1.0]),
        dg.Box(dg.L2(1.0), -1.0, 1.0),
        dg.GroupL1(1.0, 0.0, np.zeros(5, dtype=int)),
    ]
    assert not any(fits(check_penalty_object(penalty, 5, 0)) for penalty in others)


def data(n=400, d=12, targets=None):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) @ (np.eye(d) + 0.3 * rng.standard_normal((d, d))) + 3.0
    w = rng.standard_normal((d, targets)) if targets else rng.standard_normal(d)
    return X, X @ w + 2.0 * rng.standard_normal((n, targets) if targets else n), rng.integers(0, 3, n).astype(float)


MODELS = [
    LassoCV(alphas=8),
    LassoCV(alphas=8, positive=True, fit_intercept=False),
    ElasticNetCV(alphas=5, l1_ratio=[0.2, 0.8]),
    ElasticNetCV(alphas=[1.0, 0.1, 0.0]),
    RidgeCV(alphas=[0.1, 10.0], cv=3),
    LinearRegressorCV(alphas=30, factors=np.arange(1.0, 13.0)),
    LinearRegressorCV(alphas=30),
]


@pytest.mark.parametrize("targets", [None, 2])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("folds", [KFold(3), ShuffleSplit(3, random_state=0), [(np.arange(200).repeat(2), np.arange(200, 300))]], ids=str)
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_moments_give_what_rows_give(model, folds, weighted, targets, monkeypatch):
    X, y, s = data(targets=targets)
    model.set_params(cv=folds, tol=1e-9)
    found = []
    for rows in (False, True):
        if rows:
            monkeypatch.setattr(cv, "suits", lambda *_: False)
        model.fit(X, y, sample_weight=s if weighted else None)
        assert np.all(model.gap_path_ <= 1e-9)
        found.append((getattr(model, "mse_path_", getattr(model, "scores_", None)), model.alpha_, model.coef_))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-4)
    assert found[0][1] == found[1][1]
    np.testing.assert_allclose(found[0][2], found[1][2], atol=1e-3)


@pytest.mark.parametrize("storage", ["float32", "sparse"])
def test_storages(storage):
    X, y, _ = data()
    X = X.astype(np.float32)
    stored = X if storage == "float32" else sp.csr_array(X)
    np.testing.assert_allclose(LassoCV(alphas=5).fit(stored, y).mse_path_, LassoCV(alphas=5).fit(X.astype(float), y).mse_path_, rtol=1e-3)


def test_where_moments_are_too_rough_rows_are_read(monkeypatch):
    """Large coefficients that cancel: the moments cannot prove the tolerance, and the points are certified all the same."""
    walks = []

    class Counted(moment_paths.Walk):
        def __init__(self, *args):
            walks.append(self)
            super().__init__(*args)

    monkeypatch.setattr(moment_paths, "Walk", Counted)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 1)) + 1e-4 * rng.standard_normal((400, 6))
    y = 1e4 * (X[:, 0] - X[:, 1]) + 0.1 * rng.standard_normal(400)
    model = RidgeCV(alphas=[1e-6], cv=3, tol=1e-9).fit(X, y)
    assert model.gap_path_.max() <= 1e-9
    assert len(walks) == 3
