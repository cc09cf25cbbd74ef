"""The certificate: 0 <= P(w) - min P <= gap for every loss, penalty, solver, storage and kind of data, by an independent reference."""

import os
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dualgap as dg
import reference
import test_losses
import test_multiclass
import test_penalties
from cases import STORAGES, Case, stored, violations
from dualgap.certificate import dual_point, primal_point
from dualgap.problem import unpenalized
from dualgap.solvers import SOLVERS, run
from dualgap.solvers.run import Run
from pairs import covering, pairs, pairs_of

pytestmark = pytest.mark.skipif(not reference.EXTENDED, reason="the long double is a double here")

D = test_penalties.D
N = 12


def kinds(members):
    """The members of a list by the types that are compiled for them."""
    groups = {}
    for member in members:
        groups.setdefault(shape(member), []).append(member)
    return list(groups.values())


def shape(member):
    inner = [shape(part) for part in member if hasattr(part, "_fields")]
    return type(member), *inner


LOSSES = kinds(test_losses.ALL_LOSSES + test_multiclass.ALL_LOSSES)
PENALTIES = kinds(map(test_penalties.placed, test_penalties.ALL_PENALTIES))
NEWTON = dg.GramNewton()
ALL_SOLVERS = [
    *SOLVERS.values(),
    lambda: dg.ProxSDCA("II", "iid", "random"),
    lambda: dg.ProxSDCA("III", "iid", "average", window=20),
    lambda: dg.ProxSDCA("IV", "iid", "best_of_random"),
    lambda: dg.ProxSDCA("V", smoothing=True),
    lambda: dg.AcceleratedProxSDCA("theory", "paper", "I", "iid"),
    lambda: dg.AcceleratedProxSDCA(1, "paper", "III"),
    lambda: dg.FISTA(restart=False),
    lambda: dg.RowSpace(NEWTON),
    lambda: dg.Race(dg.AdaptiveProxSDCA(), dg.ProxSDCA(), first=4.0),
    lambda: dg.Relay(dg.ProxSDCA(), NEWTON),
]
ROWS = [(storage, dtype) for storage in STORAGES for dtype in (np.float64, np.float32)]
DATA = ["plain", "columns", "rows", "few", "same", "zero", "constant", "separable"]
RUNS = ["loose", "tight", "one pass", "no time", "callback", "warm"]
FACTORS = (LOSSES, ALL_SOLVERS, PENALTIES, DATA, RUNS, ROWS, (None, "spread"), (False, True), (1, 3))


def allowed(row):
    """Whether the solver takes the problem, and the penalty the loss."""
    (loss, *_), make, (penalty, *_), _, _, _, _, intercept, _ = (levels[i] for levels, i in zip(FACTORS, row, strict=True))
    outputs = 3 if getattr(loss, "vector", False) else 0
    if outputs and isinstance(penalty, (dg.QNorm, dg.Entropy)):
        return False
    problem = {"loss": loss, "penalty": penalty, "intercept": intercept, "outputs": outputs, "unpenalized": unpenalized(penalty)}
    return not make().requirement(SimpleNamespace(resident=True, **problem))


