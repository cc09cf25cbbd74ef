"""The real data sets of the suite."""

from benchmark_utils.data import names
from benchopt import BaseDataset


class Dataset(BaseDataset):
    """A data set by its name; the objective loads it the way it needs it."""

    name = "real"
    parameters = {"data": names()}  # noqa: RUF012

    def get_data(self):
        return {"dataset": self.data}
