import ast
import contextlib
import inspect
import io
import math
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from dualgap import theory

UPDATES = (theory.sdca_iterations, theory.sdca_iterations_averaged, theory.sdca_iterations_expected)
KINDS = ("dual", "last", "best")


def whp(kind):
    def bound(**arguments):
        return theory.sdca_iterations_whp(kind, **arguments)

    bound.__signature__ = inspect.Signature(list(inspect.signature(theory.sdca_iterations_whp).parameters.values())[1:])
    bound.__name__ = f"sdca_iterations_whp[{kind}]"
    return bound


def table_entry(problem, algorithm, needed):
    def bound(**arguments):
        return theory.runtime(problem, algorithm, **arguments)

    bound.__signature__ = inspect.Signature([inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in ("n", "d", *needed)])
    bound.__name__ = f"runtime[{problem}, {algorithm}]"
    return bound


def parameter(field):
    def bound(**arguments):
        return getattr(theory.acceleration(**arguments), field)

    bound.__signature__ = inspect.signature(theory.acceleration)
    bound.__name__ = f"acceleration.{field}"
    return bound


# The sign with which each argument moves each bound; 0 where it depends.
PROBLEM = {"n": 1, "radius": 1, "lam": -1, "gamma": -1}
HARD = {"n": -1, "radius": 1, "lam": -1, "gamma": -1}
ERRORS = {"gap0": 1, "eps": -1}
DIRECTIONS = {
    theory.condition: HARD,
    **dict.fromkeys(UPDATES, PROBLEM | ERRORS),
    **{whp(kind): PROBLEM | ERRORS | {"delta": -1} for kind in KINDS},
    theory.averaging_start: {"t": 1, "n": -1, "radius": -1, "lam": 1, "gamma": 1},
    theory.trials: {"delta": -1},
    parameter("kappa"): HARD,
    parameter("mu"): {"n": 0, "radius": 0, "lam": 1, "gamma": 0},
    parameter("rho"): HARD,
    parameter("eta"): {"n": 1, "radius": -1, "lam": 1, "gamma": 1},
    parameter("beta"): HARD,
    theory.xi: {"t": -1, "eta": -1, "gap0": 1},
    theory.inner_tolerance: {"t": -1, "eta": 0, "gap0": 1},
    theory.outer_iterations: {"eta": -1} | ERRORS,
    theory.outer_iterations_bound: HARD | ERRORS,
    theory.inner_iterations: PROBLEM,
    theory.accelerated_iterations: PROBLEM | ERRORS | {"n": 0},
    theory.stopping_bound: {"lam": -1, "kappa": 1, "eps_t": 1, "distance": 1},
    theory.smoothing_error: {"gamma": 1, "lipschitz": 1},
    theory.smoothing_gamma: {"eps": 1, "lipschitz": -1},
    theory.lasso_lam: {"eps": 1, "sigma": 1, "ybar": -1},
    theory.total_runtime: PROBLEM | {"d": 1},
    theory.log_factor: HARD | {"eps": -1, "delta": -1},
    **{table_entry("svm", algorithm, ("lam", "eps")): {"n": 1, "d": 1, "lam": -1, "eps": -1} for algorithm in ("sgd", "agd", "this")},
    **{table_entry("lasso", algorithm, ("eps",)): {"n": 1, "d": 1, "eps": -1} for algorithm in ("sgd", "cd", "fista", "this")},
    **{table_entry("ridge", algorithm, ("lam",)): {"n": 1, "d": 1, "lam": -1} for algorithm in ("exact", "sgd", "agd", "this")},
}
ACCELERATED = {
    bound
    for bound in DIRECTIONS
    if bound.__name__.startswith("acceler") or bound in (theory.outer_iterations_bound, theory.inner_iterations)
}
named = pytest.mark.parametrize("bound", DIRECTIONS, ids=lambda bound: bound.__name__)


def positive(low, high):
    return st.floats(math.log(low), math.log(high)).map(math.exp)


