"""The gap going down, on one line of a terminal."""

from collections.abc import Callable
from typing import Any

from dualgap.solution import Record


class Silent:
    """No display: the caller's callback alone."""

    def __init__(self, callback: Callable[[Record], Any] | None) -> None:
        self.callback = callback

    def __enter__(self) -> Callable[[Record], Any] | None:
        return self.callback

    def __exit__(self, *exception: object) -> None:
        return None


class Progress:
    """A bar that fills as the gap falls, on a log scale, from its first value to the target."""

    def __init__(self, callback: Callable[[Record], Any] | None, target: float) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self.callback = callback
        self.target = max(target, 1e-300)
        self.first: float | None = None
        self.bar = Progress(
            TextColumn("gap {task.fields[gap]:.1e}"), BarColumn(), TextColumn("{task.fields[passes]:.0f} passes"), TimeElapsedColumn()
        )

    def __enter__(self) -> Callable[[Record], Any]:
        self.bar.start()
        self.task = self.bar.add_task("gap", total=1.0, gap=float("nan"), passes=0.0)
        return self.show

    def __exit__(self, *exception: object) -> None:
        self.bar.stop()

    def show(self, record: Record) -> Any:
        """Show a record, then pass it on."""
        from math import log

        self.first = self.first or record.gap
        span = log(max(self.first / self.target, 1.0 + 1e-9))
        done = 1.0 - log(max(record.gap / self.target, 1.0)) / span
        self.bar.update(self.task, completed=min(max(done, 0.0), 1.0), gap=record.gap, passes=record.passes)
        return self.callback(record) if self.callback is not None else None
