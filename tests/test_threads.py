"""Threads: the same sums and certificates, runs that can be repeated, and nothing left behind, whatever else goes on in the process."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

import dualgap as dg
import reference
from cases import STORAGES, stored
from dualgap import cores as cores_module
from dualgap.certificate import dual_point, primal_point
from dualgap.cores import cores, default_threads, pools
from dualgap.data.validation import make_problem
from dualgap.problem import Problem, row_parts
from dualgap.solvers.joint_newton import joint_gram
from dualgap.solvers.model import gram_matrix
from dualgap.team import SOLO, Team, team_for

N, D = 400, 12
SOLVERS = ["auto", "adaptive", "prox_sdca", "accelerated", "fista", "newton", dg.WorkingSet()]
EPS = float(np.finfo(float).eps)


@pytest.fixture(autouse=True, scope="module")
def many_cores():
    """Threads that are asked for work, however small the problem and the machine are; none are left when a test ends."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dualgap.team.SMALL", 0)
        patch.setattr("dualgap.team.cores", lambda: 4)
        yield


@pytest.fixture(autouse=True)
def nobody_stays():
    yield
    assert not ours()


def ours():
    return [thread.name for thread in threading.enumerate() if thread.name == "dualgap"]


def data(loss=None, n=N, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D)) * (rng.random((n, D)) < 0.6)
    score = X @ rng.standard_normal((D, 3)) + rng.standard_normal((n, 3))
    if getattr(loss, "vector", False):
        return X, score.argmax(axis=1)
    return X, score[:, 0] if loss is not None and loss.labels == "real" else np.where(score[:, 0] > 0.0, 1.0, -1.0)


def solve(threads, X=None, y=None, loss=None, **options):
    loss = loss or dg.Logistic()
    X, y = data(loss) if X is None else (X, y)
    return dg.solve(X, y, loss=loss, n_threads=threads, **{"penalty": dg.ElasticNet(1e-3, 1e-3), "intercept": True, "tol": 1e-7, **options})


def numbers(s):
    return [s.w, s.alpha, s.intercept, s.primal, s.dual, s.gap, s.passes, [(r.passes, r.gap) for r in s.history]]


def assert_same(a, b):
    for one, other in zip(numbers(a), numbers(b), strict=True):
        np.testing.assert_array_equal(one, other)


# The sums.

LOSSES = [dg.Logistic(), dg.Hinge(), dg.Squared(), dg.Softmax(), dg.MaxHinge()]


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_sums_do_not_depend_on_the_number_of_threads(loss, storage):
    X, y = data(loss)
    weight = np.random.default_rng(1).exponential(size=N)
    w = alpha = None
    found = []
    for threads in (1, 2, 3, 7):
        p, _ = make_problem(stored(X, storage, np.float64), y, loss, dg.Factors(dg.L2(0.1), np.arange(1.0, D + 1.0)), weight, True, threads)
        assert (p.team.parts, len(p.parts)) == (threads, threads)
        w = np.random.default_rng(2).standard_normal(p.shape) if w is None else w
        with p.team.at_work():
            alpha = 0.5 * p.dual_points(w, np.empty(p.alpha_shape)) if alpha is None else alpha
            z = p.scores(w, slice(0, N))
            np.testing.assert_array_equal(p.scores(w, slice(37, 251)), z[37:251])
            there = np.empty(p.alpha_shape)
            p.dual_points_at(z, slice(0, N), there)
            np.testing.assert_array_equal(p.dual_points(w, np.empty(p.alpha_shape)), there)
            sums = [z, there, p.norms2, p.step_norms(0.1, 1.0)[0], p.transposed(alpha), p.transposed_in_blocks(alpha)]
            if not p.outputs:
                sums.append(p.transposed_roughly(alpha))
            sums += [*p.mean_loss(w), *p.mean_loss_of(z[37:251], slice(37, 251)), *p.mean_conjugate(alpha, 0.7)]
            point = primal_point(p, w)
            dual = dual_point(p, alpha, point, 1.0)
            found.append([*sums, point.value, point.doubt, dual.value, dual.doubt, dual.scale * dual.alpha])
    for others in found[1:]:
        for one, other in zip(found[0], others, strict=True):
            np.testing.assert_allclose(other, one, rtol=1e-12, atol=1e-14)


