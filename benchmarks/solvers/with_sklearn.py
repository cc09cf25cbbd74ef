"""The solvers of scikit-learn."""

from benchmark_utils.wrapped import Wrapped, adapters


class Solver(Wrapped):
    """scikit-learn, with as many iterations as are asked for."""

    name = "scikit-learn"
    requirements = ["pip::scikit-learn"]  # noqa: RUF012
    parameters = {"adapter": adapters("sklearn")}  # noqa: RUF012
