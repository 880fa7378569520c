"""Folding: a *fold* is one compaction of a window."""
