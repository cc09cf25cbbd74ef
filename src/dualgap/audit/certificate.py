"""What `certify` returns: a certificate for coefficients that come from elsewhere, in numbers and in words."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from dualgap.audit.proof import Proof
from dualgap.regions import certain_classes, common_interval
from dualgap.solution import short

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Certificate:
    """What is proved about a fitted model, of which nothing was changed.

    Objectives are in the units of `dualgap.solve`, the loss averaged over the weights plus the penalty; `unit` times that is what the
    library of the model minimizes. Where a model has solved several problems (each class against the rest, or several targets), they are
    sums.

    Attributes
    ----------
    model : str
        What was certified.
    loss, penalty : a loss and a penalty
        What the model was to minimize, as `dualgap.solve` takes them; of several problems the first penalty.
    classes : array or None
        The classes of a classifier.
    proofs : tuple of Proof
        One for each problem.
    unit : float
        What times `primal` is the objective in the units of the model's library; nan if the problems have different ones.
    seconds : float
        What it took.
    """

    model: str
    loss: Any
    penalty: Any
    classes: npt.NDArray[Any] | None
    proofs: tuple[Proof, ...]
    unit: float
    seconds: float
    rows: Callable[[Any], Any] = field(repr=False)

    def _sum(self, name: str) -> float:
        return math.fsum(getattr(proof, name) for proof in self.proofs)

    @property
    def primal(self) -> float:
        """The objective of the model."""
        return self._sum("primal")

    @property
    def dual(self) -> float:
        """The best bound on the minimum from below that was found; an allowance for rounding is in the gap."""
        return self._sum("dual")

    @property
    def gap(self) -> float:
        """How far the objective of the model is from its minimum at most."""
        return self._sum("gap")

    @property
    def at_least(self) -> float:
        """How far it is at least."""
        return self._sum("at_least")

    @property
    def null(self) -> float:
        """The objective of the model without features."""
        return self._sum("null")

    @property
    def relative_gap(self) -> float:
        """The gap over the objective of the model without features: what `tol` bounds in a fit of this library."""
        return self.gap / self.null if self.null > 0.0 else (0.0 if self.gap == 0.0 else math.inf)

    @property
    def distance(self) -> float:
        """A bound on |w - w*|, all problems taken together; infinite where a coefficient is not penalized by its square."""
        return math.sqrt(math.fsum(proof.distance**2 for proof in self.proofs))

    @property
    def passes(self) -> float:
        """Passes over the data that it took."""
        return self._sum("passes")

    @property
    def alpha(self) -> Array | list[Array]:
        """The dual variables that prove it; a list if there are several problems."""
        return self.proofs[0].alpha if len(self.proofs) == 1 else [proof.alpha for proof in self.proofs]

    def decision_bounds(self, X: Any) -> tuple[Array, Array]:
        """Where the decision values, or the predictions, of the optimal model are.

        Parameters
        ----------
        X : rows as the model takes them

        Returns
        -------
        low, high : arrays of shape (n,), or (n, k) for k > 2 classes or several targets
            Bounds, infinite where nothing is known: that needs a penalty with a part in |w|^2, and for all intercepts of several classes at
            once a smooth loss. The intercepts of several classes are known up to a constant: those of the optimal model have the mean of
            the model's.
        """
        rows = self.rows(X)
        low, high = (np.column_stack(side) for side in zip(*(common_interval(p.regions, rows) for p in self.proofs), strict=True))
        return (low[:, 0], high[:, 0]) if low.shape[1] == 1 else (low, high)

    def decided(self, X: Any) -> npt.NDArray[np.bool_]:
        """Whether the optimal model is proved to predict the same class as this one.

        Parameters
        ----------
        X : rows as the model takes them

        Returns
        -------
        array of n bools
        """
        if self.classes is None:
            raise ValueError(f"decided needs a classifier, {self.model} is a regression")
        rows = self.rows(X)
        z = np.column_stack([proof.regions[0].scores(rows) for proof in self.proofs])
        predicted = (z[:, 0] > 0.0).astype(np.intp) if z.shape[1] == 1 else np.argmax(z, axis=1)
        return np.asarray(certain_classes([proof.regions for proof in self.proofs], rows) == predicted)

    def __str__(self) -> str:
        several = f", the sum over {len(self.proofs)} problems" if len(self.proofs) > 1 else ""
        distance = f"at most {self.distance:.2g} from" if self.distance < math.inf else "not known to be near"
        return (
            f"{self.model}: {self.loss!r} + {short(self.penalty)}{several}\n"
            f"  Its objective is {self.primal:.10g}. The minimum is at most {self.gap:.2g} and at least {self.at_least:.2g} below:\n"
            f"  at most {self.relative_gap:.2g} of the objective of the model without features.\n"
            f"  The coefficients are {distance} the optimal ones. {self.passes:.0f} passes in {self.seconds:.2f} s."
        )

    __repr__ = __str__
