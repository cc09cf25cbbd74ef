"""The demonstration: a fit of a bundled data set, its gap going down, and what the certificate means."""

import numpy as np

import dualgap as dg
from dualgap.report.plot import plot_history


def run_demo(tol: float, plot: str | None) -> dg.Solution:
    """Fit a classifier of tumours (Wisconsin diagnostic data, 569 x 30, from scikit-learn) and print the certificate."""
    from rich.console import Console
    from sklearn.datasets import load_breast_cancer

    console = Console()
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = np.where(y == 1, 1.0, -1.0)
    train = np.random.default_rng(0).permutation(len(y)) < 400
    console.print(f"Logistic regression with an elastic net on {train.sum()} tumours, {X.shape[1]} features\n")
    s = dg.solve(X[train], y[train], loss=dg.Logistic(), penalty=dg.ElasticNet(l1=1e-3, l2=1e-4), intercept=True, tol=tol, verbose=True)
    accuracy = float(np.mean(np.sign(X[~train] @ s.w + s.intercept) == y[~train]))
    console.print()
    console.print(repr(s), highlight=False)
    console.print(
        f"\nNo coefficients whatever have an objective below {s.primal - s.gap:.12f}; these have {s.primal:.12f}.\n"
        f"Each coefficient is within {s.distance:.1e} of the optimal one. Accuracy on the {(~train).sum()} held-out tumours: {accuracy:.1%}"
    )
    if plot is not None:
        plot_history({"certified relative gap": s}, plot, title="Logistic regression, elastic net, breast cancer data")
        console.print(f"Drew {plot}")
    return s
