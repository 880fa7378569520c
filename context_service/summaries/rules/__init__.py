"""Rules of summaries."""
