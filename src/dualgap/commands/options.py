"""What several commands ask for: input, a problem, limits; and what becomes of the answers."""

import argparse
import math
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from dualgap.data.layout import Reading

FORMATS = ("auto", "svmlight", "csv", "parquet", "arrow", "npz", "npy", "store")
LOSSES = {
    "squared": ("Squared", ()),
    "absolute": ("Absolute", ()),
    "huber": ("Huber", ("delta",)),
    "epsilon-insensitive": ("EpsilonInsensitive", ("epsilon",)),
    "quantile": ("Quantile", ("level",)),
    "logistic": ("Logistic", ()),
    "hinge": ("Hinge", ()),
    "smooth-hinge": ("SmoothHinge", ("gamma",)),
    "squared-hinge": ("SquaredHinge", ()),
    "max-hinge": ("MaxHinge", ()),
    "smooth-max-hinge": ("SmoothMaxHinge", ("gamma",)),
    "soft-max-hinge": ("SoftMaxHinge", ("gamma",)),
    "softmax": ("Softmax", ()),
}
SOLVERS = ("auto", "adaptive", "prox_sdca", "accelerated", "fista", "newton")


class UsageError(ValueError):
    """Options that do not go together."""


def number(text: str) -> float:
    """A finite number."""
    value = float(text)
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"must be a finite number, got {text}")
    return value


def positive(text: str) -> float:
    """A positive number."""
    value = number(text)
    if not value > 0.0:
        raise argparse.ArgumentTypeError(f"must be > 0, got {text}")
    return value


def nonnegative(text: str) -> float:
    """A number that is not negative."""
    value = number(text)
    if value < 0.0:
        raise argparse.ArgumentTypeError(f"must be >= 0, got {text}")
    return value


def share(text: str) -> float:
    """A number from 0 to 1."""
    value = number(text)
    if not 0.0 <= value <= 1.0:
        raise argparse.ArgumentTypeError(f"must be from 0 to 1, got {text}")
    return value


