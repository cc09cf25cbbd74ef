"""Scalar losses against their definitions: conjugates, derivatives, moduli, exact steps, compiled code."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from dualgap import formulas
from dualgap.kernels.compile import kernel
from dualgap.losses import (
    Absolute,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    Quantile,
    Smoothed,
    SmoothHinge,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)

ALL_LOSSES = [
    Squared(),
    Absolute(),
    Huber(),
    Huber(1e-3),
    Huber(20.0),
    EpsilonInsensitive(),
    EpsilonInsensitive(0.0),
    EpsilonInsensitive(3.0),
    SquaredEpsilonInsensitive(),
    SquaredEpsilonInsensitive(0.0),
    SquaredEpsilonInsensitive(3.0),
    Quantile(),
    Quantile(0.05),
    Quantile(0.99),
    Logistic(),
    Hinge(),
    SmoothHinge(),
    SmoothHinge(1e-3),
    SmoothHinge(10.0),
    SquaredHinge(),
    Smoothed(Absolute(), 1.0),
    Smoothed(Absolute(), 1e-4),
    Smoothed(EpsilonInsensitive(0.5), 0.1),
    Smoothed(Quantile(0.3), 2.0),
    Smoothed(Hinge(), 1.0),
    Smoothed(Hinge(), 1e-4),
    Smoothed(Logistic(), 0.5),
]
LIPSCHITZ = [loss for loss in ALL_LOSSES if hasattr(loss, "lipschitz")]
SMOOTH = [loss for loss in ALL_LOSSES if loss.smoothness > 0.0]
ONE_OF_EACH_TYPE = list({(type(loss), type(loss[0]) if loss else None): loss for loss in ALL_LOSSES}.values())
STEPS = [0.0, 1e-12, 1e-3, 1.0, 1e3, 1e7, 1e12]
EPS = float(np.finfo(float).eps)

each_loss = pytest.mark.parametrize("loss", ALL_LOSSES, ids=str)
each_smooth = pytest.mark.parametrize("loss", SMOOTH, ids=str)
quick = settings(max_examples=40, deadline=None, derandomize=True)
mpmath.mp.dps = 50

scores = st.floats(-20.0, 20.0, allow_subnormal=False) | st.floats(-1e8, 1e8, allow_subnormal=False) | st.sampled_from([0.0, 1.0, -1.0])
real_targets = st.floats(-5.0, 5.0, allow_subnormal=False) | st.sampled_from([0.0, 1e6, -1e6])
fractions = st.floats(0.0, 1.0) | st.sampled_from([0.0, 1e-300, 1e-20, 1e-9, 0.5, 1.0 - 1e-9, 1.0])


def target(loss, data):
    return data.draw(st.sampled_from([-1.0, 1.0]) if loss.labels == "sign" else real_targets)


def targets(loss):
    return (-1.0, 1.0) if loss.labels == "sign" else (-3.0, 0.0, 0.7)


def dual_variable(loss, y, fraction):
    """An alpha of the domain: a fraction of the way through it, or as far out where it has no end."""
    low, high = formulas.domain(loss, 0.0, y)
    if low == -math.inf and high == math.inf:
        return math.tan(3.0 * (fraction - 0.5))
    if high == math.inf:
        return fraction * 10.0
    if low == -math.inf:
        return -fraction * 10.0
    return min(high, max(low, low + fraction * (high - low)))


def size(loss, z, b, y):
    """What rounding errors of phi(z) + phi*(b) - b z are relative to."""
    return 1.0 + abs(b) * (abs(z) + abs(y)) + abs(loss.value(z, y)) + abs(loss.conjugate(b, y))


@each_loss
@quick
@given(data=st.data(), z=scores, fraction=fractions)
def test_fenchel_young(loss, data, z, fraction):
    y = target(loss, data)
    b = -dual_variable(loss, y, fraction)
    assert loss.value(z, y) + loss.conjugate(b, y) - b * z >= -8.0 * EPS * size(loss, z, b, y)
    b = loss.derivative(z, y)
    assert abs(loss.value(z, y) + loss.conjugate(b, y) - b * z) <= 8.0 * EPS * size(loss, z, b, y)


@each_loss
@quick
@given(data=st.data(), z=scores, log_h=st.floats(-6.0, 3.0))
def test_differences_lie_on_the_sides_of_the_derivative(loss, data, z, log_h):
    y = target(loss, data)
    h = 10.0**log_h
    at = loss.value(z, y)
    slope = loss.derivative(z, y)
    for other in (z - h, z + h):
        value = loss.value(other, y)
        rounding = 8.0 * EPS * (1.0 + abs(at) + abs(value) + abs(slope) * (abs(z) + h + abs(y)))
        assert value - at >= slope * (other - z) - rounding
        if loss.smoothness > 0.0:
            assert value - at <= slope * (other - z) + 0.5 / loss.smoothness * (other - z) ** 2 + rounding


@each_loss
@quick
@given(data=st.data(), a=scores, b=scores, share=st.floats(0.0, 1.0))
def test_convex(loss, data, a, b, share):
    y = target(loss, data)
    middle = share * a + (1.0 - share) * b
    chord = share * loss.value(a, y) + (1.0 - share) * loss.value(b, y)
    slope = abs(loss.derivative(a, y)) + abs(loss.derivative(b, y))
    assert loss.value(middle, y) <= chord + 8.0 * EPS * (1.0 + abs(chord) + slope * (abs(a) + abs(b) + abs(y)))


@each_loss
@pytest.mark.parametrize("fraction", [1e-3, 0.1, 0.37, 0.5, 0.8, 0.999])
def test_conjugate_is_the_maximum(loss, fraction):
    for y in targets(loss):
        b = -dual_variable(loss, y, fraction)
        found = max(
            -minimize_scalar(lambda z, b=b, y=y: loss.value(z, y) - b * z, bounds=(-r, r), method="bounded", options={"xatol": 1e-10}).fun
            for r in (1.0, 5.0, 30.0, 400.0)
        )
        assert loss.conjugate(b, y) == pytest.approx(found, rel=1e-6, abs=1e-6)


@each_loss
def test_conjugate_is_finite_on_the_domain_and_nowhere_else(loss):
    for y in targets(loss):
        low, high = loss.domain(y)
        assert low <= 0.0 <= high
        for alpha in (low, high, 0.0, 0.5 * low, 0.5 * high):
            if math.isfinite(alpha):
                assert math.isfinite(loss.conjugate(-alpha, y))
        for outside in (math.nextafter(low, -math.inf), low - 1.0, math.nextafter(high, math.inf), high + 1.0):
            if math.isfinite(outside):
                assert loss.conjugate(-outside, y) == math.inf


@each_loss
@quick
@given(data=st.data(), f=fractions, g=fractions, share=st.floats(0.0, 1.0))
def test_conjugate_is_strongly_convex(loss, data, f, g, share):
    y = target(loss, data)
    a, b = (-dual_variable(loss, y, x) for x in (f, g))
    at_a, at_b = loss.conjugate(a, y), loss.conjugate(b, y)
    bend = 0.5 * loss.smoothness * share * (1.0 - share) * (a - b) ** 2
    rounding = 8.0 * EPS * (1.0 + abs(at_a) + abs(at_b) + abs(y) * (abs(a) + abs(b)))
    middle = max(min(a, b), min(max(a, b), share * a + (1.0 - share) * b))
    assert loss.conjugate(middle, y) <= share * at_a + (1.0 - share) * at_b - bend + rounding


@each_smooth
def test_derivative_is_as_steep_as_the_smoothness_says(loss):
    for y in targets(loss):
        z = np.concatenate([[y], np.linspace(-30.0, 30.0, 1201), y + np.outer([1e-3, loss.smoothness], np.linspace(-2.0, 2.0, 41)).ravel()])
        z = np.unique(np.concatenate([z, y * (1.0 - loss.smoothness * np.linspace(0.0, 1.0, 11))]))
        z = z[np.append(True, np.diff(z) > 1e-6)]
        slopes = np.diff([loss.derivative(float(t), y) for t in z]) / np.diff(z)
        assert np.all(slopes >= -1e-9)
        assert np.max(slopes) <= (1.0 + 1e-6) / loss.smoothness
        if not isinstance(loss, Smoothed) or loss.loss.smoothness == 0.0:
            assert np.max(slopes) >= 0.9 / loss.smoothness


@pytest.mark.parametrize("loss", LIPSCHITZ, ids=str)
def test_lipschitz(loss):
    for y in targets(loss):
        slopes = [abs(loss.derivative(float(z), y)) for z in np.linspace(-30.0, 30.0, 1201)]
        assert max(slopes) == loss.lipschitz


def dual(loss, new, alpha, y, z, q):
    """The dual objective of a row, in fifty digits."""
    new, alpha, y, z, q = (mpmath.mpf(x) for x in (new, alpha, y, z, q))
    return -_exact_conjugate(loss, -new, y) - z * (new - alpha) - q / 2 * (new - alpha) ** 2


def _exact_conjugate(loss, b, y):
    if isinstance(loss, Smoothed):
        return _exact_conjugate(loss.loss, b, y) + loss.gamma / 2 * b**2
    if not isinstance(loss, Logistic):
        return loss.conjugate(b, y)
    t = -y * b
    return sum(p * mpmath.log(p) for p in (t, 1 - t) if p > 0)


def best(loss, alpha, y, z, q):
    """The maximum of the dual objective of a row, by golden-section search in fifty digits."""
    low, high = loss.domain(y)
    reach = 2.0 * (abs(z) + abs(y) + abs(alpha) + 10.0)
    low, high = mpmath.mpf(max(low, -reach)), mpmath.mpf(min(high, reach))
    golden = (mpmath.sqrt(5) - 1) / 2
    a, b = high - golden * (high - low), low + golden * (high - low)
    at_a, at_b = (dual(loss, x, alpha, y, z, q) for x in (a, b))
    for _ in range(60):
        if at_a > at_b:
            high, b, at_b = b, a, at_a
            a = high - golden * (high - low)
            at_a = dual(loss, a, alpha, y, z, q)
        else:
            low, a, at_a = a, b, at_b
            b = low + golden * (high - low)
            at_b = dual(loss, b, alpha, y, z, q)
    return max(at_a, at_b, *(dual(loss, x, alpha, y, z, q) for x in loss.domain(y) if math.isfinite(x)))


def step_allowance(loss, new, alpha, y, z, q):
    """What a rounding error in the new alpha may cost."""
    error = 8.0 * EPS * (abs(new) + abs(alpha) + (abs(z) + abs(y)) / max(q + loss.smoothness, 1e-12)) if new not in loss.domain(y) else 0.0
    return (q + loss.smoothness) * error**2 + 1e-18 * (1.0 + abs(z))


@each_loss
@pytest.mark.parametrize("q", STEPS)
def test_dual_step_is_the_maximizer(loss, q):
    rng = np.random.default_rng(0)
    for y in targets(loss):
        for z in (y, float(rng.normal()), -1e-3, 1e4 * float(rng.normal()), 1e8, -1e8):
            alpha = dual_variable(loss, y, float(rng.choice([0.0, 1e-12, rng.random(), 1.0])))
            new = loss.dual_step(alpha, y, z, q)
            low, high = loss.domain(y)
            assert low <= new <= high
            assert loss.conjugate(-new, y) < math.inf
            short = best(loss, alpha, y, z, q) - dual(loss, new, alpha, y, z, q)
            assert short <= step_allowance(loss, new, alpha, y, z, q)


@each_loss
@quick
@given(data=st.data(), z=scores, fraction=fractions, log_q=st.floats(-12.0, 12.0) | st.just(-math.inf))
def test_dual_step_never_lowers_the_dual(loss, data, z, fraction, log_q):
    y, q = target(loss, data), 10.0**log_q
    alpha = dual_variable(loss, y, fraction)
    new = loss.dual_step(alpha, y, z, q)
    low, high = loss.domain(y)
    assert low <= new <= high
    gain = dual(loss, new, alpha, y, z, q) - dual(loss, alpha, alpha, y, z, q)
    assert gain >= -step_allowance(loss, new, alpha, y, z, q)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(
    t=fractions,
    m=st.floats(-1e8, 1e8) | st.floats(-50.0, 50.0),
    log_q=st.floats(-12.0, 12.0) | st.just(-math.inf),
    balance=st.none() | st.floats(-16.0, 1.0),
)
def test_logistic_step_meets_its_optimality_condition(t, m, log_q, balance):
    q = 10.0**log_q
    if balance is not None:
        m = math.copysign(q * 10.0**balance, m)
    s = Logistic().dual_step(t, 1.0, m, q)
    if not 1e-300 < s < 1.0:
        # the exact s lies closer to the end of its interval than there are normal numbers
        end = 1 - mpmath.mpf(EPS) if s == 1.0 else mpmath.mpf("1.1e-300")
        assert (residual(end, t, m, q) > 0) == (s < 1.0)
        return
    s = mpmath.mpf(s)
    width = s * (1 - s)
    slope = 1 / width + q
    rounding = 2.0 * EPS * ((abs(m) + q) / slope + s)
    assert abs(residual(s, t, m, q) / slope) <= 1e-10 * width + rounding


def residual(s, t, m, q):
    """The derivative of the logistic dual objective of a row, negated."""
    return mpmath.log(s / (1 - s)) + m + q * (s - mpmath.mpf(t))


@pytest.mark.parametrize("t", [0.0, 1e-300, 1e-20, 1e-9, 0.3])
@pytest.mark.parametrize("q", [100.0, 1e4, 1e8, 1e12])
def test_logistic_step_does_not_cycle(t, q):
    """Newton's method in a bracket went back and forth between its ends here, and lowered the dual."""
    for m in (-3.0, -40.0, -0.01 * q):
        s = Logistic().dual_step(t, 1.0, m, q)
        low, high = 0.0, 1.0
        for _ in range(200):
            middle = 0.5 * (low + high)
            if middle in (low, high):
                break
            low, high = (middle, high) if residual(mpmath.mpf(middle), t, m, q) < 0 else (low, middle)
        assert s == pytest.approx(low, rel=1e-10)


