"""Cross-validation: scores as if each fold had been fitted afresh, every point certified, the rule of one standard error, scikit-learn's
answers, and what folds and weights mean."""

import math
import pickle
import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import linear_model
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer, log_loss, mean_squared_error
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut, StratifiedKFold, cross_val_score
from sklearn.utils.estimator_checks import check_estimator

import dualgap as dg
from dualgap.estimators import (
    ElasticNet,
    ElasticNetCV,
    Lasso,
    LassoCV,
    LinearClassifier,
    LinearClassifierCV,
    LinearRegressor,
    LinearRegressorCV,
    LogisticRegression,
    LogisticRegressionCV,
    Ridge,
    RidgeClassifier,
    RidgeClassifierCV,
    RidgeCV,
)
from dualgap.estimators.cross_validation import Found
from dualgap.estimators.fold_paths import Point, stretch
from dualgap.estimators.leave_one_out import leave_one_out

CHECKED = [
    LassoCV(alphas=3),
    ElasticNetCV(alphas=3, l1_ratio=[0.5, 0.9]),
    RidgeCV(),
    RidgeCV(cv=3, rule="1se"),
    RidgeClassifierCV(),
    LogisticRegressionCV(Cs=3),
    LinearRegressorCV(alphas=3),
    pytest.param(
        LinearClassifierCV("smooth_hinge", alphas=3),
        marks=pytest.mark.xfail(strict=True, reason="class weights of 1e3 and 1e-4: 4 of 15 points end with the gap they begin with"),
    ),
]


@pytest.mark.parametrize("estimator", CHECKED, ids=repr)
def test_scikit_learn_finds_nothing(estimator):
    check_estimator(estimator, on_skip=None)


def regression(seed=0, n=90, d=7, targets=None):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 0.5
    w = rng.standard_normal((d, targets) if targets else d) * (np.arange(d) < 3).reshape(-1, *([1] if targets else []))
    return X, X @ w + rng.standard_normal((n, targets) if targets else n) + 2.0, rng.integers(0, 4, n).astype(float)


def classes(k, seed=0, n=120, d=6):
    X, y = make_classification(n, d, n_informative=4, n_classes=k, flip_y=0.2, random_state=seed)
    return X, np.array(["a", "b", "c", "d"])[y], np.random.default_rng(seed).integers(0, 4, n).astype(float)


FOLDS = KFold(3, shuffle=True, random_state=0)
AFRESH = [
    (LassoCV(alphas=6, tol=1e-10), lambda s, r: Lasso(alpha=s, tol=1e-10), "neg_mean_squared_error"),
    (
        ElasticNetCV(alphas=4, l1_ratio=[0.3, 0.9], tol=1e-10),
        lambda s, r: ElasticNet(alpha=s, l1_ratio=r, tol=1e-10),
        "neg_mean_squared_error",
    ),
    (RidgeCV(alphas=[10.0, 1.0, 0.1], cv=3, tol=1e-10), lambda s, r: Ridge(alpha=s, tol=1e-10), "r2"),
    (
        LinearRegressorCV(
            "huber", "elasticnet", alphas=[1.0, 0.1, 0.01], l1_ratio=[0.5], scoring="neg_max_error", positive=True, tol=1e-10
        ),
        lambda s, r: LinearRegressor("huber", "elasticnet", alpha=s, l1_ratio=r, positive=True, tol=1e-10),
        "neg_max_error",
    ),
    (
        LogisticRegressionCV(Cs=[0.01, 1.0, np.inf], tol=1e-10),
        lambda s, r: LogisticRegression(C=1.0 / s if s else np.inf, tol=1e-10),
        "accuracy",
    ),
    (
        LogisticRegressionCV(Cs=[0.1, 1.0], l1_ratios=[0.0, 0.5, 1.0], scoring="neg_log_loss", class_weight="balanced", tol=1e-10),
        lambda s, r: LogisticRegression(C=1.0 / s, l1_ratio=r, tol=1e-10),
        "neg_log_loss",
    ),
    (
        LinearClassifierCV("smooth_hinge", "l1", alphas=[0.1, 0.01], scoring="accuracy", tol=1e-10),
        lambda s, r: LinearClassifier("smooth_hinge", "l1", alpha=s, tol=1e-10),
        "accuracy",
    ),
    (RidgeClassifierCV(alphas=[1.0, 10.0], cv=3, tol=1e-10), lambda s, r: RidgeClassifier(alpha=s, tol=1e-10), "accuracy"),
]