@pytest.mark.skipif(not reference.EXTENDED, reason="the long double is a double here")
@settings(max_examples=30, deadline=None)
@given(threads=st.integers(1, 9), seed=st.integers(0, 1000), power=st.floats(0.0, 12.0))
def test_parts_are_put_together_without_losing_anything(threads, seed, power):
    """Terms that cancel leave the rounding of the terms, and no more, whichever parts they are in."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((N, 3)), np.ones(N)
    y[0] = -1.0
    p, _ = make_problem(X, y, dg.Logistic(), dg.L2(1.0), None, True, threads)
    alpha = rng.standard_normal(N) * 10.0 ** rng.uniform(0.0, power, N)
    alpha[N // 2 :] = -alpha[: N // 2]
    p.X[N // 2 :] = p.X[: N // 2] + 1e-9 * rng.standard_normal((N // 2, 3))
    terms = (p.share * alpha).astype(reference.LD)[:, None] * np.column_stack([p.X, np.ones(N)])
    with p.team.at_work():
        got = p.transposed(alpha)
    assert np.all(abs(got - terms.sum(axis=0)) <= 3.0 * EPS * abs(terms).sum(axis=0))


@pytest.mark.parametrize("density", [0.1, 0.6, None])
@pytest.mark.parametrize("loss", [dg.Logistic(), dg.SmoothHinge(1.0), dg.Softmax()], ids=lambda loss: type(loss).__name__)
def test_gram_matrices_do_not_depend_on_the_number_of_threads(loss, density):
    rng = np.random.default_rng(0)
    X, y = data(loss)
    X = X if density is None else sp.random_array((N, D), density=density, format="csr", rng=rng)
    z = rng.standard_normal((N, 3) if getattr(loss, "vector", False) else N)
    found = []
    for threads in (1, 2, 7):
        p, _ = make_problem(X, y, loss, dg.L2(0.1), None, True, threads)
        assert len(p.parts_worth(1)) == threads
        with p.team.at_work():
            if p.outputs:
                found.append(joint_gram(p, p.dual_points(np.ones(p.shape), np.empty(p.alpha_shape))))
                continue
            some = np.array([7, 2, 5])
            known = gram_matrix(p, z, some[:2])[0]
            whole, products = gram_matrix(p, z, np.arange(D))
            np.testing.assert_allclose(gram_matrix(p, z, some, known)[0], whole[np.ix_([7, 2, 5, D], [7, 2, 5, D])], rtol=1e-9)
            found.append(np.append(whole, products))
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-11, atol=1e-14)


@settings(max_examples=50, deadline=None)
@given(counts=st.lists(st.integers(0, 30), min_size=1, max_size=60), parts=st.integers(1, 12))
def test_parts_cover_the_rows_and_hold_about_as_many_entries(counts, parts):
    indptr = np.concatenate([[0], np.cumsum(counts)])
    X = sp.csr_array((np.ones(indptr[-1]), np.concatenate([np.arange(c) for c in counts]), indptr), shape=(len(counts), 30))
    cuts = row_parts(X, parts)
    assert [t for cut in cuts for t in range(cut.start, cut.stop)] == list(range(len(counts)))
    held = [sum(counts[cut]) for cut in cuts]
    assert max(held) <= sum(counts) / parts + 2 * max(counts)


# Solves.


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_solve_can_be_repeated_and_is_certified(solver, monkeypatch):
    plain = solve(1, solver=solver)
    for threads in (2, 3):
        s = solve(threads, solver=solver)
        assert s.relative_gap <= 1e-7
        assert s.primal - plain.dual <= plain.gap + s.gap
        assert plain.primal - s.dual <= plain.gap + s.gap
        assert_same(s, solve(threads, solver=solver))
        with monkeypatch.context() as patch:
            # however few of the threads there are
            patch.setattr("dualgap.team.cores", lambda: 1)
            assert_same(s, solve(threads, solver=solver))


@pytest.mark.parametrize("loss", [dg.Softmax(), dg.MaxHinge(), dg.Hinge(), dg.Huber(1.0)], ids=lambda loss: type(loss).__name__)
def test_other_losses(loss):
    plain, s = solve(1, loss=loss, tol=1e-5), solve(3, loss=loss, tol=1e-5)
    assert s.relative_gap <= 1e-5
    assert abs(s.primal - plain.primal) <= plain.gap + s.gap
    assert_same(s, solve(3, loss=loss, tol=1e-5))


def test_a_path():
    X, y = data()
    one, three = (dg.path(X, y, loss=dg.Logistic(), penalty=dg.L1(1.0), count=5, n_threads=threads) for threads in (1, 3))
    np.testing.assert_allclose(three.primal, one.primal, rtol=2e-6)
    assert np.all(three.relative_gap <= 1e-6)


def test_threads_are_there_during_a_solve_and_not_for_a_small_problem(monkeypatch):
    seen = []
    s = solve(3, callback=lambda record: seen.append(len(ours())))
    assert max(seen) == 2
    seen.clear()
    monkeypatch.setattr("dualgap.team.SMALL", 1 << 20)
    t = solve(3, callback=lambda record: seen.append(len(ours())))
    assert max(seen) == 0
    assert abs(s.primal - t.primal) <= s.gap + t.gap


# What else goes on in the process.


class Broken(Exception):
    pass


@pytest.mark.parametrize("error", [Broken, KeyboardInterrupt, SystemExit])
def test_an_error_in_a_callback_ends_the_solve_and_its_threads(error):
    def callback(record):
        raise error

    with pytest.raises(error):
        solve(3, callback=callback)
    assert not ours()
    assert solve(3).relative_gap <= 1e-7


def test_an_error_in_a_part_is_the_error_of_the_job():
    team = Team(4)
    done = []

    def work(k):
        if k == 2:
            raise Broken
        time.sleep(0.01)
        done.append(k)

    with team.at_work():
        with pytest.raises(Broken):
            team.map(work, range(4))
        assert sorted(done) == [0, 1, 3]
        assert team.map(lambda k: k * k, range(6)) == [0, 1, 4, 9, 16, 25]


def test_no_thread_can_be_started(monkeypatch):
    def start(self):
        raise RuntimeError("can't start new thread")

    whole = solve(3)
    monkeypatch.setattr(threading.Thread, "start", start)
    assert_same(whole, solve(3))


def test_an_interrupt_waits_for_the_parts_and_ends_the_solve():
    s = solve(3, callback=lambda record: signal.raise_signal(signal.SIGINT), tol=1e-12)
    assert s.status is dg.Status.INTERRUPTED

    def work(k):
        time.sleep(0.05)
        if k == 0:
            os.kill(os.getpid(), signal.SIGINT)
        done.append(k)

    done = []
    team = Team(3)
    with team.at_work(), pytest.raises(KeyboardInterrupt):
        team.map(work, range(3))
    assert len(done) >= 2


def test_a_solve_inside_the_callback_of_another():
    plain, inner = solve(2), []
    outer = solve(3, callback=lambda record: inner.append(solve(2)) if len(inner) < 2 else None)
    assert_same(outer, solve(3))
    for s in inner:
        assert_same(s, plain)


def test_several_solves_at_once():
    options = [{"threads": threads, "random_state": seed} for threads in (2, 3) for seed in (0, 1)]
    alone = [solve(**o) for o in options]
    together = [None] * len(options)

    def work(k):
        for _ in range(3):
            together[k] = solve(**options[k])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(len(options))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for a, b in zip(alone, together, strict=True):
        assert_same(a, b)


def joblib_solve(threads):
    import dualgap.team

    dualgap.team.SMALL = 0
    return numbers(solve(threads, tol=1e-5)), default_threads()


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_joblib(backend):
    here, _ = joblib_solve(2)
    there = joblib.Parallel(n_jobs=2, backend=backend)(joblib.delayed(joblib_solve)(2) for _ in range(3))
    for found, allowed in there:
        for one, other in zip(found, here, strict=True):
            np.testing.assert_array_equal(one, other)
        assert allowed <= max(1, joblib.cpu_count() // 2) or backend == "threading"


needs_fork = pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system has no fork")
FORK = """
import os, signal, sys, threading, warnings
warnings.simplefilter("ignore", DeprecationWarning)
sys.path[:0] = {path!r}
import dualgap.team, test_threads
dualgap.team.SMALL, dualgap.team.cores = 0, lambda: 4
expected = test_threads.solve(3).primal
first = []
def callback(record):
    if first:
        return
    first.append(os.fork())
    if first[0] == 0:
        signal.alarm(60)
        assert test_threads.solve(3).primal == expected
    else:
        assert os.waitpid(first[0], 0)[1] == 0
