"""Values in, values out: the part of query without I/O."""
