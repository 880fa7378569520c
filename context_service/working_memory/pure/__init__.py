"""Values in, values out: the part of working memory without I/O."""
