"""Rules of forks."""
