"""The solvers, by name and as objects."""

from typing import Any

from dualgap.problem import Problem
from dualgap.solvers.accelerated import AcceleratedProxSDCA
from dualgap.solvers.adaptive import AdaptiveProxSDCA
from dualgap.solvers.auto import Auto
from dualgap.solvers.fista import FISTA
from dualgap.solvers.joint_newton import JointNewton
from dualgap.solvers.newton import GramNewton
from dualgap.solvers.prox_sdca import ProxSDCA
from dualgap.solvers.proximal_point import ProximalPoint
from dualgap.solvers.race import Race
from dualgap.solvers.relay import Relay
from dualgap.solvers.row_space import RowSpace
from dualgap.solvers.shrinking import Shrinking
from dualgap.solvers.working_set import WorkingSet

SOLVERS: dict[str, Any] = {
    "auto": Auto,
    "adaptive": AdaptiveProxSDCA,
    "prox_sdca": ProxSDCA,
    "accelerated": AcceleratedProxSDCA,
    "fista": FISTA,
    "newton": GramNewton,
    "joint_newton": JointNewton,
    "proximal_point": ProximalPoint,
    "shrinking": Shrinking,
    "working_set": WorkingSet,
}


def check_solver(solver: Any, problem: Problem) -> Any:
    """A solver object, from its name or itself, that can solve the problem."""
    if isinstance(solver, str):
        if solver not in SOLVERS:
            raise ValueError(f"solver must be one of {', '.join(map(repr, SOLVERS))} or a solver object, got {solver!r}")
        solver = SOLVERS[solver]()
    if isinstance(solver, type) or not hasattr(solver, "minimize"):
        raise TypeError(f"solver must be a name or a solver object such as dualgap.ProxSDCA(), got {solver!r}")
    needs = solver.requirement(problem)
    if needs:
        raise ValueError(
            f"solver {solver!r} needs {needs}, got {type(problem.loss).__name__} and {type(problem.penalty).__name__}; "
            "'auto' picks one that can solve the problem"
        )
    return solver


__all__ = [
    "FISTA",
    "SOLVERS",
    "AcceleratedProxSDCA",
    "AdaptiveProxSDCA",
    "Auto",
    "GramNewton",
    "JointNewton",
    "ProxSDCA",
    "ProximalPoint",
    "Race",
    "Relay",
    "RowSpace",
    "Shrinking",
    "WorkingSet",
    "check_solver",
]
