"""Values in, values out: no I/O."""
