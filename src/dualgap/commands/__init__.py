"""The commands of `dualgap`, a module each with `add_arguments(parser)` and `run(options)`, which returns the exit status."""
