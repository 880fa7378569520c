"""Values in, values out: the part of retrieval without I/O."""
