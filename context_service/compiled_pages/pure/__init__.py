"""Values in, values out: the part of compiled pages without I/O."""
