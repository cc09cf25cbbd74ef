"""Prox-SDCA: the theorems bound what is observed, each option and output does what it says, windows are accounted for."""

import numpy as np
import pytest

import dualgap as dg
from dualgap import theory
from dualgap.certificate import primal_point
from dualgap.data.validation import make_problem
from dualgap.kernels.rules import mixed
from dualgap.solvers.ascent import Ascent
from dualgap.solvers.prox_sdca import RULES, update_rule
from dualgap.solvers.run import Run

LOSSES = [dg.Squared(), dg.Logistic(), dg.Softmax()]
N, D, LAM = 60, 4, 1e-2

each_loss = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
each_option = pytest.mark.parametrize("option", RULES)


def data(loss, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, D)) * rng.uniform(0.3, 1.0, (N, 1))
    scores = X @ rng.standard_normal((D, 3)) + rng.standard_normal((N, 3))
    if getattr(loss, "vector", False):
        return X, scores.argmax(axis=1)
    return X, scores[:, 0] if loss.labels == "real" else np.sign(scores[:, 0])


def setting(loss, X, y, relative):
    """The arguments of the theorems, and the accuracy asked for, relative to P(0), which is P(0) - D(0) or more."""
    problem, _ = make_problem(X, y, loss, dg.L2(LAM))
    null = primal_point(problem, np.zeros(problem.shape)).value
    size = {"n": N, "radius": problem.radius2**0.5, "lam": LAM, "gamma": loss.smoothness}
    return size, {"gap0": null, "eps": relative * null}


def worked(s):
    """Passes of updates alone."""
    return s.passes - len(s.history)


@each_loss
@each_option
def test_theorem_1(loss, option):
    for seed in range(3):
        X, y = data(loss, seed)
        size, accuracy = setting(loss, X, y, 1e-4)
        s = dg.solve(X, y, loss=loss, penalty=dg.L2(LAM), solver=dg.ProxSDCA(option, "iid"), tol=1e-4, random_state=seed)
        assert s.status is dg.Status.CERTIFIED
        assert N * worked(s) <= theory.sdca_iterations(**size, **accuracy)


@each_loss
def test_theorem_1_for_the_average(loss):
    """The windows follow one another, so that the one which holds the steps after T_0 ends at most a window later."""
    X, y = data(loss)
    size, accuracy = setting(loss, X, y, 1e-4)
    s = dg.solve(X, y, loss=loss, penalty=dg.L2(LAM), solver=dg.ProxSDCA("V", "iid", "average"), tol=1e-4)
    bound = theory.sdca_iterations_averaged(**size, **accuracy)
    window = bound - theory.averaging_start(bound, **size)
    assert s.status is dg.Status.CERTIFIED
    assert N * worked(s) <= bound + window + N
    assert len(s.history) == 1 + round(worked(s) / np.ceil(window / N))


@each_loss
def test_corollary_1(loss):
    X, y = data(loss)
    size, accuracy = setting(loss, X, y, 1e-4)
    solver = dg.ProxSDCA("V", "iid", "random")
    runs = [dg.solve(X, y, loss=loss, penalty=dg.L2(LAM), solver=solver, tol=1e-4, random_state=seed) for seed in range(20)]
    assert all(s.status is dg.Status.CERTIFIED for s in runs)
    assert N * np.mean([worked(s) for s in runs]) <= theory.sdca_iterations_expected(**size, **accuracy)


@each_loss
def test_theorem_2(loss):
    """With probability 1 - delta or more the best of a few random iterates is accurate after so many steps."""
    X, y = data(loss)
    size, accuracy = setting(loss, X, y, 1e-4)
    solver = dg.ProxSDCA("V", "iid", "best_of_random", delta=0.2)
    bound = theory.sdca_iterations_whp("best", **size, **accuracy, delta=0.2)
    late = 0
    for seed in range(20):
        s = dg.solve(X, y, loss=loss, penalty=dg.L2(LAM), solver=solver, tol=1e-4, random_state=seed)
        late += N * worked(s) > bound
    assert late <= 0.2 * 20


def ascent_of(problem, option, sampling="permuted"):
    null = primal_point(problem, np.zeros(problem.shape))
    run = Run(problem, null, tol=1e-9, max_passes=1e9, time_limit=None, callback=None, random_state=0)
    ascent = Ascent(problem, np.zeros(problem.alpha_shape), run, sampling=sampling)
    ascent.settle(np.zeros(problem.shape), 0.0)
    ascent.use(update_rule(option, problem.loss, ascent.largest_step))
    return ascent


def test_rounding_does_not_lead_out_of_a_domain():
    rng = np.random.default_rng(0)
    edges, s = rng.choice([0.3, 0.7, 1.0], 10_000), rng.random(10_000)
    for edge, inner, part in zip(edges, edges * (1.0 - 1e-15 * rng.random(10_000)), s, strict=True):
        assert inner <= mixed(edge, inner, part) <= edge
        assert -edge <= mixed(-inner, -edge, part) <= -inner


