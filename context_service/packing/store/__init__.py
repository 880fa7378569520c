"""SQL of packing."""