def test_steps_of_both_labels_mirror_each_other():
    for loss in (x for x in ALL_LOSSES if x.labels == "sign"):
        for alpha, z, q in ((0.0, 0.3, 1.0), (0.2, -3.0, 0.1), (1.0, 2.0, 10.0)):
            assert loss.dual_step(-alpha, -1.0, -z, q) == -loss.dual_step(alpha, 1.0, z, q)


@pytest.mark.parametrize("gamma", [1e-6, 0.1, 1.0, 30.0])
@pytest.mark.parametrize("loss", LIPSCHITZ, ids=str)
def test_smoothed_lies_below_by_at_most_its_bound(loss, gamma):
    smooth = Smoothed(loss, gamma)
    bound = 0.5 * gamma * loss.lipschitz**2
    for y in targets(loss):
        below = [loss.value(float(z), y) - smooth.value(float(z), y) for z in np.linspace(-40.0, 40.0, 801)]
        assert min(below) >= -1e-13
        assert bound * (1.0 - 1e-6) - 1e-13 <= max(below) <= bound + 1e-13


@pytest.mark.parametrize("gamma", [1e-3, 0.5, 1.0, 7.0])
@quick
@given(y=st.sampled_from([-1.0, 1.0]), z=scores, fraction=fractions, log_q=st.floats(-6.0, 6.0))
def test_smooth_hinge_is_the_smoothed_hinge(gamma, y, z, fraction, log_q):
    ours, composed = SmoothHinge(gamma), Smoothed(Hinge(), gamma)
    alpha, q = dual_variable(ours, y, fraction), 10.0**log_q
    near = {"rel": 1e-9, "abs": 1e-9}
    assert composed.value(z, y) == pytest.approx(ours.value(z, y), **near)
    assert composed.derivative(z, y) == pytest.approx(ours.derivative(z, y), **near)
    assert composed.conjugate(-alpha, y) == pytest.approx(ours.conjugate(-alpha, y), **near)
    assert composed.dual_step(alpha, y, z, q) == pytest.approx(ours.dual_step(alpha, y, z, q), **near)
    assert composed.domain(y) == ours.domain(y)


