"""What a solve promises whatever the solver: storages agree, weights are repetition, limits hold, Ctrl-C loses nothing, seeds decide."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dualgap as dg
from cases import stored

N, D = 80, 6
SOLVERS = ["auto", "adaptive", "prox_sdca", "accelerated", "fista"]
PROBLEMS = [
    (dg.Squared(), dg.L1(1e-2)),
    (dg.Logistic(), dg.ElasticNet(1e-3, 1e-2)),
    (dg.Hinge(), dg.L2(1e-2)),
    (dg.Softmax(), dg.L2(1e-2)),
]

each_problem = pytest.mark.parametrize(("loss", "penalty"), PROBLEMS, ids=lambda v: type(v).__name__)
each_solver = pytest.mark.parametrize("solver", SOLVERS)


def data(loss, seed=0, n=N, d=D):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.7)
    scores = X @ rng.standard_normal((d, 3)) + rng.standard_normal((n, 3))
    if getattr(loss, "vector", False):
        return X, scores.argmax(axis=1)
    return X, scores[:, 0] if loss.labels == "real" else np.where(scores[:, 0] > 0.0, 1.0, -1.0)


def agree(one, other):
    """Two certified solutions of the same problem."""
    assert one.null == pytest.approx(other.null, rel=1e-12)
    assert abs(one.primal - other.primal) <= max(one.gap, other.gap)
    assert max(one.dual, other.dual) <= min(one.primal + one.gap, other.primal + other.gap)
    assert np.linalg.norm(one.w - other.w) <= one.distance + other.distance


ROWS = [("dense", np.float64), ("csr32", np.float64), ("csr64", np.float32), ("dense", np.float32)]


@each_problem
@pytest.mark.parametrize("solver", ["adaptive", "fista"])
def test_storages_agree(loss, penalty, solver):
    X, y = data(loss)
    X = X.astype(np.float32)
    common = {"loss": loss, "penalty": penalty, "intercept": True, "solver": solver, "tol": 1e-4 if loss.smoothness == 0.0 else 1e-9}
    found = [dg.solve(stored(X, *kind), y, max_passes=3000, **common) for kind in ROWS]
    for s in found:
        agree(s, found[0])


@each_problem
@pytest.mark.parametrize("solver", ["auto", "fista"])
@settings(max_examples=6, deadline=None, derandomize=True)
@given(repeats=st.lists(st.integers(0, 3), min_size=N, max_size=N))
def test_weights_are_repetition(loss, penalty, solver, repeats):
    X, y = data(loss)
    repeats = np.array(repeats)
    repeats[:6] = 1
    common = {"loss": loss, "penalty": penalty, "intercept": True, "solver": solver, "tol": 1e-5, "max_passes": 3000}
    weighted = dg.solve(X, y, sample_weight=repeats, **common)
    agree(weighted, dg.solve(np.repeat(X, repeats, axis=0), np.repeat(y, repeats), **common))
    agree(weighted, dg.solve(X, y, sample_weight=repeats * 1e5, **common))


@each_problem
@each_solver
def test_seeds_decide(loss, penalty, solver):
    X, y = data(loss)
    common = {"loss": loss, "penalty": penalty, "solver": solver, "tol": 1e-6, "max_passes": 50}
    one, same, generator = (dg.solve(X, y, random_state=seed, **common) for seed in (3, 3, np.random.default_rng(3)))
    for s in (same, generator):
        np.testing.assert_array_equal(s.w, one.w)
        np.testing.assert_array_equal(s.alpha, one.alpha)
        assert [record._replace(seconds=0.0) for record in s.history] == [record._replace(seconds=0.0) for record in one.history]
    agree(one, dg.solve(X, y, random_state=4, **common))


@pytest.mark.parametrize("solver", ["adaptive", "prox_sdca", "accelerated"])
def test_other_seeds_visit_rows_in_another_order(solver):
    X, y = data(dg.Logistic())
    common = {"loss": dg.Logistic(), "penalty": dg.L2(1e-4), "solver": solver, "max_passes": 5}
    found = [dg.solve(X, y, random_state=seed, **common).alpha for seed in (0, 1, None, None)]
    assert len({alpha.tobytes() for alpha in found}) == 4


@each_problem
@each_solver
def test_the_history_goes_down(loss, penalty, solver):
    X, y = data(loss)
    s = dg.solve(X, y, loss=loss, penalty=penalty, intercept=True, solver=solver, tol=1e-10, max_passes=200)
    history = s.history
    assert np.all(np.diff(history.passes) > 0.0)
    assert np.all(np.diff(history.seconds) >= 0.0)
    assert np.all(np.diff(history.primal) <= 0.0)
    assert np.all(np.diff(history.dual) >= -1e-15 * s.null)
    assert np.all(np.diff(history.gap) <= 1e-14 * s.null)
    assert history[0].primal == s.null
    assert history[-1][2:5] == (s.primal, s.dual, s.gap)
    assert history[-1].passes == s.passes


HARD = {"loss": dg.Logistic(), "penalty": dg.L2(1e-12), "tol": 1e-300}


@each_solver
@pytest.mark.parametrize("limit", [1, 2.5, 10, 37])
def test_passes_are_limited(solver, limit):
    X, y = data(HARD["loss"])
    s = dg.solve(X, y, solver=solver, max_passes=limit, **HARD)
    assert s.status in (dg.Status.MAX_PASSES, dg.Status.ROUNDING)
    assert s.passes <= limit + 4.0
    assert 0.0 <= s.primal - s.dual <= s.gap


@each_solver
def test_time_is_limited(solver):
    X, y = data(HARD["loss"], n=2000, d=50)
    for limit in (0.0, 0.3):
        begun = time.perf_counter()
        s = dg.solve(X, y, solver=solver, time_limit=limit, max_passes=1e9, **HARD)
        assert s.status in (dg.Status.TIME_LIMIT, dg.Status.ROUNDING)
        assert time.perf_counter() - begun <= limit + 5.0
        assert 0.0 <= s.primal - s.dual <= s.gap
    assert s.seconds <= limit + 5.0


@each_solver
def test_a_callback_sees_each_record_and_may_end_the_solve(solver):
    X, y = data(HARD["loss"])
    seen = []

    def callback(record):
        seen.append(record)
        return len(seen) == 3

    s = dg.solve(X, y, solver=solver, callback=callback, **HARD)
    assert s.status in (dg.Status.CALLBACK, dg.Status.ROUNDING)
    assert seen == list(s.history)[: len(seen)]
    assert len(s.history) <= 4


def test_an_error_in_a_callback_is_the_callers():
    X, y = data(HARD["loss"])

    def callback(record):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        dg.solve(X, y, callback=callback, **HARD)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@each_solver
def test_an_interrupt_at_any_time_loses_nothing(solver):
    X, y = data(HARD["loss"])
    for at in (1, 2, 4):
        seen = []

        def interrupt(record, seen=seen, at=at):
            seen.append(record)
            if len(seen) == at:
                signal.raise_signal(signal.SIGINT)

        s = dg.solve(X, y, solver=solver, callback=interrupt, **HARD)
        assert s.status in (dg.Status.INTERRUPTED, dg.Status.ROUNDING)
        assert s.gap <= seen[-1].gap
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


CHILD = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
import numpy as np
import dualgap as dg
rng = np.random.default_rng(0)
X = rng.standard_normal((50_000, 40)) * np.logspace(-3, 1, 40)
y = np.sign(rng.standard_normal(50_000))
s = dg.solve(X, y, loss=dg.Logistic(), penalty=dg.L2(1e-14), solver=sys.argv[1], tol=1e-15, max_passes=1e9,
             callback=lambda record: print("record", flush=True))
print(s.status.name, s.gap <= s.history[0].gap, np.isfinite(s.w).all(), flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
@pytest.mark.parametrize("solver", ["prox_sdca", "fista"])
def test_control_c(solver):
    """A real signal to a real process: the best solution so far, not a traceback."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": environment}
    with subprocess.Popen([sys.executable, "-c", CHILD, solver], **pipes) as child:
        assert child.stdout.readline() == "record\n"
        time.sleep(0.2)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=120)
    assert out.splitlines()[-1] == "INTERRUPTED True True"
    assert err == ""
    assert child.returncode == 0


