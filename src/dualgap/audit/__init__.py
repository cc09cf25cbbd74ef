"""Certificates for models that other libraries have fitted.

`certify` reads from a model what it was to minimize (`readers`, `statement`), states that as a problem of this library, and proves how far
the coefficients are from its minimum (`proof`).
"""

import math
import time
from typing import Any

from dualgap.audit.certificate import Certificate
from dualgap.audit.proof import Effort

__all__ = ["Certificate", "certify"]


def certify(
    model: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    loss: Any = None,
    penalty: Any = None,
    tol: float = 0.0,
    max_passes: float = 100,
    time_limit: float | None = None,
    solver: Any = "auto",
    verbose: bool = False,
) -> Certificate:
    """Prove how far a fitted model is from the minimum of what it was to minimize. The model is left as it is.

    Parameters
    ----------
    model : a fitted model, coefficients, or a pair of coefficients and intercept
        A linear model of scikit-learn, liblinear, cyanure, celer, skglm, snapml, statsmodels or this library, by itself, at the end of a
        pipeline or the best of a search. Or coefficients of shape (d,), or (d, k) for a loss that sees k classes at once; an intercept
        beside them is not penalized.
    X, y : rows and targets
        What the model was fitted to, as it was given them.
    sample_weight : array of n nonnegative numbers, optional
        The weights of the rows that the model was fitted with. Those of classes are read from the model.
    loss, penalty : a loss and a penalty, optional
        What was to be minimized, in the units of `solve`: both for coefficients, and either instead of what a model says.
    tol : float
        A gap, relative to the objective of the model without features, that is small enough: a proof of that is not improved.
    max_passes, time_limit : float
        How much may be done for a better proof, in passes over the data for each problem and in seconds for all. 0 passes certify by the
        dual point alone that belongs to the coefficients. It also ends when 99 % of the gap are known to be the model's own.
    solver : {"auto", ...} or a solver object
        What looks for better dual points, as for `solve`.
    verbose : bool
        Whether to show the search.

    Returns
    -------
    Certificate
        With `gap`, `relative_gap`, `at_least`, `distance`, and `decision_bounds` and `decided` for predictions; prints in words.

    Examples
    --------
    >>> import dualgap as dg
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> certificate = dg.certify(LogisticRegression(tol=0.1).fit(X, y), X, y)
    >>> bool(0.0 < certificate.at_least <= certificate.gap < 1.02 * certificate.at_least)
    True
    >>> bool(certificate.decided(X).mean() > 0.9)
    True
    """
    from dualgap.audit.read import read
    from dualgap.data.validation import check_number

    started = time.perf_counter()
    tol, max_passes = check_number("tol", tol, 0.0), check_number("max_passes", max_passes, 0.0)
    deadline = math.inf if time_limit is None else started + check_number("time_limit", time_limit, 0.0)
    reading = read(model, X, y, sample_weight, loss, penalty)
    proofs = []
    for claim in reading.claims:
        left = None if deadline == math.inf else max(deadline - time.perf_counter(), 0.0)
        proofs.append(claim.prove(Effort(max_passes if left != 0.0 else 0.0, left, tol, options={"solver": solver, "verbose": verbose})))
    units = {claim.unit for claim in reading.claims}
    return Certificate(
        model=reading.name,
        loss=reading.loss,
        classes=reading.classes,
        penalty=reading.claims[0].penalty,
        proofs=tuple(proofs),
        unit=units.pop() if len(units) == 1 else math.nan,
        seconds=time.perf_counter() - started,
        rows=reading.rows,
    )
