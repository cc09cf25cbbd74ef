"""The solvers of cyanure."""

from benchmark_utils.wrapped import Wrapped, adapters


class Solver(Wrapped):
    """cyanure, with as many iterations as are asked for."""

    name = "cyanure"
    requirements = ["pip::cyanure"]  # noqa: RUF012
    parameters = {"adapter": adapters("cyanure")}  # noqa: RUF012
