"""Classifiers that choose the strength of their penalty by cross-validation."""

import numbers
from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import accuracy_score
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metadata_routing import _routing_enabled, process_routing
from sklearn.utils.multiclass import check_classification_targets

from dualgap.estimators.classifiers import LogisticRegression
from dualgap.estimators.cross_validation import CV_CONSTRAINTS, CrossValidated, Data, Found, without
from dualgap.estimators.cv_regressors import EPS, GRID_CONSTRAINTS, L1_RATIO, SCORING, given_strengths, publish_scores, ratios_of
from dualgap.estimators.folds import Fold
from dualgap.estimators.linear import Classifier, LinearClassifier, Probabilistic
from dualgap.estimators.scores import Score, by_accuracy, by_loss, scorer_for
from dualgap.problem import Problem

Array = npt.NDArray[np.float64]
SMALLEST_C, LARGEST_C = -4.0, 4.0


class ClassifierCV(CrossValidated, Classifier):
    """What classifiers with cross-validation share; a subclass says how its folds are scored by default, and what it publishes."""

    def _prepared(self, X: Any, y: Any, sample_weight: Any, template: Any) -> Data:
        X, y, counted = self._checked(X, y, sample_weight)
        check_classification_targets(y)
        self.classes_ = template.classes_ = np.unique(y if counted is None else y[counted > 0.0])
        if len(self.classes_) < 2:
            raise ValueError(
                "This solver needs samples of at least 2 classes in the data, but the data contains only one class: "
                f"{self.classes_.tolist()[0]!r}"
            )
        labels = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
        loss = template._objective(1.0, X.shape[1], len(self.classes_))[0]
        complete = bool(np.all(np.isin(y, self.classes_)))
        return Data(X, y, template._targets(labels, loss), counted, self._class_weighted(labels, counted), labels, complete)

    def _filled(self, model: Any, solutions: Sequence[Any], data: Data) -> Any:  # noqa: ARG002
        model._set_coefficients(solutions, solutions[0].w.ndim == 2)
        return model


