"""Imports of packages: those that only some settings need, and those that take long."""
