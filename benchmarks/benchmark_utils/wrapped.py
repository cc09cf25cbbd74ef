"""A solver of another library as one of benchopt."""

from benchopt import BaseSolver

from .adapters import PEERS, quietly


class Wrapped(BaseSolver):
    """The adapters of one library, one at a time by the parameter `adapter`."""

    sampling_strategy = "iteration"

    def set_objective(self, cell):
        self.cell = cell
        self.peer = next((p for p in PEERS if p.name == self.adapter and p.solves(cell)), None)

    def skip(self, cell):
        solved = any(p.name == self.adapter and p.solves(cell) for p in PEERS)
        return not solved, f"{self.adapter} does not solve {cell.objective}"

    def run(self, iterations):
        self.w = quietly(self.peer.fit, self.cell, iterations) if iterations else self.cell.start()

    def get_result(self):
        return {"w": self.w}


def adapters(module: str) -> list[str]:
    """The names of the adapters of a library."""
    return list(dict.fromkeys(peer.name for peer in PEERS if peer.module == module))
