"""One fit of each kind: what must work with the oldest supported versions as well as with the newest."""

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap as dg

RNG = np.random.default_rng(0)
X = RNG.standard_normal((120, 7))
SCORES = X @ RNG.standard_normal(7) + 0.5 * RNG.standard_normal(120) + 0.3
SIGNS = np.where(SCORES > 0.0, 1.0, -1.0)
CLASSES = np.argmax(X @ RNG.standard_normal((7, 3)), axis=1)

CASES = [
    (dg.Squared(), dg.L2(1e-2), SCORES),
    (dg.Logistic(), dg.ElasticNet(1e-3, 1e-3), SIGNS),
    (dg.SmoothHinge(1.0), dg.GroupL1(1e-3, 1e-3, np.arange(7) // 2), SIGNS),
    (dg.Absolute(), dg.L2(1e-1), SCORES),
    (dg.Squared(), dg.L1(1e-2), SCORES),
    (dg.Softmax(), dg.L2(1e-2), CLASSES),
    (dg.SmoothMaxHinge(1.0), dg.ElasticNet(1e-3, 1e-2), CLASSES),
]


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix, sp.csr_array], ids=["dense", "csr_matrix", "csr_array"])
@pytest.mark.parametrize(("loss", "penalty", "y"), CASES, ids=lambda v: type(v).__name__)
def test_a_fit_is_certified(loss, penalty, y, storage):
    s = dg.solve(storage(X), y, loss=loss, penalty=penalty, intercept=True, tol=1e-5)
    assert s.status is dg.Status.CERTIFIED
    assert -s.gap <= s.primal - s.dual <= s.gap <= 1e-5 * s.null
