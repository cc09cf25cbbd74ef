"""Accelerated Prox-SDCA: Theorem 3 and both printed conditions bound what is observed, and the direct certificate is the tighter one."""

import itertools

import numpy as np
import pytest

import dualgap as dg
from dualgap import theory
from dualgap.certificate import primal_point
from dualgap.data.validation import make_problem
from dualgap.solvers.run import Run
from dualgap.solvers.surrogate import covered

N, D = 60, 4
SMOOTH = [dg.Squared(), dg.Logistic(), dg.SmoothHinge(0.5), dg.Softmax()]
ROUGH = [dg.Hinge(), dg.Absolute(), dg.MaxHinge()]

each_smooth = pytest.mark.parametrize("loss", SMOOTH, ids=lambda loss: type(loss).__name__)
each_rough = pytest.mark.parametrize("loss", ROUGH, ids=lambda loss: type(loss).__name__)


def data(loss, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, D)) * rng.uniform(0.3, 1.0, (N, 1))
    scores = X @ rng.standard_normal((D, 3)) + 3.0 * rng.standard_normal((N, 3))
    if getattr(loss, "vector", False):
        return X, scores.argmax(axis=1)
    return X, scores[:, 0] if loss.labels == "real" else np.sign(scores[:, 0])


def hard(loss, X, y, condition=100.0):
    """The lambda for a condition R^2/(lambda gamma n), the arguments of the theorems, and P(0)."""
    problem, _ = make_problem(X, y, loss, dg.L2(1.0))
    lam = problem.radius2 / (condition * (loss.smoothness or 1.0) * N)
    return (
        lam,
        {"n": N, "radius": problem.radius2**0.5, "lam": lam, "gamma": loss.smoothness},
        primal_point(problem, np.zeros(problem.shape)).value,
    )


def best(X, y, loss, penalty, tol=1e-10):
    """A lower bound of the least objective, off by little."""
    s = dg.solve(X, y, loss=loss, penalty=penalty, tol=tol, max_passes=1e5)
    assert s.status is dg.Status.CERTIFIED
    return s.primal - s.gap


@each_smooth
@pytest.mark.parametrize("stop", ["direct", "paper"])
def test_theorem_3(loss, stop):
    X, y = data(loss)
    lam, size, null = hard(loss, X, y)
    penalty, accuracy = dg.L2(lam), {"gap0": null, "eps": 1e-4 * null}
    solver = dg.AcceleratedProxSDCA("theory", stop, sampling="iid")
    runs = [dg.solve(X, y, loss=loss, penalty=penalty, solver=solver, tol=1e-4, max_passes=1e6, random_state=seed) for seed in range(3)]
    assert all(s.status is dg.Status.CERTIFIED for s in runs)
    assert N * np.mean([s.passes for s in runs]) <= theory.accelerated_iterations(**size, **accuracy)
    least = best(X, y, loss, penalty)
    assert all(s.primal - least <= 1e-4 * null for s in runs)


@each_smooth
def test_the_first_condition_comes_when_it_is_printed(loss, monkeypatch):
    """With the second one out of the way a run ends at the first t >= 1 + 2/eta log(xi_1/eps), below the bound of the theorem."""
    monkeypatch.setattr(dg.AcceleratedProxSDCA, "_second_condition", lambda *args: "")
    X, y = data(loss)
    lam, size, null = hard(loss, X, y, 12.0)
    s = dg.solve(X, y, loss=loss, penalty=dg.L2(lam), solver=dg.AcceleratedProxSDCA("theory", "paper"), tol=0.5, max_passes=1e6)
    accuracy = {"gap0": null, "eps": 0.5 * null}
    t = theory.outer_iterations(eta=theory.acceleration(**size).eta, **accuracy)
    assert f"The paper's first condition holds: t = {t}." in s.notes
    assert t <= theory.outer_iterations_bound(**size, **accuracy)
    assert s.primal - best(X, y, loss, dg.L2(lam)) <= 0.5 * null


@each_smooth
@pytest.mark.parametrize("inner", [1, 5, "theory"])
def test_the_second_condition_is_a_bound(loss, inner, monkeypatch):
    """However sloppy the inner problems were solved; and the direct certificate, which is computed as often here, is a tighter one."""
    X, y = data(loss)
    lam, _, _ = hard(loss, X, y)
    least = best(X, y, loss, dg.L2(lam))
    values, bounds = [], []
    true, certify = theory.stopping_bound, Run.certify
    monkeypatch.setattr(theory, "stopping_bound", lambda **arguments: bounds.append(true(**arguments)) or bounds[-1])
    monkeypatch.setattr(Run, "certify", lambda self, w, alpha, **options: values.append(certify(self, w, alpha, **options)) or values[-1])
    monkeypatch.setattr(Run, "due", True)
    s = dg.solve(X, y, loss=loss, penalty=dg.L2(lam), solver=dg.AcceleratedProxSDCA(inner, "paper"), tol=1e-4, max_passes=2000)
    assert s.status is dg.Status.CERTIFIED
    assert len(bounds) == len(values) - 1 > 5
    assert all(value - least <= bound for value, bound in zip(values[1:], bounds, strict=True))
    assert np.all(s.history.gap[1:] <= bounds)