def problems(low=1e-4, high=1e8):
    """n, radius, lam and gamma of a problem whose condition lies between the two numbers."""

    def of(n, radius, gamma, c):
        return {"n": n, "radius": radius, "lam": radius * radius / (gamma * n * c), "gamma": gamma}

    return st.builds(of, st.integers(1, 100_000), positive(0.01, 100), positive(1e-3, 10), positive(low, high))


REST = {
    "d": st.integers(1, 1000),
    "gap0": positive(1e-3, 1e3),
    "eps": positive(1e-12, 0.09),
    "delta": positive(1e-12, 0.09),
    "t": st.integers(2, 1_000_000),
    "eta": positive(1e-4, 0.09),
    "kappa": positive(1e-6, 1e3),
    "eps_t": positive(1e-12, 1.0),
    "distance": positive(1e-6, 1e3),
    "lipschitz": positive(1e-3, 1e3),
    "sigma": positive(1e-6, 1e3),
    "ybar": positive(1e-6, 1e3),
}
gap0s, epss, deltas = REST["gap0"], REST["eps"], REST["delta"]


@named
@settings(max_examples=50)
@given(data=st.data())
def test_every_argument_moves_the_bound_in_its_direction(bound, data):
    names = list(inspect.signature(bound).parameters)
    assert set(names) == set(DIRECTIONS[bound])
    arguments = data.draw(problems(low=1e4) if bound in ACCELERATED else problems())
    arguments = {name: arguments[name] if name in arguments else data.draw(REST[name]) for name in names}
    before = bound(**arguments)
    for name, direction in DIRECTIONS[bound].items():
        factor = data.draw(st.integers(1, 10) if name in ("n", "d", "t") else st.floats(1, 10))
        after = bound(**(arguments | {name: arguments[name] * factor}))
        assert direction * (after - before) >= -1e-9 * abs(before)


PLAIN = {
    "n": 4,
    "radius": 2.0,
    "lam": 0.5,
    "gamma": 2.0,
    "gap0": 7.389,
    "eps": 1.0,
}  # x = 4, log ratio 2 - 7.6e-6
STEEP = {"n": 1, "radius": 1.0, "lam": 0.5, "gamma": 2 / 13}  # c = 13, so eta^-2 = 25


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (theory.sdca_iterations(**PLAIN), 33),  # 8 (log 8 + 2) = 32.6
        (theory.sdca_iterations_averaged(**PLAIN), 24),  # 8 (1 + 2)
        (theory.sdca_iterations_expected(**PLAIN), 60),  # 2 8 (1 + log 2 + 2) = 59.1
        (theory.sdca_iterations_whp("dual", **PLAIN, delta=0.1), 88),  # ceil(8 2.69) 4
        (theory.sdca_iterations_whp("last", **PLAIN, delta=0.1), 156),  # ceil(8 (2.08 + 2.69)) 4
        (theory.sdca_iterations_whp("best", **PLAIN, delta=0.1), 160),  # 8 (1 + ceil 2.69) 5
        ([theory.trials(delta) for delta in (math.nextafter(1, 0), 0.5, 0.3, 0.25, 0.1)], [2, 2, 3, 3, 5]),
        ([theory.averaging_start(t, n=3, radius=1, lam=0.4, gamma=1) for t in (1, 6, 7, 10)], [0, 0, 1, 4]),
        (theory.acceleration(**STEEP), pytest.approx((6, 0.25, 6.25, 0.2, 2 / 3))),
        ([theory.xi(t, eta=0.5, gap0=3) for t in (1, 3)], [15, 8.4375]),
        ([theory.inner_tolerance(t, eta=0.5, gap0=3) for t in (2, 4)], [0.75, 0.421875]),
        (theory.outer_iterations(eta=0.5, gap0=3, eps=1), 12),  # 1 + 4 log 15 = 11.8
        (theory.outer_iterations_bound(**STEEP, gap0=3, eps=1), 46),  # 1 + sqrt(104) (log 26 + log 3) = 45.4
        (theory.inner_iterations(**STEEP), 61),  # 4 (8 + log 2 + 2.5 log 13) = 60.4
        (theory.accelerated_iterations(**STEEP, gap0=3, eps=1), 44 * 61),  # ceil(10 log(26 3)) = 44
        (theory.stopping_bound(lam=4, kappa=6, eps_t=0.5, distance=2), 50.5),  # 5 0.5 + 8 6/4 4
        (theory.lasso_lam(eps=0.5, sigma=3, ybar=2), 1.125),
        (theory.smoothing_gamma(0.5, 2), 0.125),
        (theory.smoothing_error(0.5, 2), 1),
        (
            theory.log_factor(**STEEP, eps=0.1, delta=0.1),
            pytest.approx(math.log(10) ** 2 * math.log(13) ** 2),
        ),
        (theory.log_factor(**STEEP | {"lam": 1e6}, eps=0.1, delta=0.1), pytest.approx(math.log(10) ** 2)),
    ],
)
def test_values_by_hand(got, expected):
    assert got == expected


