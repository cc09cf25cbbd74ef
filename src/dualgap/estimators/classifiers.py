"""Classifiers with scikit-learn's names, parameters and meaning.

What a class of scikit-learn minimizes is brought to the form of `dualgap.solve`, with S the sum of the weights s_i (times those of the
classes) and m_i the margin y_i (x_i'w + b):

    LogisticRegression  C sum_i s_i log(1 + exp(-m_i)) + penalty       logistic, softmax,     l2 = (1 - rho) / (C S), l1 = rho / (C S)
    LinearSVC           C sum_i s_i max(0, 1 - m_i) + |w|^2/2          hinge, max-of-hinge,   l2 = 1 / (C S)
                        C sum_i s_i max(0, 1 - m_i)^2 + |w|^2/2        squared hinge,         l2 = 1 / (2 C S)
    RidgeClassifier     sum_i s_i (1 - m_i)^2 + alpha |w|^2            squared on -1 and +1,  l2 = alpha / S
"""

import numbers
from typing import Any

from sklearn.utils._param_validation import Interval, StrOptions

from dualgap.estimators.base import NOT_NEGATIVE, POSITIVE, SHARED_CONSTRAINTS, make_penalty, solver_names
from dualgap.estimators.linear import Classifier, Probabilistic
from dualgap.losses import Hinge, Logistic, SmoothHinge, Squared, SquaredHinge
from dualgap.multiclass import MaxHinge, SmoothMaxHinge, Softmax

CLASS_WEIGHT = [StrOptions({"balanced"}), dict, None]


class LogisticRegression(Probabilistic):
    """Logistic regression, of two classes or multinomial, as scikit-learn's.

    Minimizes C sum_i s_i log(1 + exp(-y_i (x_i'w + b))) + l1_ratio |w|_1 + (1 - l1_ratio)/2 |w|^2, or the multinomial loss of all classes.

    Parameters
    ----------
    penalty : {"auto", "l2", "l1", "elasticnet"} or None
        As in scikit-learn up to 1.9. "auto" is what `l1_ratio` and `C` say by themselves, as in later versions: C = inf for no penalty.
    C : float
        Inverse of the strength of the penalty.
    l1_ratio : float, optional
        Share of |w|_1 in the penalty if that is "auto" or "elasticnet".
    dual : bool
        Has no effect: there is a primal and a dual solution in any case.
    tol : float
        The certified gap to reach, relative to the objective of the model without features.
    fit_intercept : bool
        Whether to fit b.
    intercept_scaling : float
        Has no effect: the intercept is not penalized.
    class_weight : dict, "balanced" or None
        Weights of the classes, which multiply those of the rows.
    random_state : int, RandomState or None
        Seed of the order in which rows are visited; None is 0.
    solver : {"auto", "adaptive", "prox_sdca", "accelerated", "fista", "newton"} or a solver
        See `dualgap.solve`. The names of scikit-learn's solvers mean "auto".
    max_iter : int
        Most passes over the data.
    verbose : bool
        Whether to show the gap while it goes down.
    warm_start : bool
        Whether a fit starts from the solution of the one before.
    n_jobs : int, optional
        At most so many threads work on the fit (-1: all); by default all cores at hand.
    factors : array of shape (n_features,), optional
        What multiplies the penalty of each feature; 0 leaves it unpenalized.
    time_limit : float, optional
        Most seconds.

    Notes
    -----
    A fitted model has the attributes of `LinearClassifier`.

    Examples
    --------
    >>> import dualgap as dg
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = dg.LogisticRegression().fit(X, y)
    >>> model.predict_proba(X[:1]).round(2), model.status_.name
    (array([[0.98, 0.02, 0.  ]]), 'CERTIFIED')
    """

    _parameter_constraints = SHARED_CONSTRAINTS | {
        "penalty": [StrOptions({"auto", "l1", "l2", "elasticnet", "deprecated"}), None],
        "C": [Interval(numbers.Real, 0, None, closed="right")],
        "l1_ratio": [Interval(numbers.Real, 0, 1, closed="both"), None],
        "dual": ["boolean"],
        "intercept_scaling": [POSITIVE],
        "class_weight": CLASS_WEIGHT,
        "solver": solver_names("lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga"),
    }

    def __init__(
        self,
        penalty: str | None = "auto",
        *,
        C: float = 1.0,
        l1_ratio: float | None = 0.0,
        dual: bool = False,
        tol: float = 1e-6,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: Any = None,
        random_state: Any = None,
        solver: Any = "auto",
        max_iter: int | None = 1000,
        verbose: Any = 0,
        warm_start: bool = False,
        n_jobs: int | None = None,
        factors: Any = None,
        time_limit: float | None = None,
    ) -> None:
        self.penalty = penalty
        self.C = C
        self.l1_ratio = l1_ratio
        self.dual = dual
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.random_state = random_state
        self.solver = solver
        self.max_iter = max_iter
        self.verbose = verbose
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.factors = factors
        self.time_limit = time_limit

    def _objective(self, total: float, d: int, k: int) -> tuple[Any, Any]:
        strength = 0.0 if self.penalty is None else 1.0 / (self.C * total)
        ratio = logistic_ratio(self.penalty, self.l1_ratio)
        penalty = make_penalty(strength * ratio, strength * (1.0 - ratio), d, factors=self.factors)
        return (Logistic() if k == 2 else Softmax()), penalty


