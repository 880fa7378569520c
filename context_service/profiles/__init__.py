"""Profiles of compression: what is worth keeping of a log, as data, and what lookups teach about it."""
