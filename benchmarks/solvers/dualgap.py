"""dualgap's default solver, by the certified gap asked of it."""

from benchopt import BaseSolver

import dualgap as dg


class Solver(BaseSolver):
    """`dualgap.solve` on one thread."""

    name = "dualgap"
    sampling_strategy = "tolerance"
    requirements = ["pip::dualgap"]  # noqa: RUF012

    def set_objective(self, cell):
        self.cell = cell

    def warm_up(self):
        self.run(1e-1)

    def run(self, tolerance):
        cell = self.cell
        tolerance = min(max(tolerance, 1e-12), 1.0)
        self.w = dg.solve(
            cell.X,
            cell.y,
            loss=cell.loss,
            penalty=cell.penalty,
            tol=tolerance,
            max_passes=1e6,
            **({"n_threads": 1} if "n_threads" in dg.solve.__kwdefaults__ else {}),
        ).w

    def get_result(self):
        return {"w": self.w}
