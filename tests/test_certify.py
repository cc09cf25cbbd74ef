"""Certificates for fitted models: what scikit-learn minimizes by its definition, proofs against high-precision optima, what is refused."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import __version__ as sklearn_version
from sklearn import linear_model, svm
from sklearn.base import is_regressor
from sklearn.datasets import make_classification
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.fixes import parse_version

import dualgap as dg
import reference
from cases import Case
from dualgap import estimators

NEW = parse_version(sklearn_version) >= parse_version("1.8")


def quietly(fit):
    """What a fit returns, without the warnings of a library that is not ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit()


def regression(targets=None, n=60, d=5):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) + 0.5
    shape = (d, targets) if targets else d
    y = X @ rng.standard_normal(shape) + rng.standard_t(2, size=(n, targets) if targets else n) + 2.0
    return X, y, rng.integers(0, 4, n).astype(float)


def classes(k, n=90, d=5):
    X, y = make_classification(n, d, n_informative=4, n_redundant=1, n_classes=k, flip_y=0.2, random_state=0)
    return X, np.array(["a", "b", "c", "d"])[y], np.random.default_rng(0).integers(0, 4, n).astype(float)


# What each class minimizes, from the documentation of its library. z are scores, one column for each problem, r residuals, m margins.


def norm1(model):
    return np.sum(np.abs(model.coef_))


def norm2(model):
    return np.sum(np.asarray(model.coef_) ** 2)


def mixed(model, ratio):
    return ratio * norm1(model) + 0.5 * (1.0 - ratio) * norm2(model)


def residuals(model, X, y):
    return y - X @ np.ravel(model.coef_) - np.ravel(model.intercept_)[0]


def margins(model, X, y):
    z = X @ np.atleast_2d(model.coef_).T + np.ravel(model.intercept_)
    positive = model.classes_[1:] if z.shape[1] == 1 else model.classes_
    return np.where(y[:, None] == positive, 1.0, -1.0) * z


def multinomial(model, X, y):
    z = X @ model.coef_.T + model.intercept_
    return np.logaddexp.reduce(z, axis=1) - z[np.arange(len(y)), np.searchsorted(model.classes_, y)]


def crammer_singer(model, X, y):
    z = X @ model.coef_.T + model.intercept_
    rows, own = np.arange(len(y)), np.searchsorted(model.classes_, y)
    wrong = z - z[rows, own][:, None] + 1.0
    wrong[rows, own] = 0.0
    return wrong.max(axis=1)


def logistic(m):
    return np.logaddexp(0.0, -m)


def hinge(m):
    return np.maximum(0.0, 1.0 - m)


def insensitive(model, r):
    return np.maximum(0.0, np.abs(r) - model.epsilon)


def huber(r, delta):
    return np.where(np.abs(r) <= delta, 0.5 * r**2, delta * np.abs(r) - 0.5 * delta**2)


def column(model):
    """The penalized coefficient that an intercept is."""
    return np.ravel(model.intercept_) / model.intercept_scaling


