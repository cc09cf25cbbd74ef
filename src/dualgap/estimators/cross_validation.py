"""Cross-validation along paths: what all estimators that choose their strength by it share.

a. A fold is weights on the rows (`folds`), its path that of `dualgap.path` (`fold_paths`), so every point on every fold is certified to the
   tolerance. Folds, and shares of the L1 penalty, go side by side in `n_jobs` threads, which share X.
b. Scores are higher for better models. A score of a fold is a weighted mean over its rows, and counts as one whatever the fold weighs, as
   in scikit-learn.
c. The best strength has the best mean; of equal ones it is the strongest. The rule of one standard error takes the strongest penalty, with
   the same share of L1, whose mean is within a standard error of the best: it is never weaker than the best.
d. The model is then fitted to all rows by the estimator without cross-validation, from the mean of the folds' coefficients.
"""

import math
import numbers
import time
import warnings
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv
from sklearn.utils import Bunch
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.parallel import Parallel, delayed

from dualgap.data.validation import check_penalty_object, make_problem
from dualgap.estimators.base import FEW_ENTRIES, ROUNDING, WHAT_TO_DO, CertifiedModel, total_weight
from dualgap.estimators.callbacks import WRAPPERS, Report, reporting, with_callbacks
from dualgap.estimators.fold_paths import Budget, Point, Stretch, fold_walks, stretch
from dualgap.estimators.folds import Fold, folds_of
from dualgap.estimators.moment_paths import FoldMoments, moment_walks, score_by_moments, suits
from dualgap.estimators.scores import Score, by_scorer, scorer_for, takes_weights
from dualgap.path import Walk
from dualgap.problem import Problem
from dualgap.rows import frozen
from dualgap.solution import Status
from dualgap.solve import Stated
from dualgap.team import alike

Array = npt.NDArray[np.float64]
# No more coefficients than these are kept to start the last fit from.
MOST_KEPT = 1 << 24

CV_CONSTRAINTS: dict[str, Any] = {
    "cv": ["cv_object"],
    "rule": [StrOptions({"best", "1se"})],
}


def without(model: Any, *names: str) -> dict[str, Any]:
    """The constraints of a model's parameters but those of these names."""
    return {name: constraint for name, constraint in model._parameter_constraints.items() if name not in names}


class Data(NamedTuple):
    """X, y for splitters and scorers, the targets of each solve, the weights that count in scores and in fits, and classes as numbers.

    `complete` says whether no class is lost because all its rows weigh 0.
    """

    X: Any
    y: Any
    targets: list[Any]
    counted: Array | None
    fitted: Array | None
    labels: Any = None
    complete: bool = True


class Found(NamedTuple):
    """What the paths of all folds gave: strengths (ratios x m) falling, and scores and the rest, ratios x m x folds; nan if not reached."""

    ratios: list[Any]
    strengths: Array
    scores: Array
    relative_gap: Array
    passes: Array
    status: npt.NDArray[np.object_]
    stretches: list[list[Stretch]]

    @property
    def mean(self) -> Array:
        """Mean scores of the folds."""
        return np.asarray(np.mean(self.scores, axis=2))

    @property
    def standard_error(self) -> Array:
        """The standard errors of the means."""
        folds = self.scores.shape[2]
        if folds == 1:
            return np.zeros(self.scores.shape[:2])
        return np.asarray(np.std(self.scores, axis=2, ddof=1) / math.sqrt(folds))

    def best(self) -> tuple[int, int]:
        """The ratio and the strength of the best mean; of equal ones the strongest."""
        mean = np.where(np.isnan(self.mean), -np.inf, self.mean).T
        strength, ratio = np.unravel_index(int(np.argmax(mean)), mean.shape)
        return int(ratio), int(strength)

    def one_standard_error(self) -> tuple[int, int]:
        """The strongest penalty, with the ratio of the best, whose mean is within a standard error of the best."""
        ratio, best = self.best()
        within = self.mean[ratio] >= self.mean[ratio, best] - self.standard_error[ratio, best]
        return ratio, min(int(np.argmax(within)), best) if np.any(within) else best