def count(text: str) -> int:
    """A positive whole number."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number, at least 1, got {text}")
    return value


def size(text: str) -> int:
    """A number of bytes, such as 500M or 2.5GB."""
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?)\s*([KMGT]?)(?:I?B)?\s*", text, re.IGNORECASE)
    value = int(float(found[1]) * 1024 ** " KMGT".index(found[2].upper() or " ")) if found else 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be a size such as 500M, got {text}")
    return value


def add_input(parser: argparse.ArgumentParser, what: str = "a file, or several that are read one after the other") -> None:
    """Files and how they are read."""
    parser.add_argument("files", nargs="+", metavar="FILE", help=what)
    group = parser.add_argument_group("input")
    group.add_argument("--format", choices=FORMATS, default="auto", help="default: what the files say by themselves")
    group.add_argument("--target", metavar="COLUMN", help="target: a column of a table, a key of an npz file, or an npy file")
    group.add_argument("--weight", metavar="COLUMN", help="weights: the same, or a file with a number to a line")
    group.add_argument("--drop", metavar="COLUMN", action="append", default=[], help="a column that is no feature; may be repeated")
    group.add_argument("--features", type=count, metavar="D", help="number of columns of svmlight text (default: as many as appear)")
    group.add_argument("--first-column", type=int, choices=(0, 1), help="what svmlight text counts columns from (default: 0 if it has a 0)")
    group.add_argument(
        "--header", action=argparse.BooleanOptionalAction, help="whether a csv file begins with names (default: if they are)"
    )
    group.add_argument("--delimiter", metavar="C", help="what separates the fields of a csv file (default: what the first line has)")
    group.add_argument(
        "--memory", type=size, metavar="SIZE", help="rows of a store to hold at a time, such as 500M (default: half of what is available)"
    )


def reading(options: argparse.Namespace, **more: Any) -> "Reading":
    """How input is read."""
    from dualgap.data.layout import Reading

    said = {
        "format": options.format,
        "target": options.target,
        "weight": options.weight,
        "drop": tuple(options.drop),
        "features": options.features,
        "first_column": options.first_column,
        "header": options.header,
        "delimiter": "\t" if options.delimiter in ("tab", r"\t") else options.delimiter,
        "threads": getattr(options, "threads", None),
        "memory": options.memory,
    }
    return Reading(**{**said, **more})


def add_problem(parser: argparse.ArgumentParser) -> None:
    """Loss and penalty."""
    group = parser.add_argument_group("problem")
    group.add_argument("--loss", choices=LOSSES, required=True, metavar="LOSS", help=f"one of {', '.join(LOSSES)}")
    group.add_argument("--gamma", type=positive, help="of smooth-hinge, smooth-max-hinge and soft-max-hinge (default: 1)")
    group.add_argument("--delta", type=positive, help="of huber (default: 1)")
    group.add_argument("--epsilon", type=nonnegative, help="of epsilon-insensitive (default: 0.1)")
    group.add_argument("--level", type=share, help="of quantile (default: 0.5)")
    group.add_argument("--intercept", action="store_true", help="fit a constant that is not penalized")
    group.add_argument(
        "--penalty", choices=("elastic-net", "group", "q-norm", "entropy"), default="elastic-net", help="default: %(default)s"
    )
    group.add_argument("--l1", type=nonnegative, metavar="X", help="weight of |w|_1 beside the mean of the loss")
    group.add_argument("--l2", type=nonnegative, metavar="X", help="weight of |w|^2/2")
    group.add_argument("--lambda", dest="lam", type=nonnegative, metavar="X", help="both: l1 = X r, l2 = X (1 - r), r as below")
    group.add_argument("--alpha", type=nonnegative, metavar="X", help="the same, as scikit-learn's Lasso, ElasticNet and SGD call it")
    group.add_argument("--C", type=positive, metavar="X", help="the same as --lambda 1/(X n), n the sum of the weights, as in liblinear")
    group.add_argument("--l1-ratio", type=share, metavar="R", help="r (default: 0)")
    group.add_argument("--groups", metavar="FILE", help="of the penalty group: the number of the group of each feature, 0, 1, ...")
    group.add_argument("--q", type=number, help="of the penalty q-norm (default: 1 + 1/log d)")
    group.add_argument("--factors", metavar="FILE", help="a factor of the penalty for each feature; 0: not penalized")
    group.add_argument("--lower", metavar="X", help="least value of coefficients, a number or a file with one for each")
    group.add_argument("--upper", metavar="X", help="largest value of coefficients")


def loss_of(options: argparse.Namespace) -> Any:
    """The loss that the options name."""
    import dualgap as dg

    name, takes = LOSSES[options.loss]
    given = {p: getattr(options, p) for p in ("gamma", "delta", "epsilon", "level") if getattr(options, p) is not None}
    for parameter in given:
        if parameter not in takes:
            raise UsageError(f"--{parameter} is no parameter of the loss {options.loss}")
    defaults = {"gamma": 1.0, "delta": 1.0, "epsilon": 0.1, "level": 0.5}
    return getattr(dg, name)(**{p: given.get(p, defaults[p]) for p in takes})


def strengths(options: argparse.Namespace, total: float) -> tuple[float, float]:
    """l1 and l2; `total` is the sum of the weights."""
    ways = [name for name in ("lam", "alpha", "C") if getattr(options, name) is not None]
    direct = options.l1 is not None or options.l2 is not None
    if len(ways) + direct != 1:
        raise UsageError("say how much is penalized in one way: --l1 and --l2, or --lambda, or --alpha, or --C")
    if direct:
        if options.l1_ratio is not None:
            raise UsageError("--l1-ratio goes with --lambda, --alpha or --C, not with --l1 and --l2")
        return options.l1 or 0.0, options.l2 or 0.0
    value = getattr(options, ways[0])
    return mixed(1.0 / (value * total) if ways == ["C"] else value, options)


def mixed(lam: float, options: argparse.Namespace) -> tuple[float, float]:
    """l1 and l2 of an elastic net of this strength."""
    ratio = options.l1_ratio or 0.0
    return lam * ratio, lam * (1.0 - ratio)


def penalty_of(options: argparse.Namespace, l1: float, l2: float) -> Any:
    """The penalty that the options name, of this strength."""
    import dualgap as dg

    for option, name in (("groups", "group"), ("q", "q-norm")):
        if getattr(options, option) is not None and options.penalty != name:
            raise UsageError(f"--{option} goes with --penalty {name}")
    penalty: Any
    if options.penalty == "group":
        if options.groups is None:
            raise UsageError("--penalty group needs --groups")
        penalty = dg.GroupL1(l1, l2, numbers_of(options.groups).astype(int))
    elif options.penalty in ("q-norm", "entropy"):
        if l1:
            raise UsageError(f"--penalty {options.penalty} has no l1")
        penalty = dg.QNorm(l2, options.q) if options.penalty == "q-norm" else dg.Entropy(l2)
    else:
        penalty = dg.ElasticNet(l1, l2) if l1 else dg.L2(l2)
    if options.factors is not None:
        penalty = dg.Factors(penalty, numbers_of(options.factors))
    if options.lower is not None or options.upper is not None:
        penalty = dg.Box(penalty, _bound("lower", options.lower, -math.inf), _bound("upper", options.upper, math.inf))
    return penalty


def _bound(name: str, text: str | None, default: float) -> Any:
    if text is None:
        return default
    try:
        return float(text)
    except ValueError:
        return numbers_of(text, f"--{name} must be a number or a file of numbers: ")


def numbers_of(path: str, otherwise: str = "") -> "npt.NDArray[np.float64]":
    """The numbers of a file, npy or one to a line."""
    from pathlib import Path

    from dualgap.data.readers import numbers_apart

    if not Path(path).is_file():
        raise UsageError(f"{otherwise}there is no file {path!r}")
    return numbers_apart(path)


def add_limits(parser: argparse.ArgumentParser) -> None:
    """What ends a solve, and how it works."""
    group = parser.add_argument_group("solving")
    group.add_argument(
        "--tol", type=positive, default=1e-6, help="certified gap to reach, relative to the null model (default: %(default)g)"
    )
    group.add_argument(
        "--max-passes", type=positive, default=1000.0, metavar="N", help="stop after that many passes (default: %(default)g)"
    )
    group.add_argument("--time-limit", type=positive, metavar="S", help="stop after that many seconds")
    group.add_argument("--solver", choices=SOLVERS, default="auto", help="default: %(default)s")
    group.add_argument("--threads", type=count, metavar="N", help="threads that work at a time (default: all cores at hand)")
    group.add_argument("--seed", type=int, default=0, help="of the order in which rows are visited (default: %(default)s)")
    group.add_argument("--dtype", choices=("float32", "float64"), help="how values are kept (default: as in the files; float64 for text)")
    group.add_argument("--quiet", action="store_true", help="no progress and no summary")


def limits(options: argparse.Namespace) -> dict[str, Any]:
    """The options of `dualgap.solve` that the limits are."""
    return {
        "solver": options.solver,
        "tol": options.tol,
        "max_passes": options.max_passes,
        "time_limit": options.time_limit,
        "random_state": options.seed,
        "n_threads": options.threads,
        "verbose": not options.quiet,
    }
