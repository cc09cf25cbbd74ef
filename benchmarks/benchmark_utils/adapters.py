"""The other libraries: which objectives each solves, and how its coefficients are had for a given effort.

An effort is a number of iterations with a tolerance that never ends a run by itself, so that the accuracy reached is what the effort buys.
Conversions of the input are part of a fit.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse as sp

from .suite import Cell

LOGISTIC, ELASTIC, HINGE, SQUARED_HINGE = "logistic", "logistic l1+l2", "hinge", "squared hinge"
RIDGE, LASSO, NET, SOFTMAX, CRAMMER = "ridge", "lasso", "elastic net", "softmax", "crammer-singer"
TINY = 1e-14


@dataclass(frozen=True)
class Peer:
    """A library's solver: `fit(cell, iterations)` gives coefficients of d numbers or d x k; `direct` solvers take one effort."""

    name: str
    module: str
    objectives: tuple[str, ...]
    fit: Callable[[Cell, int], Any]
    direct: bool = False
    suits: Callable[[Cell], bool] = lambda cell: True

    def solves(self, cell: Cell) -> bool:
        return cell.objective in self.objectives and find_spec(self.module.split(".")[0]) is not None and self.suits(cell)


def _few_columns(most: int) -> Callable[[Cell], bool]:
    return lambda cell: cell.X.shape[1] <= most


def _logistic(solver: str) -> Callable[[Cell, int], Any]:
    def fit(cell: Cell, iterations: int) -> Any:
        from sklearn.linear_model import LogisticRegression

        total = cell.l1 + cell.l2
        ratio = {"l1_ratio": cell.l1 / total} if cell.l1 else {}
        model = LogisticRegression(
            C=1.0 / (total * len(cell.y)), solver=solver, fit_intercept=False, tol=TINY, max_iter=iterations, random_state=0, **ratio
        )
        coef = model.fit(cell.X, cell.y).coef_
        return coef.T if cell.objective == SOFTMAX else coef.ravel()

    return fit


def _linear_svc(**options: Any) -> Callable[[Cell, int], Any]:
    def fit(cell: Cell, iterations: int) -> Any:
        from sklearn.svm import LinearSVC

        C = 1.0 / (cell.l2 * len(cell.y)) / (2.0 if options.get("loss") == "squared_hinge" else 1.0)
        model = LinearSVC(C=C, fit_intercept=False, tol=TINY, max_iter=iterations, random_state=0, **options)
        coef = model.fit(cell.X, cell.y).coef_
        return coef.T if cell.objective == CRAMMER else coef.ravel()

    return fit


def _ridge(solver: str) -> Callable[[Cell, int], Any]:
    def fit(cell: Cell, iterations: int) -> Any:
        from sklearn.linear_model import Ridge

        limit = {} if solver in ("cholesky", "svd") else {"max_iter": iterations}
        model = Ridge(alpha=cell.l2 * len(cell.y), solver=solver, fit_intercept=False, tol=TINY, random_state=0, **limit)
        return model.fit(cell.X, cell.y).coef_

    return fit


def _coordinate_descent(cell: Cell, iterations: int) -> Any:
    from sklearn.linear_model import ElasticNet

    X = sp.csc_matrix(cell.X) if sp.issparse(cell.X) else np.asfortranarray(cell.X)
    total = cell.l1 + cell.l2
    model = ElasticNet(alpha=total, l1_ratio=cell.l1 / total, fit_intercept=False, tol=TINY, max_iter=iterations, copy_X=False)
    return model.fit(X, cell.y).coef_


