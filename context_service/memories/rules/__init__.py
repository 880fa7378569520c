"""Rules of memories."""
