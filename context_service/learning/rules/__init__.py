"""Rules of learning."""