def grids(model):
    """The strengths of each ratio, the ratios, and the scores and gaps, folds x ratios x strengths."""
    if hasattr(model, "mse_path_"):
        strengths, scores, gaps = np.atleast_2d(model.alphas_), -model.mse_path_, model.gap_path_
        if scores.ndim == 2:
            scores, gaps = scores[None], gaps[None]
        return strengths, np.atleast_1d(getattr(model, "l1_ratio", 1.0)), np.moveaxis(scores, 2, 0), np.moveaxis(gaps, 2, 0)
    if hasattr(model, "Cs_"):
        return np.tile(1.0 / model.Cs_, (len(model.l1_ratios_), 1)), model.l1_ratios_, model.scores_, model.gap_path_
    if hasattr(model, "alphas_"):
        return model.alphas_, getattr(model, "l1_ratios_", [None]), model.scores_, model.gap_path_
    return np.atleast_2d(model.alphas), [None], model.scores_[:, None], model.gap_path_[:, None]


@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize(("model", "single", "metric"), AFRESH, ids=lambda v: repr(v) if hasattr(v, "fit") else "")
def test_scores_are_those_of_fits_to_rows_that_were_cut_out(model, single, metric, storage):
    is_classifier = hasattr(model, "class_weight")
    X, y, s = classes(3) if is_classifier else regression()
    of_class = np.ones(len(y))
    if getattr(model, "class_weight", None) == "balanced":
        mass = {c: s[y == c].sum() for c in "abc"}
        of_class = np.array([s.sum() / (3.0 * mass[c]) for c in y])
    model = clone(model).set_params(cv=FOLDS).fit(sp.csr_array(X) if storage == "sparse" else X, y, sample_weight=s)
    strengths, ratios, scores, gaps = grids(model)
    assert np.all(gaps <= 1e-10)
    for f, (train, test) in enumerate(FOLDS.split(X)):
        for r, ratio in enumerate(ratios):
            for j, strength in enumerate(strengths[r]):
                afresh = single(strength, ratio).fit(X[train], y[train], sample_weight=(s * of_class)[train])
                weights = {} if metric == "neg_max_error" else {"sample_weight": s[test]}
                rows = test[s[test] > 0.0] if metric == "neg_max_error" else test
                expected = get_scorer(metric)(afresh, X[rows], y[rows], **weights)
                assert scores[f, r, j] == pytest.approx(expected, rel=1e-5, abs=1e-7)
    chosen = single(1.0 / model.C_ if hasattr(model, "C_") else model.alpha_, getattr(model, "l1_ratio_", None))
    chosen.fit(X, y, sample_weight=s * of_class)
    np.testing.assert_allclose(model.coef_, chosen.coef_, atol=1e-4)
    assert model.status_ is dg.Status.CERTIFIED
    assert model.primal_ == pytest.approx(chosen.primal_, rel=1e-8)


def test_a_fold_is_scored_by_the_loss_unless_a_scorer_is_given():
    X, y, s = regression()
    model = LinearRegressorCV("quantile", "l1", alphas=[0.1, 0.01], cv=FOLDS).fit(X, y, sample_weight=s)
    for f, (train, test) in enumerate(FOLDS.split(X)):
        afresh = LinearRegressor(dg.Quantile(0.5), "l1", alpha=0.1).fit(X[train], y[train], sample_weight=s[train])
        loss = np.average(0.5 * np.abs(y[test] - afresh.predict(X[test])), weights=s[test])
        assert model.scores_[f, 0, 0] == pytest.approx(-loss, rel=1e-3)
    X, y, s = classes(3)
    for loss in ("softmax", "logistic"):
        model = LinearClassifierCV(loss, alphas=[0.1], cv=FOLDS).fit(X, y, sample_weight=s)
        for f, (train, test) in enumerate(FOLDS.split(X)):
            afresh = LinearClassifier(loss, alpha=0.1).fit(X[train], y[train], sample_weight=s[train])
            if loss == "softmax":
                expected = log_loss(y[test], afresh.predict_proba(X[test]), sample_weight=s[test])
            else:
                signs = np.where(y[test][:, None] == afresh.classes_, 1.0, -1.0)
                each = np.logaddexp(0.0, -signs * afresh.decision_function(X[test])).mean(axis=1)
                expected = np.average(each, weights=s[test])
            assert model.scores_[f, 0, 0] == pytest.approx(-expected, rel=1e-4)