def test_table_by_hand():
    rows = theory.runtime_table(n=100, d=10, lam=1 / 16, eps=1 / 4)
    assert {row[:2]: row.runtime for row in rows} == {
        ("svm", "sgd"): 640,
        ("svm", "agd"): 8000,
        ("svm", "this"): 1640,
        ("lasso", "sgd"): 160,
        ("lasso", "cd"): 4000,
        ("lasso", "fista"): 2000,
        ("lasso", "this"): 1040,
        ("ridge", "exact"): 11000,
        ("ridge", "sgd"): 1160,
        ("ridge", "agd"): 4000,
        ("ridge", "this"): 1160,
    }
    assert theory.runtime("svm", "this", n=4, d=10, lam=1 / 16, eps=1 / 4) == 10 * (4 + 16)


@given(n=st.integers(1, 10**6), d=st.integers(1, 1000), lam=positive(1e-9, 1), eps=positive(1e-9, 1))
def test_formulas_of_the_table_say_what_is_computed(n, d, lam, eps):
    x_of = {"svm": 1 / (lam * eps), "lasso": 1 / eps, "ridge": 1 / lam}
    for row in theory.runtime_table(n=n, d=d, lam=lam, eps=eps):
        python = re.sub(r"(?<=[\w)]) (?=[\w(])", "*", row.formula).replace("^", "**")
        known = {"n": n, "d": d, "x": x_of[row.problem], "sqrt": math.sqrt, "min": min}
        assert row.runtime == pytest.approx(eval(python, known))


@given(n=st.integers(1, 10**6), d=st.integers(1, 1000), lam=positive(1e-9, 1), eps=positive(1e-9, 1))
def test_table_is_the_main_result_applied(n, d, lam, eps):
    size = {"n": n, "d": d, "radius": 1.0}
    smoothed = theory.total_runtime(**size, lam=lam, gamma=theory.smoothing_gamma(eps, 1))
    sparse = theory.total_runtime(**size, lam=theory.lasso_lam(eps=eps, sigma=1, ybar=1), gamma=1)
    smooth = theory.total_runtime(**size, lam=lam, gamma=1)
    this = {row.problem: row.runtime for row in theory.runtime_table(n=n, d=d, lam=lam, eps=eps) if row[1] == "this"}
    assert this == pytest.approx({"svm": smoothed, "lasso": sparse, "ridge": smooth})


@given(n=st.integers(1, 10**6), eps=positive(1e-12, 1))
def test_fista_loses_at_most_the_root_of_n(n, eps):
    ratio = theory.runtime("lasso", "fista", n=n, d=1, eps=eps) / theory.runtime("lasso", "this", n=n, d=1, eps=eps)
    assert ratio <= math.sqrt(n)


@given(problem=problems(low=1.001))
def test_acceleration_parameters(problem):
    kappa, mu, rho, eta, beta = theory.acceleration(**problem)
    n, radius, lam, gamma = problem.values()
    c = theory.condition(**problem)
    assert radius**2 / ((kappa + lam) * gamma) == pytest.approx(n)
    assert kappa == pytest.approx(radius**2 / (gamma * n) - lam, rel=1e-9, abs=1e-9 * lam)
    assert (mu, rho) == (lam / 2, pytest.approx(mu + kappa))
    assert eta**2 == pytest.approx(mu / rho)
    assert 1 + eta**-2 == pytest.approx(2 * c)
    assert beta == pytest.approx((1 - eta) / (1 + eta))
    assert 0 < eta < 1
    assert 0 < beta < 1


