"""`dualgap predict`: a line for each row, in bounded memory."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from dualgap.commands.options import add_input, reading

WHAT = ("label", "score", "probability")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    add_input(parser)
    parser.add_argument("--threads", type=int, help=argparse.SUPPRESS)
    group = parser.add_argument_group("prediction")
    group.add_argument("--model", required=True, metavar="FILE", help="the model that `dualgap fit` wrote")
    group.add_argument("--output", metavar="FILE", default="-", help="where the lines go (default: standard output)")
    group.add_argument(
        "--what",
        choices=WHAT,
        default="label",
        help="a label, or the score of a regression; scores; or probabilities (default: %(default)s)",
    )
    group.add_argument("--quiet", action="store_true", help="say nothing about how well the predictions fit the targets")


def run(options: argparse.Namespace) -> int:
    """Predict, and say how well that fits the targets where there are any."""
    from dualgap.cli import CERTIFIED
    from dualgap.commands.record import check_outputs
    from dualgap.commands.score import Score
    from dualgap.data.chunk import matrix
    from dualgap.data.readers import Sources
    from dualgap.model import Model

    model = Model.load(options.model)
    if options.what == "probability":
        model.probabilities(model.scores(_no_rows(model.d)))
    more: dict[str, Any] = {"wanted": model.names, "supervised": False}
    if options.first_column is None:
        more["first_column"] = model.first_column
    sources = Sources(options.files, reading(options, **more))
    check_width(sources, model)
    if options.output != "-":
        check_outputs((options.output,))
    score = Score(model)
    with _writing(options.output) as file:
        for chunk in sources.chunks():
            scores = model.scores(matrix(chunk.rows, model.d, sources.first_column or 0))
            shown = scores if options.what == "score" else model.decide(scores)
            if options.what == "probability":
                shown = model.probabilities(scores)
            file.write("".join(f"{line(row)}\n" for row in shown.tolist()))
            if chunk.y is not None:
                score.add(scores, chunk.y, chunk.weight)
    if not options.quiet and score.n:
        print(score, file=sys.stderr)  # noqa: T201
    return CERTIFIED


def check_width(sources: Any, model: Any) -> None:
    """Dense rows must have as many features as the model."""
    from dualgap.data.errors import InputError

    if not sources.sparse and sources.d != model.d:
        raise InputError(sources.paths[0], f"must have the {model.d} features of the model, got {sources.d}")


def line(row: Any) -> str:
    """A line for what is predicted for a row."""
    if isinstance(row, list):
        return " ".join(map(repr, row))
    return str(int(row)) if isinstance(row, float) and row.is_integer() and abs(row) < 2**53 else str(row)


@contextmanager
def _writing(path: str) -> Iterator[TextIO]:
    if path == "-":
        yield sys.stdout
        return
    with open(path, "w", encoding="utf-8") as file:
        yield file


def _no_rows(d: int) -> Any:
    import numpy as np

    return np.empty((0, d))
