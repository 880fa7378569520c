"""Values in, values out: the part of checkpoints without I/O."""
