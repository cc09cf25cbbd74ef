"""Small charts as SVG text, without colours of their own: classes are styled by the page, so that they follow light and dark."""

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
WIDTH, HEIGHT = 340.0, 260.0
LEFT, RIGHT, TOP, BOTTOM, LETTER = 52.0, 12.0, 10.0, 40.0, 8.0
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Axis(NamedTuple):
    """A range of values on a line of length 1, with ticks."""

    low: float
    high: float
    log: bool

    @classmethod
    def over(cls, values: Array, *, log: bool) -> "Axis":
        """An axis that holds the values, with a little room."""
        if log:
            low, high = float(np.min(values)), float(np.max(values))
            room = max((high / low) ** 0.04, 1.05)
            return cls(low / room, high * room, log)
        low, high = float(np.min(values)), float(np.max(values))
        room = 0.04 * (high - low) or 0.5 * max(abs(high), 1.0)
        return cls(low - room, high + room, log)

    def at(self, value: float) -> float:
        """Where a value lies, 0 at the low end and 1 at the high one."""
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def ticks(self, most: int = 6) -> list[float]:
        """Round values in the range: powers of ten or 1, 2 and 5 times these, or multiples of 1, 2 or 5 times one."""
        if not self.log or self.high < 12.0 * self.low:
            step = nice_step((self.high - self.low) / most)
            return [k * step for k in range(math.ceil(self.low / step), math.floor(self.high / step) + 1)]
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        powers = [10.0**k for k in range(first, last + 1) if self.low <= 10.0**k <= self.high]
        if len(powers) >= 3:
            return powers[:: math.ceil(len(powers) / most)]
        return [m * 10.0**k for k in range(first, last + 1) for m in (1.0, 2.0, 5.0) if self.low <= m * 10.0**k <= self.high]


def nice_step(least: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that is not below a number."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= least * (1.0 - 1e-9))


def label(value: float) -> str:
    """A tick's label: a plain number if that is short, a power of ten otherwise."""
    if value == 0.0 or 1e-2 <= abs(value) < 1e5:
        return f"{value:.4g}"
    exponent = math.floor(math.log10(abs(value)) + 1e-9)
    factor = value / 10.0**exponent
    power = "10" + str(exponent).translate(SUPERSCRIPTS)
    return power if abs(factor - 1.0) < 1e-6 else f"{factor:.3g}·{power}"


class Plane(NamedTuple):
    """A horizontal and a vertical axis inside a picture."""

    x: Axis
    y: Axis

    def point(self, x: float, y: float) -> tuple[float, float]:
        """Where a pair of values lies in the picture."""
        return LEFT + self.x.at(x) * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - self.y.at(y) * (HEIGHT - TOP - BOTTOM)

    def frame(self, x_label: str, y_label: str) -> str:
        """Grid lines with labels, and the names of the axes."""
        parts, free = [], 0.0
        for value in self.x.ticks():
            px, _ = self.point(value, self.y.low)
            parts.append(f'<line class="grid" x1="{px:.1f}" y1="{TOP}" x2="{px:.1f}" y2="{HEIGHT - BOTTOM}"/>')
            half = 0.5 * LETTER * len(label(value))
            if free <= px - half and px + half <= WIDTH:
                parts.append(f'<text x="{px:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{label(value)}</text>')
                free = px + half + LETTER
        for value in self.y.ticks():
            _, py = self.point(self.x.low, value)
            parts.append(f'<line class="grid" x1="{LEFT}" y1="{py:.1f}" x2="{WIDTH - RIGHT}" y2="{py:.1f}"/>')
            parts.append(f'<text x="{LEFT - 6}" y="{py + 4:.1f}" text-anchor="end">{label(value)}</text>')
        middle = 0.5 * (TOP + HEIGHT - BOTTOM)
        parts.append(f'<text x="{0.5 * (LEFT + WIDTH - RIGHT)}" y="{HEIGHT - 6}" text-anchor="middle">{escape(x_label)}</text>')
        if y_label:
            turned = f'transform="rotate(-90 11 {middle})"'
            parts.append(f'<text x="11" y="{middle}" text-anchor="middle" {turned}>{escape(y_label)}</text>')
        return "".join(parts)


def marker(kind: int, x: float, y: float) -> str:
    """A circle, a square or a triangle: lines are told apart without colours."""
    if kind == 0:
        return f'<circle class="mark c0" cx="{x:.1f}" cy="{y:.1f}" r="2.8"/>'
    if kind == 1:
        return f'<rect class="mark c1" x="{x - 2.6:.1f}" y="{y - 2.6:.1f}" width="5.2" height="5.2"/>'
    return f'<path class="mark c2" d="M{x:.1f} {y - 3.4:.1f}l3.2 5.6h-6.4z"/>'


def picture(body: str, description: str) -> str:
    """The whole picture, with words for those who do not see it."""
    return (
        f'<svg viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" aria-label="{escape(description)}">'
        f"<title>{escape(description)}</title>{body}</svg>"
    )


def line_chart(x: Array, lines: Mapping[str, Array], *, x_label: str, y_label: str, description: str) -> str:
    """Up to three lines on two log scales; all values must be positive."""
    plane = Plane(Axis.over(x, log=True), Axis.over(np.concatenate(list(lines.values())), log=True))
    parts = [plane.frame(x_label, y_label)]
    for kind, values in enumerate(lines.values()):
        points = [plane.point(float(a), float(b)) for a, b in zip(x, values, strict=True)]
        joined = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
        parts.append(f'<polyline class="line c{kind}" points="{joined}"/>')
        parts += [marker(kind, px, py) for px, py in points]
    return picture("".join(parts), description)


def scatter_chart(x: Array, y: Array, *, x_label: str, y_label: str, description: str) -> str:
    """Points, and the line y = 0."""
    plane = Plane(Axis.over(x, log=False), Axis.over(np.append(y, 0.0), log=False))
    (left, zero), (right, _) = plane.point(plane.x.low, 0.0), plane.point(plane.x.high, 0.0)
    parts = [plane.frame(x_label, y_label), f'<line class="zero" x1="{left:.1f}" y1="{zero:.1f}" x2="{right:.1f}" y2="{zero:.1f}"/>']
    for a, b in zip(x, y, strict=True):
        px, py = plane.point(float(a), float(b))
        parts.append(f'<circle class="dot" cx="{px:.1f}" cy="{py:.1f}" r="2"/>')
    return picture("".join(parts), description)


def legend(names: Sequence[str]) -> str:
    """The key to the lines of a chart."""
    items = "".join(
        f'<li><svg viewBox="0 0 30 12" width="30" height="12" aria-hidden="true"><line class="line c{kind}" x1="1" y1="6" x2="29" y2="6"/>'
        f"{marker(kind, 15.0, 6.0)}</svg>{escape(name)}</li>"
        for kind, name in enumerate(names)
    )
    return f'<ul class="legend">{items}</ul>'
