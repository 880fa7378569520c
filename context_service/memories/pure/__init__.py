"""Values in, values out: the part of memories without I/O."""
