"""Values in, values out: the part of contexts without I/O."""