REGRESSORS = [
    (linear_model.LinearRegression(), lambda m, r, s: s @ r**2),
    (linear_model.LinearRegression(positive=True), lambda m, r, s: s @ r**2),
    (linear_model.Ridge(2.5), lambda m, r, s: s @ r**2 + 2.5 * norm2(m)),
    (linear_model.Ridge(2.5, fit_intercept=False), lambda m, r, s: s @ r**2 + 2.5 * norm2(m)),
    (linear_model.Ridge(0.0), lambda m, r, s: s @ r**2),
    (linear_model.RidgeCV([0.1, 1.0, 10.0]), lambda m, r, s: s @ r**2 + m.alpha_ * norm2(m)),
    (linear_model.Lasso(0.1, tol=1e-13), lambda m, r, s: s @ r**2 / (2.0 * s.sum()) + 0.1 * norm1(m)),
    (linear_model.Lasso(0.1, positive=True, tol=1e-13), lambda m, r, s: s @ r**2 / (2.0 * s.sum()) + 0.1 * norm1(m)),
    (linear_model.ElasticNet(0.3, tol=1e-13), lambda m, r, s: s @ r**2 / (2.0 * s.sum()) + 0.3 * mixed(m, 0.5)),
    (
        linear_model.ElasticNetCV(l1_ratio=[0.3, 0.7], tol=1e-12),
        lambda m, r, s: s @ r**2 / (2.0 * s.sum()) + m.alpha_ * mixed(m, m.l1_ratio_),
    ),
    (
        linear_model.QuantileRegressor(quantile=0.3, alpha=0.05),
        lambda m, r, s: s @ np.maximum(0.3 * r, -0.7 * r) / s.sum() + 0.05 * norm1(m),
    ),
    (
        linear_model.HuberRegressor(alpha=0.5, tol=1e-10, max_iter=10**4),
        lambda m, r, s: s @ (m.scale_ + 2.0 * m.scale_ * huber(r / m.scale_, m.epsilon)) + 0.5 * norm2(m),
    ),
    (
        svm.LinearSVR(C=0.7, epsilon=0.2, intercept_scaling=3.0, tol=1e-9, max_iter=10**6),
        lambda m, r, s: 0.7 * s @ insensitive(m, r) + 0.5 * (norm2(m) + column(m) @ column(m)),
    ),
    (
        svm.LinearSVR(C=0.7, epsilon=0.2, loss="squared_epsilon_insensitive", dual=False, tol=1e-9),
        lambda m, r, s: 0.7 * s @ insensitive(m, r) ** 2 + 0.5 * (norm2(m) + column(m) @ column(m)),
    ),
    (svm.SVR(kernel="linear", C=0.5, tol=1e-9), lambda m, r, s: 0.5 * s @ insensitive(m, r) + 0.5 * norm2(m)),
    (
        linear_model.SGDRegressor(alpha=0.1, tol=None, max_iter=2000, random_state=0),
        lambda m, r, s: s @ r**2 / (2.0 * len(s)) + 0.05 * norm2(m),
    ),
    (
        linear_model.SGDRegressor("huber", alpha=0.1, epsilon=0.3, tol=None, max_iter=2000, random_state=0),
        lambda m, r, s: s @ huber(r, 0.3) / len(s) + 0.05 * norm2(m),
    ),
    (
        linear_model.SGDRegressor("squared_epsilon_insensitive", penalty="elasticnet", alpha=0.1, tol=None, max_iter=2000, random_state=0),
        lambda m, r, s: s @ insensitive(m, r) ** 2 / len(s) + 0.1 * mixed(m, 0.15),
    ),
]
INACCURATE = (linear_model.SGDRegressor, linear_model.SGDClassifier, svm.SVC, svm.SVR)


def check_exact(certificate, value, accuracy):
    """The certificate is for the objective whose value is given, and the model, which minimizes it, is proved to."""
    assert certificate.primal * certificate.unit == pytest.approx(value, rel=1e-12)
    assert certificate.relative_gap <= accuracy
    assert certificate.at_least <= certificate.gap


@pytest.mark.parametrize(("model", "theirs"), REGRESSORS, ids=lambda v: repr(v) if hasattr(v, "fit") else "")
def test_regressors_of_scikit_learn(model, theirs):
    X, y, s = regression()
    quietly(lambda: model.fit(X, y, sample_weight=s))
    before = pickle.dumps(model)
    certificate = dg.certify(model, X, y, sample_weight=s)
    check_exact(certificate, theirs(model, residuals(model, X, y), s), 1e-4 if isinstance(model, INACCURATE) else 1e-7)
    assert pickle.dumps(model) == before


