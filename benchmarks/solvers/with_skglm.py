"""The solvers of skglm."""

from benchmark_utils.wrapped import Wrapped, adapters


class Solver(Wrapped):
    """skglm, with as many iterations as are asked for."""

    name = "skglm"
    requirements = ["pip::skglm"]  # noqa: RUF012
    parameters = {"adapter": adapters("skglm")}  # noqa: RUF012