@given(problem=problems(low=1.001), gap0=gap0s, eps=epss, t=st.integers(1, 10_000))
def test_xi_is_what_the_induction_of_theorem_3_needs(problem, gap0, eps, t):
    _, mu, rho, eta, _ = theory.acceleration(**problem)
    bound = theory.xi(t, eta=eta, gap0=gap0)
    tolerance = theory.inner_tolerance(t + 1, eta=eta, gap0=gap0)
    assert theory.xi(1, eta=eta, gap0=gap0) == pytest.approx(2 * theory.condition(**problem) * gap0)
    assert tolerance == pytest.approx(eta / (2 * (1 + eta**-2)) * bound)
    assert (1 + rho / mu) * tolerance + (1 - eta) * bound == pytest.approx(theory.xi(t + 1, eta=eta, gap0=gap0))

    last = theory.outer_iterations(eta=eta, gap0=gap0, eps=eps)
    assert theory.xi(last, eta=eta, gap0=gap0) <= eps * (1 + 1e-9)
    assert last <= theory.outer_iterations_bound(**problem, gap0=gap0, eps=eps) * (1 + 1e-9)


@given(problem=problems(low=1.001))
def test_logarithm_of_an_inner_problem(problem):
    eta = theory.acceleration(**problem).eta
    exact = math.log((1 + 36 * eta**-5) / (1 - eta / 2) ** 2)
    n, c = problem["n"], theory.condition(**problem)
    assert exact <= 7 + 2.5 * math.log(c)
    inner = {"n": n, "radius": 1.0, "lam": 1.0, "gamma": 1 / n}
    bound = theory.sdca_iterations_expected(**inner, gap0=math.exp(min(exact, 700)), eps=1.0)
    assert bound <= theory.inner_iterations(**problem)


@given(problem=problems(), gap0=gap0s, eps=epss)
def test_averaging_pays_when_the_logarithm_is_large(problem, gap0, eps):
    scale = problem["n"] * (1 + theory.condition(**problem))
    assume(scale * (math.log(scale) - 1) >= 1 + math.log(gap0 / eps))
    averaged = theory.sdca_iterations_averaged(**problem, gap0=gap0, eps=eps)
    assert averaged <= theory.sdca_iterations(**problem, gap0=gap0, eps=eps) + 1


def test_averaging_does_not_pay_when_the_logarithm_is_small():
    tiny = {"n": 1, "radius": 1.0, "lam": 1.0, "gamma": 2.0, "gap0": 100.0, "eps": 1.0}
    assert theory.sdca_iterations_averaged(**tiny) > theory.sdca_iterations(**tiny)


@given(problem=problems())
@example(problem={"n": 1, "radius": 1.0, "lam": 0.1, "gamma": 1.0})
@example(problem={"n": 1, "radius": 1.0, "lam": 0.0999, "gamma": 1.0})
def test_acceleration_is_asked_for_and_helps_where_the_condition_is_large(problem):
    c = theory.condition(**problem)
    assert theory.accelerate(**problem) is (c * problem["n"] > 10 * problem["n"])
    plain = problem["n"] * (1 + c)
    total = theory.total_runtime(d=1, **problem)
    assert total <= plain * (1 + 1e-9)
    if abs(c - 1) > 1e-6:
        assert (total < plain * (1 - 1e-9)) is (c > 1)


@pytest.mark.parametrize("n", [1000, 1_000_000])
def test_proven_constants_favour_acceleration_from_some_condition_on(n):
    ahead = []
    for k in range(2, 24):
        problem = {"n": n, "radius": 1.0, "lam": 1 / (n * 2**k), "gamma": 1.0, "gap0": 1.0, "eps": 1e-3}
        ahead.append(theory.accelerated_iterations(**problem) < theory.sdca_iterations_expected(**problem))
    assert ahead == sorted(ahead)
    assert 10**5 < 2 ** (2 + ahead.index(True)) < 10**6


