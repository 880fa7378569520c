"""Rules of usage."""
