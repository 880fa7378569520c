"""Subjects that are forgotten, and holds that forbid it: above the rooms whose rows go."""
