"""What a solve returns: the solution, its certificate, how it ended and how it got there."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


class Status(StrEnum):
    """How a solve ended, as a sentence."""

    CERTIFIED = "The objective is proved to be within the tolerance of its minimum."
    MAX_PASSES = "Stopped at max_passes before the certified gap came within the tolerance."
    TIME_LIMIT = "Stopped at time_limit before the certified gap came within the tolerance."
    INTERRUPTED = "Interrupted before the certified gap came within the tolerance."
    CALLBACK = "Stopped by the callback before the certified gap came within the tolerance."
    ROUNDING = "Stopped where rounding errors are larger than what is left of the gap."
    NO_MINIMUM = (
        "The objective is proved to be near its infimum, which no coefficients attain: they separate the classes and are not penalized."
    )


class Record(NamedTuple):
    """One certificate on the way: after how many passes and seconds, the best objectives so far and their gap, and a remark."""

    passes: float
    seconds: float
    primal: float
    dual: float
    gap: float
    note: str = ""


class History(list[Record]):
    """The records of a solve, as a list, with each quantity as an array.

    Examples
    --------
    >>> history = History([Record(1.0, 0.1, 2.0, 1.0, 1.0), Record(2.0, 0.2, 1.5, 1.4, 0.1)])
    >>> history.gap
    array([1. , 0.1])
    """

    def _array(self, name: str) -> Array:
        return np.array([getattr(record, name) for record in self])

    @property
    def passes(self) -> Array:
        return self._array("passes")

    @property
    def seconds(self) -> Array:
        return self._array("seconds")

    @property
    def primal(self) -> Array:
        return self._array("primal")

    @property
    def dual(self) -> Array:
        return self._array("dual")

    @property
    def gap(self) -> Array:
        return self._array("gap")

    @property
    def notes(self) -> list[str]:
        return [record.note for record in self if record.note]


@dataclass(frozen=True)
class Solution:
    """A solution with the proof of its accuracy.

    Attributes
    ----------
    w : array
        Coefficients, d numbers, or d x k for a vector-valued loss.
    alpha : array
        Dual variables, n numbers or n x k, feasible: `dual` is their objective.
    intercept : float or array
        The unpenalized intercept, 0.0 where none is fitted.
    primal, dual : float
        P(w) and D(alpha), computed from w and alpha anew with compensated sums.
    gap : float
        P(w) - D(alpha) and an allowance for rounding: no w' has an objective below P(w) - gap.
    relative_gap : float
        The gap over the objective of the null model (w = 0 and the best intercept), which `tol` bounds.
    null : float
        The objective of the null model.
    convexity : float
        Modulus of strong convexity of the penalty: |w - w*|^2 <= 2 gap / convexity. 0 where a coefficient is not penalized.
    status : Status
        How the solve ended; reads as a sentence.
    passes, seconds : float
        Passes over the data, evaluations of the certificate included, and the time they took.
    history : History
        The certificates on the way.
    notes : tuple of str
        Whatever the solver decided that the caller may want to know (a conversion of X, the algorithm that was chosen).
    """

    w: Array
    alpha: Array
    intercept: Any
    primal: float
    dual: float
    gap: float
    relative_gap: float
    null: float
    convexity: float
    status: Status
    passes: float
    seconds: float
    history: History
    loss: Any
    penalty: Any
    solver: Any
    notes: tuple[str, ...] = field(default=())

    @property
    def distance(self) -> float:
        """A bound on |w - w*|, in the norm in which the penalty is strongly convex; infinite if it is not."""
        return math.sqrt(2.0 * self.gap / self.convexity) if self.convexity > 0.0 else math.inf

    def plot(self) -> Any:
        """Draw the way of the solve: the gap, and how far P and D were from the bounds at the end, against passes and seconds.

        Returns
        -------
        matplotlib Figure
            It belongs to no window; `figure.savefig` writes it. Needs the extra 'plot'.

        Examples
        --------
        >>> import dualgap as dg
        >>> s = dg.solve([[1.0], [2.0], [3.0]], [-1.0, 1.0, 1.0], loss=dg.Logistic(), penalty=dg.L2(0.1))
        >>> [axes.get_xlabel() for axes in s.plot().axes]
        ['passes over the data', 'seconds']
        """
        from dualgap.report.plot import plot_solution

        return plot_solution(self)

    def report(
        self,
        path: str | Path,
        *,
        title: str | None = None,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
        X_test: Any = None,
        y_test: Any = None,
    ) -> None:
        """Write an HTML file that says what was solved, how well, and how: complete in itself, for any browser, on paper or in the dark.

        Parameters
        ----------
        path : path of the file to write
        title : str, optional
            The heading; by default the loss and the penalty.
        feature_names : names of the d features, optional
        class_names : names of the classes in the order of their labels, optional
        X_test, y_test : rows and targets that were not fitted to, optional
            Of a classifier the report shows the confusion matrix on them, of a regressor the residuals. A fit of least squares to -1 and
            +1 counts as a classifier where `class_names` are given.

        Examples
        --------
        >>> import pathlib, tempfile, dualgap as dg
        >>> s = dg.solve([[1.0], [2.0], [3.0]], [-1.0, 1.0, 1.0], loss=dg.Logistic(), penalty=dg.L2(0.1))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     s.report(f"{folder}/r.html", feature_names=["weight"], X_test=[[2.5]], y_test=[1.0])
        ...     "weight" in pathlib.Path(folder, "r.html").read_text(encoding="utf-8")
        True
        """
        from dualgap.report.html import write_report

        write_report(self, path, title=title, feature_names=feature_names, class_names=class_names, X_test=X_test, y_test=y_test)

    def __repr__(self) -> str:
        size = " x ".join(str(s) for s in self.w.shape)
        return (
            f"Solution of {self.loss!r} + {short(self.penalty)} by {self.solver!r}\n"
            f"  {self.status.value}\n"
            f"  primal {self.primal:.10g}   dual {self.dual:.10g}   gap {self.gap:.2e}   relative {self.relative_gap:.2e}\n"
            f"  {size} coefficients, {np.count_nonzero(self.w)} not zero; {self.passes:.1f} passes in {self.seconds:.2f} s"
        )


def short(penalty: Any) -> str:
    """A penalty's name and numbers, without printing its arrays."""
    parts = [f"{k}={v!r}" for k, v in zip(penalty._fields, penalty, strict=True) if isinstance(v, (int, float))]
    inner = [short(v) for v in penalty if hasattr(v, "_fields")]
    return f"{type(penalty).__name__}({', '.join(inner + parts)})"