EXACT = {"tol": 1e-12, "max_iter": 10**5}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ratio", [None, 0.5, [0.2, 0.7, 1.0]])
def test_lasso_and_elastic_net_answer_as_scikit_learn(ratio, weighted):
    X, y, s = regression(1)
    s = s if weighted else None
    common = {"alphas": 20, "cv": 4} | ({} if ratio is None else {"l1_ratio": ratio})
    ours = (LassoCV if ratio is None else ElasticNetCV)(**common, tol=1e-10).fit(X, y, sample_weight=s)
    theirs = (linear_model.LassoCV if ratio is None else linear_model.ElasticNetCV)(**common, **EXACT).fit(X, y, sample_weight=s)
    for name in ("alpha_", "alphas_", "mse_path_", "coef_", "intercept_", *([] if ratio is None else ["l1_ratio_"])):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-6, atol=1e-6, err_msg=name)
    assert ours.dual_gap_ == ours.duality_gap_
    assert hasattr(ours, "l1_ratio_") == (ratio is not None)


@pytest.mark.parametrize("options", [{}, {"alpha_per_target": True}, {"cv": 3}, {"scoring": "r2"}, {"fit_intercept": False}], ids=str)
@pytest.mark.parametrize("shape", [(90, 7), (8, 30)])
def test_ridge_answers_as_scikit_learn(options, shape):
    X, y, _ = regression(2, *shape, targets=3)
    for targets in (y, y[:, 0]):
        ours = RidgeCV(alphas=[0.1, 10.0, 1.0], tol=1e-13, **options).fit(X, targets)
        theirs = linear_model.RidgeCV(alphas=[0.1, 10.0, 1.0], **options).fit(X, targets)
        for name in ("alpha_", "best_score_", "coef_", "intercept_"):
            np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-6, err_msg=name)
    if "cv" not in options:
        for model in (ours, theirs):
            model.set_params(store_cv_results=True).fit(X, y)
        np.testing.assert_allclose(ours.cv_results_, theirs.cv_results_, rtol=1e-7)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("ratios", [None, [0.0, 1.0]])
def test_logistic_regression_answers_as_scikit_learn(k, ratios):
    X, y, s = classes(k)
    # with weights, or with a strong penalty, saga does not find the best intercept
    common = {"Cs": [1.0, 0.01, 0.1] if ratios is None else [1.0, 0.1], "cv": 3, "scoring": "neg_log_loss"}
    s = s if ratios is None else None
    how = {"solver": "lbfgs"} if ratios is None else {"solver": "saga"}
    for legacy in (False, True):
        ours = LogisticRegressionCV(**common, l1_ratios=ratios, use_legacy_attributes=legacy, tol=1e-11).fit(X, y, sample_weight=s)
        theirs = linear_model.LogisticRegressionCV(
            **common, l1_ratios=ratios, use_legacy_attributes=legacy, tol=1e-9, max_iter=10**5, random_state=0, **how
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs.fit(X, y, sample_weight=s)
        for name in ("C_", "Cs_", "scores_", "coefs_paths_", "coef_", "intercept_"):
            mine, other = getattr(ours, name), getattr(theirs, name)
            assert isinstance(mine, dict) == isinstance(other, dict)
            for key in other if isinstance(other, dict) else [...]:
                a, b = (mine[key], other[key]) if isinstance(other, dict) else (mine, other)
                np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3, err_msg=name)
        assert np.shape(ours.n_iter_) == np.shape(theirs.n_iter_)
        if ratios is not None:
            np.testing.assert_allclose(ours.l1_ratio_, theirs.l1_ratio_)
        assert ours.score(X, y) == pytest.approx(theirs.score(X, y), rel=1e-4)
        assert ours.score(X, y, sample_weight=s) == pytest.approx(theirs.score(X, y, sample_weight=s), rel=1e-4)


