"""Scores of models on rows that were held out; higher is better.

Those by a model's own loss, by squared errors or by accuracy come from decision values, which are computed in place. A scorer of
scikit-learn, or a function of (estimator, X, y), sees the rows that were held out: a view of them where they lie together in an array, and
a copy otherwise, of one fold at a time.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import get_scorer, make_scorer, r2_score
from sklearn.utils.validation import _check_method_params

from dualgap.estimators.folds import Fold
from dualgap.kernels.held_out import scores_at
from dualgap.problem import Problem
from dualgap.rows import frozen

Array = npt.NDArray[np.float64]
Score = Callable[[Sequence[Any]], float]


def decision_values(problem: Problem, rows: npt.NDArray[np.intp], solutions: Sequence[Any]) -> Array:
    """X w + b of some rows, a column for each solve or class."""
    w = np.column_stack([s.w for s in solutions])
    intercept = np.concatenate([np.broadcast_to(s.intercept, s.w.shape[1:] or (1,)) for s in solutions])
    z = np.empty((len(rows), w.shape[1]))
    scores_at(problem.rows, frozen(rows), np.vstack([w, intercept]), z)
    return z


def by_squared_errors(problems: Sequence[Problem], fold: Fold) -> Score:
    """Minus the mean squared error, the mean of the targets."""
    y = np.column_stack([problem.y[fold.held_out] for problem in problems])

    def score(solutions: Sequence[Any]) -> float:
        z = decision_values(problems[0], fold.held_out, solutions)
        return -float(np.mean(np.average((y - z) ** 2, axis=0, weights=fold.held_out_weight)))

    return score


def by_r2(problems: Sequence[Problem], fold: Fold) -> Score:
    """The coefficient of determination, the mean of the targets."""
    y = np.column_stack([problem.y[fold.held_out] for problem in problems])

    def score(solutions: Sequence[Any]) -> float:
        return float(r2_score(y, decision_values(problems[0], fold.held_out, solutions), sample_weight=fold.held_out_weight))

    return score


def by_loss(problems: Sequence[Problem], fold: Fold) -> Score:
    """Minus the mean of the loss that is minimized, the mean of the targets or of the classes against the rest."""
    rows = fold.held_out
    weight = np.ones(len(rows)) if fold.held_out_weight is None else fold.held_out_weight
    share = frozen(weight / weight.sum())
    small = []
    for problem in problems:
        loss = problem.loss
        if problem.outputs and loss.costs.shape[0] != problem.outputs:
            loss = loss._replace(costs=frozen(loss.costs[rows]))
        small.append(replace(problem, loss=loss, y=frozen(problem.y[rows]), share=share, norms2=frozen(problem.norms2[rows])))

    def score(solutions: Sequence[Any]) -> float:
        z = decision_values(problems[0], rows, solutions)
        columns = [z] if problems[0].outputs else list(np.ascontiguousarray(z.T))
        return -float(np.mean([p.mean_loss_of(part, slice(0, len(rows)))[0] for p, part in zip(small, columns, strict=True)]))

    return score


def by_accuracy(problems: Sequence[Problem], labels: npt.NDArray[np.intp], fold: Fold) -> Score:
    """The share of rows whose class is predicted."""
    truth = labels[fold.held_out]

    def score(solutions: Sequence[Any]) -> float:
        z = decision_values(problems[0], fold.held_out, solutions)
        chosen = (z[:, 0] > 0.0).astype(np.intp) if z.shape[1] == 1 else np.argmax(z, axis=1)
        return float(np.average(chosen == truth, weights=fold.held_out_weight))

    return score


def by_scorer(scorer: Any, X: Any, y: Any, fold: Fold, params: dict[str, Any], fitted: Callable[[Sequence[Any]], Any]) -> Score:
    """What a scorer says of the fitted estimator."""
    rows = fold.held_out
    together = isinstance(X, np.ndarray) and len(rows) == rows[-1] - rows[0] + 1 and bool(np.all(np.diff(rows) == 1))
    X_held_out = X[rows[0] : rows[-1] + 1] if together else X[rows]
    y_held_out, given = y[rows], _check_method_params(X, params, indices=rows)

    def score(solutions: Sequence[Any]) -> float:
        return float(scorer(fitted(solutions), X_held_out, y_held_out, **given))

    return score


def takes_weights(scorer: Any) -> bool:
    """Whether a scorer has a use for `sample_weight`."""
    return "sample_weight" in inspect.signature(getattr(scorer, "_score_func", scorer)).parameters


def scorer_for(scoring: Any, classes: Any = None) -> Any:
    """The scorer of a name, or itself; one whose metric takes `labels` is told all classes, since a fold may lack some."""
    scorer = get_scorer(scoring) if isinstance(scoring, str) else scoring
    known = inspect.signature(scorer._score_func).parameters if hasattr(scorer, "_score_func") else {}
    if classes is None or "labels" not in known:
        return scorer
    more = {"labels": classes, **({"pos_label": classes[-1]} if len(classes) == 2 and "pos_label" in known else {})}
    return make_scorer(
        scorer._score_func, greater_is_better=scorer._sign == 1, response_method=scorer._response_method, **more, **scorer._kwargs
    )
