"""Estimators as those of scikit-learn: the same predictions, clones that are fitted to the same objective, and models in ONNX."""

import importlib.util
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import dualgap as dg
from dualgap import estimators as E

GROUPS = np.array([0, 0, 1, 1, 2, 2])
REGRESSORS = [
    E.Ridge(alpha=2.0),
    E.Ridge(alpha=2.0, positive=True, fit_intercept=False),
    E.Lasso(alpha=0.1),
    E.ElasticNet(alpha=0.1, l1_ratio=0.3),
    E.HuberRegressor(epsilon=1.5),
    E.QuantileRegressor(quantile=0.3, alpha=0.05),
    E.LinearSVR(C=0.5, epsilon=0.1),
    E.LassoCV(alphas=4),
    E.ElasticNetCV(alphas=4),
    E.RidgeCV(),
    E.LinearRegressor("squared", "l2", alpha=0.1),
    E.LinearRegressor("squared", "elasticnet", alpha=0.1),
    E.LinearRegressor("squared", None),
    E.LinearRegressor("huber", "l2", alpha=0.1),
    E.LinearRegressor(dg.EpsilonInsensitive(0.1), "l1", alpha=0.1),
    E.LinearRegressor("squared_epsilon_insensitive", "elasticnet", alpha=0.1),
    E.LinearRegressor("absolute", "l1", alpha=0.1),
    E.LinearRegressor(dg.Quantile(0.2), "l1", alpha=0.1),
    E.LinearRegressor("absolute", "l2", alpha=0.1, positive=True),
    E.LinearRegressor("squared", dg.GroupL1(0.1, 0.1, GROUPS)),
    E.LinearRegressorCV("huber", alphas=3),
]
CLASSIFIERS = [
    E.LogisticRegression(C=0.5),
    E.LogisticRegression(C=0.5, l1_ratio=0.5),
    E.LogisticRegression("l1", C=0.5, class_weight="balanced"),
    E.LogisticRegression(None),
    E.LogisticRegressionCV(Cs=3),
    E.LogisticRegressionCV(Cs=3, l1_ratios=[0.0, 1.0]),
    E.LinearSVC(C=0.5),
    E.LinearSVC(C=0.5, loss="smooth_hinge"),
    E.LinearSVC(C=0.5, multi_class="crammer_singer"),
    E.RidgeClassifier(alpha=2.0),
    E.RidgeClassifierCV(),
    E.LinearClassifier("logistic", "l2", alpha=0.1),
    E.LinearClassifier("softmax", "elasticnet", alpha=0.1),
    E.LinearClassifier("softmax", None),
    E.LinearClassifier("hinge", "l2", alpha=0.1),
    E.LinearClassifier("squared_hinge", "l1", alpha=0.1),
    E.LinearClassifier("max_hinge", "l2", alpha=0.1),
    E.LinearClassifier("smooth_max_hinge", dg.GroupL1(0.1, 0.1, GROUPS)),
    E.LinearClassifierCV("smooth_hinge", alphas=3),
]
# Estimators whose other selves minimize the same, by a method that gets there.
REFITTED = [m for m in (*REGRESSORS, *CLASSIFIERS) if not isinstance(m, E.LinearClassifierCV | E.LinearRegressorCV)]


def data(model, k=3):
    rng = np.random.default_rng(0)
    if model in REGRESSORS:
        X = rng.standard_normal((80, 6))
        return X, X @ rng.standard_normal(6) + 0.5 * rng.standard_normal(80) + 1.0
    X, y = rng.standard_normal((120, 6)), rng.integers(0, k, 120)
    X[np.arange(120), y] += 1.0
    return X, np.array(["a", "b", "c"])[y]