NET = {"l1_ratio": 0.4} if NEW else {"penalty": "elasticnet", "l1_ratio": 0.4}
LASSO = {"l1_ratio": 1.0} if NEW else {"penalty": "l1"}
CLASSIFIERS = [
    (
        linear_model.LogisticRegression(C=0.7, tol=1e-10, max_iter=10**4),
        lambda m, X, y, s: 0.7 * s @ (multinomial(m, X, y) if len(m.classes_) > 2 else logistic(margins(m, X, y))[:, 0]) + 0.5 * norm2(m),
    ),
    (
        linear_model.LogisticRegression(C=0.2, solver="saga", tol=1e-9, max_iter=10**5, **NET),
        lambda m, X, y, s: 0.2 * s @ (multinomial(m, X, y) if len(m.classes_) > 2 else logistic(margins(m, X, y))[:, 0]) + mixed(m, 0.4),
    ),
    (
        linear_model.LogisticRegression(penalty=None, tol=1e-10, max_iter=10**4) if not NEW else linear_model.LogisticRegression(C=np.inf),
        lambda m, X, y, s: s @ (multinomial(m, X, y) if len(m.classes_) > 2 else logistic(margins(m, X, y))[:, 0]),
    ),
    (linear_model.RidgeClassifier(3.0), lambda m, X, y, s: np.sum(s @ (1.0 - margins(m, X, y)) ** 2) + 3.0 * norm2(m)),
    (
        svm.LinearSVC(C=0.3, dual=False, tol=1e-9, intercept_scaling=2.0),
        lambda m, X, y, s: 0.3 * np.sum(s @ hinge(margins(m, X, y)) ** 2) + 0.5 * (norm2(m) + column(m) @ column(m)),
    ),
    (
        svm.LinearSVC(C=0.3, loss="hinge", tol=1e-9, max_iter=10**6),
        lambda m, X, y, s: 0.3 * np.sum(s @ hinge(margins(m, X, y))) + 0.5 * (norm2(m) + column(m) @ column(m)),
    ),
    (
        svm.LinearSVC(C=0.3, penalty="l1", dual=False, tol=1e-9, max_iter=10**6),
        lambda m, X, y, s: 0.3 * np.sum(s @ hinge(margins(m, X, y)) ** 2) + norm1(m) + np.abs(column(m)).sum(),
    ),
    (
        linear_model.SGDClassifier("modified_huber", alpha=0.3, tol=None, max_iter=3000, random_state=0),
        lambda m, X, y, s: (
            np.sum(s @ np.where(margins(m, X, y) >= -1.0, hinge(margins(m, X, y)) ** 2, -4.0 * margins(m, X, y))) / len(s) + 0.15 * norm2(m)
        ),
    ),
]


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize(("model", "theirs"), CLASSIFIERS, ids=lambda v: repr(v) if hasattr(v, "fit") else "")
def test_classifiers_of_scikit_learn(model, theirs, k):
    X, y, s = classes(k)
    quietly(lambda: model.fit(X, y, sample_weight=s))
    certificate = dg.certify(model, X, y, sample_weight=s)
    check_exact(certificate, theirs(model, X, y, s), 1e-3 if isinstance(model, INACCURATE) else 1e-6)


@pytest.mark.parametrize("k", [2, 4])
def test_all_classes_at_once(k):
    X, y, _ = classes(k)
    model = quietly(lambda: svm.LinearSVC(C=0.05, multi_class="crammer_singer", tol=1e-9, max_iter=10**6).fit(X, y))
    certificate = dg.certify(model, X, y)
    if k == 2:
        value = 0.05 * np.sum(hinge(margins(model, X, y))) + 0.25 * (norm2(model) + column(model) @ column(model))
    else:
        value = 0.05 * np.sum(crammer_singer(model, X, y)) + 0.5 * (norm2(model) + column(model) @ column(model))
    check_exact(certificate, value, 1e-4)


