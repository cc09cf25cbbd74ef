"""Lines of text as rows: svmlight text as sparse ones, delimited text as dense ones.

    [target [qid:integer] {index:number}] [# anything]            separated by blanks
    number, number, "text, in quotes", number                     separated by a delimiter

A kernel reads whole lines of a piece of text, the last one with its line end and at least eight bytes
behind it; it stops in front of a line for which there may be no room, and at the first byte that is wrong. Numbers that it can not round
(see `numbers`) are listed for the caller.
"""

from typing import Any

import numpy as np

from dualgap.kernels.compile import exact_jitable, exact_kernel
from dualgap.kernels.numbers import FINE, NINE, NONE, ONE, TEN, WRONG, digit, digits, number

RIGHT = DONE = 0
FULL = 1
TARGET, SEVERAL_TARGETS, NO_TARGET, QUERY, INDEX, SMALL_INDEX, LARGE_INDEX, VALUE, REPEATED = range(2, 11)
QUOTES, NUMBER, FIELDS = range(2, 5)
SKIPPED, WORDS = -1, -2
VAST = np.uint64(1 << 40)
LINE_END, SPACE, HASH, COLON_SIGN, COMMA, LETTER_Q, QUOTE = (np.uint8(ord(c)) for c in '\n #:,q"')
QUERY_NAME = tuple(np.uint8(ord(c)) for c in "qid:")


@exact_jitable
def blank(c: Any) -> Any:
    """Whether a character separates fields: a space, a tab, a carriage return, and what else counts as space but a line end."""
    return c == SPACE or (np.uint8(c - np.uint8(9)) <= np.uint8(4) and c != LINE_END)


@exact_jitable
def skip_blanks(text: Any, p: Any) -> Any:
    """The first position from p on that is not blank."""
    while blank(text[p]):
        p += ONE
    return p


@exact_jitable
def ends_line(c: Any) -> Any:
    """Whether nothing that counts follows in a line."""
    return c in (LINE_END, HASH)


@exact_jitable
def ends_field(c: Any) -> Any:
    """Whether a field ends in front of a character."""
    return blank(c) or ends_line(c)


@exact_jitable
def target(text: Any, p: Any) -> Any:
    """The first fields of a line: what is wrong, where that is or the next field begins, the target, where it ends, and its kind."""
    value, q, kind = number(text, p)
    if not ends_field(text[q]) or kind == WRONG:
        if text[q] == COMMA and kind != WRONG:
            return SEVERAL_TARGETS, q, value, q, kind
        return (NO_TARGET if text[q] == COLON_SIGN and kind != WRONG else TARGET), q, value, q, kind
    p = skip_blanks(text, q)
    if text[p] == LETTER_Q:
        for c in QUERY_NAME:
            if text[p] != c:
                return QUERY, p, value, q, kind
            p += ONE
        if digit(text[p]) > NINE:
            return QUERY, p, value, q, kind
        while digit(text[p]) <= NINE:
            p += ONE
        if not ends_field(text[p]):
            return QUERY, p, value, q, kind
        p = skip_blanks(text, p)
    return RIGHT, p, value, q, kind


@exact_jitable
def pair(text: Any, begin: Any, least: Any, most: Any) -> Any:
    """An index and a value: what is wrong, where that is or the value begins, the index, the value, where it ends, and its kind."""
    count, j = digits(text, begin)
    p = begin + count
    if count == NONE:
        return INDEX, p, j, 0.0, p, WRONG
    while digit(text[p]) <= NINE:
        j = min(j * TEN + digit(text[p]), VAST)
        p += ONE
    if text[p] != COLON_SIGN:
        return INDEX, p, j, 0.0, p, WRONG
    if j < least or j > most:
        return (SMALL_INDEX if j < least else LARGE_INDEX), begin, j, 0.0, p, WRONG
    p += ONE
    value, q, kind = number(text, p)
    if not ends_field(text[q]) or kind == WRONG:
        return VALUE, q, j, value, q, WRONG
    return RIGHT, p, j, value, q, kind


