"""Paths: every point is certified, and as good as a solve by itself; what they promise about strengths, limits and interrupts."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dualgap as dg
from cases import Case, violations
from dualgap.path import vanished
from dualgap.penalties import scaled

N, D = 60, 6
GROUPS = np.array([0, 0, 1, 1, 2, 2])
LOSSES = [
    dg.Squared(),
    dg.Absolute(),
    dg.Huber(0.5),
    dg.EpsilonInsensitive(0.1),
    dg.SquaredEpsilonInsensitive(0.1),
    dg.Quantile(0.3),
    dg.Logistic(),
    dg.Hinge(),
    dg.SmoothHinge(0.5),
    dg.SquaredHinge(),
    dg.MaxHinge(),
    dg.SmoothMaxHinge(0.5),
    dg.SoftMaxHinge(0.5),
    dg.Softmax(),
]
PENALTIES = [
    dg.L2(1.0),
    dg.L1(1.0),
    dg.ElasticNet(0.7, 0.3),
    dg.GroupL1(1.0, 0.1, GROUPS),
    dg.Factors(dg.L1(1.0), np.array([0.0, 1.0, 0.5, 1.0, 2.0, 1.0])),
    dg.NonNegative(dg.L1(1.0)),
    dg.Box(dg.L2(1.0), -0.5, np.inf),
]


def targets(loss, scores):
    if getattr(loss, "vector", False):
        return scores.argmax(axis=1)
    return scores[:, 0] if loss.labels == "real" else np.where(scores[:, 0] > 0.0, 1.0, -1.0)


def data(loss, seed=0, n=N, d=D):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.7)
    return X, targets(loss, X @ rng.standard_normal((d, 3)) + rng.standard_normal((n, 3)))


def points(path, X, y, loss, penalty, intercept, weight=None):
    """The solutions of a path as cases of their own."""
    for strength, s in zip(path.strengths, path, strict=True):
        yield Case(X, y, loss, scaled(penalty, strength), weight, intercept), s


@pytest.mark.parametrize(("loss", "penalty"), list(zip(LOSSES, itertools.cycle(PENALTIES), strict=False)), ids=lambda v: type(v).__name__)
def test_every_point_is_certified(loss, penalty):
    X, y = data(loss)
    tol = 1e-6 if loss.smoothness > 0.0 else 1e-3
    path = dg.path(X, y, loss=loss, penalty=penalty, count=4, smallest=0.01, intercept=True, tol=tol)
    assert path.status == (dg.Status.CERTIFIED,) * 4
    for case, s in points(path, X, y, loss, penalty, True):
        assert violations(case, s, tol) == []


WIDE = 45
KINKED = {
    "l1": (dg.Squared(), dg.L1(1.0)),
    "factors": (dg.Squared(), dg.Factors(dg.L1(1.0), np.where(np.arange(WIDE) == 4, 0.0, np.linspace(0.5, 2.0, WIDE)))),
    "group": (dg.Squared(), dg.GroupL1(1.0, 0.0, np.arange(WIDE) // 3)),
    "elastic net": (dg.Logistic(), dg.ElasticNet(0.9, 0.1)),
    "positive": (dg.Logistic(), dg.NonNegative(dg.L1(1.0))),
}


@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 10**6), wide=st.booleans())
@pytest.mark.parametrize("kind", KINKED)
def test_columns_that_are_left_out_are_rightly_so(kind, seed, wide):
    """With enough columns for the strong rule, correlated ones and weights among them."""
    loss, penalty = KINKED[kind]
    rng = np.random.default_rng(seed)
    n = 30 if wide else 120
    X = rng.standard_normal((n, WIDE)) + 2.0 * rng.standard_normal((n, 1))
    X *= rng.random((n, WIDE)) < 0.8
    y = targets(loss, X[:, :3] @ rng.standard_normal((3, 3)) + rng.standard_normal((n, 3)))
    common = {"loss": loss, "sample_weight": rng.integers(0, 3, n).astype(float), "intercept": True}
    path = dg.path(X, y, penalty=penalty, count=6, smallest=0.05, tol=1e-7, **common)
    assert np.all(path.relative_gap <= 1e-7)
    assert path.nonzero[0] <= (2 if kind == "factors" else 1)
    for s in path:
        last = s.history[-1]
        assert (last.primal, last.dual, last.gap, last.passes) == (s.primal, s.dual, s.gap, s.passes)
    for s, strength in zip(path[3::2], path.strengths[3::2], strict=True):
        alone = dg.solve(X, y, penalty=scaled(penalty, strength), tol=1e-5, **common)
        assert alone.primal - alone.gap <= s.primal
        assert s.primal - s.gap <= alone.primal


def test_strengths_where_bounds_hold_everything_at_nothing():
    X, y = data(dg.Squared())
    X, y = np.abs(X), -np.abs(y)
    for penalty in (dg.NonNegative(dg.L1(1.0)), dg.NonNegative(dg.ElasticNet(1.0, 1.0))):
        path = dg.path(X, y, loss=dg.Squared(), penalty=penalty, count=3)
        assert np.all(path.nonzero == 0)
        assert np.all(path.relative_gap <= 1e-6)
    path = dg.path(X, np.ones(N), loss=dg.Squared(), penalty=dg.L1(1.0), count=3, intercept=True)
    assert np.all(path.nonzero == 0)
    assert np.all(path.gap <= 1e-15)


def test_the_first_default_strength_is_where_coefficients_begin():
    X, y = data(dg.Squared(), n=200)
    for penalty in (dg.L1(2.0), dg.ElasticNet(1.0, 0.5), dg.GroupL1(1.0, 0.0, GROUPS)):
        first = dg.path(X, y, loss=dg.Squared(), penalty=penalty, count=2, smallest=0.99, intercept=True)
        assert first.nonzero[0] == 0 < first.nonzero[1]
    path = dg.path(X, y, loss=dg.Squared(), penalty=dg.L1(1.0), count=5, smallest=1e-2, intercept=True)
    np.testing.assert_allclose(path.strengths[1:] / path.strengths[:-1], 0.01**0.25)
    assert path.strengths[0] == pytest.approx(np.max(np.abs(X.T @ (y - y.mean()))) / len(y), rel=1e-12)


def test_strengths_are_visited_from_the_largest_and_may_end_at_nothing():
    X, y = data(dg.Squared())
    path = dg.path(X, y, loss=dg.Squared(), penalty=dg.ElasticNet(1.0, 1.0), strengths=[0.0, 0.1, 10.0], intercept=True, tol=1e-12)
    assert path.strengths.tolist() == [10.0, 0.1, 0.0]
    assert [s.penalty for s in path[:2]] == [dg.ElasticNet(10.0, 10.0), dg.ElasticNet(0.1, 0.1)]
    A = np.column_stack([X, np.ones(N)])
    w = np.linalg.lstsq(A, y, rcond=None)[0]
    np.testing.assert_allclose([*path.w[-1], path.intercept[-1]], w, atol=1e-6)
    held = dg.path(X, y, loss=dg.Squared(), penalty=dg.NonNegative(dg.L1(1.0)), strengths=[0.0])
    assert np.all(held.w >= 0.0)
    assert vanished(dg.Box(dg.L2(3.0), 0.0, 1.0), 2).upper == 1.0


def test_a_path_is_a_sequence():
    X, y = data(dg.Logistic())
    path = dg.path(X, y, loss=dg.Logistic(), penalty=dg.L2(1.0), count=5, intercept=True)
    assert len(path) == 5
    assert path[1] is path.solutions[1]
    assert list(path[2:]) == list(path.solutions[2:])
    assert path.w.shape == (5, D)
    assert path.intercept.shape == path.gap.shape == path.passes.shape == path.primal.shape == (5,)
    assert "Path of 5 solutions" in repr(path)
    assert "5 certified" in repr(path)


def test_limits_and_callbacks_end_a_path_early():
    X, y = data(dg.Logistic())
    common = {"loss": dg.Logistic(), "penalty": dg.L2(1.0), "count": 50}
    assert len(dg.path(X, y, time_limit=0.0, **common)) == 0
    seen = []

    def stop(record):
        seen.append(record)
        return len(seen) >= 5

    path = dg.path(X, y, callback=stop, **common)
    assert 1 <= len(path) < 50
    assert len(seen) == 5
    assert path.status[-1] in (dg.Status.CALLBACK, dg.Status.CERTIFIED)
    short = dg.path(X, y, max_passes=1.0, solver="fista", tol=1e-12, strengths=[1e-3, 1e-4], loss=dg.Logistic(), penalty=dg.L2(1.0))
    assert short.status == (dg.Status.MAX_PASSES,) * 2
    assert np.all(np.isfinite(short.gap))


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"count": 0}, "count must be a positive integer, got 0"),
        ({"smallest": 2.0}, "smallest must be a number between 0 and 1, got 2.0"),
        ({"strengths": [1.0, -1.0]}, "strengths must be a sequence of numbers that are not negative"),
        ({"strengths": []}, "strengths must be a sequence"),
        ({"strengths": [math.nan]}, "strengths must be a sequence"),
        ({"tol": 0.0}, "tol must be"),
        ({"penalty": dg.Entropy(1.0), "strengths": [0.0]}, "strengths must be positive for Entropy"),
    ],
    ids=str,
)
def test_bad_arguments_are_named(change, match):
    X, y = data(dg.Squared())
    with pytest.raises(ValueError, match=match):
        dg.path(X, y, **{"loss": dg.Squared(), "penalty": dg.L2(1.0)} | change)
