"""What the benchmarks share: data sets, the cells of the table, and the other libraries."""
