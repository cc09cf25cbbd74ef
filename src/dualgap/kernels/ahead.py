"""What an epoch fetches ahead of its use, measured on rows of 10 to 500 entries (docs/kernels.md).

A row wants to be asked for about 0.4 microseconds before its turn, which `rows` turns into a number of rows; what says where it lies, with
all else that is indexed by the row, as long again before. The elements of u that a row meets are in the cache already where u is small, and
asking for them in vain costs 1.3x; where it has a million elements it gains 1.6x, beyond that more.
"""

from typing import Any

import numpy as np

from dualgap.kernels.compile import jitable
from dualgap.kernels.prefetch import fetch_at, prefetch
from dualgap.rows import fetch_head, fetch_met, fetch_row

NEXT = 2
LARGE = 1 << 19


@jitable
def look_ahead(data: Any, alpha: Any, u: Any, order: Any, t: Any) -> None:
    """Fetch what the steps after step t need."""
    ahead = data.rows.ahead
    if t + 2 * ahead < order.shape[0]:
        i = np.uint64(order[t + 2 * ahead])
        fetch_head(data.rows, i)
        fetch_at(alpha, i)
        prefetch(data.y, i)
        prefetch(data.share, i)
        prefetch(data.norms2, i)
    if t + ahead < order.shape[0]:
        fetch_row(data.rows, np.uint64(order[t + ahead]))
    if u.size > LARGE and t + NEXT < order.shape[0]:
        fetch_met(data.rows, np.uint64(order[t + NEXT]), u)
