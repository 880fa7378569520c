"""Rules of retrieval."""