@pytest.mark.parametrize("storage", ["dense", "sparse", "float32"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("shape", [(25, 4), (12, 30), (10, 10)])
def test_leaving_out_rows_in_closed_form(shape, intercept, weighted, storage):
    X, y, s = regression(3, *shape, targets=2)
    factors = np.ones(shape[1]) if intercept else np.where(np.arange(shape[1]) == 1, 0.0, 0.5 + np.arange(shape[1]) % 3)
    weight = s + 0.5 if weighted else np.ones(len(s))
    alphas = np.array([0.3, 3.0])
    stored = {"dense": X, "sparse": sp.csr_array(X), "float32": X.astype(np.float32)}[storage]
    X = stored.toarray() if storage == "sparse" else stored.astype(np.float64)
    found = leave_one_out(stored, y, weight if weighted else None, factors, intercept, alphas)
    for i in range(len(y)):
        others = np.arange(len(y)) != i
        for j, alpha in enumerate(alphas):
            A = np.column_stack([X, np.ones(len(X))])[:, : shape[1] + intercept]
            B, root = A[others], np.sqrt(weight[others])[:, None]
            penalty = np.diag(np.append(factors, 0.0)[: shape[1] + intercept]) * alpha
            w = np.linalg.solve((root * B).T @ (root * B) + penalty, (root * B).T @ (root * y[others]))
            np.testing.assert_allclose(found[i, :, j], y[i] - A[i] @ w, rtol=1e-6, atol=1e-8)


def test_rows_that_are_left_out_one_by_one_and_weights():
    X, y, s = regression(4)
    model = RidgeCV(alphas=[0.1, 1.0, 10.0], store_cv_results=True).fit(X, y, sample_weight=s)
    there = s > 0.0
    errors = model.cv_results_[there]
    assert model.best_score_ == pytest.approx(np.max(-np.average(errors, axis=0, weights=s[there])))
    same = RidgeCV(alphas=[0.1, 1.0, 10.0]).fit(X[there], y[there], sample_weight=s[there])
    assert same.best_score_ == pytest.approx(model.best_score_, rel=1e-10)
    np.testing.assert_allclose(same.coef_, model.coef_, rtol=1e-8)
    cautious = RidgeCV(alphas=[0.1, 1.0, 10.0, 100.0], rule="1se").fit(X, y)
    assert cautious.alpha_ >= RidgeCV(alphas=[0.1, 1.0, 10.0, 100.0]).fit(X, y).alpha_
    X, y, s = classes(3)
    scored = RidgeClassifierCV(scoring="accuracy").fit(X, y, sample_weight=s)
    rows = np.flatnonzero(s > 0.0)
    alone = []
    for i in rows:
        others = rows[rows != i]
        alone.append(RidgeClassifier(alpha=scored.alpha_).fit(X[others], y[others], sample_weight=s[others]).predict(X[[i]])[0] == y[i])
    assert scored.best_score_ == pytest.approx(np.average(alone, weights=s[rows]))


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_the_rule_of_one_standard_error(data):
    """It is never weaker than the best, within a standard error of it, and no stronger strength is."""
    shape = data.draw(st.tuples(st.integers(1, 3), st.integers(1, 8), st.integers(1, 5)))
    scores = np.array(data.draw(st.lists(st.integers(-5, 5), min_size=math.prod(shape), max_size=math.prod(shape))), dtype=float).reshape(
        shape
    )
    if data.draw(st.booleans()):
        scores[:, data.draw(st.integers(0, shape[1] - 1)) :, 0] = np.nan
    strengths = np.tile(np.geomspace(1.0, 1e-3, shape[1]), (shape[0], 1))
    found = Found([None] * shape[0], strengths, scores, scores, scores, np.empty(shape, dtype=object), [])
    ratio, best = found.best()
    assert np.all(np.isnan(found.mean) | (found.mean <= found.mean[ratio, best])) or np.isnan(found.mean[ratio, best])
    same, cautious = found.one_standard_error()
    assert same == ratio
    assert cautious <= best
    if not np.isnan(found.mean[ratio, best]):
        least = found.mean[ratio, best] - found.standard_error[ratio, best]
        assert found.mean[ratio, cautious] >= least
        assert not np.any(found.mean[ratio, :cautious] >= least)
        error = np.std(scores[ratio, best], ddof=1) / np.sqrt(shape[2]) if shape[2] > 1 else 0.0
        assert found.standard_error[ratio, best] == pytest.approx(error)


def test_both_choices_are_kept():
    X, y, _ = regression(5)
    best, cautious = LassoCV(alphas=30).fit(X, y), LassoCV(alphas=30, rule="1se").fit(X, y)
    assert best.alpha_ == best.alpha_best_ == cautious.alpha_best_
    assert cautious.alpha_ == cautious.alpha_1se_ == best.alpha_1se_ > best.alpha_
    X, y, _ = classes(2)
    model = LogisticRegressionCV(rule="1se", scoring="neg_log_loss").fit(X, y)
    assert model.C_ == model.C_1se_ <= model.C_best_


def test_threads_give_what_one_gives_and_share_x():
    X, y, s = regression(6)
    one, two = (ElasticNetCV(l1_ratio=[0.5, 1.0], alphas=5, n_jobs=jobs).fit(X, y, sample_weight=s) for jobs in (None, 2))
    np.testing.assert_allclose(one.mse_path_, two.mse_path_, rtol=1e-9)
    np.testing.assert_allclose(one.coef_, two.coef_, atol=1e-9)


@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_x_is_not_copied(storage):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20000, 120))
    y = np.where(X[:, 0] + rng.standard_normal(20000) > 0.0, 1, 0)
    X = sp.csr_array(X) if storage == "sparse" else X
    size = X.data.nbytes
    model = LinearClassifierCV("logistic", alphas=[1.0, 0.5], cv=3, solver="prox_sdca", tol=1e-3)
    model.fit(X[:100], y[:100])
    tracemalloc.start()
    model.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.4 * size