@each_loss
@each_option
def test_no_step_lowers_the_dual(loss, option):
    X, y = data(loss)
    problem, _ = make_problem(X, y, loss, dg.ElasticNet(1e-3, LAM))
    ascent = ascent_of(problem, option)
    order = ascent.shuffle().copy()

    def dual():
        return -problem.mean_conjugate(ascent.alpha)[0] - problem.penalty_conjugate(problem.transposed(ascent.alpha))

    values = [dual()]
    for t in range(N):
        ascent.sweep(order[t : t + 1])
        values.append(dual())
    assert np.all(np.diff(values) >= -1e-15)


@each_loss
@each_option
def test_a_step_gains_what_the_analysis_asks(loss, option):
    """Over the row that is drawn, E[D(new) - D] >= s/n (P - D) for s = gamma lambda n / (R^2 + gamma lambda n)."""
    X, y = data(loss)
    problem, _ = make_problem(X, y, loss, dg.L2(LAM))
    ascent = ascent_of(problem, option)
    ascent.sweep()

    def dual(alpha):
        return -problem.mean_conjugate(alpha)[0] - problem.penalty_conjugate(problem.transposed(alpha))

    alpha, gap, gains = ascent.alpha.copy(), ascent.gap(), []
    for i in range(N):
        ascent.return_to(alpha)
        ascent.settle(np.zeros(problem.shape), 0.0)
        ascent.sweep(np.array([i], dtype=ascent.order.dtype))
        gains.append(dual(ascent.alpha) - dual(alpha))
    s = 1.0 / (1.0 + problem.radius2 / (LAM * loss.smoothness * N))
    assert np.mean(gains) >= s / N * gap * (1.0 - 1e-12)


@pytest.mark.parametrize("sampling", ["permuted", "iid"])
def test_sampling(sampling):
    problem, _ = make_problem(*data(LOSSES[0]), LOSSES[0], dg.L2(LAM))
    ascent = ascent_of(problem, None, sampling)
    counts = np.zeros(N)
    for _ in range(2000):
        drawn = np.bincount(ascent.shuffle().astype(np.int64), minlength=N)
        assert sampling == "iid" or np.all(drawn == 1)
        counts += drawn
    assert np.all(np.abs(counts - 2000) < 6.0 * 2000**0.5)


def test_every_order_is_as_likely():
    problem, _ = make_problem(np.eye(3), np.arange(3.0), dg.Squared(), dg.L2(1.0))
    ascent = ascent_of(problem, None)
    orders = [tuple(ascent.shuffle().tolist()) for _ in range(6000)]
    counts = np.unique(orders, axis=0, return_counts=True)[1]
    assert len(counts) == 6
    assert np.all(np.abs(counts - 1000) < 6.0 * 1000**0.5)


@pytest.mark.parametrize(
    "penalty", [dg.L2(LAM), dg.ElasticNet(1e-2, LAM), dg.GroupL1(1e-2, LAM, np.arange(D) // 2), dg.QNorm(LAM, 1.5)], ids=str
)
@pytest.mark.parametrize("intercept", [False, True])
def test_the_average_is_the_mean_of_the_iterates(penalty, intercept):
    """Kept lazily by the kernel, and here the long way."""
    X, y = data(dg.Logistic())
    passes, rows = 2, []
    problem, _ = make_problem(X, y, dg.Logistic(), penalty, intercept=intercept)
    fast, slow = ascent_of(problem, None), ascent_of(problem, None)
    w, alpha = dg.ProxSDCA(output="average")._average(fast, fast.run, passes)
    for _ in range(passes):
        for i in slow.shuffle().copy():
            slow.sweep(np.array([i], dtype=slow.order.dtype))
            rows.append((slow.weights(), slow.alpha.copy()))
        slow.follow()
    np.testing.assert_allclose(w, np.mean([row[0] for row in rows], axis=0), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(alpha, np.mean([row[1] for row in rows], axis=0), rtol=1e-9, atol=1e-12)


def test_a_window_that_never_ends_is_cut_at_the_limit():
    X, y = data(dg.Hinge())
    for output in ("average", "random", "best_of_random"):
        s = dg.solve(X, y, loss=dg.Hinge(), penalty=dg.L1(1e-3), solver=dg.ProxSDCA(output=output), tol=1e-12, max_passes=30)
        assert s.status is dg.Status.MAX_PASSES
        assert s.passes <= 36.0


def test_exact_steps_need_no_smoothing():
    X, y = data(dg.Hinge())
    s = dg.solve(X, y, loss=dg.Hinge(), penalty=dg.L2(LAM), solver="prox_sdca", tol=1e-8)
    assert s.status is dg.Status.CERTIFIED
    assert not [note for note in s.notes if "smoothed" in note]
    for option in ("II", "III", "IV", "V"):
        smoothed = dg.solve(X, y, loss=dg.Hinge(), penalty=dg.L2(LAM), solver=dg.ProxSDCA(option), tol=5e-2, max_passes=5000)
        assert smoothed.status is dg.Status.CERTIFIED
        assert smoothed.primal - s.primal <= 5e-2 * s.null
        assert [note for note in smoothed.notes if "Hinge loss smoothed" in note]