@exact_kernel
def svmlight(
    text: Any, stop: int, at: int, low: int, high: int, y: Any, starts: Any, indptr: Any, indices: Any, values: Any, slow: Any
) -> Any:
    """Read lines from a position on: what ended it, where, and the number of lines, rows, entries, listed numbers and disordered rows.

    Indices lie between `low` and `high`. `starts` tells where the line of each row begins, as its complement if the row is not in order:
    its columns do not increase. A row of `slow` is (entry, or the complement of the row of a target; begin; end).
    """
    least, most = np.uint64(low), np.uint64(high)
    p, end = np.uint64(at), np.uint64(stop)
    lines = rows = entries = listed = disordered = np.int64(0)
    indptr[0] = 0
    while p < end:
        line = p
        p = skip_blanks(text, p)
        if not ends_line(text[p]):
            begin, first = p, entries
            fault, p, value, q, kind = target(text, begin)
            if fault != RIGHT:
                return fault, p, lines, rows, entries, listed, disordered
            if rows == y.shape[0] or (kind != FINE and listed == slow.shape[0]):
                return FULL, line, lines, rows, first, listed, disordered
            if kind != FINE:
                slow[listed, 0], slow[listed, 1], slow[listed, 2] = ~rows, begin, q
                listed += 1
            y[rows] = value
            after, ordered = NONE, True
            while not ends_line(text[p]):
                fault, begin, j, value, q, kind = pair(text, p, least, most)
                if fault != RIGHT:
                    return fault, begin, lines, rows, entries, listed, disordered
                if entries == values.shape[0] or (kind != FINE and listed == slow.shape[0]):
                    return FULL, line, lines, rows, first, listed, disordered
                if kind != FINE:
                    slow[listed, 0], slow[listed, 1], slow[listed, 2] = entries, begin, q
                    listed += 1
                indices[np.uint64(entries)] = j
                values[np.uint64(entries)] = value
                entries += 1
                ordered = ordered and j >= after
                after = j + ONE
                p = skip_blanks(text, q)
            starts[rows] = np.int64(line) if ordered else ~np.int64(line)
            disordered += not ordered
            rows += 1
            indptr[rows] = entries
        while text[p] != LINE_END:
            p += ONE
        p += ONE
        lines += 1
    return DONE, p, lines, rows, entries, listed, disordered


@exact_jitable
def skip_but(text: Any, p: Any, delimiter: Any) -> Any:
    """The first position from p on that is not blank, or is the delimiter."""
    while text[p] != delimiter and blank(text[p]):
        p += ONE
    return p


@exact_jitable
def quoted_end(text: Any, p: Any) -> Any:
    """The position of the quote that ends a field whose first one is in front of p; of the line end if there is none."""
    while text[p] != LINE_END and (text[p] != QUOTE or text[p + ONE] == QUOTE):
        p += ONE if text[p] != QUOTE else ONE + ONE
    return p


@exact_jitable
def cell(text: Any, p: Any, delimiter: Any) -> Any:
    """A field of a delimited line: where it begins and ends, without its quotes, what is behind it, and whether that is right."""
    if text[p] == QUOTE:
        end = quoted_end(text, p + ONE)
        if text[end] == LINE_END:
            return p, end, end, False
        behind = skip_but(text, end + ONE, delimiter)
        return p + ONE, end, behind, text[behind] == delimiter or text[behind] == LINE_END
    end = p
    while text[end] != delimiter and text[end] != LINE_END:
        end += ONE
    behind = end
    while end > p and blank(text[end - ONE]):
        end -= ONE
    return p, end, behind, True


@exact_kernel
def delimited(text: Any, stop: int, at: int, delimiter: Any, places: Any, values: Any, extras: Any, spans: Any, slow: Any) -> Any:
    """Read delimited lines from a position on: what ended it, where, in which field, and the number of lines, rows and listed numbers.

    `places` tells for each field where its number goes: into a column of `values`, or of `extras` behind those; SKIPPED, or WORDS for a
    field of which `spans` tells where it begins and ends. A row of `slow` is (row, place, begin, end).
    """
    p, end = np.uint64(at), np.uint64(stop)
    lines = rows = listed = np.int64(0)
    fields, width = places.shape[0], values.shape[1]
    while p < end:
        line = p
        p = skip_but(text, p, delimiter)
        if text[p] == LINE_END:
            p += ONE
            lines += 1
            continue
        if rows == values.shape[0]:
            return FULL, line, 0, lines, rows, listed
        for field in range(fields):
            p = skip_but(text, p, delimiter)
            first, last, behind, whole = cell(text, p, delimiter)
            if not whole:
                return QUOTES, behind, field, lines, rows, listed
            place = places[field]
            if place == WORDS:
                spans[rows, 0], spans[rows, 1] = first, last
            elif place != SKIPPED:
                value, q, kind = number(text, first)
                if q != last or kind == WRONG:
                    return NUMBER, first, field, lines, rows, listed
                if kind != FINE:
                    if listed == slow.shape[0]:
                        return FULL, line, 0, lines, rows, listed
                    slow[listed, 0], slow[listed, 1], slow[listed, 2], slow[listed, 3] = rows, place, first, last
                    listed += 1
                if place < width:
                    values[rows, place] = value
                else:
                    extras[rows, place - width] = value
            p = behind
            if (text[p] == LINE_END) != (field == fields - 1):
                return FIELDS, line, field, lines, rows, listed
            p += ONE
        rows += 1
        lines += 1
    return DONE, p, 0, lines, rows, listed
