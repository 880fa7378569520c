"""Rules of checkpoints."""
