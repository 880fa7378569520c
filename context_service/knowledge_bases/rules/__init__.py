"""Rules of knowledge bases."""
