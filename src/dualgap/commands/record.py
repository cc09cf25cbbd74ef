"""What is written about a solve, for programs and for people."""

import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dualgap.commands.options import UsageError
from dualgap.solution import Solution, Status, short


def record_of(s: Solution, **more: Any) -> dict[str, Any]:
    """The certificate of a solution and how it was reached, as JSON holds it; an infinite number is null."""
    from dualgap import __version__

    record: dict[str, Any] = {
        "dualgap": __version__,
        "loss": repr(s.loss),
        "penalty": short(s.penalty),
        "status": s.status.name,
        "statement": s.status.value,
        "certificate": {
            **{name: getattr(s, name) for name in ("primal", "dual", "gap", "relative_gap", "null", "convexity", "distance")},
            "proves": f"no coefficients whatever have an objective below {s.primal - s.gap!r}",
        },
        "passes": s.passes,
        "seconds": s.seconds,
        "notes": list(s.notes),
        "history": [r._asdict() for r in s.history],
    }
    return finite({**record, **more})  # type: ignore[no-any-return]


def finite(value: Any) -> Any:
    """The same with None for numbers that are not finite, which JSON does not know."""
    if isinstance(value, dict):
        return {k: finite(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_json(path: str, record: Any) -> None:
    """Write a record, for programs and people alike."""
    Path(path).write_text(json.dumps(record, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def certified(s: Solution) -> bool:
    """Whether the tolerance was reached."""
    return s.status is Status.CERTIFIED


def check_outputs(paths: Iterable[str | None]) -> None:
    """Raise where a file could not be written, before hours of work are lost on it."""
    for path in paths:
        if path is None:
            continue
        folder = Path(path).resolve().parent
        if not folder.is_dir():
            raise UsageError(f"{path} can not be written: there is no folder {folder}")
        if Path(path).is_dir():
            raise UsageError(f"{path} can not be written: it is a folder")
        probe = folder / f".{Path(path).name}.probe"
        try:
            probe.touch()
        except OSError as error:
            raise UsageError(f"{path} can not be written: {error.strerror}") from None
        probe.unlink()
