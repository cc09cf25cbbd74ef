"""What a solve costs, in counts that do not depend on the machine: passes, epochs, certificates and Gram matrices.

A change that needs more has to say why, and may raise these numbers; one that needs a quarter less may lower them.
"""

from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap as dg
from dualgap import problem as problem_module
from dualgap.solvers import ascent, newton
from dualgap.solvers.run import Run


def text(n=3000, d=4000, length=30, seed=0):
    """Rows of norm 1 with few entries, on columns of which some are frequent, and labels that a linear model predicts well."""
    rng = np.random.default_rng(seed)
    columns = np.minimum((d ** rng.random((n, length))).astype(np.int32), d - 1)
    starts = np.arange(0, n * length + 1, length, dtype=np.int32)
    X = sp.csr_array((rng.exponential(1.0, n * length), columns.ravel(), starts), shape=(n, d))
    X.sum_duplicates()
    X = sp.csr_array(sp.diags_array(1.0 / np.sqrt(X.multiply(X).sum(axis=1))) @ X)
    z = X @ rng.standard_normal(d)
    return X, z + 0.3 * z.std() * rng.standard_normal(n)


def table(n=6000, d=20, seed=0):
    """Dense columns that are correlated and badly scaled."""
    rng = np.random.default_rng(seed)
    X = (rng.standard_normal((n, d)) + rng.standard_normal((n, 1))) * 10.0 ** rng.uniform(-1.0, 1.0, d)
    z = X @ (rng.standard_normal(d) / np.std(X, axis=0))
    return X, z + 0.5 * z.std() * rng.standard_normal(n)


SIGNS = {dg.Logistic, dg.Hinge, dg.SquaredHinge}
# data, loss, penalty as a function of n and of |X'y|_max/n: the most passes, epochs, certificates and Gram matrices to a gap of 1e-6
CASES = {
    "text logistic": (text, dg.Logistic(), lambda n, top: dg.L2(1.0 / n), (12, 7, 4, 0)),
    "text logistic, weak": (text, dg.Logistic(), lambda n, top: dg.L2(1e-3 / n), (64, 76, 9, 0)),
    "text hinge": (text, dg.Hinge(), lambda n, top: dg.L2(1.0 / n), (59, 78, 9, 0)),
    "text squared hinge": (text, dg.SquaredHinge(), lambda n, top: dg.L2(1e-2 / n), (75, 102, 9, 0)),
    "text ridge": (text, dg.Squared(), lambda n, top: dg.L2(1e-2 / n), (80, 69, 10, 0)),
    # each pass of a working set certifies, at no cost of its own
    "text lasso": (text, dg.Squared(), lambda n, top: dg.L1(0.05 * top), (9, 0, 4, 0)),
    "table logistic": (table, dg.Logistic(), lambda n, top: dg.L2(1e-2 / n), (11, 0, 2, 7)),
    "table squared hinge": (table, dg.SquaredHinge(), lambda n, top: dg.ElasticNet(1e-2 / n, 1e-2 / n), (18, 0, 2, 9)),
    "table ridge": (table, dg.Squared(), lambda n, top: dg.L2(1e-2 / n), (6, 0, 2, 1)),
    "table hinge": (table, dg.Hinge(), lambda n, top: dg.L2(1.0 / n), (150, 81, 15, 0)),
}


def counted(monkeypatch):
    """Counts of what a solve calls."""
    counts = Counter()

    def count(owner, name, key):
        function = getattr(owner, name)

        def counting(*args, **kwargs):
            counts[key] += 1
            return function(*args, **kwargs)

        monkeypatch.setattr(owner, name, counting)

    for name in ("epoch", "scored_epoch"):
        count(ascent, name, "epochs")
    count(Run, "certify", "certificates")
    count(newton, "gram_matrix", "Gram matrices")
    count(problem_module.gap, "scores", "scores")
    return counts


@pytest.mark.parametrize("name", CASES)
def test_counts_do_not_grow(name, monkeypatch):
    data, loss, penalty, limits = CASES[name]
    X, y = data()
    y = np.sign(y) if type(loss) in SIGNS else y
    counts = counted(monkeypatch)
    s = dg.solve(X, y, loss=loss, penalty=penalty(len(y), float(np.max(np.abs(X.T @ y))) / len(y)), tol=1e-6, max_passes=1e4)
    assert s.status is dg.Status.CERTIFIED
    found = (s.passes, counts["epochs"], counts["certificates"], counts["Gram matrices"])
    assert all(a <= b for a, b in zip(found, limits, strict=True)), f"{found}: more than {limits}"
