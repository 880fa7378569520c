"""Forks: a part of the work in a context and window of its own, and merging its result."""
