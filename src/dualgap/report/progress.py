"""The gap going down, on one line of a terminal, or in plain lines where there is none."""

import math
from collections.abc import Callable
from typing import Any

from dualgap.solution import Record

EVERY = 2.0


class Silent:
    """No display: the caller's callback alone."""

    def __init__(self, callback: Callable[[Record], Any] | None) -> None:
        self.callback = callback

    def __enter__(self) -> Callable[[Record], Any] | None:
        return self.callback

    def __exit__(self, *exception: object) -> None:
        return None


class Progress:
    """The relative gap, passes, time and the time left; a bar fills as the gap falls, on a log scale, from its first value to the target.

    Where standard error is no terminal there are plain lines, at most one in two seconds, and the last record.
    """

    def __init__(self, callback: Callable[[Record], Any] | None, target: float, null: float) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self.callback, self.target, self.null = callback, max(target, 1e-300), null if null > 0.0 else 1.0
        self.records: list[Record] = []
        self.said = -math.inf
        self.console = Console(stderr=True)
        self.bar: Progress | None = None
        if self.console.is_terminal or self.console.is_jupyter:
            self.bar = Progress(
                TextColumn("gap {task.fields[gap]:.1e} of {task.fields[target]:.0e}"),
                BarColumn(),
                TextColumn("{task.fields[passes]:.0f} passes"),
                TimeElapsedColumn(),
                TextColumn("{task.fields[left]}"),
                console=self.console,
            )

    def __enter__(self) -> Callable[[Record], Any]:
        if self.bar is not None:
            self.bar.start()
            self.task = self.bar.add_task("gap", total=1.0, gap=math.nan, target=self.target / self.null, passes=0.0, left="")
        return self.show

    def __exit__(self, *exception: object) -> None:
        if self.bar is not None:
            self.bar.stop()
        elif self.records and self.said < self.records[-1].seconds:
            self._say(self.records[-1])

    def show(self, record: Record) -> Any:
        """Show a record, then pass it on."""
        self.records.append(record)
        if self.bar is not None:
            span = math.log(max(self.records[0].gap / self.target, 1.0 + 1e-9))
            done = 1.0 - math.log(max(record.gap / self.target, 1.0)) / span
            shown: dict[str, Any] = {"gap": record.gap / self.null, "passes": record.passes, "left": self._left()}
            self.bar.update(self.task, completed=min(max(done, 0.0), 1.0), **shown)
        elif record.seconds >= self.said + EVERY:
            self._say(record)
        return self.callback(record) if self.callback is not None else None

    def _say(self, record: Record) -> None:
        self.said = record.seconds
        line = f"{record.seconds:8.1f} s {record.passes:8.1f} passes   gap {record.gap / self.null:.2e} of {self.target / self.null:.0e}"
        self.console.print(f"{line}   {self._left()}".rstrip(), highlight=False, markup=False, soft_wrap=True)

    def _left(self) -> str:
        """The time left if the gap goes on falling as it did over the last half of the time."""
        last = self.records[-1]
        if last.gap <= self.target:
            return ""
        first = next((r for r in self.records if r.seconds >= 0.5 * last.seconds), last)
        if not (first.gap > last.gap and first.seconds < last.seconds):
            return ""
        left = math.log(last.gap / self.target) * (last.seconds - first.seconds) / math.log(first.gap / last.gap)
        return f"about {duration(left)} left"


def duration(seconds: float) -> str:
    """A time in the unit that suits it."""
    for unit, size in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"
