"""Specialists: each searches one folder of the workspace."""
