"""Rules of query."""