@given(problem=problems(), gap0=gap0s, eps=epss, delta=deltas)
def test_bounds_carry_the_decay_that_proves_them(problem, gap0, eps, delta):
    n, x = problem["n"], problem["n"] * theory.condition(**problem)
    arguments = problem | {"gap0": gap0, "eps": eps}

    def dual_error(t):
        return gap0 * math.exp(-t / (n + x))

    assert (n + x) * dual_error(theory.sdca_iterations(**arguments)) <= eps * (1 + 1e-9)
    t = theory.sdca_iterations_averaged(**arguments)
    start = theory.averaging_start(t, **problem)
    assert (n + x) / (t - start) * dual_error(start) <= eps * (1 + 1e-9)
    t = theory.sdca_iterations_whp("dual", **arguments, delta=0.5)
    assert 2 * dual_error(t) <= eps * (1 + 1e-9)
    assert theory.sdca_iterations_whp("dual", **arguments, delta=delta) == t * (theory.trials(delta) - 1)
    # Markov's inequality alone makes a single random point of the third part good enough.
    t = theory.sdca_iterations_whp("best", **arguments, delta=delta)
    start = theory.averaging_start(t, **problem)
    assert (n + x) / (t - start) * dual_error(start) <= eps * delta * (1 + 1e-9)


@given(eps=epss, lipschitz=REST["lipschitz"], sigma=REST["sigma"], ybar=REST["ybar"])
def test_changing_the_problem_costs_half_of_eps(eps, lipschitz, sigma, ybar):
    assert theory.smoothing_error(theory.smoothing_gamma(eps, lipschitz), lipschitz) == pytest.approx(eps / 2)
    largest_norm = ybar / sigma
    assert theory.lasso_lam(eps=eps, sigma=sigma, ybar=ybar) / 2 * largest_norm**2 == pytest.approx(eps / 2)


@given(gap0=gap0s, eps=epss)
def test_data_without_length_leave_only_n(gap0, eps):
    nothing = {"n": 1000, "radius": 0.0, "lam": 1.0, "gamma": 1.0}
    expected = math.ceil(1000 * max(0.0, math.log(1000) + math.log(gap0) - math.log(eps)))
    assert theory.sdca_iterations(**nothing, gap0=gap0, eps=eps) == expected
    assert theory.sdca_iterations(**nothing | {"radius": 1e-9}, gap0=gap0, eps=eps) - expected in (0, 1)
    assert theory.total_runtime(d=3, **nothing) == 3000


@pytest.mark.parametrize("gap0", [0.0, 1e-300, 1e-30])
def test_a_start_that_is_accurate_needs_no_logarithm(gap0):
    problem = {"n": 10, "radius": 1.0, "lam": 0.001, "gamma": 1.0}
    arguments = problem | {"gap0": gap0, "eps": 0.1}
    assert [bound(**arguments) for bound in UPDATES] == [0, 1010, 2020]
    assert [theory.sdca_iterations_whp(kind, **arguments, delta=0.5) for kind in KINDS] == [0, 0, 2020]
    assert theory.outer_iterations(eta=0.1, gap0=gap0, eps=0.1) == 1
    assert theory.outer_iterations_bound(**arguments) == 1
    assert theory.accelerated_iterations(**arguments) == 0


def test_acceleration_fades_out_where_the_condition_is_one():
    kappa, _, _, eta, beta = theory.acceleration(n=1, radius=1.0, lam=1 - 2**-52, gamma=1.0)
    assert 0 < kappa < 1e-15
    assert 1 - 1e-15 < eta < 1
    assert 0 < beta < 1e-15
    assert theory.acceleration(n=1, radius=1e100, lam=1e-100, gamma=1.0).eta == pytest.approx(math.sqrt(0.5) * 1e-150)


