"""Tables as files: CSV for programs, Markdown for people; and the paper's table of data sets beside what was used."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dualgap.experiments.data import DataSet

PAPER = {
    "astro-ph": (29_882, 32_487, 99_757, 0.0008),
    "cov1": (522_911, 58_101, 54, 0.2222),
    "CCAT": (781_265, 23_149, 47_236, 0.0016),
}
Row = dict[str, Any]


def data_rows(data: Sequence[DataSet]) -> list[Row]:
    """The paper's table, each number followed by that of the data at hand."""
    out = []
    for one in data:
        n, d = one.X.shape
        used = (n, one.test_rows or None, d, one.X.nnz / (n * d))
        row: Row = {"data": one.name, "what": "STAND-IN" if one.stand_in else "original", "source": one.source}
        for name, theirs, ours in zip(("training rows", "test rows", "features", "sparsity"), PAPER[one.name], used, strict=True):
            row |= {f"{name}, paper": theirs, f"{name}, here": ours}
        out.append(row)
    return out


def write_csv(rows: Sequence[Row], file: Path) -> None:
    """Rows of equal keys as CSV."""
    with file.open("w", newline="") as out:
        writer = csv.DictWriter(out, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def markdown(rows: Sequence[Row]) -> str:
    """Rows of equal keys as a table in Markdown."""
    lines = ["| " + " | ".join(rows[0]) + " |", "|" + "---|" * len(rows[0])]
    lines += ["| " + " | ".join(shown(name, value) for name, value in row.items()) + " |" for row in rows]
    return "\n".join(lines)


def shown(name: str, value: Any) -> str:
    """A value as people write it."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name.startswith("sparsity"):
        return f"{100.0 * value:.2f} %"
    if name == "lambda":
        return f"{value:.0e}"
    if isinstance(value, int):
        return f"{value:,}"
    return number(value) if isinstance(value, float) else str(value)


def number(value: float) -> str:
    """Three digits, or all before the point, as people write them."""
    return f"{value:,.0f}" if abs(value) >= 100.0 else f"{value:.3g}"
