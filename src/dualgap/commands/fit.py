"""`dualgap fit`: a model with its certificate."""

import argparse
import signal
from typing import Any

from dualgap.commands.options import (
    UsageError,
    add_input,
    add_limits,
    add_problem,
    limits,
    loss_of,
    penalty_of,
    positive,
    reading,
    strengths,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    add_input(parser)
    add_problem(parser)
    add_limits(parser)
    group = parser.add_argument_group("output")
    group.add_argument("--model", metavar="FILE", help="write the model")
    group.add_argument("--json", metavar="FILE", help="write the certificate and how it was reached")
    group.add_argument("--checkpoint", metavar="DIR", help="keep the state of the solve in a folder")
    group.add_argument("--every", type=positive, default=30.0, metavar="S", help="seconds between two states (default: %(default)g)")
    group.add_argument("--resume", action="store_true", help="go on from the state in the folder of --checkpoint, if there is one")


def run(options: argparse.Namespace) -> int:
    """Fit, write what was asked for, and say how it ended."""
    from dualgap.checkpoint import Checkpoint
    from dualgap.cli import CERTIFIED, SHORT
    from dualgap.commands.record import certified, check_outputs, record_of, write_json
    from dualgap.commands.targets import encoded
    from dualgap.data.readers import load
    from dualgap.model import Model
    from dualgap.solve import solve

    loss = loss_of(options)
    strengths(options, 1.0)
    if options.resume and options.checkpoint is None:
        raise UsageError("--resume needs --checkpoint")
    check_outputs((options.model, options.json))
    table = load(options.files, reading(options), options.dtype)
    assert table.y is not None
    y, labels = encoded(table.y, loss, options.loss)
    total = float(len(y) if table.weight is None else table.weight.sum())
    penalty = penalty_of(options, *strengths(options, total))
    # a queue of jobs that ends its time sends SIGTERM: as good a reason to stop and keep what there is as Ctrl-C
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    checkpoint = None if options.checkpoint is None else Checkpoint(options.checkpoint, every=options.every, resume=options.resume)
    stated: dict[str, Any] = {"loss": loss, "penalty": penalty, "sample_weight": table.weight, "intercept": options.intercept}
    s = solve(table.X, y, **stated, **limits(options), checkpoint=checkpoint)
    about: dict[str, Any] = {
        "with_intercept": options.intercept,
        "labels": labels,
        "names": table.names,
        "first_column": table.first_column or 0,
    }
    record = record_of(
        s, files=options.files, rows=len(y), features=int(table.X.shape[1]), tol=options.tol, seed=options.seed, labels=labels
    )
    if options.model is not None:
        Model.of(s, **about, record=record).save(options.model)
    if options.json is not None:
        write_json(options.json, record)
    if not options.quiet:
        print(s)  # noqa: T201
        print(f"  No coefficients whatever have an objective below {s.primal - s.gap:.10g}.")  # noqa: T201
    return CERTIFIED if certified(s) else SHORT
