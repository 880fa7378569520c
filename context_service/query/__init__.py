"""Context query: one question to every source, and a truthful status for each."""
