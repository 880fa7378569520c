"""Rules of wiki."""
