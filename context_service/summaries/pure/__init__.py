"""Values in, values out: the part of summaries without I/O."""
