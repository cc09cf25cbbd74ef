"""Designs of tests: choices of one level of each factor in which all pairs of levels that can meet do so."""

import itertools
import random
from collections.abc import Callable, Sequence

Row = tuple[int, ...]
ATTEMPTS, CANDIDATES = 4000, 40


def pairs(row: Row) -> set[tuple[tuple[int, int], tuple[int, int]]]:
    """The pairs of (factor, level) that meet in a row."""
    return set(itertools.combinations(enumerate(row), 2))


def covering(sizes: Sequence[int], allowed: Callable[[Row], bool], seed: int = 0) -> list[Row]:
    """Few rows of levels, all of them allowed, in which each pair that an allowed row can hold is met; the same ones each time.

    For one pair after the other that is not met yet, the row that holds it and most others of those, out of some that are drawn.
    """
    draw = random.Random(seed)
    missing = dict.fromkeys(sorted(pairs_of(sizes), key=lambda pair: -sizes[pair[0][0]] * sizes[pair[1][0]]))
    rows = []
    while missing:
        held = dict(next(iter(missing)))
        candidates: list[Row] = []
        for _ in range(ATTEMPTS):
            row = tuple(held[f] if f in held else draw.randrange(size) for f, size in enumerate(sizes))
            if allowed(row):
                candidates.append(row)
                if len(candidates) == CANDIDATES:
                    break
        if not candidates:
            del missing[next(iter(missing))]
            continue
        rows.append(max(candidates, key=lambda row: len(pairs(row) & missing.keys())))
        for pair in pairs(rows[-1]):
            missing.pop(pair, None)
    return rows


def pairs_of(sizes: Sequence[int]) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """All pairs of levels of different factors."""
    levels = [[(f, level) for level in range(size)] for f, size in enumerate(sizes)]
    return [pair for some, others in itertools.combinations(levels, 2) for pair in itertools.product(some, others)]
