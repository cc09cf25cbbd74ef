"""`check_loss` and `check_penalty` pass what is right, and name what is wrong."""

import math
import re
from typing import NamedTuple

import numpy as np
import pytest

import dualgap as dg
import test_losses
import test_multiclass
import test_penalties
from dualgap.formulas import traits


@pytest.mark.parametrize("loss", test_losses.ALL_LOSSES + test_multiclass.ALL_LOSSES, ids=str)
def test_losses_of_the_library_pass(loss):
    assert dg.check_loss(loss) is None


@pytest.mark.parametrize("penalty", test_penalties.ALL_PENALTIES, ids=str)
def test_penalties_of_the_library_pass(penalty):
    assert dg.check_penalty(penalty) is None


class NotConvex(dg.Huber):
    def value(self, z, y):
        r = abs(z - y)
        return r if r < 2.0 else 2.0


class NarrowDent(dg.Squared):
    def value(self, z, y):
        return 0.5 * (z - y) * (z - y) + (0.05 if abs(z - y - 1.0) < 0.15 else 0.0)


class ConjugateTooLarge(dg.Huber):
    def conjugate(self, b, y):
        return 0.5 * b * b + y * b + 1e-3 if abs(b) <= self.delta else math.inf


class ConjugateTooSmall(dg.Huber):
    def conjugate(self, b, y):
        return 0.5 * b * b + y * b - 1e-3 if abs(b) <= self.delta else math.inf


class ConjugateTimesTwo(dg.Squared):
    def conjugate(self, b, y):
        return b * b + y * b


class ConjugateFiniteOutside(dg.Hinge):
    def conjugate(self, b, y):
        return y * b


class ConjugateInfiniteInside(dg.Huber):
    def conjugate(self, b, y):
        return 0.5 * b * b + y * b if abs(b) < 0.9 * self.delta else math.inf


class InfiniteAtZero(dg.Huber):
    def conjugate(self, b, y):
        return 0.5 * b * b + y * b if b != 0.0 else math.inf


class WrongSign(dg.Squared):
    def derivative(self, z, y):
        return y - z


class WrongByOnePercent(dg.Squared):
    def derivative(self, z, y):
        return 1.01 * (z - y)


@traits(smoothness=1.2)
class GammaTooLarge(dg.Squared):
    pass


@traits(smoothness=2e-3)
class NarrowGammaTooLarge(dg.SmoothHinge):
    pass


@traits(smoothness=1e-3)
class SmoothOnlyByName(dg.Absolute):
    pass


@traits(smoothness=-1.0)
class NegativeGamma(dg.Squared):
    pass


@traits(lipschitz=0.5)
class LipschitzTooSmall(dg.Hinge):
    pass


class DomainTooLarge(dg.Huber):
    def domain(self, y):
        return -2.0 * self.delta, 2.0 * self.delta


class DomainTooSmall(dg.Huber):
    def domain(self, y):
        return -0.5 * self.delta, self.delta


class HalfAStep(dg.Squared):
    def dual_step(self, alpha, y, z, q):
        return alpha + 0.5 * (y - z - alpha) / (1.0 + q)


class IncrementInsteadOfAlpha(dg.Squared):
    def dual_step(self, alpha, y, z, q):
        return (y - z - alpha) / (1.0 + q)


class StepOutOfTheDomain(dg.Huber):
    def dual_step(self, alpha, y, z, q):
        bound = self.delta * (1.0 + 1e-15)
        return max(-bound, min(bound, alpha + (y - z - alpha) / (1.0 + q)))


class Overflows(dg.Logistic):
    def value(self, z, y):
        return math.log(1.0 + math.exp(-y * z))


class NotANumber(dg.Squared):
    def derivative(self, z, y):
        return (z - y) * (math.inf - math.inf if z == 0.0 else 1.0)


def twice(x):
    return 2.0 * x


class CallsPlainPython(dg.Squared):
    def value(self, z, y):
        return 0.25 * twice((z - y) * (z - y))


class OtherNumbersWhenCompiled(dg.Squared):
    def derivative(self, z, y):
        # a name that numba freezes when it compiles
        return (z - y) * FACTOR[0]


FACTOR = (1.0,)


@traits(labels="real", smoothness=0.0)
class WithoutStep(NamedTuple):
    def value(self, z, y):
        return abs(z - y)

    def derivative(self, z, y):
        return float(np.sign(z - y))

    def conjugate(self, b, y):
        return y * b if abs(b) <= 1.0 else math.inf


