"""A solve as one HTML file that needs nothing else: no script, no font, no network."""

import math
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dualgap.report import held_out
from dualgap.report.plot import LEAST, progress_lines
from dualgap.report.svg import SUPERSCRIPTS, legend, line_chart
from dualgap.solution import Solution, Status, short

Array = npt.NDArray[np.float64]
LONG = ' class="long"'
MOST_COEFFICIENTS, MOST_PER_CLASS, MOST_CLASSES = 20, 10, 30


def write_report(
    s: Solution,
    path: str | Path,
    *,
    title: str | None = None,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    X_test: Any = None,
    y_test: Any = None,
) -> None:
    """Write the report of a solution; `Solution.report` says what the parameters are."""
    d, outputs = s.w.shape[0], s.w.shape[1] if s.w.ndim == 2 else 2
    features = [f"feature {j}" for j in range(d)] if feature_names is None else _names("feature_names", feature_names, d)
    classes = None if class_names is None else _names("class_names", class_names, outputs)
    if (X_test is None) != (y_test is None):
        raise ValueError(f"X_test and y_test must be given together, got only {'y_test' if X_test is None else 'X_test'}")
    heading = title or f"{type(s.loss).__name__} with {short(s.penalty)}"
    sections = [_certificate(s), _progress(s), _method(s), _coefficients(s, features, classes)]
    if X_test is not None:
        sections.append(held_out.section(s, X_test, y_test, classes))
    sections.append(_history(s))
    Path(path).write_text(_page(heading, s, sections), encoding="utf-8")


def _names(argument: str, names: Sequence[str], count: int) -> list[str]:
    if isinstance(names, str) or len(names) != count:
        raise ValueError(f"{argument} must hold {count} names, got {repr(names) if isinstance(names, str) else len(names)}")
    return [str(name) for name in names]


def _page(heading: str, s: Solution, sections: Iterable[str]) -> str:
    from dualgap import __version__

    style = (files("dualgap.report") / "report.css").read_text(encoding="utf-8")
    kind = "good" if s.status is Status.CERTIFIED else "warn"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(heading)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        f'<p class="kicker">dualgap report</p>\n<h1>{escape(heading)}</h1>\n<p class="status {kind}">{escape(s.status.value)}</p>\n'
        + "\n".join(sections)
        + f"\n<footer>Written by dualgap {__version__}. This file is complete: it loads nothing.</footer>\n</main>\n</body>\n</html>\n"
    )


def number(value: float, digits: int = 3) -> str:
    """A number as people write it, in one piece: a power of ten for what is very small or large."""
    mantissa, _, exponent = f"{value:.{digits}g}".partition("e")
    return f"{mantissa}·10{str(int(exponent)).translate(SUPERSCRIPTS)}" if exponent else mantissa


def cards(items: Iterable[tuple[str, str]]) -> str:
    """Numbers with names, in boxes."""
    shown = "".join(f"<div><dt>{escape(k)}</dt><dd{LONG if len(v) > 11 else ''}>{escape(v)}</dd></div>" for k, v in items)
    return f'<dl class="cards">{shown}</dl>'


def told_apart(primal: float, lower: float) -> int:
    """How many digits show that two numbers differ, at least 6 and at most what a number of 64 bits has."""
    apart = abs(primal - lower) / max(abs(primal), abs(lower), 1e-300)
    return min(max(6, 2 - math.floor(math.log10(max(apart, 1e-17)))), 17)


def _certificate(s: Solution) -> str:
    lower = s.primal - s.gap
    digits = told_apart(s.primal, lower)
    primal, bound = number(s.primal, digits), number(lower, digits)
    words = [
        f"No coefficients whatever have an objective below {bound}; these have {primal}. So they are within "
        f"{number(s.gap)} of the best there is, {number(s.relative_gap)} times the objective of the model without features. The dual "
        "variables that come with the solution prove this, with an allowance for rounding, whatever the algorithm did that found them."
    ]
    if np.isfinite(s.distance):
        words.append(
            f"The penalty is strongly convex, so each coefficient is within {number(s.distance)} of the optimal one; the bound is on the "
            "length of the vector of all differences."
        )
    else:
        words.append(
            "The penalty is not strongly convex, so several sets of coefficients may be optimal, and no distance to them is proved."
        )
    if s.status is not Status.CERTIFIED:
        words.append("The solve ended short of its tolerance. What is proved here holds all the same.")
    items = [
        ("relative gap", number(s.relative_gap)),
        ("objective P(w)", primal),
        ("proved lower bound", bound),
        ("gap", number(s.gap)),
        ("distance to the optimum", number(s.distance) if np.isfinite(s.distance) else "not bounded"),
    ]
    return "<h2>Certificate</h2>\n" + cards(items) + "".join(f"<p>{escape(text)}</p>" for text in words)


def _progress(s: Solution) -> str:
    lines = {name: np.maximum(values, LEAST) for name, values in progress_lines(s).items()}
    begun = number(float(next(iter(lines.values()))[0]))
    said = f"from {begun} to {number(s.relative_gap)} in {number(s.passes)} passes and {number(s.seconds)} seconds"
    label = "relative to the null objective"
    charts = [
        line_chart(np.maximum(x, LEAST), lines, x_label=name, y_label=label, description=f"The certified gap went {said}; against {name}.")
        for x, name in ((s.history.passes, "passes over the data"), (s.history.seconds, "seconds"))
    ]
    return (
        f"<h2>Progress</h2>\n<p>The certified gap went {said}. All lines are relative to the objective of the model without features, "
        f"{number(s.null, 6)}.</p>\n"
        '<div class="charts">' + "".join(f"<figure>{chart}</figure>" for chart in charts) + "</div>" + legend(list(lines))
    )


