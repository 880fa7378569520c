"""Rules of folding."""
