"""Bad input gets an error that names the argument and what is allowed; unusual but good input gets the right answer."""

import re

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap as dg

RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 4))
Y = np.where(X[:, 0] + 0.3 * RNG.standard_normal(30) > 0.0, 1.0, -1.0)
GOOD = {"X": X, "y": Y, "loss": dg.Logistic(), "penalty": dg.L2(0.1)}


def solve(**changes):
    arguments = {**GOOD, **changes}
    return dg.solve(arguments.pop("X"), arguments.pop("y"), **arguments)


def with_entry(value):
    bad = X.copy()
    bad[3, 2] = value
    return bad


def broken_csr(**changes):
    A = sp.csr_matrix(X)
    for name, value in changes.items():
        getattr(A, name)[: len(value)] = value
    return A


BAD = [
    ({"X": with_entry(np.nan)}, ValueError, "X must hold finite numbers"),
    ({"X": with_entry(np.inf)}, ValueError, "X must hold finite numbers"),
    ({"X": sp.csr_matrix(with_entry(np.nan))}, ValueError, "X must hold finite numbers"),
    ({"X": with_entry(1e200)}, ValueError, "too large"),
    ({"X": X[0]}, ValueError, "two dimensions"),
    ({"X": X[:0], "y": Y[:0]}, ValueError, "at least one row"),
    ({"X": X[:, :0]}, ValueError, "at least one row and one column"),
    ({"X": sp.csr_matrix((0, 4)), "y": Y[:0]}, ValueError, "at least one row"),
    ({"X": np.array([["a", "b"]] * 30)}, TypeError, "X must hold real numbers"),
    ({"X": X + 1j}, TypeError, "X must hold real numbers"),
    ({"X": [[1.0], [1.0, 2.0]], "y": Y[:2]}, TypeError, "X must be an array"),
    ({"X": broken_csr(indices=[99])}, ValueError, "column indices must lie in 0 .. 3"),
    ({"X": broken_csr(indices=[-1])}, ValueError, "column indices must lie in 0 .. 3"),
    ({"X": broken_csr(indptr=[0, 9, 4])}, ValueError, "indptr"),
    ({"y": None}, ValueError, "y must be given"),
    ({"y": Y[:-1]}, ValueError, "y must have one target per row"),
    ({"y": np.where(Y > 0, "yes", "no")}, TypeError, "y must hold numbers"),
    ({"y": np.where(Y > 0, 1.0, 0.0)}, ValueError, "y must hold -1 and +1 for Logistic"),
    ({"y": np.ones(30)}, ValueError, "y must hold both classes"),
    ({"y": np.full(30, np.nan)}, ValueError, "y must hold finite numbers"),
    ({"y": np.zeros(30, int), "loss": dg.Softmax()}, ValueError, "at least two classes"),
    ({"y": Y, "loss": dg.Softmax()}, ValueError, "classes 0 .. k-1"),
    ({"y": np.where(Y > 0, 1e300, 0.0), "loss": dg.Softmax()}, ValueError, "k <= 65536, got a class 1"),
    ({"y": [[1.0], [1.0, 2.0]]}, TypeError, "y must hold one number per row"),
    ({"warm_start": "earlier"}, TypeError, "warm_start must be an earlier solution, got 'earlier'"),
    ({"max_passes": True}, ValueError, "max_passes must be a positive number"),
    ({"penalty": dg.Box(dg.L2(0.1), "a", 1.0)}, TypeError, "lower must hold real numbers"),
    ({"penalty": dg.Box(dg.L2(0.1), 1.0, 0.0)}, ValueError, "lower must not exceed upper, got 1.0 > 0.0 for column 0"),
    ({"penalty": dg.Box(dg.L2(0.0), -1e200, 1e200)}, ValueError, "nothing keeps the coefficients bounded"),
    ({"y": X, "loss": dg.Squared()}, ValueError, "y must have one target per row"),
    ({"sample_weight": -np.ones(30)}, ValueError, "sample_weight must not be negative"),
    ({"sample_weight": np.zeros(30)}, ValueError, "sample_weight must not be zero for all rows"),
    ({"sample_weight": np.ones(29)}, ValueError, "sample_weight must have one number per row"),
    ({"sample_weight": np.full(30, np.nan)}, ValueError, "sample_weight must hold finite"),
    ({"sample_weight": "balanced"}, TypeError, "sample_weight must hold real numbers"),
    ({"loss": "logistic"}, TypeError, "loss must be a loss object"),
    ({"loss": dg.Logistic}, TypeError, "loss must be a loss object"),
    ({"loss": dg.SmoothHinge(0.0)}, ValueError, "SmoothHinge.gamma must be finite and > 0"),
    ({"loss": dg.SmoothHinge(-1.0)}, ValueError, "SmoothHinge.gamma"),
    ({"loss": dg.SmoothHinge("a")}, TypeError, "SmoothHinge.gamma must be a number"),
    ({"loss": dg.Quantile(1.0)}, ValueError, "Quantile.level"),
    ({"loss": dg.Huber(0.0)}, ValueError, "Huber.delta"),
    ({"loss": dg.EpsilonInsensitive(-0.1)}, ValueError, "EpsilonInsensitive.epsilon"),
    ({"loss": dg.MaxHinge(costs=np.ones((2, 2))), "y": np.arange(30) % 3}, ValueError, "costs"),
    ({"penalty": 0.1}, TypeError, "penalty must be a penalty object"),
    ({"penalty": dg.L2}, TypeError, "penalty must be a penalty object"),
    ({"penalty": dg.L2(-1.0)}, ValueError, "L2.l2 must be finite and >= 0"),
    ({"penalty": dg.L2(np.nan)}, ValueError, "L2.l2"),
    ({"penalty": dg.L2(0.0)}, ValueError, "l2 must be > 0"),
    ({"penalty": dg.ElasticNet(0.0, 0.0)}, ValueError, "l1 or l2 must be > 0"),
    ({"penalty": dg.NonNegative(dg.L2(0.0))}, ValueError, "nothing keeps the coefficients bounded"),
    ({"penalty": dg.Entropy(0.0)}, ValueError, "l2 must be > 0 in Entropy"),
    ({"penalty": dg.QNorm(1.0, 2.5)}, ValueError, "QNorm.q"),
    ({"penalty": dg.Factors(dg.L2(1.0), [1.0, 2.0])}, ValueError, "factors must have one number per column"),
    ({"penalty": dg.Factors(dg.L2(1.0), [1.0, 1.0, -1.0, 1.0])}, ValueError, "factors must not be negative"),
    ({"penalty": dg.Box(dg.L2(1.0), 1.0, 0.0)}, ValueError, "lower must not exceed upper"),
    ({"penalty": dg.Box(dg.L2(1.0), np.nan, 0.0)}, ValueError, "lower must not hold nan"),
    ({"penalty": dg.Factors(dg.Box(dg.L2(1.0), 0.0, 1.0), np.ones(4))}, TypeError, "Factors go inside Box"),
    ({"penalty": dg.Box(dg.GroupL1(1.0, 1.0, [0, 0, 1, 1]), 0.0, 1.0)}, TypeError, "each coefficient on its own"),
    ({"penalty": dg.GroupL1(1.0, 1.0, [0, 0, 2, 2])}, ValueError, "groups must be numbered"),
    ({"penalty": dg.GroupL1(1.0, 1.0, [0, 1])}, ValueError, "groups must have one integer per column"),
    ({"penalty": dg.QNorm(1.0, 1.5), "loss": dg.Softmax(), "y": np.arange(30) % 3}, TypeError, "needs a scalar loss"),
    ({"penalty": dg.QNorm(1.0, 1.5), "solver": "accelerated"}, ValueError, "open problem"),
    ({"penalty": dg.Entropy(1.0), "solver": dg.FISTA()}, ValueError, "open problem"),
    ({"solver": "sgd"}, ValueError, "solver must be one of 'auto'"),
    ({"solver": dg.FISTA}, TypeError, "solver must be a name or a solver object"),
    ({"tol": 0.0}, ValueError, "tol must be finite and > 0"),
    ({"tol": "small"}, TypeError, "tol must be a number"),
    ({"max_passes": 0}, ValueError, "max_passes must be a positive number"),
    ({"time_limit": -1.0}, ValueError, "time_limit must be finite and >= 0"),
    ({"callback": 3}, TypeError, "callback must be a function"),
    ({"random_state": "seed"}, ValueError, "random_state must be a nonnegative integer"),
    ({"random_state": -1}, ValueError, "random_state must be a nonnegative integer"),
    ({"intercept": 1}, TypeError, "intercept must be True or False"),
]


