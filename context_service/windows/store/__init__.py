"""SQL of windows."""