def logistic_ratio(penalty: str | None, l1_ratio: float | None) -> float:
    """The share of |w|_1 in the penalty."""
    if penalty == "elasticnet" and l1_ratio is None:
        raise ValueError("l1_ratio must be specified when penalty is elasticnet.")
    mixed = 0.0 if l1_ratio is None else float(l1_ratio)
    return {"l1": 1.0, "l2": 0.0, None: 0.0}.get(penalty, mixed)


class LinearSVC(Classifier):
    """Linear support vector machine, as scikit-learn's but for the intercept, which is not penalized.

    Minimizes C sum_i s_i max(0, 1 - y_i (x_i'w + b)) + |w|^2/2, or the same with squared or smooth hinge losses or the penalty |w|_1: for
    each class against the rest, or for all at once with the loss of Crammer and Singer.

    Parameters
    ----------
    penalty : {"l2", "l1"}
        |w|^2/2 or |w|_1.
    loss : {"squared_hinge", "hinge", "smooth_hinge"}
        The loss. "smooth_hinge" is the hinge loss rounded off over a width of 1.
    dual : bool or "auto"
        Has no effect: there is a primal and a dual solution in any case.
    tol : float
        The certified gap to reach, relative to the objective of the model without features.
    C : float
        Inverse of the strength of the penalty.
    multi_class : {"ovr", "crammer_singer"}
        Each class against the rest, or all at once. For all at once there are two losses: the hinge, unless "smooth_hinge" is asked for.
    fit_intercept : bool
        Whether to fit b.
    intercept_scaling : float
        Has no effect: the intercept is not penalized.
    class_weight : dict, "balanced" or None
        Weights of the classes, which multiply those of the rows.
    verbose : bool
        Whether to show the gap while it goes down.
    random_state : int, RandomState or None
        Seed of the order in which rows are visited; None is 0.
    max_iter : int
        Most passes over the data.
    factors : array of shape (n_features,), optional
        What multiplies the penalty of each feature; 0 leaves it unpenalized.
    solver : {"auto", "adaptive", "prox_sdca", "accelerated", "fista", "newton"} or a solver
        See `dualgap.solve`.
    time_limit : float, optional
        Most seconds for one class against the rest.
    warm_start : bool
        Whether a fit starts from the solution of the one before.
    n_jobs : int, optional
        How many classes are fitted against the rest side by side, and at most how many threads work on a fit (-1: all); by default one
        class at a time, with all cores at hand.

    Notes
    -----
    A fitted model has the attributes of `LinearClassifier`.

    Examples
    --------
    >>> import dualgap as dg
    >>> model = dg.LinearSVC(loss="hinge").fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
    >>> model.predict([[0.5], [2.5]]).tolist(), model.decided([[0.5], [2.5]]).tolist()
    (['a', 'b'], [True, True])
    """

    _parameter_constraints = SHARED_CONSTRAINTS | {
        "penalty": [StrOptions({"l1", "l2"})],
        "loss": [StrOptions({"hinge", "squared_hinge", "smooth_hinge"})],
        "dual": ["boolean", StrOptions({"auto"})],
        "C": [POSITIVE],
        "multi_class": [StrOptions({"ovr", "crammer_singer"})],
        "intercept_scaling": [POSITIVE],
        "class_weight": CLASS_WEIGHT,
        "solver": solver_names(),
    }

    def __init__(
        self,
        penalty: str = "l2",
        loss: str = "squared_hinge",
        *,
        dual: Any = "auto",
        tol: float = 1e-6,
        C: float = 1.0,
        multi_class: str = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: Any = None,
        verbose: Any = 0,
        random_state: Any = None,
        max_iter: int | None = 1000,
        factors: Any = None,
        solver: Any = "auto",
        time_limit: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.tol = tol
        self.C = C
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.factors = factors
        self.solver = solver
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.n_jobs = n_jobs

    def _objective(self, total: float, d: int, k: int) -> tuple[Any, Any]:  # noqa: ARG002
        joint = self.multi_class == "crammer_singer"
        strength = (0.5 if self.loss == "squared_hinge" and not joint else 1.0) / (self.C * total)
        l1, l2 = (strength, 0.0) if self.penalty == "l1" else (0.0, strength)
        if joint:
            loss: Any = SmoothMaxHinge(1.0) if self.loss == "smooth_hinge" else MaxHinge()
        else:
            loss = {"hinge": Hinge(), "squared_hinge": SquaredHinge(), "smooth_hinge": SmoothHinge(1.0)}[self.loss]
        return loss, make_penalty(l1, l2, d, factors=self.factors)


class RidgeClassifier(Classifier):
    """Least squares on -1 and +1 with a penalty alpha |w|^2, each class against the rest, as scikit-learn's.

    Minimizes sum_i s_i (y_i - x_i'w - b)^2 + alpha |w|^2.

    Parameters
    ----------
    alpha : float
        Strength of the penalty.
    fit_intercept : bool
        Whether to fit b.
    copy_X : bool
        Has no effect: X is never changed.
    max_iter : int, optional
        Most passes over the data, 1000 by default.
    tol : float
        The certified gap to reach, relative to the objective of the model without features.
    class_weight : dict, "balanced" or None
        Weights of the classes, which multiply those of the rows.
    solver : {"auto", "adaptive", "prox_sdca", "accelerated", "fista", "newton"} or a solver
        See `dualgap.solve`. The names of scikit-learn's solvers mean "auto".
    positive : bool
        Whether to hold coefficients at or above 0.
    random_state : int, RandomState or None
        Seed of the order in which rows are visited; None is 0.
    factors : array of shape (n_features,), optional
        What multiplies the penalty of each feature; 0 leaves it unpenalized.
    time_limit : float, optional
        Most seconds for one class against the rest.
    warm_start : bool
        Whether a fit starts from the solution of the one before.
    n_jobs : int, optional
        How many classes are fitted against the rest side by side, and at most how many threads work on a fit (-1: all); by default one
        class at a time, with all cores at hand.
    verbose : bool
        Whether to show the gap while it goes down.

    Notes
    -----
    A fitted model has the attributes of `LinearClassifier`.

    Examples
    --------
    >>> import dualgap as dg
    >>> model = dg.RidgeClassifier().fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
    >>> model.predict([[1.4], [1.6]]).tolist(), model.status_.name
    (['a', 'b'], 'CERTIFIED')
    """

    _parameter_constraints = SHARED_CONSTRAINTS | {
        "alpha": [NOT_NEGATIVE],
        "copy_X": ["boolean"],
        "class_weight": CLASS_WEIGHT,
        "solver": solver_names("svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"),
        "positive": ["boolean"],
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        max_iter: int | None = None,
        tol: float = 1e-6,
        class_weight: Any = None,
        solver: Any = "auto",
        positive: bool = False,
        random_state: Any = None,
        factors: Any = None,
        time_limit: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: Any = 0,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.class_weight = class_weight
        self.solver = solver
        self.positive = positive
        self.random_state = random_state
        self.factors = factors
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _objective(self, total: float, d: int, k: int) -> tuple[Any, Any]:  # noqa: ARG002
        return Squared(), make_penalty(0.0, self.alpha / total, d, factors=self.factors, positive=self.positive)
