"""Whether the formulas of an own loss or penalty fit together, tested with numbers.

A solver trusts the formulas: a conjugate that is too small makes a certificate that proves nothing. What is tested follows from two facts.

a. phi(z) + phi*(b) >= b z for all z and b, and with equality where b = phi'(z) (Fenchel and Young). The first says that the conjugate is
   nowhere too small, in particular infinite where b z - phi(z) has no bound; the second that it is not too large. R and its minimizers
   obey the same, and so do functions of vectors.
b. The update of a dual variable, and the minimizer of a penalty, solve a concave problem, which a search solves as well.

A number passes if it is right to about 1e-8 of the terms it is made of. Of the places at which a property fails, the one shown is that
where it fails most for the size of the numbers, so that they are easy to follow.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dualgap import formulas
from dualgap.data.validation import check_loss_object, check_penalty_object
from dualgap.kernels.compile import kernel

Array = npt.NDArray[np.float64]
NEAR = 1e-8
SMALL = 1e-4
FAR = (10.0, 30.0, 100.0, 1e3, 1e4, 1e6, 1e8)
GRID = np.unique(np.concatenate([np.linspace(-6.0, 6.0, 61), FAR, np.negative(FAR)]))
TARGETS = {"sign": (-1.0, 1.0), "real": (0.0, 1.0, -2.5, 30.0)}
GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)

CONVEX = "value: must be convex, so nowhere above its chords"
DERIVATIVE = "derivative: must be the slope of value"
BOUND = "conjugate: must not be below b z - value(z), so infinite where that has no bound"
EQUAL = "conjugate: must be b z - value(z) at b = derivative(z)"
ZERO = "conjugate: must be finite at 0, the dual point from which a solve starts"
SMOOTH = "smoothness: derivative must not change by more than |a - b| / smoothness between two scores"
MODULUS = "smoothness: conjugate must lie below its chords by smoothness/8 dual_norm2(a - b) at their middle"
LIPSCHITZ = "lipschitz: must bound |derivative|"
DOMAIN = "domain: must hold the alpha = -b at which the conjugate is finite, its ends included, and no others"
STEP = "dual_step: must give the alpha that maximizes -conjugate(-new) - z (new - alpha) - q/2 (new - alpha)^2"
INSIDE = "dual_step: must stay in the domain exactly"
STRETCH = "stretch: must bound |q|^2 / dual_norm2(q)"
CONVEXITY = "convexity: value must lie below its chords by convexity/8 |a - b|^2 at their middle"
PENALTY_BOUND = "conjugate: must not be below a w - value(w), so infinite where that has no bound"
PENALTY_EQUAL = "conjugate: must be a w - value(w) at the w where a is the slope of value"
PRIMAL = "primal: must give the w that minimizes value(w) + kappa/2 w^2 - u w"
STATE = "moved: must leave the state as prepared computes it"
COMPILES = "compilation: numba must be able to compile the formulas"
SAME = "compilation: the compiled formulas must give the numbers of the plain ones"


def check_loss(loss: Any, y: Any = None) -> None:
    """Test that the formulas of a loss fit together, and compile.

    Parameters
    ----------
    loss : NamedTuple
        A loss with `value`, `conjugate`, `derivative` and `smoothness`, and what else it has of `dual_step`, `domain` and `lipschitz`.
    y : float or sequence of float, optional
        Targets to test with. By default -1 and +1 for a loss with `labels = "sign"`, some numbers for one with `labels = "real"`, and both
        for one that does not say. A vector-valued loss is tested with every class.

    Raises
    ------
    ValueError
        With each property that fails and the numbers at which it does.

    Examples
    --------
    >>> import dualgap as dg
    >>> dg.check_loss(dg.Huber(0.5))
    >>> class Wrong(dg.Huber):
    ...     smoothness = 2.0
    >>> dg.check_loss(Wrong(), y=0.0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: Wrong(delta=1.0) fails in 1 property:
    - smoothness: derivative must not change by more than |a - b| / smoothness between two scores, but y = 0, from ...
    """
    loss = check_loss_object(loss)
    found = _Findings(loss)
    if getattr(loss, "vector", False):
        _check_vector_loss(loss, found)
    else:
        labels = getattr(loss, "labels", None)
        targets = TARGETS[labels] if labels in TARGETS else np.unique([*TARGETS["sign"], *TARGETS["real"]])
        for target in np.ravel(targets if y is None else y):
            _ScalarLoss(loss, float(target), found).check()
    found.report()


def check_penalty(penalty: Any) -> None:
    """Test that the formulas of a penalty fit together, and compile.

    Parameters
    ----------
    penalty : NamedTuple
        A penalty with `value`, `conjugate`, `primal` and `convexity`; or one that couples coefficients, as `dualgap.penalties` describes
        it. It is tested for as many coefficients as it has numbers in an array, or for 3.

    Raises
    ------
    ValueError
        With each property that fails and the numbers at which it does.

    Examples
    --------
    >>> import dualgap as dg
    >>> dg.check_penalty(dg.ElasticNet(0.1, 1.0))
    >>> class Wrong(dg.L2):
    ...     convexity = 3.0
    >>> dg.check_penalty(Wrong(2.0))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: Wrong(l2=2.0) fails in 1 property:
    - convexity: value must lie below its chords by convexity/8 |a - b|^2 at their middle, but from ...
    """
    coupled = formulas.penalty_is_coupled(penalty)
    needed = ["convexity", "primal"] + (["total_value", "total_conjugate", "prepared", "moved"] if coupled else ["value", "conjugate"])
    missing = [name for name in needed if not hasattr(penalty, name)]
    if missing:
        raise TypeError(f"penalty must have {', '.join(needed)}; {penalty!r} lacks {', '.join(missing)}")
    d = 3 if isinstance(penalty, type) or not hasattr(penalty, "_fields") else _columns(penalty) or 3
    placed = check_penalty_object(penalty, d, 0)
    found = _Findings(penalty)
    found.constant("convexity", placed.convexity)
    if coupled:
        _check_coupled_penalty(placed, d, found)
    else:
        for j in range(min(d, 10) if formulas.penalty_is_indexed(placed) else 1):
            _Coefficient(placed, j, found).check()
        found.compare(penalty_formulas, compiled_penalty_formulas, placed, (GRID, np.linspace(0.5, 2.0, GRID.size)), 3)
    found.report()


class _Findings:
    """The properties that failed, each with the place that shows it best."""

    def __init__(self, subject: Any) -> None:
        self.subject = subject
        self.worst: dict[str, tuple[float, str]] = {}

    def expect(self, excess: Any, rule: str, witness: str, **numbers: Any) -> None:
        """Note a failure if the excess over what is allowed is positive; the numbers go into the text of the witness."""
        if not excess > 0.0:
            return
        size = sum(min(float(np.sum(np.abs(x))), 1e100) for x in numbers.values() if not isinstance(x, str))
        weight = float(excess) / (1.0 + size) ** 2
        if not weight <= self.worst.get(rule, (0.0, ""))[0]:
            shown = {name: f"{x:.9g}" if isinstance(x, (float, int)) else str(x) for name, x in numbers.items()}
            self.worst[rule] = (weight, witness.format(**shown))

    def call(self, method: Callable[..., Any], *args: Any, at: str, infinite: bool = False) -> float:
        """A formula at some arguments; nan where it gives no number, which is noted."""
        rule = f"{method.__name__}: must be a finite number" + (" or infinity" if infinite else "")
        try:
            result = float(method(*args))
        except (ArithmeticError, ValueError, TypeError) as error:
            self.expect(math.inf, rule, at + ", it raises {error}", error=f"{type(error).__name__} ({error})")
            return math.nan
        if math.isfinite(result) or (infinite and result == math.inf):
            return result
        self.expect(math.inf, rule, at + ", it is {result}", result=result)
        return math.nan

    def constant(self, name: str, value: Any) -> float:
        """A nonnegative constant of the subject; nan, which is noted, where it is something else."""
        if isinstance(value, (int, float, np.number)) and 0.0 <= value < math.inf:
            return float(value)
        self.expect(math.inf, f"{name}: must be a number >= 0", "it is {value}", value=repr(value))
        return math.nan

    def chords(
        self, f: Callable[[Any], float], points: Iterable[tuple[Any, Any]], at: str, modulus: Any = None, rule: str = CONVEX
    ) -> None:
        """Whether f lies below its chords at their middle, by modulus(a - b)/8 if that is given."""
        for a, b in points:
            chord, middle = 0.5 * (f(a) + f(b)), f(0.5 * (a + b))
            bend = 0.125 * modulus(a - b) if modulus else 0.0
            self.expect(
                middle + bend - chord - NEAR * (SMALL + 0.5 * (abs(f(a)) + abs(f(b)))) if chord < math.inf else 0.0,
                rule,
                at + "from {a} to {b} the chord is {chord} in the middle, and the function {middle}",
                **{"a": a, "b": b, "chord": chord, "middle": middle},
            )

    def young(self, points: Sequence["_Point"], slopes: Iterable[Any], conjugate: Callable[[Any], float], rule: str, at: str) -> None:
        """Whether conjugate(b) >= b x - f(x)."""
        for b in slopes:
            claimed = conjugate(b)
            for x, f, _ in points:
                self.expect(
                    np.dot(b, x) - f - claimed - NEAR * (SMALL + abs(f) + np.dot(abs(b), abs(x))),
                    rule,
                    at + "conjugate({b}) = {claimed}, which is less than {least}, the other side at {x}",
                    **{"b": b, "claimed": claimed, "least": float(np.dot(b, x)) - f, "x": x},
                )

    def equality(self, points: Iterable["_Point"], conjugate: Callable[[Any], float], rule: str, at: str) -> None:
        """Whether conjugate(b) = b x - f(x) where b is a slope of f at x, if it is not less."""
        for x, f, b in points:
            claimed, size = conjugate(b), SMALL + abs(f) + np.dot(abs(b), abs(x))
            self.expect(
                claimed - np.dot(b, x) + f - NEAR * size,
                rule,
                at + "conjugate({b}) = {claimed}, which is more than {exact}, the other side at {x}",
                **{"b": b, "claimed": claimed, "exact": float(np.dot(b, x)) - f, "x": x},
            )

    def compare(self, plain: Any, compiled: Any, subject: Any, arguments: tuple[Array, ...], columns: int) -> None:
        """Whether numba compiles the formulas, and to the same numbers."""
        expected, got = np.empty((arguments[0].size, columns)), np.empty((arguments[0].size, columns))
        try:
            plain(subject, *(a.tolist() for a in arguments), expected)
        except (ArithmeticError, ValueError, TypeError):
            return
        try:
            compiled(subject, *arguments, got)
        except Exception as error:  # numba raises errors of many kinds
            self.expect(math.inf, COMPILES, "it says: {reason}", reason=_innermost(str(error)))
            return
        sizes = sum((np.abs(a) for a in arguments[:3]), np.full(arguments[0].size, SMALL)) ** 2
        with np.errstate(invalid="ignore"):
            excess = np.where(expected == got, 0.0, np.abs(expected - got) - NEAR * (np.abs(expected) + sizes[:, None]))
        for r, c in zip(*np.nonzero(~(excess <= 0.0)), strict=True):
            at = ", ".join(f"{a[r]:g}" for a in arguments)
            self.expect(math.inf, SAME, f"formula {c + 1} at {at} gives {got[r, c]:g} instead of {expected[r, c]:g}")

    def report(self) -> None:
        """Raise if anything failed."""
        if self.worst:
            lines = [f"- {rule}, but {witness}" for rule, (_, witness) in self.worst.items()]
            count = "1 property" if len(lines) == 1 else f"{len(lines)} properties"
            raise ValueError("\n".join([f"{self.subject!r} fails in {count}:", *lines]))


class _Point(NamedTuple):
    """A point, a function there, and a slope of it."""

    x: Any
    f: float
    slope: Any


class _ScalarLoss:
    """A scalar loss with one target."""

    def __init__(self, loss: Any, y: float, found: _Findings) -> None:
        self.loss, self.y, self.found, self.at = loss, y, found, f"y = {y:g}, "
        points = [_Point(z, self.value(z), self.derivative(z)) for z in np.unique(np.concatenate([GRID, y + GRID])).tolist()]
        self.points = [p for p in points if math.isfinite(p.f + p.slope)]
        self.slopes = np.unique([0.0, *(p.slope for p in self.points)]).tolist()

    def value(self, z: float) -> float:
        return self.found.call(self.loss.value, z, self.y, at=f"{self.at}z = {z:g}")

    def derivative(self, z: float) -> float:
        return self.found.call(self.loss.derivative, z, self.y, at=f"{self.at}z = {z:g}")

    def conjugate(self, b: float) -> float:
        return self.found.call(self.loss.conjugate, b, self.y, at=f"{self.at}b = {b:g}", infinite=True)

    def check(self) -> None:
        """All properties."""
        z = [p.x for p in self.points]
        self.found.chords(self.value, [*pairwise(z), *zip(z, z[2:], strict=False), *_pairs(z[::6])], self.at)
        self.check_derivative()
        outside = [s for d in (1e-3, 0.1, 1.0, 10.0) for s in (self.slopes[0] - d, self.slopes[-1] + d)]
        self.found.young(self.points, [*self.slopes, *outside], self.conjugate, BOUND, self.at)
        self.found.equality(self.points, self.conjugate, EQUAL, self.at)
        self.found.expect(math.inf if self.conjugate(0.0) == math.inf else 0.0, ZERO, self.at + "it is infinite")
        gamma = self.found.constant("smoothness", self.loss.smoothness)
        if gamma > 0.0:
            self.check_smoothness(gamma)
        elif gamma == 0.0:
            self.check_lipschitz()
        if hasattr(self.loss, "domain"):
            self.check_domain(*self.loss.domain(self.y))
        if hasattr(self.loss, "dual_step"):
            self.check_dual_step()
        self.check_compiled()

    def check_derivative(self) -> None:
        for z, phi, slope in self.points:
            h = 1e-5 * (1.0 + abs(z))
            low, high = sorted([(phi - self.value(z - h)) / h, (self.value(z + h) - phi) / h])
            allowed = 1e-6 * (1.0 + abs(slope)) + 1e-14 * (abs(phi) + abs(slope) * (abs(z) + abs(self.y))) / h
            witness = self.at + "derivative({z}) = {slope}, while the slopes of value on the two sides are {low} and {high}"
            numbers = {"z": z, "slope": slope, "low": low, "high": high}
            self.found.expect(max(low - slope, slope - high) - allowed, DERIVATIVE, witness, **numbers)

    def check_smoothness(self, gamma: float) -> None:
        for a, b in self._steepest():
            change = abs(self.derivative(b) - self.derivative(a))
            self.found.expect(
                change * gamma / (b - a) - 1.0 - 1e-6 - 1e-15 * (change + abs(a)) / (b - a),
                SMOOTH,
                self.at + "from {a} to {b} it changes by {change}, which is {ratio} |a - b|, and smoothness is {gamma}",
                **{"a": a, "b": b, "change": change, "ratio": change / (b - a), "gamma": gamma},
            )

    def _steepest(self) -> Iterator[tuple[float, float]]:
        """Intervals between scores, those in which the derivative changes most searched for where it changes fastest."""
        intervals = list(pairwise(self.points))
        yield from ((a.x, b.x) for a, b in intervals)
        for p, q in sorted(intervals, key=lambda i: -abs(i[1].slope - i[0].slope))[:5]:
            a, b = p.x, q.x
            while b - a > 1e-5 * (1.0 + abs(a)):
                m = 0.5 * (a + b)
                left, middle, right = (self.derivative(z) for z in (a, m, b))
                a, b = (a, m) if abs(middle - left) > abs(right - middle) else (m, b)
                yield a, b

    def check_lipschitz(self) -> None:
        """What a loss needs that is not smooth."""
        for name, use in (("dual_step", "the exact step"), ("lipschitz", "a bound on |derivative|")):
            needed = f"{name}: a loss that is not smooth (smoothness = 0) needs {use}"
            self.found.expect(0.0 if hasattr(self.loss, name) else math.inf, needed, "it has none")
        bound = self.found.constant("lipschitz", self.loss.lipschitz) if hasattr(self.loss, "lipschitz") else math.nan
        for z, _, slope in self.points:
            witness = self.at + "derivative({z}) = {slope}, and lipschitz is {bound}"
            self.found.expect(abs(slope) - bound * (1.0 + 1e-12), LIPSCHITZ, witness, z=z, slope=slope, bound=bound)

    def check_domain(self, low: float, high: float) -> None:
        inside = [x for x in (low, high, *(-s for s in self.slopes)) if math.isfinite(x)]
        outside = [x + d * (1.0 + abs(x)) for x, d in ((low, -1e-9), (low, -0.5), (high, 1e-9), (high, 0.5)) if math.isfinite(x)]
        witness = self.at + "the domain is [{low}, {high}], and at alpha = {alpha} the conjugate is {conjugate}"
        for alpha in inside + outside:
            conjugate, held = self.conjugate(-alpha), low <= alpha <= high
            numbers = {"low": low, "high": high, "alpha": alpha, "conjugate": conjugate}
            self.found.expect(0.0 if held == (conjugate < math.inf) else math.inf, DOMAIN, witness, **numbers)

    def check_dual_step(self) -> None:
        starts = [-s for s in self.slopes[:: len(self.slopes) // 8 + 1] if abs(s) < 1e4 and self.conjugate(s) < math.inf]
        scores = [*(p.x for p in self.points[:: len(self.points) // 12 + 1]), self.y, self.y + 0.3]
        for alpha, z, q in product(starts, scores, (0.0, 1e-3, 0.7, 20.0, 1e4)):
            at = f"{self.at}alpha = {alpha:g}, z = {z:g}, q = {q:g}, "

            def gain(new: float, alpha: float = alpha, z: float = z, q: float = q) -> float:
                return -self.conjugate(-new) - z * (new - alpha) - 0.5 * q * (new - alpha) ** 2

            new = self.found.call(self.loss.dual_step, alpha, self.y, z, q, at=at[:-2])
            best = max(_golden(gain, alpha, -self.derivative(z)), key=gain)
            size = SMALL + abs(self.conjugate(-best)) + (abs(z) + abs(self.y)) * (abs(best) + abs(alpha)) + q * (best - alpha) ** 2
            witness = at + "it gives {new}, where that is {ours}; at {best} it is {most}"
            numbers = {"new": new, "ours": gain(new), "best": best, "most": gain(best)}
            self.found.expect(gain(best) - gain(new) - NEAR * size, STEP, witness, **numbers)
            if hasattr(self.loss, "domain"):
                low, high = self.loss.domain(self.y)
                self.found.expect(max(low - new, new - high), INSIDE, at + "it gives {new}", new=repr(new))

    def check_compiled(self) -> None:
        z, _, slopes = (np.array(column) for column in zip(*self.points, strict=True))
        arguments = (z, np.full(z.size, self.y), -slopes[::-1], np.ones(z.size))
        self.found.compare(loss_formulas, compiled_loss_formulas, self.loss, arguments, 3)
        if hasattr(self.loss, "dual_step"):
            self.found.compare(step_formulas, compiled_step_formulas, self.loss, arguments, 1)


class _Coefficient:
    """A separable penalty for one coefficient; where its value is 0 everywhere, the coefficient is not penalized and nothing is asked."""

    def __init__(self, penalty: Any, j: int, found: _Findings) -> None:
        indexed = formulas.penalty_is_indexed(penalty)
        self.penalty, self.found = penalty, found
        self.index = (j,) if indexed else ()
        self.at = f"column {j}, " if indexed else ""
        w = np.unique(np.concatenate([GRID, 0.01 * GRID])).tolist()
        self.points = [_Point(x, r, math.nan) for x in w if math.isfinite(r := self.value(x))]

    def value(self, w: float) -> float:
        return self.found.call(self.penalty.value, w, *self.index, at=f"{self.at}w = {w:g}", infinite=True)

    def conjugate(self, a: float) -> float:
        return self.found.call(self.penalty.conjugate, a, *self.index, at=f"{self.at}a = {a:g}", infinite=True)

    def primal(self, u: float, kappa: float) -> float:
        return self.found.call(self.penalty.primal, u, kappa, *self.index, at=f"{self.at}u = {u:g}, kappa = {kappa:g}")

    def check(self) -> None:
        """All properties."""
        if all(p.f == 0.0 for p in self.points):
            return
        convexity, pairs = float(self.penalty.convexity), list(_pairs([p.x for p in self.points[::2]]))
        self.found.chords(self.value, pairs, self.at)
        if CONVEX not in self.found.worst:
            self.found.chords(self.value, pairs, self.at, lambda d: convexity * d * d, CONVEXITY)
        self.found.young(self.points, GRID.tolist(), self.conjugate, PENALTY_BOUND, self.at)
        for kappa, u in product((0.0, 1e-3, 0.7, 30.0)[convexity <= 0.0 :], GRID.tolist()):
            self.check_primal(u, kappa)

    def check_primal(self, u: float, kappa: float) -> None:
        def objective(w: float) -> float:
            return self.value(w) + 0.5 * kappa * w * w - u * w

        w = self.primal(u, kappa)
        r, ours = self.value(w), objective(w)
        most = min((w + d * (1.0 + abs(w)) for s in (1e-4, 0.01, 0.3, 2.0) for d in (-s, s)), key=objective)
        excess = ours - objective(most) - NEAR * (SMALL + abs(r) + kappa * w * w + abs(u * w)) if ours < math.inf else math.inf
        witness = self.at + "u = {u}, kappa = {kappa}, it gives {w}, where that is {ours}; at {most} it is {least}"
        numbers = {"u": u, "kappa": kappa, "w": w, "ours": ours, "most": most, "least": objective(most)}
        self.found.expect(excess, PRIMAL, witness, **numbers)
        slope = u - kappa * w
        if excess <= 0.0 and abs(slope) > 1e-6 * abs(u):
            # a little toward 0, since the slope may be the end of where the conjugate is finite
            slope *= 1.0 - 0.1 * NEAR
            self.found.equality([_Point(w, r, slope)], self.conjugate, PENALTY_EQUAL, self.at)


def _check_coupled_penalty(penalty: Any, d: int, found: _Findings) -> None:
    """A penalty of whole vectors, at the minimizers of random u, and the state that follows updates."""
    rng = np.random.default_rng(0)
    p = float(getattr(penalty, "norm", 2.0))
    us = [scale * rng.normal(size=d) for scale in (0.01, 0.3, 3.0, 100.0) for _ in range(5)]
    points = []
    for u, kappa in product(us, (0.0, 0.7, 30.0) if p == 2.0 else (0.0,)):
        if kappa + penalty.convexity > 0.0:
            w = _minimizer(penalty.prepared(u, kappa), u, kappa)
            points.append(_Point(w, float(penalty.total_value(w)), (1.0 - 0.1 * NEAR) * (u - kappa * w)))

    def norm2(w: Array) -> float:
        return float(penalty.convexity * np.linalg.norm(w, 1.0 if p == math.inf else p / (p - 1.0)) ** 2)

    found.young(points, us, penalty.total_conjugate, PENALTY_BOUND, "")
    found.equality(points, penalty.total_conjugate, PENALTY_EQUAL, "")
    found.chords(penalty.total_value, product([q.x for q in points[::2]], repeat=2), "", norm2, CONVEXITY)
    u = rng.normal(size=d)
    kept = penalty.prepared(u, 0.7)
    for _ in range(50):
        j, new = int(rng.integers(d)), float(rng.normal())
        old, u[j] = float(u[j]), new
        kept.moved(old, new, j)
        w, fresh = _minimizer(kept, u, 0.7), _minimizer(penalty.prepared(u.copy(), 0.7), u, 0.7)
        excess = float(np.max(np.abs(w - fresh))) - 1e-6 * float(np.max(np.abs(fresh))) - 1e-12
        found.expect(excess, STATE, "u = {u}, primal gives {w} instead of {fresh}", u=u, w=w, fresh=fresh)


def _check_vector_loss(loss: Any, found: _Findings) -> None:
    """A vector-valued loss, with random scores for 2, 3 and 5 classes."""
    rng = np.random.default_rng(0)
    for k in (2, 3, 5):
        placed = loss.with_costs(k, 1000)
        for y, scale in product(range(k), (0.3, 3.0, 30.0)):
            _check_label(placed, y, np.asarray(placed.costs)[y], scale * rng.normal(size=(10, k)), found)


def _check_label(loss: Any, y: int, costs: Array, scores: Array, found: _Findings) -> None:
    """A vector-valued loss with one label at some scores."""
    k, at = scores.shape[1], f"y = {y}, "

    def filled(method: Callable[..., None], *args: Any) -> Array:
        out = np.empty(k)
        method(*args, out)
        return out

    def conjugate(b: Array) -> float:
        return float(loss.conjugate(b, y, costs))

    points = [_Point(z, float(loss.value(z, y, costs)), filled(loss.derivative, z, y, costs)) for z in scores]
    slopes = [p.slope for p in points]
    found.young(points, slopes, conjugate, BOUND, at)
    found.equality(points, conjugate, EQUAL, at)
    found.chords(conjugate, product(slopes, repeat=2), at, lambda q: loss.smoothness * loss.dual_norm2(q, y), MODULUS)
    for a, b in product(slopes, repeat=2):
        size, bound = float((a - b) @ (a - b)), loss.stretch(k) * loss.dual_norm2(a - b, y)
        found.expect(size - bound - NEAR, STRETCH, at + "q = {q}, |q|^2 is {size} and the bound {bound}", q=a - b, size=size, bound=bound)
    for alpha, z, q in product((-b for b in slopes[:4]), scores[:4], (0.0, 0.7, 100.0)):

        def gain(new: Array, alpha: Array = alpha, z: Array = z, q: float = q) -> float:
            return -conjugate(-new) - float(z @ (new - alpha)) - 0.5 * q * float((new - alpha) @ (new - alpha))

        new = filled(loss.dual_step, alpha, y, costs, z, q)
        others = [alpha, -filled(loss.derivative, z, y, costs), -filled(loss.derivative, z + q * (new - alpha), y, costs)]
        best = max((new + s * (other - new) for other in others for s in (1.0, 0.3, 0.01)), key=gain)
        witness = at + "alpha = {alpha}, z = {z}, q = {q}, it gives {new}, where that is {ours}; at {best} it is {most}"
        numbers = {"alpha": alpha, "z": z, "q": q, "new": new, "ours": gain(new), "best": best, "most": gain(best)}
        found.expect(gain(best) - gain(new) - NEAR * (1.0 + abs(z) @ (abs(new) + abs(alpha)) + q), STEP, witness, **numbers)


def _innermost(message: str) -> str:
    """The part of a message of numba that names the cause: it comes after the last failed attempt, and before the way there."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    start = max((i + 1 for i, line in enumerate(lines) if line.startswith(("Failed in", "TypingError: Failed in"))), default=0)
    end = next((i for i, line in enumerate(lines) if i > start and line.startswith("During:")), len(lines))
    return " ".join(lines[start:end])


def _columns(penalty: Any) -> int:
    """The number of coefficients that a penalty has an array for, 0 if it has none."""
    sizes = [_columns(f) if hasattr(f, "_fields") else np.size(f) if np.ndim(f) else 0 for f in penalty]
    return max(sizes, default=0)


def _minimizer(prepared: Any, u: Array, kappa: float) -> Array:
    """The primal point of a penalty that couples coefficients."""
    return np.array([prepared.primal(float(u[j]), kappa, j) for j in range(len(u))])


def _pairs(points: Sequence[float]) -> Iterator[tuple[float, float]]:
    """Each two points."""
    return ((a, b) for a, b in product(points, repeat=2) if a < b)


def _golden(f: Callable[[float], float], a: float, b: float) -> tuple[float, float, float]:
    """The ends of an interval and the maximizer of a concave function in it, by golden-section search."""
    low, high = min(a, b), max(a, b)
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = f(left), f(right)
    for _ in range(60):
        if at_left > at_right:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = f(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = f(right)
    return a, b, left


def loss_formulas(loss: Any, z: Any, y: Any, alpha: Any, q: Any, out: Any) -> None:  # noqa: ARG001
    """The formulas that each scalar loss has, for rows of arguments."""
    for r in range(len(z)):
        out[r, 0] = formulas.value(loss, z[r], y[r])
        out[r, 1] = formulas.derivative(loss, z[r], y[r])
        out[r, 2] = formulas.conjugate(loss, -alpha[r], y[r])


def step_formulas(loss: Any, z: Any, y: Any, alpha: Any, q: Any, out: Any) -> None:
    """The exact step of a scalar loss, for rows of arguments."""
    for r in range(len(z)):
        out[r, 0] = formulas.dual_step(loss, alpha[r], y[r], z[r], q[r])


def penalty_formulas(penalty: Any, points: Any, kappas: Any, out: Any) -> None:
    """The formulas of a separable penalty for its first coefficient."""
    for r in range(len(points)):
        out[r, 0] = formulas.penalty_value(penalty, points[r], 0)
        out[r, 1] = formulas.penalty_conjugate(penalty, points[r], 0)
        out[r, 2] = formulas.primal(penalty, points[r], kappas[r], 0)


compiled_loss_formulas = kernel(loss_formulas)
compiled_step_formulas = kernel(step_formulas)
compiled_penalty_formulas = kernel(penalty_formulas)
