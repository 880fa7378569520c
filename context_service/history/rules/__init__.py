"""Rules of history."""
