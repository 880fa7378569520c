"""Rules of transfer."""