def test_a_thread_other_than_the_main_one_may_solve():
    X, y = data(dg.Logistic())
    found = []
    thread = threading.Thread(target=lambda: found.append(dg.solve(X, y, loss=dg.Logistic(), penalty=dg.L2(1e-2))))
    thread.start()
    thread.join()
    assert found[0].status is dg.Status.CERTIFIED


def test_the_tolerance_is_relative_to_the_null_model():
    X, y = data(dg.Squared())
    for shift in (0.0, 1e3):
        s = dg.solve(X, y + shift, loss=dg.Squared(), penalty=dg.L2(1e-2), intercept=True, tol=1e-4)
        assert s.null == pytest.approx(0.5 * np.var(y), rel=1e-9)
        assert s.relative_gap == s.gap / s.null <= 1e-4
        without = dg.solve(X, y + shift, loss=dg.Squared(), penalty=dg.L2(1e-2), tol=1e-4)
        assert without.null == pytest.approx(0.5 * np.mean((y + shift) ** 2), rel=1e-9)


@pytest.mark.parametrize("verbose", [False, True])
@pytest.mark.parametrize("loss", [dg.Squared(), dg.Absolute(), dg.EpsilonInsensitive(0.5)], ids=lambda v: type(v).__name__)
def test_a_null_model_without_error_is_the_solution(loss, verbose, capsys):
    X, _ = data(loss)
    s = dg.solve(X, np.zeros(N), loss=loss, penalty=dg.L2(1e-2), verbose=verbose)
    assert s.status is dg.Status.CERTIFIED
    assert (s.primal, s.dual, s.gap, s.relative_gap) == (0.0, 0.0, 0.0, 0.0)
    assert not np.any(s.w)


@each_solver
def test_a_tolerance_below_rounding_ends(solver):
    X, y = data(dg.Squared())
    s = dg.solve(X, y, loss=dg.Squared(), penalty=dg.L2(1e-1), solver=solver, tol=1e-300, max_passes=1e5)
    assert s.status is dg.Status.ROUNDING
    assert s.relative_gap <= 1e-13


@pytest.mark.parametrize("status", dg.Status)
def test_a_status_is_a_sentence(status):
    assert status[0].isupper()
    assert status.endswith(".")
    assert str(status) == status.value