class LogisticRegressionCV(ClassifierCV, Probabilistic):
    """Logistic regression, of two classes or multinomial, its strength and mixture chosen by cross-validation, as scikit-learn's.

    The objective is that of `LogisticRegression`. Every fit of every fold is certified to `tol`.

    Parameters
    ----------
    Cs : int or list of float
        How many values of C, from 1e-4 to 1e4, or which.
    l1_ratios : list of float, optional
        Shares of |w|_1 in the penalty, of which the best is chosen; None is 0 alone.
    fit_intercept : bool
        Whether to fit b.
    cv : int, splitter, iterable or None
        The folds, as in scikit-learn: 5 by default, stratified, fewer if no class has as many rows.
    dual : bool
        Has no effect: there is a primal and a dual solution in any case.
    penalty : {"auto", "l2", "l1", "elasticnet"}
        As in scikit-learn up to 1.9. "auto" is what `l1_ratios` says.
    scoring : str, callable or None
        A scorer of scikit-learn; None is the accuracy.
    solver : {"auto", "adaptive", "prox_sdca", "accelerated", "fista", "newton"} or a solver
        See `dualgap.solve`. The names of scikit-learn's solvers mean "auto".
    tol : float
        The certified gap to reach, relative to the objective of the model without features.
    max_iter : int
        Most passes over the data for each C.
    class_weight : dict, "balanced" or None
        Weights of the classes, which multiply those of the rows in fits, not in scores. "balanced" is what balances all rows.
    n_jobs : int, optional
        How many folds, times values of `l1_ratios`, are fitted side by side, by threads that share X.
    verbose : bool
        Whether to show how far it has come.
    refit : bool
        Must be True: all rows are fitted with the C that was chosen. Means of the folds' coefficients have no certificate.
    intercept_scaling : float
        Has no effect: the intercept is not penalized.
    random_state : int, RandomState or None
        Seed of the order in which rows are visited; None is 0.
    use_legacy_attributes : bool
        Whether attributes have the shapes of scikit-learn up to 1.9.
    rule : {"best", "1se"}
        Whether `C_` is the one with the best mean score, or the smallest within a standard error of that.
    factors : array of shape (n_features,), optional
        What multiplies the penalty of each feature; 0 leaves it unpenalized.
    time_limit : float, optional
        Most seconds for all: folds get equal shares, and values of C that a fold does not reach are not chosen.

    Attributes
    ----------
    C_, l1_ratio_ : float
        The C and the mixture that were chosen.
    C_best_, C_1se_ : float
        What either rule chooses.
    Cs_, l1_ratios_ : array of shape (n_cs,), array of shape (n_l1_ratios,)
        What was tried.
    scores_ : array of shape (n_folds, n_l1_ratios, n_cs)
        Scores on the rows held out.
    coefs_paths_ : array of shape (n_folds, n_l1_ratios, n_cs, n_classes, n_features + 1)
        The coefficients, the intercept last (if there is one); one row for two classes.
    gap_path_ : array of shape (n_folds, n_l1_ratios, n_cs)
        The certified relative gaps.
    n_iter_ : array of shape (n_folds, n_l1_ratios, n_cs)
        Passes over the data.

    Notes
    -----
    A fitted model also has the attributes of `LinearClassifier`, of the fit to all rows. A class that a fold has no row of to fit to has a
    probability of about exp(-700) there.

    Examples
    --------
    >>> import dualgap as dg
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = dg.LogisticRegressionCV(Cs=5, scoring="neg_log_loss").fit(X, y)
    >>> model.C_, model.scores_.shape, bool(model.gap_path_.max() <= 1e-6)
    (100.0, (5, 1, 5), True)
    """

    C_: Any
    l1_ratio_: Any
    scores_: Any
    coefs_paths_: Any
    n_iter_: Any

    _model = LogisticRegression
    _inverse = True
    _keeps_paths = True
    _parameter_constraints = (
        without(LogisticRegression, "C", "l1_ratio", "warm_start")
        | CV_CONSTRAINTS
        | {
            "Cs": [Interval(numbers.Integral, 1, None, closed="left"), "array-like"],
            "l1_ratios": ["array-like", None],
            "penalty": [StrOptions({"auto", "l1", "l2", "elasticnet", "deprecated"})],
            "scoring": SCORING,
            "refit": ["boolean"],
            "use_legacy_attributes": ["boolean"],
        }
    )

    def __init__(
        self,
        *,
        Cs: Any = 10,
        l1_ratios: Any = None,
        fit_intercept: bool = True,
        cv: Any = None,
        dual: bool = False,
        penalty: str = "auto",
        scoring: Any = None,
        solver: Any = "auto",
        tol: float = 1e-6,
        max_iter: int | None = 1000,
        class_weight: Any = None,
        n_jobs: int | None = None,
        verbose: Any = 0,
        refit: bool = True,
        intercept_scaling: float = 1.0,
        random_state: Any = None,
        use_legacy_attributes: bool = False,
        rule: str = "best",
        factors: Any = None,
        time_limit: float | None = None,
    ) -> None:
        self.Cs = Cs
        self.l1_ratios = l1_ratios
        self.fit_intercept = fit_intercept
        self.cv = cv
        self.dual = dual
        self.penalty = penalty
        self.scoring = scoring
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.refit = refit
        self.intercept_scaling = intercept_scaling
        self.random_state = random_state
        self.use_legacy_attributes = use_legacy_attributes
        self.rule = rule
        self.factors = factors
        self.time_limit = time_limit

    def _template(self) -> Any:
        model = super()._template()
        model.penalty = "auto"
        return model

    def _ratios(self) -> list[Any]:
        if not self.refit:
            raise ValueError("refit must be True: the means of the folds' coefficients have no certificate, got refit=False")
        if self.penalty in ("l1", "l2"):
            return [1.0 if self.penalty == "l1" else 0.0]
        if self.penalty == "elasticnet" and self.l1_ratios is None:
            raise ValueError("l1_ratios must be specified when penalty is elasticnet.")
        return [0.0] if self.l1_ratios is None else ratios_of("l1_ratios", self.l1_ratios)

    def _given_strengths(self) -> Any:
        if isinstance(self.Cs, numbers.Integral):
            return 1.0 / np.logspace(SMALLEST_C, LARGEST_C, int(self.Cs))
        Cs = np.atleast_1d(np.asarray(self.Cs, dtype=np.float64))
        if Cs.ndim != 1 or not Cs.size or not np.all(Cs > 0.0):
            raise ValueError(f"Cs must be a number of values, or positive ones, got {self.Cs!r}")
        return 1.0 / Cs

    def _default_score(self, data: Data, problems: Sequence[Problem], fold: Fold) -> Score:
        return by_accuracy(problems, data.labels, fold)

    def _publish(self, found: Found) -> None:
        best, cautious = found.best(), found.one_standard_error()
        ratio, strength = cautious if self.rule == "1se" else best
        back = np.argsort(np.argsort(-self._given_strengths(), kind="stable"))
        Cs = np.divide(1.0, found.strengths[0], out=np.full(found.strengths.shape[1], np.inf), where=found.strengths[0] > 0.0)
        self.C_best_, self.C_1se_, self.C_ = (float(Cs[j]) for j in (best[1], cautious[1], strength))
        self.Cs_, self.l1_ratios_, self.l1_ratio_ = Cs[back], np.array(found.ratios), found.ratios[ratio]
        self.scores_, self.gap_path_, passes = (np.moveaxis(a, 2, 0)[..., back] for a in (found.scores, found.relative_gap, found.passes))
        self.n_iter_ = np.where(np.isnan(passes), 0.0, np.ceil(passes)).astype(np.int32)
        self.coefs_paths_ = self._paths_of(found)[:, :, back]
        if self.use_legacy_attributes:
            self._give_legacy_shapes()

    def _paths_of(self, found: Found) -> Array:
        """The coefficients of all points, in the order of the strengths; nan where they were not reached."""
        model, rows = copy(self), (1 if len(self.classes_) == 2 else len(self.classes_))
        ratios, strengths, folds = found.scores.shape
        paths = np.full((folds, ratios, strengths, rows, self.n_features_in_ + bool(self.fit_intercept)), np.nan)
        for r, stretches in enumerate(found.stretches):
            for f, fold in enumerate(stretches):
                for j, points in enumerate(fold.kept):
                    model._set_coefficients(points, points[0].w.ndim == 2)
                    paths[f, r, j, :, : self.n_features_in_] = model.coef_
                    if self.fit_intercept:
                        paths[f, r, j, :, -1] = model.intercept_
        return paths

    def _give_legacy_shapes(self) -> None:
        """The attributes in the shapes of scikit-learn up to 1.9, where classes have entries of their own."""
        classes = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        plain = self.l1_ratios is None
        scores, passes = (np.moveaxis(a, 1, 2) for a in (self.scores_, self.n_iter_))
        paths = np.moveaxis(self.coefs_paths_, (3, 1), (0, 3))
        if plain:
            scores, passes, paths = scores[:, :, 0], passes[:, :, 0], paths[:, :, :, 0]
        self.scores_ = dict.fromkeys(classes, scores)
        self.coefs_paths_ = dict(zip(classes, paths, strict=True))
        self.n_iter_ = passes[None]
        self.C_, self.l1_ratio_ = np.full(len(classes), self.C_), np.full(len(classes), self.l1_ratio_)

    def score(self, X: Any, y: Any, sample_weight: Any = None, **score_params: Any) -> float:
        """The score of the predictions for X, by `scoring`.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Rows.
        y : array of shape (n_samples,)
            Their classes.
        sample_weight : array of shape (n_samples,), optional
            Weights of the rows.
        **score_params : dict
            With scikit-learn's metadata routing, whatever the scorer asks for.

        Returns
        -------
        float
            The score.
        """
        if sample_weight is not None:
            score_params["sample_weight"] = sample_weight
        if self.scoring is None:
            return float(accuracy_score(y, self.predict(X), **score_params))
        if _routing_enabled():
            score_params = process_routing(self, "score", **score_params).scorer.score
        return float(scorer_for(self.scoring, self.classes_)(self, X, y, **score_params))


