"""`dualgap paper`: the paper's table of data, its figure, and the table of run times of its introduction as measured scaling."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dualgap.experiments.data import NAMES, DataSet

PARTS = ("data", "figure", "scaling")
QUICK_ROWS, QUICK_PASSES, QUICK_SIZES, QUICK_LIMIT = 1500, 30, (250, 500, 1000), 50.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder with the data sets, and where fetched ones are kept")
    parser.add_argument("--output", type=Path, metavar="OUT", required=True, help="folder for pictures, numbers, and finished runs")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="what to do (default: all)")
    parser.add_argument("--datasets", nargs="+", choices=NAMES, default=list(NAMES), help="of the figure (default: all)")
    parser.add_argument("--fetch", action="store_true", help="fetch originals through scikit-learn although DIR holds stand-ins")
    parser.add_argument("--rows", type=_whole, metavar="N", help="use at most N random rows of each data set; the pictures say so")
    parser.add_argument("--passes", type=_whole, default=100, metavar="N", help="at most so many passes in the figure (default: 100)")
    parser.add_argument("--inner", type=_inner, default="theory", metavar="theory|N", help="accuracy of inner problems, or passes of each")
    parser.add_argument("--sampling", choices=("iid", "permuted"), default="iid", help="rows with replacement, as printed, or permuted")
    parser.add_argument("--seed", type=int, default=0, help="of the order of rows (default: 0)")
    parser.add_argument("--quick", action="store_true", help=f"at most {QUICK_ROWS} rows, {QUICK_PASSES} passes, two strengths: a minute")


def _whole(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number, at least 1, got {text}")
    return number


def _inner(text: str) -> int | str:
    return text if text == "theory" else _whole(text)


def run(options: argparse.Namespace) -> int:
    """Do what the options ask for; the exit status."""
    from rich.console import Console

    console, errors = Console(soft_wrap=True), Console(stderr=True, soft_wrap=True)
    try:
        options.output.mkdir(parents=True, exist_ok=True)
        _experiments(options, console)
    except (OSError, ValueError, ImportError) as error:
        errors.print(f"dualgap paper: {error}", highlight=False, markup=False)
        return 2
    except KeyboardInterrupt:
        errors.print("Stopped. The same command goes on from the last finished run.", highlight=False)
        return 3
    return 0


def _experiments(options: argparse.Namespace, console: Any) -> None:
    from dualgap.experiments.data import load
    from dualgap.experiments.lab import Lab

    rows = min(options.rows or QUICK_ROWS, QUICK_ROWS) if options.quick else options.rows
    data = []
    for name in options.datasets:
        console.print(f"Reading {name}", highlight=False)
        data.append(load(name, options.data, fetch=options.fetch, say=console.print).sampled(rows, options.seed))
    lab = Lab(options.output / "runs.jsonl", console)
    parts = {"data": _data, "figure": _figure, "scaling": _scaling}
    for part in PARTS:
        if part in options.parts:
            file = options.output / f"{part}.md"
            file.write_text(parts[part](options, data, lab) + "\n", encoding="utf-8")
            console.print(f"Wrote {file}", highlight=False)


def _data(options: argparse.Namespace, data: Sequence[DataSet], lab: Any) -> str:
    from dualgap.experiments.table import data_rows, markdown, write_csv

    table = data_rows(data)
    write_csv(table, options.output / "data.csv")
    text = f"## Data\n\n{markdown(table)}"
    lab.console.print(text, highlight=False, markup=False)
    return text


def _figure(options: argparse.Namespace, data: Sequence[DataSet], lab: Any) -> str:
    from dualgap.experiments import figure
    from dualgap.experiments.table import markdown, write_csv

    settings = figure.Settings(
        lambdas=(1e-6, 1e-8) if options.quick else figure.LAMBDAS,
        passes=float(min(options.passes, QUICK_PASSES) if options.quick else options.passes),
        inner=options.inner,
        sampling=options.sampling,
        seed=options.seed,
        reference=1e-4 if options.quick else figure.Settings.reference,
    )
    with lab.working(settings.count(len(data))):
        cells = figure.measure(data, settings, lab)
    table = figure.rows(cells)
    write_csv(table, options.output / "figure.csv")
    write_csv(figure.curves(cells), options.output / "curves.csv")
    for name, log in (("figure", False), ("suboptimality", True)):
        figure.draw(cells, data, settings, _pictures(options.output, name), log=log)
    bounds = figure.bound_rows(cells, data)
    write_csv(bounds, options.output / "bounds.csv")
    parts = [
        f"## Figure\n\n{figure.caption(data)}",
        f"Passes until P(w) was within 1e-3 of its minimum.\n\n{markdown(_labelled(figure.beside(table, settings.passes), data))}",
        f"## Theorems\n\n{markdown(_labelled(bounds, data))}",
    ]
    return "\n\n".join(parts)


def _labelled(rows: Sequence[dict[str, Any]], data: Sequence[DataSet]) -> list[dict[str, Any]]:
    """Rows in which stand-ins are called so."""
    labels = {one.name: one.label for one in data}
    return [row | {"data": labels[row["data"]]} for row in rows]


def _scaling(options: argparse.Namespace, data: Sequence[DataSet], lab: Any) -> str:
    from dualgap.experiments import scaling
    from dualgap.experiments.table import markdown, write_csv

    most = min(one.X.shape[0] for one in data)
    sizes = QUICK_SIZES if options.quick else scaling.Settings.sizes
    if most < sizes[2]:
        raise ValueError(
            f"the scaling needs data sets of {sizes[2]} rows or more, got one of {most}: leave it out with --parts data figure"
        )
    sizes = tuple(n for n in sizes if n <= most)
    settings = scaling.Settings(
        sizes=sizes,
        size=min(sizes[-1], scaling.Settings.size),
        passes=QUICK_LIMIT if options.quick else scaling.Settings.passes,
        strengths=3 if options.quick else 5,
        seed=options.seed,
    )
    with lab.working(settings.count(len(data))):
        points = scaling.measure(data, settings, lab)
    table = scaling.rows(points)
    write_csv(table, options.output / "scaling.csv")
    write_csv([point._asdict() for point in points], options.output / "scaling-points.csv")
    for one in data:
        scaling.draw(points, one, settings, _pictures(options.output, f"scaling-{one.name}"))
    titles = {one.name: one.label for one in data}
    what = "Exponent measured, in brackets that of the formula at the same points; the fewest and the most passes."
    return f"## Run times of the introduction\n\n{what}\n\n{markdown(scaling.beside(table, titles))}"


def _pictures(folder: Path, name: str) -> list[Path]:
    return [folder / f"{name}{ending}" for ending in (".png", ".svg")]