def _method(s: Solution) -> str:
    d, outputs = s.w.shape[0], s.w.shape[1] if s.w.ndim == 2 else 1
    items = [
        ("rows", f"{s.alpha.shape[0]:,}"),
        ("features", f"{d:,}"),
        *([("classes", f"{outputs:,}")] if outputs > 1 else []),
        ("passes, certificates included", number(s.passes, 4)),
        ("seconds", number(s.seconds)),
    ]
    parts = {"Loss": repr(s.loss), "penalty": short(s.penalty), "solver": repr(s.solver)}
    facts = ["<p>" + ", ".join(f"{name} <code>{escape(text)}</code>" for name, text in parts.items()) + ".</p>"]
    if s.notes:
        facts.append("<ul>" + "".join(f"<li>{escape(note)}</li>" for note in s.notes) + "</ul>")
    if type(s.solver).__name__ == "Auto":
        facts.append(_rule(s))
    return "<h2>How it was solved</h2>\n" + cards(items) + "".join(facts)


def _rule(s: Solution) -> str:
    """What the chosen solver is, and how one is chosen, in the words of the modules that do it."""
    from dualgap import solvers
    from dualgap.solvers import auto

    chosen = [note.removeprefix("Chose ").rstrip(".") for note in s.notes if note.startswith("Chose ")]
    lead = [f"{name}: {(getattr(solvers, name).__doc__ or '').splitlines()[0]}" for name in chosen if hasattr(solvers, name)]
    rules: list[str] = []
    for line in (auto.__doc__ or "").splitlines():
        if line[:1].isdigit():
            rules.append(line.split(". ", 1)[1])
        elif line.startswith("   ") and rules:
            rules[-1] += " " + line.strip()
    items = "".join(f"<li>{escape(rule)}</li>" for rule in rules)
    described = "".join(f"<p>{escape(text)}</p>" for text in lead)
    return f"{described}<details open><summary>How the solver is chosen</summary><ol>{items}</ol></details>"


def _coefficients(s: Solution, features: list[str], classes: list[str] | None) -> str:
    count = int(np.count_nonzero(s.w))
    lead = (
        f"<p>{count:,} of {s.w.size:,} coefficients are not zero. The largest by absolute value come first; they compare with each other "
        "only as far as the features are of the same scale.</p>"
    )
    if s.w.ndim == 1:
        at = f"<p>Intercept: {number(float(s.intercept), 6)}</p>" if s.intercept else ""
        if classes is not None:
            at = f"<p>Positive coefficients speak for {escape(classes[1])}, negative ones for {escape(classes[0])}.</p>{at}"
        return f"<h2>Coefficients</h2>\n{lead}{at}" + _largest(s.w, features, MOST_COEFFICIENTS, "Largest coefficients")
    names = classes or [f"class {k}" for k in range(s.w.shape[1])]
    intercepts = np.broadcast_to(s.intercept, (s.w.shape[1],))
    tables = [
        f"<div>{_largest(s.w[:, k], features, MOST_PER_CLASS, f'{names[k]} (intercept {number(float(intercepts[k]), 4)})')}</div>"
        for k in range(min(s.w.shape[1], MOST_CLASSES))
    ]
    more = f"<p>The first {MOST_CLASSES} of {s.w.shape[1]} classes.</p>" if s.w.shape[1] > MOST_CLASSES else ""
    return f'<h2>Coefficients</h2>\n{lead}{more}<div class="columns">{"".join(tables)}</div>'


def _largest(w: Array, names: list[str], most: int, caption: str) -> str:
    """A table of the largest coefficients, with bars."""
    order = np.argsort(-np.abs(w), kind="stable")[:most]
    order = order[w[order] != 0.0]
    if not order.size:
        return f"<p>{escape(caption)}: all coefficients are zero.</p>"
    top = float(np.abs(w[order[0]]))
    rows = "".join(
        f'<tr><th scope="row">{escape(names[j])}</th><td>{number(float(w[j]), 4)}</td>'
        f'<td><span class="bar{" minus" if w[j] < 0 else ""}" style="width:{100.0 * abs(w[j]) / top:.1f}%"></span></td></tr>'
        for j in order
    )
    columns = '<colgroup><col class="name"><col class="value"><col></colgroup>'
    head = '<thead><tr><th scope="col">feature</th><th scope="col">coefficient</th><th scope="col">size</th></tr></thead>'
    return f'<table class="coefficients"><caption>{escape(caption)}</caption>{columns}{head}<tbody>{rows}</tbody></table>'


def _history(s: Solution) -> str:
    """All certificates, folded away."""

    def row(record: Any) -> str:
        cells = (number(record.passes, 5), number(record.seconds), number(record.primal, 10), number(record.dual, 10), number(record.gap))
        return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + f'<td class="note">{escape(record.note)}</td></tr>'

    head = "".join(f'<th scope="col">{name}</th>' for name in ("passes", "seconds", "P(w)", "D(alpha)", "gap", "note"))
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(row(record) for record in s.history)}</tbody></table>"
    summary = f"<summary>{len(s.history)} certificates on the way</summary>"
    return f'<h2>Every certificate</h2>\n<details>{summary}<div class="wide">{table}</div></details>'
