"""What a store of rows needs beside them: the columns of sorted rows as 16-bit differences, and the order of a pass part by part.

A column is written as the number of columns left out since the last one of the row. Where these are too many for 16 bits the code ESCAPE
stands for that many columns, and the rest follows.
"""

from typing import Any

import numpy as np

from dualgap.kernels.compile import kernel

ESCAPE = 65535


@kernel
def write_codes(indptr: Any, indices: Any, codes: Any) -> int:
    """The codes of sorted rows; how many they are."""
    count = 0
    for r in range(indptr.shape[0] - 1):
        least = np.int64(0)
        for t in range(indptr[r], indptr[r + 1]):
            left_out = np.int64(indices[t]) - least
            while left_out >= ESCAPE:
                codes[count] = ESCAPE
                left_out -= ESCAPE
                count += 1
            codes[count] = left_out
            count += 1
            least = np.int64(indices[t]) + 1
    return count


@kernel
def read_codes(lengths: Any, codes: Any, low: int, columns: Any) -> bool:
    """The columns that codes stand for, counted from `low`; False if the lengths of the rows do not go with these arrays."""
    c = t = np.int64(0)
    for r in range(lengths.shape[0]):
        least = -np.int64(low)
        end = t + np.int64(lengths[r])
        if end > columns.shape[0]:
            return False
        while t < end:
            if c >= codes.shape[0]:
                return False
            code = np.int64(codes[c])
            c += 1
            least += code
            if code != ESCAPE:
                columns[t] = least
                t += 1
                least += 1
    return bool(c == codes.shape[0] and t == columns.shape[0])


@kernel
def count_rows(order: Any, part_of_row: Any, counts: Any) -> None:
    """How many rows of an order lie in each part."""
    counts[:] = 0
    for t in range(order.shape[0]):
        counts[part_of_row[order[t]]] += 1


@kernel
def regroup(order: Any, part_of_row: Any, group: Any, shift: Any, places: Any, out: Any) -> None:
    """The rows of an order group by group, each as its number within the group; a part belongs to a group, whose rows begin at `places`."""
    for t in range(order.shape[0]):
        i = np.int64(order[t])
        part = part_of_row[i]
        place = places[group[part]]
        out[place] = i + shift[part]
        places[group[part]] = place + 1
