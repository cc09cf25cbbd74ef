"""Where runs are made: finished ones are kept as lines of JSON, so that an experiment that was stopped goes on where it was."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dualgap as dg
from dualgap.experiments.data import DataSet
from dualgap.experiments.record import Recorded

Run = dict[str, Any]


class Lab:
    """Runs by what was asked for, from a file or made anew, and a display of how far they are.

    A line that a kill has cut off is no finished run: it is dropped, and its run made again.
    """

    def __init__(self, file: Path, console: Any) -> None:
        self.file, self.console = file, console
        self.finished: dict[str, Run] = {}
        if file.is_file():
            for line in file.read_text(encoding="utf-8").splitlines():
                try:
                    run = json.loads(line)
                    self.finished[run["asked"]] = run
                except (json.JSONDecodeError, KeyError, TypeError):
                    continue
            file.write_text("".join(json.dumps(run) + "\n" for run in self.finished.values()), encoding="utf-8")

    @contextmanager
    def working(self, total: int) -> Iterator["Lab"]:
        """A bar of so many runs, while the block lasts; where there is no terminal only the lines of finished runs."""
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        columns = (MofNCompleteColumn(), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
        self.done, self.total = 0, total
        with Progress(*columns, console=self.console, transient=True, disable=not self.console.is_terminal) as bar:
            self.bar, self.task = bar, bar.add_task("", total=total)
            yield self

    def run(self, title: str, data: DataSet, solver: Recorded, **problem: Any) -> Run:
        """What is kept of a run on a data set: how it ended, its certificate and its curve."""
        self.bar.update(self.task, description=title)
        asked = f"dualgap {dg.__version__}: {data.fingerprint} {solver} {problem}"
        kept = asked in self.finished
        if not kept:
            self.finished[asked] = {"asked": asked, **_outcome(data, solver, problem)}
            with self.file.open("a", encoding="utf-8") as out:
                out.write(json.dumps(self.finished[asked]) + "\n")
        run = self.finished[asked]
        self.done += 1
        self.bar.update(self.task, completed=self.done)
        ending = "kept" if kept else f"{run['seconds']:.1f} s"
        line = f"{self.done:4d}/{self.total} {title:56} {run['passes']:7.1f} passes  {run['status']:10} {ending}"
        self.console.print(line, highlight=False, markup=False)
        return run


def _outcome(data: DataSet, solver: Recorded, problem: dict[str, Any]) -> Run:
    s = dg.solve(data.X, data.y, solver=solver, max_passes=1e12, **problem)
    if s.status is dg.Status.INTERRUPTED:
        raise KeyboardInterrupt
    return {
        "status": s.status.name,
        "passes": solver.curve[-1][0],
        "steps": solver.steps,
        "primal": s.primal,
        "dual": s.dual,
        "gap": s.gap,
        "seconds": round(s.seconds, 3),
        "notes": list(s.notes),
        "curve": [[round(passes, 3), value] for passes, value in solver.curve],
    }
