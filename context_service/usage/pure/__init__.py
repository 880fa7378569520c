"""Values in, values out: the part of usage without I/O."""
