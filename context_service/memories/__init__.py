"""Memories: statements about a user that are kept, and found, across contexts."""
