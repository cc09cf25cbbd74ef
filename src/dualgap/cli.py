"""The command line. A command is a module that is imported when it is asked for, so that help and mistakes do not wait for numba.

Exit status: 0 done, and certified to the tolerance where there is one; 3 stopped short of it; 2 the command or its input is wrong;
130 interrupted before there was anything to keep.
"""

import argparse
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module

CERTIFIED, WRONG, SHORT, NOTHING = 0, 2, 3, 130
COMMANDS = {
    "fit": ("dualgap.commands.fit", "fit a model to files and prove how good it is"),
    "predict": ("dualgap.commands.predict", "predict a line for each row"),
    "certify": ("dualgap.commands.certify", "prove how far a model is from the best one on some data"),
    "path": ("dualgap.commands.path", "fit along a path of penalties, each point certified"),
    "convert": ("dualgap.commands.convert", "write a store, for data larger than memory"),
    "paper": ("dualgap.experiments.paper", "run the experiments of the paper anew: tables, figure and scaling"),
    "demo": ("dualgap.commands.demo", "fit a data set that comes with scikit-learn and show the certificate"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    parser = argparse.ArgumentParser(
        prog="dualgap",
        description="Regularized linear models, each fit with a proof of its accuracy.",
        epilog="Exit status: 0 certified to the tolerance, 3 stopped short of it (a model is still written), 2 wrong usage or input.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (module, purpose) in COMMANDS.items():
        command = commands.add_parser(name, help=purpose, description=purpose[0].upper() + purpose[1:] + ".", allow_abbrev=False)
        if name == next(iter(arguments), None):
            import_module(module).add_arguments(command)
    return _run(parser.parse_args(arguments))


def _run(options: argparse.Namespace) -> int:
    """Run the command of the options; what is wrong with the input, and what the system refuses, is said in a line."""
    try:
        status: int = import_module(COMMANDS[options.command][0]).run(options)
    except BrokenPipeError:
        # whoever read our output has gone: nothing more to say, and nowhere to say it
        with suppress(OSError):
            sys.stdout.close()
        return CERTIFIED
    except KeyboardInterrupt:
        return _complain(options, "interrupted before there was anything to keep", NOTHING)
    except MemoryError:
        return _complain(options, "there is not enough memory", WRONG)
    except (ValueError, OSError) as error:
        return _complain(options, str(error), WRONG)
    return status


def _complain(options: argparse.Namespace, message: str, status: int) -> int:
    print(f"dualgap {options.command}: {message}", file=sys.stderr)  # noqa: T201
    return status


if __name__ == "__main__":
    sys.exit(main())
