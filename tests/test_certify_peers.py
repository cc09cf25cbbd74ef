"""Certificates for models of liblinear, celer, skglm, cyanure, snapml and statsmodels, where these are installed (the extra 'peers').

Each is fitted as accurately as it can be. That the gap is then nothing, and with a penalty a tenth larger is not, proves that what it
minimizes was read as it is; the value of that is compared with the documentation of the library.
"""

import logging
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap as dg
from dualgap.penalties import scaled
from test_certify import classes, hinge, huber, logistic, margins, mixed, norm1, norm2, quietly, regression, residuals

X, Y, S = regression()
WEIGHTS = np.array([1.0, 2.0, 3.0, 0.5, 1.0])


def imported(name):
    """A library, or a skip that says which one is not there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name, reason=f"{name} is not installed (extra 'peers')")


def check(model, X, y, value, accuracy=1e-6):
    """The model minimizes what it was read to minimize, whose value is given, and not something near it."""
    certificate = dg.certify(model, X, y)
    assert certificate.primal * certificate.unit == pytest.approx(value, rel=1e-9)
    assert certificate.relative_gap <= accuracy
    if any(getattr(certificate.penalty, name, 0.0) for name in ("l1", "l2")):
        other = dg.certify(model, X, y, penalty=scaled(certificate.penalty, 1.1))
        assert other.at_least > 100.0 * certificate.gap


def small(*entries):
    """Data of two or more classes as numbers, for libraries that want those."""
    X, y, _ = classes(*entries)
    return X, np.searchsorted(np.unique(y), y)


LIBLINEAR = {
    0: lambda m: logistic(m).sum(),
    1: lambda m: np.sum(hinge(m) ** 2),
    2: lambda m: np.sum(hinge(m) ** 2),
    3: lambda m: hinge(m).sum(),
    5: lambda m: np.sum(hinge(m) ** 2),
    6: lambda m: logistic(m).sum(),
    7: lambda m: logistic(m).sum(),
}


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("bias", [-1.0, 1.0, 2.5])
@pytest.mark.parametrize("kind", sorted(LIBLINEAR))
def test_liblinear_classifiers(kind, bias, k):
    lib = imported("liblinear.liblinearutil")
    X, labels = small(k)
    y, C = labels * 3.0 - 1.0, 0.3 if kind == 6 else 0.02
    parameter = lib.parameter(f"-s {kind} -c {C} -e 1e-10 -B {bias} -q")
    model = lib.train(lib.problem(y, sp.csr_matrix(X)), parameter)
    w = np.array([[model.get_decfun_coef(j + 1, i) for j in range(5)] + [model.get_decfun_bias(i)] for i in range(1 if k == 2 else k)])
    order = model.get_labels()
    positive = [order[0]] if k == 2 else order
    m = np.where(y[:, None] == positive, 1.0, -1.0) * (X @ w[:, :-1].T + w[:, -1])
    inside = w * np.append(np.ones(5), 1.0 / bias if bias > 0.0 else 0.0)
    penalty = np.abs(inside).sum() if kind in (5, 6) else 0.5 * np.sum(inside**2)
    check(model, X, y, C * LIBLINEAR[kind](m) + penalty, 1e-4 if kind == 3 else 1e-6)


def test_liblinear_regressors_and_all_classes_at_once():
    lib = imported("liblinear.liblinearutil")
    for kind, power in ((11, 2), (12, 2), (13, 1)):
        model = lib.train(lib.problem(Y, sp.csr_matrix(X)), lib.parameter(f"-s {kind} -c 0.02 -p 0.2 -e 1e-10 -B 1 -q"))
        w = np.array([model.get_decfun_coef(j + 1) for j in range(5)] + [model.get_decfun_bias()])
        r = np.maximum(np.abs(Y - X @ w[:-1] - w[-1]) - 0.2, 0.0)
        check(model, X, Y, 0.02 * np.sum(r**power) + 0.5 * w @ w, 1e-5)
    for k in (2, 3):
        Z, labels = small(k)
        model = lib.train(lib.problem(labels.astype(float), sp.csr_matrix(Z)), lib.parameter("-s 4 -c 0.02 -e 1e-10 -q"))
        assert dg.certify(model, Z, labels).relative_gap <= 1e-5
    unpenalized = lib.train(lib.problem(Y > 2.0, sp.csr_matrix(X)), lib.parameter("-s 0 -c 0.02 -e 1e-10 -B 1 -R -q"))
    assert dg.certify(unpenalized, X, Y > 2.0).relative_gap <= 1e-8


def test_what_liblinear_does_not_keep(tmp_path):
    lib = imported("liblinear.liblinearutil")
    problem = lib.problem(np.where(Y > 2.0, 1.0, -1.0), sp.csr_matrix(X))
    with pytest.raises(ValueError, match="no copy of the weights of classes"):
        dg.certify(lib.train(problem, lib.parameter("-w1 2 -q")), X, Y > 2.0)
    with pytest.raises(TypeError, match=r"solver type of 0 \.\. 7 or 11 \.\. 13 to be certified, got 21"):
        dg.certify(lib.train(problem, lib.parameter("-s 21 -q")), X, Y > 2.0)


def quadratic(model):
    return np.sum(residuals(model, X, Y) ** 2) / (2.0 * len(Y))


def test_celer():
    celer = imported("celer")
    models = [
        (celer.Lasso(0.1, tol=1e-12), lambda m: quadratic(m) + 0.1 * norm1(m)),
        (celer.Lasso(0.1, tol=1e-12, fit_intercept=False, positive=True), lambda m: quadratic(m) + 0.1 * norm1(m)),
        (celer.Lasso(0.1, tol=1e-12, weights=WEIGHTS), lambda m: quadratic(m) + 0.1 * WEIGHTS @ np.abs(m.coef_)),
        (celer.ElasticNet(0.1, l1_ratio=0.3, tol=1e-12), lambda m: quadratic(m) + 0.1 * mixed(m, 0.3)),
        (
            celer.ElasticNet(0.1, l1_ratio=0.3, tol=1e-12, weights=WEIGHTS),
            lambda m: quadratic(m) + 0.1 * WEIGHTS @ (0.3 * np.abs(m.coef_) + 0.35 * m.coef_**2),
        ),
        (
            celer.GroupLasso(groups=[[0, 3], [1, 2, 4]], weights=np.sqrt([2.0, 3.0]), alpha=0.1, tol=1e-12),
            lambda m: quadratic(m) + 0.1 * (2.0**0.5 * np.linalg.norm(m.coef_[[0, 3]]) + 3.0**0.5 * np.linalg.norm(m.coef_[[1, 2, 4]])),
        ),
    ]
    for model, theirs in models:
        quietly(lambda model=model: model.fit(X, Y))
        check(model, X, Y, theirs(model))
    for k in (2, 3):
        Z, y, _ = classes(k)
        model = quietly(lambda Z=Z, y=y: celer.LogisticRegression(C=0.1, tol=1e-12).fit(Z, y))
        check(model, Z, y, logistic(margins(model, Z, y)).sum() + norm1(model) / 0.1)
    with pytest.raises(TypeError, match="in proportion to the square roots of their sizes"):
        dg.certify(quietly(lambda: celer.GroupLasso(groups=[2, 3], alpha=0.1).fit(X, Y)), X, Y)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_skglm():
    skglm = imported("skglm")
    datafits, penalties, solvers = (imported(f"skglm.{part}") for part in ("datafits", "penalties", "solvers"))
    general = skglm.GeneralizedLinearEstimator
    models = [
        (skglm.Lasso(0.1, tol=1e-11), lambda m: quadratic(m) + 0.1 * norm1(m)),
        (
            general(datafits.Huber(0.5), penalties.L1(0.05), solvers.AndersonCD(tol=1e-11, fit_intercept=False)),
            lambda m: np.mean(huber(residuals(m, X, Y), 0.5)) + 0.05 * norm1(m),
        ),
        (
            general(datafits.Quadratic(), penalties.L1_plus_L2(0.1, 0.4), solvers.AndersonCD(tol=1e-11)),
            lambda m: quadratic(m) + 0.1 * mixed(m, 0.4),
        ),
    ]
    for model, theirs in models:
        model.fit(X, Y)
        check(model, X, Y, theirs(model))
    Z, y, _ = classes(2)
    model = skglm.SparseLogisticRegression(0.05, l1_ratio=0.6, tol=1e-11, max_iter=200).fit(Z, y)
    check(model, Z, y, logistic(margins(model, Z, y)).mean() + 0.05 * mixed(model, 0.6))
    for k in (2, 3):
        Z, y, _ = classes(k)
        model = skglm.LinearSVC(C=0.02, tol=1e-11).fit(Z, y)
        check(model, Z, y, 0.02 * np.sum(hinge(margins(model, Z, y))) + 0.5 * norm2(model), 1e-5)
    with pytest.raises(TypeError, match="MCPRegression of skglm cannot be certified: its penalty is not convex"):
        dg.certify(skglm.MCPRegression().fit(X, Y), X, Y)


@pytest.mark.parametrize("intercept", [False, True])
def test_cyanure(intercept):
    cyanure = imported("cyanure.estimators")
    logging.getLogger("cyanure").setLevel(logging.ERROR)
    options = {"tol": 1e-13, "max_iter": 5000, "verbose": False, "fit_intercept": intercept, "n_threads": 1}
    for penalty, first, second in (("l2", 0.1, 0.0), ("l1", 0.1, 0.0), ("elasticnet", 0.1, 0.2)):
        model = quietly(lambda p=penalty, a=first, b=second: cyanure.Regression(penalty=p, lambda_1=a, lambda_2=b, **options).fit(X, Y))
        read = penalized(model, penalty)
        check(model, X, Y, np.sum((Y - model.predict(X).ravel()) ** 2) / (2.0 * len(Y)) + read)
        for k in (2, 3):
            Z, y = small(k)
            for loss in ("square", "logistic", "sqhinge"):
                model = quietly(
                    lambda p=penalty, a=first, b=second, loss=loss, Z=Z, y=y: cyanure.Classifier(
                        loss=loss, penalty=p, lambda_1=a, lambda_2=b, **options
                    ).fit(Z, y)
                )
                z = Z @ model.coef_.reshape(5, -1) + (model.intercept_ if intercept else 0.0)
                m = np.where(y[:, None] == (model.classes_[1:] if k == 2 else model.classes_), 1.0, -1.0) * z
                if loss == "logistic" and k > 2:
                    value = np.mean(np.logaddexp.reduce(z, axis=1) - z[np.arange(len(y)), y])
                else:
                    value = {"square": 0.5 * (1.0 - m) ** 2, "logistic": logistic(m), "sqhinge": 0.5 * hinge(m) ** 2}[loss].sum() / len(y)
                check(model, Z, y, value + penalized(model, penalty))


def penalized(model, penalty):
    return {"l2": 0.05 * norm2(model), "l1": 0.1 * norm1(model), "elasticnet": 0.1 * norm1(model) + 0.1 * norm2(model)}[penalty]


@pytest.mark.parametrize("intercept", [0.0, 1.0, 3.0])
def test_snapml(intercept):
    snapml = imported("snapml")
    options = {"regularizer": 300.0, "tol": 1e-14, "max_iter": 10**5, "n_jobs": 1}
    options |= {"fit_intercept": intercept > 0.0, "intercept_scaling": intercept or 1.0}

    def penalty(model):
        return 150.0 * (norm2(model) + np.sum(np.square(model.intercept_)))

    model = snapml.LinearRegression(**options).fit(X, Y)
    check(model, X, Y, 0.5 * np.sum((Y - X @ np.ravel(model.coef_) - np.ravel(model.intercept_)[0] * intercept) ** 2) + penalty(model))
    for k in (2, 3):
        Z, y = small(k)
        for kind, loss in (("logistic", logistic), ("hinge", hinge), ("squared_hinge", lambda m: hinge(m) ** 2)):
            make = snapml.LogisticRegression(**options) if kind == "logistic" else snapml.SupportVectorMachine(loss=kind, **options)
            model = quietly(lambda make=make, Z=Z, y=y: make.fit(Z, y))
            z = Z @ np.reshape(model.coef_, (-1, 5)).T + np.ravel(model.intercept_) * intercept
            m = np.where(y[:, None] == (model.classes_[1:] if k == 2 else model.classes_), 1.0, -1.0) * z
            check(model, Z, y, np.sum(loss(m)) + penalty(model), 1e-5)
            model = quietly(lambda make=make, Z=Z, y=y: make.set_params(class_weight="balanced").fit(Z, y))
            assert dg.certify(model, Z, y).relative_gap <= 1e-5
    with pytest.raises(TypeError, match=r"cannot be certified with \{'normalize': True\}"):
        dg.certify(snapml.LinearRegression(normalize=True).fit(X, Y), X, Y)


@pytest.mark.filterwarnings("ignore")
def test_statsmodels():
    sm = imported("statsmodels.api")
    A = sm.add_constant(X)
    for results, value in (
        (sm.OLS(Y, A).fit(), lambda r: r.ssr),
        (sm.WLS(Y, A, weights=S + 0.1).fit(), lambda r: np.sum(r.wresid**2)),
        (sm.GLM(Y, A, freq_weights=S + 1.0).fit(), lambda r: r.deviance),
        (sm.QuantReg(Y, A).fit(q=0.3, p_tol=1e-12, max_iter=10**4), lambda r: np.sum(np.maximum(0.3 * r.resid, -0.7 * r.resid))),
    ):
        check(results, A, Y, value(results), 1e-5)
    ridge = sm.OLS(Y, A).fit_regularized(alpha=0.1, L1_wt=0.0)
    assert dg.certify(ridge, A, Y, penalty=dg.L2(0.1)).relative_gap <= 1e-10
    with pytest.raises(ValueError, match=r"penalty must be given: RegularizedResults.* of statsmodels does not keep"):
        dg.certify(ridge, A, Y)
    Z, labels = small(2)
    A, y = sm.add_constant(Z), labels.astype(float)
    for results, value in (
        (sm.Logit(y, A).fit(disp=0), lambda r: -r.llf),
        (sm.GLM(y, A, family=sm.families.Binomial()).fit(tol=1e-12), lambda r: -r.llf),
        (sm.Logit(y, A).fit_regularized(alpha=2.0, disp=0, acc=1e-14, trim_mode="off"), lambda r: -r.llf + 2.0 * np.abs(r.params).sum()),
    ):
        check(results, A, y, value(results), 1e-5)
    names = np.array(["u", "v", "w"])[np.random.default_rng(0).integers(0, 3, len(y))]
    results = sm.MNLogit(names, A).fit(disp=0)
    check(results, A, names, -results.llf)
    for results, match in (
        (sm.GLM(y, A, family=sm.families.Poisson()).fit(), "Gaussian with Identity or Binomial with Logit"),
        (sm.Probit(y, A).fit(disp=0), "statsmodels' Probit cannot be certified"),
        (sm.RLM(Y, sm.add_constant(X)).fit(), "RLMResultsWrapper of statsmodels cannot be certified: it does not minimize a convex"),
    ):
        with pytest.raises(TypeError, match=match):
            dg.certify(results, A if len(A) == len(results.model.endog) else sm.add_constant(X), results.model.endog)