def weighted_as(model, X, y, s, k):
    """The objective of a model of classes with the weights a: 0.3, b: 2; liblinear weights, in each problem, the class itself alone."""
    of_row = np.where(y == "a", 0.3, np.where(y == "b", 2.0, 1.0)) * s
    if isinstance(model, svm.LinearSVC):
        m = margins(model, X, y)
        weight = of_row[:, None] if k == 2 else np.where(m * 0 + (y[:, None] == model.classes_), of_row[:, None], s[:, None])
        return np.sum(weight * hinge(m) ** 2) + 0.5 * (norm2(model) + column(model) @ column(model))
    if isinstance(model, linear_model.RidgeClassifier):
        return np.sum(of_row @ (1.0 - margins(model, X, y)) ** 2) + norm2(model)
    return of_row @ (multinomial(model, X, y) if k > 2 else logistic(margins(model, X, y))[:, 0]) + 0.5 * norm2(model)


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("weights", [{"a": 0.3, "b": 2.0}, "balanced"], ids=str)
@pytest.mark.parametrize(
    "model",
    [
        linear_model.LogisticRegression(tol=1e-10, max_iter=10**4),
        linear_model.RidgeClassifier(),
        svm.LinearSVC(dual=False, tol=1e-9),
        svm.SVC(kernel="linear", C=0.1, tol=1e-6),
        linear_model.LogisticRegression(solver="liblinear", tol=1e-9, intercept_scaling=3.0),
        linear_model.LogisticRegressionCV(Cs=3, tol=1e-9, **({"use_legacy_attributes": False, "scoring": "accuracy"} if NEW else {})),
    ],
    ids=repr,
)
def test_weights_of_classes(model, weights, k):
    X, y, s = classes(k)
    if k > 2 and (isinstance(model, svm.SVC) or getattr(model, "solver", "") == "liblinear"):
        pytest.skip("for two classes only")
    quietly(lambda: model.set_params(class_weight=weights).fit(X, y, sample_weight=s))
    certificate = dg.certify(model, X, y, sample_weight=s)
    assert certificate.relative_gap <= (1e-5 if isinstance(model, svm.SVC) else 1e-8)
    if isinstance(weights, dict) and written_out(model):
        primal, unit = certificate.primal, certificate.unit
        if np.isnan(unit):
            primal, unit = weighted_sum(certificate, y, s), 2.0
        assert primal * unit == pytest.approx(weighted_as(model, X, y, s, k), rel=1e-12)


def written_out(model):
    """Whether the formula of the objective is written out here."""
    return isinstance(model, linear_model.RidgeClassifier | svm.LinearSVC) or (
        type(model) is linear_model.LogisticRegression and model.solver == "lbfgs"
    )


def weighted_sum(certificate, y, s):
    """The sum of the objectives of the problems, each times its sum of weights."""
    of_class = {"a": 0.3, "b": 2.0}
    masses = [np.sum(np.where(y == c, of_class.get(c, 1.0), 1.0) * s) for c in np.unique(y)]
    return sum(proof.primal * mass for proof, mass in zip(certificate.proofs, masses, strict=True))


def test_several_targets():
    X, y, s = regression(targets=3)
    for model in (linear_model.Ridge([0.1, 1.0, 10.0]), linear_model.Lasso(0.1, tol=1e-13), linear_model.LinearRegression()):
        certificate = dg.certify(model.fit(X, y, sample_weight=s), X, y, sample_weight=s)
        assert len(certificate.proofs) == 3
        assert certificate.relative_gap < 1e-10
        low, high = certificate.decision_bounds(X)
        assert low.shape == y.shape
        assert np.all((low <= model.predict(X)) & (model.predict(X) <= high))


# Proofs.