s = test_threads.solve(3, callback=callback)
assert s.primal == expected and not test_threads.ours()
os._exit(0)
"""


@needs_fork
def test_a_child_of_a_process_at_work_has_its_own_threads():
    """A fork in the middle of a solve: the child solves, and then finishes the solve that it was forked from."""
    code = FORK.format(path=[os.path.dirname(__file__)])
    done = subprocess.run([sys.executable, "-c", code], timeout=120, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# How many threads.


@pytest.mark.parametrize("wrong", [0, -1, 2.0, "2", True, [2]])
def test_a_wrong_number_of_threads_is_refused(wrong):
    with pytest.raises(ValueError, match=r"n_threads must be a positive integer, or None for all cores at hand, got"):
        solve(wrong)


@pytest.mark.parametrize(
    ("name", "value", "allowed"), [("OMP_NUM_THREADS", "3,2", 3), ("NUMBA_NUM_THREADS", "2", 2), ("LOKY_MAX_CPU_COUNT", "1", 1)]
)
def test_the_environment_limits_the_default(monkeypatch, name, value, allowed):
    monkeypatch.setattr(cores_module, "cores", lambda: 5)
    monkeypatch.setattr(pools, "allowed", lambda: [])
    for variable in cores_module.VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    assert default_threads() == 5
    monkeypatch.setenv(name, "no number")
    assert default_threads() == 5
    monkeypatch.setenv(name, value)
    assert default_threads() == allowed


def test_threadpoolctl_limits_the_default(monkeypatch):
    monkeypatch.setattr(cores_module, "cores", lambda: 5)
    with threadpool_limits(1):
        assert default_threads() == 1


def test_linear_algebra_has_its_threads_back_after_the_last_solve():
    with threadpool_limits(2):
        before = pools.allowed()
        sizes = []
        solve(
            2,
            callback=lambda record: sizes.extend(
                library.num_threads for library in cores_module._libraries() if library.user_api == "blas"
            ),
        )
        assert set(sizes) == {1}
        with pools.at_most(1):
            with pools.at_most(2):
                assert pools.allowed() == before
            assert {library.num_threads for library in cores_module._libraries() if library.user_api == "blas"} == {1}
        assert pools.allowed() == before


def test_the_control_group_and_the_affinity_limit_the_default(tmp_path, monkeypatch):
    quota, period = tmp_path / "quota", tmp_path / "period"
    monkeypatch.setattr(cores_module, "QUOTAS", [(str(tmp_path / "none"), str(tmp_path / "none")), (str(quota), str(period))])
    for granted, of, allowed in [("150000", "100000", 2), ("-1", "100000", os.cpu_count()), ("50000 100000", "50000 100000", 1)]:
        quota.write_text(granted)
        period.write_text(of)
        cores_module._quota.cache_clear()
        assert cores_module._quota() == allowed
    cores_module._quota.cache_clear()
    assert 1 <= cores() <= os.cpu_count()


def daemon_default(queue):
    queue.put(default_threads())


@needs_fork
def test_a_daemonic_process_has_one():
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    process = context.Process(target=daemon_default, args=(queue,), daemon=True)
    process.start()
    assert queue.get() == 1
    process.join()


def test_little_work_has_nobody_but_the_caller(monkeypatch):
    monkeypatch.setattr("dualgap.team.SMALL", 1000)
    assert team_for(4, 999) is SOLO
    assert team_for(4, 1000).parts == 4
    assert isinstance(make_problem(*data(), dg.Logistic(), dg.L2(1.0), None, False, 4)[0], Problem)
