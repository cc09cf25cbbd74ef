"""The experiments of the paper, run anew: `dualgap paper`."""