@st.composite
def claims(draw):
    """A small problem, and coefficients that are more or less wrong."""
    n, d = draw(st.integers(3, 10)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    X = rng.standard_normal((n, d)) * 10.0 ** rng.integers(-2, 3, d)
    strength = 10.0 ** draw(st.integers(-4, 1))
    passes = draw(st.sampled_from([0, 1, 30]))
    return X, rng, strength, draw(st.booleans()), passes, 10.0 ** draw(st.integers(-6, 1))


PROBLEMS = [
    (dg.Squared(), dg.L2),
    (dg.Logistic(), dg.L2),
    (dg.Hinge(), dg.L2),
    (dg.Squared(), dg.L1),
    (dg.Logistic(), lambda lam: dg.ElasticNet(0.1 * lam, lam)),
    (dg.Softmax(), dg.L2),
]


@pytest.mark.skipif(not reference.EXTENDED, reason="the long double is a double here")
@pytest.mark.parametrize(("loss", "penalty"), PROBLEMS, ids=lambda v: type(v).__name__ if hasattr(v, "_fields") else "")
@settings(max_examples=25, deadline=None, derandomize=True)
@given(claim=claims())
def test_what_is_proved_is_true(loss, penalty, claim):
    X, rng, strength, intercept, passes, error = claim
    n, d = X.shape
    joint = getattr(loss, "vector", False)
    if joint:
        y = np.arange(n) % 3
    else:
        y = X @ rng.standard_normal(d) + rng.standard_normal(n)
        y = y if loss.labels == "real" else np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    case = Case(X, y, loss, penalty(strength), None, intercept)
    best = case.reference
    if best.error > 1e-12:
        return
    w_best, b_best = best.w.astype(float), best.b.astype(float)
    w = w_best + error * rng.standard_normal(w_best.shape)
    b = b_best + error * rng.standard_normal(np.shape(b_best)) if intercept else None
    model = (w, b) if intercept else w
    certificate = dg.certify(model, X, y, loss=loss, penalty=penalty(strength), max_passes=passes)
    excess = float(case.objective(w, 0.0 if b is None else b) - best.value)
    slack = 1e-13 * certificate.null + float(best.scale) * best.error
    assert certificate.at_least - slack <= excess <= certificate.gap + slack
    if passes == 30 and loss.smoothness > 0.0 and excess > 1e-6 * certificate.null:
        assert certificate.gap <= 1.1 * excess
    reach = np.sqrt(2.0 * slack / strength)
    assert np.linalg.norm(w - w_best) <= certificate.distance + reach
    new = np.vstack([X, rng.standard_normal((5, d)), np.zeros((1, d))])
    low, high = certificate.decision_bounds(new)
    z = new @ w_best + b_best
    if joint and intercept:  # intercepts are known up to a constant
        z += np.mean(b) - np.mean(b_best)
    size = reach * (1.0 + np.linalg.norm(new, axis=1)) * (1.0 + 1e-9)
    size = size[:, None] if joint else size
    known = np.isfinite(high - low)
    assert np.all((low - size <= z) & (z <= high + size) | ~known)
    if joint or loss.labels == "sign":
        theirs = np.argmax(new @ w + (0.0 if b is None else b), axis=1) if joint else new @ w + (b or 0.0) > 0.0
        optimal = np.argmax(z, axis=1) if joint else z > 0.0
        clear = np.partition(z, -2, axis=1)[:, -1] - np.partition(z, -2, axis=1)[:, -2] if joint else np.abs(z)
        decided = certificate.decided(new)
        assert np.all((theirs == optimal)[decided & (clear > np.ravel(size) * 2.0)])


def test_more_effort_proves_more():
    X, y = make_classification(2000, 20, flip_y=0.2, random_state=1)
    model = linear_model.LogisticRegression(C=10.0, tol=1e-3).fit(X, y)
    gaps = [dg.certify(model, X, y, max_passes=passes).gap for passes in (0, 100)]
    certificate = dg.certify(model, X, y)
    assert gaps[1] < gaps[0]
    assert 0.98 * certificate.gap < certificate.at_least
    assert dg.certify(model, X, y, max_passes=0).passes == 3
    assert dg.certify(model, X, y, time_limit=0.0).gap == gaps[0]
    loose = dg.certify(model, X, y, tol=1e-2)
    assert loose.relative_gap <= 1e-2
    assert loose.passes <= certificate.passes


def test_a_model_that_failed_to_converge():
    X, y = make_classification(500, 20, flip_y=0.1, random_state=0)
    X *= np.logspace(-3, 3, 20)
    exact = estimators.LogisticRegression(tol=1e-10).fit(X, y)
    model = quietly(lambda: linear_model.LogisticRegression(max_iter=20).fit(X, y))
    certificate = dg.certify(model, X, y)
    rough = np.mean(logistic(margins(model, X, y))) + norm2(model) / (2.0 * len(y))
    assert certificate.at_least <= rough - exact.primal_ + 1e-12
    assert rough - exact.primal_ <= certificate.gap
    assert certificate.gap <= 1.02 * certificate.at_least
    text = str(certificate)
    for number in (
        f"{certificate.primal:.10g}",
        f"{certificate.gap:.2g}",
        f"{certificate.at_least:.2g}",
        f"{certificate.passes:.0f} passes",
    ):
        assert number in text
    assert "LogisticRegression of sklearn: Logistic() + L2" in text


# What models are accepted as.


def test_at_the_end_of_a_pipeline_and_the_best_of_a_search():
    X, y, _ = classes(3)
    model = make_pipeline(StandardScaler(), linear_model.LogisticRegression(tol=1e-10, max_iter=1000)).fit(X, y)
    certificate = dg.certify(model, X, y)
    assert certificate.relative_gap < 1e-10
    assert np.all(certificate.decided(X))
    low, high = certificate.decision_bounds(X)
    assert np.all((low <= model.decision_function(X)) & (model.decision_function(X) <= high))
    search = GridSearchCV(make_pipeline(StandardScaler(), svm.LinearSVC(tol=1e-9, dual=False)), {"linearsvc__C": [0.1, 1.0]}).fit(X, y)
    assert dg.certify(search, X, y).relative_gap < 1e-10
    again = pickle.loads(pickle.dumps(certificate))
    np.testing.assert_array_equal(again.decision_bounds(X), (low, high))
    texts = ["good day", "bad day", "good night", "bad luck", "good luck", "bad night"]
    words = make_pipeline(CountVectorizer(), linear_model.LogisticRegression(tol=1e-10)).fit(texts, [1, 0, 1, 0, 1, 0])
    assert dg.certify(words, texts, [1, 0, 1, 0, 1, 0]).relative_gap < 1e-8


def test_all_kinds_of_input():
    X, y, _ = classes(2)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("vwxyz"))
    model = linear_model.LogisticRegression(tol=1e-10).fit(frame, y)
    expected = dg.certify(model, frame, pandas.Series(y)).gap
    with pytest.raises(ValueError, match="feature names"):
        dg.certify(model, frame[list("zyxwv")], y)
    model = linear_model.LogisticRegression(tol=1e-10).fit(X, y)
    for data in (X, X.tolist(), np.asfortranarray(X), sp.csr_array(X), sp.csc_matrix(X)):
        assert dg.certify(model, data, list(y)).gap == pytest.approx(expected, abs=1e-14)
    assert dg.certify(model, X.astype(np.float32), y).relative_gap < 1e-6
    sparse = linear_model.LogisticRegression(tol=1e-10).fit(X, y).sparsify()
    assert dg.certify(sparse, X, y).gap == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize(
    "model",
    [
        estimators.Ridge(),
        estimators.Lasso(alpha=0.1),
        estimators.LinearRegressor("huber", "elasticnet", alpha=0.1, positive=True, factors=[1.0, 2.0, 0.5, 0.0, 1.0]),
        estimators.QuantileRegressor(alpha=0.05),
        estimators.HuberRegressor(alpha=0.5),
        estimators.LogisticRegression(class_weight="balanced"),
        estimators.LinearSVC(class_weight={"a": 3.0}),
        estimators.LinearSVC(multi_class="crammer_singer"),
        estimators.RidgeClassifier(),
        estimators.LinearClassifier("softmax", "elasticnet", alpha=0.01),
        estimators.LassoCV(alphas=5),
        estimators.RidgeClassifierCV([0.1, 1.0]),
    ],
    ids=repr,
)
@pytest.mark.parametrize("k", [2, 3])
def test_our_own_models(model, k):
    X, y, s = regression() if is_regressor(model) else classes(k)
    model.fit(X, y, sample_weight=s)
    certificate = dg.certify(model, X, y, sample_weight=s, max_passes=300)
    assert certificate.primal == pytest.approx(np.sum(model.primal_), rel=1e-12)
    assert certificate.relative_gap <= 1e-5