WRONG_LOSSES = [
    (NotConvex(), ["value: must be convex"]),
    (NarrowDent(), ["value: must be convex"]),
    (ConjugateTooLarge(), ["conjugate: must be b z - value(z)"]),
    (ConjugateTooSmall(), ["conjugate: must not be below"]),
    (ConjugateTimesTwo(), ["conjugate: must be b z - value(z)", "dual_step: must give the alpha"]),
    (ConjugateFiniteOutside(), ["conjugate: must not be below b z - value(z), so infinite where", "domain: must hold"]),
    (ConjugateInfiniteInside(), ["conjugate: must be b z - value(z)", "domain: must hold"]),
    (InfiniteAtZero(), ["conjugate: must be finite at 0"]),
    (WrongSign(), ["derivative: must be the slope"]),
    (WrongByOnePercent(), ["derivative: must be the slope"]),
    (GammaTooLarge(), ["smoothness: derivative must not change"]),
    (NarrowGammaTooLarge(1e-3), ["smoothness: derivative must not change"]),
    (SmoothOnlyByName(), ["smoothness: derivative must not change"]),
    (NegativeGamma(), ["smoothness: must be a number >= 0"]),
    (LipschitzTooSmall(), ["lipschitz: must bound"]),
    (DomainTooLarge(), ["domain: must hold"]),
    (DomainTooSmall(), ["domain: must hold", "dual_step: must stay in the domain"]),
    (HalfAStep(), ["dual_step: must give the alpha"]),
    (IncrementInsteadOfAlpha(), ["dual_step: must give the alpha"]),
    (StepOutOfTheDomain(), ["dual_step: must stay in the domain"]),
    (Overflows(), ["value: must be a finite number", "OverflowError"]),
    (NotANumber(), ["derivative: must be a finite number", "z = 0, it is nan"]),
    (CallsPlainPython(), ["compilation: numba must be able to compile", "Untyped global name 'twice'"]),
    (WithoutStep(), ["dual_step: a loss that is not smooth", "lipschitz: a loss that is not smooth"]),
]


# What else is seen to fail where a formula is wrong that others must fit.
SEEN_WITH = {"value": {"conjugate", "derivative"}, "conjugate": {"domain", "dual_step"}, "derivative": {"conjugate", "smoothness"}}


@pytest.mark.parametrize(("loss", "named"), WRONG_LOSSES, ids=lambda x: type(x).__name__)
def test_wrong_losses_are_told_what_is_wrong(loss, named):
    with pytest.raises(ValueError, match="fails in") as caught:
        dg.check_loss(loss)
    for text in named:
        assert text in str(caught.value)
    blamed = {line[2:].partition(":")[0] for line in str(caught.value).splitlines()[1:]}
    rules = {text.partition(":")[0] for text in named if ":" in text}
    assert rules <= blamed <= rules.union(*(SEEN_WITH.get(rule, set()) for rule in rules))


def test_compiled_code_that_gives_other_numbers(monkeypatch):
    loss = OtherNumbersWhenCompiled()
    dg.check_loss(loss, y=0.5)
    monkeypatch.setitem(globals(), "FACTOR", (1.0 + 1e-7,))
    with pytest.raises(ValueError, match="compiled formulas must give the numbers of the plain ones"):
        dg.check_loss(loss, y=0.5)


def test_the_witness_holds():
    with pytest.raises(ValueError, match="derivative: must be the slope") as caught:
        dg.check_loss(WrongSign(), y=0.0)
    shown = re.search(r"derivative\((\S+)\) = (\S+), while the slopes of value on the two sides are (\S+) and (\S+)\n?", str(caught.value))
    z, slope, low, high = map(float, shown.groups())
    assert 0.0 < abs(z) <= 1.0
    assert slope == -z
    assert low <= z <= high


def test_targets_follow_the_labels():
    class OnlySigns(dg.Hinge):
        def value(self, z, y):
            assert abs(y) == 1.0
            return dg.Hinge.value(self, z, y)

    class OnlyPositive(dg.Squared):
        def value(self, z, y):
            assert y >= 0.0
            return dg.Squared.value(self, z, y)

    with pytest.raises(ValueError, match="numba must be able"):
        dg.check_loss(OnlySigns())
    with pytest.raises(AssertionError):
        dg.check_loss(OnlyPositive())
    with pytest.raises(ValueError, match="numba must be able"):
        dg.check_loss(OnlyPositive(), y=[0.0, 3.0])


@pytest.mark.parametrize("wrong", [dg.Squared, 3.0, "hinge", dg.L2(1.0)])
def test_things_that_are_no_loss(wrong):
    with pytest.raises(TypeError, match="loss must"):
        dg.check_loss(wrong)


class VectorGammaTooLarge(dg.SmoothMaxHinge):
    @property
    def smoothness(self):
        return 1.5 * self.gamma


class VectorConjugateTooSmall(dg.Softmax):
    def conjugate(self, b, y, c):
        return dg.Softmax.conjugate(self, b, y, c) - 1e-3


class VectorConjugateTooLarge(dg.Softmax):
    def conjugate(self, b, y, c):
        return dg.Softmax.conjugate(self, b, y, c) + 1e-3


class VectorWrongDerivative(dg.Softmax):
    def derivative(self, z, y, c, out):
        dg.Softmax.derivative(self, 1.5 * z, y, c, out)