def _liblinear(solver: int) -> Callable[[Cell, int], Any]:
    def fit(cell: Cell, iterations: int) -> Any:
        from liblinear.liblinearutil import parameter, problem, train

        C = 1.0 / (cell.l2 * len(cell.y)) / (2.0 if cell.objective == SQUARED_HINGE else 1.0)
        # its interface has no limit of iterations: the tolerance is the effort
        options = parameter(f"-s {solver} -c {C:.17g} -e {0.3 * 0.3 ** np.log2(iterations):.3g} -q")
        stored = problem(cell.y, sp.csr_matrix(cell.X))
        model = train(stored, options)
        k = 1 if cell.objective != CRAMMER else model.nr_class
        coef = np.ctypeslib.as_array(model.w, (cell.X.shape[1] * k,)).reshape(cell.X.shape[1], k).copy()
        labels = np.array(model.get_labels())
        return coef[:, np.argsort(labels)] if k > 1 else coef.ravel() * (1.0 if labels[0] == 1 else -1.0)

    return fit


def _cyanure(cell: Cell, iterations: int) -> Any:
    from cyanure.estimators import Classifier, Regression

    losses = {LOGISTIC: "logistic", ELASTIC: "logistic", HINGE: "hinge", SQUARED_HINGE: "sqhinge", SOFTMAX: "multiclass-logistic"}
    penalty = {"penalty": "l2", "lambda_1": cell.l2}
    if cell.l1:
        penalty = (
            {"penalty": "l1", "lambda_1": cell.l1} if not cell.l2 else {"penalty": "elasticnet", "lambda_1": cell.l1, "lambda_2": cell.l2}
        )
    common = {**penalty, "fit_intercept": False, "tol": TINY, "max_iter": iterations, "verbose": False, "n_threads": 1, "safe": False}
    model = Classifier(loss=losses[cell.objective], **common) if cell.objective in losses else Regression(**common)
    coef = np.asarray(model.fit(cell.X, cell.y).coef_)
    return coef.reshape(-1, cell.X.shape[1]).T if cell.objective == SOFTMAX else coef.ravel()


def _snapml(cell: Cell, iterations: int) -> Any:
    import snapml

    common = {"regularizer": cell.l2 * len(cell.y), "max_iter": iterations, "tol": TINY, "n_jobs": 1, "fit_intercept": False}
    if cell.objective == HINGE:
        model = snapml.SupportVectorMachine(**common)
    elif cell.objective == RIDGE:
        model = snapml.LinearRegression(**common)
    else:
        model = snapml.LogisticRegression(**common)
    return np.asarray(model.fit(cell.X, cell.y).coef_).ravel()


def _celer(cell: Cell, iterations: int) -> Any:
    from celer import ElasticNet, Lasso

    X = sp.csc_matrix(cell.X) if sp.issparse(cell.X) else np.asfortranarray(cell.X)
    total = cell.l1 + cell.l2
    common = {"alpha": total, "fit_intercept": False, "tol": TINY, "max_iter": iterations}
    model = ElasticNet(l1_ratio=cell.l1 / total, **common) if cell.l2 else Lasso(**common)
    return model.fit(X, cell.y).coef_


def _skglm(cell: Cell, iterations: int) -> Any:
    from skglm import GeneralizedLinearEstimator
    from skglm.datafits import Logistic, Quadratic
    from skglm.penalties import L1, L1_plus_L2
    from skglm.solvers import AndersonCD, ProxNewton

    X = sp.csc_matrix(cell.X) if sp.issparse(cell.X) else np.asfortranarray(cell.X)
    total = cell.l1 + cell.l2
    penalty = L1_plus_L2(total, cell.l1 / total) if cell.l2 else L1(total)
    solver, datafit = (ProxNewton, Logistic()) if cell.objective == ELASTIC else (AndersonCD, Quadratic())
    model = GeneralizedLinearEstimator(datafit, penalty, solver(max_iter=iterations, tol=TINY, fit_intercept=False, warm_start=False))
    return np.asarray(model.fit(X, cell.y).coef_).ravel()