@pytest.mark.parametrize(("changes", "error", "message"), BAD, ids=[f"{next(iter(c))}-{m[:25]}" for c, _, m in BAD])
def test_bad_input_is_named(changes, error, message):
    with pytest.raises(error, match=re.escape(message)):
        solve(**changes)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: dg.ProxSDCA(option="VI"), "option must be one of"),
        (lambda: dg.ProxSDCA(sampling="cyclic"), "sampling must be one of"),
        (lambda: dg.ProxSDCA(output="first"), "output must be one of"),
        (lambda: dg.ProxSDCA(delta=0.0), "delta must lie between"),
        (lambda: dg.ProxSDCA(window=0), "window must be a positive number"),
        (lambda: dg.AcceleratedProxSDCA(inner=0), "inner must be a positive number of passes or 'theory'"),
        (lambda: dg.AcceleratedProxSDCA(stop="gap"), "stop must be 'direct' or 'paper'"),
        (lambda: dg.FISTA(restart="yes"), "restart must be True or False"),
    ],
)
def test_bad_solver_parameters_are_named(make, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        make()


def read_only(A):
    A = A.copy()
    A.flags.writeable = False
    return A


def sparse_with(**kinds):
    A = sp.csr_matrix(X)
    return sp.csr_matrix((A.data, A.indices.astype(kinds["indices"]), A.indptr.astype(kinds["indptr"])), shape=A.shape)


def shuffled_with_duplicates():
    A = sp.csr_matrix(X)
    data = np.concatenate([np.concatenate([A[i].data[::-1] * 0.25, A[i].data * 0.75]) for i in range(30)])
    indices = np.concatenate([np.concatenate([A[i].indices[::-1], A[i].indices]) for i in range(30)])
    return sp.csr_matrix((data, indices, np.arange(0, 241, 8)), shape=(30, 4))


UNUSUAL = {
    "read-only": (read_only(X), False),
    "fortran": (np.asfortranarray(X), True),
    "strided": (np.repeat(X, 2, axis=1)[:, ::2], True),
    "list": (X.tolist(), True),
    "big-endian": (X.astype(">f8"), True),
    "csr": (sp.csr_matrix(X), False),
    "csr array": (sp.csr_array(X), False),
    "csc": (sp.csc_matrix(X), True),
    "coo": (sp.coo_matrix(X), True),
    "int64 indices": (sparse_with(indices=np.int64, indptr=np.int64), False),
    "unsorted and duplicate": (shuffled_with_duplicates(), False),
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_unusual_layouts_give_the_same_answer(name):
    A, converted = UNUSUAL[name]
    expected, s = solve(tol=1e-9), solve(X=A, tol=1e-9)
    assert s.status is dg.Status.CERTIFIED
    np.testing.assert_allclose(s.w, expected.w, atol=1e-3)
    assert abs(s.primal - expected.primal) <= s.gap + expected.gap
    assert any("converted" in note or "copied" in note for note in s.notes) == converted


def test_float32_is_read_in_place_and_means_what_it_holds():
    A = X.astype(np.float32)
    s, exact = solve(X=A, tol=1e-9), solve(X=A.astype(np.float64), tol=1e-9)
    assert not any("X was" in note for note in s.notes)
    assert abs(s.primal - exact.primal) <= s.gap + exact.gap


def test_integers_and_column_targets_are_taken():
    assert solve(y=Y.astype(int)[:, None]).status is dg.Status.CERTIFIED
    assert solve(X=np.round(X).astype(np.int32)).status is dg.Status.CERTIFIED


@pytest.mark.parametrize("unit", [1e-320, 1e-300, 1e308])
def test_weights_of_any_unit(unit):
    np.testing.assert_array_equal(solve(sample_weight=unit).w, solve().w)
    weight = np.where(np.arange(30) % 3, 1.0, 0.5)
    np.testing.assert_allclose(solve(sample_weight=unit * weight, tol=1e-10).w, solve(sample_weight=weight, tol=1e-10).w, rtol=2e-3)


def test_least_squares_without_any_penalty():
    s = solve(loss=dg.Squared(), penalty=dg.Factors(dg.L2(0.0), 0.0), tol=1e-10)
    assert s.status is dg.Status.CERTIFIED
    np.testing.assert_allclose(s.w, np.linalg.lstsq(X, Y)[0], rtol=1e-6)


def test_input_is_never_written():
    A, y, weight = X.copy(), Y.copy(), np.abs(RNG.standard_normal(30))
    kept = weight.copy()
    solve(X=A, y=y, sample_weight=weight, intercept=True)
    assert np.array_equal(A, X)
    assert np.array_equal(y, Y)
    assert np.array_equal(weight, kept)


def test_a_failed_call_leaves_a_warm_start_alone():
    s = solve()
    with pytest.raises(ValueError, match="warm_start must be a solution with coefficients of shape"):
        solve(X=X[:, :3], warm_start=s)
    with pytest.raises(ValueError, match="at most 20 rows"):
        solve(X=X[:20], y=Y[:20], warm_start=s)
    assert s.alpha.shape == (30,)