def fitted(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return clone(model).set_params(tol=1e-9).fit(X, y)


def check_same(ours, theirs, X):
    assert type(theirs).__module__.startswith("sklearn.")
    np.testing.assert_array_equal(theirs.n_features_in_, X.shape[1])
    if hasattr(ours, "classes_"):
        np.testing.assert_array_equal(theirs.predict(X), ours.predict(X))
        np.testing.assert_allclose(theirs.decision_function(X), ours.decision_function(X), rtol=1e-9, atol=1e-9)
        if hasattr(ours, "predict_proba"):
            np.testing.assert_allclose(theirs.predict_proba(X), ours.predict_proba(X), rtol=1e-9, atol=1e-12)
    else:
        np.testing.assert_allclose(theirs.predict(X), ours.predict(X), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("model", [*REGRESSORS, *CLASSIFIERS], ids=repr)
def test_predictions_are_the_same(model, k):
    if model in REGRESSORS and k == 3:
        pytest.skip("there are no classes")
    X, y = data(model, k)
    ours = fitted(model, X, y)
    theirs = ours.to_sklearn()
    check_same(ours, theirs, X)
    check_same(ours, pickle.loads(pickle.dumps(theirs)), sp.csr_array(X))
    before = theirs.coef_.copy()
    ours.coef_ *= 2.0
    np.testing.assert_array_equal(theirs.coef_, before)
    assert not hasattr(clone(theirs), "coef_")


@pytest.mark.parametrize("model", REFITTED, ids=repr)
def test_another_fit_minimizes_the_same(model):
    X, y = data(model, 2)
    ours = fitted(model, X, y)
    theirs = ours.to_sklearn()
    name = type(theirs).__name__
    exact = {"tol": 1e-8, "max_iter": 10**5} if {"tol", "max_iter"} <= theirs.get_params().keys() else {}
    if name.startswith("SGD"):
        exact = {"tol": 1e-7, "max_iter": 2000, "learning_rate": "adaptive", "eta0": 0.05, "random_state": 0, "n_iter_no_change": 20}
    again = clone(theirs).set_params(**exact)
    general = isinstance(model, E.LinearClassifier | E.LinearRegressor)
    free = general and (hasattr(model.penalty, "groups") or name == "LinearRegression")
    smooth = (
        getattr(model, "loss", "") in ("smooth_hinge", "max_hinge", "absolute") or getattr(model, "multi_class", "") == "crammer_singer"
    )
    if smooth or (free and model.penalty is not None) or (name.startswith("LinearSV") and ours.fit_intercept):
        pytest.skip("scikit-learn's has another objective, or penalizes the intercept")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again.fit(X, y)
    np.testing.assert_allclose(again.coef_.ravel(), theirs.coef_.ravel(), atol=0.02 if name.startswith("SGD") else 2e-3)


def test_what_there_is_of_a_fit_goes_along():
    X, y = data(REGRESSORS[0])
    lasso = E.LassoCV(alphas=4).fit(X, y).to_sklearn()
    assert lasso.mse_path_.shape == (4, 5)
    assert lasso.alpha_ in lasso.alphas_
    assert E.Lasso().fit(X, y).to_sklearn().dual_gap_ >= 0.0
    huber = E.HuberRegressor().fit(X, y)
    assert huber.to_sklearn().scale_ == huber.scale_
    several = E.Ridge().fit(X, np.column_stack([y, -y]))
    assert several.to_sklearn().predict(X).shape == (80, 2)
    sparse = E.LogisticRegression("l1", C=0.1).fit(X, y > 1.0).sparsify()
    np.testing.assert_allclose(sparse.to_sklearn().decision_function(X), sparse.decision_function(X))
    with pytest.raises(Exception, match="not fitted"):
        E.Lasso().to_sklearn()


absent = [name for name in ("skl2onnx", "onnxruntime") if importlib.util.find_spec(name) is None]


@pytest.mark.skipif(bool(absent), reason=f"{' and '.join(absent)} not installed")
@pytest.mark.parametrize("model", [*REGRESSORS, *CLASSIFIERS], ids=repr)
def test_onnx_models_predict_the_same(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import onnxruntime
        from skl2onnx import to_onnx
    X, y = data(model)
    X = X.astype(np.float32)
    ours = fitted(model, X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = onnxruntime.InferenceSession(to_onnx(ours.to_sklearn(), X[:1]).SerializeToString(), providers=["CPUExecutionProvider"])
    found = session.run(None, {session.get_inputs()[0].name: X})
    if model in REGRESSORS:
        np.testing.assert_allclose(found[0].ravel(), ours.predict(X), rtol=1e-4, atol=1e-4)
        return
    clear = ours.decided(X) if ours.decision_function(X).ndim == 1 else np.ptp(np.sort(ours.decision_function(X))[:, -2:], axis=1) > 1e-4
    np.testing.assert_array_equal(found[0][clear], ours.predict(X)[clear])
