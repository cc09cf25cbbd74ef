"""`dualgap path`: models along a path of strengths of the penalty, from strong to weak, each started from the one before and certified."""

import argparse
import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dualgap.commands.options import (
    UsageError,
    add_input,
    add_limits,
    add_problem,
    count,
    limits,
    loss_of,
    mixed,
    penalty_of,
    positive,
    reading,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from dualgap.solution import Solution

STRENGTHS = ("l1", "l2", "lam", "alpha", "C")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    add_input(parser)
    add_problem(parser)
    add_limits(parser)
    group = parser.add_argument_group("path")
    group.add_argument("--lambdas", metavar="X,X,...", help="the strengths; l1 = X r, l2 = X (1 - r) with the r of --l1-ratio")
    group.add_argument("--start", type=positive, metavar="X", help="the first one (default: where the first coefficient leaves 0)")
    group.add_argument("--end", type=positive, metavar="X", help="the last one (default: a thousandth of the first)")
    group.add_argument("--number", type=count, default=20, metavar="N", help="how many, on a log scale (default: %(default)s)")
    group.add_argument("--output", metavar="FILE", required=True, help="coefficients that are not 0, in lines (csv), or arrays (npz)")
    group.add_argument("--json", metavar="FILE", help="write the certificates")


def run(options: argparse.Namespace) -> int:
    """Fit along the path."""
    from dualgap.cli import CERTIFIED, SHORT
    from dualgap.commands.record import certified, check_outputs, record_of, write_json
    from dualgap.commands.targets import encoded
    from dualgap.data.readers import load
    from dualgap.solve import solve

    loss = loss_of(options)
    if any(getattr(options, name) is not None for name in STRENGTHS):
        raise UsageError("a path takes --lambdas, or --start and --end, and --l1-ratio")
    if Path(options.output).suffix not in (".csv", ".npz"):
        raise UsageError(f"--output must end in .csv or .npz, got {options.output!r}")
    check_outputs((options.output, options.json))
    table = load(options.files, reading(options), options.dtype)
    assert table.y is not None
    y, labels = encoded(table.y, loss, options.loss)
    stated: dict[str, Any] = {"loss": loss, "sample_weight": table.weight, "intercept": options.intercept}
    found: list[Solution] = []
    how = {**limits(options), "verbose": False}
    lambdas = _lambdas(options, table.X, y, stated)
    for lam in lambdas:
        penalty = penalty_of(options, *mixed(lam, options))
        found.append(solve(table.X, y, penalty=penalty, **stated, **how, warm_start=found[-1] if found else None))
        if not options.quiet:
            s = found[-1]
            said = f"{s.status.name.lower():<12} {s.passes:6.1f} passes {s.seconds:7.2f} s"
            print(f"{lam:<12.6g} {_nonzero(s):>8} not 0   objective {s.primal:<14.8g} gap {s.relative_gap:8.2e}   {said}")  # noqa: T201
        if found[-1].status.name == "INTERRUPTED":
            break
    rows = list(_coefficients(lambdas, found, table.names, table.first_column or 0, labels))
    if Path(options.output).suffix == ".csv":
        with open(options.output, "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["lambda", "class", "feature", "coefficient"], *rows])
    else:
        _write_npz(options.output, lambdas, found)
    if options.json is not None:
        write_json(options.json, [{"lambda": lam, **record_of(s)} for lam, s in zip(lambdas, found, strict=False)])
    return CERTIFIED if len(found) == len(lambdas) and all(map(certified, found)) else SHORT


def _lambdas(options: argparse.Namespace, X: Any, y: Any, stated: dict[str, Any]) -> list[float]:
    """The strengths, strong to weak."""
    import numpy as np

    if options.lambdas is not None:
        if options.start is not None or options.end is not None:
            raise UsageError("--lambdas does not go with --start and --end")
        try:
            values = sorted((positive(text) for text in options.lambdas.split(",")), reverse=True)
        except (ValueError, argparse.ArgumentTypeError):
            raise UsageError(f"--lambdas must be positive numbers with commas between them, got {options.lambdas!r}") from None
        return values
    start = options.start or _largest(options, X, y, stated)
    end = options.end or 1e-3 * start
    if end > start:
        raise UsageError(f"--end must not be above the start of the path, {start:g}, got {end:g}")
    return [float(v) for v in np.geomspace(start, end, options.number)]


def _largest(options: argparse.Namespace, X: Any, y: Any, stated: dict[str, Any]) -> float:
    """The least strength at which all coefficients are 0; of a ridge, for which there is none, the one that is as strong as the data."""
    import numpy as np

    import dualgap as dg
    from dualgap.data.validation import make_problem
    from dualgap.null import null_weights

    problem, _ = make_problem(X, y, penalty=dg.L2(1.0), **stated)
    if not options.l1_ratio:
        return problem.mean_norm2
    a = problem.transposed(problem.dual_points(null_weights(problem), np.empty(problem.alpha_shape)))
    largest = float(np.max(np.abs(a[: problem.d])))
    if largest == 0.0:
        raise UsageError("--start must be given: no coefficient leaves 0 on these data")
    return largest / float(options.l1_ratio)


def _nonzero(s: "Solution") -> int:
    import numpy as np

    return int(np.count_nonzero(s.w))


def _coefficients(lambdas: list[float], found: list["Solution"], names: Any, first: int, labels: Any) -> "Iterator[tuple[Any, ...]]":
    """Lines (lambda, class, feature, coefficient) of what is not 0, the intercept first."""
    import numpy as np

    for lam, s in zip(lambdas, found, strict=False):
        w = s.w.reshape(len(s.w), -1)
        intercept = np.broadcast_to(s.intercept, w.shape[1])
        for k in range(w.shape[1]):
            label = labels[k] if labels is not None and w.shape[1] > 1 else ""
            yield lam, label, "intercept", float(intercept[k])
            for j in np.flatnonzero(w[:, k]).tolist():
                yield lam, label, names[j] if names is not None else j + first, float(w[j, k])


def _write_npz(path: str, lambdas: list[float], found: list["Solution"]) -> None:
    """Arrays with a row for each point of the path."""
    import numpy as np

    columns: dict[str, npt.NDArray[Any]] = {
        name: np.array([getattr(s, name) for s in found]) for name in ("primal", "dual", "gap", "relative_gap", "passes", "seconds")
    }
    np.savez(
        path,
        lambdas=np.array(lambdas[: len(found)]),
        coefficients=np.stack([s.w for s in found]),
        intercepts=np.array([s.intercept for s in found]),
        **columns,  # type: ignore[arg-type]
    )
