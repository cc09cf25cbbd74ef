"""The adaptive acceleration: its bound holds, its ledger adds up, its safeguards fire, and it is not slower than what it builds on."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dualgap as dg
from dualgap.certificate import primal_point
from dualgap.data.validation import make_problem
from dualgap.solvers import adaptive
from dualgap.solvers.ascent import Ascent
from dualgap.solvers.ledger import Ledger
from dualgap.solvers.prox_sdca import update_rule
from dualgap.solvers.run import Run


def data(seed, n=80, d=6, spread=0.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-spread, spread, (n, 1))
    y = np.sign(X @ rng.standard_normal(d) + 0.5 * rng.standard_normal(n))
    y[0], y[1] = 1.0, -1.0
    return X, y


def new_run(problem, w=None):
    null = primal_point(problem, np.zeros(problem.shape) if w is None else w)
    return Run(problem, null, tol=1e-9, max_passes=1e9, time_limit=None, callback=None, random_state=0)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), work=st.integers(0, 3), kappa=st.floats(1e-6, 1e2))
def test_the_bound_of_a_step_holds_however_sloppy_it_was(seed, work, kappa):
    rng = np.random.default_rng(seed)
    X, y = data(seed)
    problem, _ = make_problem(X, y, dg.SmoothHinge(1.0), dg.ElasticNet(1e-3, 1e-2))
    ascent = Ascent(problem, y * rng.uniform(0.0, 1.0, 80), new_run(problem))
    center = np.append(rng.standard_normal(6), 0.0)
    ascent.settle(center, kappa)
    ascent.use(update_rule(None, problem.loss, ascent.largest_step))
    for _ in range(work):
        ascent.sweep()
    w = ascent.weights()
    c = problem.penalty_value(w) - float(ascent.a @ w) - problem.mean_conjugate(ascent.alpha)[0]
    for _ in range(20):
        x = w + np.append(rng.standard_normal(6) * 10.0 ** rng.uniform(-4, 1), 0.0)
        bound = c + kappa * (center - w) @ (x - w) + 0.5 * 1e-2 * (x - w) @ (x - w)
        assert primal_point(problem, x).value >= bound - 1e-12 * (1.0 + abs(bound))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), lam=st.floats(0.0, 10.0), steps=st.integers(1, 6))
def test_the_ledger_is_the_least_value_of_its_bounds(seed, lam, steps):
    rng = np.random.default_rng(seed)
    metric = rng.uniform(0.1, 3.0, 4)
    ledger = Ledger(lam, np.arange(len(metric)), metric)
    start = rng.standard_normal(4)
    ledger.restart(start, 0.7)
    w, entries = start, []
    for _ in range(steps):
        kappa = rng.uniform(0.1, 5.0)
        a = ledger.step_length(kappa)
        assert kappa * a * a == pytest.approx((1.0 + lam * ledger.A) * (ledger.A + a), rel=1e-9)
        y, w, c = ledger.center(w, a), rng.standard_normal(4), rng.standard_normal()
        ledger.enter(a, kappa, c, y, w)
        entries.append((a, kappa, c, y, w))

    def total(x):
        value = 0.5 * ledger.inner(x, start, x, start)
        for a, kappa, c, y, v in entries:
            value += a * (c - 0.7 + kappa * ledger.inner(y, v, x, v) + 0.5 * lam * ledger.inner(x, v, x, v))
        return value

    assert total(ledger.z) == pytest.approx(ledger.Phi, rel=1e-9, abs=1e-9)
    for _ in range(20):
        assert total(ledger.z + 0.1 * rng.standard_normal(4)) >= ledger.Phi - 1e-9


CONDITIONS = [1e-1, 1e1, 1e3, 1e5]


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("shape", [(400, 10), (60, 200)], ids=["tall", "wide"])
@pytest.mark.parametrize("loss", [dg.SmoothHinge(1.0), dg.Logistic(), dg.Squared()], ids=lambda v: type(v).__name__)
def test_it_is_never_much_slower_than_what_it_builds_on(loss, shape, condition):
    n, d = shape
    X, y = data(3, n, d, spread=0.3)
    lam = float(np.max(np.einsum("ij,ij->i", X, X))) / (condition * loss.smoothness * n)
    passes = {}
    for solver in ("prox_sdca", "accelerated", "adaptive"):
        s = dg.solve(X, y, loss=loss, penalty=dg.L2(lam), solver=solver, tol=1e-6, max_passes=3000)
        passes[solver] = s.passes if s.status is dg.Status.CERTIFIED else np.inf
    assert passes["adaptive"] <= 1.5 * min(passes["prox_sdca"], passes["accelerated"]) + 10.0


def test_a_kappa_that_is_far_too_small_is_noticed(monkeypatch):
    """Steps that solve next to nothing break the ledger: the effort must rise, and the solve still end with a certificate."""
    events = []
    begin, lift, back = adaptive._Effort.__init__, adaptive._Effort.lift, adaptive._Adaptive._go_back

    def starved(self, problem):
        begin(self, problem)
        self.kappa *= 1e-5

    monkeypatch.setattr(adaptive._Effort, "__init__", starved)
    monkeypatch.setattr(adaptive._Effort, "lift", lambda self, r: (events.append("lift"), lift(self, r))[1])
    monkeypatch.setattr(adaptive._Adaptive, "_go_back", lambda self: (events.append("back"), back(self))[1])
    X, y = data(4, 400, 10)
    s = dg.solve(X, y, loss=dg.Squared(), penalty=dg.L2(1e-7), solver="adaptive", tol=1e-6, max_passes=3000)
    assert "lift" in events
    assert s.status is dg.Status.CERTIFIED


def test_after_repeated_setbacks_steps_are_made_accurate(monkeypatch):
    calls = []
    until = adaptive._Adaptive._work_until_accurate
    monkeypatch.setattr(adaptive, "PATIENCE", 0)
    monkeypatch.setattr(adaptive._Adaptive, "_work_until_accurate", lambda self: (calls.append(1), until(self))[1])
    X, y = data(5, 400, 10)
    s = dg.solve(X, y, loss=dg.Logistic(), penalty=dg.L2(1e-5), solver="adaptive", tol=1e-6, max_passes=3000)
    assert calls
    assert s.status is dg.Status.CERTIFIED


def test_the_iterate_never_ends_above_the_null_model():
    for seed in range(10):
        X, y = data(seed, 50, 100, spread=2.0)
        s = dg.solve(X, y, loss=dg.Squared(), penalty=dg.L2(1e-9), solver="adaptive", tol=1e-9, max_passes=60)
        assert s.primal <= s.null
