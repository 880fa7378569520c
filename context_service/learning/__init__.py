"""Learning: what users say about themselves in contexts becomes memories, in the background."""