class CrossValidated(CertifiedModel):
    """A model whose strength of penalty is chosen by cross-validation.

    A subclass names the estimator without cross-validation, and states how data are prepared, how a fold is scored and what is published.
    """

    _model: Any
    _inverse = False
    _keeps_paths = False
    _scored_by: str | None = None

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Choose the strength by cross-validation, fit the model with it, and prove how close to optimal it is.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            CSR and C-contiguous arrays of float32 or float64 are read in place, by all folds; whatever else is converted once.
        y : array of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array of shape (n_samples,), optional
            Weights of the rows, in the fits and in the scores of the folds. A weight of 0 means that the row is not there.
        **params : dict
            `groups` for the splitter; with scikit-learn's metadata routing, whatever the splitter and the scorer ask for.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._validate_params()
        with reporting(self, X, y, sample_weight) as report:
            found = self._cross_validate(X, y, sample_weight, params, report)
        self._warn(self._solutions)
        if found is not None:
            self._warn_of(found)
        return self

    def _cross_validate(self, X: Any, y: Any, sample_weight: Any, params: dict[str, Any], report: Report | None) -> Found | None:
        template, started = self._template(), time.perf_counter()
        data = self._prepared(X, y, sample_weight, template)
        routed = self._routed(sample_weight, params)
        folds = folds_of(self, data.X, data.y, data.counted, data.fitted, routed.splitter.split)
        problems = self._problems(template, data, self._jobs(len(self._ratios()) * len(folds))[1])
        found = self._paths(template, data, problems, folds, routed.scorer.score, report)
        ratio, strength = found.one_standard_error() if self.rule == "1se" else found.best()
        self._set_strength(template, float(found.strengths[ratio, strength]), found.ratios[ratio])
        points = [s.kept[strength] for s in found.stretches[ratio] if s.whole and len(s.kept) > strength]
        if self.time_limit is not None:
            template.time_limit = max(self.time_limit - (time.perf_counter() - started), 0.0)
        if points and data.complete:
            template.warm_start, template._solutions = True, mean_points(problems, points)
        template._fit(data.X, data.y, data.counted, report)
        self._take_over(template)
        self._publish(found)
        return found

    def _template(self) -> Any:
        """The estimator without cross-validation that has the same parameters."""
        shared = set(self._model._get_param_names()) & set(self._get_param_names())
        return self._model(**{name: getattr(self, name) for name in shared})

    def _set_strength(self, model: Any, strength: float, ratio: Any) -> None:
        """Give an estimator a strength and a share of the L1 penalty."""
        if self._inverse:
            model.C = 1.0 / strength if strength > 0.0 else math.inf
        else:
            model.alpha = strength
        if ratio is not None:
            model.l1_ratio = ratio

    def _routed(self, sample_weight: Any, params: dict[str, Any]) -> Any:
        """What goes to the splitter and what to the scorer."""
        from sklearn.utils.metadata_routing import _routing_enabled

        if _routing_enabled():
            routed = process_routing(self, "fit", sample_weight=sample_weight, **params)
            return routed if hasattr(routed, "scorer") else Bunch(splitter=routed.splitter, scorer=Bunch(score={}))
        groups = params.pop("groups", None)
        if params:
            raise ValueError(
                f"fit of {type(self).__name__} takes X, y, sample_weight and groups; {sorted(params)} can be passed with "
                "sklearn.set_config(enable_metadata_routing=True)"
            )
        scoring = getattr(self, "scoring", None)
        weighted = sample_weight is not None and scoring is not None and takes_weights(scorer_for(scoring))
        return Bunch(splitter=Bunch(split={"groups": groups}), scorer=Bunch(score={"sample_weight": sample_weight} if weighted else {}))

    def get_metadata_routing(self) -> Any:
        """What of the metadata of a fit goes where.

        Returns
        -------
        MetadataRouter
            The routing of scikit-learn.
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        splitting = MethodMapping().add(caller="fit", callee="split")
        router.add(splitter=check_cv(self.cv, classifier=is_classifier(self)), method_mapping=splitting)
        if getattr(self, "scoring", None) is not None:
            scored = MethodMapping().add(caller="fit", callee="score").add(caller="score", callee="score")
            router.add(scorer=scorer_for(self.scoring), method_mapping=scored)
        return router

    def _objectives_at(self, template: Any, ratio: Any, total: float, data: Data) -> list[tuple[Any, Any]]:
        """The loss and the penalty of the strength 1 of each solve, for rows of this total weight."""
        model = copy(template)
        self._set_strength(model, 1.0, ratio)
        return list(model._objectives(total, data.X.shape[1], len(data.targets)))

    def _problems(self, template: Any, data: Data, threads: int | None) -> list[Problem]:
        """The problem of each solve on all rows; what is measured of X is measured once."""
        objectives = self._objectives_at(template, self._ratios()[0], total_weight(data.fitted, data.X.shape[0]), data)
        first, _ = make_problem(data.X, data.targets[0], *objectives[0], data.fitted, bool(self.fit_intercept), threads)
        others = [frozen(np.asarray(target, dtype=first.y.dtype)) for target in data.targets[1:]]
        return [first, *(replace(first, y=y) for y in others)]

    def _paths(
        self, template: Any, data: Data, problems: list[Problem], folds: list[Fold], score_params: dict[str, Any], report: Report | None
    ) -> Found:
        """The paths of all folds."""
        options = template._solver_options() | {"callback": report}
        options = {name: options[name] for name in ("solver", "tol", "max_passes", "random_state", "callback")}
        if problems[0].n * problems[0].d <= FEW_ENTRIES:
            options["tol"] = min(options["tol"], ROUNDING)
        ratios, whole = self._ratios(), total_weight(data.fitted, problems[0].n)
        strengths = np.array([self._strengths(problems, self._objectives_at(template, r, whole, data), options) for r in ratios])
        size = sum(p.d * max(p.outputs, 1) for p in problems) * strengths.size * len(folds)
        keep = self._keeps_paths or size <= MOST_KEPT
        jobs = [(ratio, fold) for ratio in range(len(ratios)) for fold in range(len(folds))]
        at_once, _ = self._jobs(len(jobs))
        budget = Budget(self.time_limit, len(jobs), at_once)
        found = None
        if template.solver == "auto" and problems[0].n * problems[0].d > FEW_ENTRIES:
            penalties = [penalty for ratio in ratios for _, penalty in self._objectives_at(template, ratio, whole, data)]
            if suits(problems, penalties, strengths.size * len(folds), len(folds)):
                found = FoldMoments(problems, data.fitted, folds)

        def run(ratio: int, fold: int) -> Stretch:
            objectives, where = self._objectives_at(template, ratios[ratio], folds[fold].total, data), folds[fold]
            team = problems[0].team if at_once == 1 else alike(problems[0].team)
            own = [replace(problem, team=team) for problem in problems]
            with team.at_work():
                if found is None:
                    walks = fold_walks(own, objectives, where.weight, options, budget.deadline())
                else:
                    walks = moment_walks(found, fold, own, objectives, options, budget.deadline())
                if found is not None and self._scored_by is not None and getattr(self, "scoring", None) is None:
                    score = score_by_moments(self._scored_by, found, fold)
                else:
                    score = self._score_of(template, data, own, where, score_params)
                return stretch(walks, strengths[ratio], score, lambda _: None, keep=keep, tol=float(self.tol))

        if at_once == 1:
            done = [run(*job) for job in jobs]
        else:
            done = list(Parallel(n_jobs=at_once, prefer="threads")(delayed(run)(*job) for job in jobs))
        return gathered(ratios, strengths, [done[k : k + len(folds)] for k in range(0, len(done), len(folds))])

    def _strengths(self, problems: Sequence[Problem], objectives: Sequence[tuple[Any, Any]], options: dict[str, Any]) -> Array:
        """The strengths to try, falling: those given, or in equal ratios from the least that leaves all coefficients of all solves at 0."""
        given = self._given_strengths()
        if not isinstance(given, numbers.Integral):
            return np.sort(np.atleast_1d(np.asarray(given, dtype=np.float64)))[::-1]
        found = []
        for problem, (loss, penalty) in zip(problems, objectives, strict=True):
            checked = check_penalty_object(penalty, problem.d, problem.outputs)
            walk = Walk(Stated(replace(problem, penalty=checked), loss, penalty), options)
            found.append(walk.default_strengths(int(given), self.eps))
        return np.asarray(max(found, key=lambda strengths: float(strengths[0])))

    def _score_of(self, template: Any, data: Data, problems: Sequence[Problem], fold: Fold, params: dict[str, Any]) -> Score:
        """What scores the points of a fold."""
        if getattr(self, "scoring", None) is None:
            default: Score = self._default_score(data, problems, fold)
            return default
        model = copy(template)
        model.n_features_in_ = data.X.shape[1]
        scorer = scorer_for(self.scoring, getattr(model, "classes_", None))
        return by_scorer(scorer, data.X, data.y, fold, params, lambda solutions: self._filled(model, solutions, data))

    def _take_over(self, model: Any) -> None:
        """Have what the estimator without cross-validation has learned."""
        own = {*self._get_param_names(), *model._get_param_names(), "n_features_in_", "feature_names_in_"}
        for name, value in vars(model).items():
            if name not in own:
                setattr(self, name, value)

    def _warn_of(self, found: Found) -> None:
        """Say so if a certified gap of a fold is above the tolerance, or if strengths were not reached."""
        reached = int(np.sum(np.all(np.isfinite(found.scores), axis=2)))
        if reached < found.strengths.size:
            what = f"reached {reached} of {found.strengths.size} strengths on all folds. Raise time_limit (now {self.time_limit} s)."
            warnings.warn(f"{type(self).__name__} {what}", ConvergenceWarning, stacklevel=3 + WRAPPERS)
        short = found.relative_gap > self.tol
        short &= np.array([status is not Status.CERTIFIED for status in found.status.ravel()]).reshape(short.shape)
        if np.any(short):
            worst = np.unravel_index(int(np.argmax(np.where(short, found.relative_gap, 0.0))), short.shape)
            advice = WHAT_TO_DO[found.status[worst]].format(max_iter=self._max_passes(), time_limit=self.time_limit)
            warnings.warn(
                f"{type(self).__name__} did not converge at {int(short.sum())} of {short.size} points of the folds: the largest certified "
                f"relative gap is {found.relative_gap[worst]:.2g}, tol={self.tol:g}. {advice}",
                ConvergenceWarning,
                stacklevel=3 + WRAPPERS,
            )


def gathered(ratios: list[Any], strengths: Array, stretches: list[list[Stretch]]) -> Found:
    """What the paths gave, as arrays."""
    shape = (*strengths.shape, len(stretches[0]))
    scores, gaps, passes = (np.full(shape, np.nan) for _ in range(3))
    status = np.full(shape, Status.TIME_LIMIT, dtype=object)
    for r, folds in enumerate(stretches):
        for f, found in enumerate(folds):
            m = len(found.scores)
            scores[r, :m, f], gaps[r, :m, f], passes[r, :m, f] = found.scores, found.relative_gap, found.passes
            status[r, :m, f] = found.status
    return Found(ratios, strengths, scores, gaps, passes, status, stretches)


def mean_points(problems: Sequence[Problem], points: list[list[Point]]) -> list[Point]:
    """A start for each solve: the mean of the folds' coefficients, and the dual variables that it suggests."""
    starts = []
    for problem, found in zip(problems, zip(*points, strict=True), strict=True):
        w = np.mean([point.w for point in found], axis=0)
        intercept = np.mean([point.intercept for point in found], axis=0)
        stacked = np.concatenate([w, np.broadcast_to(intercept, (1, *w.shape[1:]))])
        starts.append(found[0]._replace(w=w, intercept=intercept, alpha=problem.dual_points(stacked, np.empty(problem.alpha_shape))))
    return starts
