"""Rules of erasure."""
