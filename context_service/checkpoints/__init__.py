"""Checkpoints, rollbacks and recovery: stored states of a window, and the return to one of them."""
