"""Rules of contexts."""
