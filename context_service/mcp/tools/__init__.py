"""The tools, one file a context type."""
