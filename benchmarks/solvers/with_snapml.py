"""The solvers of snapml."""

from benchmark_utils.wrapped import Wrapped, adapters


class Solver(Wrapped):
    """snapml, with as many iterations as are asked for."""

    name = "snapml"
    requirements = ["pip::snapml"]  # noqa: RUF012
    parameters = {"adapter": adapters("snapml")}  # noqa: RUF012