def evaluate(loss, z, y, alpha, q, out):
    """All formulas of a loss for rows of arguments."""
    for r in range(len(z)):
        out[r, 0] = formulas.value(loss, z[r], y[r])
        out[r, 1] = formulas.derivative(loss, z[r], y[r])
        out[r, 2] = formulas.conjugate(loss, -alpha[r], y[r])
        out[r, 3] = formulas.conjugate(loss, 1e9 - alpha[r], y[r])
        out[r, 4] = formulas.dual_step(loss, alpha[r], y[r], z[r], q[r])
        out[r, 5], out[r, 6] = formulas.domain(loss, alpha[r], y[r])
        out[r, 7] = formulas.smoothness(loss)


@pytest.mark.parametrize("loss", ONE_OF_EACH_TYPE, ids=str)
def test_compiled_formulas_are_those_of_plain_python(loss):
    rng = np.random.default_rng(1)
    n = 400
    y = rng.choice([-1.0, 1.0], n) if loss.labels == "sign" else rng.normal(size=n)
    z = rng.normal(size=n) * 10.0 ** rng.uniform(-3.0, 4.0, n)
    alpha = np.array([dual_variable(loss, float(t), f) for t, f in zip(y, rng.choice([0.0, 1.0, *rng.random(4)], n), strict=True)])
    q = np.where(rng.random(n) < 0.1, 0.0, 10.0 ** rng.uniform(-8.0, 8.0, n))
    plain, compiled = np.empty((n, 8)), np.empty((n, 8))
    with np.errstate(all="ignore"):
        evaluate(loss, z.tolist(), y.tolist(), alpha.tolist(), q.tolist(), plain)
    evaluate_compiled(loss, z, y, alpha, q, compiled)
    assert np.array_equal(np.isinf(compiled), np.isinf(plain))
    assert np.array_equal(compiled[:, 5:], plain[:, 5:])
    scale = 1.0 + np.abs(alpha)[:, None] * (np.abs(z) + np.abs(y))[:, None] + np.where(np.isinf(plain), 0.0, np.abs(plain))
    difference = np.where(np.isinf(plain), 0.0, np.abs(np.where(np.isinf(plain), 0.0, compiled) - np.where(np.isinf(plain), 0.0, plain)))
    assert np.all(difference <= 1e-10 * scale)
    assert np.all((plain[:, 5] <= compiled[:, 4]) & (compiled[:, 4] <= plain[:, 6]))


evaluate_compiled = kernel(evaluate)
