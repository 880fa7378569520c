"""SQL of retrieval."""
