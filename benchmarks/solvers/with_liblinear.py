"""The solvers of liblinear."""

from benchmark_utils.wrapped import Wrapped, adapters


class Solver(Wrapped):
    """liblinear, with as many iterations as are asked for."""

    name = "liblinear"
    requirements = ["pip::liblinear-official"]  # noqa: RUF012
    parameters = {"adapter": adapters("liblinear")}  # noqa: RUF012
