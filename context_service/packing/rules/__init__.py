"""Rules of packing."""
