"""The solvers of adelie."""

from benchmark_utils.wrapped import Wrapped, adapters


class Solver(Wrapped):
    """adelie, with as many iterations as are asked for."""

    name = "adelie"
    requirements = ["pip::adelie"]  # noqa: RUF012
    parameters = {"adapter": adapters("adelie")}  # noqa: RUF012
