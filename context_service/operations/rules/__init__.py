"""Rules of operations."""
