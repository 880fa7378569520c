"""Values in, values out: the part of history without I/O."""
