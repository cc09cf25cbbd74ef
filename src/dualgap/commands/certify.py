"""`dualgap certify`: how far a model is at most from the best one on some data, whoever fitted it and to whatever.

The dual point of its coefficients is improved until it proves enough, or until more would not change the answer by a tenth.
"""

import argparse
import math
from typing import TYPE_CHECKING, Any

from dualgap.commands.options import UsageError, add_input, add_limits, limits, reading

if TYPE_CHECKING:
    from dualgap.audit.proof import Proof
    from dualgap.model import Model

ENOUGH = 0.1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    add_input(parser)
    add_limits(parser)
    group = parser.add_argument_group("certificate")
    group.add_argument("--model", required=True, metavar="FILE", help="the model that `dualgap fit` wrote, with its loss and penalty")
    group.add_argument("--json", metavar="FILE", help="write the certificate")


def run(options: argparse.Namespace) -> int:
    """Bound the distance of the model's objective from the least one."""
    from dualgap.cli import CERTIFIED, SHORT
    from dualgap.commands.record import check_outputs, finite, write_json
    from dualgap.commands.targets import encoded
    from dualgap.data.readers import load
    from dualgap.model import Model

    model = Model.load(options.model)
    if model.loss is None or model.penalty is None:
        raise UsageError(f"{options.model} was fitted with an own loss or penalty, which is not in it")
    check_outputs((options.json,))
    more: dict[str, Any] = {"wanted": model.names, "features": options.features or model.d}
    if options.first_column is None:
        more["first_column"] = model.first_column
    table = load(options.files, reading(options, **more), options.dtype)
    assert table.y is not None
    if table.X.shape[1] != model.d:
        raise UsageError(f"the rows must have the {model.d} features of the model, got {table.X.shape[1]}")
    y, _ = encoded(table.y, model.loss, type(model.loss).__name__, model.labels)
    proof = proved(model, table.X, y, table.weight, limits(options))
    bounds = {name: getattr(proof, name) for name in ("at_least", "null", "distance", "passes")}
    bounds |= {"objective": proof.primal, "at_most": proof.gap}
    if not options.quiet:
        print(_words(bounds, options.tol))  # noqa: T201
    if options.json is not None:
        write_json(options.json, finite({**bounds, "tol": options.tol, "model": options.model, "files": options.files}))
    return CERTIFIED if bounds["at_most"] <= options.tol * bounds["null"] else SHORT


def proved(model: "Model", X: Any, y: Any, weight: Any, how: dict[str, Any]) -> "Proof":
    """What can be proved about a model."""
    import numpy as np

    from dualgap.audit.proof import Effort, prove
    from dualgap.data.validation import make_problem

    problem, _ = make_problem(X, y, model.loss, model.penalty, weight, model.with_intercept, how.pop("n_threads"))
    w = np.zeros(problem.shape)
    w[: problem.d] = model.w
    if problem.intercept:
        w[problem.d] = model.intercept
    limits = {name: how.pop(name) for name in ("max_passes", "time_limit", "tol")}
    return prove(problem, w, Effort(**limits, share=ENOUGH, options=how))


def _words(bounds: dict[str, float], tol: float) -> str:
    most, null = bounds["at_most"], bounds["null"]
    verdict = f"within the tolerance of {tol:g}" if most <= tol * null else f"not proved to be within the tolerance of {tol:g}"
    if bounds["at_least"] > tol * null:
        verdict = f"proved to be farther off than the tolerance of {tol:g}"
    return (
        f"The objective of the model is {bounds['objective']:.10g}.\n"
        f"The least one is below it by at least {bounds['at_least']:.3g} and at most {most:.3g},\n"
        f"which is {most / null if null > 0.0 else math.inf:.3g} of the objective of the null model: {verdict}.\n"
        f"The coefficients are within {bounds['distance']:.3g} of the optimal ones. {bounds['passes']:.1f} passes."
    )
