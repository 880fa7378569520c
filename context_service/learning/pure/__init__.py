"""Values in, values out: the part of learning without I/O."""