class VectorHalfAStep(dg.Softmax):
    def dual_step(self, alpha, y, c, z, q, out):
        dg.Softmax.dual_step(self, alpha, y, c, z, q, out)
        out += 0.5 * (alpha - out)


class StretchTooSmall(dg.Softmax):
    def stretch(self, k):
        return 0.3


@pytest.mark.parametrize(
    ("loss", "text"),
    [
        (VectorGammaTooLarge(), "smoothness: conjugate must lie below its chords"),
        (VectorConjugateTooSmall(), "conjugate: must not be below"),
        (VectorConjugateTooLarge(), "conjugate: must be b z - value(z)"),
        (VectorWrongDerivative(), "conjugate: must be b z - value(z)"),
        (VectorHalfAStep(), "dual_step: must give the alpha"),
        (StretchTooSmall(), "stretch: must bound"),
    ],
    ids=lambda x: type(x).__name__,
)
def test_wrong_vector_valued_losses(loss, text):
    with pytest.raises(ValueError, match="fails in") as caught:
        dg.check_loss(loss)
    assert text in str(caught.value)


class ConvexityTooLarge(dg.L2):
    @property
    def convexity(self):
        return 1.1 * self.l2


class PenaltyConjugateTooSmall(dg.ElasticNet):
    def conjugate(self, a):
        return 0.45 * max(0.0, abs(a) - self.l1) ** 2 / self.l2


class PenaltyConjugateTooLarge(dg.L2):
    def conjugate(self, a):
        return 0.5 * a * a / self.l2 + 1e-3


class PenaltyConjugateFiniteOutside(dg.ElasticNet):
    def conjugate(self, a):
        return 0.0


class PrimalIgnoresKappa(dg.L2):
    def primal(self, u, kappa):
        return u / self.l2


class PrimalDoesNotShrink(dg.ElasticNet):
    def primal(self, u, kappa):
        return u / (self.l2 + kappa)


class PenaltyNotConvex(dg.L2):
    def value(self, w):
        return 0.5 * self.l2 * min(w * w, 4.0)


@traits(convexity=-1.0)
class NegativeConvexity(dg.ElasticNet):
    pass


@traits(indexed=True)
class SecondColumnWrong(NamedTuple):
    weights: tuple = (1.0, 2.0)

    @property
    def convexity(self):
        return 1.0

    def value(self, w, j):
        return 0.5 * self.weights[j] * w * w

    def conjugate(self, a, j):
        return 0.5 * a * a / self.weights[0]

    def primal(self, u, kappa, j):
        return u / (self.weights[j] + kappa)


class ForgetsGroups(dg.GroupL1):
    def moved(self, old, new, j):
        pass


class GroupConjugateTooLarge(dg.GroupL1):
    def total_conjugate(self, a):
        return dg.GroupL1.total_conjugate(self, a) + 1e-3


class GroupConjugateTooSmall(dg.GroupL1):
    def total_conjugate(self, a):
        return 0.9 * dg.GroupL1.total_conjugate(self, a)


class EntropyConvexityTooLarge(dg.Entropy):
    @property
    def convexity(self):
        return 2.0 * self.l2


WRONG_PENALTIES = [
    (ConvexityTooLarge(0.5), "convexity: value must lie below its chords"),
    (PenaltyConjugateTooSmall(0.1, 1.0), "conjugate: must not be below"),
    (PenaltyConjugateTooLarge(1.0), "conjugate: must be a w - value(w)"),
    (PenaltyConjugateFiniteOutside(0.1, 0.0), "conjugate: must not be below"),
    (PrimalIgnoresKappa(0.5), "primal: must give the w that minimizes"),
    (PrimalDoesNotShrink(0.5, 1.0), "primal: must give the w that minimizes"),
    (PenaltyNotConvex(1.0), "value: must be convex"),
    (NegativeConvexity(0.1, 1.0), "convexity: must be a number >= 0"),
    (SecondColumnWrong(), "column 1"),
    (ForgetsGroups(0.5, 0.3, [0, 0, 1]), "moved: must leave the state"),
    (GroupConjugateTooLarge(0.5, 0.3, [0, 0, 1]), "conjugate: must be a w - value(w)"),
    (GroupConjugateTooSmall(0.5, 0.3, [0, 0, 1]), "conjugate: must not be below"),
    (EntropyConvexityTooLarge(1.0), "convexity: value must lie below its chords"),
]


@pytest.mark.parametrize(("penalty", "text"), WRONG_PENALTIES, ids=lambda x: type(x).__name__)
def test_wrong_penalties_are_told_what_is_wrong(penalty, text):
    with pytest.raises(ValueError, match="fails in") as caught:
        dg.check_penalty(penalty)
    assert text in str(caught.value)
    assert "compil" not in str(caught.value)


@pytest.mark.parametrize("wrong", [dg.L2, 1.0, dg.Squared(), dg.Smoothed(dg.Hinge(), 1.0)])
def test_things_that_are_no_penalty(wrong):
    with pytest.raises(TypeError, match="penalty must"):
        dg.check_penalty(wrong)