def test_extreme_accuracies_do_not_overflow():
    problem = {"n": 10, "radius": 1.0, "lam": 0.1, "gamma": 1.0}
    assert theory.sdca_iterations(**problem, gap0=1e300, eps=1e-300) == math.ceil(20 * (math.log(20) + 600 * math.log(10)))
    assert theory.trials(5e-324) == 1075


def ridge(lam, seed=0, n=20, d=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X /= np.linalg.norm(X, axis=1).max()
    y = rng.normal(size=n)

    def primal(w):
        return 0.5 * np.mean((X @ w - y) ** 2) + lam / 2 * w @ w

    return X, y, primal


def test_theorem_1_holds_on_ridge_regression():
    lam, eps, runs = 0.01, 1e-2, 20
    X, y, primal = ridge(lam)
    n = len(y)
    problem = {"n": n, "radius": 1.0, "lam": lam, "gamma": 1.0}

    def dual(alpha):
        v = X.T @ alpha / (lam * n)
        return np.mean(y * alpha - alpha**2 / 2) - lam / 2 * v @ v

    def gap(alpha):
        return primal(X.T @ alpha / (lam * n)) - dual(alpha)

    best = np.linalg.solve(np.eye(n) + X @ X.T / (lam * n), y)
    gap0 = dual(best)
    steps = theory.sdca_iterations(**problem, gap0=gap0, eps=eps)
    average_steps = theory.sdca_iterations_averaged(**problem, gap0=gap0, eps=eps)
    start = theory.averaging_start(average_steps, **problem)
    assert 0 < start < average_steps < steps
    last, average = [], []
    for seed in range(runs):
        alpha, w, total = np.zeros(n), np.zeros(X.shape[1]), np.zeros(n)
        for t, i in enumerate(np.random.default_rng(seed).integers(n, size=steps)):
            if start <= t < average_steps:
                total += alpha
            step = (y[i] - X[i] @ w - alpha[i]) / (1 + X[i] @ X[i] / (lam * n))
            alpha[i] += step
            w += step / (lam * n) * X[i]
        last.append(gap(alpha))
        average.append(gap(total / (average_steps - start)))
    assert gap(np.zeros(n)) > eps
    assert np.mean(last) <= eps
    assert np.mean(average) <= eps


@pytest.mark.parametrize("seed", range(3))
def test_theorem_3_holds_with_inner_problems_solved_as_badly_as_allowed(seed):
    lam = 1e-5
    X, y, primal = ridge(lam, seed)
    n, d = X.shape
    kappa, _, _, eta, beta = theory.acceleration(n=n, radius=1.0, lam=lam, gamma=1.0)
    hessian, target = X.T @ X / n + lam * np.eye(d), X.T @ y / n
    optimum = primal(np.linalg.solve(hessian, target))
    gap0 = primal(np.zeros(d))  # D(0) = 0
    inner = hessian + kappa * np.eye(d)
    rng = np.random.default_rng(seed)
    w = centre = np.zeros(d)
    for t in range(2, theory.outer_iterations(eta=eta, gap0=gap0, eps=1e-4) + 1):
        eps_t = theory.inner_tolerance(t, eta=eta, gap0=gap0)
        direction = rng.normal(size=d)
        direction *= math.sqrt(2 * eps_t / (direction @ inner @ direction))
        before, w = w, np.linalg.solve(inner, target + kappa * centre) + direction
        error = primal(w) - optimum
        distance = np.linalg.norm(w - centre)
        assert error <= theory.xi(t, eta=eta, gap0=gap0) + 1e-12
        assert error <= theory.stopping_bound(lam=lam, kappa=kappa, eps_t=eps_t, distance=distance) + 1e-12
        centre = w + beta * (w - before)
    assert error <= 1e-4


VALID = {
    "n": 100,
    "radius": 1.0,
    "lam": 1e-6,
    "gamma": 1.0,
    "d": 10,
    "gap0": 1.0,
    "eps": 0.01,
    "delta": 0.1,
    "t": 50,
    "eta": 0.1,
    "kappa": 1.0,
    "eps_t": 0.1,
    "distance": 1.0,
    "lipschitz": 1.0,
    "sigma": 1.0,
    "ybar": 1.0,
}
WRONG = (
    dict.fromkeys(VALID, (0, -1.0, math.inf, math.nan))
    | dict.fromkeys(("n", "d", "t"), (0, -3, 2.5, math.inf, math.nan))
    | dict.fromkeys(("radius", "gap0", "eps_t", "distance"), (-1e-9, math.inf, math.nan))
    | dict.fromkeys(("delta", "eta"), (0.0, 1.0, -0.5, 2, math.nan))
)


@named
def test_wrong_arguments_are_named(bound):
    valid = {name: VALID[name] for name in inspect.signature(bound).parameters}
    for name in valid:
        for value in WRONG[name]:
            with pytest.raises(ValueError, match=rf"^{name} must be .*, got {value!r}$"):
                bound(**valid | {name: value})
        for value in ("1", 1j):
            with pytest.raises(TypeError, match=rf"^{name} must be "):
                bound(**valid | {name: value})


@named
def test_numpy_numbers_are_numbers(bound):
    valid = {name: VALID[name] for name in inspect.signature(bound).parameters}
    single = {name: np.float32(value) if isinstance(value, float) else np.int32(value) for name, value in valid.items()}
    plain = {name: float(value) if isinstance(valid[name], float) else value for name, value in single.items()}
    assert bound(**single) == bound(**plain)
    assert type(bound(**single)) in (int, float)


def test_other_errors():
    with pytest.raises(ValueError, match="kind must be 'dual', 'last' or 'best', got 'worst'"):
        theory.sdca_iterations_whp("worst", **PLAIN, delta=0.1)
    with pytest.raises(ValueError, match=r"ridge/exact.*got ridge/cd"):
        theory.runtime("ridge", "cd", n=1, d=1, lam=1.0)
    with pytest.raises(ValueError, match="eps must be a positive finite number for svm, got None"):
        theory.runtime("svm", "sgd", n=1, d=1, lam=1.0)
    with pytest.raises(ValueError, match=re.escape("radius**2 / (lam * gamma) must be a finite number")):
        theory.condition(n=1, radius=1e200, lam=1e-200, gamma=1.0)
    with pytest.raises(ValueError, match=r"^t must be a whole number, at least 2, got 1$"):
        theory.inner_tolerance(1, eta=0.1, gap0=1.0)


@pytest.mark.parametrize("lam", [1.0, 2.0])
def test_no_parameters_without_a_condition_above_one(lam):
    easy = {"n": 1, "radius": 1.0, "lam": lam, "gamma": 1.0}
    message = re.escape(f"radius**2 / (lam * gamma * n) must be above 1 to accelerate, got {1 / lam}")
    for bound in (theory.acceleration, theory.inner_iterations):
        with pytest.raises(ValueError, match=message):
            bound(**easy)
    for bound in (theory.outer_iterations_bound, theory.accelerated_iterations):
        with pytest.raises(ValueError, match=message):
            bound(**easy, gap0=1.0, eps=0.1)


def test_only_the_standard_library_is_imported():
    imported = set()
    for node in ast.walk(ast.parse(Path(theory.__file__).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module)
    assert {name.split(".")[0] for name in imported} <= sys.stdlib_module_names


def test_the_page_shows_what_its_command_prints():
    page = (Path(__file__).parents[1] / "docs" / "theory.md").read_text(encoding="utf-8")
    command = re.search(r"^python - <<'END'\n(.*?)^END$", page, re.DOTALL | re.MULTILINE)[1]
    shown = re.search(r"^```text\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)[1]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(command, {})
    assert printed.getvalue() == shown


def test_the_page_names_every_function():
    page = (Path(__file__).parents[1] / "docs" / "theory.md").read_text(encoding="utf-8")
    functions = {name for name, value in vars(theory).items() if inspect.isfunction(value)}
    public = {name for name in functions if vars(theory)[name].__module__ == theory.__name__ and name[0] != "_"}
    assert public <= set(re.findall(r"`(\w+)`", page))
