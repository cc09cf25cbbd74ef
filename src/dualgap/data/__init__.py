"""Where data enters."""