def _adelie(cell: Cell, iterations: int) -> Any:
    import adelie

    X = sp.csc_matrix(cell.X) if sp.issparse(cell.X) else np.asfortranarray(cell.X)
    matrix = adelie.matrix.sparse(X) if sp.issparse(X) else adelie.matrix.dense(X, method="naive")
    total = cell.l1 + cell.l2
    glm = adelie.glm.binomial((cell.y > 0).astype(float)) if cell.objective in (LOGISTIC, ELASTIC) else adelie.glm.gaussian(cell.y)
    # its interface has a tolerance and no limit of iterations that returns coefficients
    state = adelie.grpnet(
        X=matrix,
        glm=glm,
        alpha=cell.l1 / total,
        lmda_path=[total],
        intercept=False,
        tol=10.0 ** -(2.0 + np.log2(iterations)),
        progress_bar=False,
        early_exit=False,
        max_iters=10**7,
    )
    return np.asarray(state.betas.todense()).ravel()


def _sparse_or_small(cell: Cell) -> bool:
    return sp.issparse(cell.X) or cell.X.size < 5e7


PEERS = [
    *(Peer(f"sklearn-{s}", "sklearn", (LOGISTIC, SOFTMAX), _logistic(s)) for s in ("lbfgs", "newton-cg")),
    Peer("sklearn-newton-cholesky", "sklearn", (LOGISTIC, SOFTMAX), _logistic("newton-cholesky"), suits=_few_columns(2600)),
    Peer("sklearn-saga", "sklearn", (LOGISTIC, ELASTIC, SOFTMAX), _logistic("saga")),
    Peer("sklearn-liblinear", "sklearn", (LOGISTIC,), _logistic("liblinear")),
    Peer("sklearn-LinearSVC", "sklearn", (HINGE,), _linear_svc(loss="hinge")),
    Peer("sklearn-LinearSVC-dual", "sklearn", (SQUARED_HINGE,), _linear_svc(loss="squared_hinge", dual=True)),
    Peer("sklearn-LinearSVC-primal", "sklearn", (SQUARED_HINGE,), _linear_svc(loss="squared_hinge", dual=False)),
    Peer("sklearn-LinearSVC", "sklearn", (CRAMMER,), _linear_svc(multi_class="crammer_singer")),
    *(Peer(f"sklearn-{s}", "sklearn", (RIDGE,), _ridge(s)) for s in ("lsqr", "sparse_cg", "sag")),
    Peer("sklearn-cholesky", "sklearn", (RIDGE,), _ridge("cholesky"), direct=True, suits=lambda c: min(c.X.shape) <= 8000),
    Peer("sklearn-coordinate-descent", "sklearn", (LASSO, NET), _coordinate_descent),
    Peer("liblinear-7", "liblinear", (LOGISTIC,), _liblinear(7), suits=_sparse_or_small),
    Peer("liblinear-0", "liblinear", (LOGISTIC,), _liblinear(0), suits=_sparse_or_small),
    Peer("liblinear-3", "liblinear", (HINGE,), _liblinear(3), suits=_sparse_or_small),
    Peer("liblinear-1", "liblinear", (SQUARED_HINGE,), _liblinear(1), suits=_sparse_or_small),
    Peer("liblinear-2", "liblinear", (SQUARED_HINGE,), _liblinear(2), suits=_sparse_or_small),
    Peer("liblinear-4", "liblinear", (CRAMMER,), _liblinear(4), suits=_sparse_or_small),
    Peer("cyanure", "cyanure", (LOGISTIC, ELASTIC, SQUARED_HINGE, RIDGE, LASSO, NET, SOFTMAX), _cyanure),
    Peer("snapml", "snapml", (LOGISTIC, HINGE, RIDGE), _snapml),
    Peer("celer", "celer", (LASSO, NET), _celer),
    Peer("skglm", "skglm", (LASSO, NET, ELASTIC), _skglm),
    Peer("adelie", "adelie", (LASSO, NET, ELASTIC), _adelie),
]


def quietly(fit: Callable[[Cell, int], Any], cell: Cell, iterations: int) -> Any:
    """A fit without the warnings that say it was stopped by its limit: that is what was asked for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit(cell, iterations)