def test_saved_models(tmp_path):
    X, y, _ = classes(3)
    labels = np.searchsorted(np.unique(y), y)
    s = dg.solve(X, labels, loss=dg.Softmax(), penalty=dg.L2(0.1), intercept=True, tol=1e-12)
    dg.Model.of(s, with_intercept=True, labels=("a", "b", "c")).save(tmp_path / "m")
    assert dg.certify(dg.Model.load(tmp_path / "m"), X, y).relative_gap < 1e-11
    with pytest.raises(ValueError, match="loss and penalty must be given: the model was fitted with own ones"):
        dg.certify(dg.Model(s.w, s.intercept, None, None, True), X, labels)


def test_any_object_with_coefficients():
    class Fitted:
        coef_, intercept_ = np.array([1.0, 2.0]), 0.5

    X = np.random.default_rng(0).standard_normal((20, 2))
    y = X @ [1.0, 2.0] + 0.5
    assert dg.certify(Fitted(), X, y, loss=dg.Squared(), penalty=dg.L2(1e-9)).relative_gap < 1e-8
    assert dg.certify(([1.0, 2.0], 0.5), X, y, loss=dg.Squared(), penalty=dg.L2(1e-9)).relative_gap < 1e-8
    ridge = linear_model.Ridge(3.0).fit(X, y)
    assert dg.certify(ridge, X, y).relative_gap < 1e-12
    assert dg.certify(ridge, X, y, penalty=dg.L2(3.0 / 20)).relative_gap < 1e-12
    assert dg.certify(ridge, X, y, penalty=dg.L2(1e-3)).relative_gap > 1e-3
    assert dg.certify(ridge, X, y, loss=dg.Huber(100.0)).relative_gap < 1e-12


