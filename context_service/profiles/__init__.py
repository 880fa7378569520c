"""Compression profiles: data that says which lines of a log are worth keeping, and learning from lookups."""