@each_smooth
def test_the_direct_certificate_ends_no_later(loss):
    """But for the passes between two certificates."""
    X, y = data(loss)
    lam, _, null = hard(loss, X, y)
    common = {"loss": loss, "penalty": dg.L2(lam), "tol": 1e-5, "max_passes": 1e5}
    direct = dg.solve(X, y, solver=dg.AcceleratedProxSDCA(), **common)
    paper = dg.solve(X, y, solver=dg.AcceleratedProxSDCA(stop="paper"), **common)
    assert direct.status is paper.status is dg.Status.CERTIFIED
    assert direct.passes <= 1.4 * paper.passes + 10.0
    assert paper.gap <= 1e-5 * null


ROUGH_SOLVERS = [dg.AcceleratedProxSDCA(), dg.AcceleratedProxSDCA("theory", "paper"), dg.FISTA()]


@each_rough
@pytest.mark.parametrize(
    ("penalty", "solver"),
    [*itertools.product([dg.L2(1e-2), dg.L1(0.1)], ROUGH_SOLVERS), (dg.L2(1e-2), dg.ProxSDCA(smoothing=True))],
    ids=str,
)
def test_a_loss_that_is_not_smooth_is_solved_to_the_tolerance_of_itself(loss, penalty, solver):
    X, y = data(loss)
    s = dg.solve(X, y, loss=loss, penalty=penalty, solver=solver, tol=5e-2, max_passes=1e5)
    assert s.status is dg.Status.CERTIFIED
    assert f"{type(loss).__name__} loss smoothed" in " ".join(s.notes)
    assert s.primal - best(X, y, loss, penalty, 1e-3) <= 5e-2 * s.null


@each_rough
@pytest.mark.parametrize("penalty", [dg.L2(1e-3), dg.L1(1e-2), dg.Box(dg.L2(0.0), -0.5, 0.5)], ids=["ridge", "lasso", "bounds"])
def test_what_is_changed_costs_half_of_the_tolerance(loss, penalty):
    X, y = data(loss)
    problem, _ = make_problem(X, y, loss, penalty)
    null = primal_point(problem, np.zeros(problem.shape))
    run = Run(problem, null, tol=1e-2, max_passes=1e9, time_limit=None, callback=None, random_state=0)
    changed, ridge, left = covered(problem, run)
    assert left == 0.5 * run.target
    at = dg.solve(X, y, loss=loss, penalty=penalty, tol=1e-5, max_passes=1e4).w
    w = np.vstack([at, np.zeros((1, 3))]) if problem.outputs else np.append(at, 0.0)
    value = primal_point(changed, w).value + 0.5 * ridge * float(np.sum(w * w))
    assert value <= primal_point(problem, w).value + left * (1.0 + 1e-9)  # the changed optimum is at most this much above
    for point in np.random.default_rng(0).standard_normal((20, *w.shape)):
        lower = primal_point(changed, point).value + 0.5 * ridge * float(np.sum(point * point))
        assert primal_point(problem, point).value <= lower + left * (1.0 + 1e-9)  # and no point is better than it looks by more


def test_the_paper_condition_wants_all_coefficients_penalized():
    X, y = data(dg.Logistic())
    solver = dg.AcceleratedProxSDCA(stop="paper")
    with pytest.raises(ValueError, match="no intercept for the paper's conditions"):
        dg.solve(X, y, loss=dg.Logistic(), penalty=dg.L2(1e-4), intercept=True, solver=solver)
    with pytest.raises(ValueError, match="a penalty on every coefficient"):
        dg.solve(X, y, loss=dg.Logistic(), penalty=dg.Factors(dg.L2(1e-4), [0.0, 1.0, 1.0, 1.0]), solver=solver)


def test_an_interrupted_inner_problem_counts_for_nothing():
    """The first condition is a theorem only where the inner problems were solved to the end."""
    X, y = data(dg.Logistic())
    lam, _, _ = hard(dg.Logistic(), X, y, 1e6)
    for passes in range(2, 30):
        s = dg.solve(
            X, y, loss=dg.Logistic(), penalty=dg.L2(lam), solver=dg.AcceleratedProxSDCA("theory", "paper"), tol=1e-9, max_passes=passes
        )
        assert s.status is dg.Status.MAX_PASSES


@each_smooth
def test_easy_problems_are_left_to_prox_sdca(loss):
    X, y = data(loss)
    lam, _, _ = hard(loss, X, y, 9.9)
    s = dg.solve(X, y, loss=loss, penalty=dg.L2(lam), solver="accelerated", tol=1e-6)
    assert any("solved by Prox-SDCA, as the paper prescribes" in note for note in s.notes)
    assert s.status is dg.Status.CERTIFIED
