"""`dualgap demo`: a first fit."""

import argparse

from dualgap.commands.options import positive


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--tol", type=positive, default=1e-9, help="certified relative gap to reach (default: %(default)g)")
    parser.add_argument("--plot", metavar="FILE", help="draw the gap going down into a PNG or SVG file (needs the extra 'plot')")


def run(options: argparse.Namespace) -> int:
    """Fit the data set that comes with scikit-learn."""
    from dualgap.report.demo import run_demo

    run_demo(options.tol, options.plot)
    return 0
