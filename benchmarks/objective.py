"""The objective of `benchopt run benchmarks`: a cell of the suite, by the true suboptimality of coefficients."""

import numpy as np
from benchmark_utils.suite import OBJECTIVES, cells
from benchopt import BaseObjective


class Objective(BaseObjective):
    """Mean loss with L1 and L2 penalties, without an intercept."""

    name = "Regularized linear models"
    min_benchopt_version = "1.6"
    parameters = {"objective": OBJECTIVES, "strength": [1.0, 1e-2, 1e-4]}  # noqa: RUF012

    def _cell(self, dataset):
        return next(iter(cells([self.objective], [dataset], [self.strength])), None)

    def skip(self, dataset):
        return (self._cell(dataset) is None), f"{self.objective} is not defined on {dataset}"

    def set_data(self, dataset):
        self.cell = self._cell(dataset)

    def get_objective(self):
        return {"cell": self.cell}

    def get_one_result(self):
        return {"w": self.cell.start()}

    def evaluate_result(self, w):
        return {"value": self.cell.primal(np.asarray(w))}
