"""The race: whoever is sabotaged loses the lead, the other's theorem then holds, and nothing is lost where all goes well."""

from dataclasses import dataclass

import numpy as np
import pytest

import dualgap as dg


def data(n=300, d=10, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.sign(X @ rng.standard_normal(d) + rng.standard_normal(n))


@dataclass(frozen=True)
class Idle:
    """A solver that spends passes and gains nothing."""

    def requirement(self, problem):
        return ""

    def steps(self, problem, run, alpha):
        while run.going:
            run.spent(1.0)
            if run.due:
                run.certify(run.best.w, np.zeros_like(alpha))
            yield


@pytest.mark.parametrize("condition", [1.0, 1e2, 1e4])
def test_a_fast_solver_that_fails_costs_at_most_as_much_again(condition):
    X, y = data()
    lam = float(np.max(np.sum(X * X, axis=1))) / (condition * len(y))
    common = {"loss": dg.SmoothHinge(1.0), "penalty": dg.L2(lam), "tol": 1e-6, "max_passes": 1e5}
    alone = dg.solve(X, y, solver=dg.AcceleratedProxSDCA(), **common)
    race = dg.Race(Idle(), dg.AcceleratedProxSDCA(), first=4.0)
    s = dg.solve(X, y, solver=race, **common)
    assert s.status is dg.Status.CERTIFIED
    assert "AcceleratedProxSDCA took the lead." in s.notes
    assert s.passes <= 2.0 * alone.passes + 30.0


@pytest.mark.parametrize("solver", ["prox_sdca", "accelerated"])
def test_a_safe_solver_that_fails_is_left_behind(solver):
    X, y = data(d=20)
    fast = {"prox_sdca": dg.ProxSDCA(), "accelerated": dg.AcceleratedProxSDCA()}[solver]
    common = {"loss": dg.Logistic(), "penalty": dg.L2(1e-4), "tol": 1e-7, "max_passes": 1e5}
    alone = dg.solve(X, y, solver=fast, **common)
    s = dg.solve(X, y, solver=dg.Race(fast, Idle(), first=8.0), **common)
    assert s.status is dg.Status.CERTIFIED
    assert s.passes <= 1.1 * alone.passes + 30.0
    assert not [note for note in s.notes if "lead" in note]


def test_nothing_is_raced_where_all_goes_well():
    X, y = data()
    common = {"loss": dg.Logistic(), "penalty": dg.L2(1e-2), "tol": 1e-8}
    race = dg.Race(dg.AdaptiveProxSDCA(), Idle())
    np.testing.assert_array_equal(dg.solve(X, y, solver=race, **common).w, dg.solve(X, y, solver="adaptive", **common).w)


@dataclass(frozen=True)
class Late:
    """Prox-SDCA with a certificate before its first pass and the next one only after a dozen."""

    def requirement(self, problem):
        return ""

    def steps(self, problem, run, alpha):
        ascent = dg.ProxSDCA().begin(problem, run, alpha)
        while run.going:
            run.certify(ascent.weights(), ascent.alpha)
            for _ in range(12):
                ascent.sweep()
                yield


def test_a_turn_is_judged_by_a_certificate_at_its_end():
    X, y = data()
    common = {"loss": dg.Logistic(), "penalty": dg.L2(1e-3), "tol": 1e-6}
    alone = dg.solve(X, y, solver=dg.Race(Late(), Idle(), first=1e6), **common)
    s = dg.solve(X, y, solver=dg.Race(Late(), Idle(), first=8.0), **common)
    assert s.status is dg.Status.CERTIFIED
    assert s.passes == alone.passes


def test_it_is_said_who_races_and_who_takes_over():
    race = dg.Race(dg.AdaptiveProxSDCA(), dg.ProxSDCA())
    assert race.plan().startswith("AdaptiveProxSDCA races ProxSDCA: ")
    both = dg.Race(dg.ProxSDCA(output="last"), race)
    assert both.plan().startswith("ProxSDCA races the race of AdaptiveProxSDCA and ProxSDCA: ")
    relay = dg.Relay(race, dg.GramNewton())
    assert relay.plan() == f"{race.plan()} GramNewton takes over where it is expected to end sooner."
    assert dg.Relay(dg.ProxSDCA(), dg.GramNewton()).plan().startswith("ProxSDCA begins. ")
    X, y = data(n=3000, d=1100)
    s = dg.solve(X, y, loss=dg.Logistic(), penalty=dg.L2(1e-4), tol=1e-2)
    assert [note for note in s.notes if note.startswith("AdaptiveProxSDCA races AcceleratedProxSDCA: ")]


def test_limits_are_kept():
    X, y = data()
    s = dg.solve(X, y, loss=dg.Hinge(), penalty=dg.L2(1e-6), solver=dg.Race(Idle(), dg.AdaptiveProxSDCA()), tol=1e-12, max_passes=50)
    assert s.status is dg.Status.MAX_PASSES
    assert s.passes <= 55.0


def test_what_can_not_race_is_refused():
    with pytest.raises(TypeError, match="safe must be a solver object"):
        dg.Race(dg.AdaptiveProxSDCA(), "fista")
    with pytest.raises(ValueError, match="first must be"):
        dg.Race(dg.AdaptiveProxSDCA(), dg.ProxSDCA(), first=0.0)
