"""The relay: the second solver takes over where the first is slow, not where it is fast, and from where that was."""

import numpy as np
import pytest

import dualgap as dg


def data(scale):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 8)) * 10.0 ** np.linspace(0.0, scale, 8)
    return X, np.sign(X @ (rng.standard_normal(8) / 10.0 ** np.linspace(0.0, scale, 8)) + 0.5 * rng.standard_normal(500))


RELAY = dg.Relay(dg.AdaptiveProxSDCA(), dg.GramNewton())


@pytest.mark.parametrize("loss", [dg.Logistic(), dg.Squared(), dg.SmoothHinge(1.0)], ids=lambda v: type(v).__name__)
def test_newton_takes_over_where_columns_are_badly_scaled(loss):
    X, y = data(3.0)
    s = dg.solve(X, y, loss=loss, penalty=dg.L2(1e-6), intercept=True, solver=RELAY, tol=1e-9)
    assert s.status is dg.Status.CERTIFIED
    assert "GramNewton took over." in s.notes
    alone = dg.solve(X, y, loss=loss, penalty=dg.L2(1e-6), intercept=True, solver="adaptive", tol=1e-9, max_passes=1000)
    assert s.passes < alone.passes


def test_an_easy_problem_is_left_to_the_first():
    X, y = data(0.0)
    easy = {"loss": dg.Logistic(), "penalty": dg.L2(1.0), "tol": 1e-3}
    np.testing.assert_array_equal(dg.solve(X, y, solver=RELAY, **easy).w, dg.solve(X, y, solver="adaptive", **easy).w)


def test_what_has_no_price_is_refused():
    with pytest.raises(TypeError, match="then must be a solver object with the method price"):
        dg.Relay(dg.AdaptiveProxSDCA(), dg.ProxSDCA())