class LinearClassifierCV(ClassifierCV, LinearClassifier):
    """Linear classification with any loss and any penalty, its strength chosen by cross-validation.

    The objective is that of `LinearClassifier`. Every fit of every fold is certified to `tol`. By default a fold is scored by the loss
    itself, of each class against the rest if that is how classes are fitted.

    Parameters
    ----------
    loss : {"logistic", "hinge", "smooth_hinge", "squared_hinge", "softmax", "max_hinge", "smooth_max_hinge", "soft_max_hinge"} or a loss
        A name for a loss with its defaults, or an object such as `dualgap.SmoothHinge(0.1)` or one of your own.
    penalty : {"l2", "l1", "elasticnet"} or a penalty
        |w|^2/2, |w|_1, or l1_ratio |w|_1 + (1 - l1_ratio)/2 |w|^2; or an object such as `dualgap.GroupL1(1.0, 0.1, groups)`.
    alphas : int or array of shape (n_alphas,)
        How many strengths, or which, of what multiplies the penalty; see `dualgap.path`.
    eps : float, optional
        The ratio of the last and the first strength where these are not given: 1e-3, or 1e-6 for a penalty without kinks.
    l1_ratio : float or list of float
        Share of |w|_1 where the penalty is "elasticnet"; of several the best is chosen.
    fit_intercept : bool
        Whether to fit b.
    cv : int, splitter, iterable or None
        The folds, as in scikit-learn: 5 by default, stratified, fewer if no class has as many rows.
    scoring : str, callable or None
        A scorer of scikit-learn; None scores by the loss.
    rule : {"best", "1se"}
        Whether `alpha_` is the strength with the best mean score, or the largest within a standard error of that.
    class_weight : dict, "balanced" or None
        Weights of the classes, which multiply those of the rows in fits, not in scores. "balanced" is what balances all rows.
    positive : bool
        Whether to hold coefficients at or above 0.
    factors : array of shape (n_features,), optional
        What multiplies the penalty of each feature; 0 leaves it unpenalized.
    solver : {"auto", "adaptive", "prox_sdca", "accelerated", "fista", "newton"} or a solver
        See `dualgap.solve`.
    tol : float
        The certified gap to reach, relative to the objective of the model without features.
    max_iter : int
        Most passes over the data for each strength.
    time_limit : float, optional
        Most seconds for all: folds get equal shares, and strengths that a fold does not reach are not chosen.
    random_state : int, RandomState or None
        Seed of the order in which rows are visited; None is 0.
    n_jobs : int, optional
        How many folds, times values of `l1_ratio`, are fitted side by side, by threads that share X.
    verbose : bool
        Whether to show how far it has come.

    Attributes
    ----------
    alpha_, l1_ratio_ : float
        The strength and the mixture that were chosen; there is a mixture only where the penalty is "elasticnet".
    alpha_best_, alpha_1se_ : float
        What either rule chooses.
    best_score_ : float
        The mean score of the strength that was chosen.
    alphas_, l1_ratios_ : array of shape (n_l1_ratios, n_alphas), array of shape (n_l1_ratios,)
        The strengths, falling, and the mixtures.
    scores_ : array of shape (n_folds, n_l1_ratios, n_alphas)
        Scores on the rows held out, higher for better ones.
    gap_path_ : array of the shape of scores_
        The certified relative gaps.

    Notes
    -----
    A fitted model also has the attributes of `LinearClassifier`, of the fit to all rows. A class that a fold has no row of to fit to has an
    intercept 700 below the others there.

    Examples
    --------
    >>> import dualgap as dg
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = dg.LinearClassifierCV("smooth_max_hinge", "l1", alphas=8, rule="1se").fit(X, y)
    >>> model.alpha_ == model.alpha_1se_ >= model.alpha_best_, model.score(X, y) > 0.9
    (True, True)
    """

    _model = LinearClassifier
    _parameter_constraints = (
        without(LinearClassifier, "alpha", "warm_start")
        | GRID_CONSTRAINTS
        | {
            "penalty": [StrOptions({"l2", "l1", "elasticnet"}), HasMethods("_replace")],
            "eps": [EPS, None],
            "l1_ratio": [L1_RATIO, "array-like"],
            "scoring": SCORING,
        }
    )

    def __init__(
        self,
        loss: Any = "logistic",
        penalty: Any = "l2",
        *,
        alphas: Any = 100,
        eps: float | None = None,
        l1_ratio: Any = 0.5,
        fit_intercept: bool = True,
        cv: Any = None,
        scoring: Any = None,
        rule: str = "best",
        class_weight: Any = None,
        positive: bool = False,
        factors: Any = None,
        solver: Any = "auto",
        tol: float = 1e-6,
        max_iter: int | None = 1000,
        time_limit: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: Any = 0,
    ) -> None:
        self.loss = loss
        self.penalty = penalty
        self.alphas = alphas
        self.eps = eps
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.class_weight = class_weight
        self.positive = positive
        self.factors = factors
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _ratios(self) -> list[Any]:
        return ratios_of("l1_ratio", self.l1_ratio) if self.penalty == "elasticnet" else [None]

    def _given_strengths(self) -> Any:
        return given_strengths("alphas", self.alphas)

    def _default_score(self, data: Data, problems: Sequence[Problem], fold: Fold) -> Score:  # noqa: ARG002
        return by_loss(problems, fold)

    def _publish(self, found: Found) -> None:
        publish_scores(self, found)
