"""Values in, values out: the part of folding without I/O."""
