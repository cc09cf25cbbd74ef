"""Benchmarks: kernels against C (`micro`), solvers against other libraries (`peers`), `auto` against what it builds on (`stress`)."""