def test_folds_by_groups_masks_and_repetition():
    X, y, _ = regression(7)
    groups = np.arange(len(y)) % 4
    by_groups = LassoCV(alphas=4, cv=GroupKFold(4)).fit(X, y, groups=groups)
    given_folds = LassoCV(alphas=4, cv=list(GroupKFold(4).split(X, y, groups))).fit(X, y)
    np.testing.assert_array_equal(by_groups.mse_path_, given_folds.mse_path_)
    masks = LassoCV(alphas=4, cv=[(groups != 0, groups == 0)]).fit(X, y)
    indices = LassoCV(alphas=4, cv=[(np.flatnonzero(groups), np.flatnonzero(groups == 0))]).fit(X, y)
    np.testing.assert_array_equal(masks.mse_path_, indices.mse_path_)
    drawn, rest = np.arange(60).repeat(2), np.arange(60, 90)
    twice = LassoCV(alphas=[0.1], cv=[(np.append(drawn, [0, 1, 2]), rest)]).fit(X, y)
    afresh = Lasso(alpha=0.1).fit(X[np.append(drawn, [0, 1, 2])], y[np.append(drawn, [0, 1, 2])])
    assert twice.mse_path_[0, 0] == pytest.approx(mean_squared_error(y[rest], afresh.predict(X[rest])), rel=1e-4)
    with pytest.raises(ValueError, match="fold 0 no row with a weight to score"):
        LassoCV(cv=[(np.arange(10), [])]).fit(X, y)
    with pytest.raises(ValueError, match="fold 0 no row with a weight to fit to"):
        LassoCV(cv=[(np.arange(10), np.arange(10, 20))]).fit(X, y, sample_weight=np.arange(90) >= 10)
    with pytest.raises(ValueError, match="at least one fold"):
        LassoCV(cv=[]).fit(X, y)
    with pytest.raises(ValueError, match="numbers of rows below 90"):
        LassoCV(cv=[([0, 1, 90], [2])]).fit(X, y)


