"""Checkpoints, rollbacks and recovery: what a window was, and the way back to it."""
