"""Warm starts: from another penalty, another loss, fewer rows or another solver, never later than from nothing, and never wrong."""

from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap as dg
from dualgap.formulas import traits

N, D = 200, 5
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, D))
SCORES = X @ RNG.standard_normal((D, 3)) + 2.0 * RNG.standard_normal((N, 3))
TARGETS = {"real": SCORES[:, 0], "sign": np.sign(SCORES[:, 0]), "vector": SCORES.argmax(axis=1)}
SOLVERS = ["auto", "adaptive", "prox_sdca", "accelerated", "fista"]


def solve(loss, penalty, rows=N, A=X, **options):
    y = TARGETS["vector" if getattr(loss, "vector", False) else loss.labels][:rows]
    return dg.solve(A[:rows], y, loss=loss, penalty=penalty, tol=1e-6, max_passes=5000, **options)


def no_later(earlier, loss, penalty, **options):
    """A warm start ends where a cold one does, and no later, but for when certificates are due."""
    cold, warm = solve(loss, penalty, **options), solve(loss, penalty, warm_start=earlier, **options)
    assert cold.status is warm.status is dg.Status.CERTIFIED
    assert warm.passes <= 1.1 * cold.passes + 2.0
    assert abs(warm.primal - cold.primal) <= warm.gap + cold.gap
    return warm


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", [dg.Squared(), dg.Logistic(), dg.Softmax()], ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("factor", [2.0, 1.0, 0.5])
def test_another_lambda(loss, intercept, factor, solver):
    options = {"intercept": intercept, "solver": solver}
    earlier = solve(loss, dg.ElasticNet(1e-3, 1e-2 * factor), **options)
    warm = no_later(earlier, loss, dg.ElasticNet(1e-3, 1e-2), **options)
    assert factor != 1.0 or warm.passes <= 1.0


@pytest.mark.parametrize("solver", ["auto", "prox_sdca"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (dg.Hinge(), dg.SmoothHinge(0.1)),
        (dg.SmoothHinge(0.2), dg.SmoothHinge(0.1)),
        (dg.SquaredHinge(), dg.Logistic()),  # alpha has no upper end before, and one after
        (dg.Logistic(), dg.Hinge()),
        (dg.Huber(1.0), dg.Squared()),
        (dg.Squared(), dg.Huber(1.0)),
        (dg.Quantile(0.4), dg.Quantile(0.5)),
        (dg.SmoothMaxHinge(1.0), dg.SmoothMaxHinge(0.5)),
    ],
    ids=lambda loss: str(loss),
)
def test_another_loss(before, after, solver):
    no_later(solve(before, dg.L2(1e-2)), after, dg.L2(1e-2), solver=solver)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("loss", [dg.Squared(), dg.Logistic(), dg.Softmax()], ids=lambda loss: type(loss).__name__)
def test_appended_rows(loss, solver):
    earlier = solve(loss, dg.L2(1e-2), rows=N - 20, intercept=True)
    no_later(earlier, loss, dg.L2(1e-2), intercept=True, solver=solver)


def test_another_penalty_storage_and_type():
    earlier = solve(dg.Logistic(), dg.ElasticNet(1e-2, 1e-2))
    no_later(earlier, dg.Logistic(), dg.GroupL1(1e-2, 1e-2, [0, 0, 1, 1, 1]))
    no_later(solve(dg.Logistic(), dg.L2(1e-2)), dg.Logistic(), dg.L2(1e-2), A=sp.csr_array(X.astype(np.float32)))


def test_a_point_outside_the_bounds_is_not_used():
    earlier = solve(dg.Logistic(), dg.L2(1e-2))
    bounds = dg.Box(dg.L2(1e-2), -0.1, 0.1)
    assert np.max(np.abs(earlier.w)) > 0.1
    s = solve(dg.Logistic(), bounds, warm_start=earlier)
    assert np.max(np.abs(s.w)) <= 0.1
    assert s.status is dg.Status.CERTIFIED


def test_the_first_record_is_the_certificate_of_the_start():
    earlier = solve(dg.Logistic(), dg.L2(2e-2), intercept=True)
    s = solve(dg.Logistic(), dg.L2(1e-2), intercept=True, warm_start=earlier)
    cold = solve(dg.Logistic(), dg.L2(1e-2), intercept=True)
    assert s.history.gap[0] < 0.1 * cold.history.gap[0]
    assert s.null == cold.null


@traits(labels="sign", smoothness=1.0)
class OwnSquaredHinge(NamedTuple):
    """Without a domain, so that nothing says where a dual variable of another loss should go."""

    def value(self, z, y):
        return 0.5 * max(0.0, 1.0 - y * z) ** 2

    def derivative(self, z, y):
        return -y * max(0.0, 1.0 - y * z)

    def conjugate(self, b, y):
        return 0.5 * b * b + y * b if y * b <= 0.0 else np.inf


def test_dual_variables_that_an_own_loss_does_not_allow_are_dropped():
    y = TARGETS["sign"]
    earlier = dg.solve(X, y, loss=dg.Squared(), penalty=dg.L2(1e-2), tol=1e-6)
    assert np.any(earlier.alpha * y < 0.0)
    s = dg.solve(X, y, loss=OwnSquaredHinge(), penalty=dg.L2(1e-2), warm_start=earlier, tol=1e-6)
    known = dg.solve(X, y, loss=dg.SquaredHinge(), penalty=dg.L2(1e-2), tol=1e-6)
    assert s.status is dg.Status.CERTIFIED
    assert abs(s.primal - known.primal) <= s.gap + known.gap


def test_an_earlier_solution_is_left_as_it_was():
    earlier = solve(dg.Logistic(), dg.L2(1e-1), intercept=True)
    w, alpha = earlier.w.copy(), earlier.alpha.copy()
    solve(dg.Logistic(), dg.L2(1e-3), intercept=True, warm_start=earlier)
    np.testing.assert_array_equal(earlier.w, w)
    np.testing.assert_array_equal(earlier.alpha, alpha)