X, Y, _ = regression()
LABELS = np.where(np.median(Y) < Y, "b", "a")


@pytest.mark.parametrize(
    ("model", "match"),
    [
        (lambda: linear_model.PoissonRegressor().fit(X, np.abs(Y)), "PoissonRegressor of sklearn cannot be certified: its loss is none of"),
        (lambda: linear_model.MultiTaskLasso().fit(X, np.c_[Y, Y]), "MultiTaskLasso of sklearn cannot be certified: its penalty ties"),
        (lambda: linear_model.Perceptron().fit(X, LABELS), "Perceptron of sklearn cannot be certified: it does not minimize"),
        (lambda: svm.SVC().fit(X, LABELS), "SVC must have a linear kernel to be certified, got kernel='rbf'"),
        (
            lambda: linear_model.SGDClassifier(early_stopping=True, max_iter=5).fit(X, LABELS),
            "with early_stopping: rows that are not known",
        ),
        (lambda: object(), "model must be a fitted linear model of one of sklearn, .* got object of builtins"),
        (lambda: [1.0] * 5, "loss and penalty must be given for coefficients"),
        (lambda: (1.0, 2.0, 3.0), "loss and penalty must be given for coefficients"),
        (lambda: linear_model.LogisticRegression(), "not fitted|has no attribute"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_certified(model, match):
    with pytest.raises((TypeError, ValueError, AttributeError), match=match):
        dg.certify(quietly(model), X, LABELS)


@pytest.mark.parametrize(
    ("args", "options", "match"),
    [
        ((np.ones(4), X, Y), {}, r"must have 5 finite coefficients .*, got shape \(1, 4\)"),
        ((np.ones((5, 2)), X, Y), {}, r"coefficients must have the shape \(d,\) for Squared, got \(5, 2\)"),
        ((np.full(5, np.nan), X, Y), {}, "finite coefficients"),
        ((np.ones(5), X, Y[:-1]), {}, "y must have one target for each of the 60 rows of X, got 59"),
        ((np.ones(5), X, Y), {"max_passes": -1}, "max_passes must be finite and >= 0, got -1"),
        ((np.ones(5), X, Y), {"penalty": dg.NonNegative(dg.L2(1.0)), "model": -np.ones(5)}, "outside the bounds of its penalty"),
    ],
)
def test_bad_arguments_are_named(args, options, match):
    options = {"loss": dg.Squared(), "penalty": dg.L2(1.0), **options}
    model = options.pop("model", args[0])
    with pytest.raises(ValueError, match=match):
        dg.certify(model, *args[1:], **options)


def test_targets_that_the_model_does_not_know():
    model = linear_model.LogisticRegression().fit(X, LABELS)
    with pytest.raises(ValueError, match=r"y must hold classes of the model, \['a', 'b'\], got \['c'\] as well"):
        dg.certify(model, X, np.where(LABELS == "a", "c", LABELS))
    with pytest.raises(ValueError, match="decided needs a classifier, Ridge of sklearn is a regression"):
        dg.certify(linear_model.Ridge().fit(X, Y), X, Y).decided(X)
