"""Values in, values out: the part of packing without I/O."""
