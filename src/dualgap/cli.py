"""The command line: `dualgap demo` fits a real data set and shows its certificate, `dualgap paper` runs the experiments of the paper."""

import argparse
import sys
from collections.abc import Sequence

from dualgap.experiments import paper


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status is 0 if all went well, 2 if the command was not understood."""
    parser = argparse.ArgumentParser(prog="dualgap", description="Regularized linear models, each fit with a proof of its accuracy.")
    commands = parser.add_subparsers(dest="command", required=True)
    demo = commands.add_parser("demo", help="fit a data set that comes with scikit-learn and show the certificate")
    demo.add_argument("--tol", type=float, default=1e-9, help="certified relative gap to reach (default: %(default)g)")
    demo.add_argument("--plot", metavar="FILE", help="draw the gap going down into a PNG or SVG file (needs the extra 'plot')")
    paper_command = commands.add_parser("paper", help="run the experiments of the paper anew: tables, figure and scaling")
    paper.add_arguments(paper_command)
    options = parser.parse_args(arguments)
    if options.command == "paper":
        return paper.run(options)
    if not options.tol > 0.0:
        parser.error(f"argument --tol: must be > 0, got {options.tol!r}")
    from dualgap.report.demo import run_demo

    run_demo(options.tol, options.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
