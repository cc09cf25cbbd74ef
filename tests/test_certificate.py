"""The certificate: 0 <= P(w) - min P <= gap for every loss, penalty, solver, storage and kind of data, by an independent reference."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

import dualgap as dg
import reference
import test_losses
import test_multiclass
import test_penalties
from cases import STORAGES, Case, stored, violations
from dualgap.problem import unpenalized
from dualgap.solvers import SOLVERS
from pairs import covering

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
    lambda: dg.ProxSDCA("III", "permuted", "average"),
    lambda: dg.ProxSDCA("IV", "iid", "best_of_random"),
    lambda: dg.ProxSDCA("V", smoothing=True),
    lambda: dg.ProxSDCA("I", "iid", "average", window=20),
    lambda: dg.AcceleratedProxSDCA("theory", "paper", "I", "iid"),
    lambda: dg.AcceleratedProxSDCA(1, "paper", "III"),
    lambda: dg.AcceleratedProxSDCA("theory"),
    lambda: dg.FISTA(restart=False),
    lambda: dg.RowSpace(NEWTON),
    lambda: dg.Race(dg.AdaptiveProxSDCA(), dg.ProxSDCA(), first=4.0),
    lambda: dg.Relay(dg.ProxSDCA(), NEWTON),
]
ROWS = [(storage, dtype) for storage in STORAGES for dtype in (np.float64, np.float32)]
DATA = ["plain", "columns", "rows", "few", "same", "zero", "constant", "separable"]
RUNS = ["loose", "tight", "one pass", "no time", "callback", "warm"]
FACTORS = (LOSSES, ALL_SOLVERS, PENALTIES, DATA, RUNS, ROWS, (None, "spread"), (False, True))


def allowed(row):
    """Whether the solver takes the problem, and the penalty the loss."""
    (loss, *_), make, (penalty, *_), _, _, _, _, intercept = (levels[i] for levels, i in zip(FACTORS, row, strict=True))
    outputs = 3 if getattr(loss, "vector", False) else 0
    if outputs and isinstance(penalty, (dg.QNorm, dg.Entropy)):
        return False
    problem = {"loss": loss, "penalty": penalty, "intercept": intercept, "outputs": outputs, "unpenalized": unpenalized(penalty)}
    return not make().requirement(SimpleNamespace(**problem))


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


def options(run, case, solver):
    """What a run is asked for besides: limits, callbacks, a warm start from fewer rows and another penalty."""
    if run == "warm":
        m = max(len(case.y) - 3, min(len(case.y), 3))
        part = Case(case.X[:m], case.y[:m], case.loss, case.penalty, None if case.weight is None else case.weight[:m], case.intercept)
        return {"tol": 1e-6, "warm_start": part.solve(solver=solver, tol=1e-2, max_passes=3)}
    return {
        "loose": {"tol": 1e-3},
        "tight": {"tol": 1e-13},
        "one pass": {"tol": 1e-9, "max_passes": 1},
        "no time": {"tol": 1e-9, "time_limit": 0.0},
        "callback": {"tol": 1e-9, "callback": lambda record: True},
    }[run]


DESIGN = covering([len(levels) for levels in FACTORS], allowed)


@pytest.mark.parametrize("number", range(len(DESIGN)))
def test_pairs(number):
    losses, make, penalties, kind, run, (storage, dtype), weights, intercept = (f[i] for f, i in zip(FACTORS, DESIGN[number], strict=True))
    loss, penalty = losses[number % len(losses)], penalties[number // len(LOSSES) % len(penalties)]
    X, y, s = make_data(kind, loss, weights, np.random.default_rng(number))
    case, solver = Case(stored(X, storage, dtype), y, loss, penalty, s, intercept), make()
    asked = {"max_passes": 60, **options(run, case, solver)}
    assert not violations(case, case.solve(solver=solver, **asked), asked["tol"]), (loss, penalty, solver, kind, run)