def make_data(kind, loss, weights, rng):
    """X, y and weights of an awkward kind."""
    labels = "vector" if getattr(loss, "vector", False) else loss.labels
    n = {"real": 1, "sign": 2, "vector": 3}[labels] if kind == "few" else N
    X = rng.standard_normal((n, D))
    if kind == "columns":
        X *= 10.0 ** rng.permutation([-3.0, 0.0, 4.0])
    elif kind == "rows":
        X *= 10.0 ** rng.uniform(-2.0, 2.0, (n, 1))
    elif kind == "same":
        X[n // 2 :] = X[0]
    elif kind == "zero":
        X[::2], X[:, 1] = 0.0, 0.0
    score = X @ rng.standard_normal((D, 3)) + (kind != "separable") * rng.standard_normal((n, 3))
    if kind == "constant":
        score[:] = score[0]
    y = {"real": score[:, 0], "sign": np.where(score[:, 0] > 0.0, 1.0, -1.0), "vector": score.argmax(axis=1)}[labels]
    if labels == "sign":
        y[:2] = 1.0, -1.0
    elif labels == "vector":
        y[:3] = np.arange(3)
    s = None
    if weights == "spread":
        s = 10.0 ** rng.uniform(-6.0, 6.0, n)
        s[3:4] = 0.0
    return X, y, s


def options(kind, case, solver):
    """What a run is asked for besides: limits, callbacks, a warm start from fewer rows and another penalty."""
    if kind == "warm":
        m = max(len(case.y) - 3, min(len(case.y), 3))
        part = Case(case.X[:m], case.y[:m], case.loss, case.penalty, None if case.weight is None else case.weight[:m], case.intercept)
        return {"tol": 1e-6, "warm_start": part.solve(solver=solver, tol=1e-2, max_passes=3)}
    return {
        "loose": {"tol": 1e-3},
        "tight": {"tol": 1e-13},
        "one pass": {"tol": 1e-9, "max_passes": 1},
        "no time": {"tol": 1e-9, "time_limit": 0.0},
        "callback": {"tol": 1e-9, "callback": lambda record: True},
    }[kind]


def check(row, number):
    """The problem and the solver of a row of levels, `number` telling which members of its types and which data."""
    losses, make, penalties, kind, run, (storage, dtype), weights, intercept, threads = (f[i] for f, i in zip(FACTORS, row, strict=True))
    loss, penalty = losses[number % len(losses)], penalties[number // len(LOSSES) % len(penalties)]
    X, y, s = make_data(kind, loss, weights, np.random.default_rng(number))
    case, solver = Case(stored(X, storage, dtype), y, loss, penalty, s, intercept), make()
    asked = {"max_passes": 60, "n_threads": threads, **options(run, case, solver)}
    assert not violations(case, case.solve(solver=solver, **asked), asked["tol"]), (loss, penalty, solver, kind, run)


@pytest.fixture(autouse=True, scope="module")
def many_cores():
    """Threads that are asked for work, however small the problem and the machine are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dualgap.team.SMALL", 0)
        patch.setattr("dualgap.team.cores", lambda: 4)
        yield


DESIGN = covering([len(levels) for levels in FACTORS], allowed)


@pytest.mark.parametrize("number", range(len(DESIGN)))
def test_pairs(number):
    check(DESIGN[number], number)


def strangers(f, i, g, j):
    """Whether two levels never meet, because no problem with both is allowed."""
    choices = [range(len(levels)) if k in (0, 1, 2, 7) else range(1) for k, levels in enumerate(FACTORS)]
    choices[f], choices[g] = [i], [j]
    return not any(map(allowed, product(*choices)))


def test_the_pairs_are_all_there():
    met = set().union(*map(pairs, DESIGN))
    for (f, i), (g, j) in pairs_of([len(levels) for levels in FACTORS]):
        assert ((f, i), (g, j)) in met or strangers(f, i, g, j), (f, i, g, j)


@pytest.mark.slow
@pytest.mark.skipif("DUALGAP_DEEP" not in os.environ, reason="DUALGAP_DEEP, the number of combinations to draw, is not set")
def test_any_combination():
    draw, done = np.random.default_rng(int(os.environ.get("DUALGAP_DEEP_SEED", "0"))), 0
    while done < int(os.environ["DUALGAP_DEEP"]):
        row = tuple(int(draw.integers(len(levels))) for levels in FACTORS)
        if allowed(row):
            check(row, int(draw.integers(10**6)))
            done += 1


# Few types, so that little is compiled, and many numbers.
SHARED = [
    (dg.Squared(), dg.ElasticNet, dg.FISTA()),
    (dg.Squared(), dg.L2, dg.GramNewton()),
    (dg.Huber(1.0), dg.L2, dg.AdaptiveProxSDCA()),
    (dg.Absolute(), dg.ElasticNet, dg.ProxSDCA()),
    (dg.Logistic(), dg.ElasticNet, dg.Auto()),
    (dg.Logistic(), dg.L2, dg.AcceleratedProxSDCA("theory")),
    (dg.Hinge(), dg.L2, dg.Auto()),
    (dg.SmoothHinge(0.1), dg.ElasticNet, dg.AcceleratedProxSDCA(2)),
    (dg.Softmax(), dg.L2, dg.AdaptiveProxSDCA()),
    (dg.MaxHinge(), dg.L2, dg.ProxSDCA()),
]
entries = st.sampled_from([0.0, 1.0, -1.0, 1e-8, 1e8]) | st.floats(-3.0, 3.0, allow_subnormal=False)


@st.composite
def numbers(draw):
    n, d = draw(st.integers(3, 8)), draw(st.integers(1, 3))
    X = np.array(draw(st.lists(entries, min_size=n * d, max_size=n * d))).reshape(n, d)
    X *= 10.0 ** np.array(draw(st.lists(st.integers(-4, 4), min_size=d, max_size=d)))
    y = np.array(draw(st.lists(entries, min_size=n, max_size=n)))
    weight = draw(st.none() | st.lists(st.integers(-6, 6), min_size=n, max_size=n).map(lambda powers: 10.0 ** np.array(powers)))
    strength = draw(st.tuples(st.integers(-10, 3), st.integers(-10, 3)))
    return X, y, weight, 10.0 ** np.array(strength), draw(st.booleans()), draw(st.integers(1, 13)), draw(st.integers(1, 40))


@pytest.mark.parametrize(("loss", "penalty", "solver"), SHARED, ids=lambda v: type(v).__name__ if hasattr(v, "_fields") else "")
@settings(max_examples=25, deadline=None, derandomize=True)
@given(numbers=numbers())
def test_any_numbers(loss, penalty, solver, numbers):
    X, y, weight, strength, intercept, digits, passes = numbers
    if getattr(loss, "vector", False):
        y = np.arange(len(y)) % 3
    elif loss.labels == "sign":
        y = np.where(y > 0.0, 1.0, -1.0)
        y[:2] = 1.0, -1.0
    case = Case(X, y, loss, penalty(*map(float, strength[: len(penalty._fields)])), weight, intercept)
    assert not violations(case, case.solve(solver=solver, tol=10.0**-digits, max_passes=passes), 10.0**-digits)


@pytest.mark.parametrize("condition", [1e-3, 1e-1, 1e1, 1e2, 1e4, 1e6, 1e8])
@pytest.mark.parametrize(("loss", "penalty", "solver"), SHARED, ids=lambda v: type(v).__name__ if hasattr(v, "_fields") else "")
def test_conditions(loss, penalty, solver, condition):
    """R^2/(lambda gamma n) from easy to hopeless; gamma is 1 for a loss that is not smooth."""
    X, y, _ = make_data("plain", loss, None, np.random.default_rng(1))
    lam = float(np.max(np.sum(X * X, axis=1))) / (condition * (loss.smoothness or 1.0) * N)
    case = Case(X, y, loss, dg.L2(lam) if penalty is dg.L2 else dg.ElasticNet(1e-3, lam), None, True)
    assert not violations(case, case.solve(solver=solver, tol=1e-9, max_passes=100), 1e-9)


@pytest.mark.parametrize(("loss", "penalty", "solver"), SHARED, ids=lambda v: type(v).__name__ if hasattr(v, "_fields") else "")
def test_one_column_and_one_row(loss, penalty, solver):
    strength = [1e-3] * len(penalty._fields)
    for rows in (1, 2, 3, N):
        X, y, _ = make_data("plain", loss, None, np.random.default_rng(2))
        X, y = X[:rows, :1], y[:rows]
        few = getattr(loss, "vector", False) and rows < 3
        if (few and rows < 2) or (not few and getattr(loss, "labels", "") == "sign" and rows < 2):
            continue  # a classifier wants two classes
        case = Case(X, y, loss, penalty(*strength), None, True)
        assert not violations(case, case.solve(solver=solver, tol=1e-9, max_passes=100), 1e-9)


# The suite itself: a certificate that claims too much is caught.


def too_small_a_gap(monkeypatch):
    monkeypatch.setattr(Run, "gap", property(lambda self: 0.01 * max(self.best.value - self.best_dual.value, 0.0)))


def too_large_a_dual(monkeypatch):
    def inflated(problem, alpha, best, *rest):
        point = dual_point(problem, alpha, best, *rest)
        return replace(point, value=0.1 * point.value + 0.9 * best.value)

    monkeypatch.setattr(run, "dual_point", inflated)


def too_small_a_primal(monkeypatch):
    monkeypatch.setattr(run, "primal_point", lambda *args: (p := primal_point(*args)) and replace(p, value=p.value * (1.0 - 1e-9)))


def no_allowance(monkeypatch):
    monkeypatch.setattr(
        run, "dual_point", lambda *args: replace(dual_point(*args), value=dual_point(*args).value * (1.0 + 1e-12), doubt=0.0)
    )


@pytest.mark.parametrize("corrupt", [too_small_a_gap, too_large_a_dual, too_small_a_primal, no_allowance])
@pytest.mark.parametrize(("loss", "penalty", "solver"), SHARED, ids=lambda v: type(v).__name__ if hasattr(v, "_fields") else "")
def test_a_wrong_certificate_is_caught(loss, penalty, solver, corrupt, monkeypatch):
    X, y, _ = make_data("plain", loss, None, np.random.default_rng(3))
    case = Case(X, y, loss, penalty(*[1e-2] * len(penalty._fields)), None, False)
    asked = {"solver": solver, "tol": 1e-15 if corrupt is no_allowance else 1e-3, "max_passes": 1000}
    assert not violations(case, case.solve(**asked), asked["tol"])
    corrupt(monkeypatch)
    assert violations(case, case.solve(**asked), asked["tol"])
