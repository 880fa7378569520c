"""SQL of query."""
