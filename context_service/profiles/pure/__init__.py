"""Values in, values out: the part of profiles without I/O."""
