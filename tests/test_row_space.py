"""The space of the rows: the same optimum, certified in the original problem, for dense and sparse rows and with an intercept."""

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap as dg


def data(n=30, d=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.3)
    return X, np.sign(X @ rng.standard_normal(d) + rng.standard_normal(n))


SOLVER = dg.RowSpace(dg.GramNewton())


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("loss", [dg.Squared(), dg.Logistic(), dg.SquaredHinge()], ids=lambda v: type(v).__name__)
def test_it_finds_the_optimum(loss, sparse, intercept):
    X, y = data()
    X = sp.csr_array(X) if sparse else X
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    common = {"loss": loss, "penalty": dg.L2(1e-3), "intercept": intercept, "sample_weight": weight}
    s = dg.solve(X, y, solver=SOLVER, tol=1e-10, **common)
    assert s.status is dg.Status.CERTIFIED
    other = dg.solve(X, y, solver="adaptive", tol=1e-8, **common)
    assert abs(s.primal - other.primal) <= s.gap + other.gap
    assert np.linalg.norm(s.w - other.w) <= s.distance + other.distance


@pytest.mark.parametrize("kind", ["repeated rows", "zero rows", "one row"])
def test_rows_that_do_not_span(kind):
    X, y = data(6)
    if kind == "repeated rows":
        X[3], X[5] = X[2], X[0]
    elif kind == "zero rows":
        X[:] = 0.0
    else:
        X, y = X[:1], np.array([2.0])
    s = dg.solve(X, y, loss=dg.Squared(), penalty=dg.L2(1e-2), solver=SOLVER, tol=1e-9)
    assert s.status is dg.Status.CERTIFIED


def test_limits_are_those_of_the_solve():
    X, y = data()
    s = dg.solve(X, y, loss=dg.Logistic(), penalty=dg.L2(1e-9), solver=SOLVER, tol=1e-14, max_passes=4)
    assert s.status in (dg.Status.MAX_PASSES, dg.Status.ROUNDING)
    assert np.isfinite(s.gap)


def test_other_penalties_are_refused():
    X, y = data()
    with pytest.raises(ValueError, match="a penalty l2/2"):
        dg.solve(X, y, loss=dg.Squared(), penalty=dg.ElasticNet(0.1, 0.1), solver=SOLVER)
