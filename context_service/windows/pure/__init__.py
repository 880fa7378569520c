"""Values in, values out: the part of windows without I/O."""
