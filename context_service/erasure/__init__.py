"""Erasure of subjects, and legal holds that forbid it. This package uses those whose rows it removes."""
