"""Micro-benchmarks of the kernels: `python -m benchmarks.micro`."""
