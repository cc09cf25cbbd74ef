"""The solvers of celer."""

from benchmark_utils.wrapped import Wrapped, adapters


class Solver(Wrapped):
    """celer, with as many iterations as are asked for."""

    name = "celer"
    requirements = ["pip::celer"]  # noqa: RUF012
    parameters = {"adapter": adapters("celer")}  # noqa: RUF012
