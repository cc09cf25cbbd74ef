"""Results of statsmodels, whose constant is a column of X like others.

    OLS, WLS, GLM with a Gaussian family      sum s r^2
    Logit, GLM with a binomial family         sum s log(1 + exp(-m))
    MNLogit                                   sum s softmax, the coefficients of the first class 0
    QuantReg                                  sum pinball(r)
    Logit.fit_regularized                     the same + sum_j alpha_j |w_j|

Results of OLS.fit_regularized and GLM.fit_regularized do not keep what they were penalized with: `penalty` must be given, in the units of
`dualgap.solve`, which are theirs.
"""

from typing import Any

import numpy as np

from dualgap.audit.statement import Data, Statement, net
from dualgap.losses import Logistic, Quantile, Squared
from dualgap.multiclass import Softmax

CANONICAL = {"Gaussian": "Identity", "Binomial": "Logit"}


def _results(results: Any, data: Data) -> Statement:
    model = results.model
    kind, family = type(model).__name__, type(getattr(model, "family", None)).__name__
    if kind == "GLM":
        kind = _family(model, family)
    name = type(results).__name__
    if name.startswith("L1Binary"):
        penalty = net(data.d, l1=1.0, factors=np.broadcast_to(results.mle_settings["alpha"], (data.d,)))
    else:
        penalty = None if "Regularized" in name else net(data.d)
    coef = np.asarray(results.params, dtype=np.float64)
    data = data if data.weight is not None else data.weighted(_weights(model))
    match kind:
        case "OLS" | "WLS" | "Gaussian":
            return Statement(Squared(), penalty, coef, None, None, 2.0, weight=data.weight)
        case "QuantReg":
            return Statement(Quantile(float(results.q)), penalty, coef, None, None, 1.0)
        case "Logit" | "Binomial":
            return Statement(Logistic(), penalty, coef, None, np.unique(data.y), 1.0, weight=data.weight)
        case "MNLogit":
            return Statement(Softmax(), penalty, np.column_stack([np.zeros(len(coef)), coef]).T, None, np.unique(data.y), 1.0)
    raise TypeError(
        f"statsmodels' {kind} cannot be certified: its loss is none of this library's, or not that of OLS, WLS, Logit or QuantReg"
    )


def _family(model: Any, family: str) -> str:
    """The family of a generalized linear model, if it has its canonical link and no offset."""
    link = type(model.family.link).__name__
    if CANONICAL.get(family) != link:
        raise TypeError(f"statsmodels' GLM must be Gaussian with Identity or Binomial with Logit to be certified, got {family} with {link}")
    if np.any(np.asarray(getattr(model, "_offset_exposure", 0.0)) != 0.0):
        raise TypeError("statsmodels' GLM with an offset or exposure cannot be certified: its scores are not X w")
    return family


def _weights(model: Any) -> Any:
    """The weights that the model keeps, None if it has none."""
    weights = getattr(model, "weights", None) if type(model).__name__ == "WLS" else getattr(model, "iweights", None)
    return None if weights is None else np.broadcast_to(np.asarray(weights, dtype=np.float64), (len(model.endog),))


READERS = dict.fromkeys(
    (
        *("RegressionResults", "RegressionResultsWrapper", "OLSResults", "RegularizedResults", "RegularizedResultsWrapper"),
        *("GLMResults", "GLMResultsWrapper", "LogitResults", "BinaryResults", "BinaryResultsWrapper", "L1BinaryResultsWrapper"),
        *("QuantRegResults", "QuantRegResultsWrapper", "MultinomialResults", "MultinomialResultsWrapper"),
    ),
    _results,
)
NO_LOSS = "its loss is none of this library's"
REFUSED = {
    "L1MultinomialResultsWrapper": "its penalty leaves the first class out",
    "RLMResultsWrapper": "it does not minimize a convex objective in the coefficients alone",
    "CountResultsWrapper": NO_LOSS,
    "PoissonResultsWrapper": NO_LOSS,
    "NegativeBinomialResultsWrapper": NO_LOSS,
}