@pytest.mark.parametrize(
    "model", [LogisticRegressionCV(Cs=3), LinearClassifierCV(alphas=3, scoring="neg_log_loss"), RidgeClassifierCV(cv=LeaveOneGroupOut())]
)
def test_a_fold_may_lack_a_class(model):
    X, y, _ = classes(3)
    groups = np.where(y == "c", 0, 1 + np.arange(len(y)) % 2)
    model = clone(model).set_params(cv=LeaveOneGroupOut()).fit(X, y, groups=groups)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert np.all(np.isfinite(model.scores_))
    if isinstance(model, LogisticRegressionCV):
        np.testing.assert_array_equal(model.scores_[0], 0.0)
        only = np.where(y == "c", 0, 1)
        two = LogisticRegressionCV(Cs=3, cv=LeaveOneGroupOut()).fit(X, y == "c", groups=only)
        np.testing.assert_array_equal(two.scores_, 0.0)
        without = LogisticRegressionCV(Cs=3, cv=LeaveOneGroupOut(), fit_intercept=False).fit(X, y, groups=groups)
        assert np.all(without.gap_path_ <= 1e-6)


def test_classes_whose_rows_weigh_nothing_are_not_there():
    X, y, _ = classes(3)
    s = np.where(y == "c", 0.0, 1.0)
    model = LogisticRegressionCV(Cs=3, cv=KFold(3)).fit(X, y, sample_weight=s)
    assert model.classes_.tolist() == ["a", "b"]
    kept = np.flatnonzero(y != "c")
    position = {row: k for k, row in enumerate(kept)}
    folds = [[[position[i] for i in part if i in position] for part in fold] for fold in KFold(3).split(X)]
    same = LogisticRegressionCV(Cs=3, cv=folds).fit(X[kept], y[kept])
    np.testing.assert_allclose(model.scores_, same.scores_)
    np.testing.assert_allclose(model.coef_, same.coef_, rtol=1e-4)
    with pytest.raises(ValueError, match="only one class: 'b'"):
        LogisticRegressionCV().fit(X, y, sample_weight=(y == "b").astype(float))


def test_scorers_see_estimators_and_rows():
    X, y, s = classes(3)
    seen = []

    def scoring(estimator, rows, labels):
        seen.append((estimator.predict_proba(rows).shape, rows.shape, estimator.classes_.tolist(), estimator.C))
        return float(np.mean(estimator.predict(rows) == labels))

    own = LogisticRegressionCV(Cs=[0.1, 1.0], cv=StratifiedKFold(3), scoring=scoring).fit(X, y)
    plain = LogisticRegressionCV(Cs=[0.1, 1.0], cv=StratifiedKFold(3)).fit(X, y)
    np.testing.assert_allclose(own.scores_, plain.scores_)
    assert len(seen) == 6
    assert {shape[1] for shape, *_ in seen} == {3}
    weighted = LogisticRegressionCV(Cs=[0.1], cv=FOLDS, scoring="roc_auc_ovr").fit(X, y, sample_weight=s)
    unweighted = LogisticRegressionCV(Cs=[0.1], cv=FOLDS, scoring="roc_auc_ovr").fit(X, y)
    assert not np.allclose(weighted.scores_, unweighted.scores_)


def test_metadata_is_routed():
    X, y, s = regression(8)
    groups = np.arange(len(y)) % 3
    with sklearn.config_context(enable_metadata_routing=True):
        model = LassoCV(alphas=3, cv=GroupKFold(3)).fit(X, y, groups=groups, sample_weight=s)
        scorer = get_scorer("neg_mean_squared_error").set_score_request(sample_weight=True)
        general = LinearRegressorCV(penalty="l1", alphas=model.alphas_, cv=GroupKFold(3), scoring=scorer)
        general.fit(X, y, groups=groups, sample_weight=s)
        np.testing.assert_allclose(-general.scores_[:, 0].T, model.mse_path_, rtol=1e-5)
        outer = cross_val_score(LassoCV(alphas=3, cv=GroupKFold(2)), X, y, cv=GroupKFold(3), params={"groups": groups})
        assert outer.shape == (3,)
        classifier = LogisticRegressionCV(Cs=[1.0], scoring=get_scorer("accuracy").set_score_request(sample_weight=True))
        high = y > 2.0
        classifier.fit(X, high, sample_weight=s)
        assert classifier.score(X, high, sample_weight=s) == pytest.approx(np.average(classifier.predict(X) == high, weights=s))
    with pytest.raises(ValueError, match=r"takes X, y, sample_weight and groups; \['clusters'\]"):
        LassoCV().fit(X, y, clusters=groups)


