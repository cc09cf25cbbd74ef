"""FISTA: its rate, its backtracking, its restart."""

import numpy as np
import pytest

import dualgap as dg
from dualgap import formulas
from dualgap.certificate import primal_point
from dualgap.data.validation import make_problem
from dualgap.solvers.fista import _State
from dualgap.solvers.run import Run

N, D = 50, 6
LOSSES = [dg.Squared(), dg.Logistic(), dg.SmoothHinge(0.5), dg.SquaredHinge(), dg.Softmax(), dg.SmoothMaxHinge(1.0)]
PENALTIES = [dg.L2(1e-3), dg.L1(1e-2), dg.GroupL1(1e-2, 1e-3, np.arange(D) // 2), dg.Box(dg.L2(0.0), -0.3, 0.5)]

each_loss = pytest.mark.parametrize("loss", LOSSES, ids=lambda v: type(v).__name__)
each_penalty = pytest.mark.parametrize("penalty", PENALTIES, ids=lambda v: type(v).__name__)


def data(loss, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, D)) * 10.0 ** np.linspace(-1.0, 1.0, D)
    scores = X @ rng.standard_normal((D, 3)) + 3.0 * rng.standard_normal((N, 3))
    if getattr(loss, "vector", False):
        return X, scores.argmax(axis=1)
    return X, scores[:, 0] if loss.labels == "real" else np.sign(scores[:, 0])


def begun(loss, penalty, intercept):
    problem, _ = make_problem(*data(loss), loss, penalty, intercept=intercept)
    null = primal_point(problem, np.zeros(problem.shape))
    run = Run(problem, null, tol=1e-12, max_passes=1e9, time_limit=None, random_state=0)
    run.certify(null.w, np.zeros(problem.alpha_shape))
    run.next_check = np.inf
    return problem, run, _State(problem, np.zeros(problem.shape), np.zeros(problem.alpha_shape))


def lipschitz(problem):
    """The largest eigenvalue of (X, 1)'(X, 1) s/S, over gamma."""
    rows = np.column_stack([problem.X, np.ones(N)]) if problem.intercept else problem.X
    stretch = formulas.stretch(problem.loss, problem.outputs) if problem.outputs else 1.0
    return stretch * np.linalg.norm(rows * np.sqrt(problem.share)[:, None], 2) ** 2 / problem.loss.smoothness


@each_loss
@each_penalty
def test_the_rate_of_the_theorem(loss, penalty):
    """P(w_k) - P* <= 2 L |w_0 - w*|^2/(k + 1)^2 without restarts, where backtracking may double L."""
    X, y = data(loss)
    problem, run, state = begun(loss, penalty, False)
    s = dg.solve(X, y, loss=loss, penalty=penalty, tol=1e-11, max_passes=1e5)
    away = float(np.sum(s.w**2))
    for k in range(1, 200):
        state.step(run, False)
        bound = 2.0 * 2.0 * lipschitz(problem) * away / (k + 1) ** 2
        assert primal_point(problem, state.w).value - s.primal <= bound + 1e-12 * s.null


@each_loss
@pytest.mark.parametrize("intercept", [False, True])
def test_backtracking_stays_below_twice_the_constant(loss, intercept):
    problem, run, state = begun(loss, PENALTIES[0], intercept)
    for _ in range(100):
        state.step(run, True)
        assert state.lipschitz <= max(2.0 * lipschitz(problem), state.largest / 64.0)


@each_loss
@each_penalty
@pytest.mark.parametrize("intercept", [False, True])
def test_kept_scores_are_those_of_the_points(loss, penalty, intercept):
    problem, run, state = begun(loss, penalty, intercept)
    for _ in range(50):
        state.step(run, True)
    everything = slice(0, N)
    np.testing.assert_allclose(state.z, problem.scores(state.w, everything), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(state.z_y, problem.scores(state.y, everything), rtol=1e-9, atol=1e-9)


@each_loss
def test_restarts_help_where_the_problem_is_strongly_convex(loss):
    X, y = data(loss)
    common = {"loss": loss, "penalty": dg.L2(1e-2), "tol": 1e-9, "max_passes": 1e5}
    with_them, without = (dg.solve(X, y, solver=dg.FISTA(restart), **common) for restart in (True, False))
    assert with_them.status is without.status is dg.Status.CERTIFIED
    assert with_them.passes <= without.passes + 3.0