def test_limits_are_said_and_what_was_reached_is_chosen_from():
    X, y = make_classification(4000, 60, flip_y=0.2, random_state=0)
    with pytest.warns(ConvergenceWarning) as warned:
        model = LogisticRegressionCV(Cs=30, time_limit=0.0).fit(X, y)
    assert any("reached 0 of 30 strengths on all folds. Raise time_limit (now 0.0 s)" in str(w.message) for w in warned)
    assert all(w.filename == __file__ for w in warned)
    assert model.coef_.shape == (1, 60)
    with pytest.warns(ConvergenceWarning) as warned:
        model = LinearClassifierCV(alphas=[1e-3, 1e-4], solver="prox_sdca", max_iter=2).fit(X, y)
    assert any("at 10 of 10 points of the folds: the largest certified relative gap is" in str(w.message) for w in warned)
    assert any("Raise max_iter (now 2 passes" in str(w.message) for w in warned)
    assert np.all(np.isfinite(model.gap_path_))
    assert model.gap_path_.max() > 1e-6


def test_ctrl_c_ends_it():
    point = Point(np.zeros(2), 0.0, np.zeros(0), 1.0, 1.0, 1.0, dg.Status.INTERRUPTED)

    class Interrupted:
        def solutions(self, strengths):
            yield point

    with pytest.raises(KeyboardInterrupt):
        stretch([Interrupted()], np.ones(3), lambda _: 0.0, lambda _: None, keep=False, tol=1e-6)


def test_targets_share_a_strength():
    X, y, s = regression(9, targets=2)
    model = LinearRegressorCV(alphas=4).fit(X, y, sample_weight=s)
    assert model.coef_.shape == (2, 7)
    assert isinstance(model.alpha_, float)
    lasso = LassoCV(alphas=4).fit(X, y)
    assert lasso.mse_path_.shape == (4, 5)
    singles = [LassoCV(alphas=lasso.alphas_).fit(X, y[:, t]) for t in range(2)]
    np.testing.assert_allclose(lasso.mse_path_, np.mean([m.mse_path_ for m in singles], axis=0), rtol=1e-6)


def test_models_pickle_and_predict():
    X, y, _ = classes(3)
    model = LogisticRegressionCV(Cs=3).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(again.decision_bounds(X), model.decision_bounds(X))
    plain = LogisticRegression(C=model.C_).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X), atol=1e-3)
    assert model.relative_gap_ <= 1e-6


@pytest.mark.parametrize(
    ("model", "match"),
    [
        (LassoCV(rule="min"), "'rule' parameter of LassoCV must be"),
        (LassoCV(alphas=[1.0, -1.0]), r"alphas\[1\] == -1.0, must be >= 0"),
        (ElasticNetCV(l1_ratio=[0.5, 2.0]), "l1_ratio must be between 0 and 1"),
        (LinearRegressorCV(scoring="precise"), "'scoring' parameter"),
        (LinearRegressorCV(penalty=None), "'penalty' parameter"),
        (RidgeCV(positive=True), "needs alphas above 0 and positive=False, got positive=True"),
        (RidgeCV(alphas=[0.0]), "needs alphas above 0"),
        (RidgeCV(cv=3, store_cv_results=True), "store_cv_results=True needs cv=None"),
        (RidgeCV(scoring="r2", rule="1se"), "rule='1se' needs the errors of single rows"),
        (LogisticRegressionCV(Cs=[0.0]), "Cs must be a number of values, or positive ones"),
        (LogisticRegressionCV(penalty="elasticnet"), "l1_ratios must be specified"),
        (LogisticRegressionCV(refit=False), "refit must be True"),
    ],
    ids=repr,
)
def test_bad_parameters_are_named(model, match):
    X, y, _ = regression()
    with pytest.raises(ValueError, match=match):
        model.fit(X, y > 2.0 if isinstance(model, LogisticRegressionCV) else y)
